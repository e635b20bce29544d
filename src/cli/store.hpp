// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "exit_code.hpp"
#include "options.hpp"

#include <leasehold/client.hpp>

#include <boost/asio/io_context.hpp>

#include <string>

namespace leasehold::cli {

// A context of its own that is never destroyed: its destructor would wait for a name server that does not answer. So
// would run(), unless it is stopped.
boost::asio::io_context& lasting_context();

// Throws failure if the options cannot be understood.
client connect(boost::asio::io_context&, const store_options&);

// What the tokens of this process begin with.
std::string own_label();

// Describes an operation on a lock that failed: names the store or the lock, whichever is at fault.
failure describe(const error_code&, const client&, const store_options&, const std::string& name);

}  // namespace leasehold::cli
