// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/memory/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace leasehold::detail::memory {
namespace {

std::string address_of(std::size_t node) { return fmt::format("s{}:1", node); }

}  // namespace

cluster::cluster(const std::vector<server*>& nodes, std::size_t masters)
    : slots_(number_of_slots), epochs_(nodes.size()) {
  for (std::size_t slot = 0; slot < number_of_slots; ++slot) {
    slots_[slot] = static_cast<std::uint8_t>(slot * masters / number_of_slots);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    epochs_[i] = i + 1;
    nodes_.push_back(std::make_unique<node>(*this, i, *nodes[i]));
    nodes[i]->join(nodes_.back().get());
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) announce_slots(i);
}

cluster::~cluster() {
  for (const auto& n : nodes_) n->its->join(nullptr);
}

std::optional<std::size_t> cluster::target(std::uint16_t slot) const {
  const auto found = moving_.find(slot);
  return found == moving_.end() ? std::nullopt : std::optional(found->second);
}

void cluster::begin_to_move(std::uint16_t slot, std::size_t to) {
  if (owner(slot) != to) moving_.insert_or_assign(slot, to);
}

void cluster::move_key(std::uint16_t slot, const std::string& key) {
  const auto to = target(slot);
  if (to) nodes_[owner(slot)]->its->data().move_key(key, nodes_[*to]->its->data());
}

void cluster::end_move(std::uint16_t slot) {
  const auto to = target(slot);
  if (!to) return;
  const auto before = owner(slot);
  slots_[slot] = static_cast<std::uint8_t>(*to);
  epochs_[*to] = *std::max_element(epochs_.begin(), epochs_.end()) + 1;
  ++changes_;
  moving_.erase(slot);
  announce_slots(before);
  announce_slots(*to);
}

void cluster::take_over(std::size_t from, std::size_t to) {
  std::replace(slots_.begin(), slots_.end(), static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to));
  epochs_[to] = *std::max_element(epochs_.begin(), epochs_.end()) + 1;
  ++changes_;
  std::erase_if(moving_, [&](const auto& m) { return owner(m.first) == to || m.second == from; });
  announce_slots(to);
}

void cluster::announce_slots(std::size_t number) {
  node& n = *nodes_[number];
  if (!n.slots.empty() && n.changes == changes_) return;
  const auto before = std::exchange(n.slots, slots_);
  n.epochs = epochs_;
  n.changes = changes_;
  n.text = nodes(n);
  if (before.empty()) return;
  n.its->leave_shard_channels([&n](std::uint16_t slot) { return n.slots[slot] != n.number; });
}

bool cluster::is_settled() const {
  return moving_.empty() && !is_down &&
         std::all_of(nodes_.begin(), nodes_.end(), [this](const auto& n) { return n->changes == changes_; });
}

// <id> <ip:port@cport[,hostname]> <flags> <master> <ping> <pong> <epoch> <link> <slot> <slot> ...
std::string cluster::nodes(const node& asked) const {
  std::vector<std::string> slots(nodes_.size());
  for (std::size_t first = 0; first < number_of_slots;) {
    const auto its = asked.slots[first];
    std::size_t end = first + 1;
    while (end < number_of_slots && asked.slots[end] == its) ++end;
    slots[its] += end == first + 1 ? fmt::format(" {}", first) : fmt::format(" {}-{}", first, end - 1);
    first = end;
  }
  std::string text;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    text += fmt::format("{:040x} {}@1 {}{} - 0 0 {} connected{}\n", i + 1, address_of(i),
                        i == asked.number ? "myself," : "", slots[i].empty() ? "slave" : "master", asked.epochs[i],
                        slots[i]);
  }
  return text;
}

void cluster::node::publish_elsewhere(std::string_view channel, std::string_view message) {
  for (const auto& other : cluster_->nodes_) {
    if (other.get() != this) other->its->hear(channel, message);
  }
}

bool cluster::node::is_in_motion(std::string_view key) const { return cluster_->target(slot_of(key)).has_value(); }

// A command of a script is checked as one that a client sends is, by scriptVerifyClusterState of redis-server. What
// the script itself has emptied is missing.
bool cluster::node::are_local(scripting::strings keys) {
  if (keys.empty()) return true;
  const auto to = cluster_->target(slot_of(keys.front()));
  const bool is_coming = to && *to == number;
  if (is_coming && keys.size() == 1) return true;
  return std::all_of(keys.begin(), keys.end(), [this](std::string_view key) {
    return its->data().execute({"EXISTS", key}).integer != 0;
  });
}

// Decides like getNodeByQuery of redis-server.
std::optional<reply> cluster::node::refuses(scripting::strings keys, bool asking, bool is_channel) {
  if (keys.empty()) return std::nullopt;
  const auto slot = slot_of(keys.front());
  if (std::any_of(keys.begin(), keys.end(), [slot](std::string_view key) { return slot_of(key) != slot; })) {
    return error("CROSSSLOT Keys in request don't hash to the same slot");
  }
  if (cluster_->is_down) return error("CLUSTERDOWN The cluster is down");
  const auto to = cluster_->target(slot);
  const bool is_mine = slots[slot] == number;
  const bool is_moving = to && is_mine;
  const bool is_coming = to && *to == number;
  std::size_t missing = 0;
  if ((is_moving || is_coming) && !is_channel) {
    for (const auto key : keys) missing += its->data().execute({"EXISTS", key}).integer == 0 ? 1U : 0U;
  }
  constexpr const char* try_again = "TRYAGAIN Multiple keys request during rehashing of slot";
  if (is_moving && missing != 0) {
    if (missing != keys.size()) return error(try_again);
    return error(fmt::format("ASK {} {}", slot, address_of(*to)));
  }
  if (is_coming && asking) {
    if (keys.size() > 1 && missing != 0) return error(try_again);
    return std::nullopt;
  }
  if (is_mine) return std::nullopt;
  return error(fmt::format("MOVED {} {}", slot, address_of(slots[slot])));
}

}  // namespace leasehold::detail::memory
