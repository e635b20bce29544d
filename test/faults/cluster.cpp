// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Nodes of a cluster that die, hang and fail over.
#include "support/cluster_servers.hpp"
#include "support/kinds.hpp"

#include <string>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(cluster_faults)

namespace {

// `connect_timeout`: where no node hangs it may be long, so that close outlasts a machine that stands still.
client_options quick(std::chrono::milliseconds connect_timeout = 500ms) {
  client_options o;
  o.command_timeout = 300ms;
  o.connect_timeout = connect_timeout;
  o.reconnect = {.first = 5ms, .max = 50ms, .factor = 2.0, .jitter = 0.5};
  return o;
}

const int slot = cluster_servers::slot_of("n");

// A name of another node than n's.
std::string elsewhere(cluster_servers& cluster) {
  for (int i = 0;; ++i) {
    std::string name = "elsewhere " + std::to_string(i);
    if (cluster.master_of(name) != cluster.master_of("n")) return name;
  }
}

std::int64_t in_queue(cluster_servers& cluster) {
  const auto n = cluster.master_of(slot);
  for (const auto& key : cluster.node(n).command("KEYS", "leasehold:*:queue:n").items) {
    return cluster.node(n).command("ZCARD", key.text).integer;
  }
  return 0;
}

awaitable<void> works(const client& c, const std::string& name) {
  mutex lock(c, name);
  acquire_options o;
  o.wait = limit / 2;
  hold h = co_await lock.acquire(o);
  co_await h.release();
}

void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);
}

}  // namespace

// Whichever answers first, and though one does not.
BOOST_AUTO_TEST_CASE(a_list_has_the_locks_of_all_nodes_or_none) {
  cluster_servers cluster(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, cluster.url(), quick());
    hold here = co_await mutex(c, "n").acquire({.lease = 10min});
    hold there = co_await mutex(c, elsewhere(cluster)).acquire({.lease = 10min});
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      cluster.node(i).stop();
      client fresh(executor, cluster.url(), quick());
      auto [ec, none] = co_await list(fresh, as_tuple);
      BOOST_TEST(ec == error::unreachable);
      cluster.node(i).go_on();
      cluster.wait_until_ok();
      error_code later = ec;
      while (later == error::unreachable) {
        auto [again, all] = co_await list(fresh, as_tuple);
        BOOST_TEST((again || all.size() == 2U));
        later = again;
      }
      BOOST_TEST(!later);
      co_await fresh.close();
    }
    co_await c.close();
  });
}

// What the new master knows goes on: the hold, its renewals, and the queue in its order.
BOOST_AUTO_TEST_CASE(a_fail_over_that_loses_nothing) {
  cluster_servers cluster(3, 1);
  cluster.notice_failures_soon();
  for (const char* how : {"by command", "by death"}) {
    BOOST_TEST_CONTEXT(how) {
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client one(executor, cluster.url(), quick(limit));
        client two(executor, cluster.url(), quick(limit));
        client three(executor, cluster.url(), quick(limit));
        hold h = co_await mutex(one, "n").acquire();
        outcome lost;
        h.lost(lost.handler());
        asker second{any_lock(mutex(two, "n"))};
        asker third{any_lock(mutex(three, "n"))};
        second.acquire();
        co_await eventually("it waits in the queue", [&] { return in_queue(cluster) == 1; });
        third.acquire();
        co_await eventually("it waits in the queue, too", [&] { return in_queue(cluster) == 2; });
        const auto old = cluster.master_of(slot);
        const auto replica = cluster.replica_of(slot);
        if (how == std::string("by command")) {
          cluster.fail_over(replica);
        } else {
          cluster.node(old).kill();
          wait_until("the replica takes over", [&] { return cluster.is_master(replica); });
        }
        error_code ec = error::unreachable;
        for (int i = 0; i < 100 && ec; ++i) {
          auto [e] = co_await h.extend(40s, as_tuple);
          ec = e;
          if (ec == error::lost) break;
        }
        BOOST_TEST(!ec, ec.message());
        BOOST_TEST(h.valid());
        BOOST_TEST(!lost.ended());
        // A waiter that could not poll for a while is passed over until it does: two polls, and the first was answered.
        const auto polls = two.stats().commands;
        co_await eventually("it polls", [&] { return two.stats().commands > polls + 1; });
        co_await h.release();
        co_await eventually("the first is granted", [&] { return second.ended(); });
        BOOST_TEST(!*second.ec, second.ec->message() + " " + two.last_refusal());
        BOOST_TEST(second.in());
        BOOST_TEST(!third.ended());
        BOOST_TEST(second.got.fence() > h.fence());
        co_await second.got.release();
        co_await eventually("the second is granted", [&] { return third.in(); });
        BOOST_TEST(third.got.fence() > second.got.fence());
        co_await third.got.release();
        for (const client* c : {&one, &two, &three}) co_await c->close();
      });
    }
  }
}

// What it does not know is lost, which is told long before the lease ends; the fence of the next holder is larger.
BOOST_AUTO_TEST_CASE(a_grant_that_the_new_master_does_not_know) {
  cluster_servers cluster(3, 1, {"cluster-replica-validity-factor 0"});
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, cluster.url(), quick());
    client two(executor, cluster.url(), quick());
    co_await works(one, "n");
    const auto old = cluster.master_of(slot);
    const auto replica = cluster.replica_of(slot);
    cluster.notice_failures_soon();
    // What comes now is not even sent to it.
    cluster.node(replica).stop();
    cluster.node(old).command("CLIENT", "KILL", "TYPE", "replica");
    acquire_options o;
    o.lease = 10min;
    mutex lock(one, "n");
    hold h = co_await lock.acquire(o);
    outcome lost;
    h.lost(lost.handler());
    cluster.node(old).kill();
    cluster.node(replica).go_on();
    co_await eventually("the loss is reported", [&] { return lost.ended(); });
    BOOST_TEST(!*lost.ec);
    BOOST_TEST(!h.valid());
    mutex again(two, "n");
    hold next = co_await again.acquire();
    BOOST_TEST(next.fence() > h.fence());
    co_await next.release();
    co_await one.close();
    co_await two.close();
  });
}

// A frozen master is replaced; when it thaws it is not asked any more.
BOOST_AUTO_TEST_CASE(a_master_that_hangs) {
  cluster_servers cluster(3, 1);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, cluster.url(), quick());
    co_await works(c, "n");
    const auto old = cluster.master_of(slot);
    const auto replica = cluster.replica_of(slot);
    cluster.notice_failures_soon();
    cluster.node(old).stop();
    co_await works(c, "n");
    BOOST_TEST(cluster.is_master(replica));
    cluster.node(old).go_on();
    mutex lock(c, "n");
    hold h = co_await lock.acquire();
    cluster.wait_until_ok();
    BOOST_TEST(!cluster.is_master(old));
    BOOST_TEST(cluster.node(replica).get("n").value().starts_with("leasehold:" + h.token()));
    co_await h.release();
    co_await c.close();
  });
}

// Names of other nodes go on without it; who waits for its own gets an answer by the deadline, and the lock when it is
// back.
BOOST_AUTO_TEST_CASE(a_master_that_nobody_replaces) {
  cluster_servers cluster(3, 0, {"cluster-require-full-coverage no"});
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, cluster.url(), quick());
    const auto other = elsewhere(cluster);
    co_await works(c, "n");
    co_await works(c, other);
    const auto dead = cluster.master_of(slot);
    mutex lock(c, "n");
    hold h = co_await lock.acquire();
    outcome lost;
    h.lost(lost.handler());
    hold kept = co_await mutex(c, other).acquire();
    cluster.node(dead).kill();
    asker waiting{any_lock(lock)};
    waiting.acquire();
    for (int i = 0; i < 20; ++i) co_await works(c, "{" + other + "}" + std::to_string(i));
    acquire_options o;
    o.wait = 100ms;
    auto [ec, none] = co_await mutex(c, "{n}").acquire(o, as_tuple);
    BOOST_TEST(ec == error::unreachable, ec.message());
    BOOST_TEST(!waiting.ended());
    co_await kept.extend(40s);
    // Empty, as it has saved nothing.
    cluster.node(dead).start();
    co_await eventually("the loss is reported", [&] { return lost.ended(); });
    co_await eventually("it is granted", [&] { return waiting.in(); });
    BOOST_TEST(waiting.got.fence() > h.fence());
    co_await waiting.got.release();
    BOOST_TEST(kept.valid());
    co_await kept.release();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(the_whole_cluster_is_away_for_a_while) {
  cluster_servers cluster(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, cluster.url(), quick());
    const auto other = elsewhere(cluster);
    co_await works(c, "n");
    co_await eventually("each node is connected", [&] { return c.stats().connects == 3; });
    for (std::size_t i = 0; i < 3; ++i) cluster.node(i).kill();
    acquire_options o;
    o.wait = 100ms;
    auto [ec, none] = co_await mutex(c, "n").acquire(o, as_tuple);
    BOOST_TEST(ec == error::unreachable, ec.message());
    for (std::size_t i = 0; i < 3; ++i) cluster.node(i).start();
    co_await works(c, "n");
    co_await works(c, other);
    co_await eventually("each node is connected again", [&] { return c.stats().reconnects >= 3; });
    co_await c.close();
  });
}

// Slots move to and fro under clients that contend for names in them: nobody is in together with somebody else.
BOOST_AUTO_TEST_CASE(resharding_under_load) {
  cluster_servers cluster(3);
  const std::vector<std::string> names{"n", "{n}", "m"};
  int inside[3] = {0, 0, 0};
  std::uint64_t fences[3] = {0, 0, 0};
  int done = 0;
  bool moving = true;
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    std::vector<client> clients;
    for (int i = 0; i < 3; ++i) clients.emplace_back(executor, cluster.url(), quick(limit));
    const auto work = [&](std::size_t who) -> awaitable<void> {
      for (int i = 0; moving || i < 20; ++i) {
        const std::size_t n = (who + static_cast<std::size_t>(i)) % names.size();
        mutex lock(clients[who % 3], names[n]);
        hold h = co_await lock.acquire();
        BOOST_TEST(++inside[n] == 1);
        BOOST_TEST(h.fence() > fences[n]);
        fences[n] = h.fence();
        co_await turn(3);
        const bool in_time = h.valid();
        --inside[n];
        const auto since = now();
        auto [ec] = co_await h.release(as_tuple);
        // On a machine that stands still, the time for an answer may be over.
        const bool stood_still = now() - since > 2s;
        BOOST_TEST((!ec || !in_time || stood_still), ec.message());
      }
      ++done;
    };
    for (std::size_t w = 0; w < 9; ++w) asio::co_spawn(executor, work(w), rethrow);
    for (int round = 0; round < 8; ++round) {
      const auto from = cluster.master_of(slot);
      cluster.begin_moving(slot, from, (from + 1) % 3);
      co_await pause(20ms);
      cluster.move_keys(slot, from, (from + 1) % 3);
      co_await pause(20ms);
      cluster.move_keys(slot, from, (from + 1) % 3);
      cluster.end_moving(slot, from, (from + 1) % 3);
      co_await pause(100ms);
    }
    moving = false;
    co_await eventually("all have done their work", [&] { return done == 9; });
    for (const client& c : clients) co_await c.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
