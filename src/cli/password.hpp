// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Passwords that change: those of --password-file and --password-command.
#pragma once

#include "store_options.hpp"

#include <leasehold/client.hpp>

#include <boost/asio/io_context.hpp>

namespace leasehold::cli {

// Null if the store has neither. Throws failure if the file cannot be used: what is wrong from the start need not be
// tried again.
credentials_function password_of(boost::asio::io_context&, const store_options&);

}  // namespace leasehold::cli
