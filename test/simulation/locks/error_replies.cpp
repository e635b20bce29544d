// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Servers that answer with an error (a foreign script runs, data are being loaded, memory is exhausted), at each
// instant of the life of a hold, in virtual time.
#include "simulation/with_memory.hpp"
#include "support/kinds.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(error_replies, with_memory)

namespace {

struct refusal {
  const char* name;
  void (*begin)(memory_server&);
  void (*end)(memory_server&);
};

// Errors to which a client repeats its request.
const std::array<refusal, 2> passing{{
    {"BUSY", [](memory_server& s) { s.server().is_busy = true; }, [](memory_server& s) { s.server().is_busy = false; }},
    {"LOADING",
     [](memory_server& s) {
       s.server().data().set_refusal_of_writes("LOADING Redis is loading the dataset in memory");
     },
     [](memory_server& s) { s.server().data().set_refusal_of_writes(""); }},
}};

std::int64_t in_queue(memory_server& s) { return s.command("ZCARD", the_queue).integer; }

awaitable<void> one_waits(memory_server& s) {
  co_await eventually("one waits in the queue", [&s] { return in_queue(s) == 1; });
}

// Once the server has answered a release.
void after_release(memory_server& s, std::function<void()> f) {
  s.server().on_run = [f = std::move(f), is_done = false](const auto&, const auto& arguments, const auto& r) mutable {
    if (arguments[0] != "release" || r.integer != 1 || std::exchange(is_done, true)) return;
    f();
  };
}

}  // namespace

// Until it is confirmed, its entry is in front of the queue.
BOOST_AUTO_TEST_CASE(a_refused_confirmation_is_repeated_soon_after_an_extension) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client first(executor, redis.url()), second(executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    asker next{any_lock(mutex(second, "n"))};
    next.acquire({.lease = 30s, .renew = renewal::none});
    co_await one_waits(redis);
    after_release(redis, [&] { redis.server().is_busy = true; });
    co_await h.release();
    co_await eventually("its confirmation is refused", [&] { return second.stats().renewal_failed == 1U; });
    redis.server().is_busy = false;
    co_await next.got.extend(1h);
    BOOST_TEST(in_queue(redis) == 1);
    const auto before = second.stats().commands;
    co_await pause(600ms);
    BOOST_TEST(second.stats().commands == before + 1);
    BOOST_TEST(in_queue(redis) == 0);
    BOOST_TEST(next.got.valid());
    co_await next.got.release();
    BOOST_TEST(redis.size() == 0U);
  });
}

// A pushed grant has a short lease until it is confirmed.
BOOST_AUTO_TEST_CASE(a_confirmation_that_is_answered_with_an_error_is_repeated) {
  for (const refusal& r : passing) {
    BOOST_TEST_CONTEXT(r.name) {
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client first(executor, redis.url()), second(executor, redis.url());
        hold h = co_await mutex(first, "n").acquire();
        asker next{any_lock(mutex(second, "n"))};
        next.acquire({.lease = 30s});
        co_await one_waits(redis);
        after_release(redis, [&] { r.begin(redis); });
        co_await h.release();
        co_await eventually("it has the pushed grant", [&] { return next.in(); });
        BOOST_TEST(second.stats().handed_off == 1U);
        co_await pause(1200ms);
        BOOST_TEST(next.got.valid());
        BOOST_TEST((next.got.expires_at() < now() + 1s));
        BOOST_TEST(second.stats().renewal_failed >= 2U);
        BOOST_TEST(second.stats().renewal_failed <= 4U);
        r.end(redis);
        co_await pause(510ms);
        BOOST_TEST((next.got.expires_at() > now() + 20s));
        BOOST_TEST(redis.ttl("n") > 20000);
        BOOST_TEST(in_queue(redis) == 0);
        co_await next.got.release();
        BOOST_TEST(redis.size() == 0U);
        BOOST_TEST(second.stats().lost == 0U);
      });
    }
  }
}

// A confirmation needs no memory.
BOOST_AUTO_TEST_CASE(a_confirmation_is_not_refused_without_memory) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client first(executor, redis.url()), second(executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    asker next{any_lock(mutex(second, "n"))};
    next.acquire({.lease = 30s});
    co_await one_waits(redis);
    after_release(redis, [&] { redis.command("CONFIG", "SET", "maxmemory", "1"); });
    co_await h.release();
    co_await eventually("it has the pushed grant", [&] { return next.in(); });
    co_await pause(100ms);
    BOOST_TEST((next.got.expires_at() > now() + 20s));
    BOOST_TEST(in_queue(redis) == 0);
    BOOST_TEST(second.stats().refused == 0U);
    redis.command("CONFIG", "SET", "maxmemory", "0");
    co_await next.got.release();
  });
}

// The server refuses for longer than the short lease: the loss is told at its end, and the release is repeated until
// the entry has left the queue.
BOOST_AUTO_TEST_CASE(a_pushed_grant_that_cannot_be_confirmed_is_lost_in_time_and_leaves_nothing) {
  for (const refusal& r : passing) {
    BOOST_TEST_CONTEXT(r.name) {
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client first(executor, redis.url()), second(executor, redis.url());
        hold h = co_await mutex(first, "n").acquire();
        asker next{any_lock(mutex(second, "n"))};
        next.acquire({.lease = 30s});
        co_await one_waits(redis);
        after_release(redis, [&] { r.begin(redis); });
        co_await h.release();
        co_await eventually("it has the pushed grant", [&] { return next.in(); });
        next.watch();
        const auto deadline = next.got.expires_at();
        BOOST_TEST((deadline <= now() + 2s));
        co_await eventually("the loss is reported", [&] { return next.lost.ended(); });
        BOOST_TEST((now() <= deadline + 1ms));
        BOOST_TEST(!next.got.valid());
        next.got = hold();
        co_await pause(1s);
        BOOST_TEST(in_queue(redis) == 1);
        r.end(redis);
        co_await pause(100ms);
        BOOST_TEST(redis.size() == 0U);
      });
    }
  }
}

// The same while the client has no connection, for longer than the lease: the entry is still in the queue. Either the
// user has released the hold, or the server has said that the record is gone (by hand), and the release was lost on its
// way.
BOOST_AUTO_TEST_CASE(a_pushed_grant_that_was_lost_offline_leaves_the_queue_after_a_reconnect) {
  for (const bool by_user : {true, false}) {
    BOOST_TEST_CONTEXT("released by the user: " << by_user) {
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        gate way(redis);
        client first(executor, redis.url()), second(executor, way.url(), forgiving());
        hold h = co_await mutex(first, "n").acquire();
        asker next{any_lock(mutex(second, "n"))};
        next.acquire({.lease = 1s});
        co_await one_waits(redis);
        after_release(redis, [&] {
          if (!by_user) redis.command("DEL", "n");
          way.forget();
          way.hold_requests(by_user ? 0 : 1);
        });
        co_await h.release();
        co_await eventually("it has the pushed grant", [&] { return next.ended() && !*next.ec; });
        co_await eventually("a request is held up", [&] { return way.kept() == 1; });
        way.refuse();
        way.cut();
        co_await pause(1ms);  // The client knows.
        next.got = hold();
        co_await pause(4s);
        BOOST_TEST(in_queue(redis) == 1);
        way.refuse(false);
        co_await pause(200ms);
        BOOST_TEST(redis.size() == 0U);
      });
    }
  }
}

// The record was deleted by hand before the confirmation came: the entry is still in the queue, and a grant that it
// would be given has no user.
BOOST_AUTO_TEST_CASE(a_pushed_grant_that_is_gone_when_it_is_confirmed_leaves_the_queue) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client first(executor, redis.url()), second(executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    asker next{any_lock(mutex(second, "n"))};
    next.acquire({.lease = 30s});
    co_await one_waits(redis);
    after_release(redis, [&] { redis.command("DEL", "n"); });
    co_await h.release();
    co_await eventually("it has the pushed grant", [&] { return next.ended(); });
    next.watch();
    co_await eventually("the loss is reported", [&] { return next.lost.ended(); });
    co_await pause(10ms);
    BOOST_TEST(in_queue(redis) == 0);
    auto free = co_await mutex(first, "n").try_acquire();
    BOOST_TEST(free.has_value());
  });
}

// The same, and the first to find out is an extension.
BOOST_AUTO_TEST_CASE(a_pushed_grant_that_is_gone_when_it_is_extended_leaves_the_queue) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client first(executor, redis.url()), second(executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    asker next{any_lock(mutex(second, "n"))};
    next.acquire({.lease = 30s});
    co_await one_waits(redis);
    after_release(redis, [&] {
      redis.command("DEL", "n");
      redis.server().is_busy = true;
    });
    co_await h.release();
    co_await eventually("its confirmation is refused", [&] { return second.stats().renewal_failed == 1; });
    outcome extended;
    next.got.extend(30s, extended.handler());
    co_await pause(10ms);
    redis.server().is_busy = false;
    co_await eventually("it is extended or lost", [&] { return extended.ended(); });
    BOOST_TEST(*extended.ec == error::lost);
    BOOST_TEST(!next.got.valid());
    co_await pause(10ms);
    BOOST_TEST(in_queue(redis) == 0);
  });
}

// A master that is a replica for a moment. All who wait are told, and their entry leaves the queue.
BOOST_AUTO_TEST_CASE(who_waits_in_the_queue_and_is_refused_leaves_it) {
  for (const kind& k : all_kinds) {
    BOOST_TEST_CONTEXT(k.name) {
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client first(executor, redis.url()), second(executor, redis.url());
        asker h(k.holder(first));
        co_await acquired(h, {.renew = renewal::none});
        std::deque<asker> all;
        for (int i = 0; i < 3; ++i) all.emplace_back(k.next(second, 1)).acquire();
        co_await eventually("all wait", [&] { return second.stats().contended == 3 && in_queue(redis) >= 1; });
        redis.server().on_run = [&](const auto&, const auto& arguments, const auto& r) {
          if (arguments[0] == "acquire" && r.is_error()) redis.command("REPLICAOF", "NO", "ONE");
        };
        redis.command("REPLICAOF", "127.0.0.1", "1");
        co_await eventually("they are told", [&] { return second.stats().waiting == 0; });
        for (const auto& a : all) {
          BOOST_REQUIRE(a.ended());
          BOOST_TEST(*a.ec == error::refused);
        }
        co_await pause(10ms);
        BOOST_TEST(in_queue(redis) == 0);
        BOOST_TEST(h.got.valid());
        co_await h.got.release();
        BOOST_TEST(redis.size() == 0U);
      });
    }
  }
}

// The script of an attempt fails after its first write, here since somebody has overwritten the fence counter: the
// attempt is refused, and its entry leaves the queue.
BOOST_AUTO_TEST_CASE(an_attempt_that_has_failed_half_way_leaves_the_queue) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client first(executor, redis.url()), third(executor, redis.url());
    other_program second(redis);
    hold h = co_await mutex(first, "n").acquire({.renew = renewal::none});
    const mutex its_lock(second.client(), "n");
    second.start([&its_lock]() -> awaitable<void> { const hold never = co_await its_lock.acquire(); });
    co_await one_waits(redis);
    second.stop();
    redis.command("DEL", "n");
    redis.command("SET", "leasehold:{0}:fence", "5000000000000000");
    auto [ec, none] = co_await mutex(third, "n").acquire(as_tuple);
    BOOST_TEST(ec == error::refused);
    co_await pause(100ms);
    BOOST_TEST(in_queue(redis) == 1);
    BOOST_TEST(third.stats().withdrawn == 1U);
    redis.command("DEL", "leasehold:{0}:fence");
    second.die();
  });
}

// A poll needs no memory: who waits keeps its place.
BOOST_AUTO_TEST_CASE(who_waits_in_the_queue_needs_no_memory) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client first(executor, redis.url()), second(executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    asker next{any_lock(mutex(second, "n"))};
    next.acquire();
    co_await one_waits(redis);
    redis.command("CONFIG", "SET", "maxmemory", "1");
    co_await pause(20s);
    BOOST_TEST(!next.ended());
    BOOST_TEST(in_queue(redis) == 1);
    co_await h.release();
    co_await eventually("it is in", [&] { return next.in(); });
    redis.command("CONFIG", "SET", "maxmemory", "0");
    co_await next.got.release();
  });
}

// The release of a hold that is to be kept for a waiter of the same client becomes an ordinary one.
BOOST_AUTO_TEST_CASE(a_release_for_a_local_waiter_that_is_answered_with_an_error_is_repeated) {
  for (const refusal& r : passing) {
    BOOST_TEST_CONTEXT(r.name) {
      run([&]() -> awaitable<void> {
        client_options o;
        o.cohort = 0ms;
        client c(co_await asio::this_coro::executor, redis.url(), o);
        hold h = co_await mutex(c, "n").acquire({.lease = 30s});
        asker next{any_lock(mutex(c, "n"))};
        next.acquire({.lease = 30s});
        co_await one_waits(redis);
        r.begin(redis);
        outcome released;
        h.release(released.handler());
        co_await pause(1s);
        BOOST_TEST(!released.ended());
        BOOST_TEST(!next.ended());
        r.end(redis);
        co_await pause(100ms);
        BOOST_REQUIRE(released.ended());
        BOOST_TEST(!*released.ec);
        co_await eventually("the next has it", [&] { return next.in(); });
        BOOST_TEST(next.got.fence() > h.fence());
        co_await next.got.release();
        BOOST_TEST(redis.size() == 0U);
        BOOST_TEST(c.stats().lost == 0U);
      });
    }
  }
}

// The fence that is asked for ahead of time is not given: the lock is passed on with the fence there is, until the
// server has to be asked.
BOOST_AUTO_TEST_CASE(a_cohort_goes_on_when_its_next_fence_is_refused) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.cohort = 1s;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    mutex lock(c, "n");
    const acquire_options one{.lease = 60s, .renew = renewal::none};
    std::deque<hold> got;
    got.push_back(co_await lock.acquire(one));
    for (int i = 0; i < 3; ++i) lock.acquire(one, [&](error_code, hold g) { got.push_back(std::move(g)); });
    co_await eventually("all wait", [&] { return c.stats().waiting == 3; });
    co_await pause(600ms);
    redis.server().is_busy = true;
    const auto asked = c.stats().commands;
    co_await got.back().release();
    co_await eventually("the second is in", [&] { return got.size() == 2; });
    co_await pause(100ms);
    BOOST_TEST(c.stats().commands > asked);
    BOOST_TEST(got.back().fence() == got.front().fence() + 1);
    co_await got.back().release();
    co_await eventually("the third is in", [&] { return got.size() == 3; });
    BOOST_TEST(got.back().fence() == got.front().fence() + 2);
    co_await pause(400ms);
    redis.server().is_busy = false;
    auto [ec] = co_await got.back().extend(60s, as_tuple);
    BOOST_TEST(!ec);
    const auto last = got.back().fence();
    co_await got.back().release();
    co_await eventually("the fourth is in", [&] { return got.size() == 4; });
    BOOST_TEST(got.back().valid());
    BOOST_TEST(got.back().fence() > last);
    co_await got.back().release();
    BOOST_TEST(redis.size() == 0U);
    BOOST_TEST(c.stats().lost == 0U);
  });
}

// Nothing else of the client talks to the server meanwhile.
BOOST_AUTO_TEST_CASE(what_a_busy_server_does_not_do_in_time_is_explained_by_its_words) {
  enum : std::uint8_t { extends, detaches, proclaims };
  for (const auto what : {extends, detaches, proclaims}) {
    BOOST_TEST_CONTEXT("operation " << static_cast<int>(what)) {
      run([&]() -> awaitable<void> {
        client_options o;
        o.command_timeout = 200ms;
        client c(co_await asio::this_coro::executor, redis.url(), o);
        hold h = co_await mutex(c, "n").acquire({.lease = 30s});
        leadership led = co_await election(c, "led").campaign("a", {.lease = 30s});
        redis.server().is_busy = true;
        error_code ec;
        if (what == extends) {
          const auto [why] = co_await h.extend(30s, as_tuple);
          ec = why;
        } else if (what == detaches) {
          const auto [why, none] = co_await h.detach(as_tuple);
          ec = why;
        } else {
          const auto [why] = co_await led.proclaim("b", as_tuple);
          ec = why;
        }
        BOOST_TEST(ec == error::unreachable);
        BOOST_TEST(c.explain(ec).find("BUSY") != std::string::npos, c.explain(ec));
        redis.server().is_busy = false;
        co_await led.resign();
        co_await h.release();
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(a_resize_that_is_answered_with_an_error_is_repeated) {
  for (const refusal& r : passing) {
    BOOST_TEST_CONTEXT(r.name) {
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client first(executor, redis.url()), second(executor, redis.url());
        const counting_semaphore lock(first, "n", 1);
        hold h = co_await lock.acquire({.lease = 30s});
        asker next{any_lock(counting_semaphore(second, "n", 1))};
        next.acquire({.lease = 30s});
        co_await one_waits(redis);
        r.begin(redis);
        outcome resized;
        lock.resize(2, resized.handler());
        co_await pause(1s);
        BOOST_TEST(!resized.ended());
        r.end(redis);
        co_await pause(100ms);
        BOOST_REQUIRE(resized.ended());
        BOOST_TEST(!*resized.ec);
        co_await eventually("the next has a permit", [&] { return next.in(); });
        BOOST_TEST(redis.size() != 0U);
        co_await next.got.release();
        auto another = co_await lock.try_acquire();  // It asks with the new limit.
        BOOST_TEST(another.has_value());
        another.reset();
        co_await h.release();
        co_await pause(100ms);
        BOOST_TEST(redis.size() == 0U);
      });
    }
  }
}

// It gives up: the limit is what it was, also in the object.
BOOST_AUTO_TEST_CASE(a_resize_that_is_not_done_in_time_changes_nothing) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url()), other(executor, redis.url());
    const counting_semaphore lock(c, "n", 1);
    hold h = co_await lock.acquire({.lease = 30s});
    redis.server().is_busy = true;
    const auto began = now();
    auto [ec] = co_await lock.resize(2, as_tuple);
    BOOST_TEST(ec.failed());
    BOOST_TEST((now() - began == client_options().command_timeout));
    redis.server().is_busy = false;
    co_await pause(100ms);
    auto busy = co_await lock.try_acquire();
    BOOST_TEST(!busy.has_value());
    auto there = co_await counting_semaphore(other, "n", 1).try_acquire();
    BOOST_TEST(!there.has_value());
    co_await h.release();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
