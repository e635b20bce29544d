// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "support/run.hpp"

namespace leasehold::test {

// Alone in its file: the simulation links another one.
void run_to_end(asio::io_context& context) {
  context.restart();
  context.run_for(limit);
  if (!context.stopped()) throw std::runtime_error("io_context::run() did not return in time");
}

}  // namespace leasehold::test
