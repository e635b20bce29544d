// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "protocol/refusal.hpp"
#include "store/redis/connections.hpp"

#include <boost/redis/adapter/any_adapter.hpp>
#include <boost/redis/request.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace leasehold::detail {

// Commands whose only answer is a push. Boost.Redis knows this of SUBSCRIBE, but not of these. They travel behind an
// argument of PING, which Boost.Redis does not examine.
struct behind_ping {
  std::string_view command;
  std::string_view channel;
};
void boost_redis_to_bulk(std::string& payload, const behind_ping&);

// The channels that a connection listens to in addition to the client's own.
//
// A success is reported by pushes. A refusal is a reply that Boost.Redis does not expect: it takes the place of the
// reply to PING, and every later reply takes the place of another. So the connection must be given up. If the user
// lacks the right, other channels are given up for good.
template <class Connection>
class channels {
 public:
  // on_refusal: the replies of the connection no longer match its commands. Called in the middle of a read. of_slot:
  // the channel, if it is that of a slot, else "".
  channels(Connection& connection, std::function<void(std::string_view words, const std::string& of_slot)> on_refusal)
      : connection_(connection), on_refusal_(std::move(on_refusal)) {}

  // up: the connection is up. Otherwise its successor listens.
  void listen(const std::string& channel, bool up) {
    if (all_.insert(channel).second && up) change("SUBSCRIBE", {channel});
  }
  void ignore(const std::string& channel, bool up) {
    if (all_.erase(channel) != 0 && up) change("UNSUBSCRIBE", {channel});
  }
  // There is a new connection.
  void listen_again() {
    is_out_of_step_ = false;
    if (!all_.empty()) change("SUBSCRIBE", all_);
  }
  // Of a slot.
  void change_shard_channel(const std::string& channel, bool listen) {
    if (refused_of_slots_) return;
    const auto changes = std::make_shared<boost::redis::request>(make_request());
    changes->push("PING", behind_ping{listen ? "SSUBSCRIBE" : "SUNSUBSCRIBE", channel});
    send(changes, refused_of_slots_, channel);
  }

 private:
  void change(std::string_view command, const std::set<std::string>& which) {
    if (refused_) return;
    const auto changes = std::make_shared<boost::redis::request>(make_request());
    changes->push_range(command, which);
    send(changes, refused_, std::string());
  }

  void send(const std::shared_ptr<boost::redis::request>& changes, bool& refused, std::string of_slot) {
    changes->push("PING");
    boost::redis::any_adapter adapter(
        [this, &refused, of_slot = std::move(of_slot)](boost::redis::any_adapter::parse_event e,
                                                       const boost::redis::resp3::node_view& node, error_code&) {
          const bool is_refusal = e == boost::redis::any_adapter::parse_event::node && is_error(node);
          if (is_refusal) on_error(node.value, refused, of_slot);
        });
    connection_.async_exec(*changes, std::move(adapter), [changes](error_code, std::size_t) {});
  }

  void on_error(std::string_view words, bool& refused, const std::string& of_slot) {
    // The answer to the PING: a server that cannot save refuses that, and no subscription. Behind a refusal each reply
    // is that to another command.
    if (is_unsaved(words) || std::exchange(is_out_of_step_, true)) return;
    refused = is_lasting(words);
    on_refusal_(words, of_slot);
  }

  Connection& connection_;
  const std::function<void(std::string_view, const std::string&)> on_refusal_;
  std::set<std::string> all_;
  bool is_out_of_step_ = false;
  bool refused_ = false;
  bool refused_of_slots_ = false;
};

}  // namespace leasehold::detail
