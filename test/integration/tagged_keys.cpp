// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// One address with slots behind it, on real servers; test/simulation/locks/tagged_keys.cpp has the rest.
#include "integration/with_slots.hpp"
#include "protocol/keys.hpp"
#include "protocol/slots.hpp"
#include "support/kinds.hpp"
#include "support/with_redis.hpp"

#include <leasehold/admin.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(tagged_keys)

namespace {

using strings = std::vector<std::string>;

client_options noting(strings& told) {
  client_options o;
  o.observer = [&told](const event& e) {
    if (e.what == event::kind::tagged_keys) told.emplace_back(e.text);
  };
  return o;
}

// "n" is handed from one client to another, by a message.
awaitable<void> hand_on(client from, client to) {
  asker first(mutex(from, "n"));
  co_await acquired(first);
  asker next(mutex(to, "n"));
  next.acquire();
  co_await eventually("it waits", [&] { return to.stats().waiting == 1 && to.stats().contended != 0; });
  // From the second attempt on, it waits in the queue.
  co_await pause(200ms);
  co_await first.got.release();
  co_await eventually("the next is in", [&] { return next.in(); });
  BOOST_TEST(to.stats().handed_off == 1U);
  co_await next.got.release();
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_server_in_cluster_mode_is_recognized_when_a_client_connects, with_slots) {
  strings told;
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.tcp_url(), noting(told));
    co_await c.ready();
    BOOST_TEST((told == strings{"the server is in cluster mode"}));
    client other(co_await asio::this_coro::executor, redis.tcp_url());
    co_await hand_on(c, other);
    BOOST_TEST(c.stats().refused == 0U);
    BOOST_TEST(redis.get("leasehold:{0}:fence").value_or("") == "tagged");
    BOOST_TEST(redis.get(std::string(detail::fence_key(detail::slot_of("n")))).has_value());
  });
}

// As behind a proxy that says nothing of slots.
BOOST_FIXTURE_TEST_CASE(a_refused_script_tells_a_client_that_may_not_ask, with_slots) {
  redis.command("ACL", "SETUSER", "nosy", "on", ">p", "allkeys", "allchannels", "+@all", "-info");
  const std::string url = "redis://nosy:p@127.0.0.1:" + std::to_string(redis.port());
  strings told;
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, url, noting(told));
    client other(co_await asio::this_coro::executor, url);
    co_await hand_on(c, other);
    BOOST_REQUIRE(told.size() == 1U);
    BOOST_TEST(told.front().starts_with("CROSSSLOT"));
    BOOST_TEST(c.stats().refused == 0U);
    // The same for the first request of another kind.
    client fresh(co_await asio::this_coro::executor, url, noting(told));
    auto all = co_await acquire_all(mutex(fresh, "a"), mutex(fresh, "b"), counting_semaphore(fresh, "c", 2));
    client operators(co_await asio::this_coro::executor, url, noting(told));
    const auto locks = co_await list(operators);
    BOOST_TEST(locks.size() == 3U);
    BOOST_TEST(told.size() == 3U);
    for (auto& h : all) co_await h.release();
  });
}

// Those of a cluster and those of one address keep the same keys.
BOOST_FIXTURE_TEST_CASE(clients_of_the_cluster_and_of_one_address_wait_in_one_queue, with_slots) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    for (const bool first_is_of_cluster : {true, false}) {
      client of_cluster(executor, nodes.url());
      client of_one(executor, redis.tcp_url() + "?keys=tagged");
      first_is_of_cluster ? co_await hand_on(of_cluster, of_one) : co_await hand_on(of_one, of_cluster);
    }
  });
}

// KeyDB, and Redis before version 7; and a user, or a proxy, with SPUBLISH alone.
BOOST_AUTO_TEST_CASE(without_channels_of_slots_a_waiter_is_notified_on_its_clients_channel) {
  const strings no_ssubscribe{"rename-command SSUBSCRIBE \"\""};
  const strings neither{no_ssubscribe.front(), "rename-command SPUBLISH \"\""};
  for (const auto& configuration : {neither, no_ssubscribe}) {
    with_slots one(configuration);
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client c(executor, one.redis.tcp_url()), other(executor, one.redis.tcp_url());
      asker first(mutex(c, "n"));
      co_await acquired(first);
      asker next(mutex(other, "n"));
      next.acquire();
      co_await eventually("it waits in the queue",
                          [&] { return one.redis.command("ZCARD", the_tagged_queue).integer == 1; });
      co_await first.got.release();
      co_await eventually("the next is in", [&] { return next.in(); });
      BOOST_TEST(other.stats().handed_off == 1U);
      co_await next.got.release();
    });
  }
}

// As on a server where only some of the clients have the parameter.
BOOST_FIXTURE_TEST_CASE(a_plain_client_follows_clients_with_tagged_keys, with_redis) {
  strings told;
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client plain(executor, redis.url(), noting(told));
    hold before = co_await mutex(plain, "n").acquire();
    const auto fence = before.fence();
    co_await before.release();
    client tagged(executor, redis.url() + "?keys=tagged");
    co_await tagged.ready();
    BOOST_TEST(told.empty());
    co_await hand_on(plain, tagged);
    BOOST_REQUIRE(told.size() == 1U);
    BOOST_TEST(told.front().find("leasehold: the keys of this server are tagged") != std::string::npos);
    const hold after = co_await mutex(plain, "n").acquire();
    BOOST_TEST(after.fence() > fence);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
