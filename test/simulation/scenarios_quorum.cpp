// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Attacks on the protocol of a quorum, one by one, in virtual time. What each of them must not achieve is in
// docs/guarantees.md.
#include "simulation/scene.hpp"

#include <leasehold/mutex.hpp>
#include <leasehold/recursive_mutex.hpp>
#include <leasehold/shared_mutex.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(scenarios)

ticket detach_now(scene& s, process& p, hold& held) {
  ticket t;
  s.run(p, [&]() -> awaitable<void> {
    auto detaching = held.detach(as_tuple);
    const auto [why, given] = co_await std::move(detaching);
    BOOST_REQUIRE(!why);
    t = given;
  });
  return t;
}

hold resume_now(scene& s, process& p, const ticket& t, resume_options o = {}) {
  hold got;
  s.run(p, [&]() -> awaitable<void> {
    auto resuming = p.client().resume(t, o, as_tuple);
    auto [ec, resumed] = co_await std::move(resuming);
    BOOST_REQUIRE(!ec);
    got = std::move(resumed);
  });
  return got;
}

void downgrade_now(scene& s, process& p, hold& held) {
  s.run(p, [&]() -> awaitable<void> {
    auto ending = held.downgrade(as_tuple);
    const auto [why] = co_await std::move(ending);
    BOOST_TEST(!why, why.message());
  });
}

// A writer of "n".
hold take_to_write(scene& s, process& p, acquire_options o) {
  auto [ec, h] = s.acquire(p, shared_mutex(p.client(), "n"), o);
  BOOST_REQUIRE(!ec);
  return std::move(h);
}

bool can_read_now(scene& s, process& p) {
  bool can = false;
  s.run(p, [&]() -> awaitable<void> {
    const shared_mutex m(p.client(), "n");
    auto trying = m.try_acquire_shared({.lease = 5s}, as_tuple);
    const auto [ec, found] = co_await std::move(trying);
    BOOST_TEST(!ec, ec.message());
    can = found.has_value();
  });
  return can;
}

// On the two servers that are left then.
void expect_a_reader_s_without_the_second(scene& s, const hold& held, process& other) {
  s.w.server(1).kill();
  s.wait(100ms);
  BOOST_TEST(held.valid());
  BOOST_TEST(can_read_now(s, other));
}

awaitable<void> release_within_a_second(scene& s, hold& h) {
  const auto began = s.w.now();
  auto ending = release(h);
  const auto why = co_await std::move(ending);
  BOOST_TEST(!why, why.message());
  BOOST_TEST((s.w.now() - began < 1s));
}

// Another program has the lock on the third server of three, so that a grant has a bare majority.
void take_the_third(scene& s) { s.w.server(2).execute({"SET", "n", "another program", "PX", "60000"}); }

BOOST_AUTO_TEST_CASE(a_server_that_has_lost_a_grant_of_a_bare_majority_grants_nothing_for_its_lease) {
  scene s(3);
  process &x = s.add(), &y = s.add();
  take_the_third(s);
  const hold held = take(s, x, {.lease = 20s});
  x.freeze();
  s.w.server(0).start({});
  s.w.server(2).execute({"DEL", "n"});
  BOOST_TEST(s.acquire(y, {.lease = 5s, .wait = 15s}).first);
  BOOST_TEST(held.valid());
}

// As after a failover of a Sentinel group: the process has been up for long, but not with the data of the former one.
// Its uptime says no more at the next connection.
BOOST_AUTO_TEST_CASE(another_run_of_a_server_with_a_long_uptime_does_not_count_before_the_delay) {
  for (const unsigned connections : {1U, 2U}) {
    scene s(3);
    process &x = s.add(), &y = s.add();
    take_the_third(s);
    const hold held = take(s, x, {.lease = 60s});
    x.freeze();
    s.w.server(0).start({});
    s.w.server(0).be_older(1h);
    s.w.server(2).execute({"DEL", "n"});
    s.wait(2s);
    BOOST_TEST(y.client().stats().reconnects == 1U);
    if (connections == 2) {
      s.w.server(0).close_connections();
      s.wait(2s);
    }
    BOOST_TEST(y.client().stats().reconnects == connections);
    BOOST_TEST(s.acquire(y, {.lease = 5s, .wait = connections == 2 ? 20s : 25s}).first);
    BOOST_TEST(held.valid());
  }
}

BOOST_AUTO_TEST_CASE(a_hold_of_a_bare_majority_ends_when_the_step_of_a_clock_is_seen) {
  scene s(3);
  process& p = s.add();
  take_the_third(s);
  const hold held = take(s, p, {.lease = 10s, .renew = renewal::none});
  s.w.clock_of_server(0).offset += 20s;
  s.acquire(p, mutex(p.client(), "other"), {.lease = 10s});
  BOOST_TEST(!held.valid());
}

// One of its servers has a clock that runs faster, and is stepped by less than what is left.
BOOST_AUTO_TEST_CASE(a_hold_of_a_bare_majority_allows_for_drift_after_the_step_of_a_clock) {
  scene s(3);
  s.w.fastest = s.w.slowest = 100us;
  s.w.clock_of_server(0) = {0s, 8000};
  process& p = s.add();
  take_the_third(s);
  const hold held = take(s, p, {.lease = 10s, .renew = renewal::none});
  s.wait(1s);
  s.w.clock_of_server(0).offset += 4s;
  s.run(p, [&]() -> awaitable<void> {
    const mutex other(p.client(), "other");
    auto waiting = acquire(other, {.lease = 10s, .renew = renewal::none});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    BOOST_TEST(held.valid());
    while (held.valid()) {
      BOOST_TEST(s.get("n", 0).starts_with("leasehold:" + held.token()));
      auto pause = p.sleep(10ms);
      co_await std::move(pause);
    }
  });
}

BOOST_AUTO_TEST_CASE(a_vote_that_comes_after_the_grant_gets_its_fence) {
  scene s(3);
  s.w.clock_of_server(0).offset = 1h;
  process& p = s.add();
  s.wait(100ms);
  s.w.server(2).freeze();
  const hold held = take(s, p, {.lease = 10s, .renew = renewal::none});
  BOOST_TEST(s.get("n", 2).empty());
  s.w.server(2).thaw();
  s.wait(50ms);
  BOOST_TEST(s.get("n", 2) == fmt::format("leasehold:{}:{}", held.token(), held.fence()));
}

BOOST_AUTO_TEST_CASE(a_re_entry_has_its_owner_s_fence_while_a_majority_agrees) {
  scene s(3);
  s.w.clock_of_server(2).offset = 1h;
  process& p = s.add();
  take_the_third(s);
  s.wait(100ms);
  const recursive_mutex m(p.client(), "n", "owner");
  const auto [ec, one] = s.acquire(p, m, {.lease = 10s, .renew = renewal::none});
  BOOST_REQUIRE(!ec);
  s.w.server(2).execute({"DEL", "n"});
  const auto [why, two] = s.acquire(p, m, {.lease = 10s, .renew = renewal::none});
  BOOST_REQUIRE(!why);
  BOOST_TEST(two.fence() == one.fence());
}

// Servers of which two agree on the fence of an owner, and one has a larger one; the second of the two loses the entry
// as soon as it has voted for it. Its answer comes last, so that the largest fence would be chosen if these two did not
// agree.
struct reentry_scene : scene {
  reentry_scene() : scene(3) {
    w.clock_of_server(2).offset = 1h;
    take_the_third(*this);
    wait(100ms);
    auto [ec, h] = acquire(p, m, {.lease = 20s, .renew = renewal::none});
    BOOST_REQUIRE(!ec);
    first = std::move(h);
    w.server(2).execute({"DEL", "n"});
    w.server(1).on_run = [this](const detail::script&, const auto& arguments, const auto&) {
      if (arguments.front() != "acquire" || std::exchange(lost, true)) return;
      w.server(1).execute({"DEL", "n"});
      w.fastest = w.slowest = 30ms;
      w.after(0s, [this] { w.fastest = w.slowest = 1ms; });
    };
  }

  process& p = add();
  const recursive_mutex m{p.client(), "n", "owner"};
  hold first;
  bool lost = false;
};

// Another client may have been granted the lock by the second and the third one in between, and have released it.
BOOST_AUTO_TEST_CASE(a_server_with_a_larger_fence_does_not_count_for_a_smaller_one) {
  reentry_scene s;
  const auto [ec, second] = s.acquire(s.p, s.m, {.lease = 20s, .wait = 10s, .renew = renewal::none});
  BOOST_REQUIRE(!ec);
  BOOST_TEST(s.lost);
  BOOST_TEST(second.fence() > s.first.fence());
}

// Two of three servers have answered. It is not that the others do not.
BOOST_AUTO_TEST_CASE(an_attempt_that_is_refused_for_a_larger_fence_is_busy) {
  reentry_scene s;
  s.run(s.p, [&]() -> awaitable<void> {
    auto trying = s.m.try_acquire({.lease = 20s, .renew = renewal::none}, as_tuple);
    const auto [ec, second] = co_await std::move(trying);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(s.lost);
    BOOST_TEST(!second);
  });
}

// Of the two that answer, one has granted the lock and one is another program's.
BOOST_AUTO_TEST_CASE(a_lock_that_is_busy_on_one_of_two_servers_that_answer_is_busy) {
  scene s(3);
  process& p = s.add();
  s.wait(100ms);
  s.w.server(0).kill();
  take_the_third(s);
  BOOST_TEST(s.acquire(p, {.lease = 5s, .wait = 1s}).first == error::timed_out);
}

// Its counter is ahead of the fence already.
BOOST_AUTO_TEST_CASE(a_late_vote_with_a_larger_fence_costs_no_second_call) {
  scene s(3);
  s.w.clock_of_server(2).offset = 1h;
  process& p = s.add();
  s.wait(100ms);
  s.w.server(2).freeze();
  const hold held = take(s, p, {.lease = 10s, .renew = renewal::none});
  std::vector<std::string> calls;
  s.w.server(2).on_run = [&](const detail::script&, const auto& arguments, const auto&) {
    calls.emplace_back(arguments.front());
  };
  s.w.server(2).thaw();
  s.wait(100ms);
  BOOST_TEST(s.get("n", 2).starts_with("leasehold:" + held.token()));
  BOOST_TEST(calls == std::vector<std::string>{"acquire"}, boost::test_tools::per_element());
}

// A larger fence would say that the writer has become a reader.
BOOST_AUTO_TEST_CASE(a_late_vote_with_a_larger_fence_counts_for_the_ticket_of_a_writer) {
  scene s(3);
  s.w.clock_of_server(2).offset = 1h;
  process& p = s.add();
  s.wait(100ms);
  s.w.server(2).freeze();
  auto acquired = s.acquire(p, shared_mutex(p.client(), "n"), {.lease = 10s});
  hold& held = acquired.second;
  BOOST_REQUIRE(!acquired.first);
  s.w.server(2).thaw();
  s.wait(100ms);
  s.run(p, [&]() -> awaitable<void> {
    auto detaching = held.detach(as_tuple);
    const auto [why, given] = co_await std::move(detaching);
    BOOST_REQUIRE(!why);
    s.w.server(0).execute({"DEL", "n"});
    auto resuming = p.client().resume(given, as_tuple);
    const auto [lost, resumed] = co_await std::move(resuming);
    BOOST_TEST(!lost, lost.message());
  });
}

// The same if its answer is lost: the next renewal sees the fence.
BOOST_AUTO_TEST_CASE(a_vote_whose_answer_is_lost_counts_for_the_ticket_of_a_writer_after_a_renewal) {
  scene s(3);
  s.w.fastest = s.w.slowest = 1ms;
  s.w.clock_of_server(2).offset = 1h;
  process& p = s.add();
  s.wait(100ms);
  s.w.server(2).on_run = [&s](const detail::script&, const auto& arguments, const auto&) {
    if (arguments.front() == "acquire") s.w.after(0s, [&s] { s.w.server(2).close_connections(); });
  };
  auto [ec, held] = s.acquire(p, shared_mutex(p.client(), "n"), {.lease = 2s});
  BOOST_REQUIRE(!ec);
  s.w.server(2).on_run = nullptr;
  s.wait(2s);
  const ticket t = detach_now(s, p, held);
  s.w.server(0).execute({"DEL", "n"});
  const hold resumed = resume_now(s, p, t);
}

// A renewal is answered when the writer has been asked to become a reader: the server keeps the fence of the reader.
BOOST_AUTO_TEST_CASE(a_renewal_before_a_downgrade_leaves_the_fence_of_the_reader) {
  scene s(3);
  s.w.fastest = s.w.slowest = 1ms;
  s.w.clock_of_server(2).offset = 1h;
  process& p = s.add();
  s.wait(100ms);
  hold held;
  std::vector<std::string> calls;
  s.w.server(2).on_run = [&](const detail::script&, const auto& arguments, const auto&) {
    if (arguments.front() == "acquire") return s.w.after(0s, [&s] { s.w.server(2).close_connections(); });
    calls.emplace_back(arguments.front());
    if (calls.size() != 1) return;
    // It is connected again, and what it has is asked for.
    s.w.after(500us, [&] {
      s.spawn(p, [&]() -> awaitable<void> {
        auto ending = held.downgrade(as_tuple);
        const auto [why] = co_await std::move(ending);
        BOOST_TEST(!why, why.message());
      });
    });
  };
  held = s.acquire(p, shared_mutex(p.client(), "n"), {.lease = 10s}).second;
  s.wait(1s);
  s.finish();
  BOOST_TEST(calls == (std::vector<std::string>{"renew", "downgrade"}), boost::test_tools::per_element());
}

// A downgrade was not decided, and its requests run when the writer has become a reader by another one, and is
// detached.
BOOST_AUTO_TEST_CASE(a_late_request_of_an_earlier_downgrade_leaves_the_fence_of_a_ticket) {
  scene s(3);
  s.w.fastest = s.w.slowest = 1ms;
  s.w.lateness = 1.0;
  s.w.latest = 4s;
  s.w.clock_of_server(1).offset = 1h;  // It gives the largest fences.
  process &p = s.add(), &other = s.add();
  s.wait(100ms);
  auto acquired = s.acquire(p, shared_mutex(p.client(), "n"), {.lease = 10s});
  hold& held = acquired.second;
  BOOST_REQUIRE(!acquired.first);
  s.wait(100ms);
  s.w.server(1).on_run = [&s](const detail::script&, const auto& arguments, const auto&) {
    if (arguments.front() != "downgrade") return;
    // Its answer leads to further requests, which are on their way then.
    s.w.after(1500us, [&s] {
      s.w.server(1).freeze();
      for (const std::size_t i : {0U, 2U}) s.w.server(i).close_connections();
    });
  };
  s.run(p, [&]() -> awaitable<void> {
    auto ending = held.downgrade(as_tuple);
    const auto [why] = co_await std::move(ending);
    BOOST_TEST(!why, why.message());
  });
  const ticket t = detach_now(s, p, held);
  std::size_t late = 0;
  for (const std::size_t i : {0U, 2U}) {
    s.w.server(i).on_run = [&s, &late, i](const auto&...) { late += s.w.server(i).runs_late_bytes ? 1U : 0U; };
  }
  s.wait(4s);
  BOOST_TEST(late == 2U);
  const hold resumed = resume_now(s, other, t);
  BOOST_TEST(resumed.fence() == t.fence());
}

// All have a writer's hold; each way takes 5 ms.
struct before_a_downgrade : scene {
  before_a_downgrade() : scene(3), x(add()), y(add()) {
    w.fastest = w.slowest = 5ms;
    w.lateness = 0.0;
    wait(200ms);
    held = take_to_write(*this, x, {.lease = 9s});
    wait(200ms);
  }

  process &x, &y;
  hold held;
};

// A renewal makes the hold a reader's there, too. Otherwise no reader has a majority when another server is away.
BOOST_AUTO_TEST_CASE(a_server_that_has_missed_a_downgrade_makes_the_hold_a_reader_s_with_a_renewal) {
  before_a_downgrade s;
  s.w.after(2ms, [&s] { s.w.server(2).close_connections(); });
  downgrade_now(s, s.x, s.held);
  s.wait(3500ms);
  expect_a_reader_s_without_the_second(s, s.held, s.y);
}

// What it has confirmed before it was restored from an older copy no longer counts.
BOOST_AUTO_TEST_CASE(a_server_that_is_restored_from_before_a_downgrade_makes_the_hold_a_reader_s_again) {
  before_a_downgrade s;
  client_options counts_at_once;
  counts_at_once.restart_delay = 0ms;
  process& reader = s.add(counts_at_once);
  const detail::memory::database older = s.w.server(2).data();
  s.w.after(2ms, [&s] { s.w.server(2).close_connections(); });
  downgrade_now(s, s.x, s.held);
  bool is_downgraded = false;  // By a renewal.
  s.w.server(2).on_run = [&](const detail::script&, const auto& arguments, const auto&) {
    is_downgraded = is_downgraded || arguments.front() == "downgrade";
  };
  s.wait(3500ms);
  BOOST_TEST(is_downgraded);
  s.w.server(2).start(older);
  s.wait(3500ms);
  expect_a_reader_s_without_the_second(s, s.held, reader);
}

// A renewal has found that a server lacks the hold, and writes it again as a writer's while the others make it a
// reader's. The fence that it writes there is the reader's.
BOOST_AUTO_TEST_CASE(a_server_that_is_written_again_during_a_downgrade_has_a_reader_s_hold) {
  before_a_downgrade s;
  s.w.server(2).execute({"DEL", "n"});
  s.spawn(s.x, [&]() -> awaitable<void> {
    auto ending = s.held.downgrade(as_tuple);
    const auto [why] = co_await std::move(ending);
    BOOST_TEST(!why, why.message());
  });
  s.wait(2ms);
  s.spawn(s.x, [&]() -> awaitable<void> {
    auto waiting = s.held.extend(9s, as_tuple);
    const auto [why] = co_await std::move(waiting);
    BOOST_TEST(!why, why.message());
  });
  s.finish();
  s.wait(3500ms);
  BOOST_TEST(s.w.server(2).execute({"EXISTS", "n"}).integer == 1);
  expect_a_reader_s_without_the_second(s, s.held, s.y);
}

// This client has made the ticket of a writer before, and writes the hold again where it is missing.
BOOST_AUTO_TEST_CASE(a_hold_that_another_client_has_downgraded_is_written_again_as_a_reader_s) {
  scene s(3);
  s.w.fastest = s.w.slowest = 1ms;
  process &x = s.add(), &y = s.add(), &z = s.add();
  s.wait(200ms);
  hold written = take_to_write(s, x, {.lease = 9s});
  s.wait(100ms);
  hold theirs = resume_now(s, y, detach_now(s, x, written));
  downgrade_now(s, y, theirs);
  s.wait(100ms);
  const hold held = resume_now(s, x, detach_now(s, y, theirs));
  s.w.server(2).execute({"DEL", "n"});
  s.wait(3500ms);
  BOOST_TEST(s.w.server(2).execute({"EXISTS", "n"}).integer == 1);
  expect_a_reader_s_without_the_second(s, held, z);
}

// The late answer says that a server lacks the hold, which another client has released meanwhile.
BOOST_AUTO_TEST_CASE(a_hold_that_was_detached_is_not_written_again) {
  scene s(3);
  process &p = s.add(), &other = s.add();
  s.wait(100ms);
  hold held = take(s, p, {.lease = 10s});
  s.wait(50ms);
  s.w.server(2).execute({"DEL", "n"});
  s.w.server(2).freeze();
  const ticket t = detach_now(s, p, held);
  s.run(other, [&]() -> awaitable<void> {
    auto resuming = other.client().resume(t, as_tuple);
    auto [ec, resumed] = co_await std::move(resuming);
    BOOST_REQUIRE(!ec);
    auto ending = release(resumed);
    const auto why = co_await std::move(ending);
    BOOST_TEST(!why, why.message());
  });
  s.w.server(2).thaw();
  s.wait(100ms);
  BOOST_TEST(s.get("n", 2).empty());
}

// The grant that is written again is on its way when the hold is detached. Its answer leads to nothing more.
BOOST_AUTO_TEST_CASE(a_hold_that_was_detached_is_given_no_fence) {
  scene s(3);
  process& p = s.add();
  s.wait(100ms);
  hold held = take(s, p, {.lease = 3s});
  s.wait(50ms);
  s.w.server(2).execute({"DEL", "n"});
  std::vector<std::string> calls;
  s.w.server(2).on_run = [&](const detail::script&, const auto& arguments, const auto&) {
    calls.emplace_back(arguments.front());
    if (calls.size() == 1) s.w.after(0s, [&s] { s.w.server(2).freeze(); });
  };
  s.wait(1100ms);
  s.run(p, [&]() -> awaitable<void> {
    auto detaching = held.detach(as_tuple);
    const auto [why, given] = co_await std::move(detaching);
    BOOST_TEST(!why, why.message());
  });
  s.w.server(2).thaw();
  s.wait(100ms);
  BOOST_TEST(calls == (std::vector<std::string>{"renew", "acquire", "renew"}), boost::test_tools::per_element());
}

// The client releases a hold that another one has resumed, too. Two servers do not get that, and the third one stands
// still, like the client, until its claim has ended. Then the client resumes the hold once more.
BOOST_AUTO_TEST_CASE(a_late_answer_to_a_release_leaves_the_claim_of_a_hold_that_was_resumed_since) {
  scene s(3);
  s.w.lateness = 0.0;
  process &p = s.add(), &other = s.add();
  hold held = take(s, p, {.lease = 10s});
  s.wait(50ms);
  const ticket t = detach_now(s, p, held);
  const hold theirs = resume_now(s, other, t);
  hold first = resume_now(s, p, t, {.renew = renewal::none});
  s.wait(5s);  // Nothing else is on its way when the client stands still.
  s.w.server(2).freeze();
  for (const std::size_t i : {0U, 1U}) s.w.server(i).close_connections();
  s.spawn(p, release(first));
  s.wait(1ms);
  p.freeze();
  s.wait(10s);
  BOOST_REQUIRE(theirs.valid());
  p.thaw();
  s.wait(20ms);
  hold second = resume_now(s, p, t);
  other.freeze();
  s.w.server(2).thaw();
  s.wait(20ms);
  for (const std::size_t i : {0U, 1U}) BOOST_TEST(s.get("n", i).starts_with("leasehold:" + second.token()));
  release_now(s, p, second);
  s.wait(100ms);
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(s.get("n", i).empty());
}

// Nobody has the hold that it has found. One of the servers is back later, and lacks it.
BOOST_AUTO_TEST_CASE(a_resumption_that_was_cancelled_writes_nothing_again) {
  scene s(3);
  s.w.fastest = s.w.slowest = 1ms;
  process &p = s.add(), &other = s.add();
  hold held = take(s, p, {.lease = 20s});
  s.wait(100ms);
  const ticket t = detach_now(s, p, held);
  s.w.server(2).kill();
  s.wait(100ms);
  boost::asio::cancellation_signal stop;
  std::optional<error_code> ended;
  s.run(other, [&]() -> awaitable<void> {
    other.client().resume(
        t, boost::asio::bind_cancellation_slot(stop.slot(), [&](error_code ec, const hold&) { ended = ec; }));
    auto shortly = other.sleep(500us);
    co_await std::move(shortly);
    stop.emit(boost::asio::cancellation_type::terminal);
  });
  s.wait(100ms);
  BOOST_TEST((ended == boost::asio::error::operation_aborted));
  s.w.server(2).start({});
  s.wait(2s);
  BOOST_TEST(s.get("n", 2).empty());
}

// It has more left than the client asks for, and a server is away when it is released.
BOOST_AUTO_TEST_CASE(a_hold_that_was_resumed_is_released_as_long_as_a_server_may_have_it) {
  scene s(3);
  process &p = s.add(), &other = s.add();
  hold held = take(s, p, {.lease = 10s});
  s.wait(100ms);
  s.run(p, [&]() -> awaitable<void> {
    auto extending = held.extend(5min, as_tuple);
    const auto [why] = co_await std::move(extending);
    BOOST_REQUIRE(!why);
  });
  const ticket t = detach_now(s, p, held);
  hold resumed = resume_now(s, other, t);
  s.wait(100ms);
  const detail::memory::database with_its_data = s.w.server(2).data();
  s.w.server(2).kill();
  release_now(s, other, resumed);
  s.wait(30s);
  s.w.server(2).start(with_its_data);
  BOOST_TEST(!s.get("n", 2).empty());
  s.wait(2s);
  BOOST_TEST(s.get("n", 2).empty());
}

// An earlier holder there may have a fence between the two.
BOOST_AUTO_TEST_CASE(a_larger_fence_of_a_writer_does_not_count_for_the_smaller_one_that_it_gets) {
  scene s(3);
  s.w.clock_of_server(2).offset = 1h;
  process& p = s.add();
  s.wait(100ms);
  s.w.server(2).freeze();
  // It does not answer the raise, and the third server does instead.
  s.w.server(1).on_run = [&](const detail::script&, const auto&, const auto&) {
    s.w.after(0s, [&s] { s.w.server(1).freeze(); });
    s.w.after(10ms, [&s] { s.w.server(2).thaw(); });
  };
  const auto [ec, held] = s.acquire(p, shared_mutex(p.client(), "n"), {.lease = 10s, .wait = 1s});
  BOOST_REQUIRE(!ec);
  // The next attempt is that of the first and the third server.
  BOOST_TEST(held.fence() / 2048 > static_cast<std::uint64_t>((s.w.server(0).time() + 50min).count()));
}

// What was sent on a connection that is gone arrives after its lock was given back.
BOOST_AUTO_TEST_CASE(late_bytes_of_a_cut_connection_leave_nothing_behind_on_a_quorum) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    scene s(3, seed);
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
        co_await std::move(ending);
      }
    });
    for (int i = 1; i <= 10; ++i) s.w.after(i * 15ms, [&] { p.cut_connections(); });
    s.finish();
    s.wait(5s);
    for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(s.get("n", i).empty());
  }
}

BOOST_AUTO_TEST_CASE(a_server_that_was_away_during_a_release_is_released_when_it_is_back) {
  scene s(3);
  process& p = s.add();
  hold held = take(s, p, {.lease = 20s});
  s.wait(100ms);
  const detail::memory::database with_its_data = s.w.server(2).data();
  s.w.server(2).kill();
  release_now(s, p, held);
  s.w.server(2).start(with_its_data);
  BOOST_TEST(!s.get("n", 2).empty());
  s.wait(2s);
  BOOST_TEST(s.get("n", 2).empty());
}

// If only two of three servers had the long lease, one of them could lose it, and the third one's would end first.
BOOST_AUTO_TEST_CASE(a_server_that_was_away_during_an_extension_gets_it_when_it_is_back) {
  scene s(3);
  process& p = s.add();
  hold held = take(s, p, {.lease = 10s, .renew = renewal::none});
  s.wait(100ms);
  const detail::memory::database with_its_data = s.w.server(2).data();
  s.w.server(2).kill();
  s.run(p, [&]() -> awaitable<void> {
    auto extending = held.extend(60s, as_tuple);
    const auto [why] = co_await std::move(extending);
    BOOST_TEST(!why, why.message());
  });
  s.w.server(2).start(with_its_data);
  s.wait(2s);
  BOOST_TEST(s.w.server(2).data().execute({"PTTL", "n"}).integer > 50000);
}

// It is another server then, and what it has said before no longer counts.
BOOST_AUTO_TEST_CASE(a_server_that_was_restarted_from_older_data_gets_the_extension_again) {
  for (const bool one_is_away : {false, true}) {
    scene s(3);
    process& p = s.add();
    hold held = take(s, p, {.lease = 10s, .renew = renewal::none});
    s.wait(100ms);
    const detail::memory::database older = s.w.server(2).data();
    if (one_is_away) s.w.server(1).kill();
    s.run(p, [&]() -> awaitable<void> {
      auto extending = held.extend(10min, as_tuple);
      const auto [why] = co_await std::move(extending);
      BOOST_TEST(!why, why.message());
    });
    s.wait(500ms);
    BOOST_TEST(s.w.server(2).data().execute({"PTTL", "n"}).integer > 590000);
    s.w.server(2).kill();
    s.w.server(2).start(older);
    s.wait(2s);
    BOOST_TEST(s.w.server(2).data().execute({"PTTL", "n"}).integer > 590000);
  }
}

// Its first release has ended the hold: that it does not have it now is no loss.
BOOST_AUTO_TEST_CASE(a_server_that_is_restarted_between_its_release_and_the_answer_has_released) {
  scene s(3);
  s.w.fastest = s.w.slowest = 5ms;
  process& p = s.add();
  hold held = take(s, p, {.lease = 30s});
  s.wait(100ms);
  s.w.server(2).kill();
  bool has_run = false;
  s.w.server(1).on_run = [&](const detail::script&, const auto& arguments, const auto&) {
    if (arguments.front() != "release" || std::exchange(has_run, true)) return;
    s.w.after(0ms, [&] {
      const detail::memory::database data = s.w.server(1).data();
      s.w.server(1).kill();
      s.w.server(1).start(data);
    });
  };
  const auto began = s.w.now();
  release_now(s, p, held);
  BOOST_TEST((s.w.now() - began < 3s));
}

// The hold's own question may be on its way to the others when the second one is back.
BOOST_AUTO_TEST_CASE(servers_that_are_restarted_together_get_a_hold_again) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    scene s(5, seed);
    s.w.fastest = s.w.slowest = 20ms;
    process& p = s.add();
    const hold held = take(s, p, {.lease = 60s, .renew = renewal::none});
    s.wait(1s);
    for (const std::size_t i : {0U, 1U}) s.w.server(i).kill();
    s.w.server(0).start({});
    s.wait(std::chrono::milliseconds(seed));
    s.w.server(1).start({});
    s.wait(4s);
    for (std::size_t i = 0; i < 5; ++i) {
      BOOST_TEST(s.get("n", i).starts_with("leasehold:" + held.token()), "seed " << seed << ", server " << i);
    }
  }
}

// An attempt whose connection to the third server is cut while it is on its way, which then arrives up to 300 ms later.
// The release reaches that server meanwhile, by another connection.
struct late_attempt_scene : scene {
  explicit late_attempt_scene(
      std::uint64_t seed, const std::function<void(scene&)>& before = [](scene&) {})
      : scene(3, seed) {
    w.fastest = w.slowest = 1ms;
    w.lateness = 1.0;
    w.latest = 300ms;
    wait(100ms);
    // The servers know the scripts then.
    hold other = acquire(p, mutex(p.client(), "other"), {.lease = 20s}).second;
    release_now(*this, p, other);
    before(*this);
    auto& begun = start(p, {.lease = 20s});
    wait(500us);
    w.server(2).close_connections();
    wait(10ms);
    BOOST_REQUIRE(begun.succeeded());
    held = std::move(begun.got);
  }
  process& p = add(with_timeout(300ms));
  hold held;
};

BOOST_AUTO_TEST_CASE(late_bytes_that_run_before_a_release_is_answered_leave_nothing_behind_on_a_quorum) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    late_attempt_scene s(seed);
    // The answer comes after the attempt's not-after.
    s.w.server(2).on_run = [&](const detail::script&, const auto& arguments, const auto&) {
      if (arguments.front() != "release") return;
      s.w.fastest = s.w.slowest = 294ms;
      s.w.after(0s, [&s] { s.w.fastest = s.w.slowest = 1ms; });
    };
    release_now(s, s.p, s.held);
    s.wait(3s);
    BOOST_TEST(s.get("n", 2).empty());
  }
}

BOOST_AUTO_TEST_CASE(late_bytes_leave_nothing_behind_on_a_quorum_if_the_client_is_closed) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    late_attempt_scene s(seed);
    release_now(s, s.p, s.held);
    s.run(s.p, [&]() -> awaitable<void> {
      auto closing = s.p.client().close(as_tuple);
      const auto [why] = co_await std::move(closing);
      BOOST_TEST(!why, why.message());
    });
    s.wait(3s);
    BOOST_TEST(s.get("n", 2).empty());
  }
}

// The third server carries out the attempt after the release.
struct late_on_third : late_attempt_scene {
  using late_attempt_scene::late_attempt_scene;
  // `and_then` is called when it has.
  void let_go(std::function<void()> and_then = [] {}) {
    release_now(*this, p, held);
    w.server(2).on_run = [this, and_then](const detail::script&, const auto& arguments, const auto&) {
      if (arguments.front() != "acquire") return;
      was_late = true;
      and_then();
    };
  }
  void must_be_clean_after(clock::duration time) {
    wait(time);
    BOOST_TEST(get("n", 2).empty());
  }
  bool was_late = false;
};

// Another server's clock is known only so well that an attempt may run there for 200 ms more.
BOOST_AUTO_TEST_CASE(late_bytes_are_cleaned_up_after_when_their_own_server_cannot_run_them_any_more) {
  bool any_was_late = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    late_on_third s(seed, [](scene& scene) {
      scene.w.clock_of_server(0).offset -= 10s;
      scene.w.server(0).close_connections();
      scene.w.fastest = scene.w.slowest = 100ms;
      scene.wait(2s);
      scene.w.fastest = scene.w.slowest = 1ms;
    });
    s.wait(10ms);
    s.let_go();
    s.must_be_clean_after(350ms);
    any_was_late = any_was_late || s.was_late;
  }
  BOOST_TEST(any_was_late);
}

// Another program has the lock there at the release, and not any more when the late attempt comes.
BOOST_AUTO_TEST_CASE(late_bytes_are_cleaned_up_after_where_another_program_had_the_lock) {
  bool any_was_late = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    late_on_third s(seed);
    s.w.server(2).execute({"DEL", "n"});
    s.w.server(2).execute({"HSET", "n", "another", "program"});
    s.let_go();
    s.w.server(2).execute({"DEL", "n"});
    s.must_be_clean_after(3s);
    any_was_late = any_was_late || s.was_late;
  }
  BOOST_TEST(any_was_late);
}

// The server is busy when the release is repeated.
BOOST_AUTO_TEST_CASE(late_bytes_are_cleaned_up_after_on_a_server_that_was_busy_then) {
  bool any_was_late = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    late_on_third s(seed);
    s.let_go([&s] {
      s.w.after(0s, [&s] { s.w.server(2).is_busy = true; });
      s.w.after(1s, [&s] { s.w.server(2).is_busy = false; });
    });
    s.must_be_clean_after(3s);
    any_was_late = any_was_late || s.was_late;
  }
  BOOST_TEST(any_was_late);
}

// One of the two that have the hold refuses the release.
BOOST_AUTO_TEST_CASE(a_minority_that_refuses_a_release_does_not_make_it_a_loss) {
  scene s(3);
  process& p = s.add();
  take_the_third(s);
  hold held = take(s, p, {.lease = 20s});
  s.wait(100ms);
  s.w.server(0).data().set_refusal_of_writes("NOREPLICAS Not enough good replicas to write.");
  release_now(s, p, held);
  BOOST_TEST(p.client().stats().lost == 0U);
  s.w.server(0).data().set_refusal_of_writes("");
  s.wait(2s);
  BOOST_TEST(s.get("n", 0).empty());
}

// Its client is connected to the third one again, and asks all of them for the hold.
BOOST_AUTO_TEST_CASE(a_hold_that_a_majority_does_not_know_is_lost_when_a_server_is_back) {
  scene s(3);
  process& p = s.add();
  s.wait(100ms);
  s.w.server(2).freeze();
  s.w.server(2).close_connections();
  const hold held = take(s, p, {.lease = 60s, .renew = renewal::none});
  s.wait(5s);
  BOOST_TEST(held.valid());
  s.w.server(0).data().execute({"FLUSHALL"});
  s.w.server(2).thaw();
  s.wait(3s);
  BOOST_TEST(!held.valid());
}

BOOST_AUTO_TEST_CASE(two_holds_of_one_ticket_are_released_at_once_on_a_quorum) {
  scene s(3);
  process& p = s.add();
  hold held = take(s, p, {.lease = 20s});
  const ticket t = detach_now(s, p, held);
  hold one = resume_now(s, p, t), two = resume_now(s, p, t);
  s.spawn(p, release_within_a_second(s, one));
  s.spawn(p, release_within_a_second(s, two));
  s.finish();
}

// The answers to the first release come after the patience, and one server is away.
BOOST_AUTO_TEST_CASE(two_holds_of_one_ticket_are_released_one_after_the_other_on_a_quorum) {
  scene s(3);
  s.w.fastest = s.w.slowest = 30ms;
  process& p = s.add();
  s.wait(1s);
  hold held = take(s, p, {.lease = 20s});
  s.wait(200ms);
  const ticket t = detach_now(s, p, held);
  hold one = resume_now(s, p, t), two = resume_now(s, p, t);
  s.w.server(2).kill();
  s.run(p, release_within_a_second(s, one));
  s.run(p, release_within_a_second(s, two));
}

BOOST_AUTO_TEST_CASE(a_release_whose_answers_are_lost_is_done_on_a_quorum) {
  scene s(3);
  s.w.fastest = s.w.slowest = 1ms;
  process& p = s.add();
  hold held = take(s, p, {.lease = 20s});
  s.wait(100ms);
  s.w.server(0).on_run = [&](const detail::script&, const auto& arguments, const auto&) {
    if (arguments.front() == "release") s.w.after(0s, [&p] { p.cut_connections(); });
  };
  release_now(s, p, held);
  BOOST_TEST(p.client().stats().lost == 0U);
}

// It has too few replicas for a while.
BOOST_AUTO_TEST_CASE(a_server_that_refuses_a_release_for_a_while_is_asked_again) {
  for (const std::size_t refusing : {1U, 3U}) {
    scene s(3);
    process& p = s.add();
    hold held = take(s, p, {.lease = 30s});
    s.wait(100ms);
    for (std::size_t i = 0; i < refusing; ++i) {
      s.w.server(i).data().set_refusal_of_writes("NOREPLICAS Not enough good replicas to write.");
    }
    s.run(p, [&]() -> awaitable<void> {
      auto ending = release(held);
      const auto why = co_await std::move(ending);
      BOOST_TEST((refusing == 1 ? !why : why == error::refused), why.message());
    });
    s.wait(500ms);
    BOOST_TEST(!s.get("n", 0).empty());
    for (std::size_t i = 0; i < refusing; ++i) s.w.server(i).data().set_refusal_of_writes("");
    s.wait(2s);
    for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(s.get("n", i).empty());
    BOOST_TEST(p.client().stats().lost == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_release_that_one_of_two_servers_refuses_is_a_loss_if_the_other_one_has_lost_the_hold) {
  scene s(2);
  process& p = s.add();
  hold held = take(s, p, {.lease = 30s});
  s.wait(100ms);
  s.w.server(0).data().execute({"DEL", "n"});
  s.w.server(1).data().set_refusal_of_writes("NOREPLICAS Not enough good replicas to write.");
  s.run(p, [&]() -> awaitable<void> {
    auto ending = release(held);
    const auto why = co_await std::move(ending);
    BOOST_TEST(why == error::lost, why.message());
  });
  BOOST_TEST(p.client().stats().lost == 1U);
}

// With an even number of servers, half of them prevent a majority.
BOOST_AUTO_TEST_CASE(half_of_an_even_number_of_servers_that_refuse_are_a_refusal) {
  for (const std::size_t servers : {2U, 4U}) {
    scene s(servers);
    process& p = s.add();
    hold held = take(s, p, {.lease = 30s});
    s.wait(100ms);
    for (std::size_t i = 0; i < servers / 2; ++i) {
      s.w.server(i).data().set_refusal_of_writes("NOREPLICAS Not enough good replicas to write.");
    }
    s.run(p, [&]() -> awaitable<void> {
      auto ending = release(held);
      const auto why = co_await std::move(ending);
      BOOST_TEST(why == error::refused, why.message());
      const mutex m(p.client(), "other");
      auto waiting = acquire(m, {.lease = 5s, .wait = 20s});
      auto [ec, none] = co_await std::move(waiting);
      BOOST_TEST(ec == error::refused, ec.message());
    });
    BOOST_TEST(p.client().stats().lost == 0U);
    BOOST_TEST(p.client().stats().refused != 0U);
  }
}

// One of two servers has lost its data: its holder is not let go on, and no other client is let in before at_least.
BOOST_AUTO_TEST_CASE(a_lock_that_a_quorum_has_lost_rests_all_the_same) {
  scene s(2);
  process& p = s.add();
  process& other = s.add();
  const hold held = take(s, p, {.lease = 2s, .at_least = 10s});
  const auto since = s.w.now();
  s.w.server(0).kill();
  s.w.server(0).start({});
  s.wait(5s);
  BOOST_TEST(!held.valid());
  BOOST_TEST(s.get("n", 1).starts_with("leasehold:~"));
  auto& next = s.start(other, {.lease = 2s});
  for (int i = 0; i < 60 && !next.ended; ++i) s.wait(1s);
  BOOST_TEST(next.succeeded());
  BOOST_TEST((s.w.now() - since >= 10s));
}

BOOST_AUTO_TEST_CASE(a_release_is_done_when_a_majority_is_free) {
  scene s(3);
  process& p = s.add();
  hold held = take(s, p, {.lease = 20s});
  s.w.server(1).freeze();
  s.w.server(2).freeze();
  bool told = false;
  s.spawn(p, [&]() -> awaitable<void> {
    auto ending = release(held);
    const auto why = co_await std::move(ending);
    BOOST_TEST(!why, why.message());
    told = true;
  });
  s.wait(200ms);
  BOOST_TEST(s.get("n", 0).empty());
  BOOST_TEST(!told);
  s.w.server(1).thaw();
  s.finish();
  BOOST_TEST(s.get("n", 1).empty());
}

// The third server was not asked, and has nothing of it.
BOOST_AUTO_TEST_CASE(a_server_that_was_never_asked_is_free_at_a_release) {
  scene s(3);
  process& p = s.add();
  s.w.server(2).kill();
  hold held = take(s, p, {.lease = 20s, .renew = renewal::none});
  s.w.server(1).freeze();
  const auto before = s.w.now();
  release_now(s, p, held);
  BOOST_TEST((s.w.now() - before < 2s));
  s.w.server(1).thaw();
  s.wait(1s);
  BOOST_TEST(s.get("n", 1).empty());
}

// A server answers BUSY, and has to be asked again for each of these holds.
BOOST_AUTO_TEST_CASE(releases_that_a_server_cannot_carry_out_become_rare) {
  scene s(3);
  process& p = s.add();
  s.wait(100ms);
  constexpr std::size_t locks = 200;
  std::vector<hold> held;
  const auto name = [](std::size_t i) { return fmt::format("n{}", i); };
  for (std::size_t i = 0; i < locks; ++i) {
    held.push_back(s.acquire(p, mutex(p.client(), name(i)), {.lease = 1min}).second);
  }
  s.w.server(2).is_busy = true;
  for (auto& h : held) s.spawn(p, release(h));
  s.finish();
  s.wait(3s);
  std::size_t calls = 0;
  s.w.server(2).on_run = [&calls](const auto&...) { ++calls; };
  s.wait(1s);
  BOOST_TEST(calls >= locks / 2);
  BOOST_TEST(calls <= 2 * locks);
  s.w.server(2).is_busy = false;
  s.wait(1200ms);
  std::size_t left = 0;
  for (std::size_t i = 0; i < locks; ++i) left += s.get(name(i), 2).empty() ? 0U : 1U;
  BOOST_TEST(left == 0U);
}

// --- Far away ---

// The round trip takes longer than the least patience. A frozen server is waited for in vain, and not for long.
BOOST_AUTO_TEST_CASE(requests_without_a_lease_wait_for_servers_that_are_far_away) {
  for (const bool one_is_frozen : {false, true}) {
    scene s(3);
    s.w.fastest = s.w.slowest = 30ms;
    process& p = s.add();
    s.wait(1s);
    const shared_mutex m(p.client(), "n");
    hold held = take_to_write(s, p, {.lease = 20s});
    s.wait(200ms);
    if (one_is_frozen) s.w.server(2).freeze();
    auto began = s.w.now();
    downgrade_now(s, p, held);
    BOOST_TEST((s.w.now() - began < 130ms));
    began = s.w.now();
    s.run(p, [&]() -> awaitable<void> {
      auto inspecting = m.inspect(as_tuple);
      const auto [ec, found] = co_await std::move(inspecting);
      BOOST_TEST(!ec, ec.message());
      BOOST_TEST(found.holders == 1U);
    });
    BOOST_TEST((s.w.now() - began < 120ms));
  }
}

// The lease that is asked for is shorter than that of the hold.
BOOST_AUTO_TEST_CASE(a_short_extension_waits_for_servers_that_are_far_away) {
  scene s(3);
  s.w.fastest = s.w.slowest = 30ms;
  process& p = s.add();
  s.wait(1s);
  hold held = take_at_once(s, p, {.lease = 2s, .renew = renewal::none, .at_least = 1min});
  s.run(p, [&]() -> awaitable<void> {
    auto extending = held.extend(3s, as_tuple);
    const auto [why] = co_await std::move(extending);
    BOOST_TEST(!why, why.message());
  });
}

// --- Waiting ---

BOOST_AUTO_TEST_CASE(a_waiter_on_a_quorum_pauses_as_its_option_says) {
  scene s(3);
  process &x = s.add(), &y = s.add();
  const hold held = take(s, x, {.lease = 1h});
  s.start(y, {.lease = 20s, .wait = 12s, .retry = {.first = 1s, .max = 1s, .factor = 1.0, .jitter = 0.0}});
  s.wait(500ms);
  int attempts = 0;
  s.w.server(0).on_run = [&](const detail::script&, const auto& arguments, const auto&) {
    attempts += arguments.front() == "acquire";
  };
  s.wait(10s);
  BOOST_TEST(attempts >= 9);
  BOOST_TEST(attempts <= 10);
  s.finish();
}

// Two waiters of a client listen to the channel of one name, and one of them gives up.
BOOST_AUTO_TEST_CASE(a_waiter_on_a_quorum_is_woken_after_another_one_has_left) {
  scene s(3);
  process &x = s.add(), &y = s.add();
  const backoff rarely{.first = 1h, .max = 1h, .factor = 1.0, .jitter = 0.0};
  s.wait(200ms);
  auto [ec, held] = s.acquire(x, recursive_mutex(x.client(), "n", "x"), {.lease = 2h});
  BOOST_REQUIRE(!ec);
  const auto& stays = s.start(y, recursive_mutex(y.client(), "n", "one"), {.lease = 20s, .retry = rarely});
  const auto& leaves =
      s.start(y, recursive_mutex(y.client(), "n", "two"), {.lease = 20s, .wait = 300ms, .retry = rarely});
  s.wait(1s);
  BOOST_TEST(leaves.ended.value() == error::timed_out);
  BOOST_TEST(!stays.ended);
  const auto released = s.w.now();
  s.spawn(x, release(held));
  s.finish();
  BOOST_REQUIRE(stays.succeeded());
  BOOST_TEST((stays.at - released < 100ms));
}

constexpr backoff hardly_ever{.first = 1h, .max = 1h, .factor = 1.0, .jitter = 0.0};

// The lock is free earlier than the waiter has been told when it asked.
BOOST_AUTO_TEST_CASE(a_waiter_on_a_quorum_learns_of_a_lock_that_rests) {
  scene s(3);
  process &x = s.add(), &y = s.add();
  hold held = take(s, x, {.lease = 30s, .at_least = 2s});
  const auto granted = s.w.now();
  const auto& waits = s.start(y, {.lease = 20s, .retry = hardly_ever});
  s.wait(1s);
  s.spawn(x, release(held));
  s.finish();
  BOOST_REQUIRE(waits.succeeded());
  BOOST_TEST((waits.at - granted > 1900ms));
  BOOST_TEST((waits.at - granted < 2700ms));
}

BOOST_AUTO_TEST_CASE(a_reader_on_a_quorum_learns_of_a_writer_s_downgrade) {
  scene s(3);
  process &x = s.add(), &y = s.add();
  s.wait(200ms);
  hold held = take_to_write(s, x, {.lease = 30s});
  clock::time_point entered{};
  s.spawn(y, [&]() -> awaitable<void> {
    const shared_mutex m(y.client(), "n");
    auto waiting = m.acquire_shared({.lease = 20s, .retry = hardly_ever}, as_tuple);
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(!ec, ec.message());
    entered = s.w.now();
  });
  s.wait(1s);
  const auto began = s.w.now();
  s.spawn(x, [&]() -> awaitable<void> {
    auto ending = held.downgrade(as_tuple);
    const auto [why] = co_await std::move(ending);
    BOOST_TEST(!why, why.message());
  });
  s.finish();
  BOOST_TEST((entered - began < 100ms));
}

// One server has granted the attempt, one has not, and one stands still. While the client waits for that one, the lock
// is released.
BOOST_AUTO_TEST_CASE(a_release_wakes_a_waiter_on_a_quorum_whose_attempt_is_on_its_way) {
  scene s(3);
  process &x = s.add(), &y = s.add();
  s.w.server(0).execute({"SET", "n", "another program", "PX", "60000"});
  hold held = take(s, x, {.lease = 1h, .renew = renewal::none});
  s.wait(100ms);
  const auto& waits = s.start(y, {.lease = 20s, .retry = {.first = 1s, .max = 1s, .factor = 1.0, .jitter = 0.0}});
  s.wait(500ms);
  s.w.server(0).execute({"DEL", "n"});
  s.w.server(2).freeze();
  // The next attempt has been sent to all servers by then.
  s.wait(550ms);
  const auto released = s.w.now();
  s.spawn(x, release(held));
  s.finish();
  BOOST_REQUIRE(waits.succeeded());
  BOOST_TEST((waits.at - released < 500ms));
}

// The messages of one release come from all servers within 10 ms. What comes later is another release, also if there
// were messages in between.
BOOST_AUTO_TEST_CASE(a_second_release_wakes_a_waiter_on_a_quorum_though_messages_lie_between) {
  scene s(3);
  s.w.fastest = s.w.slowest = 1ms;
  process &x = s.add(), &y = s.add();
  s.w.server(0).execute({"SET", "n", "another program", "PX", "60000"});
  const hold held = take(s, x, {.lease = 1h, .renew = renewal::none});
  s.wait(100ms);
  const auto& waits = s.start(y, {.lease = 20s, .retry = {.first = 5s, .max = 5s, .factor = 1.0, .jitter = 0.0}});
  s.wait(500ms);
  s.w.server(0).execute({"DEL", "n"});
  s.w.server(2).freeze();
  const auto hint = [&s] { s.w.server(0).execute({"PUBLISH", detail::hint_channel("n"), "0"}); };
  hint();  // The waiter, which has paused, asks, and waits for the third server.
  s.wait(9ms);
  hint();
  s.wait(5ms);
  s.w.server(1).execute({"DEL", "n"});
  hint();
  s.wait(1s);
  BOOST_TEST(waits.succeeded());
}

// --- Servers that were away, or are new ---

// One of two servers is no majority of three.
BOOST_AUTO_TEST_CASE(a_server_that_two_urls_name_counts_once) {
  scene s(3);
  s.w.add("alias", s.w.at_name("s0"));
  process& p = s.add();
  std::vector<std::string> refused;
  client_options o;
  o.observer = [&refused](const event& e) { refused.emplace_back(e.text); };
  s.run(p, [&]() -> awaitable<void> {
    client c(p.executor(), {"memory:s0", "memory:alias", "memory:s2"}, o);
    const mutex m(c, "n");
    auto trying = acquire(m, {.lease = 5s, .wait = 2s});
    auto [ec, h] = co_await std::move(trying);
    BOOST_TEST(!ec);
    auto releasing = release(h);
    co_await std::move(releasing);
    s.w.server(2).kill();
    auto again = acquire(m, {.lease = 5s, .wait = 2s});
    auto [why, none] = co_await std::move(again);
    BOOST_TEST(why);
    auto closing = c.close(as_tuple);
    co_await std::move(closing);
  });
  const auto names_both = [](const std::string& text) {
    return text == "s0: alias is the same server" || text == "alias: s0 is the same server";
  };
  BOOST_TEST(std::any_of(refused.begin(), refused.end(), names_both));
}

BOOST_AUTO_TEST_CASE(a3_a_renewal_carries_the_grant_to_servers_that_lack_it) {
  scene s(3);
  process &x = s.add(), &y = s.add();
  // C stands still while X is granted on A and B.
  s.w.server(2).freeze();
  const hold held = take_at_once(s, x, {.lease = 3s});
  s.w.server(2).thaw();
  s.wait(3s);
  BOOST_TEST(held.valid());
  // B forgets.
  s.w.server(1).data().execute({"FLUSHALL"});
  BOOST_TEST(s.acquire(y, {.lease = 3s, .wait = 2s}).first == error::timed_out);
  BOOST_TEST(held.valid());
}

// Where it is written again it ends with the hold, and not a lease later.
BOOST_AUTO_TEST_CASE(a_hold_is_written_again_for_what_is_left_of_it) {
  scene s(3);
  process& p = s.add();
  s.w.server(2).kill();
  const hold held = take(s, p, {.lease = 20s, .renew = renewal::none});
  s.wait(10s);
  s.w.server(2).start({});
  s.wait(2s);
  BOOST_TEST(s.get("n", 2).starts_with("leasehold:" + held.token()));
  const auto left = [&s](std::size_t i) { return s.w.server(i).execute({"PTTL", "n"}).integer; };
  BOOST_TEST(left(2) <= left(0));
}

// Its server comes back before there is a majority.
BOOST_AUTO_TEST_CASE(a_hold_is_written_again_on_a_server_that_came_back_first) {
  scene s(3);
  process& p = s.add();
  s.w.server(2).kill();
  const hold held = take(s, p, {.lease = 1min, .renew = renewal::none});
  s.wait(1s);
  for (const std::size_t i : {0U, 1U}) s.w.server(i).freeze();
  p.cut_connections();
  s.w.server(2).start({});
  s.wait(3s);
  BOOST_TEST(s.get("n", 2).empty());
  for (const std::size_t i : {0U, 1U}) s.w.server(i).thaw();
  s.wait(5s);
  BOOST_TEST(s.get("n", 2).starts_with("leasehold:" + held.token()));
  BOOST_TEST(held.valid());
}

// Two servers of three were restarted within two seconds of each other, one of them without its data: to a client that
// has just been started they are as young as each other, but not as the third one.
BOOST_AUTO_TEST_CASE(two_servers_that_were_restarted_together_are_not_taken_for_a_new_deployment) {
  scene s(3);
  process &x = s.add(), &y = s.add();
  const detail::memory::database with_its_data = s.w.server(1).data();
  s.w.server(1).kill();
  const hold held = take_at_once(s, x, {.lease = 20s});
  x.freeze();
  s.w.server(1).start(with_its_data);
  s.w.server(0).start({});
  s.wait(1s);
  process& fresh = s.add();
  for (process* const p : {&y, &fresh}) BOOST_TEST(s.acquire(*p, {.lease = 5s, .wait = 5s}).first);
  BOOST_TEST(held.valid());
}

// The same, and the one that is older cannot be asked.
BOOST_AUTO_TEST_CASE(two_servers_that_were_restarted_together_do_not_count_while_the_third_was_not_reached) {
  scene s(3);
  process& x = s.add();
  s.w.server(2).kill();
  const hold held = take(s, x, {.lease = 20s});
  x.freeze();
  const detail::memory::database with_its_data = s.w.server(1).data();
  s.w.server(0).start({});
  s.w.server(2).start({});
  s.w.server(1).kill();
  s.wait(1s);
  process& fresh = s.add();
  BOOST_TEST(s.acquire(fresh, {.lease = 5s, .wait = 15s}).first == error::no_quorum);
  BOOST_TEST(held.valid());
}

// No server is as old as the longest lease, and one of them was restarted since the others were started.
BOOST_AUTO_TEST_CASE(a_server_that_was_restarted_in_a_young_deployment_does_not_count) {
  scene s(3);
  for (std::size_t i = 0; i < 3; ++i) s.w.server(i).start({});
  process& x = s.add();
  take_the_third(s);
  const hold held = take(s, x, {.lease = 20s});
  s.wait(5s);
  x.freeze();
  s.w.server(0).start({});
  s.w.server(2).execute({"DEL", "n"});
  process& fresh = s.add();
  BOOST_TEST(s.acquire(fresh, {.lease = 5s, .wait = 5s}).first);
  BOOST_TEST(held.valid());
}

// The same, and another one was restarted at the same time, with its data. Only one server is older.
BOOST_AUTO_TEST_CASE(two_servers_that_were_restarted_in_a_young_deployment_do_not_count) {
  scene s(3);
  for (std::size_t i = 0; i < 3; ++i) s.w.server(i).start({});
  process& x = s.add();
  take_the_third(s);
  const hold held = take(s, x, {.lease = 20s});
  s.wait(5s);
  x.freeze();
  const detail::memory::database with_its_data = s.w.server(1).data();
  s.w.server(0).start({});
  s.w.server(1).start(with_its_data);
  s.w.server(2).execute({"DEL", "n"});
  process& fresh = s.add();
  BOOST_TEST(s.acquire(fresh, {.lease = 5s, .wait = 5s}).first);
  BOOST_TEST(held.valid());
}

// Servers that were deployed together are usable at once if all of them are there.
BOOST_AUTO_TEST_CASE(a_new_deployment_counts_when_every_server_was_reached) {
  for (const bool complete : {true, false}) {
    scene s(3);
    for (std::size_t i = 0; i < 3; ++i) s.w.server(i).start({});
    if (!complete) s.w.server(2).kill();
    s.wait(1s);
    // The last connection is made when the attempt waits for it.
    s.w.server(2).freeze();
    s.w.after(30ms, [&s] { s.w.server(2).thaw(); });
    process& fresh = s.add();
    s.run(fresh, [&]() -> awaitable<void> {
      const mutex m(fresh.client(), "n");
      auto trying = m.try_acquire({.lease = 5s}, as_tuple);
      const auto [ec, found] = co_await std::move(trying);
      BOOST_TEST(!ec == complete, ec.message());
      BOOST_TEST(found.has_value() == complete);
    });
    if (complete) continue;
    s.wait(30s);
    BOOST_TEST(!s.acquire(fresh, {.lease = 5s, .wait = 1s}).first);
  }
}

BOOST_AUTO_TEST_CASE(a4_fences_of_a_quorum_outlive_a_server_with_a_clock_ahead) {
  scene s(3);
  s.w.clock_of_server(0).offset = 24h * 30;
  process& p = s.add();
  const auto next_fence = [&] {
    hold h = take_at_once(s, p, {.lease = 3s});
    const auto fence = h.fence();
    s.run(p, release(h));
    return fence;
  };
  const auto first = next_fence();
  s.wait(50h);
  s.w.server(0).kill();
  const auto second = next_fence();
  BOOST_TEST(second > first);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
