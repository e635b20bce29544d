// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Locks that linger (acquire_options::linger), in virtual time: every way for a lingering lock to end, and what others
// may rely on. docs/protocol.md, "Lingering".
#include "simulation/scene.hpp"

#include "protocol/keys.hpp"
#include "protocol/scripts.hpp"
#include "protocol/slots.hpp"

#include <leasehold/acquire_all.hpp>
#include <leasehold/mutex.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(scenarios)

// Each message takes a millisecond. "n" is lingered for a second.
struct lingering_scene : scene {
  explicit lingering_scene(std::size_t servers = 1, std::uint64_t seed = 1) : scene(servers, seed) {
    w.fastest = w.slowest = 1ms;
  }

  // It has had "n" once, and keeps the record.
  process& add_idle(acquire_options o = {.lease = 30s, .linger = 1s}, client_options its = {}) {
    process& p = add(std::move(its));
    wait(50ms);
    use(p, o);
    return p;
  }
  // Acquires and releases "n"; returns the fence.
  std::uint64_t use(process& p, acquire_options o = {.lease = 30s, .linger = 1s}) {
    hold h = take_at_once(*this, p, o);
    BOOST_TEST(h.valid());
    const auto fence = h.fence();
    release_now(*this, p, h);
    return fence;
  }
  bool is_held() { return !get("n").empty(); }
  // How long another client waits for "n" from now on.
  clock::duration time_to_get(process& p, acquire_options o = {.lease = 30s}) {
    const auto began = w.now();
    hold h = take_at_once(*this, p, o);
    const auto took = w.now() - began;
    BOOST_TEST(h.valid());
    release_now(*this, p, h);
    return took;
  }
  static std::uint64_t commands(process& p) { return p.client().stats().commands; }
  static std::uint64_t lingered(process& p) { return p.client().stats().lingered; }
};

BOOST_AUTO_TEST_CASE(a_lock_that_lingers_is_acquired_again_without_a_command) {
  lingering_scene s;
  process& p = s.add_idle();
  const auto record = s.get("n");
  const auto before = s.commands(p);
  std::uint64_t last = 0;
  const auto began = s.w.now();
  for (int i = 0; i < 100; ++i) {
    const auto fence = s.use(p);
    BOOST_TEST(fence > last);
    last = fence;
  }
  BOOST_TEST(s.commands(p) == before);
  BOOST_TEST((s.w.now() == began));
  BOOST_TEST(s.lingered(p) == 100U);
  BOOST_TEST(s.get("n") == record);
  // The next grant by Redis has a larger fence.
  s.wait(1100ms);
  BOOST_TEST(!s.is_held());
  BOOST_TEST(s.use(p) > last);
}

BOOST_AUTO_TEST_CASE(a_lock_that_lingers_is_free_after_its_time) {
  lingering_scene s;
  s.add_idle({.lease = 30s, .linger = 300ms});
  s.wait(290ms);
  BOOST_TEST(s.is_held());
  s.wait(20ms);
  BOOST_TEST(!s.is_held());
}

BOOST_AUTO_TEST_CASE(a_lock_that_has_lingered_was_not_waited_for) {
  lingering_scene s;
  std::vector<std::chrono::microseconds> waited;
  client_options o;
  o.observer = [&](const event& e) {
    if (e.what == event::kind::acquired) waited.push_back(e.duration);
  };
  process& p = s.add(o);
  s.wait(50ms);
  s.use(p);
  s.wait(500ms);
  s.use(p);
  BOOST_TEST(s.lingered(p) == 1U);
  BOOST_REQUIRE(waited.size() == 2U);
  BOOST_TEST(waited[0].count() > 0);
  BOOST_TEST(waited[1].count() == 0);
}

BOOST_AUTO_TEST_CASE(a_lock_does_not_linger_by_default) {
  lingering_scene s;
  process& p = s.add_idle({.lease = 30s});
  s.wait(1ms);
  BOOST_TEST(!s.is_held());
  BOOST_TEST(s.lingered(p) == 0U);
}

// --- Other clients ---

// Join, "wanted", release, "granted".
BOOST_AUTO_TEST_CASE(another_client_has_a_lock_that_lingers_within_two_round_trips) {
  lingering_scene s;
  process &p = s.add_idle(), &other = s.add();
  s.wait(50ms);
  const auto fence = s.use(p);
  const auto began = s.w.now();
  hold h = take_at_once(s, other, {.lease = 30s});
  BOOST_TEST((s.w.now() - began <= 4ms));
  BOOST_TEST(h.fence() > fence);
  BOOST_TEST(p.client().stats().wanted == 1U);
}

BOOST_AUTO_TEST_CASE(a_hold_that_another_client_wants_is_handed_over_at_its_end) {
  lingering_scene s;
  process &p = s.add_idle(), &other = s.add();
  s.wait(50ms);
  hold h = take_at_once(s, p, {.lease = 30s, .linger = 1s});
  auto& waiting = s.start(other, {.lease = 30s});
  s.wait(100ms);
  BOOST_TEST(!waiting.ended);
  const auto released = s.w.now();
  release_now(s, p, h);
  s.wait(10ms);
  BOOST_TEST(waiting.succeeded());
  BOOST_TEST((waiting.at - released <= 2ms));
  // What it got had a waiter, so it does not linger.
  BOOST_TEST(s.lingered(p) == 1U);
}

// Else each of them would pay for the other one's idle record: the lock lingers less and less.
BOOST_AUTO_TEST_CASE(two_clients_that_take_turns_learn_that_lingering_is_for_nothing) {
  lingering_scene s;
  process &a = s.add(), &b = s.add();
  s.wait(50ms);
  for (int i = 0; i < 200; ++i) {
    s.use(a);
    s.use(b);
  }
  const auto wanted = [&] { return a.client().stats().wanted + b.client().stats().wanted; };
  BOOST_TEST(wanted() >= 2U);
  BOOST_TEST(wanted() <= 16U);
  // One that has the lock for itself has what lingers within 65 turns.
  for (int i = 0; i < 100; ++i) s.use(a);
  BOOST_TEST(s.lingered(a) >= 35U);
  // From then on the pauses begin anew, with one turn.
  s.use(b);
  for (int i = 0; i < 2; ++i) {
    const auto before = wanted();
    s.wait(1100ms);
    s.use(a);
    s.use(b);
    BOOST_TEST(wanted() - before == 1U);
    s.use(a);
    BOOST_TEST(!s.is_held());
    s.use(a);
    BOOST_TEST(s.is_held());
    s.use(a);
  }
}

BOOST_AUTO_TEST_CASE(a_second_waiter_costs_no_second_message) {
  lingering_scene s;
  process &p = s.add_idle(), &a = s.add(), &b = s.add();
  s.wait(50ms);
  int messages = 0;
  s.w.server(0).loses = [&](std::string_view m) {
    messages += m.starts_with("wanted ") ? 1 : 0;
    return false;
  };
  hold h = take_at_once(s, p, {.lease = 30s, .linger = 1s});
  s.start(a, {.lease = 30s});
  s.wait(5ms);
  s.start(b, {.lease = 30s});
  s.wait(100ms);
  BOOST_TEST(messages == 1);
  BOOST_TEST(p.client().stats().wanted == 1U);
  // In case one was lost, the first waiter's polls repeat it, three in two seconds, and the second one's do not.
  s.wait(2s);
  BOOST_TEST(messages <= 1 + 3);
}

BOOST_AUTO_TEST_CASE(without_linger_no_client_is_notified) {
  lingering_scene s;
  process &p = s.add(), &other = s.add();
  bool told = false;
  s.w.server(0).loses = [&](std::string_view m) {
    told = told || m.starts_with("wanted ");
    return false;
  };
  hold h = take(s, p, {.lease = 30s});
  s.start(other, {.lease = 30s});
  s.wait(3s);
  BOOST_TEST(!told);
}

BOOST_AUTO_TEST_CASE(a_lock_that_lingers_is_busy_for_another_attempt_and_not_for_ones_own) {
  lingering_scene s;
  process &p = s.add_idle(), &other = s.add();
  s.wait(50ms);
  s.use(p);
  s.run(other, [&]() -> awaitable<void> {
    const mutex m(other.client(), "n");
    auto trying = m.try_acquire({.lease = 30s}, as_tuple);
    auto [ec, h] = co_await std::move(trying);
    BOOST_TEST(!ec);
    BOOST_TEST(!h.has_value());
  });
  const auto before = s.commands(p);
  s.run(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto trying = m.try_acquire({.lease = 30s}, as_tuple);
    auto [ec, h] = co_await std::move(trying);
    BOOST_TEST(!ec);
    BOOST_REQUIRE(h.has_value());
    BOOST_TEST(h->valid());
    BOOST_TEST(s.commands(p) == before);
    auto ending = release(*h);
    co_await std::move(ending);
  });
}

// The other client joins at each instant of a sequence of short holds.
BOOST_AUTO_TEST_CASE(a_client_that_joins_at_any_instant_of_a_holders_turns_excludes_and_is_served) {
  for (auto delay = 0us; delay <= 6ms; delay += 125us) {
    lingering_scene s;
    process &p = s.add_idle(), &other = s.add();
    s.wait(50ms);
    s.use(p);
    std::optional<clock::time_point> since, until;
    std::uint64_t fence_there = 0;
    std::vector<std::uint64_t> fences;
    s.spawn(p, [&]() -> awaitable<void> {
      const mutex m(p.client(), "n");
      for (int i = 0; i < 30; ++i) {
        auto waiting = acquire(m, {.lease = 30s, .linger = 1s});
        auto [ec, h] = co_await std::move(waiting);
        BOOST_REQUIRE(!ec);
        BOOST_TEST((!since || until));  // The other one has not begun, or has ended.
        BOOST_TEST((fences.empty() || h.fence() > fences.back()));
        if (until) BOOST_TEST(h.fence() > fence_there);
        fences.push_back(h.fence());
        auto pause = p.sleep(700us);
        co_await std::move(pause);
        BOOST_TEST((!since || until));
        auto ending = release(h);
        co_await std::move(ending);
        auto idle = p.sleep(300us);
        co_await std::move(idle);
      }
    });
    s.spawn(other, [&]() -> awaitable<void> {
      auto pause = other.sleep(delay);
      co_await std::move(pause);
      const mutex m(other.client(), "n");
      const auto began = s.w.now();
      auto waiting = acquire(m, {.lease = 30s});
      auto [ec, h] = co_await std::move(waiting);
      BOOST_REQUIRE(!ec);
      since = s.w.now();
      BOOST_TEST((*since - began <= 5ms));
      fence_there = h.fence();
      BOOST_TEST(fence_there > fences.back());
      auto working = other.sleep(2ms);
      co_await std::move(working);
      until = s.w.now();
      auto ending = release(h);
      co_await std::move(ending);
    });
    s.finish();
  }
}

// It joins while the lock is passed on among the holder's own waiters, at each of three holds.
BOOST_AUTO_TEST_CASE(a_client_that_joins_while_a_lock_is_passed_on_is_served_after_the_last_of_them) {
  for (const int joins_at : {0, 1, 2}) {
    lingering_scene s;
    const acquire_options o{.lease = 60s, .linger = 15s};
    client_options longer;
    longer.cohort = 1s;
    process &p = s.add(longer), &other = s.add();
    s.wait(50ms);
    hold h = take_at_once(s, p, o);
    scene::attempt *next[] = {&s.start(p, o), &s.start(p, o)}, *waiting = nullptr;
    for (int i = 0; i < 3; ++i) {
      if (i == joins_at) waiting = &s.start(other, {.lease = 30s});
      s.wait(10ms);
      s.spawn(p, [&]() -> awaitable<void> {
        auto ending = release(h);
        co_await std::move(ending);
      });
      s.wait(1us);
      if (i == 2) break;
      BOOST_REQUIRE(next[i]->succeeded());
      h = std::move(next[i]->got);
    }
    s.wait(5ms);
    BOOST_TEST(waiting->succeeded(), "joined at hold " << joins_at);
    BOOST_TEST(p.client().stats().passed == 2U);
  }
}

// Others may wait behind it, whom no message has announced.
BOOST_AUTO_TEST_CASE(a_lock_that_came_through_the_queue_does_not_linger) {
  lingering_scene s;
  process &a = s.add(), &b = s.add(), &c = s.add();
  hold h = take(s, a, {.lease = 30s});
  auto& second = s.start(b, {.lease = 30s, .linger = 1s});
  s.wait(5ms);
  auto& third = s.start(c, {.lease = 30s});
  s.wait(5ms);
  h = hold();
  s.wait(20ms);
  BOOST_TEST(second.succeeded());
  const auto released = s.w.now();
  second.got = hold();
  s.wait(10ms);
  BOOST_TEST(third.succeeded());
  BOOST_TEST((third.at - released <= 2ms));
}

// --- What can go wrong ---

const auto loses_wanted = [](std::string_view message) { return message.starts_with("wanted "); };

BOOST_AUTO_TEST_CASE(a_waiter_whose_message_is_lost_waits_for_linger_at_most) {
  lingering_scene s;
  s.add_idle({.lease = 30s, .linger = 400ms});
  process& other = s.add();
  s.w.server(0).loses = loses_wanted;
  const auto took = s.time_to_get(other);
  BOOST_TEST((took > 100ms));
  BOOST_TEST((took <= 500ms));
}

// Its word gets old: the client asks Redis again, at half of the time.
BOOST_AUTO_TEST_CASE(a_waiter_whose_messages_are_lost_is_overtaken_for_linger_at_most) {
  lingering_scene s;
  const acquire_options often{.lease = 30s, .linger = 400ms};
  process &p = s.add_idle(often), &other = s.add();
  s.wait(50ms);
  s.w.server(0).loses = loses_wanted;
  bool over = false;
  s.spawn(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    while (!over) {
      auto waiting = acquire(m, often);
      auto [ec, h] = co_await std::move(waiting);
      BOOST_REQUIRE(!ec);
      auto pause = p.sleep(5ms);
      co_await std::move(pause);
      auto ending = release(h);
      co_await std::move(ending);
    }
  });
  s.wait(1s);
  BOOST_TEST(s.lingered(p) > 150U);
  BOOST_TEST(s.commands(p) < 15U);
  auto& waiting = s.start(other, {.lease = 30s});
  const auto began = s.w.now();
  s.wait(600ms);
  BOOST_TEST(waiting.succeeded());
  BOOST_TEST((waiting.at - began <= 500ms));
  over = true;
  waiting.got = hold();
  s.finish();
}

// It is used once just before its client would ask Redis again, and is idle from then on.
BOOST_AUTO_TEST_CASE(a_lock_lingers_for_no_longer_than_linger_after_redis_last_word) {
  for (const auto used_at : {100ms, 150ms, 190ms, 197ms, 250ms, 390ms}) {
    lingering_scene s;
    const acquire_options often{.lease = 30s, .linger = 400ms};
    process &p = s.add(), &other = s.add();
    s.wait(50ms);
    s.use(other, {.lease = 30s});
    s.w.server(0).loses = loses_wanted;
    s.use(p, often);
    auto& waiting = s.start(other, {.lease = 30s});
    const auto began = s.w.now();
    s.wait(used_at);
    auto& used = s.start(p, often);
    s.wait(1us);
    if (used.ended) {
      hold h = std::move(used.got);
      s.spawn(p, [&]() -> awaitable<void> {
        auto ending = release(h);
        co_await std::move(ending);
      });
      s.wait(1us);
    }
    s.wait(1s);
    BOOST_REQUIRE(waiting.succeeded());
    BOOST_TEST((waiting.at - began <= 410ms), "used after " << used_at.count() << " ms");
  }
}

// The cohort fetches its next fence ahead of time, and another client joins behind that, or in front of it, unheard.
BOOST_AUTO_TEST_CASE(a_client_that_joins_beside_a_fetched_fence_is_not_forgotten) {
  for (const bool is_unheard : {false, true}) {
    for (auto joins_at = 0us; joins_at <= 9ms; joins_at += 250us) {
      lingering_scene s;
      const acquire_options o{.lease = 60s, .linger = 400ms};
      process &p = s.add(), &other = s.add();
      s.wait(50ms);
      s.use(other, {.lease = 30s});
      hold h = take_at_once(s, p, o);
      scene::attempt* const next[] = {&s.start(p, o), &s.start(p, o)};
      scene::attempt* waiting = nullptr;
      if (is_unheard) s.w.server(0).loses = loses_wanted;
      auto ends = s.w.now();
      s.w.after(joins_at, [&] { waiting = &s.start(other, {.lease = 30s}); });
      for (int i = 0; i < 3; ++i) {
        ends += 3ms;
        s.wait(ends - s.w.now());
        s.spawn(p, [&]() -> awaitable<void> {
          auto ending = release(h);
          co_await std::move(ending);
        });
        s.wait(1us);
        if (i == 2) break;
        if (!next[i]->ended) break;  // Redis has granted the other client the lock.
        h = std::move(next[i]->got);
      }
      s.wait(is_unheard ? 410ms : 10ms);
      BOOST_TEST(waiting->succeeded(), "joined after " << joins_at.count() << " us");
    }
  }
}

// The record was deleted by hand, and another token of the client is granted the lock before it hears of that.
BOOST_AUTO_TEST_CASE(two_tokens_of_a_client_do_not_linger_for_one_lock) {
  lingering_scene s;
  const acquire_options o{.lease = 60s, .linger = 15s};
  process& p = s.add();
  s.wait(50ms);
  hold first = take_at_once(s, p, o);
  s.w.server(0).data().execute({"DEL", "n"});
  hold second;
  s.spawn(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto trying = m.try_acquire({.lease = 60s, .linger = 15s}, as_tuple);
    auto [ec, h] = co_await std::move(trying);
    BOOST_TEST(!ec);
    BOOST_REQUIRE(h.has_value());
    second = std::move(*h);
  });
  s.spawn(p, [&]() -> awaitable<void> {
    auto ending = release(first);
    co_await std::move(ending);
  });
  s.finish();
  BOOST_REQUIRE(second.valid());
  const auto token = second.token();
  // The one that lingers first ends now, and not when its time is over.
  std::size_t ended = 0;
  s.w.server(0).on_run = [&](const detail::script&, const auto& arguments, const auto&) {
    ended += arguments[0] == "release" && arguments[1] == first.token() ? 1U : 0U;
  };
  release_now(s, p, second);
  s.wait(5ms);
  s.w.server(0).on_run = nullptr;
  BOOST_TEST(ended == 1U);
  BOOST_TEST(s.get("n").starts_with("leasehold:" + token));
  const auto before = s.commands(p);
  s.use(p, o);
  BOOST_TEST(s.commands(p) == before);
  p.cut_connections();
  s.wait(100ms);
  BOOST_TEST(!s.is_held());
}

// A message that is lost comes again with the waiter's next poll.
BOOST_AUTO_TEST_CASE(a_waiter_asks_for_the_lock_again_with_each_poll) {
  lingering_scene s;
  s.add_idle({.lease = 60s, .linger = 15s});
  process& other = s.add();
  s.wait(50ms);
  int lost = 0;
  s.w.server(0).loses = [&](std::string_view m) { return m.starts_with("wanted ") && ++lost == 1; };
  const auto took = s.time_to_get(other);
  BOOST_TEST(lost == 2);
  BOOST_TEST((took > 600ms));
  BOOST_TEST((took < 700ms));
}

BOOST_AUTO_TEST_CASE(a_process_that_freezes_while_its_lock_lingers_costs_the_lease) {
  lingering_scene s;
  const acquire_options o{.lease = 2s, .linger = 600ms};
  process &p = s.add_idle(o), &other = s.add();
  s.wait(20ms);
  const auto fence = s.use(p, o);
  p.freeze();
  hold h = take_at_once(s, other, {.lease = 30s});
  BOOST_TEST(h.fence() > fence);
  // When it goes on, it does not take what it had.
  auto& again = s.start(p, o);
  s.wait(100ms);
  p.thaw();
  s.wait(100ms);
  BOOST_TEST(!again.ended);
  BOOST_TEST(h.valid());
  release_now(s, other, h);
  s.wait(10ms);
  BOOST_TEST(again.succeeded());
  BOOST_TEST(again.got.fence() > fence);
}

// The message is lost with the connection.
BOOST_AUTO_TEST_CASE(a_lock_does_not_linger_past_a_reconnect) {
  lingering_scene s;
  const acquire_options o{.lease = 60s, .linger = 15s};
  process &p = s.add_idle(o), &other = s.add();
  s.wait(50ms);
  auto& waiting = s.start(other, {.lease = 30s});
  s.w.after(1500us, [&] { p.cut_connections(); });
  s.wait(200ms);
  BOOST_TEST(waiting.succeeded());
  BOOST_TEST(p.client().stats().wanted == 0U);
}

// The answer that grants the lock is lost with its connection, and another client joins before the request is repeated.
BOOST_AUTO_TEST_CASE(a_grant_whose_answer_was_lost_does_not_overtake_a_client_that_joined_since) {
  std::size_t late = 0;
  for (auto delay = 0us; delay <= 30ms; delay += 500us) {
    lingering_scene s;
    const acquire_options o{.lease = 60s, .linger = 15s};
    process &p = s.add(), &other = s.add();
    s.wait(50ms);
    s.use(other, {.lease = 30s});  // The server knows the script then.
    auto& first = s.start(p, o);
    s.w.after(1500us, [&] { p.cut_connections(); });
    s.wait(1600us);
    BOOST_REQUIRE(!s.get("n").empty());
    BOOST_REQUIRE(!first.ended);
    s.wait(delay);
    auto& waiting = s.start(other, {.lease = 30s});
    for (int i = 0; i < 100000 && !first.ended; ++i) s.wait(100us);
    BOOST_REQUIRE(first.succeeded());
    if (waiting.ended) continue;
    ++late;
    release_now(s, p, first.got);
    s.wait(20ms);
    BOOST_TEST(waiting.succeeded(), "joined after " << delay.count() << " us");
  }
  BOOST_TEST(late > 10U);
}

// The same while it is held: it is released with the hold.
BOOST_AUTO_TEST_CASE(a_hold_after_a_reconnect_knows_again_whether_others_wait) {
  for (const bool another_waits : {false, true}) {
    lingering_scene s;
    const acquire_options o{.lease = 60s, .linger = 15s};
    process &p = s.add_idle(o), &other = s.add();
    s.wait(50ms);
    hold h = take_at_once(s, p, o);
    auto* const waiting = another_waits ? &s.start(other, {.lease = 30s}) : nullptr;
    s.w.after(1500us, [&] { p.cut_connections(); });
    s.wait(200ms);
    release_now(s, p, h);
    s.wait(5ms);
    BOOST_TEST(s.is_held());
    BOOST_TEST(p.client().stats().wanted == (another_waits ? 1U : 0U));
    if (another_waits) {
      BOOST_TEST(waiting->succeeded());
    } else {
      const auto before = s.commands(p);
      s.use(p, o);
      BOOST_TEST(s.commands(p) == before);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_lock_does_not_linger_past_a_change_of_the_server) {
  for (const bool keeps_data : {false, true}) {
    lingering_scene s;
    const acquire_options o{.lease = 60s, .linger = 15s};
    process& p = s.add_idle(o);
    auto data = keeps_data ? s.w.server(0).data() : detail::memory::database();
    s.w.server(0).kill();
    s.w.server(0).start(std::move(data));
    s.wait(500ms);
    BOOST_TEST(!s.is_held());
    const auto before = s.lingered(p);
    s.use(p, o);
    BOOST_TEST(s.lingered(p) == before);
  }
}

// While it is away nothing is granted either, although the lease goes on.
BOOST_AUTO_TEST_CASE(a_lock_that_lingers_is_not_granted_while_the_server_is_away) {
  lingering_scene s;
  const acquire_options o{.lease = 60s, .linger = 15s};
  process& p = s.add_idle(o);
  s.w.server(0).kill();
  s.wait(5ms);
  const auto [ec, h] = s.acquire(p, {.lease = 60s, .wait = 100ms, .linger = 15s});
  BOOST_TEST(ec == error::unreachable);
}

BOOST_AUTO_TEST_CASE(a_lock_does_not_linger_past_a_step_of_the_servers_clock) {
  lingering_scene s;
  const acquire_options o{.lease = 60s, .linger = 15s};
  process& p = s.add_idle(o);
  s.w.clock_of_server(0).offset += 5s;
  s.acquire(p, mutex(p.client(), "another"), {.lease = 30s});  // Its reply shows the step.
  s.wait(5ms);
  BOOST_TEST(!s.is_held());
  BOOST_TEST(p.client().stats().clock_jumps == 1U);
}

BOOST_AUTO_TEST_CASE(closing_a_client_releases_what_lingers) {
  lingering_scene s;
  process& p = s.add_idle({.lease = 60s, .linger = 15s});
  s.run(p, [&]() -> awaitable<void> {
    auto closing = p.client().close(as_tuple);
    const auto [ec] = co_await std::move(closing);
    BOOST_TEST(!ec);
  });
  BOOST_TEST(!s.is_held());
}

BOOST_AUTO_TEST_CASE(a_lock_that_was_broken_does_not_linger) {
  lingering_scene s;
  const acquire_options o{.lease = 60s, .linger = 15s};
  process &p = s.add_idle(o), &other = s.add();
  const auto token = s.get("n");
  s.w.server(0).execute({"DEL", "n"});
  s.w.server(0).execute({"PUBLISH", detail::client_channel("0", token.substr(10, token.find('.') - 10)),
                         "broken " + token.substr(10, token.rfind(':') - 10)});
  s.wait(10ms);
  s.time_to_get(other);
  const auto before = s.lingered(p);
  s.use(p, o);
  BOOST_TEST(s.lingered(p) == before);
}

// The hold is released while its client asks whether it was broken.
BOOST_AUTO_TEST_CASE(a_lock_does_not_linger_past_the_answer_that_it_was_broken) {
  lingering_scene s;
  const acquire_options o{.lease = 60s, .linger = 15s};
  process& p = s.add();
  s.wait(50ms);
  hold h = take_at_once(s, p, o);
  const auto fence = h.fence();
  const auto token = h.token();
  s.w.server(0).execute({"DEL", "n"});
  s.w.server(0).execute({"PUBLISH", detail::client_channel("0", token.substr(0, token.find('.'))), "broken " + token});
  s.wait(1500us);  // The message has come, and the question is on its way.
  const auto before = s.commands(p);
  release_now(s, p, h);
  BOOST_TEST(s.commands(p) == before);  // It lingers.
  s.wait(10ms);
  const hold again = take_at_once(s, p, o);
  BOOST_TEST(s.lingered(p) == 0U);
  BOOST_TEST(again.fence() > fence);
  BOOST_TEST(s.get("n").starts_with("leasehold:" + again.token()));
}

// A third of the lease: then a renewal would be due.
BOOST_AUTO_TEST_CASE(a_lock_lingers_for_a_third_of_its_lease_at_most) {
  lingering_scene s;
  s.add_idle({.lease = 900ms, .linger = 10s});
  s.wait(250ms);
  BOOST_TEST(s.is_held());
  s.wait(60ms);
  BOOST_TEST(!s.is_held());
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_used_again_and_again_lingers_for_longer_than_its_lease) {
  lingering_scene s;
  const acquire_options o{.lease = 600ms, .linger = 100ms};
  process& p = s.add_idle(o);
  const auto commands = s.commands(p);
  std::uint64_t last = 0;
  for (int i = 0; i < 300; ++i) {
    s.wait(10ms);
    const auto fence = s.use(p, o);
    BOOST_TEST(fence > last);
    last = fence;
  }
  BOOST_TEST(s.lingered(p) == 300U);
  // One for half of `linger`.
  BOOST_TEST(s.commands(p) - commands <= 60U);
}

// A hold that takes longer than `linger` asks when it ends.
BOOST_AUTO_TEST_CASE(long_holds_linger_too) {
  lingering_scene s;
  const acquire_options o{.lease = 30s, .linger = 100ms};
  process& p = s.add_idle(o);
  for (int i = 0; i < 5; ++i) {
    s.wait(5ms);
    hold h = take_at_once(s, p, o);
    s.wait(1s);
    release_now(s, p, h);
  }
  BOOST_TEST(s.lingered(p) == 5U);
}

// --- The next hold ---

BOOST_AUTO_TEST_CASE(fences_grow_past_the_passes_of_one_grant) {
  lingering_scene s;
  s.w.fastest = s.w.slowest = 10us;
  const acquire_options o{.lease = 30s, .linger = 10s};
  process& p = s.add_idle(o);
  const auto commands = s.commands(p);
  std::uint64_t last = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto fence = s.use(p, o);
    if (fence <= last) BOOST_TEST(fence > last);
    last = fence;
    if (i % 100 == 0) s.wait(1ms);
  }
  BOOST_TEST(s.lingered(p) == 5000U);
  BOOST_TEST(s.commands(p) - commands < 10U);
  s.wait(11s);
  BOOST_TEST(s.use(p, o) > last);
}

// The server is silent: after 2047 holds the fences of its last word are used up.
BOOST_AUTO_TEST_CASE(no_fence_is_made_up_beyond_those_of_one_grant) {
  lingering_scene s;
  const acquire_options o{.lease = 30s, .linger = 10s};
  process& p = s.add_idle(o);
  s.wait(10ms);
  const auto first = s.use(p, o);
  s.w.server(0).freeze();
  std::uint64_t last = first;
  for (int i = 0; i < 2046; ++i) last = s.use(p, o);
  BOOST_TEST(last / 2048 == first / 2048);
  const auto [ec, h] = s.acquire(p, {.lease = 30s, .wait = 100ms, .linger = 10s});
  BOOST_TEST(ec.failed());
}

BOOST_AUTO_TEST_CASE(a_waiter_that_asks_for_more_than_is_left_asks_redis) {
  const acquire_options o{.lease = 3s, .linger = 900ms};
  for (const auto& [next, is_local] :
       {std::pair(acquire_options{.lease = 3s}, true), std::pair(acquire_options{.lease = 10s}, false),
        std::pair(acquire_options{.lease = 1s}, false),
        std::pair(acquire_options{.lease = 3s, .margin = 2500ms}, false),
        std::pair(acquire_options{.lease = 3s, .renew = renewal::none}, false),
        std::pair(acquire_options{.lease = 3s, .renew = renewal::at_most(2)}, false)}) {
    lingering_scene s;
    process& p = s.add_idle(o);
    s.wait(300ms);
    hold h = take_at_once(s, p, next);
    BOOST_TEST(s.lingered(p) == (is_local ? 1U : 0U));
    BOOST_TEST(h.valid());
    const auto left = h.expires_at() - std::chrono::steady_clock::time_point(p.now().time_since_epoch());
    BOOST_TEST((left <= next.lease));
    BOOST_TEST((left > next.lease - next.lease / 3));
    // It is renewed as any hold.
    if (is_local) {
      s.wait(20s);
      BOOST_TEST(h.valid());
    }
  }
}

BOOST_AUTO_TEST_CASE(the_next_hold_decides_whether_the_lock_lingers_on) {
  lingering_scene s;
  process& p = s.add_idle();
  s.use(p, {.lease = 30s});
  BOOST_TEST(s.lingered(p) == 1U);
  s.wait(1ms);
  BOOST_TEST(!s.is_held());
}

BOOST_AUTO_TEST_CASE(acquire_all_has_what_lingers_with_one_script) {
  lingering_scene s;
  process& p = s.add_idle({.lease = 60s, .linger = 15s});
  s.run(p, [&]() -> awaitable<void> {
    const std::vector<mutex> both{mutex(p.client(), "m"), mutex(p.client(), "n")};
    const auto began = s.w.now();
    auto waiting = acquire_all({.lease = 30s}, both, as_tuple);
    auto [ec, all] = co_await std::move(waiting);
    BOOST_TEST(!ec);
    BOOST_TEST((s.w.now() - began <= 4ms));  // The script is sent with its text the first time.
    BOOST_TEST(all.size() == 2U);
  });
}

// It is not connected yet: the locks are acquired one after the other.
BOOST_AUTO_TEST_CASE(what_acquire_all_has_acquired_does_not_linger) {
  lingering_scene s;
  process& p = s.add();
  s.run(p, [&]() -> awaitable<void> {
    const std::vector<mutex> both{mutex(p.client(), "m"), mutex(p.client(), "n")};
    auto waiting = acquire_all({.lease = 30s, .linger = 10s}, both, as_tuple);
    auto [ec, all] = co_await std::move(waiting);
    BOOST_TEST(!ec);
    BOOST_TEST(all.size() == 2U);
    for (hold& h : all) {
      auto ending = release(h);
      co_await std::move(ending);
    }
  });
  BOOST_TEST(s.get("m").empty());
  BOOST_TEST(!s.is_held());
}

// The coroutines of one client come first, and what they leave lingers.
BOOST_AUTO_TEST_CASE(a_cohort_and_lingering_go_together) {
  lingering_scene s;
  process& p = s.add_idle();
  std::vector<std::uint64_t> fences;
  for (int i = 0; i < 5; ++i) {
    s.spawn(p, [&]() -> awaitable<void> {
      const mutex m(p.client(), "n");
      for (int n = 0; n < 20; ++n) {
        auto waiting = acquire(m, {.lease = 30s, .linger = 1s});
        auto [ec, h] = co_await std::move(waiting);
        BOOST_REQUIRE(!ec);
        fences.push_back(h.fence());
        auto pause = p.sleep(100us);
        co_await std::move(pause);
        auto ending = release(h);
        co_await std::move(ending);
      }
    });
  }
  s.finish();
  BOOST_TEST(fences.size() == 100U);
  BOOST_TEST(std::is_sorted(fences.begin(), fences.end(), std::less_equal<>()));
  s.wait(2s);
  BOOST_TEST(!s.is_held());
  // Once it is free again, it lingers again.
  s.use(p);
  const auto commands = s.commands(p);
  s.use(p);
  BOOST_TEST(s.commands(p) == commands);
}

// The message about the waiter is lost. The answer that brings the cohort's next fence says so, too.
BOOST_AUTO_TEST_CASE(a_cohort_whose_next_fence_is_refused_for_a_waiter_does_not_linger) {
  lingering_scene s;
  client_options brief;
  brief.cohort = 20ms;
  process &p = s.add(brief), &other = s.add();
  s.wait(50ms);
  const acquire_options o{.lease = 30s, .linger = 1s};
  hold first = take_at_once(s, p, o);
  auto& next = s.start(p, o);
  s.w.server(0).loses = loses_wanted;
  auto& waiting = s.start(other, {.lease = 30s});
  s.wait(12ms);
  BOOST_TEST(p.client().stats().wanted == 0U);
  s.spawn(p, release(first));
  s.wait(10ms);
  BOOST_REQUIRE(next.succeeded());
  BOOST_TEST(p.client().stats().passed == 1U);
  BOOST_TEST(p.client().stats().wanted == 1U);
  const auto released = s.w.now();
  s.spawn(p, release(next.got));
  s.wait(10ms);
  BOOST_REQUIRE(waiting.succeeded());
  BOOST_TEST((waiting.at - released <= 2ms));
}

// The answer to that request is a new fence, and the record has it from then on. Here the request has to be sent again,
// behind the renewal: another program brings the script that the server did not know.
BOOST_AUTO_TEST_CASE(a_hold_is_detached_after_the_request_for_the_next_fence) {
  lingering_scene s;
  process& p = s.add_idle();
  s.wait(600ms);
  s.w.server(0).forget_scripts();
  s.run(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto waiting = acquire(m, {.lease = 30s, .linger = 1s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    s.w.after(1200us, [&s] {
      const std::string_view key = "other";
      const std::array<std::string_view, 3> renewal{"renew", "x", "1"};
      s.w.server(0).run(detail::scripts::mutex, /*whole_text=*/true, {&key, 1}, renewal);
    });
    auto shortly = p.sleep(500us);
    co_await std::move(shortly);
    auto detaching = h.detach(as_tuple);
    const auto [why, given] = co_await std::move(detaching);
    BOOST_REQUIRE(!why);
    auto pause = p.sleep(100ms);
    co_await std::move(pause);
    auto resuming = p.client().resume(given, as_tuple);
    const auto [lost, resumed] = co_await std::move(resuming);
    BOOST_TEST(!lost, lost.message());
    BOOST_TEST(resumed.fence() == given.fence());
  });
  BOOST_TEST(s.lingered(p) == 1U);
}

// The connection breaks while that request is on its way, and its bytes reach the server half a second later.
BOOST_AUTO_TEST_CASE(a_hold_that_is_detached_behind_a_late_request_for_the_next_fence_is_not_lost) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    lingering_scene s(1, seed);
    s.w.lateness = 1.0;
    process& p = s.add_idle({.lease = 30s, .linger = 1s}, with_timeout(600ms));
    s.wait(600ms);
    ticket given;
    s.spawn(p, [&]() -> awaitable<void> {
      const mutex m(p.client(), "n");
      auto waiting = acquire(m, {.lease = 30s, .linger = 1s});
      auto [ec, h] = co_await std::move(waiting);
      BOOST_REQUIRE(!ec);
      auto detaching = h.detach(as_tuple);
      auto [why, its] = co_await std::move(detaching);
      BOOST_TEST(!why, why.message());
      given = its;
    });
    s.wait(10us);
    p.cut_connections();
    s.finish();
    s.wait(1s);
    s.run(p, [&]() -> awaitable<void> {
      auto resuming = p.client().resume(given, as_tuple);
      auto [lost, resumed] = co_await std::move(resuming);
      BOOST_TEST(!lost, lost.message());
    });
  }
}

// --- A cluster ---

struct lingering_cluster : lingering_scene {
  lingering_cluster() : lingering_scene(3) { w.make_cluster(2); }
  const std::uint16_t slot = detail::slot_of("n");
};

BOOST_AUTO_TEST_CASE(a_lock_lingers_in_a_cluster_once_the_messages_of_its_slot_arrive) {
  lingering_cluster s;
  process &p = s.add(), &other = s.add();
  s.wait(200ms);
  hold h = take_at_once(s, p, {.lease = 30s, .linger = 1s});
  s.wait(20ms);
  release_now(s, p, h);
  const auto commands = s.commands(p);
  for (int i = 0; i < 10; ++i) s.use(p);
  BOOST_TEST(s.commands(p) == commands);
  BOOST_TEST(s.lingered(p) == 10U);
  // The other client subscribes before it joins.
  BOOST_TEST((s.time_to_get(other) <= 10ms));
  BOOST_TEST(p.client().stats().wanted == 1U);
}

BOOST_AUTO_TEST_CASE(a_lock_does_not_linger_past_a_move_of_its_slot) {
  lingering_cluster s;
  process& p = s.add();
  s.wait(200ms);
  const acquire_options o{.lease = 60s, .linger = 15s};
  hold h = take_at_once(s, p, o);
  s.wait(20ms);
  release_now(s, p, h);
  const auto home = s.w.cluster()->owner(s.slot);
  const std::string tag{detail::tag_of_slot(s.slot)};
  s.w.cluster()->begin_to_move(s.slot, 1 - home);
  s.w.cluster()->move_key(s.slot, "n");
  s.w.cluster()->move_key(s.slot, std::string(detail::fence_key(s.slot)));
  s.w.cluster()->end_move(s.slot);
  for (std::size_t i = 0; i < s.w.number_of_servers(); ++i) s.w.cluster()->announce_slots(i);
  s.w.server(home).close_connections();
  s.wait(500ms);
  BOOST_TEST(s.get("n", 1 - home).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
