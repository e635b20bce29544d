// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Every kind of lock in the same clothes: for tests of what all kinds do alike.
#pragma once

#include "support/locks.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace leasehold::test {

using any_lock = std::variant<mutex, recursive_mutex, shared_mutex, shared_mutex::reader_side, counting_semaphore>;

// A way in which somebody has a lock and others wait for it.
struct kind {
  const char* name;
  any_lock (*holder)(const client&);         // Who has it,
  any_lock (*next)(const client&, int who);  // and who then has to wait.
  bool together;                             // Those who wait may be in at once.
};

inline const std::array<kind, 6> all_kinds{{
    {"mutex", [](const client& c) -> any_lock { return mutex(c, "n"); },
     [](const client& c, int) -> any_lock { return mutex(c, "n"); }, false},
    {"recursive_mutex", [](const client& c) -> any_lock { return recursive_mutex(c, "n", "the holder"); },
     [](const client& c, int who) -> any_lock { return recursive_mutex(c, "n", "owner " + std::to_string(who)); },
     false},
    {"writer behind writer", [](const client& c) -> any_lock { return shared_mutex(c, "n"); },
     [](const client& c, int) -> any_lock { return shared_mutex(c, "n"); }, false},
    {"writer behind reader", [](const client& c) -> any_lock { return shared_mutex(c, "n").shared(); },
     [](const client& c, int) -> any_lock { return shared_mutex(c, "n"); }, false},
    {"reader behind writer", [](const client& c) -> any_lock { return shared_mutex(c, "n"); },
     [](const client& c, int) -> any_lock { return shared_mutex(c, "n").shared(); }, true},
    {"counting_semaphore", [](const client& c) -> any_lock { return counting_semaphore(c, "n", 1); },
     [](const client& c, int) -> any_lock { return counting_semaphore(c, "n", 1); }, false},
}};

// The test of each kind, one after the other; what it leaves is cleared away.
template <class Server, class Test>
void for_each_kind(Server& redis, Test test) {
  for (const kind& k : all_kinds) {
    BOOST_TEST_CONTEXT("kind: " << k.name) {
      test(k);
      redis.command("FLUSHALL");
    }
  }
}

// Somebody who asks for a lock, and what became of it. What operations refer to lives as long as they do: a test that
// fails leaves some behind.
struct asker {
 private:
  struct asked {
    asio::cancellation_signal signal;
    std::optional<error_code> ec;
    hold got;
    outcome lost;
  };
  std::shared_ptr<asked> asked_ = std::make_shared<asked>();

 public:
  explicit asker(any_lock l) : lock(std::move(l)) {}
  asker(const asker&) = delete;
  asker& operator=(const asker&) = delete;
  ~asker() { got = hold(); }

  any_lock lock;
  asio::cancellation_signal& signal = asked_->signal;
  std::optional<error_code>& ec = asked_->ec;
  hold& got = asked_->got;
  outcome& lost = asked_->lost;

  bool ended() const { return ec.has_value(); }
  bool in() const { return ended() && !*ec && got.valid(); }
  void acquire(acquire_options o = {});
  void try_acquire(acquire_options o = {});
  void watch();
};

// The two as coroutines.
awaitable<void> acquired(asker&, acquire_options = {});
awaitable<bool> tried(asker&, acquire_options = {});

awaitable<lock_info> inspected(const any_lock&);

// The queue of "n" with the tag of its slot.
extern const std::string the_tagged_queue;

// A fixture with a server `redis`, and how many wait in the queue of the lock, whichever the layout of the keys.
template <class Fixture>
struct with_kinds_on : Fixture {
  using Fixture::redis;
  std::int64_t in_queue() {
    return redis.command("ZCARD", the_queue).integer + redis.command("ZCARD", the_tagged_queue).integer;
  }
  awaitable<void> wait_in_queue(std::int64_t n) {
    co_await eventually("they wait in the queue", [this, n] { return in_queue() == n; });
  }
  awaitable<void> nothing_left() {
    co_await eventually("nothing is left", [this] { return redis.size() == 0; });
  }
};

}  // namespace leasehold::test
