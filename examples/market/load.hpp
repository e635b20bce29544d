// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "market/player.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace market {

struct load {
  long sellers = 1;
  long buyers = 1;
};

// What came of a run.
struct figures {
  long listed = 0;
  long bought = 0;
  long retries = 0;                   // Begun anew because somebody was in the way.
  long too_late = 0;                  // Chose another item, because this one was sold before it could be bought.
  double seconds = 0;                 // How long it took.
  double waited = 0;                  // Seconds of all buyers, from the first look at an item to its purchase.
  double redis_core = 0;              // The share of a core that Redis was at work,
  double own_core = 0;                // and this program.
  std::vector<std::string> problems;  // What check_books found.
  std::string metrics;  // How long each class of locks was waited for, and for which player: Prometheus's.
};

struct rules {
  std::chrono::seconds length{60};
  bool own_clients = false;  // Each player has a client and a connection of its own, as if it were a program by itself.
  bool metrics = false;      // Count by classes of locks, and slow waits by players: figures::metrics.
  bool joined_watch = false;  // WATCH and what is read after it are one request.
};

// Sellers list and buyers buy for the given time, in a Redis without a market. Ends early when `stop` is set. The
// market stays in Redis.
asio::awaitable<figures> trade(asio::io_context& context, std::string url, method how, load size, rules rule,
                               const bool& stop);

}  // namespace market
