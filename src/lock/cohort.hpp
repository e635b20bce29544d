// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The cohort: coroutines of one client pass a lock on among themselves (Dice, Marathe and Shavit, "Lock Cohorting: A
// General Technique for Designing NUMA Locks", 2012). docs/protocol.md, "The cohort".
#pragma once

#include "lock/hold_state.hpp"
#include "lock/lock_identity.hpp"

#include <chrono>

namespace leasehold::detail {

// For every hold that was granted through an entry: passes it on to the client's next waiter, either at once or after
// Redis has said that no other client waits.
successors& cohort();

// Whether holds of this lock are passed on at all.
bool passes_on(const lock_identity&);

// What a pushed grant must leave of its short lease for the confirmation to arrive. If it leaves less, the entry
// confirms it before the waiter has it, and a cohort does not pass it on.
inline constexpr std::chrono::milliseconds least_head_start{200};

}  // namespace leasehold::detail
