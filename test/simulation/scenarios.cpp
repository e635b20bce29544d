// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// Attacks on the protocol, one by one, in virtual time. What each of them must not achieve is in docs/guarantees.md.
#include "lock/hold_state.hpp"
#include "simulation/scene.hpp"

#include "support/unit_test.hpp"

#include <leasehold/acquire_all.hpp>
#include <leasehold/counting_semaphore.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/recursive_mutex.hpp>
#include <leasehold/shared_mutex.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(scenarios)

// --- found.md, part A ---

BOOST_AUTO_TEST_CASE(a1_a_frozen_replica_acknowledges_no_grant) {
  scene s;
  s.w.server(0).replicas = 1;
  s.w.server(0).replicas_that_answer = 0;
  for (int i = 0; i < 20; ++i) {
    process& p = s.add();
    s.run(p, [&]() -> awaitable<void> {
      for (const char* const name : {"first", "second"}) {
        const mutex m(p.client(), name);
        auto waiting = acquire(m, {.lease = 5s, .wait = 1s, .replicas = 1});
        const auto [ec, h] = co_await std::move(waiting);
        BOOST_TEST(ec == error::no_quorum);
        BOOST_TEST(!h.valid());
      }
    });
  }
  s.w.server(0).replicas_that_answer = 1;
  process& p = s.add();
  s.run(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "third");
    auto waiting = acquire(m, {.lease = 5s, .wait = 1s, .replicas = 1});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(!ec);
  });
}

// The time in which the server stood still is not a waiter's silence.
void try_to_overtake_while_the_server_stands(clock::duration how_long) {
  scene s;
  s.w.fastest = s.w.slowest = 100us;
  process &holder = s.add(), &waits = s.add(), &newcomer = s.add();
  std::vector<std::string> order;
  std::optional<hold> held;
  s.run(holder, [&]() -> awaitable<void> {
    const mutex m(holder.client(), "n");
    auto waiting = acquire(m, {.lease = 60s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    held = std::move(h);
  });
  s.spawn(waits, [&]() -> awaitable<void> {
    const mutex m(waits.client(), "n");
    auto waiting = acquire(m, {.lease = 60s});
    auto [ec, h] = co_await std::move(waiting);
    order.push_back(ec ? ec.message() : "the one that waited");
  });
  s.wait(300ms);
  s.w.server(0).freeze();
  s.wait(how_long);
  s.spawn(holder, [&]() -> awaitable<void> {
    auto waiting = release(*held);
    co_await std::move(waiting);
  });
  s.wait(1ms);
  s.spawn(newcomer, [&]() -> awaitable<void> {
    const mutex m(newcomer.client(), "n");
    auto waiting = m.try_acquire({.lease = 60s, .wait = 30s}, as_tuple);
    auto [ec, h] = co_await std::move(waiting);
    if (h) order.emplace_back("the newcomer");
  });
  s.wait(1ms);
  s.w.server(0).thaw();
  s.finish();
  BOOST_TEST(order.size() >= 1U);
  BOOST_TEST(order.front() == "the one that waited");
}

BOOST_AUTO_TEST_CASE(a2_no_newcomer_overtakes_while_a_server_stands_still) {
  for (const auto how_long : {200ms, 1000ms, 1500ms}) try_to_overtake_while_the_server_stands(how_long);
}

BOOST_AUTO_TEST_CASE(a3_a_renewal_carries_the_grant_to_servers_that_lack_it) {
  scene s(3);
  process &x = s.add(), &y = s.add();
  // C stands still while X is granted on A and B.
  s.w.server(2).freeze();
  std::optional<hold> held;
  s.run(x, [&]() -> awaitable<void> {
    const mutex m(x.client(), "n");
    auto waiting = acquire(m, {.lease = 3s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    held = std::move(h);
  });
  s.w.server(2).thaw();
  s.wait(3s);
  BOOST_TEST(held->valid());
  // B forgets.
  s.w.server(1).data().execute({"FLUSHALL"});
  s.run(y, [&]() -> awaitable<void> {
    const mutex m(y.client(), "n");
    auto waiting = acquire(m, {.lease = 3s, .wait = 2s});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(ec == error::timed_out);
  });
  BOOST_TEST(held->valid());
}

// Two servers of three were restarted within two seconds of each other, one of them without its data: to a client that has
// just been started they are as young as each other, but not as the third one.
BOOST_AUTO_TEST_CASE(two_servers_that_were_restarted_together_are_not_taken_for_a_new_deployment) {
  scene s(3);
  process &x = s.add(), &y = s.add();
  const detail::memory::database with_its_data = s.w.server(1).data();
  s.w.server(1).kill();
  std::optional<hold> held;
  s.run(x, [&]() -> awaitable<void> {
    const mutex m(x.client(), "n");
    auto waiting = acquire(m, {.lease = 20s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    held = std::move(h);
  });
  x.freeze();
  s.w.server(1).start(with_its_data);
  s.w.server(0).start({});
  s.wait(1s);
  process& fresh = s.add();
  for (process* const p : {&y, &fresh}) {
    s.run(*p, [p]() -> awaitable<void> {
      const mutex m(p->client(), "n");
      auto waiting = acquire(m, {.lease = 5s, .wait = 5s});
      const auto [ec, h] = co_await std::move(waiting);
      BOOST_TEST(ec);
    });
  }
  BOOST_TEST(held->valid());
}

// The same, and the one that is older cannot be asked.
BOOST_AUTO_TEST_CASE(two_servers_that_were_restarted_together_do_not_count_while_the_third_was_not_reached) {
  scene s(3);
  process& x = s.add();
  s.w.server(2).kill();
  std::optional<hold> held;
  take(s, x, {.lease = 20s}, held);
  x.freeze();
  const detail::memory::database with_its_data = s.w.server(1).data();
  s.w.server(0).start({});
  s.w.server(2).start({});
  s.w.server(1).kill();
  s.wait(1s);
  process& fresh = s.add();
  s.run(fresh, [&]() -> awaitable<void> {
    const mutex m(fresh.client(), "n");
    auto waiting = acquire(m, {.lease = 5s, .wait = 15s});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(ec == error::no_quorum);
  });
  BOOST_TEST(held->valid());
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
    s.run(fresh, [&]() -> awaitable<void> {
      const mutex m(fresh.client(), "n");
      auto waiting = acquire(m, {.lease = 5s, .wait = 1s});
      const auto [ec, h] = co_await std::move(waiting);
      BOOST_TEST(!ec);
    });
  }
}

BOOST_AUTO_TEST_CASE(a4_fences_of_a_quorum_outlive_a_server_with_a_clock_ahead) {
  scene s(3);
  s.w.clock_of_server(0).offset = 24h * 30;
  process& p = s.add();
  std::uint64_t first = 0, second = 0;
  const auto take = [&](std::uint64_t& fence) {
    return [&]() -> awaitable<void> {
      const mutex m(p.client(), "n");
      auto waiting = acquire(m, {.lease = 3s});
      auto [ec, h] = co_await std::move(waiting);
      BOOST_REQUIRE(!ec);
      fence = h.fence();
      auto ending = release(h);
      co_await std::move(ending);
    };
  };
  s.run(p, take(first));
  s.wait(50h);
  s.w.server(0).kill();
  s.run(p, take(second));
  BOOST_TEST(second > first);
}

BOOST_AUTO_TEST_CASE(a6_a_queue_without_entries_does_not_block) {
  scene s;
  s.w.server(0).data().execute({"ZADD", "leasehold:{0}:queue:n", "1", "token"});
  process& p = s.add();
  s.run(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto waiting = acquire(m, {.lease = 3s, .wait = 2s});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(!ec);
  });
}

BOOST_AUTO_TEST_CASE(a8_dead_waiters_behind_a_clock_that_was_set_back_do_not_block_for_ever) {
  scene s;
  process &holder = s.add(), &alive = s.add();
  std::optional<hold> held;
  s.run(holder, [&]() -> awaitable<void> {
    const mutex m(holder.client(), "n");
    auto waiting = acquire(m, {.lease = 120s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    held = std::move(h);
  });
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
  std::optional<clock::time_point> granted;
  s.spawn(alive, [&]() -> awaitable<void> {
    const mutex m(alive.client(), "n");
    auto waiting = acquire(m, {.lease = 60s});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(!ec);
    granted = s.w.now();
  });
  s.wait(1s);
  const auto released = s.w.now();
  s.spawn(holder, [&]() -> awaitable<void> {
    auto waiting = release(*held);
    co_await std::move(waiting);
  });
  s.finish();
  BOOST_REQUIRE(granted.has_value());
  BOOST_TEST((*granted - released < 10s));
}

BOOST_AUTO_TEST_CASE(a9_a_smaller_limit_is_not_granted_while_others_wait_with_a_larger_one) {
  scene s;
  process &one = s.add(), &two = s.add();
  std::vector<hold> held;
  s.run(one, [&]() -> awaitable<void> {
    const counting_semaphore all(one.client(), "n", 5);
    for (int i = 0; i < 5; ++i) {
      auto waiting = acquire(all, {.lease = 1s, .renew = renewal::none});
      auto [ec, h] = co_await std::move(waiting);
      BOOST_REQUIRE(!ec);
      held.push_back(std::move(h));
    }
  });
  // A waiter stands still while the holds end.
  process& waits = s.add();
  s.spawn(waits, [&]() -> awaitable<void> {
    const counting_semaphore all(waits.client(), "n", 5);
    auto waiting = acquire(all, {.lease = 5s});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(!ec);
  });
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
}

// --- attacks.md ---

// Attack A2: an attempt is granted, its answer is lost, and it is asked again much later: the deadline counts from the
// request that is answered, and the lease is what the server says is left.
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

// Attack A3: an extension to a shorter lease arrives after a renewal to a longer one.
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

// Attacks B3 and B4: what was sent on a connection that is gone arrives after its lock was given back.
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

// The release that is sent once more for them, when none can come any more, may be lost itself. Another client has the lock
// then, so that the late request waits in the queue.
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

// Attack A5: each entry has a token of its own, so that a grant that arrives late is not taken for the next one.
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

// Attack A9: a forward step of the server's clock is seen in the next reply, and shortens the deadlines.
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

// Attack A10: a server that was started again without its data is noticed at once.
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
    s.spawn(waits, [&]() -> awaitable<void> {
      const mutex m(waits.client(), "n");
      auto waiting = acquire(m, {.lease = 300ms, .wait = 1s});
      const auto [ec, h] = co_await std::move(waiting);
      BOOST_TEST(ec == error::unreachable);
    });
    s.wait(100ms);
    BOOST_TEST(s.w.server(0).data().execute({"ZCARD", the_queue}).integer == 1);
    auto data = s.w.server(0).data();
    s.w.server(0).kill();
    s.wait(absence);
    s.w.server(0).start(std::move(data));
    s.wait(4s);
    BOOST_TEST(s.w.server(0).data().execute({"ZCARD", the_queue}).integer == 0);
    s.finish();
  }
}

// Attack A12: the grant was made by the connection of the one before, whose writes WAIT does not speak of here.
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
  s.spawn(waits, [&]() -> awaitable<void> {
    const mutex m(waits.client(), "n");
    auto waiting = acquire(m, {.lease = 5s, .wait = 3s, .replicas = 1});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(ec == error::no_quorum);
  });
  s.finish();
}

// A process that stood still past its lease does not work on, and what it asks for then is told as lost.
BOOST_AUTO_TEST_CASE(a_holder_that_stood_still_past_its_lease_is_told_when_it_goes_on) {
  scene s;
  process &p = s.add(), &other = s.add();
  std::optional<hold> held;
  bool told = false;
  s.run(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto waiting = acquire(m, {.lease = 1s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    held = std::move(h);
  });
  s.spawn(p, [&]() -> awaitable<void> {
    auto losing = held->lost(as_tuple);
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
  BOOST_TEST(fence > held->fence());
  p.thaw();
  s.wait(1ms);
  BOOST_TEST(told);
  BOOST_TEST(!held->valid());
  s.finish();
}

// A dead holder's lease ends by itself, and the waiter is granted the lock.
BOOST_AUTO_TEST_CASE(a_dead_holder_blocks_for_no_longer_than_its_lease) {
  scene s;
  process &p = s.add(), &other = s.add();
  s.run(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto waiting = acquire(m, {.lease = 2s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    // It is not released: the process dies with it.
    static hold left;
    left = std::move(h);
  });
  p.die();
  const auto died = s.w.now();
  s.run(other, [&]() -> awaitable<void> {
    const mutex m(other.client(), "n");
    auto waiting = acquire(m, {.lease = 2s});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(!ec);
    BOOST_TEST((s.w.now() - died < 2100ms));
  });
}

// An acquire_all that runs into its deadline while its script is on its way gives back what the script has acquired, and
// waits for that no longer than 100 ms, also if the server ends meanwhile.
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

// A cohort on a slow network, while another client comes to wait: the deadline that comes with a fence asked for ahead of time
// is not later than the server's, and the passing ends in time.
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
  std::optional<hold> held;
  s.run(p, [&]() -> awaitable<void> {
    const mutex m(p.client(), "n");
    auto waiting = acquire(m, {.lease = 1s, .renew = renewal::none});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    held = std::move(h);
  });
  s.spawn(p, [&]() -> awaitable<void> {
    auto ending = release(*held);
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

// A confirmation that lengthens nothing, because the server's clock was set back after the grant, is written all the same.
template <class Lock>
void ask_replicas_after_a_step_back(const Lock& lock, scene& s, process& p) {
  s.w.server(0).replicas = 1;
  s.w.server(0).replicas_that_answer = 0;
  bool is_set_back = false;
  s.w.server(0).on_run = [&](const auto&, const auto& arguments, const auto& r) {
    if (arguments[0] != "acquire" || !r.text.starts_with("1 ") || std::exchange(is_set_back, true)) return;
    s.w.clock_of_server(0).offset -= 1s;
  };
  s.run(p, [&]() -> awaitable<void> {
    auto waiting = acquire(lock, {.lease = 5s, .wait = 1s, .replicas = 1});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(ec == error::no_quorum);
  });
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

// found.md, D8: what was pushed while a waiter had no connection is found out as soon as it has one, and not at its next poll.
BOOST_AUTO_TEST_CASE(a_waiter_asks_at_once_after_a_reconnect) {
  scene s;
  process &holder = s.add(), &waits = s.add();
  std::optional<hold> held;
  s.run(holder, [&]() -> awaitable<void> {
    const mutex m(holder.client(), "n");
    auto waiting = acquire(m, {.lease = 60s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    held = std::move(h);
  });
  std::optional<clock::time_point> granted;
  s.spawn(waits, [&]() -> awaitable<void> {
    const mutex m(waits.client(), "n");
    auto waiting = acquire(m, {.lease = 60s});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(!ec);
    granted = s.w.now();
  });
  s.wait(50ms);
  waits.cut_connections();
  const auto released = s.w.now();
  s.spawn(holder, [&]() -> awaitable<void> {
    auto ending = release(*held);
    co_await std::move(ending);
  });
  s.finish();
  BOOST_REQUIRE(granted.has_value());
  BOOST_TEST((*granted - released < 200ms));
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

BOOST_AUTO_TEST_CASE(a_lock_without_an_expiry_gets_one_if_the_client_is_told_to_repair_it) {
  for (const bool repairs : {false, true}) {
    scene s;
    client_options o;
    o.repair_missing_expiry = repairs;
    process& p = s.add(o);
    s.w.server(0).data().execute({"SET", "n", "another program's"});
    s.run(p, [&]() -> awaitable<void> {
      const mutex m(p.client(), "n");
      auto waiting = acquire(m, {.lease = 2s, .wait = 5s});
      const auto [ec, h] = co_await std::move(waiting);
      BOOST_TEST(ec == (repairs ? error_code() : make_error_code(error::timed_out)));
    });
  }
}

// The record has gone, and a queue of another kind is there.
BOOST_AUTO_TEST_CASE(a_queue_of_another_kind_is_not_passed) {
  scene s;
  process &holder = s.add(), &waits = s.add(), &other = s.add();
  std::optional<hold> held;
  s.run(holder, [&]() -> awaitable<void> {
    const mutex m(holder.client(), "n");
    auto waiting = acquire(m, {.lease = 60s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    held = std::move(h);
  });
  s.spawn(waits, [&]() -> awaitable<void> {
    const mutex m(waits.client(), "n");
    auto waiting = acquire(m, {.lease = 60s});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(!ec);
  });
  s.wait(50ms);
  s.w.server(0).data().execute({"DEL", "n"});
  s.spawn(other, [&]() -> awaitable<void> {
    const recursive_mutex m(other.client(), "n", "owner");
    auto waiting = acquire(m, {.lease = 60s, .wait = 100ms});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(ec == error::wrong_type);
  });
  s.finish();
}

BOOST_AUTO_TEST_CASE(each_failure_has_its_error_and_is_counted) {
  scene s;
  process &holder = s.add(), &p = s.add(with_timeout(300ms));
  std::optional<hold> held;
  s.run(holder, [&]() -> awaitable<void> {
    const mutex m(holder.client(), "n");
    auto waiting = acquire(m, {.lease = 60s});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    held = std::move(h);
  });
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
