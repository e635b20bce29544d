// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Slots that move and masters that change while locks are held and waited for, in virtual time. What is promised then
// is in docs/guarantees.md, "Deployments".
#include "simulation/cluster_events.hpp"
#include "simulation/scene.hpp"

#include "protocol/keys.hpp"
#include "protocol/slots.hpp"

#include <leasehold/admin.hpp>
#include <leasehold/counting_semaphore.hpp>
#include <leasehold/election.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/recursive_mutex.hpp>
#include <leasehold/shared_mutex.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(scenarios)

// Two masters, and a spare. "n" is at the first of them, by the number that `home` says.
struct cluster_scene : scene {
  explicit cluster_scene(std::uint64_t seed = 1) : scene(3, seed) {
    w.make_cluster(2);
    home = w.cluster()->owner(slot);
    other = 1 - home;
  }
  // By key, as MIGRATE moves them.
  void move_key(const std::string& key) { w.cluster()->move_key(slot, key); }
  void tell_all() {
    for (std::size_t i = 0; i < w.number_of_servers(); ++i) w.cluster()->announce_slots(i);
  }
  // At once.
  void move_slot() { move_slot(other); }
  void move_slot_back() { move_slot(home); }
  void move_slot_to_the_spare() { move_slot(spare); }
  bool has(std::size_t server, const std::string& key) {
    return w.server(server).data().execute({"EXISTS", key}).integer != 0;
  }

  const std::string record = "n";
  const std::uint16_t slot = detail::slot_of(record);
  const std::string tag{detail::tag_of_slot(slot)};
  const std::string queue = detail::queue_key(tag, record), entries = detail::entries_key(tag, record);
  const std::string fence{detail::fence_key(slot)}, value = detail::leader_key(tag, record);
  std::size_t home = 0, other = 0;
  const std::size_t spare = 2;

 private:
  void move_slot(std::size_t to) {
    w.cluster()->begin_to_move(slot, to);
    for (const auto& key : {record, queue, entries, fence, value}) move_key(key);
    w.cluster()->end_move(slot);
    tell_all();
  }
};

// Each answer is another redirection, or the words that a slot is on its way.
BOOST_AUTO_TEST_CASE(a_release_after_the_end_of_the_lease_waits_no_longer_while_its_slot_moves) {
  cluster_scene s;
  process& p = s.add(with_timeout(600ms));
  hold held = take(s, p, {.lease = 300ms, .renew = renewal::none});
  s.wait(400ms);
  BOOST_TEST(!held.valid());
  s.w.cluster()->begin_to_move(s.slot, s.other);
  s.move_key(s.fence);
  s.w.fastest = s.w.slowest = 100ms;
  const auto began = s.w.now();
  s.run(p, [&]() -> awaitable<void> {
    auto ending = release(held);
    const auto why = co_await std::move(ending);
    BOOST_TEST(why == error::unreachable);
  });
  BOOST_TEST(s.w.now() - began <= 601ms);
}

BOOST_AUTO_TEST_CASE(a_release_asks_a_cluster_that_is_down_no_longer_than_something_can_be_left) {
  cluster_scene s;
  process& p = s.add();
  hold held = take(s, p, {.lease = 1s, .renew = renewal::none});
  s.w.cluster()->is_down = true;
  s.run(p, [&]() -> awaitable<void> {
    auto ending = release(held);
    const auto why = co_await std::move(ending);
    BOOST_TEST(why == error::unreachable, why.message());
  });
  s.wait(1min);
  const auto asked = p.client().stats().commands;
  s.wait(10min);
  BOOST_TEST(p.client().stats().commands == asked);
}

// A pushed grant is released before it is confirmed: its entry is the last one of the queue, on a node that refuses
// scripts what they have emptied themselves.
BOOST_AUTO_TEST_CASE(a_release_that_empties_the_queue_while_its_slot_begins_to_move_leaves_nothing) {
  const auto check = [](const char* kind, auto make) {
    BOOST_TEST_CONTEXT(kind) {
      cluster_scene s;
      process &x = s.add(), &y = s.add(), &z = s.add();
      auto [ec, held] = s.acquire(x, make(x, "x"), {.lease = 60s});
      BOOST_REQUIRE(!ec);
      s.spawn(y, [lock = make(y, "y")]() -> awaitable<void> {
        auto waiting = acquire(lock, {.lease = 60s});
        auto [why, got] = co_await std::move(waiting);
        BOOST_REQUIRE(!why);
        auto ending = release(got);
        const auto released = co_await std::move(ending);
        BOOST_TEST(!released, released.message());
      });
      s.wait(1s);
      s.w.cluster()->begin_to_move(s.slot, s.other);
      s.spawn(x, [&h = held]() -> awaitable<void> {
        auto ending = release(h);
        const auto released = co_await std::move(ending);
        BOOST_TEST(!released, released.message());
      });
      s.finish();
      BOOST_TEST(!s.has(s.home, s.record));
      BOOST_TEST(!s.has(s.home, s.queue));
      BOOST_TEST(!s.has(s.home, s.entries));
      s.move_key(s.fence);
      s.w.cluster()->end_move(s.slot);
      s.tell_all();
      const auto& first = s.start(x, make(x, "x"), {.lease = 60s});
      s.wait(1s);
      const auto& second = s.start(z, make(z, "z"), {.lease = 60s, .wait = 1s});
      s.finish();
      BOOST_TEST(first.succeeded());
      BOOST_TEST(!second.succeeded());
    }
  };
  check("mutex", [](process& p, const std::string&) { return mutex(p.client(), "n"); });
  check("recursive_mutex",
        [](process& p, const std::string& owner) { return recursive_mutex(p.client(), "n", owner); });
  check("shared_mutex", [](process& p, const std::string&) { return shared_mutex(p.client(), "n"); });
  check("counting_semaphore", [](process& p, const std::string&) { return counting_semaphore(p.client(), "n", 1); });
}

BOOST_AUTO_TEST_CASE(a_waiter_that_gives_up_while_its_slot_moves_leaves_the_queue) {
  cluster_scene s;
  process &x = s.add(), &y = s.add();
  const hold held = take(s, x, {.lease = 30s});
  const auto& waiting = s.start(y, {.lease = 30s, .wait = 1s});
  s.wait(500ms);
  BOOST_TEST(s.has(s.home, s.queue));
  s.w.cluster()->begin_to_move(s.slot, s.other);
  s.move_key(s.entries);
  s.finish();
  BOOST_TEST(waiting.ended.value());
  for (const auto& key : {s.record, s.queue, s.fence}) s.move_key(key);
  BOOST_TEST(s.has(s.other, s.queue));
  s.w.cluster()->end_move(s.slot);
  s.tell_all();
  s.wait(1s);
  BOOST_TEST(!s.has(s.other, s.queue));
  BOOST_TEST(held.valid());
}

// To a node that has slots already, and to one that has none.
BOOST_AUTO_TEST_CASE(a_hold_is_renewed_while_its_slot_moves_key_by_key) {
  for (const bool to_the_spare : {false, true}) {
    cluster_scene s;
    const std::size_t to = to_the_spare ? s.spare : s.other;
    process& x = s.add();
    const hold held = take(s, x, {.lease = 3s});
    s.w.cluster()->begin_to_move(s.slot, to);
    s.wait(5s);
    BOOST_TEST(held.valid());
    s.move_key(s.record);
    s.wait(30s);
    BOOST_TEST(held.valid());
    s.move_key(s.fence);
    s.w.cluster()->end_move(s.slot);
    s.wait(5s);
    s.tell_all();
    s.wait(5s);
    BOOST_TEST(held.valid());
    BOOST_TEST(s.get("n", to).starts_with("leasehold:" + held.token()));
  }
}

BOOST_AUTO_TEST_CASE(a_node_that_a_slot_was_to_be_moved_to_is_left_after_the_move_was_given_up) {
  cluster_scene s;
  process& x = s.add();
  s.wait(15s);  // The client has seen the same slots twice.
  const auto connections = [&s] { return s.w.server(s.spare).connections(); };
  BOOST_TEST(connections() == 0U);
  s.w.cluster()->begin_to_move(s.slot, s.spare);
  const auto& got = s.start(x, {.lease = 3s});
  s.wait(1s);
  BOOST_TEST(connections() == 1U);
  s.w.cluster()->give_up_move(s.slot);
  s.finish();
  BOOST_TEST(got.succeeded());
  s.wait(25s);
  BOOST_TEST(connections() == 0U);
  BOOST_TEST(got.got.valid());
}

// The channel of an election is at the master of its slot.
BOOST_AUTO_TEST_CASE(an_observer_is_told_at_once_before_and_after_the_slot_of_an_election_has_moved) {
  cluster_scene s;
  process &leads = s.add(), &watches = s.add();
  std::string seen;
  clock::time_point at{};
  s.spawn(watches, [&]() -> awaitable<void> {
    leader_observer observer = election(watches.client(), s.record).observe();
    while (seen != "the end") {
      auto [ec, found] = co_await observer.next(as_tuple);
      BOOST_TEST(!ec);
      seen = found ? found->value : "-";
      at = s.w.now();
    }
  });
  s.spawn(leads, [&]() -> awaitable<void> {
    auto campaign = election(leads.client(), s.record).campaign("0", {.lease = 30s});
    leadership led = co_await std::move(campaign)(boost::asio::use_awaitable);
    const auto told_at_once = [&](std::string value) -> awaitable<void> {
      co_await leads.sleep(1s);
      const auto proclaimed = s.w.now();
      co_await led.proclaim(value, boost::asio::use_awaitable);
      co_await leads.sleep(100ms);
      BOOST_TEST(seen == value);
      BOOST_TEST((at - proclaimed < 50ms));
    };
    co_await told_at_once("1");
    s.move_slot();
    co_await leads.sleep(1s);
    co_await told_at_once("2");
    // No look at the nodes shows that it was away.
    s.move_slot_back();
    s.move_slot();
    co_await leads.sleep(1s);
    co_await told_at_once("3");
    BOOST_TEST(led.valid());
    co_await told_at_once("the end");
    co_await led.resign(boost::asio::use_awaitable);
  });
  s.finish();
}

// The script changes a key that it may not make.
BOOST_AUTO_TEST_CASE(a_value_is_withdrawn_at_once_while_the_slot_of_an_election_is_being_moved) {
  cluster_scene s;
  process &leads = s.add(), &watches = s.add();
  std::string seen;
  clock::time_point at{};
  s.spawn(watches, [&]() -> awaitable<void> {
    leader_observer observer = election(watches.client(), s.record).observe();
    while (!seen.ends_with("a-")) {
      auto [ec, found] = co_await observer.next(as_tuple);
      BOOST_TEST(!ec);
      seen += found ? found->value : "-";
      at = s.w.now();
    }
  });
  ticket detached;
  clock::time_point began{};
  s.spawn(leads, [&]() -> awaitable<void> {
    auto campaign = election(leads.client(), s.record).campaign("a", {.lease = 30s});
    leadership led = co_await std::move(campaign)(boost::asio::use_awaitable);
    co_await leads.sleep(1s);
    s.w.cluster()->begin_to_move(s.slot, s.other);
    began = s.w.now();
    detached = co_await led.hold().detach(boost::asio::use_awaitable);
  });
  s.finish();
  BOOST_TEST(seen == "-a-");
  BOOST_TEST((at - began < 50ms));
  BOOST_TEST(s.w.server(s.home).data().execute({"GET", s.value}).text.ends_with(" over"));
  s.w.cluster()->give_up_move(s.slot);
}

// The message of the grant comes from another node than the one that the waiter has joined at, or from the same one,
// which has ended the subscription meanwhile.
BOOST_AUTO_TEST_CASE(a_waiter_is_granted_at_once_after_its_slot_has_moved) {
  for (const bool comes_back : {false, true}) {
    cluster_scene s;
    process &x = s.add(), &y = s.add(), &z = s.add();
    hold held = take(s, x, {.lease = 30s});
    clock::time_point granted{};
    std::string order;
    for (process* const p : {&y, &z}) {
      s.spawn(*p, [&, p]() -> awaitable<void> {
        const mutex m(p->client(), "n");
        auto waiting = acquire(m, {.lease = 30s});
        auto [ec, h] = co_await std::move(waiting);
        BOOST_TEST(!ec);
        order += p->name();
        granted = s.w.now();
        auto releasing = release(h);
        co_await std::move(releasing);
      });
      s.wait(200ms);
    }
    s.move_slot();
    if (comes_back) s.move_slot_back();
    s.wait(2s);
    const auto released = s.w.now();
    release_now(s, x, held);
    BOOST_TEST(order == y.name() + z.name());
    BOOST_TEST((granted - released < 100ms));
  }
}

// The entries' keys have all been moved, and the nodes do not say so for a long time.
BOOST_AUTO_TEST_CASE(waiters_keep_their_order_while_the_end_of_a_move_is_not_told) {
  cluster_scene s;
  process &x = s.add(), &y = s.add(), &z = s.add();
  hold held = take(s, x, {.lease = 1min});
  std::vector<const cluster_scene::attempt*> waiting;
  for (process* const p : {&y, &z}) {
    waiting.push_back(&s.start(*p, {.lease = 300ms, .renew = renewal::none}));
    s.wait(200ms);
  }
  s.w.cluster()->begin_to_move(s.slot, s.other);
  for (const auto& key : {s.record, s.queue, s.entries, s.fence}) s.move_key(key);
  s.wait(15s);
  BOOST_TEST(s.w.server(s.other).data().execute({"ZCARD", s.queue}).integer == 2);
  s.w.cluster()->end_move(s.slot);
  s.tell_all();
  waiting.push_back(&s.start(x, {.lease = 300ms, .renew = renewal::none}));
  s.run(x, release(held));
  s.finish();
  for (const auto* w : waiting) BOOST_REQUIRE(w->succeeded());
  BOOST_TEST((waiting[0]->at < waiting[1]->at && waiting[1]->at < waiting[2]->at));
}

// The same if the waiter's client was redirected before it asked the nodes for their slots.
BOOST_AUTO_TEST_CASE(a_waiter_is_granted_at_once_after_its_client_was_redirected) {
  for (const auto when : {100ms, 250ms, 400ms, 550ms}) {
    cluster_scene s;
    process &x = s.add(), &y = s.add();
    hold held = take(s, x, {.lease = 30s});
    const auto& waiting = s.start(y, {.lease = 30s});
    s.wait(500ms + when);
    s.move_slot();
    const auto& beside = s.start(y, mutex(y.client(), "{n}beside"), {.lease = 1s});
    s.wait(300ms);
    BOOST_TEST(beside.succeeded());
    const auto released = s.w.now();
    s.spawn(x, release(held));
    s.finish();
    BOOST_REQUIRE(waiting.succeeded());
    BOOST_TEST((waiting.at - released < 100ms));
  }
}

// A client that hears of the move before its grant arrives, and has no connection to the slot's node, cannot ask for
// replicas.
BOOST_AUTO_TEST_CASE(a_grant_that_arrives_after_its_slot_has_moved_is_given_back) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    cluster_scene s(seed);
    for (std::size_t i = 0; i < s.w.number_of_servers(); ++i) {
      s.w.server(i).replicas = s.w.server(i).replicas_that_answer = 1;
    }
    process& p = s.add();
    s.wait(15s);
    s.w.fastest = 1ms;
    s.w.slowest = 400ms;
    s.w.server(s.spare).freeze();
    bool has_run = false;
    s.w.server(s.home).on_run = [&](const detail::script&, const auto& arguments, const auto&) {
      if (arguments.front() != "acquire" || std::exchange(has_run, true)) return;
      s.w.after(0ms, [&] { s.move_slot_to_the_spare(); });
    };
    p.cut_connections();
    s.wait(std::chrono::milliseconds(seed % 50));
    const auto& granted = s.start(p, {.lease = 1min, .wait = 2s, .replicas = 1});
    s.finish();
    s.w.fastest = s.w.slowest = 1ms;
    s.w.server(s.spare).thaw();
    if (granted.succeeded()) continue;
    s.wait(10s);
    BOOST_TEST(!s.has(s.spare, s.record), "seed " << seed);
    BOOST_TEST(!s.has(s.home, s.record), "seed " << seed);
  }
}

// A lost hold that lingers has subscribed to the slot, and the program keeps it while the client rests.
BOOST_AUTO_TEST_CASE(a_waiter_is_told_after_its_client_has_rested_with_a_lost_hold) {
  cluster_scene s;
  process &x = s.add({}, 1s), &y = s.add();
  hold held = take(s, x, {.lease = 30s, .linger = 5s});
  s.w.server(s.home).execute({"DEL", "n"});
  for (int i = 0; i < 600 && held.valid(); ++i) s.wait(100ms);
  BOOST_TEST(!held.valid());
  const auto connects = x.client().stats().connects;
  s.wait(10s);
  hold others = take(s, y, {.lease = 30s});
  const auto& next = s.start(x, {.lease = 30s});
  s.wait(3s);
  BOOST_TEST(x.client().stats().connects > connects);
  const auto released = s.w.now();
  s.spawn(y, release(others));
  s.finish();
  BOOST_REQUIRE(next.succeeded());
  BOOST_TEST((next.at - released < 100ms));
  BOOST_TEST(x.client().stats().handed_off == 1U);
}

// The lease of a grant that is pushed is short until it is confirmed.
BOOST_AUTO_TEST_CASE(a_pushed_grant_outlives_a_long_move) {
  cluster_scene s;
  process &x = s.add(), &y = s.add();
  hold held = take(s, x, {.lease = 30s});
  const auto& next = s.start(y, {.lease = 30s});
  s.wait(500ms);
  s.w.server(s.home).on_run = [&](const detail::script&, const auto& arguments, const auto&) {
    if (arguments.front() != "release" || s.w.cluster()->target(s.slot)) return;
    s.w.cluster()->begin_to_move(s.slot, s.other);
    s.move_key(s.fence);
  };
  s.run(x, release(held));
  s.wait(10s);
  BOOST_REQUIRE(next.succeeded());
  BOOST_TEST(next.got.valid());
  BOOST_TEST(s.get("n", s.home).starts_with("leasehold:" + next.got.token()));
}

// The question to the replicas needs all keys of the lock.
BOOST_AUTO_TEST_CASE(a_grant_is_kept_while_its_replicas_cannot_be_asked) {
  cluster_scene s;
  for (std::size_t i = 0; i < s.w.number_of_servers(); ++i) {
    s.w.server(i).replicas = s.w.server(i).replicas_that_answer = 1;
  }
  process &x = s.add(), &y = s.add(), &z = s.add();
  hold held = take(s, x, {.lease = 30s});
  auto& next = s.start(y, {.lease = 30s, .replicas = 1});
  s.wait(500ms);
  const auto& behind = s.start(z, {.lease = 30s, .replicas = 1});
  s.wait(500ms);
  std::string granted;
  s.w.server(s.home).on_run = [&](const detail::script&, const auto& arguments, const auto&) {
    if (arguments.front() != "release" || s.w.cluster()->target(s.slot)) return;
    s.w.after(0ms, [&] {
      granted = s.get("n", s.home);
      s.w.cluster()->begin_to_move(s.slot, s.other);
      s.move_key(s.fence);
    });
  };
  s.spawn(x, release(held));
  s.wait(500ms);
  BOOST_TEST(!next.ended);
  for (const auto& key : {s.record, s.queue, s.entries}) s.move_key(key);
  s.w.cluster()->end_move(s.slot);
  s.tell_all();
  s.wait(3s);
  BOOST_REQUIRE(next.succeeded());
  BOOST_TEST(granted.starts_with("leasehold:" + next.got.token()));
  BOOST_TEST(!behind.ended);
  s.run(y, release(next.got));
}

BOOST_AUTO_TEST_CASE(a_waiter_is_told_after_its_connections_were_cut) {
  cluster_scene s;
  process &x = s.add(), &y = s.add();
  hold held = take(s, x, {.lease = 30s});
  const auto& next = s.start(y, {.lease = 30s});
  s.wait(500ms);
  y.cut_connections();
  s.wait(1s);
  const auto released = s.w.now();
  s.run(x, release(held));
  BOOST_REQUIRE(next.succeeded());
  BOOST_TEST((next.at - released < 100ms));
}

// A client that joins a queue before it listens there would not hear of a grant that comes in between.
BOOST_AUTO_TEST_CASE(a_waiter_joins_where_it_listens_already) {
  cluster_scene s;
  s.w.fastest = s.w.slowest = 10ms;
  process &x = s.add(), &y = s.add();
  hold held = take(s, x, {.lease = 30s});
  std::optional<clock::time_point> released;
  s.w.server(s.home).on_run = [&](const detail::script&, const auto& arguments, const auto&) {
    if (arguments.front() != "acquire" || released) return;
    // It arrives before what the waiter says to the answer.
    released = s.w.now();
    s.spawn(x, release(held));
  };
  const auto& waiting = s.start(y, {.lease = 30s});
  s.finish();
  BOOST_TEST(waiting.succeeded());
  BOOST_TEST((waiting.at - released.value() < 100ms));
}

// The new master does not know the hold, as after a fail-over that has lost it. The next renewal is seconds away.
void lose_the_record(cluster_scene& s) {
  s.w.server(s.home).execute({"DEL", "n"});
  s.move_slot();
}

// The client hears of it, since it listens in the slot.
BOOST_AUTO_TEST_CASE(a_hold_is_asked_for_at_the_master_that_the_nodes_name) {
  cluster_scene s;
  process &x = s.add(), &y = s.add();
  const hold held = take(s, x, {.lease = 30s});
  const std::string beside = "{n}beside";
  const hold others = s.acquire(y, mutex(y.client(), beside), {.lease = 30s}).second;
  s.spawn(x, [&]() -> awaitable<void> {
    const mutex m(x.client(), beside);
    auto waiting = acquire(m, {.lease = 30s, .wait = 3s});
    co_await std::move(waiting);
  });
  s.wait(500ms);
  lose_the_record(s);
  s.wait(200ms);
  BOOST_TEST(!held.valid());
  s.finish();
}

// A long hold alone, which its client listens for: nothing that it asks is redirected before its renewal.
BOOST_AUTO_TEST_CASE(a_hold_is_asked_for_when_the_server_ends_the_subscription_to_its_slot) {
  cluster_scene s;
  process& x = s.add();
  const hold held = take(s, x, {.lease = 30s});
  s.wait(2s);
  lose_the_record(s);
  s.wait(300ms);
  BOOST_TEST(!held.valid());
}

// A call for another lock in the slot is redirected before the nodes are asked.
BOOST_AUTO_TEST_CASE(a_hold_is_asked_for_at_the_master_that_a_redirection_names) {
  cluster_scene s;
  process& x = s.add();
  const hold held = take(s, x, {.lease = 30s});
  lose_the_record(s);
  BOOST_TEST(!s.acquire(x, mutex(x.client(), "{n}beside"), {.lease = 1s}).first);
  s.wait(50ms);
  BOOST_TEST(!held.valid());
}

// Each move is a reason to ask for the hold, and none to renew it.
BOOST_AUTO_TEST_CASE(slots_that_move_use_up_no_renewal) {
  cluster_scene s;
  process& x = s.add();
  const hold held = take(s, x, {.lease = 3s, .renew = renewal::at_most(3)});
  for (int i = 0; i < 5; ++i) {
    i % 2 == 0 ? s.move_slot() : s.move_slot_back();
    s.acquire(x, mutex(x.client(), "{n}beside"), {.lease = 1s});
    s.wait(100ms);
  }
  BOOST_TEST(x.client().stats().renewed == 0U);
  s.wait(5s);
  BOOST_TEST(held.valid());
  BOOST_TEST(x.client().stats().renewed == 3U);
}

// Members' deadlines are absolute, and the key's expiry is carried as what is left.
BOOST_AUTO_TEST_CASE(readers_go_on_after_their_slot_has_moved_to_a_node_an_hour_ahead) {
  cluster_scene s;
  s.w.clock_of_server(s.other).offset += 1h;
  process &x = s.add(), &y = s.add(), &z = s.add();
  std::vector<hold> readers;
  s.wait(200ms);
  for (process* const p : {&x, &y}) {
    auto [ec, h] = s.acquire(*p, shared_mutex(p->client(), "n").shared(), {.lease = 10s});
    BOOST_REQUIRE(!ec);
    readers.push_back(std::move(h));
    s.wait(2s);
  }
  s.move_slot();
  BOOST_TEST(s.acquire(z, shared_mutex(z.client(), "n"), {.lease = 10s, .wait = 20s}).first == error::timed_out);
  for (const auto& h : readers) BOOST_TEST(h.valid());
}

// A master that was cut off from the others says that it has its old slots. Its configuration epoch is smaller.
BOOST_AUTO_TEST_CASE(a_master_that_does_not_know_of_its_replica_gets_no_slots_back) {
  cluster_scene s;
  process &x = s.add(), &y = s.add();
  cluster_events events(s.w, [](const std::string&) {});
  const hold held = take(s, x, {.lease = 30s});
  events.fail_over({s.home, 0s, 100ms, 1s}, [] {});
  s.wait(3s);
  BOOST_TEST(held.valid());
  // The spare is a master now, with an older copy of what it was told last.
  const std::size_t promoted = 2;
  BOOST_TEST(s.w.cluster()->owner(s.slot) == promoted);
  BOOST_TEST(s.get("n", promoted).starts_with("leasehold:" + held.token()));
  BOOST_TEST(s.acquire(y, {.lease = 5s, .wait = 5s}).first == error::timed_out);
  BOOST_TEST(held.valid());
}

// As when it is deleted and created again behind the same names: its configuration epochs begin with 1.
BOOST_AUTO_TEST_CASE(a_cluster_that_was_made_anew_is_followed) {
  cluster_scene s;
  process& x = s.add();
  cluster_events events(s.w, [](const std::string&) {});
  hold held = take(s, x, {.lease = 2s});
  events.fail_over({s.home, 0s, 100ms, 1s}, [] {});
  s.wait(3s);
  BOOST_TEST(held.valid());
  auto& waits = s.start(x, {.lease = 2s});
  for (std::size_t i = 0; i < s.w.number_of_servers(); ++i) s.w.server(i).kill();
  auto& first = s.w.server(0);
  first.join(nullptr);
  detail::memory::cluster anew({&first}, 1);
  first.start({});
  s.wait(5s);
  BOOST_TEST(waits.succeeded());
  BOOST_TEST(s.get("n").starts_with("leasehold:" + waits.got.token()));
}

// As when its nodes are replaced one after another: one of the old cluster still serves while the new one begins. What
// it has is the new cluster's when it is gone, whenever that is.
BOOST_AUTO_TEST_CASE(a_cluster_that_was_made_anew_is_followed_when_the_last_of_the_old_one_is_gone) {
  // The client asks the two in turn, every ten seconds.
  for (const auto later : {0s, 5s, 10s, 15s}) {
    BOOST_TEST_CONTEXT(later.count() << " s later") {
      cluster_scene s;
      process& x = s.add();
      cluster_events events(s.w, [](const std::string&) {});
      std::string name = "n";
      while (s.w.server_of(name) != 1U) name += 'n';
      const hold held = s.acquire(x, mutex(x.client(), name), {.lease = 2s}).second;
      events.fail_over({1, 0s, 100ms, 1s}, [] {});
      s.wait(3s);
      BOOST_TEST(held.valid());
      const std::size_t promoted = s.w.server_of(name);
      BOOST_REQUIRE(promoted == 2U);
      s.w.server(0).kill();
      s.w.server(1).kill();
      auto& first = s.w.server(0);
      first.join(nullptr);
      detail::memory::cluster anew({&first}, 1);
      first.start({});
      s.wait(3s + later);
      BOOST_TEST(held.valid());
      s.w.server(promoted).kill();
      s.wait(3s);
      const auto& waits = s.start(x, mutex(x.client(), name), {.lease = 2s});
      s.wait(5s);
      BOOST_TEST(waits.succeeded());
    }
  }
}

// The client forgets its last failure when a node comes up, and the other one still fails.
BOOST_AUTO_TEST_CASE(the_failure_of_a_node_is_known_again_after_another_was_connected) {
  cluster_scene s;
  process& x = s.add();
  s.w.server(s.other).kill();
  const hold held = take(s, x, {.lease = 30s});
  s.wait(3s);
  const auto failure = x.client().last_failure();
  BOOST_TEST(!failure.empty());
  x.cut_connections();
  s.wait(3s);
  BOOST_TEST(held.valid());
  BOOST_TEST(x.client().last_failure() == failure);
}

// Until it has answered that, the client knows no other node.
BOOST_AUTO_TEST_CASE(a_node_that_is_busy_when_it_is_asked_for_the_slots_is_waited_for) {
  cluster_scene s;
  s.w.fastest = s.w.slowest = 10ms;
  process& x = s.add();
  s.wait(25ms);  // The node is up, and the question is on its way to it.
  s.w.server(0).is_busy = true;
  const auto& got = s.start(x, {.lease = 30s, .wait = 30s});
  s.wait(1s);
  BOOST_TEST(!got.ended);
  s.w.server(0).is_busy = false;
  s.finish();
  BOOST_TEST(got.succeeded());
  BOOST_TEST(x.client().stats().refused == 0U);
}

// The answers of the other node do not say that it is over.
BOOST_AUTO_TEST_CASE(a_node_that_is_busy_is_reported_once_while_another_one_answers) {
  cluster_scene s;
  std::size_t reported = 0;
  client_options o;
  o.observer = [&reported](const event& e) {
    reported += e.what == event::kind::unreachable && e.text.find("BUSY") != e.text.npos ? 1U : 0U;
  };
  process& x = s.add(o);
  std::string elsewhere = "m";
  while (s.w.server_of(elsewhere) != s.other) elsewhere += 'm';
  hold held = take(s, x, {.lease = 30s});
  const hold renewed = s.acquire(x, mutex(x.client(), elsewhere), {.lease = 900ms}).second;
  s.w.server(s.home).is_busy = true;
  s.spawn(x, release(held));
  const auto& beside = s.start(x, mutex(x.client(), "{" + elsewhere + "}beside"), {.lease = 900ms});
  s.wait(5s);
  BOOST_TEST(renewed.valid());
  BOOST_TEST(beside.succeeded());
  BOOST_TEST(x.client().stats().renewed > 10U);
  BOOST_TEST(reported == 1U);
  BOOST_TEST(x.client().last_failure().starts_with("BUSY"));
  s.w.server(s.home).is_busy = false;
  s.finish();
  BOOST_TEST(!s.has(s.home, s.record));
}

namespace {

// Two nodes as they see themselves.
struct layout {
  bool moved = false;       // "n" has moved from its node to the other one,
  bool told = true;         // and CLUSTER NODES says so.
  bool failed = false;      // CLUSTER NODES says that the second of them has failed.
  std::size_t refused = 0;  // Requests.
};

// One of them. Its redirections have the host's name (cluster-preferred-endpoint-type), without TLS.
class named_node final : public detail::memory::slots_of_node {
 public:
  named_node(std::size_t number, layout& l) : number_(number), layout_(l) {}

  std::optional<detail::memory::reply> refuses(detail::memory::scripting::strings keys, bool, bool) override {
    if (keys.empty()) return std::nullopt;
    const auto slot = detail::slot_of(keys.front());
    const auto its = owner(slot, layout_.moved);
    if (its == number_) return std::nullopt;
    ++layout_.refused;
    return detail::memory::error(fmt::format("MOVED {} host{}:1", slot, its));
  }
  bool is_in_motion(std::string_view) const override { return false; }
  bool are_local(detail::memory::scripting::strings) override { return true; }
  void publish_elsewhere(std::string_view, std::string_view) override {}
  std::string nodes() const override {
    const auto slot = detail::slot_of("n");
    const bool moved = layout_.moved && layout_.told;
    std::string text;
    for (std::size_t i = 0; i < 2; ++i) {
      const bool has_more = moved && owner(slot, moved) == i;
      text += fmt::format("{:040x} s{}:1@1,host{} {}master{} - 0 0 {} connected {}{}\n", i + 1, i, i,
                          i == number_ ? "myself," : "", layout_.failed && i == 1 ? ",fail" : "", has_more ? 3 : i + 1,
                          i == 0 ? "0-8191" : "8192-16383", has_more ? fmt::format(" {}", slot) : "");
    }
    return text;
  }

 private:
  static std::size_t owner(std::uint16_t slot, bool moved) {
    const std::size_t first = slot < 8192 ? 0 : 1;
    return moved && slot == detail::slot_of("n") ? 1 - first : first;
  }

  const std::size_t number_;
  layout& layout_;
};

struct named_scene : cluster_scene {
  named_scene() {
    w.server(0).join(&first);
    w.server(1).join(&second);
    for (const std::size_t i : {0U, 1U}) w.add(fmt::format("host{}", i), w.at_name(fmt::format("s{}", i)));
    while ((detail::slot_of(beside) < 8192 ? 0U : 1U) != other) beside += 'm';
  }
  layout now;
  named_node first{0, now}, second{1, now};
  std::string beside = "m";  // At the other node.
};

}  // namespace

// The client knows the node by its address, and the redirection names it otherwise.
BOOST_AUTO_TEST_CASE(a_redirection_to_a_hosts_name_makes_no_second_connection) {
  named_scene s;
  process& x = s.add();
  s.wait(1s);
  const auto before = x.connections_so_far();
  BOOST_TEST(before == 2U);
  s.now.moved = true;
  const auto& got = s.start(x, {.lease = 30s});
  s.finish();
  BOOST_TEST(got.succeeded());
  s.wait(1s);
  BOOST_TEST(s.has(s.other, "n"));
  BOOST_TEST(x.connections_so_far() == before);
}

// The node that was asked for the slots lags behind, with the same epoch.
BOOST_AUTO_TEST_CASE(what_a_redirection_says_counts_until_a_later_epoch_is_named) {
  named_scene s;
  process& x = s.add();
  s.wait(1s);
  s.now = {.moved = true, .told = false};
  const auto& got = s.start(x, {.lease = 3s});
  s.wait(30s);
  BOOST_REQUIRE(got.succeeded());
  BOOST_TEST(got.got.valid());
  BOOST_TEST(s.now.refused == 1U);
  s.now.told = true;
  s.wait(15s);
  BOOST_TEST(got.got.valid());
}

// An older layout was restored behind the same addresses: its epochs are smaller than those that the client knows.
BOOST_AUTO_TEST_CASE(a_node_that_refuses_a_subscription_serves_its_other_slots) {
  named_scene s;
  process &x = s.add(), &y = s.add();
  s.now.moved = true;
  const hold held = take(s, x, {.lease = 30s});
  const auto& waits = s.start(y, {.lease = 1s, .wait = 1min});
  s.wait(1s);
  BOOST_TEST(!waits.ended);
  s.now.moved = false;
  y.cut_connections();
  const auto& elsewhere = s.start(y, mutex(y.client(), s.beside), {.lease = 1s, .wait = 30s});
  s.wait(5s);
  BOOST_TEST(elsewhere.succeeded());
  BOOST_TEST(waits.succeeded());
}

// No node has the slot, and each attempt to subscribe costs the connection.
BOOST_AUTO_TEST_CASE(a_subscription_that_was_refused_is_not_asked_for_at_each_connection) {
  cluster_scene s;
  process &x = s.add(), &y = s.add();
  hold held = take(s, x, {.lease = 1min});
  const auto& waits = s.start(y, {.lease = 1s, .wait = 1min});
  s.wait(1s);
  s.w.cluster()->is_down = true;
  y.cut_connections();
  s.wait(5s);
  const auto before = y.connections_so_far();
  s.wait(20s);
  BOOST_TEST(y.connections_so_far() - before < 5U);
  s.w.cluster()->is_down = false;
  s.wait(11s);
  const auto released = s.w.now();
  s.run(x, release(held));
  s.finish();
  BOOST_REQUIRE(waits.succeeded());
  BOOST_TEST((waits.at - released < 100ms));
}

// Its URL names one node, which had all slots, and loses one in which the client listens.
BOOST_AUTO_TEST_CASE(a_client_of_one_address_goes_on_in_the_slots_that_its_server_still_has) {
  scene s(2);
  s.w.make_cluster(1);
  const auto slot = detail::slot_of("n");
  process& p = s.add();
  s.run(p, [&]() -> awaitable<void> {
    client c(p.executor(), "memory:s0?keys=tagged");
    const mutex n(c, "n"), elsewhere(c, "m");
    auto taking = acquire(n, {.lease = 5s, .wait = 5s});
    auto [failed, held] = co_await std::move(taking);
    BOOST_TEST(!failed);
    auto listening = p.sleep(2s);
    co_await std::move(listening);
    s.w.cluster()->begin_to_move(slot, 1);
    for (const auto& key : s.w.server(0).data().keys()) {
      if (detail::slot_of(key) == slot) s.w.cluster()->move_key(slot, key);
    }
    s.w.cluster()->end_move(slot);
    auto losing = p.sleep(2s);
    co_await std::move(losing);
    auto going_on = acquire(elsewhere, {.lease = 5s, .wait = 5s});
    auto [ec, other] = co_await std::move(going_on);
    BOOST_TEST(!ec);
    BOOST_TEST(c.stats().reconnects <= 2U);
    auto closing = c.close(as_tuple);
    co_await std::move(closing);
  });
}

// It has failed before the client began, so that the client never knew it.
BOOST_AUTO_TEST_CASE(a_list_is_not_given_without_the_locks_of_a_node_that_has_failed) {
  named_scene s;
  s.now.failed = true;
  s.w.server(1).kill();
  s.w.server(s.spare).kill();  // It would tell another layout.
  client_options o = with_timeout(500ms);
  process& x = s.add(o);
  s.wait(3s);
  error_code ec;
  s.run(x, [&]() -> awaitable<void> {
    auto listing = list(x.client(), as_tuple);
    auto [e, all] = co_await std::move(listing);
    ec = e;
  });
  BOOST_TEST(ec == error::unreachable);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
