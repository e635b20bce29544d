// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// hold::wanted in virtual time: who notices that another client waits for a lock, and when.
#include "simulation/scene.hpp"

#include <leasehold/admin.hpp>
#include <leasehold/counting_semaphore.hpp>
#include <leasehold/election.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/recursive_mutex.hpp>
#include <leasehold/shared_mutex.hpp>
#include <leasehold/ticket.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(scenarios)

// Each message takes a millisecond.
struct wanted_scene : scene {
  explicit wanted_scene(std::size_t servers = 1) : scene(servers) { w.fastest = w.slowest = 1ms; }

  struct wait_for_others {
    std::optional<error_code> ended;
    clock::time_point at;
  };
  // The result lives as long as the scene.
  wait_for_others& watch(process& p, hold& h) {
    auto& one = *waits_.emplace_back(std::make_unique<wait_for_others>());
    spawn(p, [this, &one, &h]() -> awaitable<void> {
      auto waiting = h.wanted(as_tuple);
      const auto [ec] = co_await std::move(waiting);
      one.at = w.now();
      one.ended = ec;
    });
    return one;
  }

  // Another client joins the queue, and the holder, which was not told so far, is told at once.
  void join(process& other, const wait_for_others& told) {
    BOOST_TEST(!told.ended);
    const auto joined = w.now();
    start(other, {.lease = 30s});
    wait(10ms);
    BOOST_REQUIRE(told.ended.has_value());
    BOOST_TEST(!*told.ended);
    BOOST_TEST((told.at - joined <= 2ms));
  }

 private:
  std::vector<std::unique_ptr<wait_for_others>> waits_;
};

// It is not renewed, and its lease would end much later.
BOOST_AUTO_TEST_CASE(a_holder_that_waits_for_others_is_told_when_its_record_is_gone) {
  for (const bool overwritten : {false, true}) {
    wanted_scene s;
    process& p = s.add();
    hold h = take(s, p, {.lease = 10min, .renew = renewal::none});
    const auto& told = s.watch(p, h);
    s.wait(1s);
    s.w.server(0).execute({"DEL", "n"});
    if (overwritten) s.w.server(0).execute({"HSET", "n", "another program's", "1"});
    s.wait(6s);
    BOOST_TEST(!h.valid());
    BOOST_TEST((told.ended == error::lost));
  }
}

BOOST_AUTO_TEST_CASE(a_holder_is_told_when_another_client_joins_the_queue) {
  wanted_scene s;
  std::vector<event::kind> events;
  std::string token;
  client_options o;
  o.classify = [](std::string_view) { return "letters"; };
  o.observer = [&](const event& e) {
    events.push_back(e.what);
    if (e.what != event::kind::wanted) return;
    BOOST_TEST(e.name == "n");
    BOOST_TEST(e.label == "letters");
    token = e.token;
  };
  process &p = s.add(o), &other = s.add();
  hold h = take(s, p, {.lease = 30s});
  const auto& told = s.watch(p, h);
  s.wait(1s);
  s.join(other, told);
  BOOST_TEST(p.client().stats().wanted == 1U);
  BOOST_TEST(token == h.token());
  // It goes on waiting, and the event is not repeated.
  s.wait(5s);
  BOOST_TEST(std::count(events.begin(), events.end(), event::kind::wanted) == 1);
  BOOST_TEST(h.valid());
  // Whoever asks now hears it soon.
  const auto& again = s.watch(p, h);
  s.wait(3ms);
  BOOST_TEST((again.ended && !*again.ended));
  BOOST_TEST(p.client().stats().wanted == 1U);
  BOOST_TEST(std::count(events.begin(), events.end(), event::kind::wanted) == 1);
}

BOOST_AUTO_TEST_CASE(a_holder_is_told_at_once_of_a_client_that_waits_already) {
  wanted_scene s;
  process &p = s.add(), &other = s.add();
  hold h = take(s, p, {.lease = 30s});
  s.start(other, {.lease = 30s});
  s.wait(1s);
  const auto asked = s.w.now();
  const auto& told = s.watch(p, h);
  s.wait(10ms);
  BOOST_REQUIRE(told.ended.has_value());
  BOOST_TEST(!*told.ended);
  BOOST_TEST((told.at - asked <= 4ms));  // The script is sent with its text the first time.
}

BOOST_AUTO_TEST_CASE(waiters_of_the_same_client_are_no_other_client) {
  wanted_scene s;
  process &p = s.add(), &other = s.add();
  hold h = take(s, p, {.lease = 30s});
  const auto& told = s.watch(p, h);
  s.start(p, {.lease = 30s});
  s.wait(2s);
  // Another client behind it is one.
  s.join(other, told);
}

BOOST_AUTO_TEST_CASE(a_holder_whose_question_is_refused_is_told_so) {
  wanted_scene s;
  process& p = s.add();
  hold h = take(s, p, {.lease = 30s});
  s.w.server(0).data().set_refusal_of_writes("NOPERM this user has no permissions to run the command");
  const auto& told = s.watch(p, h);
  s.wait(50ms);
  BOOST_TEST((told.ended && *told.ended == error::refused));
  BOOST_TEST(p.client().stats().refused == 1U);
  BOOST_TEST(p.client().last_refusal().starts_with("NOPERM"));
  BOOST_TEST(h.valid());
}

// Those are in front of it in the queue: a client has one entry for the mutex, and one for the election of its name.
BOOST_AUTO_TEST_CASE(a_holder_is_told_of_a_client_behind_two_entries_of_its_own) {
  wanted_scene s;
  process &p = s.add(), &other = s.add();
  hold h = take(s, p, {.lease = 30s});
  s.start(p, {.lease = 30s});
  s.spawn(p, [&p]() -> awaitable<void> {
    auto waiting = election(p.client(), "n").campaign("value", {.lease = 30s}, as_tuple);
    auto [ec, led] = co_await std::move(waiting);
    BOOST_TEST(!ec);
  });
  s.wait(1s);
  BOOST_TEST(s.w.server(0).data().execute({"ZCARD", the_queue}).integer == 2);
  const auto& told = s.watch(p, h);
  s.wait(100ms);
  s.join(other, told);
  // Whoever asks later hears it, too.
  const auto& again = s.watch(p, h);
  s.wait(10ms);
  BOOST_TEST((again.ended && !*again.ended));
}

BOOST_AUTO_TEST_CASE(a_hold_that_was_to_be_told_can_go_on_elsewhere) {
  for (const auto linger : {0ms, 1000ms}) {
    wanted_scene s;
    process &p = s.add(), &worker = s.add(), &other = s.add();
    hold h = take(s, p, {.lease = 30s, .linger = linger});
    const auto& told = s.watch(p, h);
    s.wait(10ms);
    ticket t;
    s.run(p, [&]() -> awaitable<void> {
      auto detaching = h.detach();
      t = co_await std::move(detaching);
    });
    BOOST_TEST((told.ended && *told.ended == error::not_held));
    s.run(worker, [&]() -> awaitable<void> {
      auto resuming = worker.client().resume(t, as_tuple);
      auto [ec, resumed] = co_await std::move(resuming);
      BOOST_TEST(!ec);
      BOOST_TEST(resumed.valid());
      // The message would go to the client that the token names.
      auto asking = resumed.wanted(as_tuple);
      const auto [refused] = co_await std::move(asking);
      BOOST_TEST(refused == error::not_supported);
      auto ending = resumed.release(as_tuple);
      const auto [released] = co_await std::move(ending);
      BOOST_TEST(!released);
    });
    BOOST_TEST(p.client().stats().lingered == 0U);
    hold next = take(s, other, {.lease = 30s});
    BOOST_TEST(next.valid());
  }
}

BOOST_AUTO_TEST_CASE(a_hold_that_ends_is_not_wanted_any_more) {
  wanted_scene s;
  process& p = s.add();
  {
    hold h = take(s, p, {.lease = 30s});
    const auto& told = s.watch(p, h);
    s.wait(10ms);
    release_now(s, p, h);
    s.wait(1ms);
    BOOST_TEST((told.ended && *told.ended == error::not_held));
    const auto& late = s.watch(p, h);
    s.wait(1ms);
    BOOST_TEST((late.ended && *late.ended == error::not_held));
  }
  {
    hold h = take(s, p, {.lease = 30s});
    const auto& told = s.watch(p, h);
    s.wait(10ms);
    h = hold();
    s.wait(1ms);
    BOOST_TEST((told.ended && *told.ended == error::not_held));
    const auto& empty = s.watch(p, h);
    s.wait(1ms);
    BOOST_TEST((empty.ended && *empty.ended == error::not_held));
  }
  {
    hold h = take(s, p, {.lease = 300ms, .renew = renewal::none});
    const auto& told = s.watch(p, h);
    s.wait(400ms);
    BOOST_TEST((told.ended && *told.ended == error::lost));
    const auto& late = s.watch(p, h);
    s.wait(1ms);
    BOOST_TEST((late.ended && *late.ended == error::lost));
  }
}

BOOST_AUTO_TEST_CASE(waiting_to_be_told_is_cancelled_by_every_type_and_leaves_the_hold) {
  using boost::asio::cancellation_type;
  for (const auto type : {cancellation_type::terminal, cancellation_type::partial, cancellation_type::total}) {
    wanted_scene s;
    process &p = s.add(), &other = s.add();
    hold h = take(s, p, {.lease = 30s});
    boost::asio::cancellation_signal stop;
    std::optional<error_code> ended;
    h.wanted(boost::asio::bind_cancellation_slot(
        stop.slot(), boost::asio::bind_executor(p.executor(), [&](error_code ec) { ended = ec; })));
    s.wait(10ms);
    BOOST_TEST(!ended);
    stop.emit(type);
    s.wait(1ms);
    BOOST_TEST((ended && *ended == boost::asio::error::operation_aborted));
    BOOST_TEST(h.valid());
    s.start(other, {.lease = 30s});
    s.wait(10ms);
    BOOST_TEST(h.valid());
  }
}

// The mark in the record stays, and the lease and the fence are those of the hold.
BOOST_AUTO_TEST_CASE(a_hold_that_wants_to_be_told_is_renewed_extended_and_handed_over) {
  wanted_scene s;
  process &p = s.add(), &other = s.add();
  hold h = take(s, p, {.lease = 900ms});
  const auto& told = s.watch(p, h);
  s.wait(10ms);
  BOOST_TEST(s.get("n").find(":0") != std::string::npos);
  s.wait(5s);
  BOOST_TEST(h.valid());
  bool extended = false, shown = false;
  s.spawn(p, [&]() -> awaitable<void> {
    auto extending = h.extend(5s, as_tuple);
    const auto [ec] = co_await std::move(extending);
    extended = !ec;
  });
  s.spawn(other, [&]() -> awaitable<void> {
    auto showing = show(other.client(), "n", as_tuple);
    const auto [why, status] = co_await std::move(showing);
    BOOST_TEST(!why);
    BOOST_TEST(status.fence == h.fence());
    BOOST_TEST(status.token == h.token());
    BOOST_TEST(!status.lingers);
    shown = true;
  });
  s.wait(50ms);
  BOOST_TEST(extended);
  BOOST_TEST(shown);
  auto& waiting = s.start(other, {.lease = 30s});
  s.wait(10ms);
  BOOST_TEST((told.ended && !*told.ended));
  release_now(s, p, h);
  s.wait(10ms);
  BOOST_TEST(waiting.succeeded());
  BOOST_TEST(waiting.got.fence() > h.fence());
}

BOOST_AUTO_TEST_CASE(a_holder_asks_again_after_a_reconnect) {
  wanted_scene s;
  process &p = s.add(), &other = s.add();
  hold h = take(s, p, {.lease = 30s});
  const auto& told = s.watch(p, h);
  s.wait(10ms);
  s.w.server(0).loses = [](std::string_view m) { return m.starts_with("wanted "); };
  s.start(other, {.lease = 30s});
  s.wait(50ms);
  BOOST_TEST(!told.ended);
  p.cut_connections();
  s.wait(200ms);
  BOOST_TEST((told.ended && !*told.ended));
}

// A message that is lost comes again with the waiter's next poll.
BOOST_AUTO_TEST_CASE(a_holder_is_told_again_if_a_message_was_lost) {
  wanted_scene s;
  process &p = s.add(), &other = s.add();
  hold h = take(s, p, {.lease = 30s});
  const auto& told = s.watch(p, h);
  s.wait(10ms);
  bool first = true;
  s.w.server(0).loses = [&first](std::string_view m) {
    return m.starts_with("wanted ") && std::exchange(first, false);
  };
  s.start(other, {.lease = 30s});
  s.wait(600ms);
  BOOST_TEST(!told.ended);
  s.wait(100ms);
  BOOST_TEST((told.ended && !*told.ended));
}

BOOST_AUTO_TEST_CASE(a_holder_in_a_cluster_is_told) {
  wanted_scene s(3);
  s.w.make_cluster(2);
  process &p = s.add(), &other = s.add();
  hold h = take(s, p, {.lease = 3min});
  std::size_t asked = 0;
  for (std::size_t i = 0; i < s.w.number_of_servers(); ++i) {
    s.w.server(i).on_run = [&asked](const detail::script&, const auto& arguments, const auto&) {
      asked += arguments.front() == "want" ? 1U : 0U;
    };
  }
  const auto& told = s.watch(p, h);
  s.wait(100ms);
  BOOST_TEST(!told.ended);
  const auto first = asked;
  BOOST_TEST((first == 1U || first == 2U));
  s.wait(30s);
  BOOST_TEST(asked == first);  // All clients of a cluster have tagged keys.
  s.start(other, {.lease = 30s});
  s.wait(20ms);
  BOOST_TEST((told.ended && !*told.ended));
}

BOOST_AUTO_TEST_CASE(only_the_hold_of_a_mutex_can_be_told) {
  wanted_scene s;
  process& p = s.add();
  s.wait(100ms);
  const shared_mutex both(p.client(), "c");
  std::vector<hold> holds;
  holds.push_back(s.acquire(p, recursive_mutex(p.client(), "a", "o"), {.lease = 30s}).second);
  holds.push_back(s.acquire(p, counting_semaphore(p.client(), "b", 2), {.lease = 30s}).second);
  holds.push_back(s.acquire(p, both, {.lease = 30s, .linger = 1s}).second);
  for (hold& h : holds) {
    BOOST_TEST(h.valid());
    const auto& told = s.watch(p, h);
    s.wait(1ms);
    BOOST_TEST((told.ended && *told.ended == error::not_supported));
    release_now(s, p, h);
  }
  // And no other kind lingers.
  BOOST_TEST(s.w.server(0).data().execute({"EXISTS", "c"}).integer == 0);
}

BOOST_AUTO_TEST_CASE(what_lingers_is_shown) {
  wanted_scene s;
  process &p = s.add(), &other = s.add();
  hold h = take(s, p, {.lease = 30s, .linger = 10s});
  release_now(s, p, h);
  s.run(other, [&]() -> awaitable<void> {
    const mutex m(other.client(), "n");
    auto inspecting = m.inspect(as_tuple);
    const auto [ec, info] = co_await std::move(inspecting);
    BOOST_TEST(info.held);
    BOOST_TEST(info.lingers);
    auto showing = show(other.client(), "n", as_tuple);
    const auto [why, status] = co_await std::move(showing);
    BOOST_TEST(status.lingers);
    auto listing = list(other.client(), as_tuple);
    const auto [failed, all] = co_await std::move(listing);
    BOOST_REQUIRE(all.size() == 1U);
    BOOST_TEST(all.front().lingers);
  });
}

BOOST_AUTO_TEST_CASE(a_quorum_neither_lingers_nor_tells) {
  wanted_scene s(3);
  process& p = s.add();
  hold h = take(s, p, {.lease = 30s, .linger = 10s});
  const auto& told = s.watch(p, h);
  s.wait(1ms);
  BOOST_TEST((told.ended && *told.ended == error::not_supported));
  release_now(s, p, h);
  s.wait(20ms);
  BOOST_TEST(s.get("n").empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
