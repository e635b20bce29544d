// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A process with many holds on one client.
#pragma once

#include "bench.hpp"

#include "support/redis_server.hpp"

#include <cstdint>

namespace leasehold::bench {

struct kept {
  double bytes = 0;     // for each hold: allocated
  double resident = 0;  // and in the resident set
  // While the holds were renewed:
  double client_cpu = 0;  // shares of a core
  double server_cpu = 0;
  double renewals = 0;  // per second
  std::uint64_t lost = 0;
  std::int64_t left_behind = 0;  // keys, after all were released
};
kept keep(test::redis_server&, std::size_t holds, std::chrono::milliseconds lease, seconds time);

}  // namespace leasehold::bench
