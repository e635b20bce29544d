// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/redis_server.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::test {

// A real Sentinel group: a master, its replicas, and Sentinels that watch them. The roles may change later.
class sentinel_group {
 public:
  struct settings {
    std::size_t replicas = 2;
    std::size_t sentinels = 3;
    std::string server_password = {};  // Of the default user; "": none.
    std::string sentinel_password = {};
    std::vector<std::string> configuration = {};  // Further lines for each server,
    std::vector<std::string> of_sentinels = {};   // and for each Sentinel.
    std::vector<std::string> environment = {};    // Of each server, and not of the Sentinels.
    std::vector<std::string> tls = {};            // For all, and all that they say to each other is encrypted.
  };
  static constexpr const char* name = "mymaster";

  // Returns when the replicas are in step and the Sentinels know each other and them.
  sentinel_group() : sentinel_group(settings()) {}
  explicit sentinel_group(settings);

  // redis+sentinel:// or rediss+sentinel://[user_info@]127.0.0.1:p1,127.0.0.1:p2,127.0.0.1:p3/mymaster
  std::string url(const std::string& user_info = {}) const;
  std::string hosts() const;  // "127.0.0.1:p1,127.0.0.1:p2,..."

  std::size_t size() const { return servers_.size(); }
  redis_server& server(std::size_t i) { return *servers_.at(i); }
  std::size_t sentinels() const { return sentinels_.size(); }
  redis_server& sentinel(std::size_t i) { return *sentinels_.at(i); }

  // Which server the Sentinels that run say is the master; size() while they do not agree.
  std::size_t master_index();
  redis_server& master() { return server(master_index()); }
  // A replica, that runs, of the master: the n-th.
  redis_server& replica(std::size_t n = 0);

  // Until every replica that runs has what the master has.
  void replicate();
  // From now on no replica of the master gets anything from it.
  void cut_replication();

  // SENTINEL FAILOVER. Returns when the Sentinels agree about the new master.
  void fail_over();
  // Until the Sentinels that run agree about a master other than this one, and it is one.
  void wait_for_another_master(std::size_t than);
  // Until the replicas that run are in step with the master and the Sentinels know them.
  void wait_until_ok();

 private:
  std::string port(const redis_server& s) const { return std::to_string(tls_ ? s.second_port() : s.port()); }

  bool tls_ = false;
  std::vector<std::unique_ptr<redis_server>> servers_;
  std::vector<std::unique_ptr<redis_server>> sentinels_;
};

}  // namespace leasehold::test
