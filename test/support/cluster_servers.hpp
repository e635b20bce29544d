// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/redis_server.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::test {

// A real Redis Cluster. The masters come first among the nodes and share the slots evenly, then come their replicas:
// node masters + i is a replica of node i % masters. The roles may change later.
class cluster_servers {
 public:
  static constexpr int slots = 16384;

  // Returns when the cluster is whole. `configuration`: further lines for each node. `tls`: of each node's certificate;
  // then all that the nodes say to each other is encrypted, and they tell clients with TLS of their ports with TLS.
  // `environment`: of each node; `of_the_first`: beside that, of node 0.
  explicit cluster_servers(std::size_t masters = 3, std::size_t replicas_per_master = 0,
                           std::vector<std::string> configuration = {}, std::vector<std::string> tls = {},
                           const std::vector<std::string>& environment = {},
                           const std::vector<std::string>& of_the_first = {});

  std::string url() const { return url("127.0.0.1"); }  // With every node: redis+cluster://, or rediss+cluster://.
  std::string url(const std::string& host) const;
  std::size_t size() const { return nodes_.size(); }
  redis_server& node(std::size_t i) { return *nodes_.at(i); }
  const std::string& id(std::size_t i) const { return ids_.at(i); }

  static int slot_of(std::string_view key);
  // The node that is the master of this slot, in the view of the nodes that run.
  std::size_t master_of(int slot);
  std::size_t master_of(std::string_view key) { return master_of(slot_of(key)); }
  // A replica, that runs, of the master of this slot.
  std::size_t replica_of(int slot);
  bool is_master(std::size_t i);

  // Moves the slot with its keys.
  void move_slot(int slot, std::size_t from, std::size_t to);
  // The same in steps.
  void begin_moving(int slot, std::size_t from, std::size_t to);
  void move_keys(int slot, std::size_t from, std::size_t to);
  void move_key(const std::string& key, std::size_t from, std::size_t to);
  void end_moving(int slot, std::size_t from, std::size_t to);

  // From now on a node that does not answer for a second has failed, and a replica takes its place.
  void notice_failures_soon();
  // Makes this replica a master and returns when it is and everybody knows. `how`: "", "FORCE" or "TAKEOVER".
  void fail_over(std::size_t replica, const std::string& how = {});

  // Until the nodes that run say that the cluster is whole, agree about it, and their replicas are in step.
  void wait_until_ok();

 private:
  std::string view(std::size_t i);
  void check(const reply&, const std::string& what) const;
  std::string port(std::size_t i) const;      // By which the nodes know it,
  std::string bus_port(std::size_t i) const;  // and where they talk to it.

  bool tls_ = false;
  std::vector<std::unique_ptr<redis_server>> nodes_;
  std::vector<std::string> ids_;
};

}  // namespace leasehold::test
