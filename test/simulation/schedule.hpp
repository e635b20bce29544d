// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// One random schedule: processes whose coroutines take locks of one kind, and what happens to them, to the network and
// to the servers meanwhile. Everything follows from the seed.
#pragma once

#include "simulation/judge.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::simulation {

enum class deployment { single, failover, quorum, cluster, slots };
std::string_view name_of(deployment);

// What may be left out of a schedule, to make a failing one smaller.
struct cut_down {
  std::vector<std::size_t> faults;   // By their numbers.
  std::vector<std::size_t> workers;  // By their numbers.
};

struct outcome {
  std::string complaint;  // "": every promise was kept.
  std::uint64_t steps = 0, grants = 0;
  std::size_t faults = 0, workers = 0;
  std::vector<std::string> history;  // If it was asked for.
};

// What schedules have reached: "mutex acquire 1", "hold lost", and so on.
using reach = std::map<std::string, std::uint64_t, std::less<>>;

outcome run_schedule(deployment, std::uint64_t seed, reach&, bool with_history = false, const cut_down& = {});

}  // namespace leasehold::simulation
