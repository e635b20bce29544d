// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/locks.hpp"
#include "support/redis_server.hpp"

namespace leasehold::test {

// A fixture: a server of its own for each test.
struct with_redis {
  redis_server redis;
};

}  // namespace leasehold::test
