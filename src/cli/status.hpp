// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "options.hpp"

namespace leasehold::cli {

// `leasehold status`: returns the exit status, or throws failure.
int status(const status_options&);

}  // namespace leasehold::cli
