// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What happens to a cluster in the course of time: slots are moved key by key, replicas take over, and nodes hear of it
// late.
#pragma once

#include "simulation/world.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leasehold::simulation {

class cluster_events {
 public:
  // The last of its servers is the spare: it has no slots, and stands for the replica that takes over. The world
  // outlives this. `note` is told what happens.
  cluster_events(world&, std::function<void(const std::string&)> note);

  // The slot of the record goes to another master: a key in each pause, and the other nodes know it a pause later.
  void move(const std::string& record, std::size_t to, clock::duration pause);
  // The spare has what the master has now. After `lag` the master ends, after `detection` the spare takes its place;
  // the other nodes know it after `gossip`. The master that was comes back with nothing, as the spare. `when_lost` is
  // called when the master ends.
  struct failover {
    std::size_t from;
    clock::duration lag, detection, gossip;
  };
  void fail_over(const failover&, std::function<void()> when_lost);
  // A replica is about to take this master's place, or has just done so. Such a master must not come back with its
  // data.
  bool is_being_replaced(std::size_t server) const { return replaced_ == server; }
  // For so long every node says that the cluster is down.
  void refuse(clock::duration);
  // Faults stop: what has begun comes to its end, and nothing else begins.
  void stop();

 private:
  struct moving {
    std::string record;
    clock::duration pause;
  };
  void step(const std::shared_ptr<moving>&);
  bool is_at_work(std::size_t server) { return world_.server(server).is_up() && !world_.server(server).is_frozen(); }
  // The keys of the slot at this server.
  std::vector<std::string> keys_at(std::size_t server, std::uint16_t slot);
  // Those that do not run hear it as soon as they do.
  void tell_all();

  world& world_;
  detail::memory::cluster& cluster_;
  const std::function<void(const std::string&)> note_;
  std::size_t spare_;
  std::optional<std::size_t> replaced_;  // While a fail-over goes on.
  bool is_over_ = false;
};

}  // namespace leasehold::simulation
