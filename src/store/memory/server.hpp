// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// One Redis server in memory: its data, its clock, its connections. What happens to it is decided by a test.
#pragma once

#include "protocol/scripts.hpp"
#include "store/memory/database.hpp"
#include "store/memory/scripting.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace leasehold::detail::memory {

// What the server knows of a connection.
class session {
 public:
  // The session has subscribed to the channel: the message goes on its way to the client.
  virtual void deliver(std::string_view channel, std::string_view message) = 0;
  // The server has closed the connection.
  virtual void close() = 0;

  std::set<std::string, std::less<>> channels;

 protected:
  ~session() = default;
};

class server {
 public:
  // The server's own clock, since 1970. `scripts` outlives the server.
  using clock_function = std::function<std::chrono::microseconds()>;
  server(scripting& scripts, clock_function now);
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  // With the time of now.
  database& data();
  // As database::changes().
  std::uint64_t changes() const { return data_.changes(); }
  std::chrono::microseconds time() const { return now_(); }
  const std::string& run_id() const { return run_id_; }
  std::chrono::seconds uptime() const;
  // As if it had been started so long ago.
  void be_older(std::chrono::seconds by) { started_ -= by; }

  // --- What happens to it ---

  bool is_up() const { return is_up_; }
  bool is_frozen() const { return is_frozen_; }
  // The process ends; every connection is closed.
  void kill();
  // Another process, with these data; it knows no scripts. Closes every connection that is still there.
  void start(database data);
  // SIGSTOP and SIGCONT: what arrives meanwhile runs in order afterwards.
  void freeze() { is_frozen_ = true; }
  void thaw();
  // Every connection breaks; the clients may connect again at once.
  void close_connections();
  // SCRIPT FLUSH.
  void forget_scripts() { known_.clear(); }

  // A script runs for too long: every other one is refused.
  bool is_busy = false;

  // How many replicas are connected, and how many of them acknowledge.
  std::size_t replicas = 0;
  std::size_t replicas_that_answer = 0;

  // --- What arrives ---

  // Runs f now, or once the server goes on; never if it ends before.
  void arrive(std::function<void(server&)> f);
  // As EVAL, or as EVALSHA if the text does not come along. `wrote`: whether it has changed anything.
  reply run(const script&, bool whole_text, scripting::strings keys, scripting::strings arguments,
            bool* wrote = nullptr);
  // As EVAL, of a text that is none of the library's scripts; on_run is not told.
  reply eval(std::string_view text, scripting::strings keys, scripting::strings arguments) {
    return scripting_.run(text, keys, arguments, data());
  }
  reply execute(const std::vector<std::string>& command) { return data().execute(command); }
  // How many connections are open.
  std::size_t connections() const;
  void attach(const std::shared_ptr<session>& s) { sessions_.push_back(s); }
  void detach(const session&);
  // How many connections have subscribed to the channel, as PUBSUB NUMSUB counts.
  std::int64_t subscribers(std::string_view channel) const;

  // Told of each script that has run.
  std::function<void(const script&, const std::vector<std::string_view>& arguments, const reply&)> on_run;

 private:
  std::int64_t publish(std::string_view channel, std::string_view message);
  void take_run_id();

  scripting& scripting_;
  const clock_function now_;
  database data_;
  std::string run_id_;
  std::uint64_t starts_ = 0;
  std::chrono::microseconds started_{0};
  bool is_up_ = true;
  bool is_frozen_ = false;
  std::unordered_set<const script*> known_;
  std::vector<std::weak_ptr<session>> sessions_;
  std::vector<std::function<void(server&)>> held_back_;
};

}  // namespace leasehold::detail::memory
