// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A connection that is cut again and again. LEASEHOLD_RECONNECTS: how often.
#include "support/with_redis.hpp"

#include <cstdlib>
#include <string>

namespace leasehold::test {

namespace {

int times() {
  const char* const wanted = std::getenv("LEASEHOLD_RECONNECTS");
  return wanted != nullptr ? std::stoi(wanted) : 300;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(reconnects, with_redis)

// Nothing piles up: neither connections nor subscriptions, nor what waits for an answer. A hold outlives all of it.
BOOST_AUTO_TEST_CASE(a_connection_that_is_cut_again_and_again) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.command_timeout = 5s;  // The machine may stand still for three seconds.
    o.connect_timeout = 10s;
    o.reconnect = {.first = 1ms, .max = 5ms, .factor = 2.0, .jitter = 0.5};
    client c(co_await asio::this_coro::executor, redis.url(), o);
    mutex lock(c, "held");
    hold held = co_await lock.acquire();
    outcome lost;
    held.lost(lost.handler());
    mutex other(c, "n");
    const int wanted = times();
    for (int i = 0; i < wanted; ++i) {
      const auto before = c.stats().reconnects;
      // Some of it under way, at another place each time.
      outcome extended;
      held.extend(30s, extended.handler());
      co_await turn(i % 7);
      redis.command("CLIENT", "KILL", "TYPE", "pubsub");
      co_await eventually("it is back", [&] { return c.stats().reconnects > before; });
      co_await eventually("it was extended", [&] { return extended.ended(); });
      BOOST_REQUIRE(!*extended.ec);
      hold h = co_await other.acquire();
      co_await h.release();
    }
    BOOST_TEST(c.stats().reconnects >= static_cast<std::uint64_t>(wanted));
    BOOST_TEST(!lost.ended());
    BOOST_TEST(held.valid());
    // This one and the test's.
    co_await eventually("two connections are left", [&] { return redis.info("connected_clients") == 2; });
    BOOST_TEST(redis.command("PUBSUB", "CHANNELS").items.size() == 1U);
    co_await held.release();
    BOOST_TEST(redis.size() == 0U);
    co_await c.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
