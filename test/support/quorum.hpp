// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/locks.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::test {

// Independent servers that make a quorum: redis_server, or memory_server in virtual time.
template <class Server>
struct quorum_of {
  quorum_of() = default;
  explicit quorum_of(std::size_t n) {
    while (servers.size() < n) servers.push_back(std::make_unique<Server>());
  }

  Server& operator[](std::size_t i) { return *servers.at(i); }
  std::vector<std::string> urls() const {
    std::vector<std::string> found;
    for (const auto& s : servers) found.push_back(s->url());
    return found;
  }
  // Of those that run: on how many this key is.
  std::size_t with(const std::string& key) {
    return static_cast<std::size_t>(std::count_if(servers.begin(), servers.end(), [&key](const auto& s) {
      return s->running() && s->command("EXISTS", key).integer == 1;
    }));
  }
  // And how many keys there are, fence counters not counted.
  std::size_t size() {
    std::size_t n = 0;
    for (const auto& s : servers) n += s->running() ? s->size() : 0;
    return n;
  }
  awaitable<void> nothing_left() {
    co_await eventually("nothing is left on any server", [this] { return size() == 0; });
  }

  std::vector<std::unique_ptr<Server>> servers;
};

// For servers that are restarted in a test: their grants count at once.
inline client_options forgiving() {
  client_options o;
  o.restart_delay = 0ms;
  o.command_timeout = 300ms;
  o.connect_timeout = 1s;
  o.reconnect = {.first = 5ms, .max = 20ms, .factor = 2.0, .jitter = 0.5};
  return o;
}

}  // namespace leasehold::test
