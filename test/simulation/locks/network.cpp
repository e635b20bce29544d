// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Connections that break, stall and deliver late.
#include "simulation/with_memory.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(network, with_memory)

namespace {

client_options quick() {
  client_options o;
  o.reconnect = {.first = 1ms, .max = 5ms, .factor = 2.0, .jitter = 0.5};
  return o;
}

// A connected client behind a gate.
struct behind_gate {
  behind_gate(const asio::any_io_executor& executor, memory_server& redis, const client_options& o = quick())
      : network(redis), c(executor, network.url(), o) {}
  gate network;
  client c;
  mutex lock{c, "n"};
};

// The server has answered what was asked since forget(), and its reply arrives a second later.
awaitable<void> reply_comes_late(gate& network) {
  co_await eventually("the server has answered", [&] { return network.replies() != 0; });
  co_await pause(1s);
  network.pass();
}

// The deadline is not later than the server's own expiry, which is rounded to a millisecond.
void check_deadline(const hold& h, memory_server& redis) {
  BOOST_TEST(h.valid());
  BOOST_TEST(h.expires_at() <= now() + std::chrono::milliseconds(redis.ttl(std::string(h.name()))) + 1ms);
}

}  // namespace

// B4 with somebody else in between: what the repeat finds is another token, and it is a release all the same.
BOOST_AUTO_TEST_CASE(release_whose_reply_is_lost_succeeds_though_somebody_else_has_the_lock_by_then) {
  run([&]() -> awaitable<void> {
    behind_gate p(co_await asio::this_coro::executor, redis);
    client other(co_await asio::this_coro::executor, redis.url());
    hold h = co_await p.lock.acquire();
    p.network.hold_replies();
    outcome released;
    h.release(released.handler());
    hold next = co_await mutex(other, "n").acquire();
    p.network.cut();
    co_await eventually("the release ends", [&] { return released.ended(); });
    BOOST_TEST(!*released.ec, released.ec->message());
    BOOST_TEST(next.valid());
    BOOST_TEST(redis.get("n").value().find(next.token()) != std::string::npos);
  });
}

BOOST_AUTO_TEST_CASE(a_hold_survives_lost_replies_to_its_renewals) {
  run([&]() -> awaitable<void> {
    behind_gate p(co_await asio::this_coro::executor, redis);
    hold h = co_await p.lock.acquire({.lease = 1500ms});
    const std::string value = redis.get("n").value();
    for (int i = 0; i < 3; ++i) {
      const auto before = p.c.stats().renewed;
      p.network.forget();
      p.network.hold_replies();
      co_await eventually("a renewal was answered", [&] { return p.network.replies() != 0; });
      p.network.cut();
      co_await eventually("it is renewed again", [&] { return p.c.stats().renewed > before; });
      BOOST_TEST(h.valid());
    }
    BOOST_TEST(redis.get("n").value() == value);
    BOOST_TEST(p.c.stats().lost == 0U);
    BOOST_TEST(p.c.stats().renewal_failed >= 3U);
  });
}

// Promise 6: a deadline counts from the sending of the request, however late its reply comes.
BOOST_AUTO_TEST_CASE(no_deadline_is_later_than_the_servers_though_replies_come_late) {
  run([&]() -> awaitable<void> {
    client_options o = patient();
    o.cohort = 0us;
    o.drift = 0.0;
    o.drift_floor = 0ms;
    behind_gate p(co_await asio::this_coro::executor, redis, o);
    co_await p.c.ready();
    const auto reply_is_late = [&p] {
      p.network.forget();
      p.network.hold_replies();
    };
    std::vector<hold> got;
    const auto keep = [&got](error_code ec, hold h) {
      BOOST_TEST(!ec);
      got.push_back(std::move(h));
    };
    {
      reply_is_late();
      p.lock.acquire({.renew = renewal::none}, keep);
      co_await reply_comes_late(p.network);
      co_await eventually("it is acquired", [&] { return got.size() == 1; });
      check_deadline(got.back(), redis);
    }
    {
      outcome extended;
      reply_is_late();
      got.back().extend(60s, extended.handler());
      co_await reply_comes_late(p.network);
      co_await eventually("it is extended", [&] { return extended.ended(); });
      check_deadline(got.back(), redis);
    }
    {
      // Handed from one local waiter to the next in the answer to the release.
      p.lock.acquire({.renew = renewal::none}, keep);
      co_await eventually("it waits in the queue", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
      reply_is_late();
      got.back().release(asio::detached);
      co_await reply_comes_late(p.network);
      co_await eventually("the next has it", [&] { return got.size() == 2; });
      check_deadline(got.back(), redis);
      co_await got.back().release();
    }
    {
      std::optional<leasehold::holds<2>> both;
      const mutex other(p.c, "other");
      reply_is_late();
      acquire_all({.renew = renewal::none}, p.lock, other)([&](error_code ec, leasehold::holds<2> h) {
        BOOST_TEST(!ec);
        both = std::move(h);
      });
      co_await reply_comes_late(p.network);
      co_await eventually("both are acquired", [&] { return both.has_value(); });
      for (const hold& h : *both) check_deadline(h, redis);
      co_await both->release();
    }
    hold renewed = co_await p.lock.acquire({.lease = 6s});
    const auto before = p.c.stats().renewed;
    reply_is_late();
    co_await reply_comes_late(p.network);
    co_await eventually("it is renewed", [&] { return p.c.stats().renewed > before; });
    check_deadline(renewed, redis);
  });
}

// A connection that is dead without being closed costs one attempt, also where command_timeout is longer than the
// lease.
BOOST_AUTO_TEST_CASE(a_hold_survives_a_connection_that_falls_silent) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    for (const auto margin : {0s, 54s}) {
      client_options o = quick();
      o.command_timeout = 1min;
      o.connect_timeout = 2s;
      behind_gate p(executor, redis, o);
      hold h = co_await p.lock.acquire({.lease = margin + 6s, .margin = margin});
      const auto before = p.c.stats().renewed;
      p.network.swallow();
      co_await eventually("it is renewed or lost", [&] { return p.c.stats().renewed > before || !h.valid(); });
      BOOST_TEST(h.valid());
      BOOST_TEST(p.c.stats().lost == 0U);
      BOOST_TEST(p.c.stats().reconnects == 1U);
      BOOST_TEST(p.c.stats().renewal_failed == 1U);
      co_await h.release();
      // The requests that went into the dead connection might still arrive, for a minute.
      co_await p.c.close();
    }
  });
}

BOOST_AUTO_TEST_CASE(extend_whose_reply_is_lost_succeeds) {
  run([&]() -> awaitable<void> {
    behind_gate p(co_await asio::this_coro::executor, redis);
    hold h = co_await p.lock.acquire();
    p.network.forget();
    p.network.hold_replies();
    outcome extended;
    h.extend(60s, extended.handler());
    co_await eventually("it was answered", [&] { return p.network.replies() != 0; });
    p.network.cut();
    co_await eventually("it ends", [&] { return extended.ended(); });
    BOOST_TEST(!*extended.ec, extended.ec->message());
    BOOST_TEST(h.expires_at() > now() + 40s);
  });
}

// B3: the bytes of a connection that has broken arrive late. The token was granted, used and released on another
// connection meanwhile; what comes then must not leave a lock that nobody knows of.
BOOST_AUTO_TEST_CASE(late_bytes_of_a_broken_connection_leave_no_ghost) {
  run([&]() -> awaitable<void> {
    client_options o = quick();
    o.command_timeout = 300ms;
    behind_gate p(co_await asio::this_coro::executor, redis, o);
    {
      hold h = co_await p.lock.acquire();
      co_await h.release();
    }
    // Before the not-after of the late attempt, and long after it.
    for (const auto late : {0ms, 500ms}) {
      BOOST_TEST_CONTEXT("late by " << late.count() << " ms") {
        p.network.forget();
        p.network.hold_requests();
        std::optional<hold> got;
        p.lock.acquire([&](error_code ec, hold h) {
          BOOST_TEST(!ec);
          got = std::move(h);
        });
        co_await eventually("the attempt was sent", [&] { return p.network.requests() != 0; });
        p.network.cut_clients();
        BOOST_REQUIRE(p.network.kept() == 1U);
        // The new connection passes, the old one is kept back until pass().
        p.network.pass_connected();
        co_await eventually("the lock was acquired anew", [&] { return got.has_value(); });
        co_await got->release();
        BOOST_TEST(!redis.get("n"));
        co_await pause(late);
        BOOST_REQUIRE(p.network.kept() == 1U);
        p.network.pass();
        co_await pause(1ms);  // It has arrived.
        // Whatever they did is undone, or was refused.
        co_await eventually("the lock is free", [&] { return !redis.get("n"); });
        // For good.
        co_await pause(700ms);
        BOOST_TEST(!redis.get("n"));
        got.reset();
      }
    }
  });
}

// The same where the hold was handed to somebody who waited, since others of the same client waited, too.
BOOST_AUTO_TEST_CASE(late_bytes_leave_no_ghost_of_a_hold_that_was_handed_on) {
  run([&]() -> awaitable<void> {
    client_options o = quick();
    o.command_timeout = 5s;  // So long the late attempt may be granted.
    behind_gate p(co_await asio::this_coro::executor, redis, o);
    client near(co_await asio::this_coro::executor, redis.url());
    co_await near.ready();
    {
      hold h = co_await p.lock.acquire();
      co_await h.release();
    }
    p.network.forget();
    p.network.hold_requests();
    std::optional<hold> got, second, others;
    p.lock.acquire({.lease = 10min}, [&](error_code, hold h) { got = std::move(h); });
    co_await eventually("the attempt was sent", [&] { return p.network.requests() != 0; });
    p.network.cut_clients();
    p.network.pass_connected();
    co_await eventually("the lock was acquired anew", [&] { return got.has_value(); });
    p.lock.acquire([&](error_code, hold h) { second = std::move(h); });
    mutex(near, "n").acquire([&](error_code, hold h) { others = std::move(h); });
    co_await eventually("both wait in the queue", [&] { return redis.command("ZCARD", the_queue).integer == 2; });
    co_await pause(20ms);  // Longer than holds are passed on without asking Redis.
    const std::string token = got->token();
    co_await got->release();
    for (int i = 0; i < 2; ++i) {
      co_await eventually("the next is in", [&] { return (second && second->valid()) || (others && others->valid()); });
      hold& next = second && second->valid() ? *second : *others;
      BOOST_TEST(next.token() != token);
      co_await next.release();
    }
    BOOST_TEST(!redis.get("n"));
    BOOST_REQUIRE(p.network.kept() == 1U);
    p.network.pass();
    co_await pause(1ms);  // It has arrived.
    co_await eventually("the lock is free", [&] { return !redis.get("n"); });
  });
}

// What a request without an answer has lengthened is released, though the client's own deadline is over.
BOOST_AUTO_TEST_CASE(a_release_whose_reply_is_lost_frees_what_it_has_kept) {
  run([&]() -> awaitable<void> {
    client_options o = quick();
    o.cohort = 0ms;
    behind_gate p(co_await asio::this_coro::executor, redis, o);
    hold h = co_await p.lock.acquire({.lease = 1s, .renew = renewal::none});
    std::optional<hold> next;
    p.lock.acquire({.lease = 10min}, [&](error_code, hold g) { next = std::move(g); });
    co_await eventually("it waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    const auto deadline = h.expires_at();
    p.network.hold_replies();
    outcome released;
    h.release(released.handler());
    co_await eventually("Redis has kept it for the next", [&] { return redis.ttl("n") > 60000; });
    co_await eventually("the lease is over", [&] { return now() > deadline; });
    p.network.cut();
    p.network.pass();
    co_await eventually("the next is in", [&] { return next.has_value() && next->valid(); });
    co_await eventually("the release has ended", [&] { return released.ended(); });
    co_await next->release();
    BOOST_TEST(!redis.get("n"));
  });
}

BOOST_AUTO_TEST_CASE(a_lease_that_was_lengthened_without_an_answer_is_released) {
  run([&]() -> awaitable<void> {
    behind_gate p(co_await asio::this_coro::executor, redis);
    hold h = co_await p.lock.acquire({.lease = 1s, .renew = renewal::none});
    p.network.hold_replies();
    outcome extended, released;
    h.extend(10min, extended.handler());
    co_await eventually("Redis has extended it", [&] { return redis.ttl("n") > 60000; });
    p.network.refuse();
    p.network.cut();
    co_await eventually("the lease is over", [&] { return extended.ended() && !h.valid(); });
    h.release(released.handler());
    co_await eventually("it is told", [&] { return released.ended(); });
    BOOST_TEST(*released.ec, "released");
    p.network.refuse(false);
    p.network.pass();
    co_await eventually("the lock is free", [&] { return !redis.get("n"); });
  });
}

// The same with an attempt that was cancelled: its late bytes are withdrawn in the background.
BOOST_AUTO_TEST_CASE(late_bytes_of_a_cancelled_attempt_leave_no_ghost) {
  run([&]() -> awaitable<void> {
    client_options o = quick();
    o.command_timeout = 400ms;
    behind_gate p(co_await asio::this_coro::executor, redis, o);
    {
      hold h = co_await p.lock.acquire();
      co_await h.release();
    }
    p.network.forget();
    p.network.hold_requests();
    asio::cancellation_signal signal;
    outcome cancelled;
    p.lock.acquire(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, hold) { cancelled.ec = ec; }));
    co_await eventually("the attempt was sent", [&] { return p.network.requests() != 0; });
    signal.emit(asio::cancellation_type::total);
    co_await eventually("it ends", [&] { return cancelled.ended(); });
    BOOST_TEST(*cancelled.ec == asio::error::operation_aborted);
    p.network.cut_clients();
    p.network.pass();
    co_await pause(1ms);  // It has arrived.
    co_await eventually("the lock is free", [&] { return !redis.get("n"); });
    co_await pause(600ms);
    BOOST_TEST(!redis.get("n"));
  });
}

// The same when the release of the cancelled attempt was answered long before these bytes arrive.
BOOST_AUTO_TEST_CASE(late_bytes_behind_the_release_of_a_cancelled_attempt_leave_no_ghost) {
  run([&]() -> awaitable<void> {
    client_options o = quick();
    o.command_timeout = 5s;   // So long the late attempt may be granted,
    o.connect_timeout = 30s;  // and longer close waits for what is left of it.
    behind_gate p(co_await asio::this_coro::executor, redis, o);
    client near(co_await asio::this_coro::executor, redis.url());
    hold others = co_await mutex(near, "n").acquire();
    co_await p.c.ready();
    p.network.forget();
    p.network.hold_requests();
    asio::cancellation_signal signal;
    outcome cancelled;
    p.lock.acquire({.lease = 10min},
                   asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, hold) { cancelled.ec = ec; }));
    co_await eventually("the attempt was sent", [&] { return p.network.requests() != 0; });
    p.network.cut_clients();
    p.network.pass_connected();
    co_await eventually("it waits by way of another connection",
                        [&] { return p.c.stats().contended == 1 && redis.command("ZCARD", the_queue).integer == 1; });
    p.network.forget();
    signal.emit(asio::cancellation_type::total);
    co_await eventually("it ends", [&] { return cancelled.ended(); });
    BOOST_TEST(*cancelled.ec == asio::error::operation_aborted);
    co_await eventually("nothing waits", [&] { return redis.command("ZCARD", the_queue).integer == 0; });
    co_await others.release();
    BOOST_REQUIRE(p.network.kept() == 1U);
    p.network.pass();
    co_await pause(1ms);  // It has arrived.
    co_await eventually("the lock is free", [&] { return !redis.get("n"); });
    // For good, and no entry waits in the queue.
    co_await p.c.close();
    BOOST_TEST(redis.size() == 0U);
  });
}

// The same when try_acquire was answered by way of another connection: the lock was busy.
BOOST_AUTO_TEST_CASE(late_bytes_of_a_try_acquire_that_found_the_lock_busy_leave_no_ghost) {
  run([&]() -> awaitable<void> {
    client_options o = quick();
    o.command_timeout = 5s;
    o.connect_timeout = 30s;
    behind_gate p(co_await asio::this_coro::executor, redis, o);
    client near(co_await asio::this_coro::executor, redis.url());
    hold others = co_await mutex(near, "n").acquire();
    co_await p.c.ready();
    p.network.forget();
    p.network.hold_requests();
    outcome tried;
    p.lock.try_acquire({.lease = 10min}, [&](error_code ec, std::optional<hold> h) {
      BOOST_TEST(!h);
      tried.ec = ec;
    });
    co_await eventually("the attempt was sent", [&] { return p.network.requests() != 0; });
    p.network.cut_clients();
    p.network.pass_connected();
    co_await eventually("it ends", [&] { return tried.ended(); });
    BOOST_TEST(!*tried.ec);
    co_await others.release();
    BOOST_REQUIRE(p.network.kept() == 1U);
    p.network.pass();
    co_await pause(1ms);  // It has arrived.
    co_await p.c.close();
    BOOST_TEST(redis.size() == 0U);
  });
}

// The same of the one script of acquire_all, whose locks were acquired and released in another way meanwhile.
BOOST_AUTO_TEST_CASE(late_bytes_of_acquire_all_leave_no_ghost) {
  run([&]() -> awaitable<void> {
    client_options o = quick();
    o.command_timeout = 5s;
    o.connect_timeout = 30s;
    behind_gate p(co_await asio::this_coro::executor, redis, o);
    const mutex a(p.c, "a"), b(p.c, "b");
    co_await p.c.ready();
    {
      leasehold::holds<2> both = co_await acquire_all(a, b);
      co_await both.release();
    }
    p.network.forget();
    p.network.hold_requests();
    std::optional<leasehold::holds<2>> both;
    acquire_all({.lease = 10min}, a, b)([&](error_code ec, leasehold::holds<2> h) {
      BOOST_TEST(!ec);
      both = std::move(h);
    });
    co_await eventually("the script was sent", [&] { return p.network.requests() != 0; });
    p.network.cut_clients();
    p.network.pass_connected();
    co_await eventually("both were acquired", [&] { return both.has_value(); });
    co_await both->release();
    BOOST_REQUIRE(p.network.kept() == 1U);
    p.network.pass();
    co_await pause(1ms);  // It has arrived.
    both.reset();
    co_await p.c.close();
    BOOST_TEST(redis.size() == 0U);
  });
}

// The deadline of the next fence, which a cohort asks for ahead of time, counts from the sending of that request, and
// is early by the drift.
BOOST_AUTO_TEST_CASE(the_deadline_of_a_prefetched_fence_counts_from_its_request) {
  run([&]() -> awaitable<void> {
    client_options o = patient();
    o.cohort = 1s;
    o.drift = 0.0;
    o.drift_floor = 2s;
    behind_gate p(co_await asio::this_coro::executor, redis, o);
    co_await p.c.ready();
    std::vector<hold> got;
    for (int j = 0; j < 3; ++j) {
      p.lock.acquire({.lease = 10s, .renew = renewal::none}, [&got](error_code ec, hold h) {
        BOOST_TEST(!ec);
        got.push_back(std::move(h));
      });
    }
    co_await eventually("the first has it", [&] { return got.size() == 1; });
    co_await eventually("the others wait", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    co_await pause(510ms);  // From half the cohort's time on the next fence is asked for.
    p.network.forget();
    p.network.hold_replies();
    got[0].release(asio::detached);
    co_await eventually("the server has answered", [&] { return p.network.replies() != 0; });
    const auto answered = now();
    co_await pause(200ms);
    p.network.pass();
    co_await eventually("the second has it", [&] { return got.size() == 2; });
    co_await turn(20);
    got[1].release(asio::detached);
    co_await eventually("the third has it", [&] { return got.size() == 3; });
    // Passed on once since Redis has given a new fence: that was the one asked for ahead of time.
    BOOST_TEST(got[2].fence() % 2048 == 1U);
    BOOST_TEST(got[2].fence() / 2048 != got[1].fence() / 2048);
    BOOST_TEST((got[2].expires_at() <= answered + 10s - 2s));
    co_await got[2].release();
  });
}

// Messages of the time in between are lost, so each waiter polls as soon as there is a connection: the third in the
// queue would poll up to 5 s later by itself.
BOOST_AUTO_TEST_CASE(a_waiter_polls_at_once_after_a_reconnect) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client near(executor, redis.url()), second(executor, redis.url()), third(executor, redis.url());
    hold first = co_await mutex(near, "n").acquire();
    std::vector<hold> got;
    const auto keep = [&got](error_code ec, hold h) {
      BOOST_TEST(!ec);
      got.push_back(std::move(h));
    };
    mutex(second, "n").acquire(keep);
    co_await eventually("one waits", [&] { return second.stats().contended == 1; });
    mutex(third, "n").acquire(keep);
    co_await eventually("two wait", [&] { return third.stats().contended == 1; });
    behind_gate p(executor, redis);
    p.lock.acquire(keep);
    co_await eventually("all wait", [&] { return p.c.stats().contended == 1; });
    for (std::uint64_t i = 1; i <= 3; ++i) {
      const auto asked = p.c.stats().commands;
      p.network.cut();
      co_await eventually("it is connected again", [&] { return p.c.stats().reconnects == i; });
      // In the same turn.
      BOOST_TEST(p.c.stats().commands > asked);
      co_await eventually("it was answered", [&] { return p.c.stats().round_trip.count() >= p.c.stats().commands; });
    }
    co_await first.release();
    for (std::size_t i = 1; i <= 3; ++i) {
      co_await eventually("the next is in", [&] { return got.size() == i; });
      co_await got.back().release();
    }
  });
}

// B7: the hold that a message brought has a short lease until it is confirmed, and is not lost by a hiccup.
BOOST_AUTO_TEST_CASE(a_confirmation_that_is_answered_late_loses_nothing) {
  run([&]() -> awaitable<void> {
    behind_gate p(co_await asio::this_coro::executor, redis);
    client near(co_await asio::this_coro::executor, redis.url());
    hold first = co_await mutex(near, "n").acquire();
    std::optional<hold> got;
    p.lock.acquire([&](error_code ec, hold h) {
      BOOST_TEST(!ec);
      p.network.hold_replies();
      got = std::move(h);
    });
    co_await eventually("it waits in the queue", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    const auto released = now();
    co_await first.release();
    co_await eventually("it is granted", [&] { return got.has_value(); });
    BOOST_TEST(p.c.stats().handed_off == 1U);
    BOOST_TEST((got->expires_at() < now() + 2s));
    co_await pause(1200ms);
    p.network.pass();
    co_await eventually("it is confirmed, or lost",
                        [&] { return got->expires_at() > released + 20s || !got->valid(); });
    BOOST_TEST(got->valid());
    BOOST_TEST(p.c.stats().lost == 0U);
  });
}

// A resize that has ended, unanswered, does not undo another one when its bytes arrive at last.
BOOST_AUTO_TEST_CASE(late_bytes_of_a_resize_undo_nothing) {
  run([&]() -> awaitable<void> {
    client_options o = quick();
    o.command_timeout = 300ms;
    behind_gate p(co_await asio::this_coro::executor, redis, o);
    const counting_semaphore far(p.c, "s", 2);
    client near(co_await asio::this_coro::executor, redis.url());
    const counting_semaphore close(near, "s", 2);
    hold h = co_await close.acquire();
    co_await far.resize(3);
    co_await far.resize(2);
    p.network.forget();
    p.network.hold_requests();
    auto [ec] = co_await far.resize(9, as_tuple);
    BOOST_TEST((ec == error::unreachable));
    co_await close.resize(3);
    p.network.cut_clients();
    BOOST_REQUIRE(p.network.kept() >= 1U);
    co_await pause(100ms);  // Its not-after has passed when it ends, but for what is not known of the server's clock.
    p.network.pass();
    co_await pause(1ms);  // It has arrived.
    // Whoever believes in another limit is refused.
    co_await close.try_acquire();
    hold third = co_await counting_semaphore(near, "s", 3).acquire();
    BOOST_TEST(third.valid());
  });
}

// It is sent once more when the attempt without an answer can have left nothing any more, and finds nothing.
BOOST_AUTO_TEST_CASE(a_release_that_is_made_sure_of_is_no_loss) {
  run([&]() -> awaitable<void> {
    behind_gate p(co_await asio::this_coro::executor, redis);
    hold h = co_await p.lock.acquire();
    co_await h.release();
    p.network.cut_after_replies(0);
    h = co_await p.lock.acquire();
    BOOST_TEST(p.c.stats().reconnects == 1U);
    co_await h.release();
    const auto sent = p.c.stats().commands;
    co_await eventually("it is made sure", [&] { return p.c.stats().commands > sent; });
    co_await p.c.close();
    BOOST_TEST(p.c.stats().lost == 0U);
    BOOST_TEST(p.c.stats().released == 2U);
  });
}

// One after the other they would take twenty seconds, each time.
BOOST_AUTO_TEST_CASE(many_holds_are_renewed_side_by_side_on_a_slow_connection) {
  run([&]() -> awaitable<void> {
    client_options o = quick();
    o.command_timeout = limit;
    behind_gate p(co_await asio::this_coro::executor, redis, o);
    constexpr std::size_t all = 100;
    std::vector<hold> held;
    for (std::size_t i = 0; i < all; ++i) {
      hold h = co_await mutex(p.c, std::to_string(i)).acquire({.lease = 4s});
      held.push_back(std::move(h));
    }
    p.network.slow(100ms);
    co_await eventually("each was renewed three times", [&] { return p.c.stats().renewed >= 3 * all; });
    BOOST_TEST(p.c.stats().lost == 0U);
    for (const hold& h : held) BOOST_TEST(h.valid());
    p.network.slow(0ms);
    held.clear();
    co_await p.c.close();
  });
}

BOOST_AUTO_TEST_CASE(a_half_open_connection_does_not_lose_a_hold) {
  run([&]() -> awaitable<void> {
    client_options o = quick();
    o.command_timeout = 200ms;
    behind_gate p(co_await asio::this_coro::executor, redis, o);
    hold h = co_await p.lock.acquire({.lease = 3s});
    p.network.swallow();
    const auto renewed = p.c.stats().renewed;
    co_await eventually("it is renewed on another connection", [&] { return p.c.stats().renewed > renewed; });
    BOOST_TEST(h.valid());
    BOOST_TEST(p.c.stats().lost == 0U);
  });
}

// Many at a time, each with its own fate.
BOOST_AUTO_TEST_CASE(many_operations_under_way_survive_a_cut) {
  run([&]() -> awaitable<void> {
    behind_gate p(co_await asio::this_coro::executor, redis);
    co_await p.c.ready();
    for (std::size_t round = 0; round < 10; ++round) {
      int got = 0;
      std::vector<hold> holds(50);
      p.network.forget();
      p.network.cut_after_replies(5 * round);
      for (std::size_t i = 0; i < holds.size(); ++i) {
        mutex(p.c, std::to_string(i)).acquire([&, i](error_code ec, hold h) {
          BOOST_TEST(!ec);
          holds[i] = std::move(h);
          ++got;
        });
      }
      co_await eventually("all are acquired", [&] { return got == 50; });
      BOOST_TEST(redis.size() == 50U);
      p.network.pass();
      for (auto& h : holds) {
        auto [ec] = co_await h.release(as_tuple);
        BOOST_TEST(!ec);
      }
      BOOST_TEST(redis.size() == 0U);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
