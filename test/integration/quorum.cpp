// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a quorum does with connections of real servers; test/simulation/locks/quorum.cpp has the rest.
#include "support/quorum_servers.hpp"

#include <optional>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

struct three : quorum_servers {
  three() : quorum_servers(3) {}
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(quorum, three)

// More than the servers answer in the time that an attempt waits for them.
BOOST_AUTO_TEST_CASE(very_many_at_once_all_get_in) {
  run([&]() -> awaitable<void> {
    constexpr std::size_t all = 6000;
    client_options o;
    o.connect_timeout = limit;  // Of close.
    client c(co_await asio::this_coro::executor, urls(), o);
    co_await c.ready();
    std::vector<hold> held;
    std::size_t failed = 0;
    for (std::size_t i = 0; i < all; ++i) {
      mutex(c, std::to_string(i)).acquire({.lease = 20s, .renew = renewal::none}, [&](error_code ec, hold h) {
        failed += ec ? 1 : 0;
        held.push_back(std::move(h));
      });
    }
    co_await eventually("all have asked", [&] { return held.size() == all; });
    BOOST_TEST(failed == 0U);
    BOOST_TEST(c.stats().reconnects == 0U);
    co_await c.close();
    co_await nothing_left();
  });
}

// Whatever is left of a client when the context ends, and what outlives it, does nothing.
BOOST_AUTO_TEST_CASE(the_context_may_end_first) {
  for (int turns = 0; turns < 40; ++turns) {
    hold h;
    std::optional<client> c;
    std::optional<mutex> lock;
    {
      asio::io_context context;
      c.emplace(context, urls());
      lock.emplace(*c, "n");
      for (const char* name : {"n", "m"}) {
        mutex(*c, name).acquire({.lease = 300ms}, [&h](error_code, hold got) { h = std::move(got); });
      }
      for (int i = 0; i < turns; ++i) context.run_one_for(20ms);
      if (turns % 3 == 0) c->close([](error_code) {});
      if (turns % 4 == 1) h = hold();
      for (int i = 0; i < turns % 7; ++i) context.run_one_for(1ms);
    }
    lock->try_acquire([](error_code, std::optional<hold>) {});
  }
  wait_until("the leases have ended", [this] { return size() == 0; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
