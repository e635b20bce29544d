// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/inspection.hpp"

namespace leasehold::detail {
namespace {

// The offset of the first hold, and the number of scalars of each.
constexpr std::size_t first_inspected = 5, size_of_inspected = 3;

}  // namespace

inspection read_inspection(const reply& r) {
  inspection found;
  if (r.number(0) <= 0) {
    found.waiters = r.number<std::size_t>(3);
    return found;
  }
  found.holders = r.number<std::size_t>(0);
  found.fence = r.number<std::uint64_t>(1);
  found.left = r.left(2);
  found.waiters = r.number<std::size_t>(3);
  found.about = r.text(4);
  for (std::size_t i = first_inspected; i + size_of_inspected <= r.size(); i += size_of_inspected) {
    found.holds.push_back({std::string(r.text(i)), r.left(i + 1), std::string(r.text(i + 2))});
  }
  return found;
}

}  // namespace leasehold::detail
