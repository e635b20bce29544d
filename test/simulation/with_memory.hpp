// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Tests of locks in virtual time: the same words as with a real server (support/with_redis.hpp, support/run.hpp), with
// a server in memory. run() moves the time on whenever nothing is ready, so pauses and leases cost nothing.
#pragma once

#include "simulation/world.hpp"

#include "support/locks.hpp"
#include "support/quorum.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

// A server of the world that all servers of a test share.
class memory_server {
 public:
  memory_server();

  std::string url() const { return "memory:s" + std::to_string(number_); }
  std::size_t number() const { return number_; }
  detail::memory::server& server() { return world_->server(number_); }
  simulation::world& world() { return *world_; }
  simulation::skewed_clock& clock() { return world_->clock_of_server(number_); }

  // As of a process. It is empty when it is started again.
  void start() { server().start({}); }
  void kill() { server().kill(); }
  void stop() { server().freeze(); }
  void go_on() { server().thaw(); }
  bool running() { return server().is_up() && !server().is_frozen(); }

  // Besides the commands of the model: SCRIPT FLUSH, EVAL, CLIENT KILL (all of them), CONFIG SET maxmemory (0: none;
  // else there is no memory left), REPLICAOF (as of a master that is away), PUBSUB NUMSUB with one channel.
  template <class... Words>
  detail::memory::reply command(const Words&... words) {
    return command_of({std::string(words)...});
  }
  std::optional<std::string> get(const std::string& key);
  std::int64_t ttl(const std::string& key) { return command("PTTL", key).integer; }
  std::size_t size();  // The number of keys, fence counters not counted.
  // How many connections are open.
  std::size_t connections() { return server().connections(); }
  // How many scripts have run since it was made, whatever they answered.
  std::int64_t scripts() const { return *scripts_; }

 private:
  detail::memory::reply command_of(const std::vector<std::string>& words);

  const std::shared_ptr<simulation::world> world_;
  const std::size_t number_;
  const std::shared_ptr<std::int64_t> scripts_ = std::make_shared<std::int64_t>(0);
};

// A fixture: a server of its own for each test.
struct with_memory {
  memory_server redis;
};

// The same with a server that checks slots: one address with shards behind it, or a server in cluster mode.
struct with_slots : with_memory {
  detail::memory::cluster slots{{&redis.server()}, 1};
};

// Cancels after that time, as asio::cancel_after does by a timer of Asio's. It outlives the operation.
class cancel_timer {
 public:
  cancel_timer(const asio::any_io_executor&, clock::duration);
  cancel_timer(const cancel_timer&) = delete;
  cancel_timer& operator=(const cancel_timer&) = delete;

  template <class Token>
  auto bind(Token token) {
    return asio::bind_cancellation_slot(signal_.slot(), std::move(token));
  }

 private:
  asio::cancellation_signal signal_;
  detail::timer timer_;
};

using memory_quorum = quorum_of<memory_server>;

// Another program with a client of the server, in the same world. The server is the only one of the test.
class other_program {
 public:
  explicit other_program(memory_server& s) : process_(s.world(), "program", {}, {}) {}

  leasehold::client& client() { return process_.client(); }
  // Starts a coroutine, which ends with the program at the latest.
  void start(coroutine c) { asio::co_spawn(process_.executor(), std::move(c), asio::detached); }
  void start(awaitable<void> a) { asio::co_spawn(process_.executor(), std::move(a), asio::detached); }
  // Acquires the lock and keeps it for as long as the program lives.
  template <class Lock>
  awaitable<const hold*> keep(Lock lock, acquire_options o) {
    const auto got = std::make_shared<const hold*>(nullptr);
    start(keeps(std::move(lock), o, got));
    co_await eventually("the program has the lock", [&got] { return *got != nullptr; });
    co_return *got;
  }

  // As SIGKILL, SIGSTOP and SIGCONT.
  void die() { process_.die(); }
  void stop() { process_.freeze(); }
  void go_on() { process_.thaw(); }

 private:
  template <class Lock>
  awaitable<void> keeps(Lock lock, acquire_options o, std::shared_ptr<const hold*> got) {
    const hold h = co_await lock.acquire(o);
    *got = &h;
    co_await process_.sleep(std::chrono::hours(24 * 365));
  }

  simulation::process process_;
};

// The program of the test stands still for so long, and everything else goes on.
inline void stand_still(clock::duration d) {
  auto& world = *simulation::world::current();
  world.run(world.now() + d, [] { return false; });
}

// A fixture: three servers of a quorum for each test.
struct with_quorum : memory_quorum {
  with_quorum() : memory_quorum(3) {}
};

// Stands between clients and a server and does what networks do, as test::proxy does between processes; it counts
// messages, not bytes: a request, a reply, something published. A connection begins with one request and its reply.
class gate {
 public:
  explicit gate(memory_server&);
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate();

  std::string url() const { return "memory:" + name_; }

  // From now on, after so many further messages, what arrives is kept back.
  void hold_requests(std::size_t after = 0);
  void hold_replies(std::size_t after = 0);
  // After so many further messages every connection is cut, once. Those on their way are lost.
  void cut_after_requests(std::size_t messages);
  void cut_after_replies(std::size_t messages);
  // Passes on what was kept back, and everything from now on.
  void pass();
  // After cut_clients(): passes on everything from now on; the requests that were kept back wait for pass().
  void pass_connected();
  // Cuts now. What was kept back is gone, and from now on nothing is kept back.
  void cut();
  // Cuts as the clients see a partition: requests that were kept back arrive with pass(), and so do those that are on
  // their way at the moment.
  void cut_clients();
  // The connections that there are go dead without being closed: nothing arrives any more, until the next connection.
  void swallow();
  // Every message takes so much longer.
  void slow(std::chrono::milliseconds each);
  // New connections are closed at once.
  void refuse(bool on = true);

  std::size_t accepted() const;  // Connections so far.
  std::size_t requests() const;  // Messages that have arrived here since forget().
  std::size_t replies() const;
  void forget();
  std::size_t kept() const;  // Requests that are kept back.

 private:
  class path;
  const std::shared_ptr<path> path_;
  const std::string name_;
};

}  // namespace leasehold::test
