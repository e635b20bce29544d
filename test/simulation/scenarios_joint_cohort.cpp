// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Coroutines of one client pass on what several of them hold at a time: permits, readers, the entries of one owner
// (docs/protocol.md, "A cohort of several holds").
#include "lock/hold_state.hpp"
#include "simulation/scene.hpp"

#include "support/unit_test.hpp"

#include <leasehold/counting_semaphore.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/recursive_mutex.hpp>
#include <leasehold/shared_mutex.hpp>
#include <leasehold/ticket.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(scenarios)

using namespace simulation;

namespace {

// The coroutines of `p` that acquire, work and release again and again, until `stop`.
struct crowd : scene {
  explicit crowd(client_options o = {}, clock::duration way = 1ms) : p(add(std::move(o))) {
    w.fastest = w.slowest = way;
    w.server(0).on_run = [this](const auto&, const auto& arguments, const auto&) {
      ++calls[std::string(arguments[0])];
    };
  }
  template <class Lock>
  void add_workers(const Lock& lock, int number, clock::duration work, acquire_options o = {.lease = 10s}) {
    for (int i = 0; i < number; ++i) {
      spawn(p, [this, lock, work, o, number = i + 1]() -> awaitable<void> {
        while (!stop && fences.size() < enough && !(leave && number > staying)) {
          auto waiting = scenarios::acquire(lock, o);
          auto [ec, h] = co_await std::move(waiting);
          if (ec == error::wrong_limit) break;
          BOOST_REQUIRE(!ec);
          most = std::max(most, ++inside);
          fences.push_back(h.fence());
          deepest = std::max(deepest, h.depth());
          // (A pushed grant has a short one until it is confirmed.)
          const auto state = detail::access::state(h);
          if (state->confirmed()) shortest = std::min(shortest, state->deadline() - p.now());
          if (work != clock::duration(0)) {
            auto pause = p.sleep(work);
            co_await std::move(pause);
          }
          BOOST_TEST(h.valid());
          --inside;
          auto ending = scenarios::release(h);
          BOOST_TEST(!co_await std::move(ending));
        }
      });
    }
  }
  void resize(process& by, const counting_semaphore& lock, std::uint32_t limit) {
    spawn(by, [lock, limit]() -> awaitable<void> {
      auto resizing = lock.resize(limit, as_tuple);
      const auto [ec] = co_await std::move(resizing);
      BOOST_TEST(!ec);
    });
  }
  int number_of_calls() const {
    int all = 0;
    for (const auto& [what, n] : calls) all += n;
    return all;
  }
  void end() {
    stop = true;
    finish();
    wait(1s);
    BOOST_TEST(w.server(0).data().execute({"EXISTS", "n", the_queue}).integer == 0);
  }
  // From now on; it takes that long.
  template <class Lock>
  clock::duration time_of(process& by, Lock lock) {
    const auto began = w.now();
    const attempt& a = start(by, std::move(lock), {.lease = 10s});
    for (int i = 0; i < 1000 && !a.ended; ++i) wait(1ms);
    BOOST_REQUIRE(a.succeeded());
    return a.at - began;
  }

  process& p;
  bool stop = false, leave = false;
  int staying = 0;  // So many of the workers that were added at once, if the others are to leave.
  std::size_t enough = 1000000;
  std::map<std::string, int> calls;
  std::vector<std::uint64_t> fences;  // In the order of the grants.
  int inside = 0, most = 0;
  std::size_t deepest = 0;
  clock::duration shortest = clock::duration::max();  // What was left of the lease at a grant.
};

// The bound, the work, the messages of a release and its grant, and of what was on its way.
constexpr clock::duration soon = 10ms + 1ms + 8ms;

}  // namespace

BOOST_AUTO_TEST_CASE(permits_are_passed_on_without_asking) {
  crowd s;
  s.enough = 10000;
  s.add_workers(counting_semaphore(s.p.client(), "n", 10), 100, 100us);
  s.finish();
  BOOST_TEST(s.most == 10);
  BOOST_TEST(s.number_of_calls() < 500);
  BOOST_TEST(s.p.client().stats().passed > 9500U);
  // Each has its own, in the order of the grants.
  BOOST_TEST((std::adjacent_find(s.fences.begin(), s.fences.end(), std::greater_equal<>()) == s.fences.end()));
  s.end();
}

BOOST_AUTO_TEST_CASE(readers_are_passed_on_without_asking) {
  crowd s;
  s.enough = 10000;
  s.add_workers(shared_mutex(s.p.client(), "n").shared(), 100, clock::duration(0));
  s.finish();
  BOOST_TEST(s.number_of_calls() < 1000);
  BOOST_TEST(s.p.client().stats().passed > 9500U);
  // While there are readers, their phase goes on.
  BOOST_TEST(std::set(s.fences.begin(), s.fences.end()).size() < 10U);
  s.end();
}

BOOST_AUTO_TEST_CASE(entries_of_an_owner_are_passed_on_without_asking) {
  crowd s;
  s.enough = 10000;
  s.add_workers(recursive_mutex(s.p.client(), "n", "o"), 100, clock::duration(0));
  s.finish();
  BOOST_TEST(s.number_of_calls() < 1000);
  BOOST_TEST(s.p.client().stats().passed > 9500U);
  BOOST_TEST(std::set(s.fences.begin(), s.fences.end()).size() < 10U);
  s.end();
}

// Redis is asked now and then whether others wait, and the phase and its fence go on.
BOOST_AUTO_TEST_CASE(what_shares_a_fence_is_passed_on_for_as_long_as_nobody_else_waits) {
  for (const bool reads : {true, false}) {
    crowd s;
    if (reads) {
      s.add_workers(shared_mutex(s.p.client(), "n").shared(), 6, 100us);
    } else {
      s.add_workers(recursive_mutex(s.p.client(), "n", "o"), 6, 100us);
    }
    s.wait(50ms);
    s.calls.clear();
    s.fences.clear();
    s.wait(200ms);
    BOOST_TEST(s.calls["refresh"] > 50);
    BOOST_TEST(s.calls["release"] < 50);
    BOOST_TEST(std::set(s.fences.begin(), s.fences.end()).size() == 1U);
    s.end();
  }
}

// Each pass puts off the next request for a moment only.
BOOST_AUTO_TEST_CASE(passes_keep_no_reader_and_no_permit_from_the_others) {
  for (const bool reads : {true, false}) {
    crowd s;
    if (reads) {
      s.add_workers(shared_mutex(s.p.client(), "n").shared(), 20, 5ms);
    } else {
      s.add_workers(counting_semaphore(s.p.client(), "n", 18), 20, 5ms);
    }
    s.wait(200ms);
    BOOST_TEST(s.most >= 15);
    s.end();
  }
}

BOOST_AUTO_TEST_CASE(a_writer_waits_no_longer_than_the_bound_for_readers_that_are_passed_on) {
  crowd s;
  process& other = s.add();
  s.add_workers(shared_mutex(s.p.client(), "n").shared(), 20, 1ms);
  s.wait(200ms);
  BOOST_TEST(s.p.client().stats().passed > 1000U);
  BOOST_TEST((s.time_of(other, shared_mutex(other.client(), "n")) <= soon));
  s.wait(100ms);
  BOOST_TEST(s.inside == 0);
  s.stop = true;
}

BOOST_AUTO_TEST_CASE(a_writer_of_the_same_client_does_so_too) {
  crowd s;
  s.add_workers(shared_mutex(s.p.client(), "n").shared(), 20, 1ms);
  s.wait(200ms);
  BOOST_TEST((s.time_of(s.p, shared_mutex(s.p.client(), "n")) <= soon));
  s.stop = true;
}

BOOST_AUTO_TEST_CASE(another_owner_waits_no_longer_than_the_bound_for_entries_that_are_passed_on) {
  crowd s;
  process& other = s.add();
  // (Entries that overlap keep others out for as long as they do.)
  s.add_workers(recursive_mutex(s.p.client(), "n", "o"), 2, 1ms);
  s.wait(200ms);
  const auto passed = s.p.client().stats().passed;
  const auto began = s.w.now();
  const auto& a = s.start(other, recursive_mutex(other.client(), "n", "another"), {.lease = 10s});
  s.wait(50ms);
  // At most those of the bound.
  BOOST_TEST(s.p.client().stats().passed - passed <= 2 * 12U);
  s.stop = true;
  s.wait(100ms);
  BOOST_TEST(a.succeeded());
  BOOST_TEST((a.at - began <= 150ms));
}

BOOST_AUTO_TEST_CASE(another_client_has_a_permit_when_the_bound_is_over) {
  crowd s;
  process& other = s.add();
  s.add_workers(counting_semaphore(s.p.client(), "n", 3), 50, 1ms);
  s.wait(200ms);
  BOOST_TEST((s.time_of(other, counting_semaphore(other.client(), "n", 3)) <= soon));
  BOOST_TEST(s.p.client().stats().passed > 500U);
  s.stop = true;
}

BOOST_AUTO_TEST_CASE(permits_are_passed_on_only_as_long_as_a_smaller_limit_has_room) {
  crowd s;
  process& other = s.add();
  s.add_workers(counting_semaphore(s.p.client(), "n", 10), 50, 1ms);
  s.wait(200ms);
  BOOST_TEST(s.inside == 10);
  s.resize(other, counting_semaphore(other.client(), "n", 10), 2);
  s.wait(soon + 4ms);
  BOOST_TEST(s.inside <= 2);
  s.most = 0;
  s.wait(200ms);
  BOOST_TEST(s.most <= 2);
  s.end();
}

BOOST_AUTO_TEST_CASE(permits_are_passed_on_only_as_long_as_their_own_client_s_smaller_limit_has_room) {
  crowd s;
  const counting_semaphore lock(s.p.client(), "n", 10);
  s.add_workers(lock, 50, 1ms);
  s.wait(200ms);
  s.resize(s.p, lock, 2);
  s.wait(200ms);
  s.most = s.inside;
  s.wait(200ms);
  BOOST_TEST(s.most <= 2);
  s.end();
}

BOOST_AUTO_TEST_CASE(no_permit_is_kept_while_more_are_held_than_the_lowered_limit) {
  crowd s;
  const counting_semaphore lock(s.p.client(), "n", 10);
  std::vector<scene::attempt*> in;
  for (int i = 0; i < 10; ++i) in.push_back(&s.start(s.p, lock, {.lease = 10s}));
  s.wait(20ms);
  s.resize(s.p, lock, 2);
  s.wait(20ms);
  const auto& waits = s.start(s.p, lock, {.lease = 10s});
  s.wait(20ms);
  int left = 10;
  for (auto* const one : in) {
    if (waits.ended) break;
    --left;
    s.spawn(s.p, scenarios::release(one->got));
    s.wait(20ms);
  }
  BOOST_TEST(waits.succeeded());
  BOOST_TEST(left == 1);
}

// There is room for all, so nobody waits in the queue whom the new limit would reach.
BOOST_AUTO_TEST_CASE(permits_are_not_passed_on_to_those_who_believe_in_an_earlier_limit) {
  crowd s;
  process& other = s.add();
  s.add_workers(counting_semaphore(s.p.client(), "n", 10), 8, 100us);
  s.enough = 10000000;
  s.wait(1ms);
  s.resize(other, counting_semaphore(other.client(), "n", 10), 9);
  s.wait(soon + 4ms);
  // To the last of them the semaphore was free, and had no limit.
  s.most = 0;
  s.wait(100ms);
  BOOST_TEST(s.most == 1);
  s.end();
}

// Those who have waited with the earlier limit have come first, though others who know the new one are many.
BOOST_AUTO_TEST_CASE(after_a_resize_those_who_have_waited_before_it_come_first) {
  crowd s;
  const counting_semaphore lock(s.p.client(), "n", 2);
  auto& a = s.start(s.p, lock, {.lease = 10s});
  auto& b = s.start(s.p, lock, {.lease = 10s});
  s.wait(50ms);
  std::vector<scene::attempt*> waiters;
  for (int i = 0; i < 6; ++i) waiters.push_back(&s.start(s.p, lock, {.lease = 10s}));
  s.wait(50ms);
  s.resize(s.p, lock, 3);
  s.wait(10ms);
  s.add_workers(lock, 10, 100us);
  for (auto* const first : {&a, &b}) s.spawn(s.p, scenarios::release(first->got));
  for (auto* const w : waiters) {
    for (int i = 0; i < 60 && !w->ended; ++i) s.wait(1ms);
    BOOST_REQUIRE(w->succeeded());
    s.spawn(s.p, scenarios::release(w->got));
  }
  s.end();
}

// Some of them ask beside the local queue.
BOOST_AUTO_TEST_CASE(permits_are_passed_on_in_the_order_of_the_waiters) {
  crowd s;
  const counting_semaphore lock(s.p.client(), "n", 3);
  std::vector<scene::attempt*> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(&s.start(s.p, lock, {.lease = 10s}));
    if (i == 3) s.wait(3500us);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (int n = 0; n < 100 && !all[i]->ended; ++n) s.wait(1ms);
    BOOST_REQUIRE(all[i]->succeeded());
    if (i + 3 < all.size()) BOOST_TEST(!all[i + 3]->ended);
    s.spawn(s.p, scenarios::release(all[i]->got));
  }
  BOOST_TEST(s.p.client().stats().passed > 0U);
  s.end();
}

// Those who have come after it are no part of the group that waited as one entry.
// As soon as the first one waits behind the writer: what was found out before is good for other entries.
BOOST_AUTO_TEST_CASE(no_reader_is_passed_on_to_one_that_waits_behind_a_writer) {
  crowd s;
  process& other = s.add();
  const auto lock = shared_mutex(s.p.client(), "n").shared();
  s.add_workers(lock, 60, 1ms);
  s.wait(100ms);
  const auto& writer = s.start(other, shared_mutex(other.client(), "n"), {.lease = 10s});
  s.wait(5ms);
  BOOST_TEST(!writer.ended);
  const auto passed = s.p.client().stats().passed;
  s.wait(20ms);
  BOOST_TEST(writer.succeeded());
  BOOST_TEST(s.p.client().stats().passed == passed);
  s.stop = true;
}

// Some are passed on meanwhile, and each of the others still has its place.
BOOST_AUTO_TEST_CASE(all_readers_that_have_waited_together_come_before_a_later_writer) {
  crowd s({}, 2ms);
  process& other = s.add();
  const shared_mutex theirs(other.client(), "n");
  auto& first = s.start(other, theirs, {.lease = 10s});
  s.wait(10ms);
  s.add_workers(shared_mutex(s.p.client(), "n").shared(), 100, 5ms);
  s.wait(20ms);
  s.spawn(other, scenarios::release(first.got));
  s.wait(40ms);
  BOOST_TEST(s.fences.size() < 100U);
  s.time_of(other, theirs);
  BOOST_TEST(s.p.client().stats().passed > 10U);
  BOOST_TEST(s.fences.size() == 100U);
  s.stop = true;
}

// They come one after the other, so that a hold is passed on while the next reader asks.
BOOST_AUTO_TEST_CASE(readers_that_have_come_one_by_one_come_together_before_a_later_writer) {
  for (auto later = 3ms + 0us; later < 8ms; later += 250us) {
    crowd s;
    process& other = s.add();
    auto& first = s.start(other, shared_mutex(other.client(), "n"), {.lease = 10s});
    s.wait(10ms);
    for (int i = 0; i < 30; ++i) {
      s.spawn(s.p, [&s, lock = shared_mutex(s.p.client(), "n").shared()]() -> awaitable<void> {
        auto waiting = scenarios::acquire(lock, {.lease = 10s});
        auto [ec, h] = co_await std::move(waiting);
        BOOST_REQUIRE(!ec);
        s.fences.push_back(h.fence());
        auto pause = s.p.sleep(500us);
        co_await std::move(pause);
        auto ending = scenarios::release(h);
        BOOST_TEST(!co_await std::move(ending));
      });
      s.wait(1us);
    }
    s.wait(30ms);
    s.spawn(other, scenarios::release(first.got));
    s.wait(later);
    s.time_of(other, shared_mutex(other.client(), "n"));
    BOOST_TEST(s.fences.size() == 30U, "the writer comes " << later.count() << " us after the release");
  }
}

BOOST_AUTO_TEST_CASE(readers_that_come_later_do_not_follow_those_that_were_passed_on) {
  crowd s;
  process& other = s.add();
  const shared_mutex theirs(other.client(), "n");
  auto& first = s.start(other, theirs, {.lease = 10s});
  s.wait(10ms);
  s.add_workers(shared_mutex(s.p.client(), "n").shared(), 100, 5ms);
  s.wait(20ms);
  s.spawn(other, scenarios::release(first.got));
  s.wait(30ms);
  BOOST_TEST((s.time_of(other, theirs) <= soon + 5ms));
  s.stop = true;
}

// A reader may follow those before it only if it has waited behind them itself.
BOOST_AUTO_TEST_CASE(a_reader_has_no_place_in_the_group_of_one_that_gave_up) {
  for (const bool one_gives_up_while_it_asks : {false, true}) {
    scene s;
    process &p = s.add(), &other = s.add(), &later = s.add();
    s.w.fastest = s.w.slowest = 10ms;
    auto& writes = s.start(other, shared_mutex(other.client(), "n"), {.lease = 10s});
    s.wait(100ms);
    const auto lock = shared_mutex(p.client(), "n").shared();
    std::vector<scene::attempt*> readers{&s.start(p, lock, {.lease = 10s})};
    s.wait(1ms);
    if (!one_gives_up_while_it_asks) readers.push_back(&s.start(p, lock, {.lease = 10s}));
    s.wait(1ms);
    // While the second one asks to follow the first.
    const auto& gives_up = s.start(p, lock, {.lease = 10s, .wait = 130ms});
    s.wait(50ms);
    auto& waits = s.start(later, shared_mutex(later.client(), "n"), {.lease = 10s});
    s.wait(50ms);
    s.spawn(other, scenarios::release(writes.got));
    for (int i = 0; i < 100 && !readers.front()->ended; ++i) s.wait(1ms);
    BOOST_TEST(!gives_up.ended);
    auto& comes_late = s.start(p, lock, {.lease = 10s});
    s.wait(200ms);
    BOOST_TEST((gives_up.ended == error::timed_out));
    BOOST_TEST(!comes_late.ended);
    for (auto* const one : readers) {
      BOOST_REQUIRE(one->succeeded());
      s.spawn(p, scenarios::release(one->got));
    }
    for (int i = 0; i < 1000 && !waits.ended; ++i) s.wait(1ms);
    BOOST_REQUIRE(waits.succeeded());
    BOOST_TEST(!comes_late.ended);
    s.spawn(later, scenarios::release(waits.got));
    s.finish();
    BOOST_TEST(comes_late.succeeded());
  }
}

BOOST_AUTO_TEST_CASE(a_permit_that_is_passed_on_has_a_larger_fence_than_one_of_a_ticket) {
  client_options o;
  o.cohort = 1s;
  scene s;
  process &a = s.add(o), &b = s.add();
  const counting_semaphore lock(a.client(), "n", 2);
  auto& first = s.start(a, lock, {.lease = 10s});
  s.finish();
  auto& second = s.start(b, counting_semaphore(b.client(), "n", 2), {.lease = 10s});
  s.finish();
  ticket made;
  s.run(b, [&]() -> awaitable<void> {
    auto detaching = second.got.detach(as_tuple);
    auto [ec, t] = co_await std::move(detaching);
    BOOST_REQUIRE(!ec);
    made = std::move(t);
  });
  hold resumed;
  s.run(a, [&]() -> awaitable<void> {
    auto resuming = a.client().resume(made, {}, as_tuple);
    auto [ec, h] = co_await std::move(resuming);
    BOOST_REQUIRE(!ec);
    resumed = std::move(h);
  });
  auto& third = s.start(a, lock, {.lease = 10s});
  s.wait(50ms);
  BOOST_TEST(!third.ended);
  s.spawn(a, scenarios::release(first.got));
  s.finish();
  BOOST_REQUIRE(third.succeeded());
  BOOST_TEST(third.got.fence() > resumed.fence());
}

// Each waiter is kept one hold at most: the others are free when their release has ended.
BOOST_AUTO_TEST_CASE(many_releases_keep_one_hold_for_a_waiter) {
  crowd s;
  process& other = s.add();
  const counting_semaphore lock(s.p.client(), "n", 10);
  std::vector<scene::attempt*> in;
  for (int i = 0; i < 10; ++i) in.push_back(&s.start(s.p, lock, {.lease = 10s}));
  s.wait(100ms);
  auto& waits = s.start(s.p, lock, {.lease = 10s});
  s.wait(20ms);
  BOOST_TEST(!waits.ended);
  s.calls.clear();
  for (auto* const one : in) s.spawn(s.p, scenarios::release(one->got));
  s.wait(2500us);
  BOOST_TEST(waits.succeeded());
  // As many as were released, but one.
  for (int i = 0; i < 9; ++i) {
    auto& free = s.start(other, counting_semaphore(other.client(), "n", 10), {.lease = 10s, .wait = 3ms});
    s.wait(4ms);
    BOOST_TEST(free.succeeded());
  }
  BOOST_TEST(s.calls["release"] <= 11);
}

BOOST_AUTO_TEST_CASE(two_readers_pay_for_no_more_than_their_acquires_and_releases) {
  crowd s;
  s.enough = 1000;
  s.add_workers(shared_mutex(s.p.client(), "n").shared(), 2, clock::duration(0));
  s.finish();
  BOOST_TEST(s.number_of_calls() <= 2004);
  s.end();
}

BOOST_AUTO_TEST_CASE(a_depth_is_that_of_the_pass_and_not_of_the_grant_before) {
  crowd s;
  s.staying = 3;
  s.add_workers(recursive_mutex(s.p.client(), "n", "o"), 20, 100us);
  s.wait(100ms);
  BOOST_TEST(s.deepest >= 5U);
  s.leave = true;
  s.wait(500us);
  s.deepest = 0;
  s.wait(4ms);
  BOOST_TEST(s.deepest >= 1U);
  BOOST_TEST(s.deepest <= 4U);
  s.end();
}

// What is passed on was granted when more were in.
BOOST_AUTO_TEST_CASE(a_depth_counts_no_entry_that_has_left_since_the_grant) {
  crowd s;
  const recursive_mutex lock(s.p.client(), "n", "o");
  std::vector<scene::attempt*> in;
  for (int i = 0; i < 30; ++i) in.push_back(&s.start(s.p, lock, {.lease = 10s}));
  s.wait(100ms);
  s.add_workers(lock, 20, 100us);
  s.wait(50ms);
  BOOST_TEST(s.deepest > 30U);
  for (auto* const one : in) s.spawn(s.p, scenarios::release(one->got));
  s.wait(5ms);
  s.deepest = 0;
  s.wait(4ms);
  BOOST_TEST(s.deepest >= 1U);
  BOOST_TEST(s.deepest <= 20U);
  s.end();
}

BOOST_AUTO_TEST_CASE(what_is_passed_on_has_a_whole_lease) {
  for (const bool reads : {true, false}) {
    crowd s;
    const acquire_options o{.lease = 3s, .renew = renewal::none};
    if (reads) {
      s.add_workers(shared_mutex(s.p.client(), "n").shared(), 10, 1ms, o);
    } else {
      s.add_workers(counting_semaphore(s.p.client(), "n", 3), 10, 1ms, o);
    }
    s.wait(500ms);
    BOOST_TEST(s.p.client().stats().passed > 1000U);
    BOOST_TEST((s.shortest >= 2900ms));
    s.end();
  }
}

// Of readers that have waited as one entry none comes after the next writer, though the first has left at once.
BOOST_AUTO_TEST_CASE(passes_before_do_not_part_readers_that_have_waited_together) {
  crowd s({}, 50us);
  process &first = s.add(), &second = s.add();
  const shared_mutex lock(s.p.client(), "n");
  s.add_workers(lock.shared(), 5, 50us);
  s.wait(20ms);
  auto& writes = s.start(first, shared_mutex(first.client(), "n"), {.lease = 10s});
  for (int i = 0; i < 400 && !writes.ended; ++i) s.wait(50us);
  BOOST_REQUIRE(writes.succeeded());
  auto& waits = s.start(second, shared_mutex(second.client(), "n"), {.lease = 10s});
  s.wait(200us);
  const auto before = s.fences.size();
  s.spawn(first, scenarios::release(writes.got));
  for (int i = 0; i < 400 && !waits.ended; ++i) s.wait(50us);
  BOOST_REQUIRE(waits.succeeded());
  BOOST_TEST(s.fences.size() - before >= 5U);
  s.stop = true;
}

BOOST_AUTO_TEST_CASE(nothing_is_passed_on_and_nothing_is_asked_with_a_cohort_of_0) {
  client_options o;
  o.cohort = 0us;
  crowd s(o);
  s.add_workers(shared_mutex(s.p.client(), "n").shared(), 20, 1ms);
  s.wait(200ms);
  s.end();
  BOOST_TEST(s.p.client().stats().passed == 0U);
  BOOST_TEST(s.calls["refresh"] == 0);
  BOOST_TEST(s.calls["acquire"] >= static_cast<int>(s.fences.size()));
}

BOOST_AUTO_TEST_CASE(a_reader_s_hold_is_kept_for_no_waiter_with_a_cohort_of_0) {
  client_options o;
  o.cohort = 0us;
  crowd s(o);
  const auto lock = shared_mutex(s.p.client(), "n").shared();
  auto& first = s.start(s.p, lock, {.lease = 10s});
  s.wait(10ms);
  std::vector<scene::attempt*> all;
  for (int i = 0; i < 20; ++i) all.push_back(&s.start(s.p, lock, {.lease = 10s}));
  s.spawn(s.p, scenarios::release(first.got));
  s.wait(50ms);
  for (const auto* const one : all) BOOST_TEST(one->succeeded());
  BOOST_TEST(s.calls["acquire"] >= 21);
  BOOST_TEST(s.calls["release"] == 1);
}

BOOST_AUTO_TEST_CASE(entries_are_not_passed_on_beside_redisson_whose_waiters_nothing_shows) {
  client_options o;
  o.redisson = true;
  crowd s(o);
  s.add_workers(recursive_mutex(s.p.client(), "n", "o"), 20, 1ms);
  s.wait(200ms);
  s.end();
  BOOST_TEST(s.p.client().stats().passed == 0U);
}

// Others wait, so it is asked no more often than half of the bound, and not for each release.
BOOST_AUTO_TEST_CASE(it_is_asked_seldom_whether_others_wait) {
  crowd s;
  process& other = s.add();
  s.add_workers(recursive_mutex(s.p.client(), "n", "o"), 20, 200us);
  s.wait(200ms);
  s.start(other, recursive_mutex(other.client(), "n", "another"), {.lease = 10s});
  s.wait(100ms);
  s.calls.clear();
  s.wait(200ms);
  BOOST_TEST(s.calls["refresh"] <= 41);
  s.stop = true;
}

// The store answers others all the time: those who give up early are not told that it does not.
BOOST_AUTO_TEST_CASE(who_gives_up_while_others_are_granted_has_waited_for_the_lock) {
  const auto giving_up = [](auto lock_of) {
    crowd s({}, 10ms);
    s.add_workers(lock_of(s.p), 100, 1ms);
    s.wait(500ms);
    for (int i = 0; i < 20; ++i) {
      const auto& waits = s.start(s.p, lock_of(s.p), {.lease = 10s, .wait = 1ms});
      s.wait(2ms);
      BOOST_TEST((waits.succeeded() || waits.ended == error::timed_out));
    }
    s.stop = true;
  };
  giving_up([](process& p) { return counting_semaphore(p.client(), "n", 10); });
  giving_up([](process& p) { return shared_mutex(p.client(), "n").shared(); });
  giving_up([](process& p) { return recursive_mutex(p.client(), "n", "o"); });
}

// What is passed on after the end of the server says nothing of it.
BOOST_AUTO_TEST_CASE(who_gives_up_without_a_server_was_not_answered) {
  const auto giving_up = [](auto lock_of) {
    crowd s;
    auto last = s.w.now();
    for (int i = 0; i < 20; ++i) {
      s.spawn(s.p, [&]() -> awaitable<void> {
        const auto lock = lock_of(s.p);
        while (!s.stop) {
          auto waiting = scenarios::acquire(lock, {.lease = 10s, .wait = 1s});
          auto [ec, h] = co_await std::move(waiting);
          if (ec) {
            BOOST_TEST(ec == error::unreachable);
            break;
          }
          last = s.w.now();
          auto pause = s.p.sleep(1ms);
          co_await std::move(pause);
          auto ending = scenarios::release(h);
          co_await std::move(ending);
        }
      });
    }
    s.wait(200ms);
    s.w.server(0).kill();
    const auto ended = s.w.now();
    s.wait(3s);
    BOOST_TEST((last > ended));
    s.stop = true;
  };
  giving_up([](process& p) { return mutex(p.client(), "n"); });
  giving_up([](process& p) { return counting_semaphore(p.client(), "n", 10); });
  giving_up([](process& p) { return shared_mutex(p.client(), "n").shared(); });
  giving_up([](process& p) { return recursive_mutex(p.client(), "n", "o"); });
}

// A pass may come, and if none does the request goes out a moment later.
BOOST_AUTO_TEST_CASE(a_waiter_that_no_pass_reaches_asks) {
  crowd s;
  s.add_workers(shared_mutex(s.p.client(), "n").shared(), 5, clock::duration(0));
  s.enough = 1000;
  s.finish();
  BOOST_TEST((s.time_of(s.p, shared_mutex(s.p.client(), "n").shared()) <= 2ms + 1ms));
  const auto& waits = s.start(s.p, shared_mutex(s.p.client(), "n").shared(), {.lease = 10s, .wait = 3ms});
  s.wait(10ms);
  BOOST_TEST(waits.succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
