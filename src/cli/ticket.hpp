// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "options.hpp"

namespace leasehold::cli {

// Each returns the exit status, and throws failure.
int acquire(const acquire_command&);
int extend(const extend_options&);
int release(const release_options&);

}  // namespace leasehold::cli
