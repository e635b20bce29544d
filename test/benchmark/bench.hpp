// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The sections of leasehold_bench. Each measures on a redis-server of its own and writes what it finds into the report.
#pragma once

#include "report.hpp"

#include <chrono>
#include <cstddef>
#include <vector>

namespace leasehold::bench {

using namespace std::chrono_literals;
using seconds = std::chrono::duration<double>;

struct settings {
  seconds time{1};  // of each measurement that is repeated
  int rounds = 5;
  std::vector<std::size_t> coroutines{1, 100, 1000};

  std::size_t processes = 24;
  seconds contest{10};

  std::size_t local_waiters = 10000;
  std::size_t names = 1000;
  seconds waiting{10};

  std::size_t holds = 100000;
  std::chrono::milliseconds lease{30s};
  seconds renewing{60};
};

void pairs(const settings&, report&);
void classes(const settings&, report&);
void handoff(const settings&, report&);
void coroutines(const settings&, report&);
void processes(const settings&, report&);
void cost(const settings&, report&);
void holds(const settings&, report&);
void kinds(const settings&, report&);
void linger(const settings&, report&);
void cluster(const settings&, report&);
void quorum(const settings&, report&);

}  // namespace leasehold::bench
