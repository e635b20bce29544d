// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The cohort: coroutines of one client pass a lock on among themselves (Dice, Marathe and Shavit, "Lock Cohorting: A
// General Technique for Designing NUMA Locks", 2012). docs/protocol.md, "The cohort".
#pragma once

#include "lock/hold_state.hpp"
#include "lock/lock_identity.hpp"
#include "protocol/fence.hpp"
#include "protocol/lease_reply.hpp"

#include <chrono>
#include <cstdint>

namespace leasehold::detail {

// For every hold that was granted through an entry: passes it on to the client's next waiter, either at once or after
// Redis has said that no other client waits.
successors& cohort();

// Whether holds of this lock are passed on at all.
bool passes_on(const lock_identity&);

inline constexpr std::uint32_t most_passes = passes_per_fence - 1;

// Gives the fence of the next holder to a grant that is to be passed on. False: there is none, and nothing has changed.
bool give_fence(const detail::kind&, hold_state::grant&);
// Keeps the fence that Redis has given ahead of time, in its answer to a refresh with this lease. is_shared: it is that
// of the holds before.
void keep_next_fence(cohort_tenure&, const lease_reply& fresh, const answer&, std::chrono::milliseconds lease,
                     const client_core&, bool is_shared = false);
// Takes it, if there is one.
void take_next_fence(hold_state::grant&);

// What a pushed grant must leave of its short lease for the confirmation to arrive. If it leaves less, the entry
// confirms it before the waiter has it, and a cohort does not pass it on.
inline constexpr std::chrono::milliseconds least_head_start{200};

}  // namespace leasehold::detail
