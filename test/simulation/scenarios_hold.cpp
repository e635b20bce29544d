// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A hold from its grant to its release, in virtual time: when it ends, and what its client is told. What is promised is
// in docs/guarantees.md.
#include "lock/hold_state.hpp"
#include "simulation/scene.hpp"

#include "support/unit_test.hpp"

#include <leasehold/acquire_all.hpp>
#include <leasehold/mutex.hpp>

#include <chrono>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(scenarios)

// --- Until when it is valid ---

// An attempt is granted, its answer is lost, and it is asked again much later: the deadline counts from the request
// that is answered, and the lease is what the server says is left.
BOOST_AUTO_TEST_CASE(a_repeated_attempt_does_not_believe_in_more_than_the_server) {
  scene s;
  process& p = s.add(with_timeout(300ms));
  s.spawn(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto waiting = acquire(m, {.lease = 2s, .renew = renewal::none});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    while (h.valid()) {
      BOOST_TEST(s.get("n").starts_with("leasehold:" + h.token()));
      auto pause = p.sleep(10ms);
      co_await std::move(pause);
    }
  });
  // The request has arrived, and the reply is cut.
  s.w.after(4ms, [&] { p.cut_connections(); });
  s.finish();
}

// An extension to a shorter lease arrives after a renewal to a longer one.
BOOST_AUTO_TEST_CASE(an_extension_shortens_nothing) {
  scene s;
  process& p = s.add();
  s.run(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto waiting = acquire(m, {.lease = 10s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    auto shorter = h.extend(200ms, as_tuple);
    const auto [why] = co_await std::move(shorter);
    BOOST_TEST(!why);
    auto pause = p.sleep(5s);
    co_await std::move(pause);
    BOOST_TEST(h.valid());
    BOOST_TEST(s.get("n").starts_with("leasehold:" + h.token()));
  });
}

BOOST_AUTO_TEST_CASE(an_extension_of_a_hold_that_the_server_has_forgotten_is_a_loss) {
  scene s;
  process& p = s.add();
  s.run(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto waiting = acquire(m, {.lease = 20s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    s.w.server(0).data().execute({"DEL", "n"});
    auto extending = h.extend(30s, as_tuple);
    const auto [why] = co_await std::move(extending);
    BOOST_TEST(why == error::lost);
    BOOST_TEST(!h.valid());
  });
}

// A process that stood still past its lease does not work on, and what it asks for then is told as lost.
BOOST_AUTO_TEST_CASE(a_holder_that_stood_still_past_its_lease_is_told_when_it_goes_on) {
  scene s;
  process &p = s.add(), &other = s.add();
  bool told = false;
  hold held = take_at_once(s, p, {.lease = 1s});
  s.spawn(p, [&]() -> awaitable<void> {
    auto losing = held.lost(as_tuple);
    const auto [why] = co_await std::move(losing);
    told = !why;
  });
  p.freeze();
  std::uint64_t fence = 0;
  s.spawn(other, [&]() -> awaitable<void> {
    const mutex m(other.client(), "n");
    auto waiting = acquire(m, {.lease = 30s});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    fence = h.fence();
    auto pause = other.sleep(2s);
    co_await std::move(pause);
  });
  s.wait(3s);
  BOOST_TEST(fence > held.fence());
  p.thaw();
  s.wait(1ms);
  BOOST_TEST(told);
  BOOST_TEST(!held.valid());
  s.finish();
}

// A reply that comes while the process stands still is looked at when its limit has passed: what it brings is released.
BOOST_AUTO_TEST_CASE(nothing_is_granted_after_its_limit_to_a_client_that_stood_still) {
  for (const bool one_lock : {true, false}) {
    scene s;
    s.w.fastest = s.w.slowest = 10ms;
    process& p = s.add();
    s.run(p, [&]() -> awaitable<void> {
      const mutex m(p.client(), "a");
      const std::vector<mutex> both{m, mutex(p.client(), "b")};
      {
        // From now on the server knows the scripts.
        auto first = acquire(m, {});
        auto [ec, h] = co_await std::move(first);
        auto ending = release(h);
        co_await std::move(ending);
        auto all_first = acquire_all({}, both, as_tuple);
        const auto result = co_await std::move(all_first);
        BOOST_TEST(!std::get<0>(result));
      }
      auto a_while = p.sleep(100ms);
      co_await std::move(a_while);
      s.w.after(15ms, [&p] { p.freeze(); });
      s.w.after(1s, [&p] { p.thaw(); });
      error_code why;
      if (one_lock) {
        auto waiting = acquire(m, {.lease = 20s, .wait = 500ms});
        auto [ec, h] = co_await std::move(waiting);
        why = ec;
      } else {
        auto waiting = acquire_all({.lease = 20s, .wait = 500ms}, both, as_tuple);
        auto [ec, all] = co_await std::move(waiting);
        why = ec;
      }
      BOOST_TEST((why == error::unreachable || why == error::timed_out), why.message());
    });
    s.wait(50ms);
    BOOST_TEST(s.get("a").empty());
  }
}

// A cohort on a slow network, while another client comes to wait: the deadline that comes with a fence asked for ahead
// of time is not later than the server's, and the passing ends in time.
BOOST_AUTO_TEST_CASE(a_cohort_s_deadlines_and_its_end_count_from_the_request) {
  scene s;
  s.w.fastest = s.w.slowest = 20ms;
  client_options o;
  o.cohort = 200ms;
  process &p = s.add(o), &other = s.add();
  clock::time_point asked{};
  int refreshed = 0;
  s.w.server(0).on_run = [&](const auto&, const auto& arguments, const auto& r) {
    // Granted, confirmed, kept or refreshed; or handed over.
    if (!r.text.starts_with("1 ") && r.integer != 1) return;
    asked = s.w.now();
    refreshed += arguments[0] == "refresh";
  };
  for (int worker = 0; worker < 3; ++worker) {
    s.spawn(p, [&]() -> awaitable<void> {
      const mutex m(p.client(), "n");
      for (int i = 0; i < 100; ++i) {
        auto waiting = acquire(m, {.lease = 1s, .renew = renewal::none});
        auto [ec, h] = co_await std::move(waiting);
        BOOST_REQUIRE(!ec);
        const auto left = std::chrono::milliseconds(s.w.server(0).data().execute({"PTTL", "n"}).integer + 1);
        BOOST_TEST((detail::access::state(h)->deadline() - p.now() <= left));
        BOOST_TEST((s.w.now() - asked <= 205ms));
        auto pause = p.sleep(4ms);
        co_await std::move(pause);
        auto ending = release(h);
        co_await std::move(ending);
      }
    });
  }
  s.wait(300ms);
  s.run(other, [&]() -> awaitable<void> {
    const mutex m(other.client(), "n");
    auto waiting = acquire(m, {.lease = 1s});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(!ec);
  });
  BOOST_TEST(refreshed > 0);
}

// The server is silent, and the limit of the extension is further away than the end of the hold.
BOOST_AUTO_TEST_CASE(an_extension_ends_with_its_hold) {
  scene s;
  process& p = s.add(with_timeout(5s));
  hold held = take(s, p, {.lease = 1s, .renew = renewal::none});
  s.w.server(0).freeze();
  const auto ends = detail::access::state(held)->deadline();
  s.run(p, [&]() -> awaitable<void> {
    auto extending = held.extend(10s, as_tuple);
    const auto [why] = co_await std::move(extending);
    BOOST_TEST(why == error::lost, why.message());
  });
  BOOST_TEST((p.now() - ends < 1ms));
}

// Less is left of the lease than the next holder's margin: it is not passed on, or its loss would be reported at once.
BOOST_AUTO_TEST_CASE(a_cohort_leaves_the_next_holder_more_than_its_margin) {
  scene s;
  client_options o;
  o.cohort = 1s;
  process& p = s.add(o);
  hold first = take(s, p, {.lease = 3s, .renew = renewal::none});
  const auto& next = s.start(p, {.lease = 3s, .renew = renewal::none, .margin = 2500ms});
  s.wait(800ms);
  release_now(s, p, first);
  s.finish();
  BOOST_REQUIRE(next.succeeded());
  BOOST_TEST(p.client().stats().passed == 0U);
  s.wait(300ms);
  BOOST_TEST(next.got.valid());
}

// With less of its lease, a renewal may come too late, and a hold that is not renewed would be a short one.
BOOST_AUTO_TEST_CASE(a_cohort_leaves_the_next_holder_half_of_its_lease) {
  scene s;
  client_options o;
  o.cohort = 1s;
  process& p = s.add(o);
  const acquire_options none{.lease = 1200ms, .renew = renewal::none};
  hold first = take(s, p, none);
  auto& second = s.start(p, none);
  s.wait(400ms);
  release_now(s, p, first);
  s.finish();
  BOOST_REQUIRE(second.succeeded());
  BOOST_TEST(p.client().stats().passed == 1U);
  auto& third = s.start(p, none);
  s.wait(350ms);
  s.spawn(p, scenarios::release(second.got));
  s.finish();
  BOOST_REQUIRE(third.succeeded());
  BOOST_TEST(p.client().stats().passed == 1U);
  BOOST_TEST((detail::access::state(third.got)->deadline() - p.now() > 1100ms));
}

BOOST_AUTO_TEST_CASE(a_hold_is_renewed_as_often_as_its_option_says) {
  const auto lasts = [](renewal r) {
    scene s;
    process& p = s.add();
    const auto began = s.w.now();
    s.run(p, [&]() -> awaitable<void> {
      const mutex m(p.client(), "n");
      auto waiting = acquire(m, {.lease = 3s, .renew = r});
      auto [ec, h] = co_await std::move(waiting);
      BOOST_REQUIRE(!ec);
      auto losing = h.lost(as_tuple);
      co_await std::move(losing);
    });
    BOOST_TEST(p.client().stats().lost == 1U);
    return std::pair(p.client().stats().renewed, s.w.now() - began);
  };
  for (const std::uint32_t times : {0U, 1U, 5U}) {
    const auto [renewed, lasted] = lasts(times == 0 ? renewal(renewal::none) : renewal::at_most(times));
    BOOST_TEST(renewed == times);
    BOOST_TEST((lasted > 2900ms + times * 900ms && lasted < 3100ms + times * 1100ms));
  }
}

// The server comes back with an older copy of its data, which has not heard of the extension. The next renewal is due
// before the lease ends there.
BOOST_AUTO_TEST_CASE(a_hold_with_few_renewals_uses_one_if_its_extension_was_lost) {
  scene s;
  process& p = s.add();
  hold held = take(s, p, {.lease = 3s, .renew = renewal::at_most(3)});
  const detail::memory::database before = s.w.server(0).data();
  s.run(p, [&]() -> awaitable<void> {
    auto extending = held.extend(10min, as_tuple);
    const auto [why] = co_await std::move(extending);
    BOOST_TEST(!why, why.message());
  });
  s.w.server(0).kill();
  s.w.server(0).start(before);
  s.wait(5s);
  BOOST_TEST(held.valid());
  BOOST_TEST(p.client().stats().renewed > 0U);
}

// It is asked for at another server, which is busy at first: again and again, and that uses up no renewal.
BOOST_AUTO_TEST_CASE(a_hold_with_few_renewals_is_asked_for_until_there_is_an_answer) {
  scene s;
  process& p = s.add();
  s.w.fastest = s.w.slowest = 10ms;
  const hold held = take(s, p, {.lease = 30s, .renew = renewal::at_most(3)});
  s.w.server(0).kill();
  s.w.server(0).start({});
  // The question is on its way.
  for (int i = 0; i < 5000 && p.client().stats().reconnects == 0; ++i) s.wait(1ms);
  s.w.server(0).is_busy = true;
  s.wait(3s);
  s.w.server(0).is_busy = false;
  BOOST_TEST(held.valid());
  s.wait(2s);
  BOOST_TEST(!held.valid());
  BOOST_TEST(p.client().stats().renewed == 0U);
  BOOST_TEST(p.client().stats().renewal_failed == 0U);  // Questions are no renewals.
}

// --- Giving it back ---

// The reply of a release is lost, and its repeat finds nothing: the first sending did it.
BOOST_AUTO_TEST_CASE(a_release_whose_reply_was_lost_is_a_success) {
  scene s;
  s.w.fastest = s.w.slowest = 10ms;
  process& p = s.add();
  s.run(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto waiting = acquire(m, {.lease = 5s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    s.w.after(15ms, [&p] { p.cut_connections(); });
    auto ending = release(h);
    const auto why = co_await std::move(ending);
    BOOST_TEST(!why, why.message());
  });
  BOOST_TEST(p.client().stats().reconnects == 1U);
  BOOST_TEST(p.client().stats().lost == 0U);
}

// A release is lost, its repeat arrives when the lease has ended, and the process stands still until it is answered.
// Its request was on its way for so long that the server's lease ends well after the client's deadline.
BOOST_AUTO_TEST_CASE(a_release_goes_on_until_the_server_s_lease_has_ended) {
  scene s;
  process& p = s.add();
  s.wait(100ms);
  s.w.fastest = s.w.slowest = 100ms;
  s.w.server(0).freeze();
  s.w.after(600ms, [&] { s.w.server(0).thaw(); });
  const auto began = s.w.now();
  s.spawn(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto waiting = acquire(m, {.lease = 1s, .renew = renewal::none});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    p.cut_connections();
    auto ending = release(h);
    const auto why = co_await std::move(ending);
    BOOST_TEST(why == error::unreachable);
  });
  const auto is_left = [&] { return !s.get("n").empty(); };
  s.wait(began + 1100ms - s.w.now());
  BOOST_TEST(is_left());
  s.wait(began + 1500ms - s.w.now());
  BOOST_TEST(!is_left());
  s.finish();
}

BOOST_AUTO_TEST_CASE(a_release_that_came_after_the_lease_is_no_success) {
  scene s;
  s.w.fastest = s.w.slowest = 10ms;
  s.w.lateness = 0.0;
  process& p = s.add();
  hold held = take_at_once(s, p, {.lease = 1s, .renew = renewal::none});
  s.spawn(p, [&]() -> awaitable<void> {
    auto ending = release(held);
    const auto why = co_await std::move(ending);
    BOOST_TEST((why == error::lost || why == error::unreachable), why.message());
  });
  s.wait(5ms);
  p.cut_connections();
  s.wait(1ms);
  for (int i = 0; i < 300 && !p.core().up(); ++i) s.wait(1ms);
  BOOST_TEST(p.core().up());
  BOOST_TEST(!s.get("n").empty());
  s.w.server(0).freeze();
  p.freeze();
  s.wait(1500ms);
  s.w.server(0).thaw();
  s.wait(50ms);
  p.thaw();
  s.finish();
}

// Nothing was asked before the connection came back: whether the hold was lost is not known at once.
BOOST_AUTO_TEST_CASE(a_release_after_the_lease_waits_for_a_connection_that_comes_back) {
  scene s;
  s.w.fastest = s.w.slowest = 10ms;
  process& p = s.add();
  hold held = take(s, p, {.lease = 100ms, .renew = renewal::none});
  s.wait(200ms);
  BOOST_TEST(!held.valid());
  p.cut_connections();
  s.wait(1ms);
  BOOST_TEST(!p.core().up());
  s.run(p, [&]() -> awaitable<void> {
    auto ending = release(held);
    const auto why = co_await std::move(ending);
    BOOST_TEST(why == error::lost, why.message());
  });
  BOOST_TEST(p.core().up());
}

// It ends when the lease of the last request has ended that may have lengthened it.
BOOST_AUTO_TEST_CASE(a_release_that_a_busy_server_never_takes_asks_no_longer_than_something_can_be_left) {
  scene s;
  process& p = s.add();
  hold held = take(s, p, {.lease = 1s, .renew = renewal::none});
  s.w.server(0).is_busy = true;
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

// An attempt that got no answer may still run. The release that makes sure of it is in the background.
BOOST_AUTO_TEST_CASE(a_release_of_a_hold_that_was_lost_says_so_at_once_though_an_attempt_was_repeated) {
  scene s;
  process& p = s.add();
  s.wait(200ms);
  auto& granted = s.start(p, {.lease = 30s});
  s.wait(50us);
  p.cut_connections();
  s.finish();
  BOOST_REQUIRE(granted.succeeded());
  s.w.server(0).execute({"DEL", "n"});
  s.wait(12s);
  BOOST_TEST(!granted.got.valid());
  s.w.server(0).freeze();
  const auto before = s.w.now();
  s.run(p, [&]() -> awaitable<void> {
    auto ending = release(granted.got);
    const auto why = co_await std::move(ending);
    BOOST_TEST(why == error::lost, why.message());
  });
  BOOST_TEST((s.w.now() - before < 1ms));
  s.w.server(0).thaw();
}

// What was sent on a connection that is gone arrives after its lock was given back.
BOOST_AUTO_TEST_CASE(late_bytes_of_a_cut_connection_leave_nothing_behind) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    scene s(1, seed);
    s.w.lateness = 1.0;
    s.w.latest = 1500ms;
    s.w.slowest = 20ms;
    process& p = s.add(with_timeout(500ms));
    s.spawn(p, [&]() -> awaitable<void> {
      const mutex m(p.client(), "n");
      for (int i = 0; i < 3; ++i) {
        auto waiting = acquire(m, {.lease = 20s, .wait = 200ms});
        auto [ec, h] = co_await std::move(waiting);
        if (ec) continue;
        auto ending = release(h);
        const auto why = co_await std::move(ending);
        BOOST_TEST(!why, "a release that the server has done is a success: " << why.message());
      }
    });
    for (int i = 1; i <= 10; ++i) s.w.after(i * 15ms, [&] { p.cut_connections(); });
    s.finish();
    s.wait(5s);
    BOOST_TEST(s.get("n").empty());
  }
}

// The release that is sent once more for them, when none can come any more, may be lost itself. Another client has the
// lock then, so that the late request waits in the queue.
BOOST_AUTO_TEST_CASE(late_bytes_leave_nothing_behind_if_the_last_release_is_lost) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    scene s(1, seed);
    s.w.lateness = 1.0;
    s.w.latest = 400ms;
    s.w.slowest = 5ms;
    process &p = s.add(with_timeout(500ms)), &next = s.add();
    s.wait(100ms);
    const auto began = s.w.now();
    s.spawn(p, [&]() -> awaitable<void> {
      const mutex m(p.client(), "n");
      auto waiting = acquire(m, {.lease = 200ms, .renew = renewal::none});
      auto [ec, h] = co_await std::move(waiting);
      BOOST_REQUIRE(!ec);
      auto ending = release(h);
      co_await std::move(ending);
    });
    s.wait(50us);
    p.cut_connections();
    s.finish();
    s.spawn(next, [&]() -> awaitable<void> {
      const mutex m(next.client(), "n");
      auto waiting = acquire(m, {.lease = 10s});
      auto [ec, h] = co_await std::move(waiting);
      auto pause = next.sleep(5s);
      co_await std::move(pause);
    });
    s.w.after(began + 510ms + seed * 150us - s.w.now(), [&] {
      s.w.lateness = 0;
      p.cut_connections();
    });
    s.wait(3s);
    BOOST_TEST(s.w.server(0).data().execute({"ZCARD", the_queue}).integer == 0);
    s.finish();
  }
}

// An acquire_all that runs into its deadline while its script is on its way gives back what the script has acquired,
// and waits for that no longer than 100 ms, also if the server ends meanwhile.
BOOST_AUTO_TEST_CASE(a_late_grant_of_several_locks_is_given_back_within_the_limit) {
  scene s;
  s.w.fastest = s.w.slowest = 30ms;
  process& p = s.add();
  // The server knows the script then.
  s.run(p, [&]() -> awaitable<void> {
    auto connecting = p.client().ready(as_tuple);
    co_await std::move(connecting);
    const std::vector<mutex> others{mutex(p.client(), "c"), mutex(p.client(), "d")};
    auto waiting = acquire_all({.lease = 20s}, others, as_tuple);
    co_await std::move(waiting);
  });
  s.wait(1s);
  const auto began = s.w.now();
  s.w.after(65ms, [&] { s.w.server(0).kill(); });
  s.run(p, [&]() -> awaitable<void> {
    const std::vector<mutex> both{mutex(p.client(), "a"), mutex(p.client(), "b")};
    auto waiting = acquire_all({.lease = 20s, .wait = 40ms}, both, as_tuple);
    const auto [ec, all] = co_await std::move(waiting);
    BOOST_TEST(ec == error::unreachable);
  });
  BOOST_TEST((s.w.now() - began < 200ms));
}

// --- Errors ---

BOOST_AUTO_TEST_CASE(each_failure_has_its_error_and_is_counted) {
  scene s;
  process &holder = s.add(), &p = s.add(with_timeout(300ms));
  const hold held = take_at_once(s, holder, {.lease = 60s});
  s.run(p, [&]() -> awaitable<void> {
    const mutex busy(p.client(), "n"), free(p.client(), "free");
    const auto expect = [](const error_code& found, error wanted) { BOOST_TEST(found == make_error_code(wanted)); };
    auto first = acquire(busy, {.wait = 100ms});
    expect((co_await std::move(first)).first, error::timed_out);
    auto once = acquire(busy, {.wait = 0ms});
    expect((co_await std::move(once)).first, error::timed_out);
    auto trying = busy.try_acquire({}, as_tuple);
    const auto [none, nothing] = co_await std::move(trying);
    BOOST_TEST((!none && !nothing));
    const std::vector<mutex> both{busy, free};
    auto all = acquire_all({.wait = 50ms}, both, as_tuple);
    const auto [several, holds] = co_await std::move(all);
    expect(several, error::timed_out);
    auto alone = acquire(free, {.lease = 2s, .wait = 300ms, .replicas = 1});
    s.w.server(0).replicas = 1;
    auto [ec, h] = co_await std::move(alone);
    expect(ec, error::no_quorum);
    BOOST_TEST(p.client().stats().timed_out >= 2U);

    auto taking = acquire(free, {.lease = 60s, .renew = renewal::none});
    auto [why, mine] = co_await std::move(taking);
    BOOST_REQUIRE(!why);
    s.w.server(0).data().set_out_of_memory(true);
    auto refusing = acquire(busy, {.wait = 100ms});
    expect((co_await std::move(refusing)).first, error::refused);
    s.w.server(0).data().set_out_of_memory(false);
    s.w.server(0).freeze();
    auto silent = acquire(busy, {.wait = 100ms});
    expect((co_await std::move(silent)).first, error::unreachable);
    auto extending = mine.extend(60s, as_tuple);
    expect(std::get<0>(co_await std::move(extending)), error::unreachable);
    s.w.server(0).thaw();
    auto pause = p.sleep(1s);
    co_await std::move(pause);
    s.w.server(0).data().execute({"DEL", "free"});
    auto ending = release(mine);
    expect(co_await std::move(ending), error::lost);
    auto again = release(mine);
    expect(co_await std::move(again), error::not_held);
    auto longer = mine.extend(60s, as_tuple);
    expect(std::get<0>(co_await std::move(longer)), error::not_held);
    BOOST_TEST(p.client().stats().lost == 1U);
    BOOST_TEST(p.client().stats().refused >= 1U);
  });
}

// For a second there were too few replicas, or no snapshot, or another server was the master. The lock would be busy
// for the whole lease.
BOOST_AUTO_TEST_CASE(a_release_that_is_refused_for_a_while_is_repeated) {
  for (const std::string words : {"NOREPLICAS Not enough good replicas to write.", "MISCONF Redis cannot save",
                                  "READONLY You can't write against a read only replica."}) {
    scene s;
    process& p = s.add();
    hold held = take(s, p, {.lease = 30s});
    s.w.server(0).data().set_refusal_of_writes(words);
    s.run(p, [&]() -> awaitable<void> {
      auto ending = release(held);
      const auto why = co_await std::move(ending);
      BOOST_TEST(why == error::refused, why.message());
    });
    s.wait(500ms);
    BOOST_TEST(!s.get("n").empty());
    s.w.server(0).data().set_refusal_of_writes("");
    s.wait(1s);
    BOOST_TEST(s.get("n").empty());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
