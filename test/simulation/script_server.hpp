// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The store in memory, without clients, for tests that call the scripts directly: the words of redis_server.
#pragma once

#include "schedule/memory_host.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace leasehold::test {

// Its clock stands still but for let_pass().
class script_server {
 public:
  script_server() { host_.set_time(now_.count()); }

  reply command_of(const std::vector<std::string>& words) { return host_.command(words); }
  template <class... Words>
  reply command(const Words&... words) {
    return command_of({std::string(words)...});
  }
  std::optional<std::string> get(const std::string& key) {
    const reply r = command("GET", key);
    return r.is_nil() ? std::nullopt : std::optional(r.text);
  }
  std::int64_t ttl(const std::string& key) { return command("PTTL", key).integer; }
  // The number of keys, fence counters not counted.
  std::size_t size() {
    std::size_t n = 0;
    for (const reply& key : command("KEYS", "*").items) n += key.text.ends_with("fence") ? 0 : 1;
    return n;
  }
  // All data, as one text.
  std::string dump() { return host_.database().dump(); }
  // How many commands have changed something that replicas learn of.
  std::uint64_t changes() { return host_.database().changes(); }

  std::int64_t microseconds() const { return now_.count(); }
  void let_pass(std::chrono::microseconds d) {
    now_ += d;
    host_.set_time(now_.count());
  }

 private:
  memory_host host_;
  std::chrono::microseconds now_ = std::chrono::seconds(1704067200);  // The year 2024.
};

}  // namespace leasehold::test
