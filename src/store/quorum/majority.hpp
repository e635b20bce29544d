// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a majority has in common. No I/O.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace leasehold::detail {

// Any two majorities have a server in common, even if the number of servers is even.
constexpr std::size_t majority_of(std::size_t servers) { return servers / 2 + 1; }

// The n-th largest value; 1 <= n <= size. If n is a majority, each server of a majority has at least this value.
template <class T>
T nth_largest(std::vector<T> all, std::size_t n) {
  const auto nth = all.begin() + static_cast<std::ptrdiff_t>(n - 1);
  std::nth_element(all.begin(), nth, all.end(), std::greater<>());
  return *nth;
}

// A lease without an expiry compares as the longest.
constexpr std::chrono::milliseconds comparable(std::chrono::milliseconds left) {
  return left < std::chrono::milliseconds(0) ? std::chrono::milliseconds::max() : left;
}

}  // namespace leasehold::detail
