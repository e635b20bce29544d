// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// The cohort: coroutines of one client pass a lock on among themselves (Dice, Marathe and Shavit, "Lock Cohorting: A
// General Technique for Designing NUMA Locks", 2012). docs/protocol.md, "The cohort".
#pragma once

#include "lock/hold_state.hpp"
#include "lock/release.hpp"

namespace leasehold::detail {

// Instead of a release: gives the hold to the client's next waiter, at once or after Redis has said that nobody else waits.
// False (the hold is as it was): there is none, or it must not have it. `h` is confirmed and not lost.
bool pass_on(hold_state& h, release_op::listener& listener);

}  // namespace leasehold::detail
