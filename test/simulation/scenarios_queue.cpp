// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Waiting for a lock, in virtual time: the order of the queue, and what must not hold it up. What is promised is in
// docs/guarantees.md.
#include "lock/hold_state.hpp"
#include "simulation/scene.hpp"

#include "support/unit_test.hpp"

#include <leasehold/counting_semaphore.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/recursive_mutex.hpp>
#include <leasehold/shared_mutex.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(scenarios)

// --- For how long ---

// The answer to the attempt comes when only the second waiter is there: if its program died, others would be kept out
// for the lease of the first.
BOOST_AUTO_TEST_CASE(a_waiter_has_its_own_lease_and_not_that_of_one_that_has_left) {
  for (const std::uint32_t replicas : {0U, 1U}) {
    scene s;
    s.w.server(0).replicas = s.w.server(0).replicas_that_answer = 1;
    s.w.fastest = s.w.slowest = 20ms;
    process& p = s.add();
    s.wait(200ms);
    auto& first = s.start(p, {.lease = 60s, .wait = replicas == 0 ? 10ms : 50ms, .replicas = replicas});
    auto& second = s.start(p, {.lease = 2s, .renew = renewal::none, .replicas = replicas});
    s.finish();
    BOOST_TEST(!first.succeeded());
    BOOST_REQUIRE(second.succeeded());
    BOOST_TEST(s.w.server(0).data().execute({"PTTL", "n"}).integer <= 2000);
    BOOST_TEST((detail::access::state(second.got)->deadline() <= p.now() + 2s));
  }
}

// --- In which order ---

// First come, first served.
BOOST_AUTO_TEST_CASE(clients_are_served_in_the_order_in_which_the_server_has_heard_them) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    scene s(1, seed);
    std::vector<process*> all;
    for (int i = 0; i < 6; ++i) all.push_back(&s.add());
    std::vector<int> order;
    for (int i = 0; i < 6; ++i) {
      process& p = *all[static_cast<std::size_t>(i)];
      s.spawn(p, [&order, &p, i]() -> awaitable<void> {
        const mutex m(p.client(), "n");
        auto waiting = acquire(m, {.lease = 10s});
        auto [ec, h] = co_await std::move(waiting);
        BOOST_REQUIRE(!ec);
        order.push_back(i);
        auto pause = p.sleep(50ms);
        co_await std::move(pause);
      });
      s.wait(10ms);
    }
    s.finish();
    const std::vector<int> expected{0, 1, 2, 3, 4, 5};
    BOOST_TEST(order == expected, boost::test_tools::per_element());
  }
}

// The time in which the server stood still is not a waiter's silence.
void try_to_overtake_while_the_server_stands(clock::duration how_long) {
  scene s;
  s.w.fastest = s.w.slowest = 100us;
  process &holder = s.add(), &waits = s.add(), &newcomer = s.add();
  std::vector<std::string> order;
  hold held = take_at_once(s, holder, {.lease = 60s});
  s.spawn(waits, [&]() -> awaitable<void> {
    const mutex m(waits.client(), "n");
    auto waiting = acquire(m, {.lease = 60s});
    auto [ec, h] = co_await std::move(waiting);
    order.push_back(ec ? ec.message() : "the one that waited");
  });
  s.wait(300ms);
  s.w.server(0).freeze();
  s.spawn(holder, release(held));
  s.wait(1ms);
  s.spawn(newcomer, [&]() -> awaitable<void> {
    const mutex m(newcomer.client(), "n");
    auto waiting = m.try_acquire({.lease = 60s, .wait = 30s}, as_tuple);
    auto [ec, h] = co_await std::move(waiting);
    if (h) order.emplace_back("the newcomer");
  });
  // The waiter's poll arrives in time, and behind the two.
  s.wait(how_long);
  s.w.server(0).thaw();
  s.finish();
  BOOST_TEST(order.size() >= 1U);
  BOOST_TEST(order.front() == "the one that waited");
}

BOOST_AUTO_TEST_CASE(a2_no_newcomer_overtakes_while_a_server_stands_still) {
  for (const auto how_long : {200ms, 1000ms, 1500ms}) try_to_overtake_while_the_server_stands(how_long);
}

BOOST_AUTO_TEST_CASE(a9_a_smaller_limit_is_not_granted_while_others_wait_with_a_larger_one) {
  scene s;
  process &one = s.add(), &two = s.add();
  std::vector<hold> held;
  for (int i = 0; i < 5; ++i) {
    auto [ec, h] = s.acquire(one, counting_semaphore(one.client(), "n", 5), {.lease = 1s, .renew = renewal::none});
    BOOST_REQUIRE(!ec);
    held.push_back(std::move(h));
  }
  // A waiter stands still while the holds end.
  process& waits = s.add();
  const auto& of_five = s.start(waits, counting_semaphore(waits.client(), "n", 5), {.lease = 5s});
  s.wait(500ms);
  waits.freeze();
  s.wait(1s);
  s.run(two, [&]() -> awaitable<void> {
    const counting_semaphore single(two.client(), "n", 1);
    auto waiting = acquire(single, {.lease = 1s, .wait = 100ms});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST((ec == error::wrong_limit || ec == error::timed_out));
    waits.thaw();
  });
  BOOST_TEST(of_five.succeeded());
}

// The record has gone, and a queue of another kind is there.
BOOST_AUTO_TEST_CASE(a_queue_of_another_kind_is_not_passed) {
  scene s;
  process &holder = s.add(), &waits = s.add(), &other = s.add();
  const hold held = take_at_once(s, holder, {.lease = 60s});
  const auto& waiting = s.start(waits, {.lease = 60s});
  s.wait(50ms);
  s.w.server(0).data().execute({"DEL", "n"});
  const recursive_mutex of_another_kind(other.client(), "n", "owner");
  BOOST_TEST(s.acquire(other, of_another_kind, {.lease = 60s, .wait = 100ms}).first == error::wrong_type);
  BOOST_TEST(waiting.succeeded());
}

// --- Handing over ---

// A release hands the lock to the next in the queue, whose client is told so at once.
template <class Make>
void hand_over_along_the_queue(Make make) {
  scene s;
  std::optional<clock::time_point> released;
  for (int i = 0; i < 5; ++i) {
    process& p = s.add();
    s.spawn(p, [&s, &released, &p, make]() -> awaitable<void> {
      const auto lock = make(p);
      auto waiting = acquire(lock, {.lease = 10s});
      auto [ec, h] = co_await std::move(waiting);
      BOOST_REQUIRE(!ec);
      if (released) BOOST_TEST((s.w.now() - *released < 10ms));
      auto pause = p.sleep(3s);
      co_await std::move(pause);
      BOOST_TEST(h.valid());
      released = s.w.now();
      auto ending = release(h);
      const auto why = co_await std::move(ending);
      BOOST_TEST(!why);
    });
    s.wait(20ms);
  }
  s.finish();
}

BOOST_AUTO_TEST_CASE(a_lock_is_handed_over_without_a_gap) {
  hand_over_along_the_queue([](process& p) { return mutex(p.client(), "n"); });
  hand_over_along_the_queue([](process& p) { return recursive_mutex(p.client(), "n", p.name()); });
  hand_over_along_the_queue([](process& p) { return shared_mutex(p.client(), "n"); });
  hand_over_along_the_queue([](process& p) { return counting_semaphore(p.client(), "n", 1); });
}

// What was pushed while a waiter had no connection is found out as soon as it has one, and not at its next poll.
BOOST_AUTO_TEST_CASE(a_waiter_asks_at_once_after_a_reconnect) {
  scene s;
  process &holder = s.add(), &waits = s.add();
  hold held = take_at_once(s, holder, {.lease = 60s});
  const auto& granted = s.start(waits, {.lease = 60s});
  s.wait(50ms);
  waits.cut_connections();
  const auto released = s.w.now();
  s.spawn(holder, release(held));
  s.finish();
  BOOST_REQUIRE(granted.succeeded());
  BOOST_TEST((granted.at - released < 200ms));
}

// The same if the server could not answer its last poll, and it pauses for longer than that takes.
BOOST_AUTO_TEST_CASE(a_waiter_that_pauses_asks_at_once_after_a_reconnect) {
  scene s;
  process &holder = s.add(), &waits = s.add();
  hold held = take_at_once(s, holder, {.lease = 60s});
  const auto& granted =
      s.start(waits, {.lease = 60s, .retry = {.first = 10s, .max = 10s, .factor = 1.0, .jitter = 0.0}});
  s.wait(50ms);
  s.w.server(0).is_busy = true;
  s.wait(1s);
  s.w.server(0).is_busy = false;
  waits.cut_connections();
  const auto released = s.w.now();
  s.spawn(holder, release(held));
  s.finish();
  BOOST_REQUIRE(granted.succeeded());
  BOOST_TEST((granted.at - released < 200ms));
}

// Each entry has a token of its own, so that a grant that arrives late is not taken for the next one.
BOOST_AUTO_TEST_CASE(a_grant_that_was_published_before_is_not_taken_for_a_later_one) {
  scene s;
  process &a = s.add(), &b = s.add();
  std::vector<std::string> tokens;
  for (int i = 0; i < 5; ++i) {
    for (process* const p : {&a, &b}) {
      s.spawn(*p, [&tokens, p]() -> awaitable<void> {
        const mutex m(p->client(), "n");
        auto waiting = acquire(m, {.lease = 10s});
        auto [ec, h] = co_await std::move(waiting);
        BOOST_REQUIRE(!ec);
        tokens.push_back(h.token());
        auto pause = p->sleep(20ms);
        co_await std::move(pause);
      });
    }
    s.finish();
  }
  std::sort(tokens.begin(), tokens.end());
  BOOST_TEST((std::adjacent_find(tokens.begin(), tokens.end()) == tokens.end()));
}

// The client keeps the lock for a waiter of its own, which has gone when the server has answered.
BOOST_AUTO_TEST_CASE(a_lock_that_was_kept_for_a_waiter_that_has_gone_is_released) {
  scene s;
  s.w.fastest = s.w.slowest = 10ms;
  process& p = s.add();
  const mutex m(p.client(), "n");
  s.spawn(p, [&]() -> awaitable<void> {
    auto waiting = acquire(m, {.lease = 20s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    auto pause = p.sleep(200ms);
    co_await std::move(pause);
    auto ending = release(h);
    const auto why = co_await std::move(ending);
    BOOST_TEST(!why);
  });
  s.wait(100ms);
  s.spawn(p, [&]() -> awaitable<void> {
    auto pause = p.sleep(100ms);
    co_await std::move(pause);
    auto waiting = acquire(m, {.lease = 20s, .wait = 70ms});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(ec == error::timed_out);
  });
  bool was_kept = false;
  s.w.server(0).on_run = [&](const auto&, const auto& arguments, const auto& r) {
    was_kept = was_kept || (arguments[0] == "release" && arguments.size() > 3 && r.text.starts_with("1 "));
  };
  s.finish();
  s.wait(100ms);
  BOOST_TEST(was_kept);
  BOOST_TEST(s.get("n").empty());
}

// The client keeps the lock for a waiter of its own. When the server has answered, another one is in front, which asks
// for more than was kept.
scene::attempt& keep_for_another(scene& s, process& p, acquire_options o) {
  s.w.fastest = s.w.slowest = 10ms;
  hold held = take(s, p, {.lease = 20s, .renew = renewal::none});
  // The hold is no longer passed on within the client.
  s.wait(100ms);
  const auto& first = s.start(p, {.lease = 20s, .wait = 100ms, .renew = renewal::none});
  auto& next = s.start(p, o);
  s.wait(90ms);
  bool was_kept = false;
  s.w.server(0).on_run = [&](const auto&, const auto& arguments, const auto& r) {
    was_kept = was_kept || (arguments[0] == "release" && arguments.size() > 3 && r.text.starts_with("1 "));
  };
  release_now(s, p, held);
  s.finish();
  s.w.server(0).on_run = nullptr;
  BOOST_TEST(was_kept);
  BOOST_TEST(first.ended.value() == error::timed_out);
  return next;
}

// The server is busy with a script when it is asked whether a replica has the grant, and has done nothing.
BOOST_AUTO_TEST_CASE(a_refused_question_for_replicas_costs_no_place_in_the_queue) {
  scene s;
  s.w.fastest = s.w.slowest = 1ms;
  s.w.server(0).replicas = s.w.server(0).replicas_that_answer = 1;
  process &p = s.add(), &one = s.add(), &two = s.add();
  hold held = take(s, p, {.lease = 30s});
  auto& first = s.start(one, {.lease = 30s, .replicas = 1});
  s.wait(10ms);
  auto& second = s.start(two, {.lease = 30s});
  s.wait(10ms);
  s.w.server(0).on_run = [&s](const detail::script&, const auto& arguments, const auto&) {
    if (arguments.front() != "release") return;
    s.w.after(0s, [&s] { s.w.server(0).is_busy = true; });
    s.w.after(20ms, [&s] { s.w.server(0).is_busy = false; });
  };
  s.spawn(p, release(held));
  s.wait(500ms);
  BOOST_TEST(first.succeeded());
  BOOST_TEST(!second.ended);
}

// Then the waiter gives up: what was granted is released.
BOOST_AUTO_TEST_CASE(a_grant_whose_question_for_replicas_is_refused_to_the_end_is_released) {
  for (auto wait = 200ms; wait < 400ms; wait += 7ms) {
    scene s;
    s.w.fastest = s.w.slowest = 1ms;
    s.w.server(0).replicas = s.w.server(0).replicas_that_answer = 1;
    process& p = s.add();
    s.w.server(0).on_run = [&s](const detail::script&, const auto& arguments, const auto& r) {
      if (arguments.front() != "acquire" || r.is_error()) return;
      s.w.after(0s, [&s] { s.w.server(0).is_busy = true; });
      s.w.after(3s, [&s] { s.w.server(0).is_busy = false; });
    };
    BOOST_TEST(s.acquire(p, {.lease = 60s, .wait = wait, .replicas = 1}).first);
    s.wait(5s);
    BOOST_TEST(s.get("n").empty());
  }
}

BOOST_AUTO_TEST_CASE(a_lock_that_was_kept_is_not_granted_without_replicas) {
  scene s;
  s.w.server(0).replicas = 1;
  s.w.server(0).replicas_that_answer = 0;
  process& p = s.add(with_timeout(300ms));
  const auto& next = keep_for_another(s, p, {.lease = 20s, .wait = 2s, .renew = renewal::none, .replicas = 1});
  BOOST_TEST(next.ended.value() == error::no_quorum);
}

BOOST_AUTO_TEST_CASE(a_lock_that_was_kept_is_not_granted_for_less_than_was_asked_for) {
  scene s;
  process& p = s.add();
  const auto& next = keep_for_another(s, p, {.lease = 60s, .renew = renewal::none});
  BOOST_REQUIRE(next.succeeded());
  s.wait(100ms);  // A grant that is pushed is confirmed then.
  BOOST_TEST((detail::access::state(next.got)->deadline() - next.at > 58s));
}

// --- What is left of those that have gone ---

// A dead holder's lease ends by itself, and the waiter is granted the lock.
BOOST_AUTO_TEST_CASE(a_dead_holder_blocks_for_no_longer_than_its_lease) {
  scene s;
  process &p = s.add(), &other = s.add();
  // It is not released: the process dies with it.
  const hold left = take_at_once(s, p, {.lease = 2s});
  p.die();
  const auto died = s.w.now();
  BOOST_TEST(!s.acquire(other, {.lease = 2s}).first);
  BOOST_TEST((s.w.now() - died < 2100ms));
}

BOOST_AUTO_TEST_CASE(a6_a_queue_without_entries_does_not_block) {
  scene s;
  s.w.server(0).data().execute({"ZADD", the_queue, "1", "token"});
  process& p = s.add();
  BOOST_TEST(!s.acquire(p, {.lease = 3s, .wait = 2s}).first);
}

BOOST_AUTO_TEST_CASE(a8_dead_waiters_behind_a_clock_that_was_set_back_do_not_block_for_ever) {
  scene s;
  process &holder = s.add(), &alive = s.add();
  hold held = take_at_once(s, holder, {.lease = 120s});
  std::vector<process*> dying;
  for (int i = 0; i < 10; ++i) {
    process& p = s.add();
    dying.push_back(&p);
    boost::asio::co_spawn(
        p.executor(),
        [&p]() -> awaitable<void> {
          const mutex m(p.client(), "n");
          auto waiting = acquire(m, {.lease = 60s});
          co_await std::move(waiting);
        },
        boost::asio::detached);
  }
  s.wait(1s);
  for (process* const p : dying) p->die();
  s.w.clock_of_server(0).offset -= 1h;
  const auto& granted = s.start(alive, {.lease = 60s});
  s.wait(1s);
  const auto released = s.w.now();
  s.spawn(holder, release(held));
  s.finish();
  BOOST_REQUIRE(granted.succeeded());
  BOOST_TEST((granted.at - released < 10s));
}

// An entry stays in the queue for longer than a lease, and a grant that it gets would be nobody's.
BOOST_AUTO_TEST_CASE(an_entry_is_given_back_after_an_absence_that_was_longer_than_its_lease) {
  for (const auto absence : {3s, 15s}) {
    scene s;
    process &holder = s.add(), &waits = s.add(with_timeout(200ms));
    s.spawn(holder, [&]() -> awaitable<void> {
      const mutex m(holder.client(), "n");
      auto waiting = acquire(m, {.lease = 30s});
      auto [ec, h] = co_await std::move(waiting);
      BOOST_REQUIRE(!ec);
      auto pause = holder.sleep(25s);
      co_await std::move(pause);
    });
    s.wait(100ms);
    const auto& waiting = s.start(waits, {.lease = 300ms, .wait = 1s});
    s.wait(100ms);
    BOOST_TEST(s.w.server(0).data().execute({"ZCARD", the_queue}).integer == 1);
    auto data = s.w.server(0).data();
    s.w.server(0).kill();
    s.wait(absence);
    s.w.server(0).start(std::move(data));
    s.wait(4s);
    BOOST_TEST(s.w.server(0).data().execute({"ZCARD", the_queue}).integer == 0);
    s.finish();
    BOOST_TEST(waiting.ended.value() == error::unreachable);
  }
}

// --- The channels of a cluster's slots ---

struct scene_with_slots : scene {
  scene_with_slots() : scene(3) { w.make_cluster(2); }
  // "n" is held. Whether the first attempt joins its queue: if the client listens in the slot already.
  bool joins_at_once(process& p) {
    std::optional<bool> joins;
    auto& server = w.server(w.server_of("n"));
    server.on_run = [&joins](const detail::script&, const auto& arguments, const auto&) {
      if (arguments.front() == "acquire" && !joins) joins = !arguments.at(4).empty();
    };
    BOOST_TEST(acquire(p, {.lease = 30s, .wait = 100ms}).first == error::timed_out);
    server.on_run = nullptr;
    return joins.value();
  }
  // Each in a slot of its own, and more than the slots in which an idle client stays subscribed.
  static std::vector<std::string> other_names() {
    std::vector<std::string> all;
    for (int i = 0; i < 70; ++i) all.push_back(fmt::format("m{}", i));
    return all;
  }
};

BOOST_AUTO_TEST_CASE(a_waiter_that_comes_back_to_a_slot_that_its_client_has_left_listens_before_it_joins) {
  scene_with_slots s;
  process &x = s.add(), &y = s.add();
  const hold held = take(s, x, {.lease = 30s});
  BOOST_TEST(!s.joins_at_once(y));
  BOOST_TEST(s.joins_at_once(y));
  std::vector<hold> others;
  for (const auto& name : scene_with_slots::other_names()) {
    others.push_back(s.acquire(x, mutex(x.client(), name), {.lease = 30s}).second);
    BOOST_TEST(s.acquire(y, mutex(y.client(), name), {.lease = 30s, .wait = 100ms}).first == error::timed_out);
  }
  BOOST_TEST(!s.joins_at_once(y));
}

BOOST_AUTO_TEST_CASE(a_client_leaves_the_slots_in_which_its_locks_have_lingered) {
  scene_with_slots s;
  process &x = s.add(), &y = s.add();
  s.wait(200ms);
  const auto lingers = [&](const std::string& name) {
    auto [ec, h] = s.acquire(y, mutex(y.client(), name), {.lease = 30s, .linger = 50ms});
    BOOST_TEST(!ec);
    s.wait(50ms);
    release_now(s, y, h);
    s.wait(100ms);
  };
  lingers("n");
  const hold held = take_at_once(s, x, {.lease = 120s});
  BOOST_TEST(s.joins_at_once(y));
  for (const auto& name : scene_with_slots::other_names()) lingers(name);
  BOOST_TEST(!s.joins_at_once(y));
}

BOOST_AUTO_TEST_CASE(a_client_leaves_the_slots_in_which_its_holders_have_waited_for_others) {
  scene_with_slots s;
  process &x = s.add(), &y = s.add();
  s.wait(200ms);
  const auto watches = [&](const std::string& name) {
    hold h = s.acquire(y, mutex(y.client(), name), {.lease = 30s}).second;
    s.spawn(y, [&h]() -> awaitable<void> {
      auto waiting = h.wanted(as_tuple);
      const auto [ec] = co_await std::move(waiting);
      BOOST_TEST(ec == error::not_held);
    });
    s.wait(50ms);
    release_now(s, y, h);
    s.wait(100ms);
  };
  watches("n");
  const hold held = take_at_once(s, x, {.lease = 120s});
  BOOST_TEST(s.joins_at_once(y));
  for (const auto& name : scene_with_slots::other_names()) watches(name);
  BOOST_TEST(!s.joins_at_once(y));
}

// --- Clients of a cluster that were idle ---

// "foo" is at the second node, the URL names the first.
BOOST_AUTO_TEST_CASE(a_client_that_has_rested_finds_the_nodes_that_its_url_does_not_name) {
  scene s(3);
  s.w.make_cluster(2);
  client_options o;
  o.idle_timeout = 20ms;
  process p(s.w, "p", skewed_clock{}, std::move(o));
  const mutex m(p.client(), "foo");
  auto [ec, held] = s.acquire(p, m, {.lease = 1s});
  BOOST_REQUIRE(!ec);
  release_now(s, p, held);
  s.wait(1s);
  for (std::size_t i = 0; i < s.w.number_of_servers(); ++i) BOOST_TEST(s.w.server(i).connections() == 0U);
  s.w.server(0).kill();
  BOOST_TEST(!s.acquire(p, m, {.lease = 1s, .wait = 5s}).first);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
