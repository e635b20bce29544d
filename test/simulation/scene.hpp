// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What scenarios are written with: a world, and processes in it that run coroutines.
#pragma once

#include "simulation/world.hpp"

#include "support/unit_test.hpp"

#include <leasehold/hold.hpp>
#include <leasehold/mutex.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test::scenarios {

using namespace simulation;
using namespace std::chrono_literals;
using boost::asio::awaitable;

inline constexpr auto as_tuple = boost::asio::as_tuple(boost::asio::use_awaitable);

// Who waits for "n".
inline const std::string the_queue = "leasehold:{0}:queue:n";

// What acquiring it with these options came to.
template <class Lock>
awaitable<std::pair<error_code, hold>> acquire(const Lock& lock, acquire_options o) {
  auto waiting = lock.acquire(o, as_tuple);
  auto [ec, h] = co_await std::move(waiting);
  co_return std::pair(ec, std::move(h));
}

inline awaitable<error_code> release(hold& h) {
  auto waiting = h.release(as_tuple);
  const auto [ec] = co_await std::move(waiting);
  co_return ec;
}

class scene {
 public:
  // An attempt to acquire a lock. The hold that it got is kept, unless a test moves it away.
  struct attempt {
    std::optional<error_code> ended;  // Nothing: it goes on.
    clock::time_point at;             // When it ended.
    hold got;

    bool succeeded() const { return ended && !*ended; }
  };

  explicit scene(std::size_t servers = 1, std::uint64_t seed = 1) : w(seed, servers) {}

  // The client stays connected, unless it is to rest.
  process& add(client_options o = {}, std::chrono::milliseconds idle_timeout = forever) {
    o.idle_timeout = idle_timeout;
    const auto name = fmt::format("p{}", processes_.size());
    if (o.label.empty()) o.label = name;
    processes_.push_back(std::make_unique<process>(w, name, skewed_clock{}, std::move(o)));
    return *processes_.back();
  }
  // Runs a coroutine, or the function that makes one, in the process; wait() or finish() lets it go on.
  template <class F>
  void spawn(process& p, F f) {
    ++running_;
    boost::asio::co_spawn(p.executor(), std::move(f), [this](const std::exception_ptr& e, auto&&...) {
      --running_;
      if (e) failure_ = e;
    });
  }
  // Time passes.
  void wait(clock::duration d) {
    w.run(w.now() + d, [this] { return failure_ != nullptr; });
    rethrow();
  }
  // Until every coroutine has ended.
  void finish(clock::duration limit = 120s) {
    const bool done = w.run(w.now() + limit, [this] { return running_ == 0 || failure_; });
    rethrow();
    BOOST_TEST(done, "a coroutine has not ended");
  }
  template <class F>
  void run(process& p, F f) {
    spawn(p, std::move(f));
    finish();
  }
  // Begins to acquire a lock in the process, "n" if none is given. The attempt lives as long as the scene.
  template <class Lock>
  attempt& start(process& p, Lock lock, acquire_options o) {
    attempt& begun = attempts_.emplace_back();
    spawn(p, [this, &begun, lock = std::move(lock), o]() -> awaitable<void> {
      auto waiting = scenarios::acquire(lock, o);
      auto [ec, h] = co_await std::move(waiting);
      begun.got = std::move(h);
      begun.at = w.now();
      begun.ended = ec;
    });
    return begun;
  }
  attempt& start(process& p, acquire_options o) { return start(p, mutex(p.client(), "n"), o); }
  // The same, and runs until every coroutine has ended.
  template <class Lock>
  std::pair<error_code, hold> acquire(process& p, Lock lock, acquire_options o) {
    attempt& begun = start(p, std::move(lock), o);
    finish();
    BOOST_REQUIRE(begun.ended.has_value());
    return {*begun.ended, std::move(begun.got)};
  }
  std::pair<error_code, hold> acquire(process& p, acquire_options o) { return acquire(p, mutex(p.client(), "n"), o); }
  std::string get(const std::string& key, std::size_t server = 0) {
    return w.server(server).data().execute({"GET", key}).text;
  }

  world w;

 private:
  void rethrow() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  std::vector<std::unique_ptr<process>> processes_;
  // Coroutines that run refer to them.
  std::deque<attempt> attempts_;
  std::size_t running_ = 0;
  std::exception_ptr failure_;
};

// "n", which nothing else has.
inline hold take_at_once(scene& s, process& p, acquire_options o) {
  auto [ec, h] = s.acquire(p, o);
  BOOST_REQUIRE(!ec);
  return std::move(h);
}

// Once the client has reached every server that it can reach.
inline hold take(scene& s, process& p, acquire_options o) {
  s.wait(200ms);
  return take_at_once(s, p, o);
}

inline void release_now(scene& s, process& p, hold& h) {
  s.run(p, [&]() -> awaitable<void> {
    auto ending = release(h);
    const auto why = co_await std::move(ending);
    BOOST_TEST(!why, why.message());
  });
}

inline client_options with_timeout(std::chrono::milliseconds limit) {
  client_options o;
  o.command_timeout = limit;
  return o;
}

}  // namespace leasehold::test::scenarios
