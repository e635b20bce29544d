// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A quorum whose connections break at any byte, and one with a Sentinel group; test/simulation/locks/quorum_network.cpp
// has the rest.
#include "support/kinds.hpp"
#include "support/proxy.hpp"
#include "support/quorum_servers.hpp"
#include "support/sentinel_group.hpp"

#include <deque>
#include <future>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(quorum_network)

namespace {

// A network of its own to each server.
struct networks {
  networks(const asio::any_io_executor& executor, quorum_servers& all) {
    for (auto& s : all.servers) to.emplace_back(executor, *s);
  }
  proxy& operator[](std::size_t i) { return to.at(i); }
  std::vector<std::string> urls() const {
    std::vector<std::string> found;
    for (const auto& p : to) found.push_back(p.url());
    return found;
  }
  std::deque<proxy> to;
};

awaitable<void> all_up(const client& c) {
  co_await eventually("all are up", [&] { return c.stats().connects - c.stats().reconnects == 3; });
}

}  // namespace

// In the middle of a reply, of the attempt or of the fence that is written back or of the release.
BOOST_AUTO_TEST_CASE(one_connection_is_cut_after_any_byte) {
  quorum_servers all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    networks network(executor, all);
    client c(executor, network.urls(), forgiving());
    co_await all_up(c);
    mutex lock(c, "n");
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < 45; ++i) {
      BOOST_TEST_CONTEXT("server " << i % 3 << ", after " << 1 + i * 2 << " bytes") {
        if (i % 2 == 0) {
          network[i % 3].cut_after_replies(1 + i * 2);
        } else {
          network[i % 3].cut_after_requests(1 + i * 11);
        }
        hold h = co_await lock.acquire();
        BOOST_TEST(h.valid());
        BOOST_TEST(h.fence() > last);
        last = h.fence();
        auto [released] = co_await h.release(as_tuple);
        BOOST_TEST(!released, released.message());
        network[i % 3].pass();
        co_await all.nothing_left();
      }
    }
    BOOST_TEST(c.stats().reconnects >= 20U);
    BOOST_TEST(c.stats().lost == 0U);
    co_await c.close();
  });
}

// A member that is a Sentinel group, and its master changes.
BOOST_AUTO_TEST_CASE(a_sentinel_group_among_the_servers_fails_over) {
  sentinel_group::settings s;
  s.replicas = 1;
  s.sentinels = 1;
  sentinel_group group(s);
  quorum_servers others(2);
  const std::vector<std::string> urls{others[0].url(), group.url(), others[1].url()};
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, urls, forgiving());
    client two(executor, urls, forgiving());
    co_await all_up(one);
    co_await all_up(two);
    hold h = co_await mutex(one, "n").acquire({.lease = 30s});
    redis_server& old = group.master();
    co_await eventually("every server has it", [&] { return others.with("n") == 2 && old.get("n"); });
    asker next{any_lock(mutex(two, "n"))};
    next.acquire();
    std::future<void> over = std::async(std::launch::async, [&] {
      group.replicate();
      group.fail_over();
    });
    co_await eventually("the Sentinels have another master",
                        [&] { return over.wait_for(0s) == std::future_status::ready; });
    over.get();
    co_await eventually("both are at the new master",
                        [&] { return one.stats().reconnects > 0 && two.stats().reconnects > 0; });
    redis_server& master = group.master();
    BOOST_TEST(&master != &old);
    BOOST_TEST(h.valid());
    BOOST_TEST(!next.ended());
    co_await h.extend(60s);
    co_await eventually("the new master has it for as long", [&] { return master.ttl("n") > 40000; });
    // It counts: one of the others may go.
    others[0].kill();
    co_await h.extend(90s);
    co_await h.release();
    co_await eventually("it is granted", [&] { return next.in(); });
    BOOST_TEST(next.got.fence() > h.fence());
    BOOST_TEST(master.get("n").value().find(next.got.token()) != std::string::npos);
    co_await next.got.release();
    co_await eventually("nothing is left", [&] { return others.size() == 0 && master.size() == 0; });
    BOOST_TEST(one.stats().lost == 0U);
    co_await one.close();
    co_await two.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
