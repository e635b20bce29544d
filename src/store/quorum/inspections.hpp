// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// Merges the replies of a quorum's servers to inspect into one. No I/O.
#pragma once

#include "store/store.hpp"

#include <chrono>
#include <cstddef>
#include <vector>

namespace leasehold::detail {

// A lease without an expiry compares as the longest.
constexpr std::chrono::milliseconds comparable(std::chrono::milliseconds left) {
  return left < std::chrono::milliseconds(0) ? std::chrono::milliseconds::max() : left;
}

// The reply of a server that would have only the holds which a majority of the servers has. The replies are no errors,
// and there is one from each server that has answered.
reply merge_inspections(const std::vector<const reply*>& replies, std::size_t majority);

}  // namespace leasehold::detail
