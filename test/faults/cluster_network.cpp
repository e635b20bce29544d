// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Networks between clients and the nodes of a cluster: connections that break one by one, fall silent and deliver late.
#include "protocol/slots.hpp"
#include "support/cluster_servers.hpp"
#include "support/kinds.hpp"
#include "support/proxy.hpp"

#include <deque>
#include <set>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

// A cluster whose nodes tell clients of other ports than theirs, where a test puts its proxies.
struct behind_ports {
  cluster_servers cluster{3};
  std::vector<unsigned short> ports;

  behind_ports() {
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      do ports.push_back(free_port());
      while (std::set<unsigned short>(ports.begin(), ports.end()).size() != ports.size());
      const reply r = cluster.node(i).command("CONFIG", "SET", "cluster-announce-port", std::to_string(ports[i]));
      BOOST_REQUIRE_MESSAGE(r.text == "OK", r.text);
    }
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      wait_until("a node knows the ports of all", [&] {
        const std::string nodes = cluster.node(i).command("CLUSTER", "NODES").text;
        return std::all_of(ports.begin(), ports.end(),
                           [&](unsigned short p) { return nodes.find(":" + std::to_string(p) + "@") != nodes.npos; });
      });
    }
    cluster.wait_until_ok();
  }
};

// One for all of these tests: it takes seconds to start.
behind_ports& the_ports() {
  static behind_ports p;
  return p;
}

struct with_networks {
  with_networks() {
    for (std::size_t i = 0; i < cluster.size(); ++i) cluster.node(i).command("FLUSHALL");
    // A name of each node.
    for (int i = 0; names.size() < cluster.size(); ++i) {
      const std::string name = "n" + std::to_string(i);
      if (cluster.master_of(name) == names.size()) names.push_back(name);
    }
  }

  cluster_servers& cluster = the_ports().cluster;
  std::vector<std::string> names;

  // To each node, on the ports that the nodes tell of.
  std::deque<proxy> networks(const asio::any_io_executor& executor) {
    std::deque<proxy> to;
    for (std::size_t i = 0; i < cluster.size(); ++i) to.emplace_back(executor, cluster.node(i), the_ports().ports[i]);
    return to;
  }
  std::string url() const {
    std::string hosts;
    for (const auto p : the_ports().ports) hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(p);
    return "redis+cluster://" + hosts;
  }

  std::int64_t in_queue(const std::string& record) {
    const std::string tag(detail::tag_of_slot(detail::slot_of(record)));
    return cluster.node(cluster.master_of(record)).command("ZCARD", "leasehold:{" + tag + "}:queue:" + record).integer;
  }
  std::optional<std::string> record(const std::string& name) { return cluster.node(cluster.master_of(name)).get(name); }
  std::int64_t ttl(const std::string& name) { return cluster.node(cluster.master_of(name)).ttl(name); }
  awaitable<void> nothing_left() {
    co_await eventually("nothing is left", [this] {
      std::size_t n = 0;
      for (std::size_t i = 0; i < cluster.size(); ++i) n += cluster.node(i).size();
      return n == 0;
    });
  }
};

client_options quick(std::chrono::milliseconds timeout = 300ms) {
  client_options o;
  o.command_timeout = timeout;
  // Longer: close waits for what an attempt without an answer may leave.
  o.connect_timeout = timeout + 1s;
  o.reconnect = {.first = 5ms, .max = 20ms, .factor = 2.0, .jitter = 0.5};
  return o;
}

void silence(proxy& p) {
  p.hold_requests();
  p.hold_replies();
}

// (A node that the others took for failed for a while, on a machine that stood still, is a new one to the client.)
awaitable<void> all_up(const client& c) {
  co_await eventually("all are up", [&] { return c.stats().connects - c.stats().reconnects >= 3; });
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(cluster_network, with_networks)

BOOST_AUTO_TEST_CASE(each_connection_is_cut_while_one_holds_and_one_waits) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    auto network = networks(executor);
    // (Connections are cut, and none is silent: an answer may be late if the machine stands still.)
    client one(executor, url(), quick(5s));
    client two(executor, url(), quick(5s));
    co_await all_up(one);
    co_await all_up(two);
    std::vector<hold> held;
    std::deque<asker> waiting;
    for (const auto& name : names) {
      mutex lock(one, name);
      held.push_back(co_await lock.acquire({.lease = 20s}));
      waiting.emplace_back(any_lock(mutex(two, name))).acquire();
      co_await eventually("it waits in the queue", [&] { return in_queue(name) == 1; });
    }
    for (std::size_t i = 0; i < 3; ++i) {
      const auto first = one.stats().reconnects;
      const auto second = two.stats().reconnects;
      network[i].cut();
      for (auto& h : held) {
        co_await h.extend(21s + std::chrono::seconds(i));
        BOOST_TEST(h.valid());
      }
      co_await eventually("both are connected again",
                          [&] { return one.stats().reconnects > first && two.stats().reconnects > second; });
      for (const auto& a : waiting) BOOST_TEST(!a.ended());
    }
    // One place in each queue, which the waiter has kept.
    for (std::size_t i = 0; i < 3; ++i) {
      BOOST_TEST(in_queue(names[i]) == 1);
      network[i].cut();
      co_await held[i].release();
      co_await eventually("it is granted", [&] { return waiting[i].in(); });
      BOOST_TEST(waiting[i].got.fence() > held[i].fence());
      co_await waiting[i].got.release();
    }
    BOOST_TEST(one.stats().lost == 0U);
    co_await nothing_left();
    co_await one.close();
    co_await two.close();
  });
}

// A1: the message about a grant is late, and another node has answered a younger request meanwhile. The counter of the
// slot is ahead of both nodes' clocks, so nothing that they say would tell which of the two was first.
BOOST_AUTO_TEST_CASE(a_grant_is_counted_from_the_request_that_came_before_it) {
  using steady = std::chrono::steady_clock;
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    auto network = networks(executor);
    client one(executor, url());
    client two(executor, url());
    co_await all_up(one);
    co_await all_up(two);
    const std::string& n = names[0];
    const std::string tag(detail::tag_of_slot(detail::slot_of(n)));
    const std::int64_t ahead = std::stoll(cluster.node(0).command("TIME").items.at(0).text) + 10;
    cluster.node(0).command("SET", "leasehold:{" + tag + "}:fence", std::to_string(ahead) + "000000");
    hold first = co_await mutex(one, n).acquire();
    BOOST_TEST(first.fence() / 2048 > static_cast<std::uint64_t>(ahead) * 1000000);
    std::optional<hold> got;
    steady::time_point end;
    mutex(two, n).acquire({.lease = 20s, .renew = renewal::none}, [&](error_code, hold h) {
      end = h.expires_at();
      got = std::move(h);
    });
    co_await eventually("it waits in the queue", [&] { return in_queue(n) == 1; });
    // It is notified, and has just polled.
    const auto polls = two.stats().round_trip.count();
    co_await eventually("it polls", [&] { return two.stats().round_trip.count() > polls + 1; });
    const auto released = steady::now();
    network[0].hold_replies();
    auto ignored = [](error_code) {};
    first.release(ignored);
    co_await eventually("it is granted", [&] { return ttl(n) > 0 && ttl(n) <= 2000; });
    co_await pause(400ms);
    hold other = co_await mutex(two, names[1]).acquire();
    const auto left = std::chrono::milliseconds(ttl(n));
    const auto asked = steady::now();
    network[0].pass();
    co_await eventually("it is granted", [&] { return got.has_value(); });
    // It may poll, which lengthens its lease, unless it is notified before.
    if (steady::now() > released + 600ms || left > 2s) co_return;
    BOOST_TEST(two.stats().handed_off == 1U);
    BOOST_TEST((end <= asked + left));
    co_await got->release();
    co_await other.release();
    co_await one.close();
    co_await two.close();
  });
}

BOOST_AUTO_TEST_CASE(one_connection_is_cut_after_any_byte) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    auto network = networks(executor);
    client c(executor, url(), quick());
    co_await all_up(c);
    std::uint64_t last[3] = {0, 0, 0};
    for (std::size_t i = 0; i < 45; ++i) {
      BOOST_TEST_CONTEXT("node " << i % 3 << ", after " << 1 + i * 2 << " bytes") {
        if (i % 2 == 0) {
          network[i % 3].cut_after_replies(1 + i * 2);
        } else {
          network[i % 3].cut_after_requests(1 + i * 11);
        }
        mutex lock(c, names[i % 3]);
        hold h = co_await lock.acquire();
        BOOST_TEST(h.valid());
        BOOST_TEST(h.fence() > last[i % 3]);
        last[i % 3] = h.fence();
        auto [released] = co_await h.release(as_tuple);
        BOOST_TEST(!released, released.message());
        network[i % 3].pass();
        co_await nothing_left();
      }
    }
    BOOST_TEST(c.stats().reconnects >= 20U);
    BOOST_TEST(c.stats().lost == 0U);
    co_await c.close();
  });
}

// The connection is there, and nothing comes. It is given up, and the hold goes on over the next one.
BOOST_AUTO_TEST_CASE(a_half_open_connection_does_not_lose_a_hold) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    auto network = networks(executor);
    client c(executor, url(), quick(150ms));
    co_await all_up(c);
    std::vector<hold> held;
    for (const auto& name : names) {
      mutex lock(c, name);
      held.push_back(co_await lock.acquire({.lease = 9s}));
    }
    network[1].swallow();
    const auto renewed = c.stats().renewed;
    co_await eventually("all are renewed",
                        [&] { return c.stats().renewed >= renewed + 3 && c.stats().reconnects == 1; });
    for (std::size_t i = 0; i < 3; ++i) {
      co_await eventually("it is renewed", [&] { return ttl(names[i]) > 5700; });
      BOOST_TEST(held[i].valid());
      co_await held[i].release();
    }
    BOOST_TEST(c.stats().lost == 0U);
    co_await nothing_left();
    co_await c.close();
  });
}

// Each answer takes longer than the client waits before it asks another node.
BOOST_AUTO_TEST_CASE(nodes_that_answer_slowly_are_a_cluster) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    auto network = networks(executor);
    for (auto& n : network) n.slow(650ms);
    client_options o;
    o.command_timeout = 10s;
    o.connect_timeout = 30s;
    client c(executor, url(), o);
    co_await c.ready();
    for (auto& n : network) n.slow(0ms);
    co_await c.close();
  });
}

// No connection to one node gets anywhere: what it has is lost at its deadline, which is told, and the rest goes on.
// The silent node is one of those that are asked for the slots.
BOOST_AUTO_TEST_CASE(a_node_that_is_silent_takes_its_own_holds_only) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    auto network = networks(executor);
    client c(executor, url(), quick(150ms));
    co_await all_up(c);
    std::vector<hold> held;
    std::deque<outcome> lost(3);
    for (std::size_t i = 0; i < 3; ++i) {
      mutex lock(c, names[i]);
      acquire_options o;
      o.lease = i == 1 ? 900ms : 9s;  // The others' renewals may be three seconds late.
      held.push_back(co_await lock.acquire(o));
      held[i].lost(lost[i].handler());
    }
    network[1].swallow();
    silence(network[1]);
    const auto deadline = held[1].expires_at();
    co_await eventually("the loss is reported", [&] { return lost[1].ended(); });
    BOOST_TEST(!*lost[1].ec);
    BOOST_TEST(std::chrono::steady_clock::now() < deadline + 20s);
    co_await eventually("the others are renewed", [&] { return c.stats().renewed >= 2 || c.stats().lost > 1; });
    for (const std::size_t i : {0U, 2U}) {
      BOOST_TEST(held[i].valid());
      BOOST_TEST(!lost[i].ended());
      hold next = co_await mutex(c, "{" + names[i] + "}").acquire();
      co_await next.release();
    }
    mutex silent(c, names[1]);
    auto [ec, none] = co_await silent.acquire({.wait = 100ms}, as_tuple);
    BOOST_TEST(ec == error::unreachable, ec.message());
    BOOST_TEST(c.stats().lost == 1U);
    network[1].pass();
    hold again = co_await silent.acquire();
    BOOST_TEST(again.fence() > held[1].fence());
    co_await again.release();
    for (const std::size_t i : {0U, 2U}) {
      BOOST_TEST(held[i].valid());
      co_await held[i].release();
    }
    co_await nothing_left();
    co_await c.close();
  });
}

// The slot and the record move while what the client sent to the old node is still under way.
BOOST_AUTO_TEST_CASE(requests_that_arrive_when_the_slot_has_moved) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    auto network = networks(executor);
    client one(executor, url(), quick(20s));
    client two(executor, url(), quick(20s));
    co_await all_up(one);
    co_await all_up(two);
    const std::string name = names[0];
    const int slot = cluster_servers::slot_of(name);
    std::uint64_t last = 0;
    for (int i = 0; i < 3; ++i) {
      // An attempt.
      std::size_t from = cluster.master_of(slot);
      std::size_t to = (from + 1) % 3;
      network[from].forget();
      network[from].hold_requests();
      asker first{any_lock(mutex(one, name))};
      first.acquire();
      const auto sent = [&] { return network[from].requests().find(name) != std::string::npos; };
      co_await eventually("the attempt was sent", sent);
      cluster.move_slot(slot, from, to);
      network[from].pass();
      co_await eventually("it is granted", [&] { return first.in(); });
      BOOST_TEST(first.got.fence() > last);
      BOOST_TEST(record(name).value().starts_with("leasehold:" + first.got.token()));
      // And a release, for which somebody waits.
      asker second{any_lock(mutex(two, name))};
      second.acquire();
      co_await eventually("it waits in the queue", [&] { return in_queue(name) == 1; });
      from = cluster.master_of(slot);
      to = (from + 1) % 3;
      network[from].forget();
      network[from].hold_requests();
      outcome released;
      first.got.release(released.handler());
      co_await eventually("the release was sent", sent);
      cluster.move_slot(slot, from, to);
      network[from].pass();
      co_await eventually("the release ends", [&] { return released.ended(); });
      BOOST_TEST(!*released.ec, released.ec->message());
      co_await eventually("it is granted", [&] { return second.in(); });
      BOOST_TEST(second.got.fence() > first.got.fence());
      last = second.got.fence();
      co_await second.got.release();
      co_await nothing_left();
    }
    BOOST_TEST(one.stats().lost + two.stats().lost == 0U);
    co_await one.close();
    co_await two.close();
    cluster.wait_until_ok();
  });
}

// An attempt on a connection that is lost arrives when the lock was acquired on another one, released, and is
// somebody else's.
BOOST_AUTO_TEST_CASE(late_bytes_of_a_broken_connection_leave_nothing) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    auto network = networks(executor);
    client c(executor, url(), quick());
    co_await all_up(c);
    std::uint64_t reconnects = 0;
    for (const auto late : {0ms, 500ms}) {
      for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST_CONTEXT("node " << i << ", late by " << late.count() << " ms") {
          network[i].forget();
          network[i].hold_requests();
          asker a{any_lock(mutex(c, names[i]))};
          a.acquire({.lease = std::chrono::minutes(60)});
          co_await eventually("the attempt was sent",
                              [&] { return network[i].requests().find(names[i]) != std::string::npos; });
          network[i].cut_clients();
          BOOST_REQUIRE(network[i].late() == 1U);
          network[i].pass_connected();
          co_await eventually("it is granted", [&] { return a.in(); });
          BOOST_TEST(c.stats().reconnects == ++reconnects);
          // The other nodes' locks are not concerned.
          mutex other(c, names[(i + 1) % 3]);
          hold o = co_await other.acquire();
          co_await a.got.release();
          co_await pause(late);
          BOOST_REQUIRE(network[i].late() == 1U);
          network[i].pass();
          co_await eventually("it has arrived", [&] { return network[i].late() == 0; });
          BOOST_TEST(o.valid());
          co_await o.release();
          co_await nothing_left();
        }
      }
    }
    co_await c.close();
  });
}

// Each node at its own pace: two locks of two nodes, taken by two clients in the other's order.
BOOST_AUTO_TEST_CASE(several_locks_on_slow_networks) {
  int inside = 0;
  int entries = 0;
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    auto network = networks(executor);
    network[0].slow(4ms);
    network[1].slow(1ms);
    client one(executor, url(), quick(10s));
    client two(executor, url(), quick(10s));
    int running = 2;
    const auto work = [&](client c, bool turned) -> awaitable<void> {
      mutex a(c, names[turned ? 1 : 0]);
      mutex b(c, names[turned ? 0 : 1]);
      for (int i = 0; i < 8; ++i) {
        auto both = co_await acquire_all(a, b);
        BOOST_TEST(++inside == 1);
        ++entries;
        co_await pause(1ms);
        --inside;
        co_await both.release();
      }
      --running;
    };
    const auto rethrow = [](std::exception_ptr e) {
      if (e) std::rethrow_exception(e);
    };
    asio::co_spawn(executor, work(one, false), rethrow);
    asio::co_spawn(executor, work(two, true), rethrow);
    co_await eventually("both have had their turns", [&] { return running == 0; });
    BOOST_TEST(entries == 16);
    co_await nothing_left();
    co_await one.close();
    co_await two.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
