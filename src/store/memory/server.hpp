// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// One Redis server in memory: its data, its clock, its connections. A test decides what happens to it.
#pragma once

#include "protocol/scripts.hpp"
#include "store/memory/database.hpp"
#include "store/memory/scripting.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace leasehold::detail::memory {

// A connection, as the server sees it.
class session {
 public:
  // Sends the message to the client: the session has subscribed to the channel.
  virtual void deliver(std::string_view channel, std::string_view message) = 0;
  // The server has closed the connection.
  virtual void close() = 0;
  // The session is no longer subscribed to this shard channel: its slot has another master.
  virtual void on_left(std::string_view channel) = 0;

  // By SUBSCRIBE, and by SSUBSCRIBE. PUBLISH reaches those, and SPUBLISH these.
  std::set<std::string, std::less<>> channels, shard_channels;

 protected:
  ~session() = default;
};

// Implemented for a server that is a node of a cluster.
class slots_of_node {
 public:
  // The error for a request with these keys, or about this channel, if the node does not serve their slot. `asking`:
  // the request came after ASKING.
  virtual std::optional<reply> refuses(scripting::strings keys, bool asking, bool is_channel) = 0;
  // Whether the slot of this key is on its way to or from the node. Then a script that runs already may only call
  // commands whose keys are local.
  virtual bool is_in_motion(std::string_view key) const = 0;
  virtual bool are_local(scripting::strings keys) = 0;
  // As CLUSTER NODES.
  virtual std::string nodes() const = 0;
  // What this node has published by PUBLISH goes to all others.
  virtual void publish_elsewhere(std::string_view channel, std::string_view message) = 0;

 protected:
  ~slots_of_node() = default;
};

// The error of a server on which a script runs for too long.
inline constexpr const char* busy =
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";

class server {
 public:
  // The server's own clock, since 1970. `scripts` outlives the server.
  using clock_function = std::function<std::chrono::microseconds()>;
  server(scripting& scripts, clock_function now);
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  // With its clock set to now.
  database& data();
  // As database::changes().
  std::uint64_t changes() const { return data_.changes(); }
  std::chrono::microseconds time() const { return now_(); }
  const std::string& run_id() const { return run_id_; }
  std::chrono::seconds uptime() const;
  // Makes the server seem to have been started that much earlier.
  void be_older(std::chrono::seconds by) { started_ -= by; }

  // --- What happens to it ---

  bool is_up() const { return is_up_; }
  bool is_frozen() const { return is_frozen_; }
  // The process ends; every connection is closed.
  void kill();
  // Starts another process with these data, which knows no scripts. Closes every connection that is still open.
  void start(database data);
  // SIGSTOP and SIGCONT: messages that arrive meanwhile run in order afterwards.
  void freeze() { is_frozen_ = true; }
  void thaw();
  // Every connection breaks; the clients may connect again at once.
  void close_connections();
  // SCRIPT FLUSH.
  void forget_scripts() { known_.clear(); }

  // The user may not listen on channels of slots.
  bool refuses_slot_channels = false;

  // A script runs for too long: the server refuses every other script, and all else that clients ask.
  bool is_busy = false;

  // Clients learn it when they connect.
  std::string info() const;
  std::string maxmemory_policy = "noeviction";
  int arch_bits = 64;

  // What runs at the moment was sent on a connection that is gone: its reply is lost.
  bool runs_late_bytes = false;

  // How many replicas are connected, and how many of them acknowledge.
  std::size_t replicas = 0;
  std::size_t replicas_that_answer = 0;

  // --- What arrives ---

  // Runs f now, or when the server continues; never if the server ends before.
  void arrive(std::function<void(server&)> f);
  // As EVAL, or as EVALSHA without the text. `wrote`: whether the script has changed anything.
  reply run(const script&, bool whole_text, scripting::strings keys, scripting::strings arguments, bool asking = false,
            bool* wrote = nullptr);
  // As EVAL, for a text that is not one of the library's scripts. Does not call on_run.
  reply eval(std::string_view text, scripting::strings keys, scripting::strings arguments) {
    return scripting_.run(text, keys, arguments, data());
  }
  // Of a test, which a busy server does not refuse.
  reply execute(const std::vector<std::string>& command);
  // The same of a client.
  reply answer(const std::vector<std::string>& command);
  // Another node of the cluster has published this.
  void hear(std::string_view channel, std::string_view message);
  // As SSUBSCRIBE. Returns the error if the server refuses it.
  std::optional<reply> subscribe_in_slot(session&, const std::string& channel);
  // From now on the server belongs to a cluster; null: to none. The node outlives the membership.
  void join(slots_of_node* n) { node_ = n; }
  // Ends all subscriptions to the shard channels of these slots.
  void leave_shard_channels(const std::function<bool(std::uint16_t slot)>& which);
  // The number of open connections.
  std::size_t connections() const;
  void attach(const std::shared_ptr<session>& s) { sessions_.push_back(s); }
  void detach(const session&);
  // The number of connections that have subscribed to the channel, as PUBSUB NUMSUB counts.
  std::int64_t subscribers(std::string_view channel) const;

  // Called after each script that has run, or that was refused because its slot belongs to another node or is_busy.
  std::function<void(const script&, const std::vector<std::string_view>& arguments, const reply&)> on_run;

  // What is published is lost if this says so.
  std::function<bool(std::string_view message)> loses;

 private:
  void publish_here();
  std::int64_t publish(std::string_view channel, std::string_view message, bool of_slot);
  std::int64_t deliver(std::string_view channel, std::string_view message, bool of_slot);
  void take_run_id();

  scripting& scripting_;
  const clock_function now_;
  database data_;
  std::string run_id_;
  std::chrono::microseconds started_{0};
  bool is_up_ = true;
  bool is_frozen_ = false;
  slots_of_node* node_ = nullptr;
  std::unordered_set<const script*> known_;
  std::vector<std::weak_ptr<session>> sessions_;
  std::vector<std::function<void(server&)>> held_back_;
};

}  // namespace leasehold::detail::memory
