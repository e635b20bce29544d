// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A process of clients that do anything with a few locks, and note what they do.
#pragma once

#include "support/child.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace leasehold::test {

// No worker asks for more.
inline constexpr std::chrono::milliseconds longest_lease{3000};

// A member of a quorum that was started anew counts after this time.
inline constexpr std::chrono::milliseconds restart_delay{4000};

// The names of the locks, which are the records' keys.
std::vector<std::string> lock_names(bool semaphores);

// Arguments: the file for the notes, a seed, "semaphores" or "-", the URLs of the store. SIGTERM ends it: all
// operations come to their ends, the clients are closed, and the process exits when nothing is left to do.
extern const child_program worker;

}  // namespace leasehold::test
