// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Processes that contend for one name. A worker is this program once more (support/child.hpp); it goes on until SIGTERM
// and tells then of each of its holds.
#pragma once

#include "bench.hpp"

#include "support/child.hpp"
#include "support/redis_server.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::bench {

namespace asio = boost::asio;
// CLOCK_MONOTONIC: the same for all processes of a machine.
using steady = std::chrono::steady_clock;

struct tenure {
  steady::time_point asked;     // acquire was called
  steady::time_point begun;     // the critical section began
  steady::time_point released;  // release was called
  std::size_t worker = 0;
};

// The time from the call of release to the next critical section, where the next one was another worker's and had
// waited for a while; in microseconds.
std::vector<double> hand_offs(const std::vector<tenure>&);

struct pace {
  std::chrono::microseconds hold;
  std::chrono::microseconds pause;  // before asking again
};

class stop_signal {
 public:
  explicit stop_signal(asio::io_context& context) : signals_(context, SIGTERM) {
    signals_.async_wait([this](auto, int) { came_ = true; });
  }
  bool came() const { return came_; }

 private:
  asio::signal_set signals_;
  bool came_ = false;
};

// `Lock` has the coroutines acquire(), which tells when the critical section began, and release(). Everything that is
// compared goes through this loop.
template <class Lock>
asio::awaitable<std::vector<tenure>> contend(Lock& lock, pace p, const stop_signal& stop) {
  std::vector<tenure> all;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (!stop.came()) {
    if (p.pause.count() > 0) {
      timer.expires_after(p.pause);
      co_await timer.async_wait(asio::deferred);
    }
    tenure t;
    t.asked = steady::now();
    t.begun = co_await lock.acquire();
    timer.expires_after(p.hold);
    co_await timer.async_wait(asio::deferred);
    t.released = steady::now();
    co_await lock.release();
    all.push_back(t);
  }
  co_return all;
}

// Prints what workers::finish reads.
void tell(std::uint64_t commands, std::uint64_t lost, const std::vector<tenure>&);

class workers {
 public:
  // What all workers told.
  struct account {
    std::vector<tenure> tenures;  // in the order of their beginning
    std::uint64_t commands = 0;
    std::uint64_t lost = 0;
  };

  void start(std::vector<std::string> command) { all_.push_back(std::make_unique<test::child>(std::move(command))); }
  account finish();

 private:
  std::vector<std::unique_ptr<test::child>> all_;
};

// A worker that uses leasehold.
std::vector<std::string> leasehold_worker(const std::string& url, const std::string& name, pace);

// `count` workers on one name, which begin when all of them wait in the queue. The tenures are those of `time`.
struct contest {
  std::vector<tenure> tenures;
  std::uint64_t lost = 0;
  // Scripts for each acquisition, of the whole contest: as the clients count them, and as the server does.
  double sent = 0;
  double run = 0;
};
contest run_contest(test::redis_server&, std::size_t count, pace, seconds time);

}  // namespace leasehold::bench
