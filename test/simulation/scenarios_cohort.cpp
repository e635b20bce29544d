// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A grant that is pushed to a client, and that its coroutines pass on before it is confirmed (docs/protocol.md, "The
// cohort").
#include "lock/hold_state.hpp"
#include "protocol/scripts.hpp"
#include "simulation/scene.hpp"

#include "support/unit_test.hpp"

#include <leasehold/election.hpp>
#include <leasehold/mutex.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(scenarios)

using namespace simulation;

namespace {

// Another client has the lock, coroutines of `p` wait for it, and each way takes 20 ms.
struct before_a_push : scene {
  struct turn {
    std::uint64_t fence = 0;
    clock::time_point begun{}, deadline{};
    std::optional<error_code> released;
    std::optional<clock::time_point> told;  // Of its loss.
  };

  explicit before_a_push(client_options o = {}) : p(add(std::move(o))), other(add()) {
    w.fastest = w.slowest = 20ms;
    first_ = take(*this, other, {.lease = 60s});
    w.server(0).on_run = [this](const auto&, const auto& arguments, const auto&) {
      ++calls[std::string(arguments[0])];
    };
  }
  // One that waits, works for that long and releases.
  void add_waiter(acquire_options o, clock::duration work) {
    spawn(p, [this, o, work]() -> awaitable<void> {
      const mutex m(p.client(), "n");
      auto waiting = scenarios::acquire(m, o);
      auto [ec, h] = co_await std::move(waiting);
      BOOST_REQUIRE(!ec);
      const auto mine = turns.size();
      turns.push_back({h.fence(), w.now(), detail::access::state(h)->deadline(), {}, {}});
      h.lost([this, mine](error_code e) {
        if (!e) turns[mine].told = w.now();
      });
      if (work != clock::duration(0)) {
        auto pause = p.sleep(work);
        co_await std::move(pause);
      }
      auto ending = scenarios::release(h);
      turns[mine].released = co_await std::move(ending);
    });
  }
  void release_first() { spawn(other, scenarios::release(first_)); }
  // Until the grant has come.
  void push() {
    wait(100ms);
    calls.clear();
    release_first();
    for (int i = 0; i < 100 && turns.empty(); ++i) wait(1ms);
    BOOST_REQUIRE(!turns.empty());
    pushed = turns.front().begun;
  }

  process &p, &other;
  std::deque<turn> turns;
  std::map<std::string, int> calls;  // Since the release of the other one.
  clock::time_point pushed;

 private:
  hold first_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_pushed_grant_is_passed_on_while_its_confirmation_is_on_its_way) {
  before_a_push s;
  for (int i = 0; i < 4; ++i) s.add_waiter({.lease = 10s}, 1ms);
  s.push();
  s.finish();
  BOOST_REQUIRE(s.turns.size() == 4U);
  BOOST_TEST((s.turns.back().begun - s.pushed < 5ms));
  for (std::size_t i = 0; i < 4; ++i) {
    BOOST_TEST(s.turns[i].fence == s.turns[0].fence + i);
    // None of them knows more than the message has said.
    BOOST_TEST((s.turns[i].deadline == s.turns[0].deadline));
    BOOST_TEST(!*s.turns[i].released);
  }
  BOOST_TEST(s.p.client().stats().passed == 3U);
  BOOST_TEST(s.calls["confirm"] == 1);
  s.wait(100ms);
  BOOST_TEST(s.get("n").empty());
  BOOST_TEST(s.w.server(0).data().execute({"EXISTS", the_queue}).integer == 0);
}

// The bound counts from the message: it is over long before the confirmation is answered.
// The lease is that of the waiter that was in front. If this program died now, others would be kept out for longer than
// the next one has asked.
BOOST_AUTO_TEST_CASE(a_pushed_grant_has_no_longer_lease_than_its_waiter_has_asked_for) {
  before_a_push s;
  const auto& gives_up = s.start(s.p, {.lease = 10s, .wait = 200ms});
  s.wait(1ms);
  const auto& next = s.start(s.p, {.lease = 400ms, .renew = renewal::none});
  s.wait(160ms);
  s.release_first();
  for (int i = 0; i < 1000 && !next.ended; ++i) s.wait(1ms);
  BOOST_TEST((gives_up.ended == error::timed_out));
  BOOST_REQUIRE(next.succeeded());
  const auto left = s.w.server(0).data().execute({"PTTL", "n"}).integer;
  BOOST_TEST(left > 0);
  BOOST_TEST(left <= 400);
  s.finish();
}

// The same where the one that has left had its grant, and its replicas were being asked.
BOOST_AUTO_TEST_CASE(a_confirmed_grant_has_no_longer_lease_than_its_waiter_has_asked_for) {
  for (auto gives_up_after = 100ms; gives_up_after < 300ms; gives_up_after += 10ms) {
    scene s;
    s.w.server(0).replicas = s.w.server(0).replicas_that_answer = 1;
    process &x = s.add(), &p = s.add();
    hold held = take(s, x, {.lease = 30s});
    s.w.fastest = s.w.slowest = 20ms;
    const auto& gives_up = s.start(p, {.lease = 10s, .wait = gives_up_after, .replicas = 1});
    const auto& next = s.start(p, {.lease = 400ms, .renew = renewal::none, .replicas = 1});
    s.wait(60ms);
    s.spawn(x, release(held));
    for (int i = 0; i < 1000 && !next.ended && !gives_up.succeeded(); ++i) s.wait(1ms);
    if (gives_up.succeeded()) continue;
    BOOST_REQUIRE(next.succeeded());
    BOOST_TEST(s.w.server(0).data().execute({"PTTL", "n"}).integer <= 400);
    s.finish();
  }
}

BOOST_AUTO_TEST_CASE(a_cohort_of_a_pushed_grant_overtakes_for_its_bound) {
  before_a_push s;
  process& third = s.add();
  for (int i = 0; i < 50; ++i) s.add_waiter({.lease = 10s}, 1ms);
  s.wait(100ms);
  const auto& overtaken = s.start(third, {.lease = 10s});
  s.push();
  s.wait(100ms);
  BOOST_REQUIRE(overtaken.succeeded());
  // The last holder's work, its release, and the message.
  BOOST_TEST((overtaken.at - s.pushed <= 10ms + 1ms + 40ms + 1ms));
  BOOST_TEST(s.turns.size() > 5U);
  BOOST_TEST(s.turns.size() <= 12U);
  BOOST_TEST(overtaken.got.fence() > s.turns.back().fence);
}

BOOST_AUTO_TEST_CASE(the_holder_of_then_is_told_what_the_confirmation_shows) {
  before_a_push s;
  s.add_waiter({.lease = 10s}, 1ms);
  s.add_waiter({.lease = 10s}, 500ms);
  s.push();
  s.wait(5ms);
  BOOST_REQUIRE(s.turns.size() == 2U);
  s.w.server(0).data().execute({"DEL", "n"});
  s.finish();
  BOOST_TEST(!*s.turns[0].released);
  BOOST_TEST(!s.turns[0].told.has_value());
  BOOST_REQUIRE(s.turns[1].told.has_value());
  BOOST_TEST((*s.turns[1].told - s.pushed <= 41ms));
  BOOST_TEST((*s.turns[1].released == error::lost));
}

// Each of them holds by the short lease of the message, which no pass lengthens.
BOOST_AUTO_TEST_CASE(without_an_answer_a_passed_grant_ends_with_its_short_lease) {
  client_options o = with_timeout(5s);
  o.cohort = 1s;
  before_a_push s(o);
  for (int i = 0; i < 50; ++i) s.add_waiter({.lease = 10s}, 100ms);
  s.push();
  const auto ends = s.w.now() + std::chrono::milliseconds(s.w.server(0).data().execute({"PTTL", "n"}).integer + 1);
  s.w.server(0).freeze();
  s.wait(3s);
  BOOST_TEST(s.turns.size() > 5U);
  for (const auto& t : s.turns) BOOST_TEST((s.p.when(t.deadline) < ends));
  // Passing has ended with the bound.
  BOOST_TEST((s.turns.back().begun - s.pushed <= 1s));
  s.w.server(0).thaw();
  s.wait(100ms);
}

BOOST_AUTO_TEST_CASE(a_confirmation_that_is_lost_is_repeated_by_the_holder_of_then) {
  before_a_push s;
  s.add_waiter({.lease = 10s, .renew = renewal::none}, 1ms);
  s.add_waiter({.lease = 10s, .renew = renewal::none}, 4s);
  s.push();
  s.wait(5ms);
  BOOST_REQUIRE(s.turns.size() == 2U);
  s.p.cut_connections();
  s.wait(1500ms);
  BOOST_TEST(s.w.server(0).data().execute({"PTTL", "n"}).integer > 5000);
  s.finish();
  BOOST_TEST(!s.turns[1].told.has_value());
  BOOST_TEST(!*s.turns[1].released);
}

// The confirmation lengthens the lease to what the holder before has asked for. If the next one died, others would wait
// for longer than it has asked for.
BOOST_AUTO_TEST_CASE(a_confirmation_on_its_way_lengthens_no_shorter_lease) {
  before_a_push s;
  s.add_waiter({.lease = 60s}, 5ms);
  s.add_waiter({.lease = 1990ms, .renew = renewal::none}, 30ms);
  s.push();
  s.wait(30ms);
  BOOST_TEST(s.p.client().stats().passed == 0U);
  s.wait(60ms);
  BOOST_REQUIRE(s.turns.size() == 2U);
  BOOST_TEST(s.w.server(0).data().execute({"PTTL", "n"}).integer <= 1990);
  s.finish();
}

// Another thread releases the hold when the answer to its extension has arrived, and before it is handled.
struct released_before_an_answer : scene {
  released_before_an_answer() {
    w.fastest = w.slowest = 20ms;
    client_options o;
    o.cohort = 1s;
    p = &add(o);
    held = take(*this, *p, {.lease = 30s});
    wait(100ms);
    next = &start(*p, {.lease = 30s});
    wait(1ms);
    spawn(*p, [this]() -> awaitable<void> {
      auto waiting = held->extend(1h, as_tuple);
      const auto [why] = co_await std::move(waiting);
      BOOST_TEST(why == error::not_held);
    });
    w.server(0).on_run = [this](const detail::script&, const auto& arguments, const auto&) {
      if (arguments.front() != "renew") return;
      // In the instant in which the answer arrives, and after it.
      w.after(0s, [this] { w.after(20ms, [this] { held.reset(); }); });
    };
    wait(1ms);
  }
  process* p = nullptr;
  std::optional<hold> held;
  attempt* next = nullptr;
};

BOOST_AUTO_TEST_CASE(a_hold_that_is_released_before_its_extension_is_known_is_passed_on_to_no_shorter_lease) {
  released_before_an_answer s;
  s.wait(200ms);
  BOOST_REQUIRE(!s.held);
  BOOST_REQUIRE(s.next->succeeded());
  BOOST_TEST(s.w.server(0).data().execute({"PTTL", "n"}).integer <= 30000);
}

BOOST_AUTO_TEST_CASE(a_hold_that_is_released_before_its_loss_is_known_is_not_passed_on) {
  released_before_an_answer s;
  s.w.server(0).execute({"SET", "n", "another program's", "PX", "1000"});
  s.wait(200ms);
  BOOST_REQUIRE(!s.held);
  BOOST_TEST(!s.next->succeeded());
}

// The hold was passed on before that: who has it now is told by the answer, and not by the next renewal.
BOOST_AUTO_TEST_CASE(a_hold_that_is_passed_on_before_its_loss_is_known_is_lost_soon) {
  scene s;
  s.w.fastest = s.w.slowest = 20ms;
  client_options o;
  o.cohort = 1s;
  process& p = s.add(o);
  hold held = take(s, p, {.lease = 30s});
  auto& next = s.start(p, {.lease = 30s});
  s.wait(100ms);
  s.spawn(p, [&]() -> awaitable<void> {
    auto waiting = held.extend(30s, as_tuple);
    const auto [why] = co_await std::move(waiting);
    BOOST_TEST(why == error::not_held);
  });
  s.wait(1ms);
  s.w.server(0).execute({"SET", "n", "x"});
  s.spawn(p, scenarios::release(held));
  s.wait(1ms);
  BOOST_REQUIRE(next.succeeded());
  BOOST_TEST(p.client().stats().passed == 1U);
  BOOST_TEST(next.got.valid());
  // The answer, and one more question.
  s.wait(40ms + 40ms);
  BOOST_TEST(!next.got.valid());
}

// The one who gets the hold may die, and would keep the others out for as long.
BOOST_AUTO_TEST_CASE(a_hold_with_an_extension_on_its_way_is_passed_on_to_no_shorter_lease) {
  for (const bool lingers : {false, true}) {
    BOOST_TEST_CONTEXT("lingers: " << lingers) {
      scene s;
      s.w.fastest = s.w.slowest = 20ms;
      client_options longest;
      longest.cohort = 1s;
      process& p = s.add(longest);
      const acquire_options o{.lease = 30s, .linger = lingers ? 5000ms : 0ms};
      hold held = take(s, p, o);
      s.wait(100ms);
      auto* const next = lingers ? nullptr : &s.start(p, o);
      s.wait(1ms);
      s.spawn(p, [&]() -> awaitable<void> {
        auto waiting = held.extend(1h, as_tuple);
        const auto [why] = co_await std::move(waiting);
        BOOST_TEST(why == error::not_held);
      });
      s.wait(1ms);
      s.spawn(p, scenarios::release(held));
      s.wait(1ms);
      const auto& got = next != nullptr ? *next : s.start(p, o);
      s.finish();
      BOOST_REQUIRE(got.succeeded());
      s.wait(100ms);
      BOOST_TEST(s.w.server(0).data().execute({"PTTL", "n"}).integer <= 30000);
    }
  }
}

// So does the poll that was on its way when the message came. The first holder releases at once, before a confirmation
// is sent.
BOOST_AUTO_TEST_CASE(a_poll_on_its_way_lengthens_no_shorter_lease) {
  bool met = false;
  for (auto after = 0ms; after < 700ms; after += 5ms) {
    before_a_push s;
    s.add_waiter({.lease = 60s}, 0ms);
    s.add_waiter({.lease = 1990ms, .renew = renewal::none}, 60ms);
    s.wait(after);
    s.push();
    s.wait(25ms);
    const auto left = s.w.server(0).data().execute({"PTTL", "n"}).integer;
    if (s.turns.size() == 2U) BOOST_TEST(left <= 1990);
    met = met || (s.turns.size() == 1U && s.calls["acquire"] > 0);
    s.finish();
  }
  BOOST_TEST(met);
}

// The same if the first waiter has left while the poll was on its way.
BOOST_AUTO_TEST_CASE(a_poll_of_a_waiter_that_has_left_lengthens_no_shorter_lease) {
  for (auto after = 0ms; after < 700ms; after += 5ms) {
    before_a_push s;
    s.start(s.p, mutex(s.p.client(), "n"), {.lease = 60s, .wait = after + 110ms});
    s.add_waiter({.lease = 1990ms, .renew = renewal::none}, 200ms);
    s.wait(after);
    s.push();
    s.wait(50ms);
    if (s.turns.size() == 1U) BOOST_TEST(s.w.server(0).data().execute({"PTTL", "n"}).integer <= 1990);
    s.finish();
  }
}

// The server does not answer the request that would keep the lock in the client.
BOOST_AUTO_TEST_CASE(a_release_into_a_cohort_ends_with_the_lease) {
  scene s;
  client_options o = with_timeout(30s);
  o.cohort = 0ms;
  process& p = s.add(o);
  hold held = take(s, p, {.lease = 1s, .renew = renewal::none});
  s.start(p, {.lease = 1s, .wait = 3s});
  s.wait(20ms);
  s.w.server(0).freeze();
  const auto deadline = detail::access::state(held)->deadline();
  s.run(p, [&]() -> awaitable<void> {
    auto ending = release(held);
    const auto why = co_await std::move(ending);
    BOOST_TEST(why == error::unreachable, why.message());
    BOOST_TEST((p.now() <= deadline + 1ms));
    s.w.server(0).thaw();
  });
}

// The request that would keep the lock in the client is refused, and the release that follows it is that of a hold.
BOOST_AUTO_TEST_CASE(a_release_into_a_cohort_that_finds_another_programs_key_is_a_loss) {
  scene s;
  client_options o;
  o.cohort = 0ms;
  process& p = s.add(o);
  hold held = take(s, p, {.lease = 30s});
  s.start(p, {.lease = 30s, .wait = 3s});
  s.wait(20ms);
  s.w.server(0).execute({"DEL", "n"});
  s.w.server(0).execute({"HSET", "n", "x", "1"});
  int refused = 0;
  s.w.server(0).on_run = [&](const auto&, const auto& arguments, const auto& r) {
    refused += arguments[0] == "release" && r.is_error();
  };
  s.run(p, [&]() -> awaitable<void> {
    auto ending = release(held);
    const auto why = co_await std::move(ending);
    BOOST_TEST(why == error::lost, why.message());
    BOOST_TEST(refused == 2);
    BOOST_TEST(p.client().stats().lost == 1U);
  });
  BOOST_TEST(p.client().stats().lost == 1U);
}

// What is left of the short lease must suffice for the confirmation.
BOOST_AUTO_TEST_CASE(a_pushed_grant_is_not_passed_to_a_margin_that_leaves_no_time_to_confirm) {
  before_a_push s;
  s.add_waiter({.lease = 10s}, 1ms);
  s.add_waiter({.lease = 10s, .margin = 1780ms}, 1ms);
  s.push();
  s.finish();
  BOOST_REQUIRE(s.turns.size() == 2U);
  BOOST_TEST(s.p.client().stats().passed == 0U);
  BOOST_TEST(!s.turns[1].told.has_value());
  BOOST_TEST(!*s.turns[1].released);
}

// The request for the next fence finds that the record is another's, long before a renewal would.
BOOST_AUTO_TEST_CASE(a_cohort_whose_record_was_overwritten_tells_its_holder) {
  scene s;
  s.w.fastest = s.w.slowest = 1ms;
  client_options longer;
  longer.cohort = 20ms;
  process& p = s.add(longer);
  s.wait(50ms);
  hold first = take_at_once(s, p, {.lease = 30s});
  auto& next = s.start(p, {.lease = 30s});
  s.wait(3ms);
  s.w.server(0).data().execute({"SET", "n", "somebody else", "PX", "60000"});
  s.wait(9ms);
  s.spawn(p, release(first));
  s.wait(1us);
  BOOST_REQUIRE(next.succeeded());
  BOOST_TEST(next.got.valid());
  s.wait(10ms);
  BOOST_TEST(!next.got.valid());
}

// The client has an entry for the mutex, and one for the election of its name.
BOOST_AUTO_TEST_CASE(a_cohort_does_not_overtake_a_client_behind_two_entries_of_its_own) {
  scene s;
  s.w.fastest = s.w.slowest = 1ms;
  process &p = s.add(), &other = s.add();
  hold first = take(s, p, {.lease = 30s});
  auto& next = s.start(p, {.lease = 30s});
  bool led = false;
  s.spawn(p, [&]() -> awaitable<void> {
    auto waiting = election(p.client(), "n").campaign("value", {.lease = 30s}, as_tuple);
    auto [ec, leads] = co_await std::move(waiting);
    BOOST_TEST(!ec);
    led = true;
    auto ending = leads.resign(as_tuple);
    co_await std::move(ending);
  });
  s.wait(20ms);
  const auto& its = s.start(other, {.lease = 30s});
  s.wait(20ms);
  BOOST_TEST(s.w.server(0).data().execute({"ZCARD", the_queue}).integer == 3);
  auto& later = s.start(p, {.lease = 30s});
  s.wait(50ms);  // The bound of the cohort is over: Redis is asked whether it may keep the lock.
  s.spawn(p, release(first));
  s.wait(20ms);
  BOOST_REQUIRE(next.succeeded());
  s.spawn(p, release(next.got));
  s.wait(20ms);
  BOOST_TEST(led);
  BOOST_TEST(its.succeeded());
  BOOST_TEST(!later.ended.has_value());
}

BOOST_AUTO_TEST_CASE(a_pushed_grant_is_not_passed_on_if_the_cohort_is_switched_off) {
  client_options o;
  o.cohort = 0ms;
  before_a_push s(o);
  s.add_waiter({.lease = 10s}, 1ms);
  s.add_waiter({.lease = 10s}, 1ms);
  s.push();
  s.finish();
  BOOST_TEST(s.turns.size() == 2U);
  BOOST_TEST(s.p.client().stats().passed == 0U);
}

namespace {

// Three coroutines of `p` pass "n" on, and the first pass asks for the next fence. Each way takes a millisecond.
struct passing_cohort : scene {
  explicit passing_cohort(std::uint64_t seed = 1) : scene(1, seed), p(add(options())) {
    w.fastest = w.slowest = 1ms;
    w.server(0).on_run = [this](const auto&, const auto& arguments, const auto& r) {
      refreshed = refreshed || (arguments[0] == "refresh" && r.text.starts_with("1 "));
    };
    wait(50ms);
    first_ = take_at_once(*this, p, {.lease = 30s});
    second_ = &start(p, {.lease = 30s});
    third_ = &start(p, {.lease = 30s});
    wait(12ms);  // More than half of the cohort's bound.
  }
  // Until the third of them holds "n". The request is on its way then.
  void pass_on() {
    spawn(p, scenarios::release(first_));
    wait(1us);
    BOOST_REQUIRE(second_->succeeded());
    spawn(p, scenarios::release(second_->got));
    wait(1us);
    BOOST_REQUIRE(third_->succeeded());
    BOOST_TEST(p.client().stats().passed == 2U);
    BOOST_TEST(!refreshed);
  }
  ticket detach() {
    ticket given;
    run(p, [&]() -> awaitable<void> {
      auto detaching = third_->got.detach(as_tuple);
      const auto [why, its] = co_await std::move(detaching);
      BOOST_TEST(!why, why.message());
      given = its;
    });
    return given;
  }
  void resume(const ticket& given) {
    run(p, [&]() -> awaitable<void> {
      auto resuming = p.client().resume(given, as_tuple);
      const auto [lost, resumed] = co_await std::move(resuming);
      BOOST_TEST(!lost, lost.message());
      BOOST_TEST(resumed.fence() == given.fence());
    });
  }

  process& p;
  bool refreshed = false;  // The record has the next fence.

 private:
  static client_options options() {
    client_options o = with_timeout(600ms);
    o.cohort = 20ms;
    return o;
  }

  hold first_;
  attempt* second_ = nullptr;
  attempt* third_ = nullptr;
};

}  // namespace

// The connection breaks while the request is on its way. Its bytes reach the server later: in time, so that the record
// gets another fence, or after its not-after.
BOOST_AUTO_TEST_CASE(a_holder_in_a_cohort_is_detached_behind_a_late_request_for_the_next_fence) {
  for (const std::chrono::milliseconds latest : {500ms, 3000ms}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      passing_cohort s(seed);
      s.w.lateness = 1.0;
      s.w.latest = latest;
      s.pass_on();
      s.p.cut_connections();
      const ticket given = s.detach();
      s.wait(latest + 500ms);
      if (latest == 500ms) BOOST_TEST(s.refreshed);
      s.resume(given);
    }
  }
}

// Its bytes are lost, and the client waits until they can no longer run: that is longer than a command may take.
BOOST_AUTO_TEST_CASE(a_holder_in_a_cohort_is_detached_although_the_request_for_the_next_fence_was_lost) {
  passing_cohort s;
  s.w.lateness = 0.0;
  s.pass_on();
  s.p.cut_connections();
  const auto began = s.w.now();
  const ticket given = s.detach();
  BOOST_TEST((s.w.now() - began > 600ms));
  BOOST_TEST((s.w.now() - began < 700ms));
  BOOST_TEST(!s.refreshed);
  s.wait(1s);
  s.resume(given);
}

// The request has to be sent again, behind the renewal: another program brings the script that the server did not know.
BOOST_AUTO_TEST_CASE(a_holder_in_a_cohort_is_detached_after_the_request_for_the_next_fence) {
  passing_cohort s;
  s.w.server(0).forget_scripts();
  s.pass_on();
  s.w.after(1200us, [&s] {
    const std::string_view key = "other";
    const std::array<std::string_view, 3> renewal{"renew", "x", "1"};
    s.w.server(0).run(detail::scripts::mutex, /*whole_text=*/true, {&key, 1}, renewal);
  });
  s.wait(500us);
  const ticket given = s.detach();
  BOOST_TEST(s.refreshed);
  s.wait(1s);
  s.resume(given);
}

// Each of them gives the record a fence that the client does not know, and the holder must accept both of them.
BOOST_AUTO_TEST_CASE(two_late_requests_for_the_next_fence_are_no_loss) {
  scene s;
  s.w.fastest = s.w.slowest = 1ms;
  s.w.lateness = 1.0;
  s.w.latest = 0ms;
  client_options o = with_timeout(10s);
  o.cohort = 20ms;
  process& p = s.add(o);
  int refreshed = 0;
  s.w.server(0).on_run = [&](const auto&, const auto& arguments, const auto& r) {
    refreshed += arguments[0] == "refresh" && r.text.starts_with("1 ");
  };
  s.wait(50ms);
  hold first = take_at_once(s, p, {.lease = 60s});
  std::array<scene::attempt*, 3> next{};
  for (auto*& n : next) n = &s.start(p, {.lease = 60s});
  // The pass asks for the next fence. The connection breaks, and the bytes arrive after so much time.
  const auto pass_on = [&](hold& from, clock::duration late) {
    s.wait(12ms);  // More than half of the cohort's bound.
    s.w.fastest = s.w.slowest = late;
    s.spawn(p, scenarios::release(from));
    s.wait(1us);
    p.cut_connections();
    s.w.fastest = s.w.slowest = 1ms;
    s.wait(1ms);
    for (int i = 0; i < 100 && !p.core().up(); ++i) s.wait(1ms);
    BOOST_REQUIRE(p.core().up());
  };
  pass_on(first, 2s);
  BOOST_REQUIRE(next[0]->succeeded());
  // The bound of the cohort is over: the lock is kept, and a further request for the next fence is allowed.
  s.wait(20ms);
  s.spawn(p, scenarios::release(next[0]->got));
  s.wait(3ms);
  BOOST_REQUIRE(next[1]->succeeded());
  pass_on(next[1]->got, 4s);
  BOOST_REQUIRE(next[2]->succeeded());
  BOOST_TEST(p.client().stats().passed == 2U);
  BOOST_TEST(refreshed == 0);
  hold& last = next[2]->got;
  const auto extend = [&] {
    s.run(p, [&]() -> awaitable<void> {
      auto extending = last.extend(60s, as_tuple);
      const auto [why] = co_await std::move(extending);
      BOOST_TEST(!why, why.message());
    });
    BOOST_TEST(last.valid());
  };
  for (const int already : {1, 2}) {
    s.wait(2200ms);
    BOOST_TEST(refreshed == already);
    extend();
  }
  s.wait(30s);
  extend();
  BOOST_TEST(p.client().stats().lost == 0U);
  release_now(s, p, last);
}

// It waited for holds of its own client, which granted the lock before there was an answer.
BOOST_AUTO_TEST_CASE(a_waiter_that_the_cohort_serves_found_the_lock_busy) {
  scene s;
  process& p = s.add();
  hold first = take(s, p, {.lease = 30s});
  s.w.fastest = s.w.slowest = 5ms;
  auto& second = s.start(p, {.lease = 30s});
  s.wait(1ms);
  const auto& third = s.start(p, {.lease = 30s});
  s.wait(1ms);
  BOOST_TEST(p.client().stats().contended == 0U);
  s.spawn(p, release(first));
  s.wait(1ms);
  BOOST_REQUIRE(second.succeeded());
  s.spawn(p, release(second.got));
  s.finish();
  BOOST_TEST(third.succeeded());
  BOOST_TEST(p.client().stats().contended == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
