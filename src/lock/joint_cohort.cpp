// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/joint_cohort.hpp"

#include "lock/registry.hpp"
#include "protocol/lease_reply.hpp"

#include <algorithm>

namespace leasehold::detail {

std::shared_ptr<registered_entry> next_entry(client_core& core, const lock_identity& lock, joint_cohort* joint,
                                             clock::time_point now) {
  // After a resize those who believe in the earlier limit may have come first: Redis decides.
  const auto limit = lock.limit.load(std::memory_order_relaxed);
  if (joint != nullptr &&
      std::any_of(joint->limits.begin(), joint->limits.end(), [limit](auto l) { return l != limit; }))
    return nullptr;
  auto in_queue = registry::of(core).find(lock);
  const waiter* const first = in_queue ? in_queue->first(now) : nullptr;
  if (first == nullptr) in_queue = nullptr;
  while (joint != nullptr && !joint->beside.empty()) {
    const auto entry = joint->beside.front().lock();
    const waiter* const other = entry ? entry->first(now) : nullptr;
    if (other != nullptr) return first != nullptr && first->began() <= other->began() ? in_queue : entry;
    // (It may have left by itself.)
    if (!joint->beside.empty() && joint->beside.front().lock() == entry) joint->beside.pop_front();
  }
  return in_queue;
}

void joint_cohort::add(const registered_entry& e) {
  if (e.first_limit() != 0) limits.push_back(e.first_limit());
}

void joint_cohort::remove(const registered_entry& e) {
  if (const auto its = std::find(limits.begin(), limits.end(), e.first_limit()); its != limits.end()) limits.erase(its);
  std::erase_if(beside, [&e](const auto& weak) {
    const auto entry = weak.lock();
    return !entry || entry.get() == &e;
  });
}

void joint_cohort::answered(const answer& a, clock::duration bound) {
  --asking;
  const bool alone =
      a.from_store != nullptr && a.from_store->lease.understood && a.from_store->lease.status == status::held;
  ask_again_at = alone ? clock::time_point() : later(clock::now(), bound / 2);
}

}  // namespace leasehold::detail
