// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The cohort of locks that several hold at a time: permits, readers, the entries of one owner. Each hold is passed on
// for itself, as in cohort.hpp. docs/protocol.md, "A cohort of several holds".
#pragma once

#include "lock/hold_state.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace leasehold::detail {

class registered_entry;

// What the holds of one client with the same ask have in common, and its waiters. On the strand.
struct joint_cohort : joint_holds {
  bool keeping = false;            // One hold at a time is kept for a waiter,
  std::uint32_t asking = 0;        // and so many at once ask for the next fence. The others are released in the end.
  clock::time_point passed_at{};   // When one was last passed on.
  std::uint64_t latest_fence = 0;  // The largest that one of them has had, if each has its own.
  // The entries of waiters that ask beside the local queue, and have come before those in it.
  std::deque<std::weak_ptr<registered_entry>> beside;
  std::vector<std::uint32_t> limits;  // That the entries believe in, of a semaphore: one for each entry.

  // They are passed on all the time: a waiter gets one in this way sooner than from Redis.
  bool is_hot(clock::time_point now) const { return now <= later(passed_at, std::chrono::milliseconds(1)); }
  // An entry with this limit (0: not of a semaphore) begins and ends.
  void add(std::uint32_t limit);
  void remove(const registered_entry&, std::uint32_t limit);
};

// Of a hold: null where one exists at a time.
inline joint_cohort* joint_of(const std::shared_ptr<joint_holds>& j) { return static_cast<joint_cohort*>(j.get()); }

// The hold that is made of this grant becomes one of them. (No joint: one exists at a time.)
inline void join(const std::shared_ptr<joint_cohort>& joint, hold_state::grant& g) {
  if (joint) joint->latest_fence = std::max(joint->latest_fence, g.fence);
  g.joint = joint;
}

}  // namespace leasehold::detail
