// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// acquire_options::at_least: nobody else is granted the lock before that time is over.
#include "simulation/with_memory.hpp"
#include "support/kinds.hpp"
#include "support/notes.hpp"

#include <leasehold/acquire_all.hpp>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(at_least, with_kinds_on<with_memory>)

namespace {

constexpr acquire_options five_seconds{.lease = 1s, .at_least = 5s};

// Whoever waits may learn of the end by a poll, and clocks are allowed to differ by a hundredth.
void check_rest(std::chrono::steady_clock::duration took, std::chrono::milliseconds at_least = 5s) {
  BOOST_TEST(took >= at_least);
  BOOST_TEST(took <= at_least + at_least / 100 + 20ms);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_release_completes_at_once_and_keeps_the_others_out_until_the_time_is_over) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      asker first(k.holder(client(executor, redis.url())));
      asker waiting(k.next(client(executor, redis.url()), 0)), late(k.next(client(executor, redis.url()), 0));
      co_await acquired(first, five_seconds);
      const auto since = now();
      waiting.acquire();
      co_await wait_in_queue(1);
      co_await pause(100ms);
      const auto released = now();
      const auto [ec] = co_await first.got.release(as_tuple);
      BOOST_TEST(!ec);
      BOOST_TEST((now() - released < 10ms));
      BOOST_TEST(!first.got.valid());
      const auto [again] = co_await first.got.release(as_tuple);
      BOOST_TEST(again == error::not_held);
      BOOST_TEST(!(co_await tried(late)));
      const lock_info info = co_await inspected(first.lock);
      BOOST_TEST(info.held);
      BOOST_TEST(info.holders == 1U);
      BOOST_TEST(info.token == "~" + first.got.token());
      BOOST_TEST(info.fence == first.got.fence());
      BOOST_TEST((info.ttl && *info.ttl > 4s && *info.ttl < 5s));
      co_await eventually("the next is in", [&] { return waiting.in(); });
      check_rest(now() - since);
      co_await waiting.got.release();
      co_await nothing_left();
    });
  });
}

// Of two locks one is there, and nobody has had both.
BOOST_AUTO_TEST_CASE(a_client_that_closes_while_it_acquires_several_keeps_none_busy) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url()), other(executor, redis.url());
    const hold busy = co_await mutex(other, "b").acquire();
    std::optional<error_code> ended;
    acquire_all({.lease = 10s, .at_least = 1min}, mutex(c, "a"), mutex(c, "b"),
                [&](error_code ec, auto) { ended = ec; });
    co_await eventually("it has one of them", [&] { return redis.get("a").has_value(); });
    co_await pause(100ms);
    co_await c.close();
    co_await eventually("it has ended", [&] { return ended.has_value(); });
    BOOST_TEST(!!*ended);
    const auto began = now();
    co_await eventually("the first one is free", [&] { return !redis.get("a"); });
    BOOST_TEST(now() - began < 5s);
  });
}

BOOST_AUTO_TEST_CASE(the_death_of_the_holder_does_not_shorten_it) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      other_program program(redis);
      const auto keep = [&](auto lock) -> awaitable<void> { co_await program.keep(std::move(lock), five_seconds); };
      co_await std::visit(keep, k.holder(program.client()));
      const auto since = now();
      program.die();
      asker waiting(k.next(client(executor, redis.url()), 0));
      waiting.acquire();
      co_await eventually("the next is in", [&] { return waiting.in(); });
      // The grant was a little earlier than its answer.
      BOOST_TEST((now() - since >= 5s - 10ms));
      BOOST_TEST((now() - since <= 5s + 20ms));
    });
  });
}

BOOST_AUTO_TEST_CASE(the_end_of_the_hold_in_any_other_way_is_a_release_as_well) {
  for (const bool closes : {false, true}) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client c(executor, redis.url());
      std::optional<hold> h = co_await mutex(c, "n").try_acquire(five_seconds);
      const auto since = now();
      if (closes) {
        const auto [ec] = co_await c.close(as_tuple);
        BOOST_TEST(!ec);
        BOOST_TEST((now() - since < 100ms));
      } else {
        h.reset();
      }
      hold next = co_await mutex(client(executor, redis.url()), "n").acquire();
      check_rest(now() - since);
    });
  }
}

BOOST_AUTO_TEST_CASE(with_lock_returns_at_once) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    mutex lock(client(executor, redis.url()), "n"), other(client(executor, redis.url()), "n");
    const auto since = now();
    auto body = [](hold&) -> awaitable<void> { co_return; };
    co_await with_lock(lock, five_seconds, body);
    BOOST_TEST((now() - since < 100ms));
    hold next = co_await other.acquire();
    check_rest(now() - since);
  });
}

BOOST_AUTO_TEST_CASE(a_release_after_that_time_leaves_nothing) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      asker first(k.holder(client(executor, redis.url()))), next(k.next(client(executor, redis.url()), 0));
      co_await acquired(first, five_seconds);
      co_await pause(6s);
      BOOST_TEST(first.got.valid());
      const auto [ec] = co_await first.got.release(as_tuple);
      BOOST_TEST(!ec);
      BOOST_TEST(redis.size() == 0U);
      BOOST_TEST((co_await tried(next)));
    });
  });
}

BOOST_AUTO_TEST_CASE(within_a_client_it_is_the_same) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    hold first = co_await lock.acquire(five_seconds);
    const auto since = now();
    asker second{any_lock(lock)};
    second.acquire(five_seconds);
    co_await wait_in_queue(1);
    co_await first.release();
    co_await eventually("the second is in", [&] { return second.in(); });
    check_rest(now() - since);
    // Who waits with it is not passed a hold either: nothing but a grant of Redis has a lease that is long enough.
    asker third{any_lock(lock)}, fourth{any_lock(lock)};
    co_await pause(6s);
    third.acquire({.lease = 1s});
    fourth.acquire(five_seconds);
    co_await wait_in_queue(1);
    co_await second.got.release();
    co_await eventually("the third is in", [&] { return third.in(); });
    co_await third.got.release();
    co_await eventually("the fourth is in", [&] { return fourth.in(); });
    BOOST_TEST(redis.ttl("n") > 4900);
    BOOST_TEST(c.stats().passed == 0U);
  });
}

BOOST_AUTO_TEST_CASE(a_hold_begins_when_redis_has_confirmed_its_lease) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    hold first = co_await mutex(client(executor, redis.url()), "n").acquire();
    other_program program(redis);
    bool has_it = false;
    program.start([&]() -> awaitable<void> {
      const hold h = co_await mutex(program.client(), "n").acquire(five_seconds);
      has_it = true;
      co_await pause(24h);
    });
    co_await wait_in_queue(1);
    co_await first.release();
    co_await eventually("the program has it", [&] { return has_it; });
    const auto since = now();
    program.die();
    hold next = co_await mutex(client(executor, redis.url()), "n").acquire();
    BOOST_TEST((now() - since >= 5s - 10ms));
  });
}

// Two waiters of the client give up, each while the answer to its own request is on its way.
BOOST_AUTO_TEST_CASE(a_grant_for_a_waiter_that_has_left_is_lengthened_first) {
  run([&]() -> awaitable<void> {
    gate through(redis);
    client c(co_await asio::this_coro::executor, through.url());
    co_await c.ready();
    through.slow(100ms);
    asker first(mutex(c, "n")), second(mutex(c, "n")), third(mutex(c, "n"));
    first.acquire({.lease = 1s});
    second.acquire({.lease = 2s});
    third.acquire({.lease = 1s, .at_least = 10s});
    co_await eventually("the first is granted", [&] { return redis.ttl("n") > 0; });
    first.signal.emit(asio::cancellation_type::terminal);
    co_await eventually("the second is granted", [&] { return redis.ttl("n") > 1000; });
    BOOST_TEST(redis.ttl("n") <= 2000);
    second.signal.emit(asio::cancellation_type::terminal);
    co_await eventually("the third is in", [&] { return third.in(); });
    BOOST_TEST(redis.ttl("n") > 9000);
    co_await third.got.release();
  });
}

BOOST_AUTO_TEST_CASE(a_release_that_was_not_answered_is_repeated_without_harm) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      gate through(redis);
      asker first(k.holder(client(executor, through.url())));
      co_await acquired(first, {.at_least = 5s});
      const auto since = now();
      through.hold_replies();
      outcome released;
      first.got.release(released.handler());
      co_await eventually("it rests", [&] { return redis.ttl("n") <= 5100; });
      through.cut();
      co_await eventually("it is answered", [&] { return released.ended(); });
      BOOST_TEST(!*released.ec);
      asker next(k.next(client(executor, redis.url()), 0));
      co_await acquired(next);
      check_rest(now() - since);
    });
  });
}

BOOST_AUTO_TEST_CASE(without_memory_a_lock_can_rest_as_well) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      asker first(k.holder(client(executor, redis.url()))), next(k.next(client(executor, redis.url()), 0));
      co_await acquired(first, five_seconds);
      const auto since = now();
      redis.command("CONFIG", "SET", "maxmemory", "1");
      const auto [ec] = co_await first.got.release(as_tuple);
      redis.command("CONFIG", "SET", "maxmemory", "0");
      BOOST_TEST(!ec);
      co_await acquired(next);
      check_rest(now() - since);
    });
  });
}

BOOST_AUTO_TEST_CASE(the_same_owner_other_readers_and_other_permits_are_not_kept_out) {
  const std::array<any_lock (*)(const client&), 3> all{
      [](const client& c) -> any_lock { return recursive_mutex(c, "n", "owner"); },
      [](const client& c) -> any_lock { return shared_mutex(c, "n").shared(); },
      [](const client& c) -> any_lock { return counting_semaphore(c, "n", 2); }};
  for (const auto& make : all) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      asker first(make(client(executor, redis.url()))), next(make(client(executor, redis.url())));
      co_await acquired(first, five_seconds);
      co_await first.got.release();
      BOOST_TEST((co_await tried(next)));
      co_await next.got.release();
      const lock_info info = co_await inspected(first.lock);
      BOOST_TEST(info.holders == 1U);
      co_await nothing_left();
    });
  }
}

BOOST_AUTO_TEST_CASE(a_permit_rests_while_other_permits_come_and_go) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    counting_semaphore lock(client(executor, redis.url()), "n", 2), other(client(executor, redis.url()), "n", 2);
    hold first = co_await lock.acquire(five_seconds);
    const auto since = now();
    co_await first.release();
    hold second = co_await other.acquire({.lease = 1s});
    BOOST_TEST(!(co_await other.try_acquire()).has_value());
    co_await second.release();
    second = co_await other.acquire({.lease = 1s});
    hold third = co_await other.acquire({.lease = 1s});
    check_rest(now() - since);
    // What was renewed meanwhile has not changed the end of the permit that rested, nor the other way round.
    BOOST_TEST(second.valid());
    BOOST_TEST(redis.ttl("n") <= 1000);
  });
}

BOOST_AUTO_TEST_CASE(an_extension_changes_nothing_in_it) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    mutex lock(client(executor, redis.url()), "n"), other(client(executor, redis.url()), "n");
    hold first = co_await lock.acquire(five_seconds);
    const auto since = now();
    co_await first.extend(1h);
    BOOST_TEST((first.expires_at() - since > 59min));
    co_await first.release();
    hold next = co_await other.acquire();
    check_rest(now() - since);
  });
}

BOOST_AUTO_TEST_CASE(renewals_are_counted_from_the_last_lease_of_that_time) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    const auto since = now();
    hold first = co_await mutex(c, "n").acquire({.lease = 300ms, .renew = renewal::at_most(2), .at_least = 5s});
    co_await first.lost();
    // Two renewals, each when a third of a lease has passed.
    BOOST_TEST((now() - since > 5s));
    BOOST_TEST((now() - since < 6s));
    BOOST_TEST(c.stats().renewed == 2U);
  });
}

BOOST_AUTO_TEST_CASE(acquire_all_gives_each_hold_that_time_and_gives_up_without_it) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url()), d(executor, redis.url());
    mutex a(c, "a"), b(c, "b"), other_a(d, "a"), other_b(d, "b");
    {
      auto both = co_await acquire_all(five_seconds, a, b);
      const auto since = now();
      co_await both.release();
      hold next = co_await other_a.acquire();
      check_rest(now() - since);
      hold other = co_await other_b.acquire();
      check_rest(now() - since);
      // One after the other: "a" is granted, and "b" is not.
      co_await next.release();
      acquire_options brief = five_seconds;
      brief.wait = 300ms;
      const auto [ec, none] = co_await acquire_all(brief, a, b)(as_tuple);
      BOOST_TEST(ec == error::timed_out);
      BOOST_TEST((co_await other_a.try_acquire()).has_value());
    }
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(an_attempt_that_is_given_up_leaves_nothing) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    gate through(redis);
    client c(executor, through.url());
    co_await c.ready();
    through.hold_replies();
    acquire_options brief = five_seconds;
    brief.wait = 200ms;
    const auto [ec, none] = co_await mutex(c, "n").acquire(brief, as_tuple);
    BOOST_TEST(ec == error::unreachable);
    through.pass();
    co_await nothing_left();
    BOOST_TEST((co_await mutex(client(executor, redis.url()), "n").try_acquire()).has_value());
  });
}

BOOST_AUTO_TEST_CASE(break_frees_a_lock_that_rests) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client c(executor, redis.url());
      asker first(k.holder(client(executor, redis.url()))), next(k.next(client(executor, redis.url()), 0));
      co_await acquired(first, five_seconds);
      co_await first.got.release();
      const lock_status found = co_await show(c, "n");
      BOOST_TEST((found.holds.size() == 1U && found.holds[0].token == "~" + first.got.token()));
      const auto broken = co_await break_lock(c, "n");
      BOOST_TEST(broken.next == "");
      BOOST_TEST((co_await tried(next)));
    });
  });
}

BOOST_AUTO_TEST_CASE(times_out_of_range_are_refused) {
  run([&]() -> awaitable<void> {
    mutex lock(client(co_await asio::this_coro::executor, redis.url()), "n");
    for (const auto at_least : {-1ms, 24h * 30 + 1ms}) {
      acquire_options o;
      o.at_least = std::chrono::duration_cast<std::chrono::milliseconds>(at_least);
      const auto [ec, none] = co_await lock.acquire(o, as_tuple);
      BOOST_TEST(ec == error::invalid_option);
    }
    acquire_options longest;
    longest.at_least = 24h * 30;
    hold h = co_await lock.acquire(longest);
    BOOST_TEST(h.valid());
    BOOST_TEST(redis.ttl("n") > 2591990000);
    redis.command("FLUSHALL");
  });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(at_least_on_a_quorum, with_quorum)

BOOST_AUTO_TEST_CASE(nobody_else_gets_a_majority_until_the_time_is_over) {
  for (const bool dies : {false, true}) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      mutex lock(client(executor, urls()), "n"), other(client(executor, urls()), "n");
      const auto since = now();
      std::optional<hold> first = co_await lock.try_acquire({.lease = 1s, .renew = renewal::none, .at_least = 5s});
      BOOST_REQUIRE(first.has_value());
      if (!dies) {
        const auto released = now();
        co_await first->release();
        BOOST_TEST((now() - released < 100ms));
        BOOST_TEST((co_await other.inspect()).held);
      }
      hold next = co_await other.acquire();
      BOOST_TEST((now() - since >= 5s));
      BOOST_TEST((now() - since <= 5700ms));
      co_await next.release();
      co_await nothing_left();
    });
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
