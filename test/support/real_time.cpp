// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/run.hpp"

namespace leasehold::test {

// Alone in its file: the simulation links virtual time instead.
void run_to_end(asio::io_context& context) {
  context.restart();
  context.run_for(limit);
  if (!context.stopped()) throw std::runtime_error("io_context::run() did not return in time");
}

void run_until(asio::io_context& context, const condition& holds) {
  const auto end = now() + limit;
  while (!holds()) {
    if (now() > end) throw std::runtime_error("the condition did not hold in time");
    context.restart();
    context.run_one_for(10ms);
  }
}

void run_for(asio::io_context& context, std::chrono::nanoseconds d) {
  context.restart();
  context.run_for(d);
}

}  // namespace leasehold::test
