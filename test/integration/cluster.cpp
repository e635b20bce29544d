// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Locks in a Redis Cluster, through the public interface.
#include "protocol/slots.hpp"
#include "support/cluster_servers.hpp"
#include "support/kinds.hpp"
#include "support/stepped_clock.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

// One cluster for all of these tests: it takes seconds to start.
cluster_servers& the_cluster() {
  static cluster_servers cluster(3);
  return cluster;
}

struct with_cluster {
  with_cluster() {
    for (std::size_t i = 0; i < cluster.size(); ++i) cluster.node(i).command("FLUSHALL");
  }

  cluster_servers& cluster = the_cluster();

  std::size_t keys() {
    std::size_t n = 0;
    for (std::size_t i = 0; i < cluster.size(); ++i) n += cluster.node(i).size();
    return n;
  }

  std::string queue_of(const std::string& record) const {
    return "leasehold:{" + std::string(detail::tag_of_slot(detail::slot_of(record))) + "}:queue:" + record;
  }
  std::int64_t in_queue(const std::string& record) {
    return cluster.node(cluster.master_of(record)).command("ZCARD", queue_of(record)).integer;
  }

  awaitable<void> nothing_left() {
    co_await eventually("nothing is left", [this] { return keys() == 0; });
  }

  // A mutex goes from one client to another, who has waited for it in the queue, and is free again.
  awaitable<void> hand_over(const client& from, const client& to, std::string name) {
    hold h = co_await mutex(from, name).acquire();
    asker next{any_lock(mutex(to, name))};
    next.acquire();
    co_await eventually("it waits in the queue", [&] { return in_queue(name) == 1; });
    co_await h.release();
    co_await eventually("it is granted", [&] { return next.in(); });
    co_await next.got.release();
  }
};

// Records of each of the three nodes.
const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(clusters, with_cluster)

BOOST_AUTO_TEST_CASE(every_name_has_its_place) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, cluster.url());
    co_await c.ready();
    std::set<std::size_t> masters;
    for (int i = 0; i < 100; ++i) {
      const std::string name = "name " + std::to_string(i);
      mutex lock(c, name);
      hold h = co_await lock.acquire();
      const std::size_t master = cluster.master_of(name);
      masters.insert(master);
      BOOST_REQUIRE(cluster.node(master).get(name).value().starts_with("leasehold:" + h.token()));
      const lock_info info = co_await lock.inspect();
      BOOST_TEST(info.held);
      BOOST_TEST(info.fence == h.fence());
      co_await h.extend(60s);
      co_await h.release();
    }
    BOOST_TEST(masters.size() == 3U);
    co_await nothing_left();
    co_await c.close();
  });
}

// Whatever braces a name has, the queue is where the record is.
BOOST_AUTO_TEST_CASE(braces_in_names_are_not_trusted) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    for (const std::string name : {"{a}b", "a}b", "a{}b", "{}", "{}{t}", "{", "}{", "a{b{c}d}", "{0}", "x{0}y"}) {
      client one(executor, cluster.url());
      client two(executor, cluster.url());
      hold h = co_await mutex(one, name).acquire();
      asker next{any_lock(mutex(two, name))};
      next.acquire();
      co_await eventually("it waits in the queue", [&] { return in_queue(name) == 1; });
      co_await h.release();
      co_await eventually("it is granted", [&] { return next.ended(); });
      BOOST_TEST(next.in());
      BOOST_TEST(two.stats().handed_off == 1U);
      BOOST_TEST(next.got.fence() > h.fence());
      co_await next.got.release();
      co_await one.close();
      co_await two.close();
    }
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(all_kinds_wait_and_are_told) {
  for (const kind& k : all_kinds) {
    BOOST_TEST_CONTEXT("kind: " << k.name) {
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client first(executor, cluster.url());
        client second(executor, cluster.url());
        client third(executor, cluster.url());
        asker holder{k.holder(first)};
        co_await acquired(holder);
        asker two{k.next(second, 2)};
        asker three{k.next(third, 3)};
        two.acquire();
        co_await eventually("it waits in the queue", [&] { return in_queue("n") == 1; });
        three.acquire();
        co_await eventually("both wait in the queue", [&] { return in_queue("n") == 2; });
        co_await holder.got.release();
        co_await eventually("the first is granted", [&] { return two.in(); });
        BOOST_TEST(second.stats().handed_off == 1U);
        if (!k.together) BOOST_TEST(!three.ended());
        co_await two.got.release();
        co_await eventually("the second is granted", [&] { return three.in(); });
        co_await three.got.release();
        co_await nothing_left();
        for (const client* c : {&first, &second, &third}) co_await c->close();
      });
    }
  }
}

// A channel for each slot that is waited for, and not one for each name or each operation.
BOOST_AUTO_TEST_CASE(channels_are_few) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, cluster.url());
    client two(executor, cluster.url());
    std::vector<hold> held;
    std::deque<asker> waiting;
    for (int i = 0; i < 20; ++i) {
      const std::string name = "{x}" + std::to_string(i);
      mutex lock(one, name);
      held.push_back(co_await lock.acquire());
      waiting.emplace_back(any_lock(mutex(two, name))).acquire();
      co_await eventually("it waits in the queue", [&] { return in_queue(name) == 1; });
    }
    const auto channels = [&] {
      std::size_t n = 0;
      for (std::size_t i = 0; i < cluster.size(); ++i) {
        n += cluster.node(i).command("PUBSUB", "SHARDCHANNELS").items.size();
      }
      return n;
    };
    // The one that holds listens, too, if that takes long.
    BOOST_TEST(channels() <= 2U);
    for (hold& h : held) co_await h.release();
    for (asker& a : waiting) {
      co_await eventually("it is granted", [&] { return a.in(); });
      co_await a.got.release();
    }
    co_await one.close();
    co_await two.close();
    co_await eventually("nobody listens", [&] { return channels() == 0; });
    co_await nothing_left();
  });
}

// More slots than a client goes on listening to when nobody waits in them.
BOOST_AUTO_TEST_CASE(channels_do_not_pile_up) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, cluster.url());
    client two(executor, cluster.url());
    for (int i = 0; i < 150; ++i) co_await hand_over(one, two, "n" + std::to_string(i));
    const auto channels = [&] {
      std::size_t n = 0;
      for (std::size_t i = 0; i < cluster.size(); ++i) {
        n += cluster.node(i).command("PUBSUB", "SHARDCHANNELS").items.size();
      }
      return n;
    };
    // Of each client, if it has held locks for long.
    co_await eventually("most channels are given up", [&] { return channels() <= 2 * 64; });
    co_await one.close();
    co_await two.close();
    co_await nothing_left();
  });
}

// The channel of a slot is given up while somebody there is about to wait again.
BOOST_AUTO_TEST_CASE(who_waits_in_a_slot_that_was_just_given_up_stands_in_line) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, cluster.url());
    client two(executor, cluster.url());
    // As many slots as a client listens to though it does not wait there, and one more.
    constexpr int idle = 64;
    for (int i = 0; i < idle; ++i) co_await hand_over(one, two, "n" + std::to_string(i));
    hold first = co_await mutex(one, "n0").acquire();
    hold last = co_await mutex(one, "n64").acquire();
    asio::cancellation_signal signal;
    outcome cancelled;
    mutex(two, "n64").acquire(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, hold) {
      cancelled.ec = ec;
    }));
    co_await eventually("it waits in the queue", [&] { return in_queue("n64") == 1; });
    asker next{any_lock(mutex(two, "n0"))};
    next.acquire();
    signal.emit(asio::cancellation_type::terminal);
    co_await eventually("it is cancelled", [&] { return cancelled.ended(); });
    co_await eventually("it waits in the queue again", [&] { return in_queue("n0") == 1; });
    client three(executor, cluster.url());
    asker behind{any_lock(mutex(three, "n0"))};
    behind.acquire();
    co_await eventually("somebody stands behind it", [&] { return in_queue("n0") == 2; });
    // A waiter that is not notified of grants polls without keeping its place, and would be passed over by now.
    co_await pause(2500ms);
    co_await first.release();
    co_await eventually("somebody is granted", [&] { return next.in() || behind.in(); });
    BOOST_TEST(next.in());
    co_await eventually("it is granted", [&] { return next.in(); });
    co_await next.got.release();
    co_await eventually("the other is granted", [&] { return behind.in(); });
    co_await behind.got.release();
    co_await three.close();
    co_await last.release();
    co_await one.close();
    co_await two.close();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(several_locks_in_several_slots) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, cluster.url());
    client two(executor, cluster.url());
    co_await one.ready();
    mutex a(one, "a");
    mutex b(one, "b");
    shared_mutex e(one, "e");
    auto all = co_await acquire_all(a, b, e);
    BOOST_TEST(all.valid());
    // In the same slot it takes one script.
    const auto before = one.stats().commands;
    mutex s(one, "{s}1");
    counting_semaphore t(one, "{s}2", 3);
    auto both = co_await acquire_all(s, t);
    BOOST_TEST(one.stats().commands == before + 1);
    co_await both.release();

    mutex x(two, "b");
    mutex y(two, "a");
    std::optional<error_code> ended;
    holds<2> got;
    auto op = acquire_all(x, y);
    std::move(op)([&](error_code ec, holds<2> h) {
      ended = ec;
      got = std::move(h);
    });
    co_await eventually("it waits in the queue", [&] { return in_queue("a") == 1; });
    BOOST_TEST(!ended.has_value());
    co_await all.release();
    co_await eventually("it has them", [&] { return ended.has_value(); });
    BOOST_TEST(!*ended);
    BOOST_TEST(got.valid());
    co_await got.release();
    co_await nothing_left();
    co_await one.close();
    co_await two.close();
  });
}

BOOST_AUTO_TEST_CASE(operators_see_every_node) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, cluster.url());
    client two(executor, cluster.url());
    std::vector<hold> held;
    for (const auto& name : names) {
      mutex lock(one, name);
      held.push_back(co_await lock.acquire());
    }
    asker next{any_lock(mutex(two, "c"))};
    next.acquire();
    co_await eventually("it waits in the queue", [&] { return in_queue("c") == 1; });
    auto listed = co_await list(one);
    BOOST_REQUIRE_EQUAL(listed.size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      BOOST_TEST(listed[i].name == names[i]);
      BOOST_TEST(listed[i].token == held[i].token());
      BOOST_TEST(listed[i].waiters == (names[i] == "c" ? 1U : 0U));
    }
    const auto status = co_await show(one, "c");
    BOOST_TEST(status.queue.size() == 1U);
    const auto broken = co_await break_lock(one, "c");
    BOOST_TEST(broken.token == held[2].token());
    co_await eventually("the next is granted", [&] { return next.in(); });
    co_await next.got.release();
    for (auto& h : held) {
      auto [ec] = co_await h.release(as_tuple);
      BOOST_TEST((!ec || ec == error::lost));
    }
    co_await nothing_left();
    co_await one.close();
    co_await two.close();
  });
}

// One node is enough to find the others, a wrong one among them does no harm, and a server that is none says so.
BOOST_AUTO_TEST_CASE(the_nodes_are_found) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    const std::string dead = "127.0.0.1:" + std::to_string(free_port());
    client c(executor, "redis+cluster://" + dead + ",127.0.0.1:" + std::to_string(cluster.node(1).port()));
    co_await c.ready();
    for (const auto& name : names) {
      mutex lock(c, name);
      hold h = co_await lock.acquire();
      co_await h.release();
    }
    co_await c.close();

    redis_server alone;
    client wrong(executor, "redis+cluster://127.0.0.1:" + std::to_string(alone.port()));
    auto [ec] = co_await wrong.ready(as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(wrong.last_refusal().find("cluster") != std::string::npos, wrong.last_refusal());
    // It is asked less and less often.
    co_await pause(2s);
    BOOST_TEST(wrong.stats().refused <= 6U);
    co_await wrong.close();
  });
}

// The others go on, and it is told why this one does not.
BOOST_AUTO_TEST_CASE(one_node_that_does_not_know_the_user) {
  const auto allow = [&](std::size_t node) {
    cluster.node(node).command("ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all");
  };
  allow(1);
  allow(2);
  std::string url = cluster.url();
  url.insert(url.find("//") + 2, "app:secret@");
  run([&]() -> awaitable<void> {
    std::vector<std::string> told;
    client_options o;
    o.reconnect = {.first = 5ms, .max = 20ms, .factor = 2.0, .jitter = 0.5};
    o.observer = [&](const event& e) {
      if (e.what == event::kind::unreachable) told.emplace_back(e.text);
    };
    client c(co_await asio::this_coro::executor, url, o);
    co_await eventually("the others are up", [&] { return c.stats().connects == 2; });
    const std::string words = "127.0.0.1:" + std::to_string(cluster.node(0).port()) + ": WRONGPASS ";
    // None of the others makes the client forget it from now on.
    co_await eventually("the reason is told", [&] { return c.last_failure().starts_with(words); });
    const auto before = static_cast<std::ptrdiff_t>(told.size()) - 1;
    for (const auto& name : names) {
      mutex lock(c, name);
      acquire_options once;
      if (cluster.master_of(name) == 0) once.wait = 20ms;
      auto [ec, h] = co_await lock.acquire(once, as_tuple);
      BOOST_TEST(h.valid() == (cluster.master_of(name) != 0), ec.message());
      BOOST_TEST((!ec || ec == error::unreachable), ec.message());
    }
    BOOST_TEST((std::adjacent_find(told.begin() + before, told.end()) == told.end()), "a reason is told twice");
    allow(0);
    for (const auto& name : names) {
      mutex lock(c, name);
      hold h = co_await lock.acquire();
      BOOST_TEST(h.valid());
    }
    co_await c.close();
    co_await nothing_left();
  });
  for (std::size_t i = 0; i < cluster.size(); ++i) cluster.node(i).command("ACL", "DELUSER", "app");
}

// It is no reason to give up while the others have not answered yet.
BOOST_AUTO_TEST_CASE(the_first_node_to_answer_refuses_the_user) {
  struct refusal {
    const char* error;
    std::vector<std::string> rules;  // Of the user on this node.
  };
  const std::vector<refusal> refusals{{"WRONGPASS", {"off"}},
                                      {"NOPERM", {"on", ">secret", "~*", "&*", "+@all", "-cluster"}}};
  const auto set_user = [&](std::size_t node, const std::vector<std::string>& rules) {
    cluster.node(node).command("ACL", "SETUSER", "app", "reset");
    for (const auto& r : rules) cluster.node(node).command("ACL", "SETUSER", "app", r);
  };
  const auto url_of = [&](const std::string& user) {
    std::string url = cluster.url();
    return url.insert(url.find("//") + 2, user + ":secret@");
  };
  client_options o;
  o.connect_timeout = 20s;
  o.reconnect = {.first = 5ms, .max = 20ms, .factor = 2.0, .jitter = 0.5};
  for (const auto& r : refusals) {
    BOOST_TEST_CONTEXT(r.error) {
      set_user(0, r.rules);
      for (const std::size_t i : {1U, 2U}) set_user(i, {"on", ">secret", "~*", "&*", "+@all"});
      const auto refused = [&]() -> std::uint64_t {
        const std::string all = cluster.node(0).command("INFO", "errorstats").text;
        const std::string field = std::string("errorstat_") + r.error + ":count=";
        const auto at = all.find(field);
        return at == all.npos ? 0 : std::stoull(all.substr(at + field.size()));
      };
      run([&]() -> awaitable<void> {
        for (const std::size_t i : {1U, 2U}) cluster.node(i).stop();
        const auto before = refused();
        client c(co_await asio::this_coro::executor, url_of("app"), o);
        std::optional<error_code> ready;
        c.ready([&](error_code ec) { ready = ec; });
        // Whoever is refused twice has heard of the first time.
        co_await eventually("it is refused", [&] { return refused() >= before + 2 || ready; });
        BOOST_TEST(!ready.has_value());
        for (const std::size_t i : {1U, 2U}) cluster.node(i).go_on();
        co_await eventually("it is ready", [&] { return ready.has_value(); });
        BOOST_TEST(!*ready, ready->message());
        const auto elsewhere = [&](const std::string& name) { return cluster.master_of(name) != 0; };
        hold h = co_await mutex(c, *std::find_if(names.begin(), names.end(), elsewhere)).acquire();
        BOOST_TEST(h.valid());
        co_await h.release();
        co_await c.close();
      });
    }
  }
  // Nobody knows this one; and it is so although a node of the URL does not answer at all.
  run([&]() -> awaitable<void> {
    const std::string dead = ",127.0.0.1:" + std::to_string(free_port());
    client c(co_await asio::this_coro::executor, url_of("nobody") + dead, o);
    auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::refused, ec.message());
    BOOST_TEST(c.last_refusal().starts_with("WRONGPASS"), c.last_refusal());
    co_await c.close();
  });
  for (std::size_t i = 0; i < cluster.size(); ++i) cluster.node(i).command("ACL", "DELUSER", "app");
}

BOOST_AUTO_TEST_CASE(a_slot_moves_under_a_hold_and_its_queue) {
  const std::string name = "moving";
  const int slot = cluster_servers::slot_of(name);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, cluster.url());
    client two(executor, cluster.url());
    client three(executor, cluster.url());
    for (int round = 0; round < 2; ++round) {
      hold h = co_await mutex(one, name).acquire();
      asker second{any_lock(mutex(two, name))};
      asker third{any_lock(mutex(three, name))};
      second.acquire();
      co_await eventually("it waits in the queue", [&] { return in_queue(name) == 1; });
      third.acquire();
      co_await eventually("it waits in the queue, too", [&] { return in_queue(name) == 2; });
      const std::size_t from = cluster.master_of(slot);
      cluster.move_slot(slot, from, (from + 1) % 3);
      co_await h.extend(40s);
      BOOST_TEST(h.valid());
      co_await h.release();
      co_await eventually("the first is granted", [&] { return second.in(); });
      BOOST_TEST(!third.ended());
      BOOST_TEST(second.got.fence() > h.fence());
      co_await second.got.release();
      co_await eventually("the second is granted", [&] { return third.in(); });
      BOOST_TEST(third.got.fence() > second.got.fence());
      co_await third.got.release();
    }
    co_await nothing_left();
    for (const client* c : {&one, &two, &three}) co_await c->close();
  });
}

// Nothing but MOVED tells of it, and the holds of the slot were not moved along.
BOOST_AUTO_TEST_CASE(a_hold_that_the_new_node_of_its_slot_does_not_know_is_lost_at_once) {
  const int slot = cluster_servers::slot_of("n");
  const std::size_t from = cluster.master_of(slot);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, cluster.url());
    hold here = co_await mutex(c, "n").acquire({.lease = 10min});
    const auto other = std::find_if(names.begin(), names.end(),
                                    [&](const auto& name) { return cluster.master_of(name) == (from + 2) % 3; });
    hold elsewhere = co_await mutex(c, *other).acquire({.lease = 10min});
    outcome lost;
    here.lost(lost.handler());
    cluster.begin_moving(slot, from, (from + 1) % 3);
    cluster.node(from).command("FLUSHALL");
    cluster.end_moving(slot, from, (from + 1) % 3);
    const lock_info info = co_await mutex(c, "{n}").inspect();
    BOOST_TEST(!info.held);
    co_await eventually("the loss is told", [&] { return lost.ended(); });
    BOOST_TEST(!here.valid());
    BOOST_TEST(elsewhere.valid());
    BOOST_TEST(c.stats().lost == 1U);
    co_await elsewhere.release();
    co_await nothing_left();
    co_await c.close();
  });
}

// In the middle of the move scripts with an absent key are told to try again, on both sides.
BOOST_AUTO_TEST_CASE(a_hold_in_a_slot_that_is_being_moved_goes_on) {
  for (const kind& k : all_kinds) {
    BOOST_TEST_CONTEXT("kind: " << k.name) {
      const int slot = cluster_servers::slot_of("n");
      const std::size_t from = cluster.master_of(slot);
      const std::size_t to = (from + 1) % 3;
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client one(executor, cluster.url());
        client two(executor, cluster.url());
        asker holder{k.holder(one)};
        co_await acquired(holder);
        asker next{k.next(two, 2)};
        next.acquire();
        co_await eventually("it waits in the queue", [&] { return in_queue("n") == 1; });
        cluster.begin_moving(slot, from, to);
        co_await holder.got.extend(40s);
        cluster.move_key("n", from, to);
        co_await holder.got.extend(50s);
        BOOST_TEST(holder.got.valid());
        // Without the queue, which is somewhere else.
        co_await holder.got.release();
        BOOST_TEST(!next.ended());
        cluster.move_keys(slot, from, to);
        cluster.end_moving(slot, from, to);
        co_await eventually("it is granted", [&] { return next.in(); });
        co_await next.got.release();
        co_await nothing_left();
        co_await one.close();
        co_await two.close();
      });
    }
  }
}

// MIGRATE moves what is left of a key's time to live. The deadlines in the record are instants of the node that had it.
BOOST_AUTO_TEST_CASE(holds_go_on_after_their_slot_has_moved_to_a_node_an_hour_ahead) {
  stepped_clock clock;
  clock.step(1h);
  cluster_servers nodes(2, 0, {}, {}, {}, clock.environment());
  const auto seconds = [&](std::size_t node) { return std::stoll(nodes.node(node).command("TIME").items.at(0).text); };
  BOOST_REQUIRE(seconds(0) - seconds(1) > 3500);
  const std::string name =
      *std::find_if(names.begin(), names.end(), [&](const auto& n) { return nodes.master_of(n) == 1; });
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, nodes.url()), two(executor, nodes.url()), three(executor, nodes.url());
    // A machine that stands still for three seconds loses none.
    const acquire_options some_seconds{.lease = 8s};
    std::vector<hold> held;
    held.push_back(co_await shared_mutex(one, name).acquire_shared(some_seconds));
    held.push_back(co_await shared_mutex(two, name).acquire_shared(some_seconds));
    held.push_back(co_await counting_semaphore(one, "{" + name + "}s", 1).acquire(some_seconds));
    held.push_back(co_await mutex(two, "{" + name + "}m").acquire(some_seconds));
    nodes.move_slot(cluster_servers::slot_of(name), 1, 0);
    // Longer than the leases of the others.
    std::vector<std::unique_ptr<asker>> others;
    const any_lock wanted[] = {shared_mutex(three, name), counting_semaphore(three, "{" + name + "}s", 1),
                               mutex(three, "{" + name + "}m")};
    for (const any_lock& lock : wanted) {
      others.push_back(std::make_unique<asker>(lock));
      others.back()->acquire({.lease = 8s, .wait = 10s});
    }
    for (const auto& other : others) {
      co_await eventually("the wait ends", [&] { return other->ended(); });
      BOOST_TEST(!other->in());
    }
    for (hold& h : held) {
      BOOST_TEST(h.valid());
      co_await h.release();
    }
    for (const client* c : {&one, &two, &three}) co_await c->close();
  });
}

// Who acquires while the slot is being moved waits for the end of the move.
BOOST_AUTO_TEST_CASE(a_free_lock_in_a_slot_that_is_being_moved) {
  const int slot = cluster_servers::slot_of("n");
  const std::size_t from = cluster.master_of(slot);
  const std::size_t to = (from + 1) % 3;
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, cluster.url());
    co_await c.ready();
    cluster.begin_moving(slot, from, to);
    mutex lock(c, "n");
    acquire_options o;
    o.wait = 200ms;
    auto [ec, none] = co_await lock.acquire(o, as_tuple);
    BOOST_TEST((ec == error::timed_out || ec == error::unreachable), ec.message());
    asker a{any_lock(lock)};
    a.acquire();
    co_await turn(20);
    BOOST_TEST(!a.ended());
    cluster.move_keys(slot, from, to);
    cluster.end_moving(slot, from, to);
    co_await eventually("it is granted", [&] { return a.in(); });
    co_await a.got.release();
    co_await nothing_left();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(a_cluster_that_is_not_there) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options options;
    options.connect_timeout = 200ms;
    client c(executor, "redis+cluster://127.0.0.1:" + std::to_string(free_port()), options);
    auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::unreachable);
    mutex lock(c, "n");
    acquire_options o;
    o.wait = 50ms;
    auto [failed, none] = co_await lock.acquire(o, as_tuple);
    BOOST_TEST(failed == error::unreachable);
    co_await c.close();
  });
}

// A client that is dropped, not closed, and a context that ends first.
BOOST_AUTO_TEST_CASE(everything_ends) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, cluster.url());
    mutex lock(c, "n");
    hold h = co_await lock.acquire();
  });
  wait_until("nothing is left", [this] { return keys() == 0; });
  std::optional<client> left;
  std::optional<hold> kept;
  {
    asio::io_context context;
    left.emplace(context, cluster.url());
    mutex lock(*left, "n");
    lock.acquire([&](error_code, hold h) { kept.emplace(std::move(h)); });
    while (!kept) context.run_one();
    mutex(*left, "n").acquire([](error_code, hold) {});
    for (int i = 0; i < 10; ++i) context.poll();
  }
  kept.reset();
  left.reset();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
