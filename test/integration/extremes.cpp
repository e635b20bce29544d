// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// Very many, and very long.
#include "support/with_redis.hpp"

#include <leasehold/admin.hpp>

#include <malloc.h>

#include <chrono>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

// Bytes in use. A sanitizer's allocator says 0.
std::size_t in_use() { return ::mallinfo2().uordblks + ::mallinfo2().hblkhd; }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(extremes, with_redis)

// Each with a name of its own: nothing of them is kept.
BOOST_AUTO_TEST_CASE(waiting_for_a_store_that_is_down_costs_no_memory_for_good) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, "redis://127.0.0.1:" + std::to_string(free_port()));
    int ended = 0;
    int wrong = 0;
    const auto thousand = [&](int round) -> awaitable<void> {
      const int goal = ended + 1000;
      for (int i = 0; i < 1000; ++i) {
        mutex lock(c, "name " + std::to_string(round) + " " + std::to_string(i));
        lock.acquire({.wait = 5ms}, [&](error_code ec, hold) {
          wrong += ec != error::unreachable;
          ++ended;
        });
      }
      co_await eventually("all end", [&] { return ended == goal; });
    };
    for (int round = 0; round < 2; ++round) co_await thousand(round);
    const std::size_t before = in_use();
    for (int round = 0; round < 10; ++round) co_await thousand(round);
    const std::size_t after = in_use();
    // 10 bytes for each.
    BOOST_TEST(after < before + 100000, before << " and then " << after);
    BOOST_TEST(wrong == 0);
    BOOST_TEST(c.stats().waiting == 0U);
  });
}

// C8: what a client has asked for and not read yet may not be more than the server keeps for a connection that listens.
BOOST_AUTO_TEST_CASE(a_program_that_is_busy_with_something_else_is_not_cut_off) {
  redis_server strict({"client-output-buffer-limit pubsub 256kb 0 0"});
  run([&]() -> awaitable<void> {
    constexpr int all = 20000;
    client c(co_await asio::this_coro::executor, strict.url());
    co_await c.ready();
    std::vector<hold> held;
    int failed = 0;
    for (int i = 0; i < all; ++i) {
      mutex(c, std::to_string(i)).acquire([&](error_code ec, hold h) {
        failed += ec ? 1 : 0;
        held.push_back(std::move(h));
      });
    }
    co_await eventually("the first are there", [&] { return !held.empty(); });
    // Nothing of the program runs meanwhile.
    wait_until("the server has answered all that has reached it", [&] {
      const std::string clients = strict.command("CLIENT", "LIST").text;
      const auto ours = clients.find("name=leasehold");
      // For a second, it says, nothing was read from it or written to it.
      return ours == clients.npos || clients.find(" idle=0 ", ours) > clients.find('\n', ours);
    });
    co_await eventually("all are there", [&] { return held.size() == all; });
    co_await c.close();
    BOOST_TEST(failed == 0);
    BOOST_TEST(c.stats().reconnects == 0U);
    BOOST_TEST(c.stats().lost == 0U);
  });
}

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
      BOOST_TEST((info.ttl.has_value() && *info.ttl <= all && *info.ttl > all - limit), info.ttl.value_or(0ms).count());
      const lock_status status = co_await show(c, "n");
      BOOST_TEST((status.ttl.has_value() && *status.ttl <= all && *status.ttl > all - limit),
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
      BOOST_TEST((again.ttl.has_value() && *again.ttl <= all && *again.ttl > all - limit),
                 again.ttl.value_or(0ms).count());
      auto [waited, nothing] = co_await recursive_mutex(c, "n", "owner").acquire({.wait = 30ms}, as_tuple);
      BOOST_TEST(waited == error::timed_out);
      redis.command("DEL", "n");
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
