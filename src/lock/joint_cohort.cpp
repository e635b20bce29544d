// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/joint_cohort.hpp"

#include <algorithm>

namespace leasehold::detail {

void joint_cohort::add(std::uint32_t limit) {
  if (limit != 0) limits.push_back(limit);
}

void joint_cohort::remove(const registered_entry& e, std::uint32_t limit) {
  if (const auto its = std::find(limits.begin(), limits.end(), limit); its != limits.end()) limits.erase(its);
  std::erase_if(beside, [&e](const auto& weak) {
    const auto entry = weak.lock();
    return !entry || entry.get() == &e;
  });
}

}  // namespace leasehold::detail
