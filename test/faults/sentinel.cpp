// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Sentinel groups whose master changes, dies, freezes and forgets, and whose Sentinels do.
#include "support/sentinel_group.hpp"
#include "support/with_redis.hpp"

#include <leasehold/admin.hpp>

#include <future>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(sentinel)

namespace {

client_options quick() {
  client_options o;
  o.command_timeout = 500ms;
  o.connect_timeout = 2s;
  o.reconnect = {.first = 5ms, .max = 50ms, .factor = 2.0, .jitter = 0.5};
  return o;
}

struct loss {
  explicit loss(const hold& h) {
    h.lost([this](error_code e) { ec = e; });
  }
  loss(const loss&) = delete;
  std::optional<error_code> ec;
  bool notified() const { return ec.has_value(); }
};

// Runs what blocks on a thread of its own, while everything here goes on.
template <class Body>
awaitable<void> aside(Body body) {
  std::future<void> end = std::async(std::launch::async, body);
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (end.wait_for(0s) != std::future_status::ready) {
    timer.expires_after(2ms);
    co_await timer.async_wait(asio::deferred);
  }
  end.get();
}

bool has(redis_server& server, const std::string& name, const hold& h) {
  const auto record = server.get(name);
  return record && record->find(h.token()) != record->npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_hold_that_the_new_master_knows_lives_on) {
  sentinel_group group;
  run([&]() -> awaitable<void> {
    std::vector<std::string> why;
    client_options o = quick();
    o.observer = [&](const event& e) {
      if (e.what == event::kind::disconnected) why.emplace_back(e.text);
    };
    client c(co_await asio::this_coro::executor, group.url(), o);
    hold h = co_await mutex(c, "n").acquire({.lease = 20s});
    co_await aside([&] { group.replicate(); });
    const auto fence = h.fence();
    co_await aside([&] { group.fail_over(); });
    co_await eventually("the client is at the new master", [&] { return c.stats().reconnects > 0; });
    // It was told, and did not have to wait until the old master is made a replica (which takes Sentinels ten seconds).
    BOOST_TEST(why.at(0) == "the Sentinels have another master");
    const auto renewed = c.stats().renewed;
    co_await eventually("it is renewed", [&] { return c.stats().renewed > renewed || !h.valid(); });
    BOOST_TEST(h.valid());
    BOOST_TEST(c.stats().lost == 0U);
    BOOST_TEST(has(group.master(), "n", h));
    co_await h.release();
    hold next = co_await mutex(c, "n").acquire();
    BOOST_TEST(next.fence() > fence);
    BOOST_TEST(has(group.master(), "n", next));
  });
}

// The grant was not replicated: the loss is told when the new master says so, not when the lease ends.
BOOST_AUTO_TEST_CASE(a_hold_that_the_new_master_does_not_know_is_lost_at_once) {
  sentinel_group group;
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, group.url(), quick());
    co_await c.ready();
    group.cut_replication();
    hold h = co_await mutex(c, "n").acquire({.lease = std::chrono::minutes(10)});
    hold once = co_await mutex(c, "m").acquire({.lease = std::chrono::minutes(10), .renew = renewal::none});
    loss l(h);
    loss m(once);
    const std::size_t old = group.master_index();
    const auto fence = std::max(h.fence(), once.fence());
    group.server(old).kill();
    BOOST_TEST(h.valid());
    co_await aside([&] { group.wait_for_another_master(old); });
    co_await eventually("the losses are reported", [&] { return l.notified() && m.notified(); });
    BOOST_TEST(!*l.ec);
    BOOST_TEST(!*m.ec);
    BOOST_TEST(!h.valid());
    BOOST_TEST(c.stats().lost == 2U);
    hold next = co_await mutex(c, "n").acquire();
    BOOST_TEST(next.fence() > fence);
    BOOST_TEST(next.valid());
  });
}

BOOST_AUTO_TEST_CASE(a_queue_that_was_replicated_keeps_its_order) {
  sentinel_group group;
  run([&]() -> awaitable<void> {
    constexpr std::size_t count = 4;
    client first(co_await asio::this_coro::executor, group.url(), quick());
    hold h = co_await mutex(first, "n").acquire({.lease = 60s});
    std::vector<client> clients;
    std::vector<std::size_t> order;
    std::uint64_t last_fence = h.fence();
    for (std::size_t i = 0; i < count; ++i) {
      clients.emplace_back(co_await asio::this_coro::executor, group.url(), quick());
      mutex(clients[i], "n").acquire({.lease = 60s}, [&, i](error_code ec, hold got) {
        BOOST_TEST(!ec);
        BOOST_TEST(got.fence() > last_fence);
        last_fence = got.fence();
        order.push_back(i);
        // Released at its destruction.
      });
      co_await eventually("it waits", [&] { return clients[i].stats().contended == 1; });
    }
    co_await aside([&] { group.replicate(); });
    const std::size_t old = group.master_index();
    group.server(old).kill();
    co_await aside([&] { group.wait_for_another_master(old); });
    BOOST_TEST(order.empty());
    co_await first.ready();
    for (;;) {
      auto [ec, found] = co_await show(first, "n", as_tuple);
      if (!ec && found.queue.size() == count) {
        bool silent = false;
        for (const auto& w : found.queue) silent = silent || w.silent;
        if (!silent) break;
      }
      co_await pause(5ms);
    }
    BOOST_TEST(h.valid());
    co_await h.release();
    co_await eventually("all had their turn", [&] { return order.size() == count; });
    const std::vector<std::size_t> expected{0, 1, 2, 3};
    BOOST_TEST(order == expected, boost::test_tools::per_element());
  });
}

// The old master thaws and believes in itself until the Sentinels tell it.
BOOST_AUTO_TEST_CASE(a_master_that_freezes_and_thaws_is_not_used) {
  sentinel_group group;
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, group.url(), quick());
    hold h = co_await mutex(c, "n").acquire({.lease = 60s});
    co_await aside([&] { group.replicate(); });
    const std::size_t old = group.master_index();
    group.server(old).stop();
    co_await aside([&] { group.wait_for_another_master(old); });
    co_await eventually("the client is at the new master", [&] { return c.stats().reconnects > 0 && h.valid(); });
    group.server(old).go_on();
    BOOST_TEST(h.valid());
    client d(co_await asio::this_coro::executor, group.url(), quick());
    hold a = co_await mutex(c, "a").acquire();
    hold b = co_await mutex(d, "b").acquire();
    BOOST_TEST(has(group.master(), "a", a));
    BOOST_TEST(has(group.master(), "b", b));
    BOOST_TEST(has(group.master(), "n", h));
    co_await h.extend(90s);
    BOOST_TEST(group.master().ttl("n") > 60000);
    BOOST_TEST(c.stats().lost == 0U);
  });
}

// By somebody else than the Sentinels, who say nothing then: READONLY sends the client to them, too.
BOOST_AUTO_TEST_CASE(a_master_that_is_made_a_replica_is_left) {
  sentinel_group group;
  run([&]() -> awaitable<void> {
    std::vector<std::string> why;
    client_options o = quick();
    o.observer = [&](const event& e) {
      if (e.what == event::kind::disconnected) why.emplace_back(e.text);
    };
    client c(co_await asio::this_coro::executor, group.url(), o);
    co_await c.ready();
    // Behind the Sentinels' back. They send the client to it again, and then ROLE tells.
    redis_server& master = group.master();
    master.command("REPLICAOF", "127.0.0.1", std::to_string(free_port()));
    std::optional<hold> h;
    mutex(c, "n").acquire([&](error_code ec, hold got) {
      BOOST_TEST(!ec);
      h = std::move(got);
    });
    co_await eventually("the connection is given up", [&] { return !why.empty(); });
    BOOST_TEST(why[0].starts_with("READONLY"), why[0]);
    const auto handshakes = master.info("total_connections_received");
    co_await eventually("it asks again", [&] { return master.info("total_connections_received") > handshakes + 2; });
    BOOST_TEST(!h.has_value());
    BOOST_TEST(c.stats().refused == 0U);
    master.command("REPLICAOF", "NO", "ONE");
    co_await eventually("it is acquired", [&] { return h.has_value(); });
    BOOST_TEST(h->valid());
    BOOST_TEST(why.size() == 1U);
  });
}

// What docs/operations.md recommends against two masters at a time.
BOOST_AUTO_TEST_CASE(a_master_without_replicas_may_refuse) {
  sentinel_group::settings s;
  s.sentinels = 1;
  s.configuration = {"min-replicas-to-write 1", "min-replicas-max-lag 1"};
  sentinel_group group(s);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, group.url(), quick());
    // They tell it so every second: not all of them have lately if the machine has just stood still.
    co_await eventually("the master has heard of a replica",
                        [&] { return group.master().info("min_slaves_good_slaves") > 0; });
    hold h = co_await mutex(c, "n").acquire({.lease = 2s});
    loss l(h);
    BOOST_TEST(h.valid());
    group.cut_replication();
    auto [ec, none] = co_await mutex(c, "m").acquire(as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(c.last_refusal().starts_with("NOREPLICAS"), c.last_refusal());
    co_await eventually("the loss is reported", [&] { return l.notified(); });
    BOOST_TEST(!*l.ec);
  });
}

BOOST_AUTO_TEST_CASE(holds_live_on_without_sentinels) {
  sentinel_group group;
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, group.url(), quick());
    hold h = co_await mutex(c, "n").acquire({.lease = 6s});
    hold lasting = co_await mutex(c, "l").acquire({.lease = 60s});
    redis_server& master = group.master();
    for (std::size_t i = 0; i < group.sentinels(); ++i) group.sentinel(i).kill();
    const auto renewed = c.stats().renewed;
    co_await eventually("it is renewed", [&] { return c.stats().renewed > renewed + 1 || !h.valid(); });
    BOOST_TEST(h.valid());
    hold m = co_await mutex(c, "m").acquire();
    BOOST_TEST(m.valid());
    // It has not given up asking for them.
    group.sentinel(2).start();
    co_await eventually("it listens to a Sentinel that is back",
                        [&] { return contains(group.sentinel(2).command("CLIENT", "LIST").text, "name=leasehold"); });
    group.sentinel(2).kill();
    BOOST_TEST(c.stats().reconnects == 0U);
    // Who loses his connection then waits for a Sentinel.
    master.command("CLIENT", "KILL", "TYPE", "normal");
    master.command("CLIENT", "KILL", "TYPE", "pubsub");
    auto [ec, none] = co_await mutex(c, "x").acquire({.wait = 300ms}, as_tuple);
    BOOST_TEST(ec == error::unreachable);
    group.sentinel(2).start();
    hold x = co_await mutex(c, "x").acquire({.wait = 30s});
    BOOST_TEST(x.valid());
    BOOST_TEST(lasting.valid());
    BOOST_TEST(c.stats().reconnects == 1U);
  });
}

// Which others there are is learnt from the one that the URL names. When the one that is listened to dies, another one
// takes its place.
BOOST_AUTO_TEST_CASE(one_sentinel_is_enough_to_begin_with) {
  sentinel_group group;
  run([&]() -> awaitable<void> {
    const std::string url = "redis+sentinel://127.0.0.1:" + std::to_string(group.sentinel(0).port()) + "/mymaster";
    std::vector<std::string> why;
    client_options o = quick();
    o.observer = [&](const event& e) {
      if (e.what == event::kind::disconnected) why.emplace_back(e.text);
    };
    client c(co_await asio::this_coro::executor, url, o);
    hold h = co_await mutex(c, "n").acquire({.lease = 60s});
    co_await aside([&] { group.replicate(); });
    group.sentinel(0).kill();
    co_await aside([&] { group.fail_over(); });
    co_await eventually("the client is at the new master", [&] { return c.stats().reconnects > 0; });
    BOOST_TEST(why.at(0) == "the Sentinels have another master");
    co_await h.extend(90s);
    BOOST_TEST(h.valid());
    BOOST_TEST(has(group.master(), "n", h));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
