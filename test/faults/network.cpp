// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Connections that break at every byte, fall silent, and are made again; the rest is in
// test/simulation/locks/network.cpp.
#include "support/proxy.hpp"
#include "support/with_redis.hpp"

#include <string>
#include <thread>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(network, with_redis)

namespace {

client_options quick() {
  client_options o;
  o.reconnect = {.first = 1ms, .max = 5ms, .factor = 2.0, .jitter = 0.5};
  return o;
}

// A connected client behind a proxy.
struct behind_proxy {
  behind_proxy(const asio::any_io_executor& executor, const redis_server& redis, const client_options& o = quick())
      : network(executor, redis), c(executor, network.url(), o) {}
  proxy network;
  client c;
  mutex lock{c, "n"};
};

}  // namespace

// Promise 5, A2: the reply to acquire is cut off after each of its bytes. One grant, known to the client; afterwards no
// trace.
BOOST_AUTO_TEST_CASE(acquire_whose_reply_is_cut_anywhere_succeeds_with_one_grant) {
  run([&]() -> awaitable<void> {
    behind_proxy p(co_await asio::this_coro::executor, redis);
    co_await p.c.ready();
    std::size_t reply_size = 0;
    {
      // The script becomes known, and the size of the reply.
      hold h = co_await p.lock.acquire();
      co_await h.release();
      p.network.forget();
      h = co_await p.lock.acquire();
      reply_size = p.network.replies().size();
      co_await h.release();
    }
    BOOST_REQUIRE(reply_size > 10U);
    std::uint64_t last = 0;
    for (std::size_t cut = 0; cut < reply_size; ++cut) {
      BOOST_TEST_CONTEXT("after " << cut << " of " << reply_size << " bytes") {
        const auto reconnects = p.c.stats().reconnects;
        if (cut == 0) {
          // The reply comes to the proxy and no further.
          p.network.forget();
          p.network.hold_replies();
          std::optional<hold> got;
          p.lock.acquire([&](error_code ec, hold h) {
            BOOST_TEST(!ec);
            got = std::move(h);
          });
          co_await eventually("the server has answered", [&] { return p.network.replies().size() >= reply_size; });
          p.network.cut();
          co_await eventually("it is acquired", [&] { return got.has_value(); });
          BOOST_TEST(got->fence() > last);
          last = got->fence();
          co_await got->release();
        } else {
          p.network.cut_after_replies(cut);
          hold h = co_await p.lock.acquire();
          BOOST_TEST(h.valid());
          BOOST_TEST(h.fence() > last);
          BOOST_TEST(redis.get("n").value() == "leasehold:" + h.token() + ":" + std::to_string(h.fence()));
          last = h.fence();
          p.network.pass();
          co_await h.release();
        }
        // The reply has microseconds, in one to six digits: it may be that much shorter than the one that was
        // measured.
        if (cut + 5 < reply_size) BOOST_TEST(p.c.stats().reconnects == reconnects + 1);
        BOOST_TEST(!redis.get("n"));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(acquire_whose_request_is_cut_anywhere_succeeds) {
  run([&]() -> awaitable<void> {
    behind_proxy p(co_await asio::this_coro::executor, redis);
    {
      hold h = co_await p.lock.acquire();
      co_await h.release();
    }
    p.network.forget();
    std::size_t request_size = 0;
    {
      hold h = co_await p.lock.acquire();
      request_size = p.network.requests().size();
      co_await h.release();
    }
    for (std::size_t cut = 1; cut <= request_size; cut += 7) {
      BOOST_TEST_CONTEXT("after " << cut << " of " << request_size << " bytes") {
        p.network.cut_after_requests(cut);
        hold h = co_await p.lock.acquire();
        BOOST_TEST(h.valid());
        p.network.pass();
        co_await h.release();
        BOOST_TEST(!redis.get("n"));
      }
    }
  });
}

// The handshake, too, may be cut anywhere.
BOOST_AUTO_TEST_CASE(a_connection_that_is_cut_during_its_handshake_is_made_again) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    for (std::size_t cut = 1; cut < 400; cut += 13) {
      behind_proxy p(executor, redis);
      p.network.cut_after_replies(cut);
      hold h = co_await p.lock.acquire();
      BOOST_TEST(h.valid());
      co_await p.c.close();
    }
  });
}

// The first script of a connection is answered NOSCRIPT and sent again whole.
BOOST_AUTO_TEST_CASE(acquire_is_cut_anywhere_while_the_script_is_unknown) {
  run([&]() -> awaitable<void> {
    behind_proxy p(co_await asio::this_coro::executor, redis);
    co_await p.c.ready();
    for (std::size_t cut = 1; cut < 160; cut += 11) {
      BOOST_TEST_CONTEXT("after " << cut << " bytes") {
        redis.command("SCRIPT", "FLUSH");
        p.network.cut_after_replies(cut);
        hold h = co_await p.lock.acquire();
        BOOST_TEST(h.valid());
        p.network.pass();
        co_await h.release();
        BOOST_TEST(!redis.get("n"));
      }
    }
  });
}

// B4: a release that ran and whose reply was lost is a release.
BOOST_AUTO_TEST_CASE(release_whose_reply_is_cut_anywhere_succeeds) {
  run([&]() -> awaitable<void> {
    behind_proxy p(co_await asio::this_coro::executor, redis);
    {
      hold h = co_await p.lock.acquire();
      co_await h.release();
    }
    p.network.forget();
    std::size_t reply_size = 0;
    {
      hold h = co_await p.lock.acquire();
      p.network.forget();
      co_await h.release();
      reply_size = p.network.replies().size();
    }
    BOOST_REQUIRE(reply_size > 2U);
    for (std::size_t cut = 1; cut < reply_size; ++cut) {
      BOOST_TEST_CONTEXT("after " << cut << " bytes") {
        hold h = co_await p.lock.acquire();
        p.network.cut_after_replies(cut);
        auto [ec] = co_await h.release(as_tuple);
        BOOST_TEST(!ec, ec.message());
        p.network.pass();
        BOOST_TEST(!redis.get("n"));
      }
    }
  });
}

// A connection that is dead without being closed costs one attempt, also where command_timeout is longer than the
// lease.
// With so many others, more than are on their way at once, the renewal waits in the client. (The lease is so long that
// the machine may stand still for three seconds, too.)
BOOST_AUTO_TEST_CASE(a_hold_survives_a_connection_that_falls_silent) {
  run([&]() -> awaitable<void> {
    constexpr std::size_t others = 1100;
    client_options o = quick();
    o.command_timeout = 1min;
    o.connect_timeout = 2s;
    behind_proxy p(co_await asio::this_coro::executor, redis, o);
    hold h = co_await p.lock.acquire({.lease = 12s});
    const auto before = p.c.stats().renewed;
    p.network.swallow();
    std::vector<hold> more;
    for (std::size_t i = 0; i < others; ++i) {
      mutex(p.c, std::to_string(i)).acquire([&more](error_code, hold got) { more.push_back(std::move(got)); });
    }
    co_await eventually("it is renewed or lost", [&] { return p.c.stats().renewed > before || !h.valid(); });
    BOOST_TEST(h.valid());
    BOOST_TEST(p.c.stats().lost == 0U);
    BOOST_TEST(p.c.stats().reconnects == 1U);
    BOOST_TEST(p.c.stats().renewal_failed == 1U);
    co_await eventually("the others are in", [&] { return more.size() == others; });
    more.clear();
    co_await h.release();
    // The requests that went into the dead connection might still arrive, for a minute.
    co_await p.c.close(as_tuple);
  });
}

// The answer is there when the program comes back, and only not read yet.
BOOST_AUTO_TEST_CASE(a_program_that_stands_still_keeps_its_connection) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.command_timeout = 700ms;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    for (int i = 0; i < 2; ++i) {
      hold h = co_await mutex(c, "n").acquire({.lease = 7500ms});
      const auto sent = c.stats().commands;
      const auto renewed = c.stats().renewed;
      redis.stop();
      co_await eventually("a renewal is sent", [&] { return c.stats().commands > sent; });
      redis.go_on();
      // Longer than a renewal waits, and not past the lease, even if the machine stands still for three seconds.
      std::this_thread::sleep_for(900ms);
      co_await eventually("it is renewed", [&] { return c.stats().renewed > renewed || !h.valid(); });
      BOOST_TEST(h.valid());
      co_await h.release();
    }
    BOOST_TEST(c.stats().lost == 0U);
    BOOST_TEST(c.stats().reconnects == 0U);
  });
}

// B3: the bytes of a connection that has broken arrive late. The token was granted, used and released on another
// connection meanwhile; what comes then must not leave a lock that nobody knows of.
BOOST_AUTO_TEST_CASE(late_bytes_of_a_broken_connection_leave_no_ghost) {
  run([&]() -> awaitable<void> {
    client_options o = quick();
    o.command_timeout = 300ms;
    behind_proxy p(co_await asio::this_coro::executor, redis, o);
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
        co_await eventually("the attempt was sent", [&] { return !p.network.requests().empty(); });
        p.network.cut_clients();
        BOOST_REQUIRE(p.network.late() == 1U);
        // The new connection passes, the old one is kept back until pass().
        p.network.pass_connected();
        co_await eventually("the lock was acquired anew", [&] { return got.has_value(); });
        co_await got->release();
        BOOST_TEST(!redis.get("n"));
        co_await pause(late);
        BOOST_REQUIRE(p.network.late() == 1U);
        p.network.pass();
        co_await eventually("the late bytes have arrived", [&] { return p.network.late() == 0; });
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

// The field's half-open connection: no error, no answer, for minutes.
BOOST_AUTO_TEST_CASE(a_half_open_connection_is_given_up_after_the_command_timeout) {
  run([&]() -> awaitable<void> {
    client_options o = quick();
    o.command_timeout = 200ms;
    behind_proxy p(co_await asio::this_coro::executor, redis, o);
    hold h = co_await p.lock.acquire({.lease = 30s});
    p.network.swallow();
    const auto start = std::chrono::steady_clock::now();
    hold other = co_await mutex(p.c, "m").acquire();
    BOOST_TEST(other.valid());
    BOOST_TEST(std::chrono::steady_clock::now() - start < 20s);  // Not Boost.Redis's health check, nor TCP.
    BOOST_TEST(p.c.stats().reconnects == 1U);
    BOOST_TEST(p.network.accepted() == 2U);
    BOOST_TEST(h.valid());
    co_await h.release();
  });
}

// The last of many wait longer for their answers than one command may, but those before them are answered meanwhile.
BOOST_AUTO_TEST_CASE(a_slow_connection_is_kept_while_answers_arrive) {
  run([&]() -> awaitable<void> {
    client_options o = quick();
    o.command_timeout = 6s;  // The pause between two answers, and the machine may stand still for three seconds.
    behind_proxy p(co_await asio::this_coro::executor, redis, o);
    hold known = co_await p.lock.acquire();  // Of the script, which is not to be sent each time.
    p.network.slow(500ms);  // 250 KB take 8 s.
    constexpr std::size_t all = 1000;  // As many as are on their way at once: more would be too late each time.
    std::vector<hold> held;
    int failed = 0;
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < all; ++i) {
      mutex(p.c, std::to_string(i)).acquire({.lease = 10min}, [&](error_code ec, hold h) {
        failed += ec ? 1 : 0;
        held.push_back(std::move(h));
      });
    }
    co_await eventually("all are answered", [&] { return held.size() == all; });
    BOOST_TEST((std::chrono::steady_clock::now() - start > o.command_timeout));
    BOOST_TEST(failed == 0);
    BOOST_TEST(p.c.stats().reconnects == 0U);
    p.network.slow(0ms);
    co_await p.c.close();
  });
}

// Promise 5 for several at once: its caller is not kept out by what the first sending has granted.
BOOST_AUTO_TEST_CASE(acquire_all_whose_reply_is_cut_anywhere_has_each_lock_once) {
  run([&]() -> awaitable<void> {
    behind_proxy p(co_await asio::this_coro::executor, redis);
    co_await p.c.ready();
    mutex a(p.c, "a"), b(p.c, "b");
    const acquire_options longer{.lease = 10min};
    holds<2> both = co_await acquire_all(longer, a, b);
    co_await both.release();
    p.network.forget();
    both = co_await acquire_all(longer, a, b);
    const auto reply_size = p.network.replies().size();
    co_await both.release();
    BOOST_REQUIRE(reply_size > 20U);
    for (std::size_t cut = 1; cut < reply_size; ++cut) {
      BOOST_TEST_CONTEXT("after " << cut << " of " << reply_size << " bytes") {
        p.network.cut_after_replies(cut);
        both = co_await acquire_all(longer, a, b);
        p.network.pass();
        BOOST_TEST(both.valid());
        BOOST_TEST(redis.get("a").value().find(both[0].token()) != std::string::npos);
        BOOST_TEST(redis.get("b").value().find(both[1].token()) != std::string::npos);
        auto [ec] = co_await both.release(as_tuple);
        BOOST_TEST(!ec, ec.message());
        co_await eventually("nothing is left", [&] { return redis.size() == 0; });
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(a_connection_whose_handshake_is_not_answered_is_given_up) {
  run([&]() -> awaitable<void> {
    client_options o = quick();
    o.connect_timeout = 150ms;
    proxy network(co_await asio::this_coro::executor, redis);
    network.hold_replies();
    client c(co_await asio::this_coro::executor, network.url(), o);
    co_await eventually("it tries again and again", [&] { return network.accepted() >= 3; });
    auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::unreachable);
    network.pass();
    hold h = co_await mutex(c, "n").acquire();
    BOOST_TEST(h.valid());
  });
}

BOOST_AUTO_TEST_CASE(a_thousand_reconnects) {
  run([&]() -> awaitable<void> {
    behind_proxy p(co_await asio::this_coro::executor, redis);
    hold h = co_await mutex(p.c, "kept").acquire({.lease = 30s});
    for (int i = 0; i < 1000; ++i) {
      co_await p.c.ready();
      p.network.cut();
      if (i % 50 == 0) {
        hold one = co_await p.lock.acquire();
        co_await one.release();
      }
      co_await eventually("it has noticed", [&] { return p.c.stats().reconnects > static_cast<std::uint64_t>(i); });
    }
    BOOST_TEST(h.valid());
    co_await h.release();
    BOOST_TEST(redis.size() == 0U);
    BOOST_TEST(redis.info("connected_clients") <= 2);
  });
}

BOOST_AUTO_TEST_CASE(a_server_that_closes_at_once_is_tried_with_pauses) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.reconnect = {.first = 20ms, .max = 50ms, .factor = 2.0, .jitter = 0.0};
    proxy network(co_await asio::this_coro::executor, redis);
    network.refuse();
    client c(co_await asio::this_coro::executor, network.url(), o);
    co_await pause(500ms);
    BOOST_TEST(network.accepted() >= 2U);
    BOOST_TEST(network.accepted() <= 26U);
    network.refuse(false);
    co_await c.ready();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
