// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "store/server.hpp"
#include "store/slot_channels.hpp"
#include "store/url.hpp"
#include "time/clock.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace leasehold::detail {

// One server of a cluster, and the channels of slots in which the client listens there. It lives as long as its server
// may report events.
class node final : public store::events, public redis_server::router, public std::enable_shared_from_this<node> {
 public:
  // The cluster. It outlives its nodes.
  class owner {
   public:
    // The client; null after the end.
    virtual store::events* listener() const = 0;
    virtual void on_node_up(node&) = 0;
    virtual void on_node_down(node&, std::string_view why) = 0;
    virtual void on_no_answer(node&, std::string_view why) = 0;
    virtual void on_refused(node&, std::string_view words) = 0;
    virtual void on_credentials(node&, std::string_view why) = 0;
    virtual void on_node_stopped(node&) = 0;
    // As redis_server::router::redirect.
    virtual bool redirect(node& from, redis_server::call&, std::string_view words) = 0;
    // The node has ended a channel of a slot: the slot has another master.
    virtual void on_slot_left() = 0;
    // The node refuses the channels of the slot.
    virtual void on_refused_slot(node&, std::uint16_t slot, std::string_view words) = 0;

   protected:
    ~owner() = default;
  };

  // client: as the channels name it.
  node(owner& o, host_and_port w, std::string client) : where(std::move(w)), owner_(o), client_(std::move(client)) {}

  bool serves() const { return server->up() && !leaving_; }
  void end() {
    leaving_ = true;
    server->stop();
  }
  // It is not connected only to be asked for the slots.
  bool is_used() const { return wanted || clock::now() < imports_until; }
  void listen_in(std::uint16_t slot);
  void ignore_in(std::uint16_t slot);
  // The same for another channel of a slot.
  void listen_to(const std::string& channel);
  void ignore(const std::string& channel);
  // The server has refused that, and the connection is given up: the node listens in the slot again after a pause,
  // which is twice as long after each refusal in a row.
  void leave_out(std::uint16_t slot);
  // When the next of these pauses ends; max(): there is none.
  clock::time_point listens_again(clock::time_point now) const;

  const host_and_port where;
  std::shared_ptr<redis_server> server;
  // Calls were redirected to it by ASK: a slot is being moved to it, as far as is known.
  clock::time_point imports_until = clock::time_point::min();
  bool wanted = true;      // As far as is known, it is a master with slots. Other nodes are only asked for the slots.
  bool announced = false;  // The client was notified that this connection is up.
  std::string failure;     // Why there is no connection, as far as is known.
  bool failed = false;     // The latest attempt to connect has failed,
  std::string refusal;     // because the server refused it with these words.
  store::server found;

 private:
  void on_up(const store::server&) override;
  void on_down(std::string_view why) override;
  void on_no_answer(std::string_view why) override;
  void on_message(std::string_view) override;
  void on_channel(std::string_view) override;
  void on_grants_pushed(std::uint16_t) override {}
  void on_clock_jump(clock::duration) override;
  void on_refused(std::string_view words) override;
  void on_credentials(std::string_view why) override;
  void on_rerouted() override {}
  void on_moved(std::uint16_t) override {}
  void on_stopped() override;

  bool redirect(redis_server::call& c, std::string_view words) override { return owner_.redirect(*this, c, words); }
  bool pushes_grants(std::uint16_t slot) const override { return channels_.is_subscribed(slot); }
  void on_shard_channel(std::string_view channel, bool subscribed) override;
  void on_refused_shard_channel(std::string_view channel, std::string_view words) override;
  bool leaves_out(std::uint16_t slot) const;
  void on_other_channel(const std::string& channel, bool subscribed);
  void forget_channels();

  owner& owner_;
  const std::string client_;
  bool leaving_ = false;
  slot_channels channels_;
  struct refused_slot {
    clock::time_point until;
    clock::duration pause{};
  };
  std::unordered_map<std::uint16_t, refused_slot> left_out_;
  std::unordered_set<std::string> others_;            // Of the other channels: those that the server was asked for,
  std::unordered_multiset<std::string> left_others_;  // and those that were left, without a confirmation so far.
};

}  // namespace leasehold::detail
