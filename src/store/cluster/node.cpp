// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/cluster/node.hpp"

#include "protocol/keys.hpp"
#include "protocol/slots.hpp"

#include <algorithm>
#include <chrono>

namespace leasehold::detail {
namespace {

constexpr std::chrono::milliseconds first_refused_pause{250}, longest_refused_pause{10000};

}  // namespace

void node::listen_in(std::uint16_t slot) {
  if (server->up() && !leaves_out(slot) && channels_.ask(slot))
    server->change_shard_channel(client_channel(tag_of_slot(slot), client_), true);
}

void node::ignore_in(std::uint16_t slot) {
  if (channels_.leave(slot)) server->change_shard_channel(client_channel(tag_of_slot(slot), client_), false);
}

void node::listen_to(const std::string& channel) {
  if (server->up() && !leaves_out(slot_of(channel)) && others_.insert(channel).second)
    server->change_shard_channel(channel, true);
}

void node::ignore(const std::string& channel) {
  if (others_.erase(channel) == 0) return;
  left_others_.insert(channel);
  server->change_shard_channel(channel, false);
}

void node::on_up(const store::server& s) {
  found = s;
  failure.clear();
  failed = false;
  refusal.clear();
  forget_channels();
  if (!leaving_) owner_.on_node_up(*this);
}

void node::on_down(std::string_view why) {
  forget_channels();
  if (!leaving_) owner_.on_node_down(*this, why);
}

void node::on_no_answer(std::string_view why) {
  if (!leaving_) owner_.on_no_answer(*this, why);
}

void node::on_message(std::string_view m) {
  if (auto* const to = owner_.listener()) to->on_message(m);
}

void node::on_channel(std::string_view c) {
  if (auto* const to = owner_.listener()) to->on_channel(c);
}

void node::on_clock_jump(clock::duration jump) {
  if (auto* const to = owner_.listener()) to->on_clock_jump(jump);
}

void node::on_credentials(std::string_view why) {
  if (!leaving_) owner_.on_credentials(*this, why);
}

void node::on_refused(std::string_view words) {
  if (!leaving_) owner_.on_refused(*this, words);
}

void node::on_stopped() {
  const auto self = shared_from_this();
  owner_.on_node_stopped(*this);
}

void node::on_other_channel(const std::string& channel, bool subscribed) {
  if (subscribed) {
    left_out_.erase(slot_of(channel));
    if (others_.contains(channel)) on_channel(channel);
    return;
  }
  if (const auto own = left_others_.find(channel); own != left_others_.end()) {
    left_others_.erase(own);
    return;
  }
  // The client has not asked to leave the channel.
  if (others_.erase(channel) != 0) return owner_.on_slot_left();
}

void node::on_shard_channel(std::string_view channel, bool subscribed) {
  if (is_leader_channel(channel)) return on_other_channel(std::string(channel), subscribed);
  const auto slot = slot_of(channel);
  if (subscribed) left_out_.erase(slot);
  switch (channels_.confirmed(slot, subscribed)) {
    case slot_channels::change::none: break;
    case slot_channels::change::begun:
      if (auto* const to = owner_.listener()) to->on_grants_pushed(slot);
      break;
    case slot_channels::change::ended: owner_.on_slot_left(); break;
  }
}

void node::on_refused_shard_channel(std::string_view channel, std::string_view words) {
  owner_.on_refused_slot(*this, slot_of(channel), words);
}

bool node::leaves_out(std::uint16_t slot) const {
  const auto its = left_out_.find(slot);
  return its != left_out_.end() && clock::now() < its->second.until;
}

void node::leave_out(std::uint16_t slot) {
  refused_slot& its = left_out_[slot];
  its.pause = std::clamp<clock::duration>(2 * its.pause, first_refused_pause, longest_refused_pause);
  its.until = later(clock::now(), its.pause);
}

clock::time_point node::listens_again(clock::time_point now) const {
  auto next = clock::time_point::max();
  for (const auto& [slot, its] : left_out_) {
    if (now < its.until) next = std::min(next, its.until);
  }
  return next;
}

void node::forget_channels() {
  channels_.forget();
  others_.clear();
  left_others_.clear();
}

}  // namespace leasehold::detail
