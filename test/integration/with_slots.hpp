// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/cluster_servers.hpp"
#include "support/redis_server.hpp"

#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

// A fixture: a server in cluster mode that has all slots. It refuses scripts with keys of several slots, and so stands
// in for one address with shards behind it.
struct with_slots {
  explicit with_slots(std::vector<std::string> configuration = {}) : nodes(1, 0, std::move(configuration)) {}

  cluster_servers nodes;
  redis_server& redis = nodes.node(0);
};

}  // namespace leasehold::test
