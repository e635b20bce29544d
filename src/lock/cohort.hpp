// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The cohort: coroutines of one client pass a lock on among themselves (Dice, Marathe and Shavit, "Lock Cohorting: A
// General Technique for Designing NUMA Locks", 2012). docs/protocol.md, "The cohort".
#pragma once

#include "lock/hold_state.hpp"

namespace leasehold::detail {

// For every hold that was granted through an entry: passes it on to the client's next waiter, either at once or after
// Redis has said that no other client waits.
successors& cohort();

}  // namespace leasehold::detail
