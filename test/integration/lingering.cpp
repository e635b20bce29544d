// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Locks that linger, and hold::wanted, with real connections. What can go wrong:
// test/simulation/scenarios_lingering.cpp.
#include "support/with_redis.hpp"

#include <leasehold/admin.hpp>

#include <optional>
#include <string>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(lingering_locks, with_redis)

BOOST_AUTO_TEST_CASE(a_lock_lingers_until_another_client_wants_it) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, redis.url()), other(executor, redis.url());
    const mutex mine(one, "n"), theirs(other, "n");
    const acquire_options lingers{.lease = 10min, .linger = 3min};
    std::uint64_t last = 0, commands = 0;
    for (int i = 0; i < 100; ++i) {
      hold h = co_await mine.acquire(lingers);
      BOOST_TEST(h.fence() > last);
      last = h.fence();
      co_await h.release();
      if (i == 0) commands = one.stats().commands;
    }
    BOOST_TEST(one.stats().commands == commands);
    BOOST_TEST(one.stats().lingered == 99U);
    const lock_status status = co_await show(other, "n", asio::use_awaitable);
    BOOST_TEST(status.lingers);
    const auto busy = co_await theirs.try_acquire(asio::use_awaitable);
    BOOST_TEST(!busy.has_value());
    // It would linger for three minutes.
    hold h = co_await theirs.acquire({.lease = 60s, .wait = limit});
    BOOST_TEST(h.fence() > last);
    BOOST_TEST(one.stats().wanted == 1U);
    co_await h.release();
    co_await one.close();
    co_await other.close();
    BOOST_TEST(!redis.get("n"));
  });
}

BOOST_AUTO_TEST_CASE(a_holder_is_told_that_another_client_waits) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, redis.url()), other(executor, redis.url());
    hold h = co_await mutex(one, "n").acquire();
    outcome told;
    h.wanted(told.handler());
    co_await eventually("the record is marked",
                        [&] { return redis.get("n").value_or("").find(":0") != std::string::npos; });
    BOOST_TEST(!told.ended());
    std::optional<hold> next;
    mutex(other, "n").acquire([&](error_code, hold got) { next = std::move(got); });
    co_await eventually("it is told", [&] { return told.ended(); });
    BOOST_TEST(!*told.ec);
    co_await h.release();
    co_await eventually("the other one has it", [&] { return next.has_value(); });
    BOOST_TEST(next->fence() > h.fence());
    co_await next->release();
    co_await one.close();
    co_await other.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
