// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// The loops that are compared. Each runs `coroutines` coroutines on one io_context and one thread; each coroutine acquires
// and releases a lock of its own, again and again. The answer is in pairs per second.
#pragma once

#include <chrono>
#include <cstddef>

namespace leasehold::bench {

struct target {
  unsigned short port;
  std::chrono::duration<double> time;
};

double leasehold_pairs(const target&, std::size_t coroutines);
double bare_pairs(const target&, std::size_t coroutines);
double plain_pairs(const target&, std::size_t coroutines);

}  // namespace leasehold::bench
