// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/cluster/node.hpp"

#include "protocol/keys.hpp"
#include "protocol/slots.hpp"

namespace leasehold::detail {

void node::listen_in(std::uint16_t slot) {
  if (!server->up() || asked_.contains(slot)) return;
  asked_.insert(slot);
  server->change_shard_channel(client_channel(tag_of_slot(slot), client_), true);
}

void node::ignore_in(std::uint16_t slot) {
  if (asked_.erase(slot) == 0) return;
  subscribed_.erase(slot);
  left_.insert(slot);
  server->change_shard_channel(client_channel(tag_of_slot(slot), client_), false);
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

void node::on_shard_channel(std::string_view channel, bool subscribed) {
  const auto slot = slot_of(channel);
  if (const auto own = left_.find(slot); !subscribed && own != left_.end()) {
    left_.erase(own);
  } else if (subscribed) {
    if (!asked_.contains(slot)) return;
    subscribed_.insert(slot);
    if (auto* const to = owner_.listener()) to->on_grants_pushed(slot);
  } else if (asked_.erase(slot) != 0) {
    // The client has not asked to leave the channel.
    subscribed_.erase(slot);
    owner_.on_slot_left();
  }
}

void node::forget_channels() {
  asked_.clear();
  subscribed_.clear();
  left_.clear();
}

}  // namespace leasehold::detail
