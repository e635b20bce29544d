// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// acquire_options::at_least and tickets on real servers, on each deployment; test/simulation/locks has the rest.
#include "support/cluster_servers.hpp"
#include "support/kinds.hpp"
#include "support/quorum_servers.hpp"
#include "support/sentinel_group.hpp"
#include "support/with_redis.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace leasehold::test {

using make_client = std::function<client(const asio::any_io_executor&)>;

namespace {

// The lock is released at once, and nobody else gets it before the time is over.
awaitable<void> check_rest(const make_client& make, const kind& k) {
  const auto executor = co_await asio::this_coro::executor;
  asker first(k.holder(make(executor))), late(k.next(make(executor), 0)), next(k.next(make(executor), 1));
  co_await acquired(first, {.at_least = 700ms});
  const auto since = now();
  next.acquire();
  co_await first.got.release();
  // Not on a machine that stands still for so long.
  if (now() - since < 600ms) BOOST_TEST(!(co_await tried(late)));
  co_await eventually("the next is in", [&] { return next.in(); });
  BOOST_TEST((now() - since >= 700ms));
}

// The hold goes on in another client.
awaitable<void> check_ticket(const make_client& make, const kind& k) {
  const auto executor = co_await asio::this_coro::executor;
  client other = make(executor);
  asker first(k.holder(make(executor))), next(k.next(make(executor), 1));
  co_await acquired(first, {.lease = 20s});
  const ticket t = co_await first.got.detach();
  const ticket read = ticket::parse(t.to_string());
  hold h = co_await other.resume(read);
  BOOST_TEST(h.token() == first.got.token());
  BOOST_TEST(h.fence() == first.got.fence());
  BOOST_TEST(!(co_await tried(next)));
  co_await h.release();
  const auto [ec, none] = co_await other.resume(read, as_tuple);
  BOOST_TEST(ec == error::lost);
  BOOST_TEST((co_await tried(next)));
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(at_least, with_kinds_on<with_redis>)

BOOST_AUTO_TEST_CASE(every_kind_of_lock_can_rest_and_be_resumed) {
  const make_client make = [&](const auto& executor) { return client(executor, redis.url(), patient()); };
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      co_await check_rest(make, k);
      redis.command("FLUSHALL");
      co_await check_ticket(make, k);
    });
  });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(at_least_on_other_deployments)

BOOST_AUTO_TEST_CASE(behind_sentinels) {
  sentinel_group group;
  const make_client make = [&](const auto& executor) { return client(executor, group.url(), patient()); };
  run([&]() -> awaitable<void> {
    co_await check_rest(make, all_kinds[0]);
    group.master().command("FLUSHALL");
    co_await check_ticket(make, all_kinds[0]);
  });
}

BOOST_AUTO_TEST_CASE(in_a_cluster) {
  cluster_servers cluster;
  const make_client make = [&](const auto& executor) { return client(executor, cluster.url(), patient()); };
  for (const kind& k : all_kinds) {
    run([&]() -> awaitable<void> {
      co_await check_rest(make, k);
      cluster.node(cluster.master_of("n")).command("FLUSHALL");
      co_await check_ticket(make, k);
    });
    cluster.node(cluster.master_of("n")).command("FLUSHALL");
  }
}

BOOST_AUTO_TEST_CASE(on_a_quorum) {
  quorum_servers servers(3);
  const make_client make = [&](const auto& executor) { return client(executor, servers.urls(), patient()); };
  run([&]() -> awaitable<void> {
    co_await check_rest(make, all_kinds[0]);
    for (const auto& s : servers.servers) s->command("FLUSHALL");
    co_await check_ticket(make, all_kinds[0]);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
