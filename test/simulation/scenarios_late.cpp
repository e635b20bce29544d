// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Requests that are no longer wanted when they could be sent, and replies that say less than an earlier one,
// in virtual time.
#include "lock/hold_state.hpp"
#include "protocol/scripts.hpp"
#include "simulation/scene.hpp"

#include <leasehold/acquire_all.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/shared_mutex.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(scenarios)

// Each message takes so long.
void slow_down(scene& s, clock::duration each) { s.w.fastest = s.w.slowest = each; }

void extend_now(scene& s, process& p, hold& h, std::chrono::milliseconds lease) {
  s.run(p, [&, lease]() -> awaitable<void> {
    auto extending = h.extend(lease, as_tuple);
    const auto [why] = co_await std::move(extending);
    BOOST_TEST(!why, why.message());
  });
}

clock::time_point deadline_of(const hold& h) { return detail::access::state(h)->deadline(); }

// Its client asks whether the server still has it.
void let_it_ask(scene& s, const hold& h) {
  const std::string client = h.token().substr(0, h.token().find('.'));
  s.w.server(0).execute({"PUBLISH", "leasehold:{0}:" + client, "broken " + h.token()});
  s.wait(1s);
}

// How often each operation has run on a server since now.
using calls = std::map<std::string, int, std::less<>>;
void count_calls(scene& s, std::size_t server, calls& all) {
  s.w.server(server).on_run = [&all](const auto&, const auto& arguments, const auto&) {
    ++all[std::string(arguments.empty() ? std::string_view() : arguments[0])];
  };
}

// --- What a server says is left ---

// What has been confirmed stands: "left" was read after the request had been sent, by half a round trip.
BOOST_AUTO_TEST_CASE(a_question_on_a_slow_network_shortens_no_deadline) {
  scene s;
  process& p = s.add();
  const hold held = take(s, p, {.lease = 4s, .renew = renewal::none});
  slow_down(s, 150ms);
  const auto before = deadline_of(held);
  const auto answers = p.client().stats().round_trip.count();
  let_it_ask(s, held);
  BOOST_TEST(p.client().stats().round_trip.count() == answers + 1);
  BOOST_TEST((deadline_of(held) == before));
}

// The server is another one since before the grant. What it has confirmed stands as well.
BOOST_AUTO_TEST_CASE(an_earlier_change_of_servers_shortens_no_deadline) {
  scene s;
  process& p = s.add();
  s.wait(200ms);
  s.w.server(0).start({});
  s.wait(2s);
  const hold held = take(s, p, {.lease = 4s, .renew = renewal::none});
  slow_down(s, 150ms);
  const auto before = deadline_of(held);
  const auto answers = p.client().stats().round_trip.count();
  let_it_ask(s, held);
  BOOST_TEST(p.client().stats().round_trip.count() == answers + 1);
  BOOST_TEST((deadline_of(held) == before));
}

// A replica takes over that knows of a little less: its word counts from the sending of the question.
BOOST_AUTO_TEST_CASE(another_server_that_knows_of_a_little_less_is_believed) {
  scene s;
  slow_down(s, 50ms);
  process& p = s.add();
  hold held = take(s, p, {.lease = 2s, .renew = renewal::none});
  extend_now(s, p, held, 4s);
  const detail::memory::database older = s.w.server(0).data();
  const auto ends = s.w.now() + std::chrono::milliseconds(s.w.server(0).execute({"PTTL", "n"}).integer + 1);
  s.w.server(0).execute({"PEXPIRE", "n", std::to_string(s.w.server(0).execute({"PTTL", "n"}).integer + 80)});
  s.run(p, [&]() -> awaitable<void> {
    auto extending = held.extend(4s, as_tuple);
    co_await std::move(extending);
  });
  BOOST_TEST((deadline_of(held) > ends));
  s.w.server(0).start(older);
  s.wait(1s);
  BOOST_TEST(held.valid());
  BOOST_TEST((deadline_of(held) <= ends));
}

// Somebody has taken the expiry off the record.
BOOST_AUTO_TEST_CASE(a_record_without_an_expiry_shortens_no_deadline) {
  scene s;
  process& p = s.add();
  const hold held = take(s, p, {.lease = 5s, .renew = renewal::none});
  const auto before = deadline_of(held);
  s.w.server(0).execute({"PERSIST", "n"});
  let_it_ask(s, held);
  BOOST_TEST(held.valid());
  BOOST_TEST((deadline_of(held) == before));
}

// A majority has confirmed an extension; another majority, one of which has not heard of it, says less.
BOOST_AUTO_TEST_CASE(another_majority_that_knows_of_less_shortens_no_deadline) {
  scene s(3);
  client_options o;
  o.restart_delay = 0ms;
  process& p = s.add(o);
  hold held = take(s, p, {.lease = 5s, .renew = renewal::none});
  const detail::memory::database with_its_data = s.w.server(2).data();
  s.w.server(2).kill();
  s.wait(10ms);
  extend_now(s, p, held, 20s);
  const auto before = deadline_of(held);
  s.w.server(0).freeze();
  const auto answers = p.client().stats().round_trip.count();
  s.w.server(2).start(with_its_data);
  s.wait(2s);
  BOOST_TEST(p.client().stats().round_trip.count() > answers);
  BOOST_TEST(held.valid());
  BOOST_TEST((deadline_of(held) == before));
}

// --- Requests that are no longer wanted ---

// A server that does not know the script is sent its text. That would be behind the release of an attempt that was
// given up, if the script has become known meanwhile.
BOOST_AUTO_TEST_CASE(an_attempt_is_not_sent_again_behind_its_release) {
  for (const std::size_t servers : {1U, 3U}) {
    scene s(servers);
    slow_down(s, 20ms);
    process& p = s.add();
    s.wait(200ms);
    s.w.after(25ms, [&] {
      const std::vector<std::string_view> keys{"m", "leasehold:{0}:fence", "leasehold:{0}:queue:m",
                                               "leasehold:{0}:entries:m"};
      const std::vector<std::string_view> arguments{"inspect"};
      for (std::size_t i = 0; i < servers; ++i) {
        s.w.server(i).run(detail::scripts::mutex, /*whole_text=*/true, keys, arguments);
      }
    });
    BOOST_TEST(s.acquire(p, {.lease = 20s, .wait = 10ms}).first.failed());
    s.wait(500ms);
    for (std::size_t i = 0; i < servers; ++i) BOOST_TEST(s.get("n", i).empty());
  }
}

// The same for the one script of acquire_all.
BOOST_AUTO_TEST_CASE(an_attempt_for_several_locks_is_not_sent_again_when_it_was_given_up) {
  scene s;
  slow_down(s, 20ms);
  process& p = s.add();
  hold held = take(s, p, {.lease = 20s});
  release_now(s, p, held);
  int runs = 0;
  s.w.server(0).on_run = [&runs](const detail::script& what, const auto&, const auto&) {
    runs += what.name == detail::scripts::all.name;
  };
  s.run(p, [&]() -> awaitable<void> {
    const std::vector<mutex> both{mutex(p.client(), "n"), mutex(p.client(), "m")};
    auto waiting = acquire_all({.lease = 20s, .wait = 10ms}, both, as_tuple);
    const auto [ec, all] = co_await std::move(waiting);
    BOOST_TEST(ec.failed());
  });
  s.wait(500ms);
  BOOST_TEST(runs == 0);
  BOOST_TEST(s.get("n").empty());
  BOOST_TEST(s.get("m").empty());
}

// A hold that was told to be lost, here by its margin, gets no longer lease.
BOOST_AUTO_TEST_CASE(an_extension_is_not_sent_again_when_the_hold_is_lost) {
  scene s;
  slow_down(s, 50ms);
  process& p = s.add();
  hold held = take(s, p, {.lease = 2s, .renew = renewal::none, .margin = 1s});
  s.wait(deadline_of(held) - 1s - p.now() - 60ms);
  BOOST_TEST(held.valid());
  s.w.server(0).forget_scripts();
  s.run(p, [&]() -> awaitable<void> {
    auto extending = held.extend(1h, as_tuple);
    const auto [why] = co_await std::move(extending);
    BOOST_TEST(why == error::lost, why.message());
  });
  s.wait(300ms);
  BOOST_TEST(s.w.server(0).execute({"PTTL", "n"}).integer < 2000);
}

// --- An attempt on a quorum that was given up ---

// One vote comes before it was given up, the others afterwards: no fence is written back.
BOOST_AUTO_TEST_CASE(an_attempt_that_was_given_up_raises_no_fence) {
  scene s(3);
  process& p = s.add();
  hold held = take(s, p, {.lease = 20s});
  release_now(s, p, held);
  s.wait(200ms);
  std::vector<calls> all(3);
  for (std::size_t i = 0; i < 3; ++i) count_calls(s, i, all[i]);
  for (const std::size_t i : {1U, 2U}) {
    s.w.server(i).freeze();
    s.w.after(80ms, [&s, i] { s.w.server(i).thaw(); });
  }
  BOOST_TEST(s.acquire(p, {.lease = 20s, .wait = 50ms}).first.failed());
  s.wait(500ms);
  for (std::size_t i = 0; i < 3; ++i) {
    BOOST_TEST(all[i]["acquire"] == 1);
    BOOST_TEST(all[i]["release"] == 1);
    BOOST_TEST(all[i]["raise"] == 0);
    BOOST_TEST(s.get("n", i).empty());
  }
}

// The same for the vote of a server, with a smaller fence, that stood still while the others granted and were released.
BOOST_AUTO_TEST_CASE(a_vote_that_comes_after_the_release_raises_no_fence) {
  scene s(3);
  for (const std::size_t i : {0U, 1U}) s.w.clock_of_server(i).offset = 1h;
  process& p = s.add();
  hold held = take(s, p, {.lease = 20s});
  release_now(s, p, held);
  s.wait(200ms);
  calls third;
  count_calls(s, 2, third);
  s.w.server(2).freeze();
  held = take(s, p, {.lease = 20s, .renew = renewal::none});
  s.spawn(p, release(held));
  s.wait(20ms);
  s.w.server(2).thaw();
  s.finish();
  s.wait(500ms);
  BOOST_TEST(third["acquire"] == 1);
  BOOST_TEST(third["release"] == 1);
  BOOST_TEST(third["raise"] == 0);
  BOOST_TEST(s.get("n", 2).empty());
}

// --- A renewal that is carried out late ---

// The server stands still, and then the process, too: the server lengthens the lease long after it was asked to, and
// all that the process knows of has ended when it goes on. Its release finds the connection lost, and the
// server silent for longer than a caller waits for a release. It is sent again nevertheless.
BOOST_AUTO_TEST_CASE(a_release_is_sent_behind_a_late_extension) {
  scene s;
  process& p = s.add(with_timeout(300ms));
  hold held = take(s, p, {.lease = 3s, .renew = renewal::none});
  s.w.server(0).freeze();
  s.spawn(p, [&]() -> awaitable<void> {
    auto extending = held.extend(3s, as_tuple);
    co_await std::move(extending);
    auto ending = release(held);
    co_await std::move(ending);
  });
  s.wait(10ms);
  p.freeze();
  s.wait(2800ms);
  s.w.server(0).thaw();
  s.wait(900ms);
  BOOST_TEST(!s.get("n").empty());
  s.w.server(0).freeze();
  p.cut_connections();
  p.thaw();
  s.finish();
  s.w.server(0).thaw();
  s.wait(600ms);
  BOOST_TEST(s.get("n").empty());
}

// The same if the hold was passed on within the client meanwhile: the release is that of the next holder.
BOOST_AUTO_TEST_CASE(a_release_is_sent_behind_a_late_extension_of_the_holder_before) {
  scene s;
  client_options o = with_timeout(300ms);
  o.cohort = 1s;
  process& p = s.add(o);
  hold first = take(s, p, {.lease = 3s, .renew = renewal::none});
  auto& next = s.start(p, {.lease = 3s, .renew = renewal::none});
  s.wait(100ms);
  s.w.server(0).freeze();
  s.spawn(p, [&]() -> awaitable<void> {
    auto extending = first.extend(3s, as_tuple);
    co_await std::move(extending);
  });
  s.wait(1ms);
  s.spawn(p, release(first));
  s.wait(1ms);
  BOOST_REQUIRE(next.succeeded());
  BOOST_TEST(p.client().stats().passed == 1U);
  p.freeze();
  s.wait(2800ms);
  s.w.server(0).thaw();
  s.wait(900ms);
  BOOST_TEST(s.get("n").starts_with("leasehold:" + next.got.token()));
  s.w.server(0).freeze();
  p.cut_connections();
  p.thaw();
  s.spawn(p, [&]() -> awaitable<void> {
    auto ending = release(next.got);
    co_await std::move(ending);
  });
  s.finish();
  s.w.server(0).thaw();
  s.wait(600ms);
  BOOST_TEST(s.get("n").empty());
}

// The same if the release itself was to keep the lock for a waiter of the client.
BOOST_AUTO_TEST_CASE(a_release_is_sent_behind_one_that_has_kept_the_lock_late) {
  scene s;
  client_options o = with_timeout(300ms);
  o.cohort = 0ms;
  process& p = s.add(o);
  hold first = take(s, p, {.lease = 3s, .renew = renewal::none});
  const auto& next = s.start(p, {.lease = 3s, .renew = renewal::none});
  s.wait(100ms);
  s.w.server(0).freeze();
  const auto released = s.w.now();
  s.spawn(p, release(first));
  s.wait(10ms);
  p.freeze();
  s.wait(2700ms);
  s.w.server(0).thaw();
  s.wait(900ms);
  BOOST_TEST(s.get("n").starts_with("leasehold:" + first.token()));
  p.thaw();
  s.finish();
  BOOST_REQUIRE(next.succeeded());
  BOOST_TEST((next.at - released < 4500ms));
}

// A release says nothing of what arrives between its run and its answer.
BOOST_AUTO_TEST_CASE(late_bytes_leave_nothing_behind_if_the_release_is_answered_later) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    scene s(1, seed);
    s.w.lateness = 1.0;
    s.w.latest = 450ms;
    s.w.slowest = 1ms;
    process& p = s.add(with_timeout(500ms));
    s.wait(100ms);
    s.w.server(0).on_run = [&s](const auto&, const auto& arguments, const auto&) {
      if (arguments[0] != "release") return;
      s.w.fastest = s.w.slowest = 400ms;
      s.w.after(0s, [&s] { s.w.fastest = s.w.slowest = 1ms; });
    };
    s.spawn(p, [&]() -> awaitable<void> {
      const mutex m(p.client(), "n");
      auto waiting = acquire(m, {.lease = 20s});
      auto [ec, h] = co_await std::move(waiting);
      BOOST_REQUIRE(!ec);
      auto pause = p.sleep(100ms);
      co_await std::move(pause);
      auto ending = release(h);
      const auto why = co_await std::move(ending);
      BOOST_TEST(!why, why.message());
    });
    s.wait(30us);
    p.cut_connections();
    s.finish();
    s.wait(3s);
    BOOST_TEST(s.get("n").empty());
  }
}

// Its lease is shorter than the time for which the attempt before it may run, and nothing else renews it.
BOOST_AUTO_TEST_CASE(a_hold_that_is_detached_behind_late_bytes_is_not_lost) {
  scene s;
  s.w.fastest = s.w.slowest = 1ms;
  process& p = s.add(with_timeout(2s));
  s.wait(100ms);
  std::optional<error_code> detached;
  s.spawn(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto waiting = acquire(m, {.lease = 500ms, .renew = renewal::none});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    auto detaching = h.detach(as_tuple);
    auto [why, given] = co_await std::move(detaching);
    detached = why;
  });
  s.wait(30us);
  p.cut_connections();
  s.wait(1500ms);
  BOOST_TEST(!detached);
  s.finish();
  BOOST_REQUIRE(detached.has_value());
  BOOST_TEST(!*detached, detached->message());
}

// The writer has asked to become a reader, does not wait for that any more, and its connection breaks. The request
// reaches the server later.
BOOST_AUTO_TEST_CASE(a_writer_that_is_detached_behind_a_late_downgrade_becomes_a_reader) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    scene s(1, seed);
    s.w.fastest = s.w.slowest = 1ms;
    s.w.lateness = 1.0;
    process& p = s.add(with_timeout(600ms));
    s.wait(100ms);
    auto [ec, granted] = s.acquire(p, shared_mutex(p.client(), "n"), {.lease = 20s});
    hold& held = granted;
    BOOST_REQUIRE(!ec);
    boost::asio::cancellation_signal stop;
    s.run(p, [&]() -> awaitable<void> {
      held.downgrade(boost::asio::bind_cancellation_slot(stop.slot(), [](error_code) {}));
      auto shortly = p.sleep(100us);
      co_await std::move(shortly);
      stop.emit(boost::asio::cancellation_type::terminal);
    });
    p.cut_connections();
    s.run(p, [&]() -> awaitable<void> {
      auto detaching = held.detach(as_tuple);
      const auto [why, given] = co_await std::move(detaching);
      BOOST_REQUIRE(!why);
      auto pause = p.sleep(1s);
      co_await std::move(pause);
      auto resuming = p.client().resume(given, as_tuple);
      auto [lost, resumed] = co_await std::move(resuming);
      BOOST_TEST(!lost, lost.message());
    });
  }
}

// The renewal that comes before the ticket is on its way when the writer asks to become a reader.
BOOST_AUTO_TEST_CASE(a_writer_that_is_downgraded_while_it_is_detached_becomes_a_reader) {
  scene s;
  s.w.fastest = s.w.slowest = 1ms;
  process &p = s.add(), &other = s.add();
  s.wait(100ms);
  auto [ec, granted] = s.acquire(p, shared_mutex(p.client(), "n"), {.lease = 20s});
  hold& held = granted;
  BOOST_REQUIRE(!ec);
  std::optional<ticket> given;
  std::optional<error_code> downgraded;
  s.run(p, [&]() -> awaitable<void> {
    held.detach([&given](error_code why, const ticket& t) {
      if (!why) given = t;
    });
    held.downgrade([&downgraded](error_code why) { downgraded = why; });
    auto pause = p.sleep(100ms);
    co_await std::move(pause);
  });
  BOOST_REQUIRE(given.has_value());
  BOOST_REQUIRE(downgraded.has_value());
  BOOST_TEST(!*downgraded, downgraded->message());
  s.run(other, [&]() -> awaitable<void> {
    auto resuming = other.client().resume(*given, as_tuple);
    const auto [why, resumed] = co_await std::move(resuming);
    BOOST_TEST(!why, why.message());
    BOOST_TEST(resumed.fence() == given->fence());
  });
}

// Whoever resumes the hold knows nothing of the attempt before it.
BOOST_AUTO_TEST_CASE(late_bytes_leave_nothing_behind_if_the_hold_was_detached) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    scene s(1, seed);
    s.w.lateness = 1.0;
    s.w.latest = 450ms;
    s.w.slowest = 1ms;
    process &p = s.add(with_timeout(500ms)), &worker = s.add();
    s.wait(100ms);
    ticket t;
    s.spawn(p, [&]() -> awaitable<void> {
      const mutex m(p.client(), "n");
      auto waiting = acquire(m, {.lease = 20s});
      auto [ec, h] = co_await std::move(waiting);
      BOOST_REQUIRE(!ec);
      auto detaching = h.detach(as_tuple);
      auto [why, given] = co_await std::move(detaching);
      BOOST_TEST(!why, why.message());
      t = given;
    });
    s.wait(30us);
    p.cut_connections();
    s.finish();
    s.spawn(worker, [&]() -> awaitable<void> {
      auto resuming = worker.client().resume(t, as_tuple);
      auto [ec, h] = co_await std::move(resuming);
      BOOST_REQUIRE(!ec);
      auto ending = release(h);
      const auto why = co_await std::move(ending);
      BOOST_TEST(!why, why.message());
    });
    s.finish();
    s.wait(3s);
    BOOST_TEST(s.get("n").empty());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
