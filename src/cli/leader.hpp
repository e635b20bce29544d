// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "options.hpp"

namespace leasehold::cli {

// Returns the exit status. Throws failure.
int leader(const leader_options&);

}  // namespace leasehold::cli
