// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
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

class scene {
 public:
  explicit scene(std::size_t servers = 1, std::uint64_t seed = 1) : w(seed, servers) {}

  process& add(client_options o = {}) {
    o.idle_timeout = forever;
    const auto name = fmt::format("p{}", processes_.size());
    if (o.label.empty()) o.label = name;
    processes_.push_back(std::make_unique<process>(w, name, skewed_clock{}, std::move(o)));
    return *processes_.back();
  }
  // Runs f in the process; wait(), or the end of the scene, lets it go on.
  template <class F>
  void spawn(process& p, F f) {
    ++running_;
    boost::asio::co_spawn(p.executor(), std::move(f), [this](const std::exception_ptr& e) {
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
  std::string get(const std::string& key, std::size_t server = 0) {
    return w.server(server).data().execute({"GET", key}).text;
  }

  world w;

 private:
  void rethrow() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  std::vector<std::unique_ptr<process>> processes_;
  std::size_t running_ = 0;
  std::exception_ptr failure_;
};

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

// Once the client has reached every server that it can reach.
inline void take(scene& s, process& p, acquire_options o, std::optional<hold>& held) {
  s.wait(200ms);
  s.run(p, [&, o]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto waiting = acquire(m, o);
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    held = std::move(h);
  });
}

inline client_options with_timeout(std::chrono::milliseconds limit) {
  client_options o;
  o.command_timeout = limit;
  return o;
}

}  // namespace leasehold::test::scenarios
