// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/quorum.hpp"
#include "support/redis_server.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::test {

struct quorum_servers : quorum_of<redis_server> {
  // `environment`: that of each server, if there are as many.
  explicit quorum_servers(std::size_t n, const std::vector<std::vector<std::string>>& environment = {}) {
    for (std::size_t i = 0; i < n; ++i) {
      servers.push_back(std::make_unique<redis_server>(
          std::vector<std::string>(), i < environment.size() ? environment[i] : std::vector<std::string>()));
    }
  }
};

}  // namespace leasehold::test
