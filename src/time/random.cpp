// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "time/random.hpp"

#include <random>

namespace leasehold::detail {

std::uint64_t random_bits() {
  std::random_device device;
  const std::uint64_t high = device();
  return high << 32U | device();
}

}  // namespace leasehold::detail
