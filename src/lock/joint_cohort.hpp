// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The cohort of locks that several hold at a time: permits, readers, the entries of one owner. Each hold is passed on for
// itself; whether other clients wait is known for all of them together. docs/protocol.md, "A cohort of several holds".
#pragma once

#include "lock/hold_state.hpp"
#include "lock/lock_identity.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>

namespace leasehold::detail {

class registered_entry;

// What the holds of one client with the same ask have in common, and its waiters. On the strand.
struct joint_cohort {
  // Redis's last word that no other client waits, to whichever of their tokens: when its request was sent.
  clock::time_point word{};
  bool asking = false;               // That is being asked.
  clock::time_point ask_again_at{};  // Others wait, or there was no answer: not before then.
  clock::time_point passed_at{};     // The last time.
  // The entries of waiters that ask beside the local queue, and have come before those in it.
  std::deque<std::weak_ptr<registered_entry>> beside;
  std::uint64_t latest_fence = 0;  // The largest that one of them has had, if each has its own.

  // It is passed on all the time: a waiter gets it in this way sooner than from Redis.
  bool is_hot(clock::time_point now) const { return now <= later(passed_at, std::chrono::milliseconds(1)); }

  // It is over.
  void forget(const registered_entry&);
  // By a request that has asked, with this bound of the cohort.
  void answered(const answer&, clock::duration bound);
};

// The entry of the client's waiter that has waited longest; it is its `first`. Null: there is none that this hold may be
// passed to. joint: null for a lock with one hold at a time.
std::shared_ptr<registered_entry> next_entry(client_core&, const lock_identity&, joint_cohort*, clock::time_point now);

// For a hold that shares its fence: asks whether other clients wait, when half of the time is over.
void inquire(const std::shared_ptr<client_core>&, const std::shared_ptr<const lock_identity>&, const hold_state::grant&,
             clock::time_point now);

}  // namespace leasehold::detail
