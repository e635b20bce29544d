// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Grants that real replicas have to acknowledge; test/simulation/locks/replicas.cpp has the rest.
#include "support/cluster_servers.hpp"
#include "support/kinds.hpp"
#include "support/on_valkey.hpp"
#include "support/proxy.hpp"

#include <string>

namespace leasehold::test {

namespace {

// A master and a replica that is in step with it.
struct with_replica {
  redis_server redis{{"repl-diskless-sync-delay 0"}};
  redis_server replica{{"replicaof 127.0.0.1 " + std::to_string(redis.port())}};

  with_replica() {
    wait_until("the replica is in step",
               [this] { return redis.command("INFO", "replication").text.find("state=online") != std::string::npos; });
  }
};

acquire_options acknowledged_by(std::uint32_t n) {
  acquire_options o;
  o.replicas = n;
  return o;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(replicas, with_replica)

BOOST_AUTO_TEST_CASE(a_grant_that_counts_is_on_the_replica) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    for (int i = 0; i < 100; ++i) {
      mutex lock(c, "n");
      hold h = co_await lock.acquire(acknowledged_by(1));
      BOOST_REQUIRE(replica.get("n").value().starts_with("leasehold:" + h.token()));
      BOOST_TEST(h.expires_at() > std::chrono::steady_clock::now() + 20s);
      co_await h.release();
    }
    co_await c.close();
  });
}

// The confirmation takes a connection of its own, and that cannot be made: the grant is released all the same.
BOOST_AUTO_TEST_CASE(without_the_second_connection_the_lock_does_not_stay_taken) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    proxy network(executor, redis);
    client_options options;
    options.command_timeout = 300ms;
    options.connect_timeout = 1s;
    client c(executor, network.url(), options);
    client other(executor, redis.url());
    co_await c.ready();
    network.refuse();
    auto how = acknowledged_by(1);
    how.lease = 1h;
    outcome acquired;
    hold got;
    mutex(c, "n").acquire(how, [&](error_code ec, hold h) {
      acquired.ec = ec;
      got = std::move(h);
    });
    co_await eventually("it was granted", [&] { return redis.get("n").has_value(); });
    hold next = co_await mutex(other, "n").acquire();
    BOOST_TEST(!acquired.ended());
    network.refuse(false);
    co_await next.release();
    co_await eventually("it is acquired", [&] { return acquired.ended(); });
    BOOST_TEST(!*acquired.ec, acquired.ec->message());
    BOOST_TEST(got.valid());
    co_await got.release();
    co_await eventually("nothing is left", [&] { return redis.size() == 0; });
    co_await c.close();
  });
}

// Without a limit of its own it would end after twenty seconds.
BOOST_AUTO_TEST_CASE(a_second_connection_that_goes_dead_is_made_anew) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    proxy network(executor, redis);
    client_options options;
    options.command_timeout = 300ms;
    client c(executor, network.url(), options);
    hold h = co_await mutex(c, "n").acquire(acknowledged_by(1));
    network.swallow();
    auto how = acknowledged_by(1);
    how.wait = 15s;
    auto [ec, next] = co_await mutex(c, "m").acquire(how, as_tuple);
    BOOST_TEST(!ec, ec.message());
    co_await h.release();
    co_await next.release(as_tuple);
    co_await c.close();
  });
}

// A confirmation in the millisecond of the grant has to be acknowledged, too. A client's first lock is slower: the
// connection for WAIT is made for it.
BOOST_AUTO_TEST_CASE(a_frozen_replica_acknowledges_nothing) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    replica.stop();
    const acquire_options how{.lease = 100ms, .renew = renewal::none, .replicas = 1};
    for (int i = 0; i < 20; ++i) {
      client c(executor, redis.url());
      for (const std::string name : {"first", "second"}) {
        auto [ec, none] = co_await mutex(c, name).try_acquire(how, as_tuple);
        BOOST_TEST(ec.failed());
        BOOST_TEST(!none.has_value());
      }
      co_await c.close();
    }
  });
}

// As behind a name or a service that stands for another server from now on, while the old one lives on.
BOOST_AUTO_TEST_CASE(a_replica_that_has_taken_the_master_s_place_is_found) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    proxy network(executor, redis);
    client c(executor, network.url());
    acquire_options how = acknowledged_by(1);
    how.lease = 9s;  // Its renewal is waited for, and may come three seconds late.
    hold h = co_await mutex(c, "n").acquire(how);
    BOOST_REQUIRE(replica.get("n").has_value());
    replica.command("REPLICAOF", "NO", "ONE");
    redis.command("REPLICAOF", "127.0.0.1", std::to_string(replica.port()));
    network.lead_to(replica);
    const auto renewed = c.stats().renewed;
    co_await eventually("it is renewed", [&] { return c.stats().renewed > renewed || c.stats().lost != 0; });
    BOOST_TEST(h.valid());
    co_await eventually("the other one is in step", [&] {
      return replica.command("INFO", "replication").text.find("state=online") != std::string::npos;
    });
    // The connection for WAIT was the old master's, too.
    how.wait = 30s;
    hold next = co_await mutex(c, "m").acquire(how);
    BOOST_TEST(redis.get("m").has_value());
    co_await next.release();
    co_await h.release();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(several_locks_are_acknowledged_one_by_one) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    mutex a(c, "a");
    mutex b(c, "b");
    auto both = co_await acquire_all(acknowledged_by(1), a, b);
    BOOST_TEST(replica.get("a").has_value());
    BOOST_TEST(replica.get("b").has_value());
    co_await both.release();
    co_await c.close();
  });
}

// Many at once share a WAIT.
BOOST_AUTO_TEST_CASE(many_at_once) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    std::deque<asker> all;
    for (int i = 0; i < 200; ++i)
      all.emplace_back(any_lock(mutex(c, "n" + std::to_string(i)))).acquire(acknowledged_by(1));
    for (asker& a : all) {
      co_await eventually("it is granted", [&] { return a.in(); });
      BOOST_TEST(replica.get(std::get<mutex>(a.lock).name()).has_value());
    }
    BOOST_TEST(redis.calls("wait") > 0);
    BOOST_TEST(redis.calls("wait") < 200);
    for (asker& a : all) co_await a.got.release();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(replicas_in_a_cluster) {
  cluster_servers cluster(3, 1);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, cluster.url());
    for (int i = 0; i < 10; ++i) {
      mutex lock(c, "n" + std::to_string(i));
      hold h = co_await lock.acquire(acknowledged_by(1));
      BOOST_TEST(h.valid());
      co_await h.release();
    }
    auto [ec, none] = co_await mutex(c, "n").try_acquire(acknowledged_by(2), as_tuple);
    BOOST_TEST(ec == error::no_quorum, ec.message());
    co_await c.close();
  });
}

namespace {

// Since Redis 7.2, as in Valkey, WAIT answers at once on a connection whose commands have propagated nothing.
const on_valkey replicas_again("replicas");
const on_valkey cluster_again("replicas_in_a_cluster");

}  // namespace

}  // namespace leasehold::test
