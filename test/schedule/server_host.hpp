// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "schedule/script_host.hpp"
#include "support/redis_server.hpp"
#include "support/stepped_clock.hpp"

namespace leasehold::test {

// A real server whose clock is stopped.
class server_host : public script_host {
 public:
  server_host();

  void set_time(std::int64_t microseconds) override { clock_.stop_at(microseconds); }
  void load(std::string_view text) override { connection_.command({"SCRIPT", "LOAD", std::string(text)}); }
  void send(const std::vector<std::string>& words) override { connection_.send(words); }
  reply receive() override { return connection_.receive(); }
  std::vector<message> messages() override;

 private:
  stepped_clock clock_;
  // A log that is not read would fill its pipe, and stop the server.
  redis_server redis_{{"logfile /dev/null"}, clock_.environment()};
  redis_connection connection_{redis_.socket_path()};
  redis_connection subscriber_{redis_.socket_path()};
};

}  // namespace leasehold::test
