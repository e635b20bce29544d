// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What waiting costs in connections, channels and messages. Who is served when: test/simulation/locks/queue.cpp.
#include "support/with_redis.hpp"

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

const std::string queue_key = "leasehold:{0}:queue:n";

// A client with somebody who waits.
struct waiter {
  waiter(const asio::any_io_executor& e, const redis_server& redis) : c(e, redis.url()), lock(c, "n") {}

  client c;
  mutex lock;
  asio::cancellation_signal signal;
  std::optional<error_code> ec;
  hold got;

  bool ended() const { return ec.has_value(); }
  void acquire(acquire_options o = {}) {
    ec.reset();
    lock.acquire(o, asio::bind_cancellation_slot(signal.slot(), [this](error_code e, hold h) {
                   ec = e;
                   got = std::move(h);
                 }));
  }
};

struct with_queue : with_redis {
  std::int64_t in_queue() { return redis.command("ZCARD", queue_key).integer; }

  // Clients whose waiters have joined the queue one after the other.
  awaitable<std::deque<waiter>> queue_of(std::size_t n, acquire_options o = {}) {
    std::deque<waiter> all;
    const auto before = in_queue();
    for (std::size_t i = 0; i < n; ++i) {
      all.emplace_back(co_await asio::this_coro::executor, redis).acquire(o);
      co_await eventually("it waits in the queue",
                          [&] { return in_queue() == before + static_cast<std::int64_t>(i) + 1; });
    }
    co_return all;
  }

  awaitable<void> nothing_left() {
    co_await eventually("nothing is left", [this] { return redis.size() == 0; });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(cost_of_waiting, with_queue)

// A subscription for each contended name would be too many for a server, or a pool of them. Here a client has one in
// all.
BOOST_AUTO_TEST_CASE(a_thousand_contended_names_need_one_connection_and_one_channel_of_each_client) {
  run([&]() -> awaitable<void> {
    constexpr std::size_t names = 1000;
    const auto executor = co_await asio::this_coro::executor;
    client_options connected;
    connected.idle_timeout = forever;
    std::deque<client> clients;
    std::array<std::vector<hold>, 3> got;
    for (std::size_t i = 0; i < got.size(); ++i) {
      client& c = clients.emplace_back(executor, redis.url(), connected);
      for (std::size_t n = 0; n < names; ++n) {
        mutex(c, "name:" + std::to_string(n)).acquire([&got, i](error_code ec, hold h) {
          BOOST_TEST(!ec);
          got[i].push_back(std::move(h));
        });
      }
      co_await eventually("all have answers", [&] { return c.stats().contended == names || got[i].size() == names; });
    }
    BOOST_TEST(got[0].size() == names);
    const auto connections = redis.info("connected_clients");
    bool stood_still = false;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto since = std::chrono::steady_clock::now();
      co_await eventually("all names are its own", [&] { return got[i].size() == names; });
      // Until it is confirmed a grant has two seconds, and is lost on a machine that stands still for longer.
      stood_still = stood_still || std::chrono::steady_clock::now() - since > 1500ms;
      BOOST_TEST(redis.command("PUBSUB", "CHANNELS").items.size() == clients.size());
      for (const hold& h : got[i]) BOOST_TEST((h.valid() || stood_still));
      for (hold& h : got[i]) h.release(asio::detached);
    }
    co_await nothing_left();
    BOOST_TEST(redis.info("connected_clients") == connections);
    BOOST_TEST(connections <= static_cast<std::int64_t>(clients.size()) + 1);
    for (const client& c : clients) BOOST_TEST((c.stats().lost == 0U || stood_still));
  });
}

// Boost.Redis reads no further while 256 pushes are unread.
BOOST_AUTO_TEST_CASE(a_thousand_messages_at_once_stall_nothing) {
  run([&]() -> awaitable<void> {
    client_options connected;
    connected.idle_timeout = forever;
    client c(co_await asio::this_coro::executor, redis.url(), connected);
    mutex lock(c, "n");
    co_await c.ready();
    const auto channels = redis.command("PUBSUB", "CHANNELS");
    BOOST_TEST_REQUIRE(channels.items.size() == 1U);
    const auto connections = redis.info("total_connections_received");
    for (int i = 0; i < 3; ++i) {
      redis.command("EVAL", "for i = 1, 1000 do redis.call('PUBLISH', ARGV[1], 'of nobody') end", "0",
                    channels.items.front().text);
      hold h = co_await lock.acquire();
      co_await h.release();
    }
    BOOST_TEST(redis.info("total_connections_received") == connections);
  });
}

// The message to the next holder is not to wait behind the reply to the release (request::publishes_first).
BOOST_AUTO_TEST_CASE(only_a_holder_that_was_waited_for_sends_something_ahead_of_its_release) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    co_await c.ready();
    const auto before = redis.calls("ping");
    for (int i = 0; i < 10; ++i) {
      hold h = co_await lock.acquire();
      co_await h.release();
    }
    BOOST_TEST(redis.calls("ping") == before);
    auto all = co_await queue_of(0);
    hold h = co_await lock.acquire();
    all = co_await queue_of(1);
    co_await h.release();
    co_await eventually("the next has it", [&] { return all[0].ended(); });
    const auto told = redis.calls("ping");
    co_await all[0].got.release();
    BOOST_TEST(redis.calls("ping") == told + 1);
  });
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_kept_for_its_client_sends_nothing_ahead) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.cohort = 0us;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    mutex lock(c, "n");
    hold h = co_await lock.acquire();
    const auto before = redis.calls("ping");
    std::size_t served = 0;
    for (int i = 0; i < 5; ++i) {
      lock.acquire([&](error_code, hold next) {
        ++served;
        next.release([](error_code) {});
      });
    }
    co_await eventually("it is known that they wait", [&] { return c.stats().contended == 5; });
    co_await h.release();
    co_await eventually("all were served", [&] { return served == 5; });
    BOOST_TEST(redis.calls("ping") == before);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
