// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/with_memory.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(cohorts, with_memory)

namespace {

// What the holders have seen, in the order of their holding.
struct history {
  std::vector<std::uint64_t> fences;
  std::vector<int> order;
  std::size_t inside = 0;
  bool overlapped = false;
  std::size_t ended = 0;
  std::size_t lost = 0;
};

awaitable<void> hold_once(mutex lock, history& seen, int who, std::chrono::microseconds length = 1us) {
  hold h = co_await lock.acquire();
  seen.overlapped = seen.overlapped || seen.inside != 0 || !h.valid();
  ++seen.inside;
  seen.fences.push_back(h.fence());
  seen.order.push_back(who);
  co_await pause(length);
  --seen.inside;
  auto [ec] = co_await h.release(as_tuple);
  seen.lost += ec == error::lost ? 1 : 0;
  ++seen.ended;
}

awaitable<void> hold_often(mutex lock, history& seen, int who, int times, std::chrono::microseconds length = 1us) {
  for (int i = 0; i < times; ++i) {
    co_await hold_once(lock, seen, who, length);
  }
}

// Of holds of a millisecond there are ten at most in client_options::cohort, and some more while messages are on their
// way.
constexpr std::size_t too_many = 20;

void check(const history& seen, std::size_t holds) {
  BOOST_TEST(!seen.overlapped);
  BOOST_TEST(seen.ended == holds);
  BOOST_TEST(std::is_sorted(seen.fences.begin(), seen.fences.end(), std::less_equal<>()));
}

}  // namespace

BOOST_AUTO_TEST_CASE(coroutines_of_one_client_pass_the_lock_on_in_order_and_ask_redis_rarely) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    mutex lock(c, "n");
    history seen;
    std::vector<int> expected;
    hold first = co_await lock.acquire();
    for (int i = 0; i < 500; ++i) {
      expected.push_back(i);
      asio::co_spawn(executor, hold_once(lock, seen, i), asio::detached);
    }
    co_await eventually("all wait", [&] { return c.stats().waiting == 500; });
    co_await first.release();
    co_await eventually("all were served", [&] { return seen.ended == 500; });
    check(seen, 500);
    BOOST_TEST(seen.order == expected, boost::test_tools::per_element());
    BOOST_TEST(seen.fences.front() > first.fence());
    BOOST_TEST(c.stats().passed > 490U);
    BOOST_TEST(c.stats().commands < 10U);
    co_await c.close();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(a_client_without_cohorts_asks_redis_for_each_turn) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options options;
    options.cohort = std::chrono::microseconds(0);
    client c(executor, redis.url(), options);
    mutex lock(c, "n");
    history seen;
    for (int i = 0; i < 50; ++i) asio::co_spawn(executor, hold_once(lock, seen, i), asio::detached);
    co_await eventually("all were served", [&] { return seen.ended == 50; });
    check(seen, 50);
    BOOST_TEST(c.stats().passed == 0U);
    // A release each, by which the next one has the lock; joining the queue costs little more.
    BOOST_TEST(c.stats().commands >= 50U);
    BOOST_TEST(c.stats().commands < 75U);
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(a_client_without_cohorts_overtakes_nobody) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options options;
    options.cohort = std::chrono::microseconds(0);
    client many(executor, redis.url(), options);
    client one(executor, redis.url(), options);
    int entered = 0, running = 5;
    bool over = false;
    const auto work = [&]() -> awaitable<void> {
      mutex lock(many, "n");
      while (!over) {
        hold h = co_await lock.acquire();
        ++entered;
        co_await h.release();
      }
      --running;
    };
    for (int i = 0; i < 5; ++i) asio::co_spawn(executor, work(), asio::detached);
    co_await eventually("they take turns", [&] { return entered > 100; });
    for (int turn = 0; turn < 20; ++turn) {
      const auto contended_before = one.stats().contended;
      int entered_before = 0, entered_after = 0;
      bool ended = false;
      hold mine;
      mutex(one, "n").acquire([&](error_code ec, hold h) {
        entered_after = entered;
        mine = std::move(h);
        ended = !ec;
      });
      co_await eventually("it is in the queue, or in",
                          [&] { return ended || one.stats().contended != contended_before; });
      entered_before = entered;
      co_await eventually("it is in", [&] { return ended; });
      // The holder of then and whoever was in the queue before.
      BOOST_TEST(entered_after - entered_before <= 2);
      co_await mine.release();
    }
    over = true;
    co_await eventually("all have ended", [&] { return running == 0; });
  });
}

BOOST_AUTO_TEST_CASE(fences_grow_past_the_passes_that_fit_between_two_of_redis) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options options;
    options.cohort = std::chrono::seconds(1);
    client c(executor, redis.url(), options);
    mutex lock(c, "n");
    history seen;
    for (int i = 0; i < 8; ++i) asio::co_spawn(executor, hold_often(lock, seen, i, 1000, 100us), asio::detached);
    co_await eventually("all were served", [&] { return seen.ended == 8000; });
    check(seen, 8000);
    // The next fence comes ahead of time: nobody waits for it.
    BOOST_TEST(c.stats().passed > 8000U - 100U);
    BOOST_TEST(c.stats().commands > 8000U / 2048U);
  });
}

BOOST_AUTO_TEST_CASE(several_clients_with_cohorts_exclude_each_other_and_none_starves) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    history seen;
    std::vector<std::unique_ptr<client>> clients;
    for (int i = 0; i < 4; ++i) {
      clients.push_back(std::make_unique<client>(executor, redis.url()));
      mutex lock(*clients.back(), "n");
      for (int j = 0; j < 5; ++j) asio::co_spawn(executor, hold_often(lock, seen, i, 40, 100us), asio::detached);
    }
    co_await eventually("all were served", [&] { return seen.ended == 800; });
    check(seen, 800);
    for (auto& c : clients) co_await c->close();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(a_waiter_of_another_client_is_overtaken_for_a_bounded_time_only) {
  history seen;  // Whoever is inside when the client is closed ends later than that.
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client busy(executor, redis.url());
    client other(executor, redis.url());
    for (int i = 0; i < 4; ++i) {
      asio::co_spawn(executor, hold_often(mutex(busy, "n"), seen, i, 20000, 1ms), asio::detached);
    }
    co_await other.ready();
    co_await eventually("the cohort is under way", [&] { return busy.stats().passed > 20; });
    const auto before = seen.ended;
    hold h = co_await mutex(other, "n").acquire();
    BOOST_TEST(seen.ended < before + too_many);
    BOOST_TEST(h.fence() > seen.fences.back());
    co_await h.release();
    co_await busy.close();
  });
}

BOOST_AUTO_TEST_CASE(a_lock_that_was_broken_is_not_passed_on_for_long) {
  history seen;  // Whoever is inside when the client is closed ends later than that.
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    client thief(executor, redis.url());
    mutex lock(c, "n");
    for (int i = 0; i < 4; ++i) asio::co_spawn(executor, hold_often(lock, seen, i, 20000, 1ms), asio::detached);
    co_await thief.ready();
    co_await eventually("the cohort is under way", [&] { return c.stats().passed > 20; });
    const auto before = seen.ended;
    redis.command("DEL", "n");
    hold h = co_await mutex(thief, "n").acquire();
    // The cohort may go on for its bound, and then finds out; the hold that it has then is lost, and all four wait.
    co_await eventually("the cohort has found out", [&] { return c.stats().waiting == 4; });
    BOOST_TEST(seen.ended < before + too_many);
    BOOST_TEST(seen.lost == 1U);
    BOOST_TEST(h.valid());
    co_await h.release();
    co_await c.close();
  });
}

// A11: the program stands still past its lease, and goes on. However long the cohort's bound is, Redis is asked.
BOOST_AUTO_TEST_CASE(nothing_is_passed_on_after_a_pause_past_the_lease) {
  run([&]() -> awaitable<void> {
    client_options options;
    options.cohort = std::chrono::seconds(1);
    client c(co_await asio::this_coro::executor, redis.url(), options);
    mutex lock(c, "n");
    const acquire_options brief{.lease = 300ms, .renew = renewal::none};
    hold h = co_await lock.acquire(brief);
    std::optional<hold> next;
    lock.acquire(brief, [&](error_code, hold g) { next = std::move(g); });
    co_await eventually("it waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    stand_still(301ms);
    BOOST_TEST(!redis.get("n"));
    redis.command("SET", "n", "somebody else", "PX", "60000");
    auto [ec] = co_await h.release(as_tuple);
    BOOST_TEST(ec == error::lost);
    const lock_info info = co_await lock.inspect();
    BOOST_TEST(info.token == "somebody else");
    BOOST_TEST(!next);
    redis.command("DEL", "n");
    co_await eventually("it is granted", [&] { return next.has_value(); });
    BOOST_TEST(next->token() != h.token());
    BOOST_TEST(c.stats().passed == 0U);
    co_await next->release();
    co_await c.close();
  });
}

// B1: another server has taken over and does not know of the grant. A grant there has a larger fence than all
// that the cohort passes on.
BOOST_AUTO_TEST_CASE(passes_never_reach_the_fence_of_the_next_grant_elsewhere) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    const memory_server successor;
    client_options options;
    options.cohort = std::chrono::seconds(1);
    client c(executor, redis.url(), options);
    client other(executor, successor.url());
    mutex lock(c, "n");
    history seen;
    co_await other.ready();
    hold first = co_await lock.acquire();
    for (int i = 0; i < 4; ++i) asio::co_spawn(executor, hold_often(lock, seen, i, 1000), asio::detached);
    hold there = co_await mutex(other, "n").acquire();
    co_await eventually("all wait", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    redis.stop();
    co_await first.release();
    // As many as fit between two fences of the server; the next one asks it.
    co_await pause(1s);
    const auto passed = seen.fences;
    redis.go_on();
    co_await eventually("all were served", [&] { return seen.ended == 4000; });
    BOOST_TEST(passed.size() > 10U);
    BOOST_TEST(passed.size() < 2048U);
    BOOST_TEST(first.fence() < passed.front());
    BOOST_TEST(passed.back() < there.fence());
    co_await there.release();
    co_await c.close();
  });
}

// What is passed on is the lock, and not how its last holder wanted it.
BOOST_AUTO_TEST_CASE(each_holder_of_a_cohort_has_its_own_renewals_and_margin) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options options;
    options.cohort = std::chrono::seconds(1);
    const acquire_options for_ever{.lease = 900ms};
    const acquire_options once{.lease = 900ms, .renew = renewal::at_most(1)};
    const acquire_options never{.lease = 900ms, .renew = renewal::none};
    const acquire_options late{.lease = 60s, .renew = renewal::none};
    const acquire_options early{.lease = 60s, .renew = renewal::none, .margin = 58s};
    struct pair {
      acquire_options before, after;
      std::uint64_t renewals;
      bool lives;
    };
    for (const pair& p : {pair{for_ever, never, 0, false}, pair{for_ever, once, 1, false}, pair{late, early, 0, false},
                          pair{never, for_ever, 3, true}, pair{once, for_ever, 3, true}}) {
      client c(executor, redis.url(), options);
      mutex lock(c, "n");
      hold first = co_await lock.acquire(p.before);
      hold next;
      lock.acquire(p.after, [&](error_code, hold h) { next = std::move(h); });
      co_await eventually("it waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
      const auto before = c.stats().renewed;
      co_await first.release();
      co_await eventually("it has it", [&] { return next.valid(); });
      BOOST_TEST(c.stats().passed == 1U);
      outcome lost;
      next.lost(lost.handler());
      co_await eventually("it lives on or ends",
                          [&] { return lost.ended() || (p.lives && c.stats().renewed - before >= p.renewals); });
      BOOST_TEST(lost.ended() != p.lives);
      if (!p.lives) BOOST_TEST(c.stats().renewed - before == p.renewals);
      auto [ec] = co_await next.release(as_tuple);
      BOOST_TEST((!ec || !p.lives));
      co_await c.close();
      // What was lost in time ends by itself.
      redis.command("DEL", "n");
    }
  });
}

// However long the one before had it for: if it dies, others are kept out for no longer than it has asked for.
BOOST_AUTO_TEST_CASE(a_waiter_with_a_shorter_lease_gets_no_longer_one) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    for (const auto cohort : {10ms, 0ms}) {
      for (const bool extends : {false, true}) {
        client_options options;
        options.cohort = cohort;
        client c(executor, redis.url(), options);
        mutex lock(c, "n");
        const acquire_options same{.lease = 2s, .renew = renewal::none};
        hold first = co_await lock.acquire(extends ? same : acquire_options());
        if (extends) co_await first.extend(1h);
        hold next;
        lock.acquire(same, [&](error_code, hold h) { next = std::move(h); });
        co_await eventually("it waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
        co_await first.release();
        co_await eventually("it has it", [&] { return next.valid(); });
        BOOST_TEST(next.expires_at() <= now() + 2s);
        BOOST_TEST(redis.ttl("n") <= 2000);
        BOOST_TEST(next.fence() > first.fence());
        co_await next.release();
        co_await c.close();
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(a_waiter_with_a_longer_lease_gets_its_whole_lease) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    mutex lock(c, "n");
    hold short_lease = co_await lock.acquire({.lease = 5s, .renew = renewal::none});
    std::optional<hold> long_lease;
    lock.acquire({.lease = 60s, .renew = renewal::none}, [&](error_code, hold h) { long_lease = std::move(h); });
    co_await eventually("the second waits", [&] { return c.stats().waiting == 1; });
    co_await short_lease.release();
    co_await eventually("the second holds", [&] { return long_lease.has_value(); });
    co_await eventually("Redis has the longer lease", [&] { return redis.ttl("n") > 50000; });
    co_await eventually("so has the hold", [&] { return long_lease->expires_at() > now() + 50s; });
    BOOST_TEST(long_lease->valid());
  });
}

BOOST_AUTO_TEST_CASE(a_loss_that_a_release_into_the_cohort_finds_out_is_counted) {
  run([&]() -> awaitable<void> {
    client_options options;
    options.cohort = 0us;
    options.classify = [](std::string_view) { return std::string("locks"); };
    client c(co_await asio::this_coro::executor, redis.url(), options);
    const mutex lock(c, "n");
    hold first = co_await lock.acquire();
    std::optional<hold> next;
    lock.acquire([&](error_code, hold h) { next = std::move(h); });
    co_await eventually("it waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    redis.command("DEL", "n");
    auto [ec] = co_await first.release(as_tuple);
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(c.stats().lost == 1U);
    BOOST_TEST(c.stats_by_class().at("locks").lost == 1U);
    co_await eventually("the next has it", [&] { return next.has_value(); });
    BOOST_TEST(next->token() != first.token());
  });
}

// Another client waits: it is granted the lock, and not the client's own waiter.
BOOST_AUTO_TEST_CASE(the_last_release_of_a_cohort_is_counted) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options options;
    options.cohort = 0us;
    client c(executor, redis.url(), options);
    client other(executor, redis.url());
    const mutex lock(c, "n"), theirs(other, "n");
    hold first = co_await lock.acquire();
    std::optional<hold> own, granted;
    theirs.acquire([&](error_code, hold h) { granted = std::move(h); });
    co_await eventually("the other waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    lock.acquire([&](error_code, hold h) { own = std::move(h); });
    co_await eventually("both wait", [&] { return redis.command("ZCARD", the_queue).integer == 2; });
    co_await first.release();
    BOOST_TEST(c.stats().released == 1U);
    co_await eventually("the other has it", [&] { return granted.has_value(); });
    BOOST_TEST(!own.has_value());
    co_await granted->release();
    co_await eventually("its own waiter has it", [&] { return own.has_value(); });
  });
}

BOOST_AUTO_TEST_CASE(the_entry_leaves_the_queue_when_the_last_local_waiter_was_served_locally) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    mutex lock(c, "n");
    hold first = co_await lock.acquire();
    std::optional<hold> second;
    lock.acquire([&](error_code, hold h) { second = std::move(h); });
    co_await eventually("the second is in the queue",
                        [&] { return redis.command("ZCARD", "leasehold:{0}:queue:n").integer == 1; });
    co_await first.release();
    co_await eventually("the second holds", [&] { return second.has_value(); });
    co_await eventually("the queue is empty",
                        [&] { return redis.command("ZCARD", "leasehold:{0}:queue:n").integer == 0; });
    BOOST_TEST(second->valid());
    BOOST_TEST(redis.get("n").value().starts_with("leasehold:" + second->token() + ":"));
    co_await second->release();
    co_await c.close();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
