// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What happens to a server, in virtual time: replicas that do not answer, a clock that is stepped, lost data. What is
// promised then is in docs/guarantees.md.
#include "lock/hold_state.hpp"
#include "simulation/scene.hpp"

#include "support/unit_test.hpp"

#include <leasehold/acquire_all.hpp>
#include <leasehold/counting_semaphore.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/recursive_mutex.hpp>
#include <leasehold/shared_mutex.hpp>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(scenarios)

// --- Replicas that do not answer ---

BOOST_AUTO_TEST_CASE(a1_a_frozen_replica_acknowledges_no_grant) {
  scene s;
  s.w.server(0).replicas = 1;
  s.w.server(0).replicas_that_answer = 0;
  for (int i = 0; i < 20; ++i) {
    process& p = s.add();
    for (const char* const name : {"first", "second"}) {
      const auto [ec, h] = s.acquire(p, mutex(p.client(), name), {.lease = 5s, .wait = 1s, .replicas = 1});
      BOOST_TEST(ec == error::no_quorum);
      BOOST_TEST(!h.valid());
    }
  }
  s.w.server(0).replicas_that_answer = 1;
  process& p = s.add();
  BOOST_TEST(!s.acquire(p, mutex(p.client(), "third"), {.lease = 5s, .wait = 1s, .replicas = 1}).first);
}

BOOST_AUTO_TEST_CASE(a1_a_frozen_replica_acknowledges_no_grant_of_several_locks) {
  scene s;
  s.w.server(0).replicas = 1;
  process& p = s.add();
  s.run(p, [&]() -> awaitable<void> {
    auto connecting = p.client().ready(as_tuple);
    co_await std::move(connecting);
    const std::vector<mutex> both{mutex(p.client(), "a"), mutex(p.client(), "b")};
    auto waiting = acquire_all({.lease = 5s, .wait = 1s, .replicas = 1}, both, as_tuple);
    const auto [ec, all] = co_await std::move(waiting);
    BOOST_TEST(ec == error::no_quorum);
  });
}

// A confirmation that lengthens nothing, because the server's clock was set back after the grant, is written
// all the same.
template <class Lock>
void ask_replicas_after_a_step_back(const Lock& lock, scene& s, process& p) {
  s.w.server(0).replicas = 1;
  s.w.server(0).replicas_that_answer = 0;
  bool is_set_back = false;
  s.w.server(0).on_run = [&](const auto&, const auto& arguments, const auto& r) {
    if (arguments[0] != "acquire" || !r.text.starts_with("1 ") || std::exchange(is_set_back, true)) return;
    s.w.clock_of_server(0).offset -= 1s;
  };
  BOOST_TEST(s.acquire(p, lock, {.lease = 5s, .wait = 1s, .replicas = 1}).first == error::no_quorum);
  BOOST_TEST(is_set_back);
}

BOOST_AUTO_TEST_CASE(a1_a_frozen_replica_acknowledges_no_grant_after_a_step_back_of_the_clock) {
  for (int kind = 0; kind < 4; ++kind) {
    scene s;
    process& p = s.add();
    if (kind == 0) ask_replicas_after_a_step_back(mutex(p.client(), "n"), s, p);
    if (kind == 1) ask_replicas_after_a_step_back(recursive_mutex(p.client(), "n", "owner"), s, p);
    if (kind == 2) ask_replicas_after_a_step_back(shared_mutex(p.client(), "n"), s, p);
    if (kind == 3) ask_replicas_after_a_step_back(counting_semaphore(p.client(), "n", 2), s, p);
  }
}

// The grant was made by the connection of the one before, whose writes WAIT does not speak of here.
BOOST_AUTO_TEST_CASE(a_grant_that_was_handed_over_is_acknowledged_by_replicas_too) {
  scene s;
  s.w.server(0).replicas = 1;
  s.w.server(0).replicas_that_answer = 0;
  process &holder = s.add(), &waits = s.add();
  s.spawn(holder, [&]() -> awaitable<void> {
    const mutex m(holder.client(), "n");
    auto waiting = acquire(m, {.lease = 5s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    auto pause = holder.sleep(500ms);
    co_await std::move(pause);
  });
  s.wait(100ms);
  BOOST_TEST(s.acquire(waits, {.lease = 5s, .wait = 3s, .replicas = 1}).first == error::no_quorum);
}

// The server answers all the time.
BOOST_AUTO_TEST_CASE(a_grant_whose_lease_is_over_before_it_is_acknowledged_lacks_replicas) {
  scene s;
  process& p = s.add();
  s.w.server(0).replicas = 1;
  s.w.server(0).replicas_that_answer = 1;
  s.w.server(0).on_run = [&](const auto&, const auto& arguments, const auto& r) {
    if (arguments[0] == "acquire" && r.text.starts_with("1 ")) s.w.clock_of_server(0).offset += 10s;
  };
  BOOST_TEST(s.acquire(p, {.lease = 5s, .wait = 1s, .replicas = 1}).first == error::no_quorum);
  s.run(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto waiting = m.try_acquire({.lease = 5s, .replicas = 1}, as_tuple);
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(ec == error::no_quorum);
  });
}

// One waiter was not acknowledged, and was later; the next one needs no replica.
BOOST_AUTO_TEST_CASE(a_lack_of_replicas_is_forgotten_when_the_lock_is_granted) {
  scene s;
  s.w.server(0).replicas = 1;
  s.w.server(0).replicas_that_answer = 0;
  process& p = s.add(with_timeout(300ms));
  s.wait(100ms);
  const auto& first = s.start(p, {.lease = 2s, .wait = 4s, .replicas = 1});
  const auto& second = s.start(p, {.lease = 2s, .wait = 4s});
  s.wait(500ms);
  BOOST_TEST(!first.ended);
  s.w.server(0).replicas_that_answer = 1;
  for (int i = 0; i < 3000 && !first.ended; ++i) s.wait(1ms);
  BOOST_TEST(first.succeeded());
  s.w.server(0).freeze();
  s.finish();
  BOOST_TEST(second.ended.value() == error::unreachable, second.ended->message());
}

// First too few replicas acknowledge the grant, then the lock is busy, and then the server is silent.
BOOST_AUTO_TEST_CASE(a_lack_of_replicas_is_forgotten_when_the_lock_is_busy) {
  scene s;
  s.w.server(0).replicas = 1;
  s.w.server(0).replicas_that_answer = 0;
  process &p = s.add(with_timeout(300ms)), &other = s.add();
  s.wait(100ms);
  const backoff half_a_second{.first = 500ms, .max = 500ms, .factor = 1.0, .jitter = 0.0};
  const auto& waiting = s.start(p, {.lease = 2s, .wait = 4s, .retry = half_a_second, .replicas = 1});
  s.wait(10ms);
  const auto& taking = s.start(other, {.lease = 60s});
  s.wait(2s);
  BOOST_TEST(taking.succeeded());
  BOOST_TEST(p.client().stats().contended == 1U);
  s.w.server(0).freeze();
  s.finish();
  BOOST_TEST(waiting.ended.value() == error::unreachable, waiting.ended->message());
}

// --- Its clock and its data ---

// A forward step of the server's clock is seen in the next reply, and shortens the deadlines.
BOOST_AUTO_TEST_CASE(a_forward_step_of_the_server_s_clock_shortens_every_deadline) {
  scene s;
  std::uint64_t jumps = 0;
  client_options o;
  o.observer = [&jumps](const event& e) { jumps += e.what == event::kind::clock_jump; };
  process& p = s.add(o);
  s.run(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n"), other(p.client(), "other");
    auto waiting = acquire(m, {.lease = 10s, .renew = renewal::none});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    s.w.clock_of_server(0).offset += 8s;
    auto again = acquire(other, {.lease = 10s});
    co_await std::move(again);
    BOOST_TEST(jumps == 1U);
    auto pause = p.sleep(2s);
    co_await std::move(pause);
    BOOST_TEST(!h.valid());
    BOOST_TEST(s.get("n").empty());
  });
}

// The answer comes to a waiter that has left, and says what time it is all the same.
BOOST_AUTO_TEST_CASE(an_answer_that_comes_too_late_shows_a_step_of_the_server_s_clock) {
  scene s;
  s.w.fastest = s.w.slowest = 20ms;
  std::uint64_t jumps = 0;
  client_options o;
  o.observer = [&jumps](const event& e) { jumps += e.what == event::kind::clock_jump; };
  process& p = s.add(o);
  const hold h = take(s, p, {.lease = 10s, .renew = renewal::none});
  const auto& waits = s.start(p, {.lease = 10s, .wait = 10ms});
  s.w.clock_of_server(0).offset += 8s;
  s.wait(30ms);
  BOOST_TEST(jumps == 0U);
  s.wait(100ms);
  BOOST_REQUIRE(waits.ended.has_value());
  BOOST_TEST(jumps == 1U);
  s.wait(2s);
  BOOST_TEST(!h.valid());
}

// The reply that shows the step comes in the instant in which the hold is released: the next holder in the cohort has
// the same record, and a shorter deadline, too.
BOOST_AUTO_TEST_CASE(a_step_that_is_seen_during_a_release_shortens_the_next_deadline) {
  scene s;
  s.w.fastest = s.w.slowest = 1ms;
  client_options o;
  o.cohort = 1s;
  process& p = s.add(o);
  hold first = take(s, p, {.lease = 60s, .renew = renewal::none});
  hold other = s.acquire(p, mutex(p.client(), "other"), {.lease = 60s, .renew = renewal::none}).second;
  const auto& next = s.start(p, {.lease = 60s, .renew = renewal::none});
  s.wait(100ms);
  s.w.clock_of_server(0).offset += 20s;
  s.spawn(p, [&]() -> awaitable<void> {
    auto pause = p.sleep(2ms);
    co_await std::move(pause);
    BOOST_TEST(p.client().stats().clock_jumps == 0U);
    auto ending = release(first);
    const auto why = co_await std::move(ending);
    BOOST_TEST(!why, why.message());
  });
  s.spawn(p, [&]() -> awaitable<void> {
    auto extending = other.extend(60s, as_tuple);
    co_await std::move(extending);
  });
  s.finish();
  BOOST_REQUIRE(next.succeeded());
  BOOST_TEST(p.client().stats().clock_jumps == 1U);
  BOOST_TEST(p.client().stats().passed == 1U);
  const auto left = std::chrono::milliseconds(s.w.server(0).execute({"PTTL", "n"}).integer + 1);
  BOOST_TEST((detail::access::state(next.got)->deadline() - p.now() <= left));
}

// A server that was started again without its data is noticed at once.
BOOST_AUTO_TEST_CASE(a_server_that_has_lost_its_data_is_asked_for_every_hold_at_once) {
  scene s;
  process& p = s.add();
  s.run(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto waiting = acquire(m, {.lease = 30s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    const auto lost_at = s.w.now();
    s.w.server(0).start({});
    auto losing = h.lost(as_tuple);
    const auto [why] = co_await std::move(losing);
    BOOST_TEST(!why);
    BOOST_TEST((s.w.now() - lost_at < 1s));
  });
}

// A replica takes over that has not heard of an extension: what it says is left counts.
BOOST_AUTO_TEST_CASE(a_server_that_knows_a_shorter_lease_is_believed) {
  scene s;
  process& p = s.add();
  s.run(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto waiting = acquire(m, {.lease = 2s, .renew = renewal::none});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    const detail::memory::database older = s.w.server(0).data();
    auto extending = h.extend(20s, as_tuple);
    const auto [why] = co_await std::move(extending);
    BOOST_TEST(!why);
    s.w.server(0).start(older);
    auto pause = p.sleep(100ms);
    co_await std::move(pause);
    while (h.valid()) {
      BOOST_TEST(s.get("n").starts_with("leasehold:" + h.token()));
      auto more = p.sleep(10ms);
      co_await std::move(more);
    }
  });
}

BOOST_AUTO_TEST_CASE(a_lock_without_an_expiry_gets_one_if_the_client_is_told_to_repair_it) {
  for (const bool repairs : {false, true}) {
    scene s;
    client_options o;
    o.repair_missing_expiry = repairs;
    process& p = s.add(o);
    s.w.server(0).data().execute({"SET", "n", "another program's"});
    const auto [ec, h] = s.acquire(p, {.lease = 2s, .wait = 5s});
    BOOST_TEST(ec == (repairs ? error_code() : make_error_code(error::timed_out)));
  }
}

// The one script of acquire_all, which does not wait, does so, too.
BOOST_AUTO_TEST_CASE(one_of_several_locks_without_an_expiry_gets_one) {
  scene s;
  client_options o;
  o.repair_missing_expiry = true;
  process& p = s.add(o);
  s.w.server(0).data().execute({"SET", "n", "another program's"});
  s.run(p, [&]() -> awaitable<void> {
    auto connecting = p.client().ready(as_tuple);
    co_await std::move(connecting);
    const std::vector<mutex> both{mutex(p.client(), "a"), mutex(p.client(), "n")};
    auto waiting = acquire_all({.lease = 2s, .wait = 0ms}, both, as_tuple);
    const auto [ec, all] = co_await std::move(waiting);
    BOOST_TEST(ec == error::timed_out);
  });
  BOOST_TEST(s.w.server(0).execute({"PTTL", "n"}).integer > 0);
}

// Memory is the machine's, and not a copy's of the data.
// Its %d has 32 bits: each grant would be one that the client does not understand.
BOOST_AUTO_TEST_CASE(a7_a_32_bit_server_is_refused_before_it_is_asked) {
  scene s;
  auto& server = s.w.server(0);
  server.arch_bits = 32;
  bool is_asked = false;
  server.on_run = [&](const auto&, const auto&, const auto&) { is_asked = true; };
  process& p = s.add();
  BOOST_TEST(s.acquire(p, {.lease = 5s, .wait = 1s}).first == error::refused);
  BOOST_TEST(p.client().last_refusal() == "the server is a 32-bit build; leasehold needs a 64-bit one");
  BOOST_TEST(!is_asked);
  server.arch_bits = 64;
  s.wait(2s);
  BOOST_TEST(!s.acquire(p, {.lease = 5s, .wait = 1s}).first);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_started_again_has_as_little_memory_as_the_machine) {
  scene s;
  process& p = s.add();
  s.wait(100ms);
  const detail::memory::database before = s.w.server(0).data();
  s.w.server(0).data().set_out_of_memory(true);
  const detail::memory::database meanwhile = s.w.server(0).data();
  s.w.server(0).start(before);
  s.wait(2s);
  BOOST_TEST(s.acquire(p, {.lease = 5s, .wait = 1s}).first == error::refused);
  s.w.server(0).kill();
  s.w.server(0).data().set_out_of_memory(false);
  s.w.server(0).start(meanwhile);
  s.wait(2s);
  BOOST_TEST(!s.acquire(p, {.lease = 5s, .wait = 1s}).first);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
