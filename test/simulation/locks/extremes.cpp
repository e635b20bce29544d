// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/with_memory.hpp"

#include <string>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(extremes, with_memory)

// Lua writes numbers from 1e14 on with an exponent.
BOOST_AUTO_TEST_CASE(an_expiry_in_thousands_of_years_is_waited_for_like_any_other) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    for (const std::string ttl : {"100000000000000", "200000000000000", "9000000000000000"}) {
      const std::chrono::milliseconds all(std::stoll(ttl));
      BOOST_TEST(redis.command("SET", "n", "another program's", "PX", ttl).text == "OK");
      mutex lock(c, "n");
      const lock_info info = co_await lock.inspect();
      BOOST_TEST(info.held);
      BOOST_TEST((info.ttl.has_value() && *info.ttl <= all && *info.ttl > all - 10s), info.ttl.value_or(0ms).count());
      const lock_status status = co_await show(c, "n");
      BOOST_TEST((status.ttl.has_value() && *status.ttl <= all && *status.ttl > all - 10s),
                 status.ttl.value_or(0ms).count());
      auto busy = co_await lock.try_acquire();
      BOOST_TEST(!busy);
      auto [ec, none] = co_await lock.acquire({.wait = 30ms}, as_tuple);
      BOOST_TEST(ec == error::timed_out);
      std::optional<hold> got;
      const auto contended = c.stats().contended;
      lock.acquire([&](error_code failed, hold h) {
        BOOST_TEST(!failed);
        got = std::move(h);
      });
      co_await eventually("it waits", [&] { return c.stats().contended > contended; });
      redis.command("DEL", "n");
      co_await eventually("it has the lock", [&] { return got.has_value(); });
      BOOST_TEST(got->valid());
      co_await got->release();
      // As another program's hash, too.
      redis.command("HSET", "n", "somebody", "1");
      BOOST_TEST(redis.command("PEXPIRE", "n", ttl).integer == 1);
      const lock_info again = co_await recursive_mutex(c, "n", "owner").inspect();
      BOOST_TEST((again.ttl.has_value() && *again.ttl <= all && *again.ttl > all - 10s),
                 again.ttl.value_or(0ms).count());
      auto [waited, nothing] = co_await recursive_mutex(c, "n", "owner").acquire({.wait = 30ms}, as_tuple);
      BOOST_TEST(waited == error::timed_out);
      redis.command("DEL", "n");
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
