// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Every kind of lock on a real server, once each; test/simulation/locks has the rest. kinds_with_slots.cpp runs the
// same on a server in cluster mode.
#include "support/kinds.hpp"
#include "support/with_redis.hpp"

#include <deque>
#include <string>
#include <vector>

namespace leasehold::test {

#ifndef LEASEHOLD_KINDS_ON
#define LEASEHOLD_KINDS_ON kinds, with_kinds_on<with_redis>
#endif
BOOST_FIXTURE_TEST_SUITE(LEASEHOLD_KINDS_ON)

BOOST_AUTO_TEST_CASE(every_kind_is_granted_kept_and_handed_on) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client c(executor, redis.url());
      client other(executor, redis.url());
      asker first(k.holder(c));
      co_await acquired(first);
      asker next(k.next(other, 1));
      const bool overtook = co_await tried(next);
      BOOST_TEST(!overtook);
      next.acquire();
      co_await wait_in_queue(1);
      co_await first.got.extend(60s);
      BOOST_TEST(redis.ttl("n") > 50000);
      const lock_info info = co_await inspected(first.lock);
      BOOST_TEST(info.token == first.got.token());
      BOOST_TEST(info.fence == first.got.fence());
      BOOST_TEST(info.holders == 1U);
      BOOST_TEST(info.waiters == 1U);
      if (k.name == std::string("writer behind writer")) {
        const auto fence = first.got.fence();
        co_await first.got.downgrade();
        BOOST_TEST(first.got.fence() > fence);
      }
      BOOST_TEST(!next.ended());
      co_await first.got.release();
      co_await eventually("the next is in", [&] { return next.in(); });
      BOOST_TEST(other.stats().handed_off == 1U);
      BOOST_TEST(next.got.fence() > first.got.fence());
      co_await next.got.release();
      co_await nothing_left();
    });
  });
}

// All at the same time: the leases are so long that a machine that stands still for three seconds loses none.
BOOST_AUTO_TEST_CASE(every_kind_is_renewed) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    std::deque<client> clients;
    std::deque<asker> holders;
    std::vector<std::chrono::steady_clock::time_point> ends;
    for (const kind& k : all_kinds) {
      client_options o;
      o.prefix = "{n}" + std::to_string(clients.size());  // In the slot of "n".
      clients.emplace_back(executor, redis.url(), o);
      holders.emplace_back(k.holder(clients.back()));
      co_await acquired(holders.back(), {.lease = 6s});
      ends.push_back(holders.back().got.expires_at());
    }
    for (std::size_t i = 0; i < all_kinds.size(); ++i) {
      BOOST_TEST_CONTEXT("kind: " << all_kinds[i].name) {
        co_await eventually("it is renewed", [&] { return clients[i].stats().renewed >= 1; });
        BOOST_TEST((holders[i].got.expires_at() > ends[i]));
        BOOST_TEST(holders[i].got.valid());
        co_await holders[i].got.release();
      }
    }
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(an_owner_may_be_any_bytes) {
  std::string owner;
  for (int i = 0; i < 256; ++i) owner += static_cast<char>(i);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    const recursive_mutex lock(c, "n", owner);
    const hold one = co_await lock.acquire();
    const hold two = co_await lock.acquire();
    BOOST_TEST(two.depth() == 2U);
    const lock_info info = co_await lock.inspect();
    BOOST_TEST((info.owner == owner));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test

#undef LEASEHOLD_KINDS_ON
