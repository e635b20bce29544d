// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What lingering (acquire_options::linger) saves a client that comes again, and what it costs the others. All of it
// runs on one io_context and one thread, each client with a connection of its own.
#include "bench.hpp"

#include "support/redis_server.hpp"

#include <leasehold/leasehold.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::bench {
namespace {

namespace asio = boost::asio;
using steady = std::chrono::steady_clock;

constexpr acquire_options plain{.lease = 30s};
constexpr acquire_options lingering{.lease = 30s, .linger = 1s};

double us_since(steady::time_point then) {
  return std::chrono::duration<double, std::micro>(steady::now() - then).count();
}

// Two clients that are connected, and what they do.
struct two_clients {
  explicit two_clients(const std::string& url) : a(context, url), b(context, url) {}

  template <class Work>
  void run(Work work) {
    asio::co_spawn(context, everything(std::move(work)), [](std::exception_ptr e) {
      if (e) std::rethrow_exception(e);
    });
    context.run();
  }

  asio::io_context context{1};
  client a, b;

 private:
  template <class Work>
  asio::awaitable<void> everything(Work work) {
    co_await a.ready();
    co_await b.ready();
    co_await work();
    co_await a.close();
    co_await b.close();
  }
};

struct rates {
  double pairs = 0, commands = 0;  // Pairs per second; commands for each.
};

rates pairs_of_one(const std::string& url, seconds time, acquire_options o, report& out) {
  two_clients both(url);
  rates found;
  both.run([&]() -> asio::awaitable<void> {
    const mutex lock(both.a, "bench:linger");
    const auto commands = both.a.stats().commands;
    const auto began = steady::now();
    const auto end = began + std::chrono::duration_cast<steady::duration>(time);
    std::uint64_t n = 0, last = 0;
    bool grew = true;
    do {
      hold h = co_await lock.acquire(o);
      grew = grew && h.fence() > last;
      last = h.fence();
      co_await h.release();
    } while (++n % 16 != 0 || steady::now() < end);
    out.expect(grew, "each fence is larger than the one before");
    found.pairs = static_cast<double>(n) / std::chrono::duration<double>(steady::now() - began).count();
    found.commands = static_cast<double>(both.a.stats().commands - commands) / static_cast<double>(n);
  });
  return found;
}

// How long an acquire of the second client takes, in microseconds: median, and the longest.
std::pair<double, double> another(const std::string& url, std::size_t times, bool lingers, report& out) {
  two_clients both(url);
  std::vector<double> took;
  both.run([&]() -> asio::awaitable<void> {
    const mutex first(both.a, "bench:linger"), second(both.b, "bench:linger");
    for (std::size_t i = 0; i < times; ++i) {
      // A lock that lingers for nothing soon lingers no more: it is used again each time.
      for (int twice = 0; twice < 2; ++twice) {
        hold h = co_await first.acquire(lingers ? lingering : plain);
        co_await h.release();
      }
      const auto began = steady::now();
      hold h = co_await second.acquire(plain);
      took.push_back(us_since(began));
      co_await h.release();
    }
    const auto wanted = both.a.stats().wanted;
    out.expect(lingers ? wanted >= times / 2 : wanted == 0, "the client was told that the other one waits");
  });
  const double longest = *std::max_element(took.begin(), took.end());
  return {median(took), longest};
}

// Turns per second of two clients that alternate, one after the other or at the same time.
double time_of_turns(const std::string& url, seconds time, acquire_options o, bool at_once) {
  two_clients both(url);
  std::uint64_t n = 0;
  double rate = 0;
  both.run([&]() -> asio::awaitable<void> {
    const mutex first(both.a, "bench:linger"), second(both.b, "bench:linger");
    const auto began = steady::now();
    const auto end = began + std::chrono::duration_cast<steady::duration>(time);
    const auto turn = [&](const mutex& lock) -> asio::awaitable<void> {
      hold h = co_await lock.acquire(o);
      co_await h.release();
      ++n;
    };
    bool other_ended = !at_once;
    if (at_once) {
      asio::co_spawn(
          both.context,
          [&]() -> asio::awaitable<void> {
            while (steady::now() < end) co_await turn(second);
          },
          [&](std::exception_ptr) { other_ended = true; });
    }
    while (steady::now() < end) {
      co_await turn(first);
      if (!at_once) co_await turn(second);
    }
    while (!other_ended) co_await asio::post(both.context, asio::deferred);
    rate = static_cast<double>(n) / std::chrono::duration<double>(steady::now() - began).count();
  });
  return rate;
}

}  // namespace

// Ratios are taken round by round, so that a machine whose speed drifts does not decide.
void linger(const settings& s, report& out) {
  out.section("linger", "a lock that one client takes again and again, and what another client has of it");
  const test::redis_server server;
  const auto url = fmt::format("redis://127.0.0.1:{}", server.port());
  const auto times = static_cast<std::size_t>(std::max(10.0, s.time.count() * 1000));
  std::vector<double> without, with, gain, commands, free, idle, longest, trips, alternate, contend;
  for (int round = 0; round < s.rounds; ++round) {
    without.push_back(pairs_of_one(url, s.time, plain, out).pairs);
    const auto lingers = pairs_of_one(url, s.time, lingering, out);
    with.push_back(lingers.pairs);
    commands.push_back(lingers.commands);
    gain.push_back(with.back() / without.back());
    free.push_back(another(url, times, false, out).first);
    const auto [middle, most] = another(url, times, true, out);
    idle.push_back(middle);
    longest.push_back(most);
    trips.push_back(idle.back() / free.back());
    const double in_turn = time_of_turns(url, s.time, plain, false), at_once = time_of_turns(url, s.time, plain, true);
    alternate.push_back(in_turn / time_of_turns(url, s.time, lingering, false));
    contend.push_back(at_once / time_of_turns(url, s.time, lingering, true));
  }
  out.figure("pairs of one coroutine", median(without), "per second");
  out.figure("the same, lingering", median(with), "per second");
  out.figure("lingering / without", median(gain), "times");
  out.figure("commands of a pair, lingering", median(commands));
  out.figure("another client's acquire, free lock", median(free), "us, median");
  out.figure("another client's acquire, idle lock", median(idle), "us, median");
  out.figure("another client's acquire, idle lock", median(longest), "us, longest");
  out.figure("idle / free", median(trips), "times");
  out.figure("two clients in turn: time, lingering / without", median(alternate), "times");
  out.figure("two clients at once: time, lingering / without", median(contend), "times");
}

}  // namespace leasehold::bench
