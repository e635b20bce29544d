// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/with_memory.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(mutexes, with_memory)

BOOST_AUTO_TEST_CASE(acquire_takes_a_free_lock_and_release_gives_it_back) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "report");
    const auto before = now();
    hold h = co_await lock.acquire();
    BOOST_TEST(h.valid());
    BOOST_TEST(h.name() == "report");
    BOOST_TEST(h.depth() == 1U);
    BOOST_TEST(h.fence() > 0U);
    BOOST_TEST(h.token().size() >= 32U);
    BOOST_TEST(h.expires_at() > before);
    BOOST_TEST(h.expires_at() < now() + 30s);
    BOOST_TEST(redis.get("report").value() == "leasehold:" + h.token() + ":" + std::to_string(h.fence()));
    BOOST_TEST(redis.ttl("report") > 0);
    BOOST_TEST(redis.ttl("report") <= 30000);
    co_await h.release();
    BOOST_TEST(!h.valid());
    BOOST_TEST(!redis.get("report"));
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(try_acquire_of_a_free_lock_yields_a_hold_and_of_a_busy_one_nothing) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    std::optional<hold> first = co_await lock.try_acquire();
    BOOST_REQUIRE(first.has_value());
    std::optional<hold> second = co_await lock.try_acquire();
    BOOST_TEST(!second.has_value());
    BOOST_TEST(first->valid());
    co_await first->release();
    second = co_await lock.try_acquire();
    BOOST_TEST(second.has_value());
    BOOST_TEST(c.stats().contended == 1U);
    BOOST_TEST(c.stats().timed_out == 0U);
  });
}

BOOST_AUTO_TEST_CASE(two_clients_exclude_each_other) {
  run([&]() -> awaitable<void> {
    client a(co_await asio::this_coro::executor, redis.url());
    client b(co_await asio::this_coro::executor, redis.url());
    mutex lock_a(a, "n");
    mutex lock_b(b, "n");
    hold h = co_await lock_a.acquire();
    auto busy = co_await lock_b.try_acquire();
    BOOST_TEST(!busy.has_value());
    co_await h.release();
    auto free = co_await lock_b.try_acquire();
    BOOST_TEST(free.has_value());
    busy = co_await lock_a.try_acquire();
    BOOST_TEST(!busy.has_value());
  });
}

BOOST_AUTO_TEST_CASE(acquires_that_go_out_together_have_their_own_leases) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    co_await c.ready();
    std::vector<hold> held;
    for (int i = 0; i < 7; ++i) {
      const auto lease = i % 2 != 0 ? 2s : 20s;
      const acquire_options once{.lease = lease, .renew = renewal::none};
      mutex(c, "n" + std::to_string(i)).acquire(once, [&held](error_code ec, hold h) {
        BOOST_TEST(!ec);
        held.push_back(std::move(h));
      });
    }
    co_await eventually("all are acquired", [&] { return held.size() == 7; });
    for (int i = 0; i < 7; ++i) {
      const auto left = redis.ttl("n" + std::to_string(i));
      BOOST_TEST(left > (i % 2 != 0 ? 1000 : 19000));
      BOOST_TEST(left <= (i % 2 != 0 ? 2000 : 20000));
    }
  });
}

BOOST_AUTO_TEST_CASE(two_names_do_not_exclude_each_other) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold a = co_await mutex(c, "a").acquire();
    hold b = co_await mutex(c, "b").acquire();
    BOOST_TEST(a.valid());
    BOOST_TEST(b.valid());
    BOOST_TEST(a.token() != b.token());
  });
}

BOOST_AUTO_TEST_CASE(acquire_waits_until_the_holder_releases) {
  run([&]() -> awaitable<void> {
    client a(co_await asio::this_coro::executor, redis.url());
    client b(co_await asio::this_coro::executor, redis.url());
    mutex lock_a(a, "n");
    mutex lock_b(b, "n");
    hold h = co_await lock_a.acquire();
    std::optional<hold> got;
    lock_b.acquire([&](error_code ec, hold next) {
      BOOST_TEST(!ec);
      got = std::move(next);
    });
    co_await eventually("the waiter has found the lock busy", [&] { return b.stats().contended == 1; });
    BOOST_TEST(b.stats().waiting == 1U);
    BOOST_TEST(!got.has_value());
    const auto fence = h.fence();
    co_await h.release();
    co_await eventually("the waiter gets the lock", [&] { return got.has_value(); });
    BOOST_TEST(got->valid());
    BOOST_TEST(got->fence() > fence);
    BOOST_TEST(b.stats().waiting == 0U);
  });
}

BOOST_AUTO_TEST_CASE(many_waiters_get_the_lock_one_after_the_other) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    client d(co_await asio::this_coro::executor, redis.url());
    std::vector<std::uint64_t> fences;
    int inside = 0;
    int ended = 0;
    const auto one = [&](mutex lock) -> awaitable<void> {
      hold h = co_await lock.acquire({.retry = {.first = 1ms, .max = 10ms}});
      BOOST_TEST(++inside == 1);
      fences.push_back(h.fence());
      co_await turn();
      --inside;
      co_await h.release();
      ++ended;
    };
    for (int i = 0; i < 20; ++i) {
      asio::co_spawn(co_await asio::this_coro::executor, one(mutex(i % 2 ? c : d, "n")), asio::detached);
    }
    co_await eventually("all have had it", [&] { return ended == 20; });
    BOOST_TEST(std::is_sorted(fences.begin(), fences.end()));
    BOOST_TEST((std::adjacent_find(fences.begin(), fences.end()) == fences.end()));
  });
}

BOOST_AUTO_TEST_CASE(acquire_of_a_busy_lock_times_out) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    hold h = co_await lock.acquire();
    const auto start = now();
    auto [ec, none] = co_await lock.acquire({.wait = 50ms}, as_tuple);
    BOOST_TEST(ec == error::timed_out);
    BOOST_TEST(!none.valid());
    BOOST_TEST(now() - start >= 50ms);
    BOOST_TEST(h.valid());
    BOOST_TEST(c.stats().timed_out == 1U);
    BOOST_TEST(c.stats().waiting == 0U);
    BOOST_TEST(redis.size() == 1U);
  });
}

BOOST_AUTO_TEST_CASE(a_wait_of_zero_is_one_attempt) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    hold h = co_await lock.acquire({.wait = 0ms});
    BOOST_TEST(h.valid());
    const auto commands = c.stats().commands;
    auto [ec, none] = co_await lock.acquire({.wait = 0ms}, as_tuple);
    BOOST_TEST(ec == error::timed_out);
    BOOST_TEST(c.stats().commands == commands + 1);
  });
}

BOOST_AUTO_TEST_CASE(longest_waits_do_not_overflow) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    for (const auto wait : {forever, forever - 1ms, std::chrono::milliseconds(std::chrono::hours(24 * 365 * 1000))}) {
      hold h = co_await lock.acquire({.wait = wait});
      BOOST_TEST(h.valid());
      auto tried = co_await lock.try_acquire({.wait = wait});
      BOOST_TEST(!tried.has_value());
      co_await h.release();
    }
  });
}

BOOST_AUTO_TEST_CASE(invalid_options_are_told_and_nothing_is_asked) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    std::vector<acquire_options> all(6);
    all[0].lease = 0ms;
    all[1].lease = -1s;
    all[2].lease = forever;
    all[3].wait = -1ms;
    all[4].margin = 30s;
    all[5].retry.factor = 0.5;
    for (const auto& options : all) {
      auto [ec, h] = co_await lock.acquire(options, as_tuple);
      BOOST_TEST(ec == error::invalid_option);
      auto [ec2, h2] = co_await lock.try_acquire(options, as_tuple);
      BOOST_TEST(ec2 == error::invalid_option);
    }
    BOOST_TEST(c.stats().commands == 0U);
    BOOST_TEST(c.stats().waiting == 0U);
  });
}

BOOST_AUTO_TEST_CASE(bad_names_are_told_by_every_operation) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    for (const std::string& name :
         {std::string(), std::string("leasehold:fence"), std::string(65537, 'x'), std::string(1 << 20, 'x')}) {
      mutex lock(c, name);
      BOOST_TEST((lock.name() == name));
      auto [ec, h] = co_await lock.acquire(as_tuple);
      BOOST_TEST(ec == error::invalid_name);
      auto [ec2, h2] = co_await lock.try_acquire(as_tuple);
      BOOST_TEST(ec2 == error::invalid_name);
      auto [ec3, info] = co_await lock.inspect(as_tuple);
      BOOST_TEST(ec3 == error::invalid_name);
    }
    BOOST_TEST(redis.size() == 0U);
  });
}

// B9: braces and binary bytes are part of a name like any other.
BOOST_AUTO_TEST_CASE(a_name_is_the_key_verbatim) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    for (const std::string& name : {std::string("x"), std::string("a}b"), std::string("a{}b"), std::string("{}{t}"),
                                    std::string("\0\r\n\xff \"", 6), std::string("Gr\xc3\xbc\xc3\x9f"),
                                    std::string(65536, 'x'), std::string("%s%n"), std::string("a:b:c")}) {
      mutex lock(c, name);
      hold h = co_await lock.acquire();
      BOOST_TEST((h.name() == name));
      BOOST_TEST(redis.get(name).has_value());
      BOOST_TEST(redis.size() == 1U);
      auto busy = co_await lock.try_acquire();
      BOOST_TEST(!busy.has_value());
      co_await h.release();
      BOOST_TEST(redis.size() == 0U);
    }
  });
}

BOOST_AUTO_TEST_CASE(the_prefix_stands_in_front_of_the_name) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.prefix = std::string("app\0:", 5);
    client c(co_await asio::this_coro::executor, redis.url(), o);
    client plain(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    hold h = co_await lock.acquire();
    BOOST_TEST(h.name() == "n");
    BOOST_TEST(lock.name() == "n");
    BOOST_TEST(redis.get(o.prefix + "n").has_value());
    // The record is what counts, however it is put together.
    auto busy = co_await mutex(plain, o.prefix + "n").try_acquire();
    BOOST_TEST(!busy.has_value());
    auto another = co_await mutex(plain, "n").try_acquire();
    BOOST_TEST(another.has_value());
    // What only becomes one of the library's own keys with its prefix.
    client_options p;
    p.prefix = "lease";
    client d(co_await asio::this_coro::executor, redis.url(), p);
    auto [ec, none] = co_await mutex(d, "hold:fence").acquire(as_tuple);
    BOOST_TEST(ec == error::invalid_name);
  });
}

BOOST_AUTO_TEST_CASE(a_foreign_lock_is_waited_for_and_left_alone) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    redis.command("SET", "n", "somebody's", "NX", "PX", "60000");
    auto busy = co_await lock.try_acquire();
    BOOST_TEST(!busy.has_value());
    std::optional<hold> got;
    lock.acquire([&](error_code ec, hold h) {
      BOOST_TEST(!ec);
      got = std::move(h);
    });
    co_await eventually("the waiter has polled", [&] { return c.stats().contended == 2; });
    BOOST_TEST(redis.get("n").value() == "somebody's");
    redis.command("DEL", "n");
    co_await eventually("the waiter gets the lock", [&] { return got.has_value(); });
    // And the other way round.
    BOOST_TEST(redis.command("SET", "n", "somebody's", "NX", "PX", "60000").is_nil());
  });
}

BOOST_AUTO_TEST_CASE(a_foreign_lock_that_expires_lets_the_waiter_in) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    redis.command("SET", "n", "somebody's", "PX", "200");
    // The pause is longer than this test may take: the waiter must not sleep past the lease that is in its way.
    hold h = co_await mutex(c, "n").acquire({.retry = {.first = 1h, .max = 1h, .factor = 1.0, .jitter = 0.0}});
    BOOST_TEST(h.valid());
  });
}

BOOST_AUTO_TEST_CASE(a_key_of_another_type_is_told) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    redis.command("HSET", "n", "a", "1");
    mutex lock(c, "n");
    auto [ec, h] = co_await lock.acquire(as_tuple);
    BOOST_TEST(ec == error::wrong_type);
    auto [ec2, h2] = co_await lock.try_acquire(as_tuple);
    BOOST_TEST(ec2 == error::wrong_type);
    auto [ec3, info] = co_await lock.inspect(as_tuple);
    BOOST_TEST(ec3 == error::wrong_type);
    BOOST_TEST(redis.command("HGET", "n", "a").text == "1");
    // The connection is none the worse for it.
    BOOST_TEST(c.stats().connects == 1U);
  });
}

BOOST_AUTO_TEST_CASE(inspect_tells_who_has_it) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    lock_info info = co_await lock.inspect();
    BOOST_TEST(!info.held);
    BOOST_TEST(info.token == "");
    BOOST_TEST(info.fence == 0U);
    BOOST_TEST(!info.ttl.has_value());
    BOOST_TEST(info.waiters == 0U);

    hold h = co_await lock.acquire();
    info = co_await lock.inspect();
    BOOST_TEST(info.held);
    BOOST_TEST(info.token == h.token());
    BOOST_TEST(info.fence == h.fence());
    BOOST_REQUIRE(info.ttl.has_value());
    BOOST_TEST(*info.ttl > 0ms);
    BOOST_TEST(*info.ttl <= 30s);
    co_await h.release();

    const std::string value("foreign\0value", 13);
    redis.command("SET", "n", value);
    info = co_await lock.inspect();
    BOOST_TEST(info.held);
    BOOST_TEST((info.token == value));
    BOOST_TEST(info.fence == 0U);
    BOOST_TEST(!info.ttl.has_value());
    // It looks like one of ours, and is none.
    for (const char* almost : {"leasehold:", "leasehold:x", "leasehold:x:", "leasehold:x:y", "leasehold::7"}) {
      redis.command("SET", "n", almost);
      info = co_await lock.inspect();
      BOOST_TEST(info.token == almost);
      BOOST_TEST(info.fence == 0U);
    }
    BOOST_TEST(c.stats().held == 0U);
  });
}

// Promise 3: fences grow from tenure to tenure, whatever is lost in between.
BOOST_AUTO_TEST_CASE(fences_grow_across_everything_that_one_server_can_lose) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    std::uint64_t last = 0;
    const auto next = [&]() -> awaitable<hold> {
      hold h = co_await lock.acquire({.lease = 10s});
      BOOST_TEST(h.fence() > last);
      last = h.fence();
      co_return h;
    };
    for (int i = 0; i < 50; ++i) {
      hold h = co_await next();
      co_await h.release();
    }
    {
      hold h = co_await next();  // Expiry.
      redis.command("PEXPIRE", "n", "0");
    }
    redis.command("SCRIPT", "FLUSH");
    { hold h = co_await next(); }
    redis.command("FLUSHALL");
    { hold h = co_await next(); }
    redis.command("FLUSHALL");
    redis.kill();
    redis.start();
    { hold h = co_await next(); }
    BOOST_TEST(c.stats().reconnects >= 1U);
  });
}

BOOST_AUTO_TEST_CASE(fences_of_several_clients_and_names_grow_per_name) {
  run([&]() -> awaitable<void> {
    std::vector<client> clients;
    for (int i = 0; i < 3; ++i) clients.emplace_back(co_await asio::this_coro::executor, redis.url());
    std::uint64_t last[2] = {0, 0};
    for (std::size_t i = 0; i < 120; ++i) {
      mutex lock(clients[i % 3], i % 2 ? "a" : "b");
      hold h = co_await lock.acquire();
      BOOST_REQUIRE(h.fence() > last[i % 2]);
      last[i % 2] = h.fence();
      co_await h.release();
    }
  });
}

// A token is never used again.
BOOST_AUTO_TEST_CASE(tokens_are_never_the_same) {
  run([&]() -> awaitable<void> {
    client a(co_await asio::this_coro::executor, redis.url());
    client b(co_await asio::this_coro::executor, redis.url());
    std::vector<std::string> tokens;
    for (int i = 0; i < 50; ++i) {
      hold h = co_await mutex(i % 2 ? a : b, "n").acquire();
      tokens.push_back(h.token());
      co_await h.release();
    }
    std::sort(tokens.begin(), tokens.end());
    BOOST_TEST((std::adjacent_find(tokens.begin(), tokens.end()) == tokens.end()));
  });
}

BOOST_AUTO_TEST_CASE(a_mutex_is_not_recursive) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    hold h = co_await lock.acquire();
    auto [ec, again] = co_await mutex(lock).acquire({.wait = 10ms}, as_tuple);
    BOOST_TEST(ec == error::timed_out);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
