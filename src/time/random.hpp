// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The only source of randomness. A simulation links another one.
#pragma once

#include <cstdint>

namespace leasehold::detail {

// 64 bits from the system's source, for client ids and for the seeds of generators. Throws what std::random_device
// throws.
std::uint64_t random_bits();

}  // namespace leasehold::detail
