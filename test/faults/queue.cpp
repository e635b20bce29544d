// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What may happen to those who wait in the queue, and to who has just been granted: what needs processes and
// connections. The rest is in test/simulation/locks/queue_faults.cpp.
#include "support/child.hpp"
#include "support/proxy.hpp"
#include "support/with_redis.hpp"

#include <csignal>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

const std::string queue_key = "leasehold:{0}:queue:n";
const std::string entries_key = "leasehold:{0}:entries:n";

// Longer than the queue may take to move on, and far shorter than the leases of the dead.
constexpr auto soon = 15s;

// Arguments: URL, lease in milliseconds, and a signal that it sends itself in the moment of its grant. It waits for the
// lock, keeps it and says what happens to it.
int acquire_and_keep(const std::vector<std::string>& arguments) {
  asio::io_context context;
  client c(context, arguments.at(0));
  mutex lock(c, "n");
  hold held;
  const int number = std::stoi(arguments.at(2));
  lock.acquire({.lease = std::chrono::milliseconds(std::stoi(arguments.at(1)))}, [&](error_code ec, hold h) {
    ::raise(number);
    say((ec ? ec.message() : h.valid() ? "granted" : "granted too late") + " " + std::to_string(h.fence()));
    held = std::move(h);
    held.lost([](error_code) { say("lost"); });
  });
  context.run();
  return 0;
}

const child_program keeper("acquire_and_keep", acquire_and_keep);

std::uint64_t fence_in(const std::string& words) { return std::stoull(words.substr(words.rfind(' ') + 1)); }

struct waiter {
  waiter(const asio::any_io_executor& e, const std::string& url, const client_options& o = {})
      : c(e, url, o), lock(c, "n") {}

  client c;
  mutex lock;
  std::optional<error_code> ec;
  hold got;
  std::chrono::steady_clock::time_point at;

  bool ended() const { return ec.has_value(); }
  void acquire(acquire_options o = {}) {
    ec.reset();
    lock.acquire(o, [this](error_code e, hold h) {
      ec = e;
      got = std::move(h);
      at = std::chrono::steady_clock::now();
    });
  }
};

struct with_queue : with_redis {
  static client_options quick() {
    client_options o;
    o.command_timeout = 300ms;
    o.connect_timeout = 1s;
    o.reconnect = {.first = 5ms, .max = 20ms, .factor = 2.0, .jitter = 0.5};
    return o;
  }
  std::int64_t in_queue() { return redis.command("ZCARD", queue_key).integer; }
  awaitable<void> wait_in_queue(std::int64_t n) {
    co_await eventually("it waits in the queue", [this, n] { return in_queue() == n; });
  }
  awaitable<void> nothing_left() {
    co_await eventually("nothing is left", [this] { return redis.size() == 0; });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(queue, with_queue)

// In the moment of its grant, when it may or may not have confirmed it.
BOOST_AUTO_TEST_CASE(who_dies_or_freezes_with_its_grant_loses_it) {
  for (const int number : {SIGKILL, SIGSTOP}) {
    BOOST_TEST_CONTEXT("signal " << number) {
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        waiter first(executor, redis.url());
        first.acquire();
        co_await eventually("it is acquired", [&] { return first.ended(); });
        child process(keeper.command({redis.url(), "3000", std::to_string(number)}));
        co_await wait_in_queue(1);
        waiter second(executor, redis.url());
        second.acquire();
        co_await wait_in_queue(2);
        co_await first.got.release();
        const auto start = std::chrono::steady_clock::now();
        co_await eventually("the second has it", [&] { return second.ended(); });
        BOOST_TEST((second.at - start < soon));
        BOOST_TEST(second.got.valid());
        if (number == SIGSTOP) {
          process.signal(SIGCONT);
          const std::string words = process.read_line().value();
          BOOST_TEST(words.starts_with("granted too late "), words);
          BOOST_TEST(fence_in(words) < second.got.fence());
          BOOST_TEST(process.read_line().value() == "lost");
          BOOST_TEST(second.got.valid());
        }
        co_await second.got.release();
        process.signal(SIGKILL);
        process.wait();
        redis.command("DEL", queue_key, entries_key);
        co_await nothing_left();
      });
    }
  }
}

// The connection goes dead without a word: the client notices when it next polls.
BOOST_AUTO_TEST_CASE(a_half_open_connection_delays_a_grant_and_does_not_lose_it) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    waiter first(executor, redis.url());
    first.acquire();
    co_await eventually("it is acquired", [&] { return first.ended(); });
    proxy network(executor, redis);
    waiter a(executor, network.url(), quick());
    a.acquire();
    co_await wait_in_queue(1);
    network.swallow();
    co_await first.got.release();
    const auto start = std::chrono::steady_clock::now();
    co_await eventually("it has it all the same", [&] { return a.ended(); });
    BOOST_TEST((a.at - start < soon));
    BOOST_TEST(a.got.valid());
    co_await a.got.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
