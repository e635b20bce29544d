// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "descriptors.hpp"
#include "options.hpp"

namespace leasehold::cli {

// `leasehold run`: returns the exit status, or throws failure.
int run(const run_options&, const inherited_descriptors&);

}  // namespace leasehold::cli
