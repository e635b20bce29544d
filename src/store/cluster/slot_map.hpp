// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Which node of a cluster has which slot, as its nodes say by CLUSTER NODES and by redirections. No I/O.
//
// The answers differ: a node that was cut off from the others says that it has slots which it has lost. So of two
// answers the one with the later configuration epoch counts ("Redis cluster specification"), and a redirection counts
// until a later epoch is named, or an answer agrees with it, or the node that it names has failed.
#pragma once

#include "protocol/slots.hpp"
#include "store/cluster/topology.hpp"
#include "store/url.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::detail {

// A Node has `where`, its host_and_port; serves(), whether it is connected; and `failed`, whether the last attempt to
// connect has failed. It stays until forget() or forget_all().
template <class Node>
class slot_map {
 public:
  // A node has said which slots there are.
  bool is_known() const { return known_; }
  // Null: the slot's master is unknown.
  Node* owner(std::uint16_t slot) const { return by_slot_[slot]; }

  // Once for each range of slots, with null for one whose master is unknown, as long as f returns true. Returns whether
  // it was so to the end.
  template <class F>
  bool for_each_range(F f) const {
    auto range = by_slot_.begin();
    while (range != by_slot_.end()) {
      if (!f(*range)) return false;
      range = std::find_if(range, by_slot_.end(), [n = *range](const Node* other) { return other != n; });
    }
    return true;
  }

  // Every slot has a master that is connected.
  bool is_complete() const {
    return known_ && for_each_range([](const Node* n) { return n != nullptr && n->serves(); });
  }

  // One slot for each part of the cluster that may have locks: of each master, also if it has failed. (There are none
  // where no node ever had the slot.)
  std::vector<std::uint16_t> one_of_each() const {
    std::vector<std::uint16_t> found;
    std::set<const Node*> seen{nullptr};
    for (std::size_t slot = 0; slot < by_slot_.size(); ++slot) {
      if (seen.insert(by_slot_[slot]).second) found.push_back(static_cast<std::uint16_t>(slot));
    }
    std::copy_if(failed_.begin(), failed_.end(), std::back_inserter(found),
                 [this](std::uint16_t slot) { return by_slot_[slot] == nullptr; });
    return found;
  }

  // What a node says. node_of: gets the Node of one of `found`, and makes it if need be. Returns whether a slot has
  // moved.
  template <class NodeOf>
  bool take(const std::vector<cluster_node>& found, NodeOf node_of) {
    if (known_ && found == last_look_) return false;
    bool has_moved = false;
    const auto gone = gone_without(found);
    nodes_.clear();
    by_address_.clear();
    failed_.clear();
    for (const auto& f : found) {
      nodes_.push_back(f.where);
      for (const auto& other : {f.address, f.by_name}) by_address_.emplace(name_of(other), f.where);
      if (f.slots.empty()) continue;
      if (!f.master) {
        failed_.push_back(f.slots.front().first);
        continue;
      }
      Node& n = node_of(f);
      for (const auto& [first, last] : f.slots) {
        for (std::size_t slot = first; slot <= last; ++slot) {
          if (is_older(f.epoch, n, slot) && !gone.contains(by_slot_[slot])) continue;
          has_moved = has_moved || by_slot_[slot] != &n;
          by_slot_[slot] = &n;
          config_epochs_[slot] = f.epoch;
          is_redirected_[slot] = false;
        }
      }
    }
    known_ = true;
    last_look_ = found;
    return has_moved;
  }

  // MOVED names the slot's node. Returns whether it is another one than was known.
  bool follow(std::uint16_t slot, Node& to) {
    if (by_slot_[slot] == &to) return false;
    by_slot_[slot] = &to;
    is_redirected_[slot] = true;
    doubt();
    return true;
  }

  // The next answer counts, even if it says what the last one has said: nodes that are not connected any more are gone
  // now, if it does not name them.
  void doubt() { last_look_.clear(); }

  void forget(const Node& n) {
    std::replace(by_slot_.begin(), by_slot_.end(), const_cast<Node*>(&n), static_cast<Node*>(nullptr));
    doubt();
  }
  void forget_all() { std::fill(by_slot_.begin(), by_slot_.end(), nullptr); }

  // All nodes that are known, with or without slots.
  const std::vector<host_and_port>& nodes() const { return nodes_; }
  void assume(std::vector<host_and_port> nodes) { nodes_ = std::move(nodes); }
  // By which name the client knows the node that a redirection names by its address, or otherwise. (The certificate is
  // for the name by which the client knows it.)
  host_and_port known_as(host_and_port named) const {
    const auto found = by_address_.find(name_of(named));
    return found == by_address_.end() ? std::move(named) : found->second;
  }

 private:
  bool is_older(std::uint64_t epoch, const Node& n, std::size_t slot) const {
    if (epoch != config_epochs_[slot]) return epoch < config_epochs_[slot];
    const Node* const named = by_slot_[slot];
    return is_redirected_[slot] && named != &n && named != nullptr && !named->failed;
  }

  // Those that are not connected, and that the answer of another one does not name: the cluster may have been made
  // anew. A node that is cut off from the others still names them. Null is among them.
  std::set<const Node*> gone_without(const std::vector<cluster_node>& found) const {
    std::set<const Node*> gone{nullptr};
    for_each_range([&](const Node* n) {
      const auto is_named = [n](const cluster_node& f) { return name_of(f.where) == name_of(n->where); };
      if (n != nullptr && !n->serves() && std::none_of(found.begin(), found.end(), is_named)) gone.insert(n);
      return true;
    });
    return gone;
  }

  bool known_ = false;
  std::vector<Node*> by_slot_ = std::vector<Node*>(number_of_slots);
  // By slot: the configuration epoch of its node, as CLUSTER NODES said.
  std::vector<std::uint64_t> config_epochs_ = std::vector<std::uint64_t>(number_of_slots);
  // By slot: a redirection has named its node since then.
  std::vector<bool> is_redirected_ = std::vector<bool>(number_of_slots);
  // The first slot of each master that has failed.
  std::vector<std::uint16_t> failed_;
  // What by_slot_ was made of. Empty: it was changed since then, or is doubted.
  std::vector<cluster_node> last_look_;
  std::vector<host_and_port> nodes_;
  // The nodes by address, and by the host's name.
  std::map<std::string, host_and_port> by_address_;
};

}  // namespace leasehold::detail
