// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A Redis Cluster of servers in memory ("Redis cluster specification"): which node has which slot, and what each node
// knows about that. A test decides what happens to it.
#pragma once

#include "protocol/slots.hpp"
#include "store/memory/reply.hpp"
#include "store/memory/scripting.hpp"
#include "store/memory/server.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::detail::memory {

class cluster {
 public:
  // The first `masters` nodes get the same number of slots each; the others have none. Node i has the address "si:1".
  // The nodes outlive the cluster, and are not asked anything after its end.
  cluster(const std::vector<server*>& nodes, std::size_t masters);
  ~cluster();
  cluster(const cluster&) = delete;
  cluster& operator=(const cluster&) = delete;

  // The node that serves the slot.
  std::size_t owner(std::uint16_t slot) const { return slots_[slot]; }
  std::optional<std::size_t> target(std::uint16_t slot) const;

  // CLUSTER SETSLOT MIGRATING and IMPORTING.
  void begin_to_move(std::uint16_t slot, std::size_t to);
  // CLUSTER SETSLOT STABLE on both nodes. No key of the slot was moved.
  void give_up_move(std::uint16_t slot) { moving_.erase(slot); }
  // MIGRATE: moves the key to the node that the slot is being moved to, with what is left of its time to live.
  void move_key(std::uint16_t slot, const std::string& key);
  // CLUSTER SETSLOT NODE on both nodes. The slot's keys must have been moved. The other nodes do not know of the change
  // yet.
  void end_move(std::uint16_t slot);
  // A node without slots takes the place of a master, with the data that it has. The other nodes do not know of the
  // change yet.
  void take_over(std::size_t from, std::size_t to);
  // The node learns the true state.
  void announce_slots(std::size_t node);

  // Every node knows which node has which slot, and no slot is being moved.
  bool is_settled() const;

  // The nodes see some slots without a master, so they refuse every command.
  bool is_down = false;

 private:
  class node final : public slots_of_node {
   public:
    node(cluster& c, std::size_t i, server& s) : number(i), its(&s), cluster_(&c) {}
    std::optional<reply> refuses(scripting::strings keys, bool asking, bool is_channel) override;
    bool is_in_motion(std::string_view key) const override;
    bool are_local(scripting::strings keys) override;
    std::string nodes() const override { return text; }
    void publish_elsewhere(std::string_view channel, std::string_view message) override;

    const std::size_t number;
    server* const its;
    std::vector<std::uint8_t> slots;    // By slot: its node, as far as this node knows.
    std::vector<std::uint64_t> epochs;  // By node, as far as this node knows.
    std::uint64_t changes = 0;          // The number of the cluster's changes that it knows of.
    std::string text;                   // All that as CLUSTER NODES shows it.

   private:
    cluster* const cluster_;
  };
  std::string nodes(const node& asked) const;

  std::vector<std::unique_ptr<node>> nodes_;
  std::vector<std::uint8_t> slots_;    // By slot,
  std::vector<std::uint64_t> epochs_;  // and by node: the true state.
  std::uint64_t changes_ = 0;
  std::map<std::uint16_t, std::size_t> moving_;  // By slot: the node that it is being moved to.
};

}  // namespace leasehold::detail::memory
