// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Where schedules run their scripts: a store in memory, or a real server.
#pragma once

#include "support/redis_server.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::test {

// It starts empty, and its clock stands still between two calls of set_time.
class script_host {
 public:
  struct message {
    std::string channel;
    std::string text;
  };

  script_host() = default;
  script_host(const script_host&) = delete;
  script_host& operator=(const script_host&) = delete;
  virtual ~script_host() = default;

  // In microseconds since 1970. Every command that was sent must have been answered.
  virtual void set_time(std::int64_t microseconds) = 0;

  // So that EVALSHA knows the script.
  virtual void load(std::string_view text) = 0;

  // Commands may be sent before earlier ones are answered; replies come in the same order.
  virtual void send(const std::vector<std::string>& words) = 0;
  virtual reply receive() = 0;

  // What has been published since the last call. Every command that was sent must have been answered.
  virtual std::vector<message> messages() = 0;

  reply command(const std::vector<std::string>& words) {
    send(words);
    return receive();
  }
};

}  // namespace leasehold::test
