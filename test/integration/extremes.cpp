// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Very many. Very long: test/simulation/locks/extremes.cpp.
#include "support/with_redis.hpp"

#include <malloc.h>

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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
