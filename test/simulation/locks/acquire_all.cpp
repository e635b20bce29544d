// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Several locks at once.
#include "simulation/with_memory.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(acquire_all_of_them, with_memory)

namespace {

acquire_options waiting(std::chrono::milliseconds wait) {
  acquire_options o;
  o.wait = wait;
  return o;
}

}  // namespace

BOOST_AUTO_TEST_CASE(free_locks_of_all_kinds_take_one_script) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    co_await c.ready();
    mutex a(c, "z");
    recursive_mutex b(c, "b", "me");
    shared_mutex d(c, "d");
    counting_semaphore e(c, "e", 3);
    const auto before = c.stats().commands;
    auto [one, two, three, four, five] = co_await acquire_all(a, b, d.shared(), e, mutex(c, "a"));
    BOOST_TEST(c.stats().commands == before + 1);
    BOOST_TEST(one.name() == "z");
    BOOST_TEST(two.name() == "b");
    BOOST_TEST(three.name() == "d");
    BOOST_TEST(four.name() == "e");
    BOOST_TEST(five.name() == "a");
    for (const hold* h : {&one, &two, &three, &four, &five}) {
      BOOST_TEST(h->valid());
      BOOST_TEST(h->fence() != 0U);
    }
    BOOST_TEST(!(co_await a.try_acquire()).has_value());
    BOOST_TEST(!(co_await d.try_acquire()).has_value());
    BOOST_TEST((co_await d.try_acquire_shared()).has_value());
    co_await one.release();
    co_await two.release();
    co_await three.release();
    co_await four.release();
    co_await five.release();
    co_await c.close();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(one_object_owns_them) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    mutex a(c, "a");
    mutex b(c, "b");
    holds<2> both;
    BOOST_TEST(!both.valid());
    const auto [empty] = co_await both.release(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(empty == error::not_held);
    both = co_await acquire_all(b, a);
    BOOST_TEST(both.size() == 2U);
    BOOST_TEST(both[0].name() == "b");
    BOOST_TEST(both[1].name() == "a");
    BOOST_TEST(both.valid());
    std::optional<error_code> told;
    both.lost([&](error_code ec) { told = ec; });
    co_await both.release();
    BOOST_TEST(!both.valid());
    co_await eventually("lost ends", [&] { return told.has_value(); });
    BOOST_TEST(*told == error::not_held);
    const auto [again] = co_await both.release(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(again == error::not_held);
    {
      holds<2> dropped = co_await acquire_all(a, b);
      BOOST_TEST(dropped.valid());
    }
    hold next = co_await a.acquire();
    BOOST_TEST(next.valid());
  });
}

BOOST_AUTO_TEST_CASE(the_loss_of_one_is_the_loss_of_them) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    mutex a(c, "a");
    mutex b(c, "b");
    acquire_options o;
    o.lease = 300ms;
    auto both = co_await acquire_all(o, a, b);
    redis.command("DEL", "b");
    const auto [ec] = co_await both.lost(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(!ec);
    BOOST_TEST(!both.valid());
    BOOST_TEST(both[0].valid());
    const auto [released] = co_await both.release(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(released == error::lost);
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(watching_several_can_be_cancelled_without_harm) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    const mutex a(c, "a"), b(c, "b");
    auto both = co_await acquire_all(a, b);
    for (const auto type :
         {asio::cancellation_type::terminal, asio::cancellation_type::partial, asio::cancellation_type::total}) {
      asio::cancellation_signal signal;
      outcome lost;
      both.lost(asio::bind_cancellation_slot(signal.slot(), lost.handler()));
      co_await turn();
      signal.emit(type);
      co_await eventually("the operation ends", [&] { return lost.ended(); });
      BOOST_TEST(*lost.ec == asio::error::operation_aborted);
    }
    BOOST_TEST(both.valid());
    BOOST_TEST(redis.size() == 2U);
  });
}

// The first answer is that the release of the other one is refused.
BOOST_AUTO_TEST_CASE(the_loss_of_one_is_told_whatever_becomes_of_the_others) {
  memory_server another;
  gate slow(another);
  slow.slow(50ms);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url()), d(executor, slow.url());
    const mutex a(c, "a"), b(d, "b");
    auto both = co_await acquire_all(a, b);
    redis.server().data().deny_in_scripts("DEL");
    another.command("DEL", "b");
    const auto [ec] = co_await both.release(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(ec == error::lost, ec.message());
    BOOST_TEST(c.stats().refused == 1U);
  });
}

BOOST_AUTO_TEST_CASE(a_hold_that_was_released_before_does_not_spoil_the_release_of_all) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    const mutex a(c, "a"), b(c, "b");
    auto both = co_await acquire_all(a, b);
    co_await both[0].release();
    const auto [ec] = co_await both.release(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(without_waiting_there_is_one_attempt_though_the_leases_end_on_its_way) {
  run([&]() -> awaitable<void> {
    gate network(redis);
    client c(co_await asio::this_coro::executor, network.url());
    co_await c.ready();
    network.slow(30ms);
    int attempts = 0;
    redis.server().on_run = [&attempts](const detail::script& s, const auto&...) {
      attempts += s.name == "all" ? 1 : 0;
    };
    acquire_options o = waiting(0ms);
    o.lease = 50ms;
    const auto [ec, none] = co_await acquire_all(o, mutex(c, "a"), mutex(c, "b"))(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(ec == error::timed_out, ec.message());
    BOOST_TEST(attempts == 1);
    co_await c.close();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(if_one_is_busy_none_is_held_at_the_end) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    client other(executor, redis.url());
    co_await c.ready();
    mutex a(c, "a");
    mutex b(c, "b");
    mutex far(other, "b");
    hold busy = co_await far.acquire();
    for (const auto wait : {0ms, 300ms}) {
      const auto options = waiting(wait);
      const auto [ec, none] = co_await acquire_all(options, a, b)(asio::as_tuple(asio::use_awaitable));
      BOOST_TEST(ec == error::timed_out);
      BOOST_TEST(!none.valid());
      BOOST_TEST(none[0].token().empty());
      BOOST_TEST(!redis.get("a").has_value());
      BOOST_TEST(redis.command("EXISTS", "leasehold:{0}:queue:b").integer == 0);
    }
    // Nobody sees a: one script takes all or none.
    const auto options = waiting(0ms);
    for (int i = 0; i < 20; ++i) {
      auto attempt = acquire_all(options, a, b);
      bool ended = false;
      std::move(attempt)([&](error_code, holds<2>) { ended = true; });
      BOOST_TEST((co_await mutex(other, "a").try_acquire()).has_value());
      co_await eventually("it has ended", [&] { return ended; });
    }
    co_await busy.release();
  });
}

BOOST_AUTO_TEST_CASE(all_of_them_have_one_deadline) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    client other(executor, redis.url());
    mutex a(c, "a");
    mutex b(c, "b");
    const mutex far_a(other, "a");
    const mutex far_b(other, "b");
    auto busy = co_await acquire_all(far_a, far_b);
    const auto options = waiting(4s);
    std::optional<error_code> ended;
    const auto start = now();
    acquire_all(options, a, b)([&](error_code ec, holds<2>) { ended = ec; });
    co_await pause(3s);
    co_await busy[0].release();
    co_await eventually("it ends", [&] { return ended.has_value(); });
    BOOST_TEST(*ended == error::timed_out);
    // With a deadline for each it would be seven seconds. A withdrawal may take 100 ms.
    BOOST_TEST((now() - start >= 4s));
    BOOST_TEST((now() - start <= 4100ms));
    co_await eventually("the first is free", [&] { return !redis.get("a"); });
    co_await busy[1].release();
  });
}

BOOST_AUTO_TEST_CASE(it_waits_in_the_queues_until_all_are_there) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    client other(executor, redis.url());
    mutex a(c, "a");
    shared_mutex b(c, "b");
    mutex far_a(other, "a");
    shared_mutex far_b(other, "b");
    hold first = co_await far_a.acquire();
    hold second = co_await far_b.acquire();
    std::optional<holds<2>> got;
    const auto wait = [&]() -> awaitable<void> { got = co_await acquire_all(b.shared(), a); };
    asio::co_spawn(executor, wait, asio::detached);
    co_await eventually("it waits for a",
                        [&] { return redis.command("EXISTS", "leasehold:{0}:queue:a").integer == 1; });
    BOOST_TEST(redis.command("EXISTS", "leasehold:{0}:queue:b").integer == 0);
    co_await first.release();
    co_await eventually("it waits for b",
                        [&] { return redis.command("EXISTS", "leasehold:{0}:queue:b").integer == 1; });
    BOOST_TEST(!got.has_value());
    co_await second.release();
    co_await eventually("it has both", [&] { return got.has_value(); });
    BOOST_TEST(got->valid());
    BOOST_TEST((*got)[0].name() == "b");
    co_await got->release();
    BOOST_TEST(redis.size() == 0U);
  });
}

// The lease of the first ends while the second is waited for: both are acquired anew.
BOOST_AUTO_TEST_CASE(what_is_lost_on_the_way_is_acquired_again) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    client other(executor, redis.url());
    mutex a(c, "a");
    mutex b(c, "b");
    mutex far(other, "b");
    hold busy = co_await far.acquire();
    acquire_options once;
    once.lease = 500ms;
    once.renew = renewal::none;
    std::optional<holds<2>> got;
    const auto wait = [&]() -> awaitable<void> { got = co_await acquire_all(once, a, b); };
    asio::co_spawn(executor, wait, asio::detached);
    co_await eventually("it has a", [&] { return redis.get("a").has_value(); });
    const std::string first = redis.get("a").value();
    co_await eventually("a is lost", [&] { return c.stats().lost == 1; });
    BOOST_TEST(!got.has_value());
    co_await busy.release();
    co_await eventually("it has both", [&] { return got.has_value(); });
    BOOST_TEST(got->valid());
    BOOST_TEST(redis.get("a").value() != first);
    BOOST_TEST(c.stats().acquired >= 3U);
  });
}

BOOST_AUTO_TEST_CASE(what_one_script_has_taken_is_renewed_as_often_as_was_said) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    co_await c.ready();
    acquire_options capped;
    capped.lease = 600ms;
    capped.renew = renewal::at_most(1);
    auto both = co_await acquire_all(capped, mutex(c, "a"), mutex(c, "b"));
    BOOST_TEST(c.stats().commands == 1U);
    co_await eventually("both have ended", [&] { return c.stats().lost == 2; });
    BOOST_TEST(c.stats().renewed == 2U);
    BOOST_TEST(!both.valid());
  });
}

// The client's other holds depend on the same clock. (With a command_timeout shorter than the step, the script would
// be too late, and the answers to what follows it would show the step.)
BOOST_AUTO_TEST_CASE(the_answer_of_one_script_shows_a_step_of_the_server_s_clock) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    hold h = co_await mutex(c, "n").acquire({.lease = 60s, .renew = renewal::none});
    const auto before = h.expires_at();
    const auto commands = c.stats().commands;
    redis.clock().offset = 3s;
    auto both = co_await acquire_all(mutex(c, "a"), mutex(c, "b"));
    BOOST_TEST(c.stats().commands == commands + 1);
    BOOST_TEST(c.stats().clock_jumps == 1U);
    BOOST_TEST((h.expires_at() <= before - 3s + 5ms));
    BOOST_TEST(both.valid());
  });
}

BOOST_AUTO_TEST_CASE(one_script_says_how_often_the_owner_has_a_lock) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    const recursive_mutex lock(c, "n", "me");
    const hold outer = co_await lock.acquire();
    const auto before = c.stats().commands;
    auto [inner, other] = co_await acquire_all(lock, mutex(c, "m"));
    BOOST_TEST(c.stats().commands == before + 1);
    BOOST_TEST(inner.depth() == 2U);
    BOOST_TEST(other.depth() == 1U);
  });
}

BOOST_AUTO_TEST_CASE(a_lease_that_can_never_be_valid_is_not_tried_for_ever) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    co_await c.ready();
    mutex a(c, "a");
    mutex b(c, "b");
    acquire_options tiny;
    tiny.lease = 1ms;
    const auto both = co_await acquire_all(tiny, a, b);
    BOOST_TEST(!both.valid());
  });
}

BOOST_AUTO_TEST_CASE(no_order_of_the_arguments_is_a_deadlock) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    std::vector<client> clients;
    for (int i = 0; i < 4; ++i) clients.emplace_back(executor, redis.url());
    std::minstd_rand random(7);
    std::array<int, 5> inside{};
    int ended = 0;
    int collisions = 0;
    const auto work = [&](int me) -> awaitable<void> {
      const auto& c = clients[static_cast<std::size_t>(me) % clients.size()];
      for (int round = 0; round < 30; ++round) {
        std::array<int, 5> which{0, 1, 2, 3, 4};
        std::shuffle(which.begin(), which.end(), random);
        const mutex x(c, std::to_string(which[0]));
        const mutex y(c, std::to_string(which[1]));
        const mutex z(c, std::to_string(which[2]));
        auto all = co_await acquire_all(x, y, z);
        for (int i = 0; i < 3; ++i)
          collisions += inside[static_cast<std::size_t>(which[static_cast<std::size_t>(i)])]++;
        co_await pause(1ms);
        for (int i = 0; i < 3; ++i) --inside[static_cast<std::size_t>(which[static_cast<std::size_t>(i)])];
        co_await all.release();
      }
      ++ended;
    };
    for (int me = 0; me < 12; ++me) asio::co_spawn(executor, work(me), asio::detached);
    co_await eventually("all have ended", [&] { return ended == 12; });
    BOOST_TEST(collisions == 0);
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_at_once) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    mutex a(c, "a");
    recursive_mutex same(c, "a", "me");
    const auto [twice, none] = co_await acquire_all(a, same)(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(twice == error::invalid_option);
    memory_server another;
    client elsewhere(executor, another.url());
    const mutex twin(elsewhere, "a");
    const auto [also, neither] = co_await acquire_all(a, twin)(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(also == error::invalid_option);
    asio::io_context other_context;
    client on_another(other_context, redis.url());
    const mutex far(on_another, "b");
    const auto [mixed, no_one] = co_await acquire_all(a, far)(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(mixed == error::invalid_option);
    const mutex nameless(c, "");
    const auto [bad, nothing] = co_await acquire_all(a, nameless)(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(bad == error::invalid_name);
    const std::vector<mutex> no_locks;
    const auto [no, empty] = co_await acquire_all(acquire_options(), no_locks)(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(no == error::invalid_option);
    redis.command("RPUSH", "list", "x");
    const mutex wrong(c, "list");
    const auto [type, n] = co_await acquire_all(a, wrong)(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(type == error::wrong_type);
    counting_semaphore two(c, "s", 2);
    counting_semaphore three(c, "s", 3);
    hold permit = co_await two.acquire();
    const auto [limit, m] = co_await acquire_all(a, three)(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(limit == error::wrong_limit);
    BOOST_TEST(!redis.get("a").has_value());
    co_await permit.release();
    co_await c.close();
    const auto [closed, k] = co_await acquire_all(a, two)(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(closed == error::closed);
  });
}

BOOST_AUTO_TEST_CASE(as_many_as_the_program_finds_out) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    co_await c.ready();
    std::vector<counting_semaphore> locks;
    for (int i = 0; i < 300; ++i) locks.emplace_back(c, "s" + std::to_string(i), 1000000000U);
    const auto before = c.stats().commands;
    std::vector<hold> all = co_await acquire_all(acquire_options(), locks);
    BOOST_TEST(c.stats().commands == before + 1);
    BOOST_TEST(all.size() == 300U);
    for (const hold& h : all) BOOST_TEST(h.valid());
    all.clear();
    co_await c.close();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(cancelled_at_any_instant_it_leaves_nothing) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    client other(executor, redis.url());
    co_await c.ready();
    mutex a(c, "a");
    mutex b(c, "b");
    mutex far(other, "b");
    std::minstd_rand random(3);
    int cancelled = 0;
    for (int i = 0; i < 300; ++i) {
      std::optional<hold> busy;
      if (i % 3 != 0) busy = co_await far.acquire();
      // A grant that was pushed leaves the queue when it is confirmed.
      while (redis.command("EXISTS", "leasehold:{0}:queue:b").integer != 0) co_await pause(1ms);
      // A message takes 50 us to 2 ms.
      cancel_timer soon(executor, std::chrono::microseconds(random() % 6000));
      const auto [ec, both] = co_await acquire_all(a, b)(soon.bind(asio::as_tuple(asio::use_awaitable)));
      if (ec == asio::error::operation_aborted) {
        ++cancelled;
        BOOST_TEST(!redis.get("a").has_value());
        BOOST_TEST(redis.command("EXISTS", "leasehold:{0}:queue:b").integer == 0);
        if (!busy) BOOST_TEST(!redis.get("b").has_value());
      } else {
        BOOST_TEST(!ec);
      }
      if (busy) co_await busy->release();
    }
    BOOST_TEST(cancelled > 100);
  });
}

BOOST_AUTO_TEST_CASE(cancelled_by_any_type_while_it_waits_for_one_it_leaves_nothing) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    client other(executor, redis.url());
    const mutex a(c, "a"), b(c, "b"), far(other, "b");
    hold busy = co_await far.acquire();
    for (const auto type :
         {asio::cancellation_type::terminal, asio::cancellation_type::partial, asio::cancellation_type::total}) {
      asio::cancellation_signal signal;
      std::optional<error_code> ended;
      const auto end = [&ended](error_code ec, holds<2>) { ended = ec; };
      acquire_all(a, b, asio::bind_cancellation_slot(signal.slot(), end));
      co_await eventually("it waits for b",
                          [&] { return redis.command("EXISTS", "leasehold:{0}:queue:b").integer == 1; });
      BOOST_TEST(redis.get("a").has_value());
      BOOST_TEST(!ended.has_value());
      signal.emit(type);
      co_await eventually("it ends", [&] { return ended.has_value(); });
      BOOST_TEST(*ended == asio::error::operation_aborted);
      BOOST_TEST(!redis.get("a").has_value());
      BOOST_TEST(redis.command("EXISTS", "leasehold:{0}:queue:b").integer == 0);
    }
    BOOST_TEST(busy.valid());
  });
}

BOOST_AUTO_TEST_CASE(it_ends_in_time_if_the_store_is_silent_and_releases_what_comes_late) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    co_await c.ready();
    mutex a(c, "a");
    mutex b(c, "b");
    redis.stop();
    const auto options = waiting(200ms);
    const auto start = now();
    const auto [ec, none] = co_await acquire_all(options, a, b)(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(ec == error::unreachable);
    BOOST_TEST((now() - start >= 200ms));
    BOOST_TEST((now() - start <= 300ms));
    BOOST_TEST(c.last_failure() == "no answer");
    redis.go_on();
    co_await eventually("nothing is left", [&] { return redis.size() == 0U; });
    const auto longer = waiting(10s);
    auto both = co_await acquire_all(longer, a, b);
    BOOST_TEST(both.valid());
    co_await both.release();
    co_await c.close();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(locks_of_different_stores_may_be_mixed) {
  memory_server another;
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    client d(executor, another.url());
    mutex a(c, "a");
    mutex b(d, "b");
    auto both = co_await acquire_all(b, a);
    BOOST_TEST(both.valid());
    co_await both.release();
  });
}

// One of its locks is released by close() while it waits for the next one.
BOOST_AUTO_TEST_CASE(it_ends_if_a_client_is_closed_meanwhile) {
  memory_server another;
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    client d(executor, another.url());
    client other(executor, redis.url());
    const mutex b(c, "b"), a(d, "a"), far(other, "b");
    hold busy = co_await far.acquire();
    std::optional<error_code> ended;
    acquire_all(b, a, [&](error_code ec, holds<2>) { ended = ec; });
    co_await eventually("it waits for b",
                        [&] { return redis.command("EXISTS", "leasehold:{0}:queue:b").integer == 1; });
    co_await d.close();
    BOOST_TEST(!another.get("a").has_value());
    BOOST_TEST(!ended.has_value());
    co_await busy.release();
    co_await eventually("it ends", [&] { return ended.has_value(); });
    BOOST_TEST(*ended == error::closed);
    BOOST_TEST(redis.size() == 0U);
  });
}

// One server answers late, and the other one does not answer.
BOOST_AUTO_TEST_CASE(one_attempt_at_all_of_them_has_one_limit) {
  memory_server another;
  gate slow(redis);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options o;
    o.command_timeout = 2s;
    client c(executor, slow.url(), o);
    client d(executor, another.url(), o);
    const mutex a(c, "a"), b(d, "b");
    // From now on the servers know the scripts.
    auto both = co_await acquire_all(a, b);
    co_await both.release();
    slow.slow(900ms);
    another.stop();
    const auto start = now();
    const auto once = waiting(0ms);
    const auto [ec, none] = co_await acquire_all(once, a, b)(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(ec == error::unreachable);
    BOOST_TEST(c.stats().cancelled + d.stats().cancelled == 0U);
    BOOST_TEST((now() - start >= 2s));
    BOOST_TEST((now() - start <= 2101ms));
    slow.slow(0ms);
    another.go_on();
    co_await eventually("nothing is left", [&] { return redis.size() + another.size() == 0U; });
  });
}

// First it withdraws from the lock that it waits for, and then it releases the others.
BOOST_AUTO_TEST_CASE(a_withdrawal_from_all_of_them_has_one_limit) {
  memory_server another;
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    client d(executor, another.url());
    const mutex a(c, "a"), b(d, "b");
    auto both = co_await acquire_all(a, b);
    co_await both.release();
    another.stop();
    std::optional<error_code> ended;
    const auto start = now();
    acquire_all(waiting(1s), a, b, [&](error_code ec, holds<2>) { ended = ec; });
    co_await eventually("it has a", [&] { return redis.get("a").has_value(); });
    redis.stop();
    co_await eventually("it ends", [&] { return ended.has_value(); });
    BOOST_TEST(*ended == error::unreachable);
    BOOST_TEST((now() - start >= 1s));
    BOOST_TEST((now() - start <= 1101ms));
    redis.go_on();
    another.go_on();
    co_await eventually("nothing is left", [&] { return redis.size() + another.size() == 0U; });
  });
}

// It has begun again, because one was lost, and that attempt fails at once.
BOOST_AUTO_TEST_CASE(it_fails_when_the_locks_of_its_first_attempt_are_released) {
  memory_server another;
  gate way(another);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url()), d(executor, way.url());
    const mutex a(c, "a"), b(d, "b"), last(c, "c");
    hold busy = co_await last.acquire();
    std::optional<error_code> ended;
    acquire_options o;
    o.lease = 3s;
    acquire_all(o, a, b, last, [&](error_code ec, holds<3>) { ended = ec; });
    co_await eventually("it waits", [&] { return redis.command("EXISTS", "leasehold:{0}:queue:c").integer == 1; });
    BOOST_TEST(another.get("b").has_value());
    redis.command("DEL", "a");
    redis.command("HSET", "a", "another", "program");
    co_await eventually("one is lost", [&] { return c.stats().lost == 1; });
    way.hold_requests();
    co_await busy.release();
    co_await pause(50ms);
    BOOST_TEST(way.kept() != 0U);
    BOOST_TEST(!ended.has_value());
    way.pass();
    co_await eventually("it ends", [&] { return ended.has_value(); });
    BOOST_TEST(*ended == error::wrong_type);
    BOOST_TEST(!another.get("b").has_value());
  });
}

// The user may not call PEXPIRE: the script has written a record, and cannot limit its life.
BOOST_AUTO_TEST_CASE(one_script_that_fails_leaves_no_record) {
  redis.server().data().deny_in_scripts("PEXPIRE");
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    co_await c.ready();
    const mutex a(c, "a");
    const auto as_result = asio::as_tuple(asio::use_awaitable);
    const auto [one, x] = co_await acquire_all(a, recursive_mutex(c, "b", "me"), as_result);
    BOOST_TEST(one == error::refused);
    const auto [two, y] = co_await acquire_all(a, shared_mutex(c, "c"), as_result);
    BOOST_TEST(two == error::refused);
    const auto [three, z] = co_await acquire_all(counting_semaphore(c, "d", 3), a, as_result);
    BOOST_TEST(three == error::refused);
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(a_completion_token_stands_behind_the_locks) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    mutex a(c, "a"), b(c, "b");
    const std::vector<mutex> many{a, b};
    const auto as_result = asio::as_tuple(asio::use_awaitable);
    {
      auto [ec, both] = co_await acquire_all(a, b, as_result);
      BOOST_TEST(!ec);
      BOOST_TEST(both.valid());
      auto [ec2, none] = co_await acquire_all(waiting(0ms), a, b, as_result);
      BOOST_TEST(ec2 == error::timed_out);
      co_await both.release();
      auto [ec3, list] = co_await acquire_all(many, as_result);
      BOOST_TEST(!ec3);
      BOOST_TEST(list.size() == 2U);
      auto [ec4, nothing] = co_await acquire_all(waiting(0ms), many, as_result);
      BOOST_TEST(ec4 == error::timed_out);
      for (hold& h : list) co_await h.release();
    }
    // Without options, and without a token.
    auto list = co_await acquire_all(many);
    BOOST_TEST(list.at(1).name() == "b");
    for (hold& h : list) co_await h.release();
    std::optional<holds<2>> got;
    const auto keep = [&got](error_code ec, holds<2> h) {
      BOOST_TEST(!ec);
      got = std::move(h);
    };
    acquire_all(a, b, keep);
    co_await eventually("a callback is called", [&] { return got.has_value(); });
    co_await got->release();
    acquire_all(waiting(forever), a, b, asio::cancel_after(1h, keep));
    co_await eventually("with options, too", [&] { return got->valid(); });
    co_await got->release();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
