// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// What a majority has in common. No I/O.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace leasehold::detail {

// Which of those that are the largest is the n-th; n is 1 or more, and there are as many. With a majority for n: what
// each of a majority has at least.
template <class T>
T nth_largest(std::vector<T> all, std::size_t n) {
  const auto nth = all.begin() + static_cast<std::ptrdiff_t>(n - 1);
  std::nth_element(all.begin(), nth, all.end(), std::greater<>());
  return *nth;
}

}  // namespace leasehold::detail
