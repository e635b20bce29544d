// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/with_memory.hpp"
#include "support/kinds.hpp"
#include "support/rarer.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

struct with_semaphore : with_kinds_on<with_memory> {
  awaitable<counting_semaphore> semaphore(std::uint32_t limit) {
    co_return counting_semaphore(client(co_await asio::this_coro::executor, redis.url()), "n", limit);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(counting_semaphores, with_semaphore)

BOOST_AUTO_TEST_CASE(a_semaphore_has_as_many_holds_as_its_limit) {
  run([&]() -> awaitable<void> {
    const counting_semaphore lock = co_await semaphore(3);
    std::vector<hold> holds;
    for (std::size_t i = 0; i < 3; ++i) {
      holds.push_back(co_await lock.acquire());
      BOOST_TEST(holds.back().depth() == 1U);
      BOOST_TEST((co_await lock.inspect()).holders == i + 1);
      if (i > 0) BOOST_TEST(holds[i].fence() > holds[i - 1].fence());
    }
    BOOST_TEST(!(co_await lock.try_acquire()).has_value());
    co_await holds[1].release();
    auto again = co_await lock.try_acquire();
    BOOST_TEST(again.has_value());
    BOOST_TEST(!(co_await lock.try_acquire()).has_value());
    co_await again->release();
    co_await holds[0].release();
    co_await holds[2].release();
    BOOST_TEST(redis.size() == 0U);
  });
}

// Each permit has a lease of its own.
BOOST_AUTO_TEST_CASE(a_permit_whose_lease_ends_comes_back_by_itself) {
  run([&]() -> awaitable<void> {
    const counting_semaphore lock = co_await semaphore(2);
    hold lasting = co_await lock.acquire({.lease = 60s, .renew = renewal::none});
    asker brief(lock);
    co_await acquired(brief, {.lease = 400ms, .renew = renewal::none});
    brief.watch();
    const counting_semaphore elsewhere = co_await semaphore(2);
    asker next(elsewhere);
    next.acquire();
    co_await wait_in_queue(1);
    co_await eventually("the next is in", [&] { return next.in(); });
    co_await eventually("the loss is reported", [&] { return brief.lost.ended(); });
    BOOST_TEST(lasting.valid());
    BOOST_TEST(redis.ttl("n") > 20000);
    auto [ec] = co_await brief.got.release(as_tuple);
    BOOST_TEST(ec == error::lost);
    BOOST_TEST((co_await lock.inspect()).holders == 2U);
    co_await next.got.release();
    co_await lasting.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(the_permits_of_a_dead_process_come_back) {
  run([&]() -> awaitable<void> {
    other_program taker(redis);
    for (int i = 0; i < 2; ++i) co_await taker.keep(counting_semaphore(taker.client(), "n", 3), {.lease = 1500ms});
    const counting_semaphore lock = co_await semaphore(3);
    hold mine = co_await lock.acquire();
    BOOST_TEST(!(co_await lock.try_acquire()).has_value());
    std::deque<asker> all;
    for (int i = 0; i < 2; ++i) {
      const counting_semaphore other = co_await semaphore(3);
      all.emplace_back(other).acquire();
      co_await wait_in_queue(i + 1);
    }
    taker.die();
    co_await eventually("both are in", [&] { return all[0].in() && all[1].in(); });
    BOOST_TEST(mine.valid());
    BOOST_TEST(!(co_await lock.try_acquire()).has_value());
    co_await mine.release();
    for (auto& a : all) co_await a.got.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(never_more_than_the_limit_are_in) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    constexpr int limit_of_this = 3;
    int inside = 0;
    int most = 0;
    int ended = 0;
    const auto work = [&](counting_semaphore lock) -> awaitable<void> {
      for (int i = 0; i < 30; ++i) {
        hold h = co_await lock.acquire();
        BOOST_TEST(h.valid());
        most = std::max(most, ++inside);
        BOOST_TEST(inside <= limit_of_this);
        const auto stay = std::chrono::microseconds(300 * (i % 7));
        co_await pause(stay);
        --inside;
        co_await h.release();
      }
      ++ended;
    };
    for (int c = 0; c < 5; ++c) {
      const counting_semaphore lock = co_await semaphore(limit_of_this);
      for (int i = 0; i < 5; ++i) asio::co_spawn(executor, work(lock), asio::detached);
    }
    co_await eventually("all were served", [&] { return ended == 25; });
    BOOST_TEST(most == limit_of_this);
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(clients_take_permits_in_the_order_of_their_coming) {
  run([&]() -> awaitable<void> {
    const counting_semaphore lock = co_await semaphore(2);
    std::deque<hold> holds;
    for (int i = 0; i < 2; ++i) holds.push_back(co_await lock.acquire());
    std::deque<asker> all;
    for (int i = 0; i < 8; ++i) {
      const counting_semaphore other = co_await semaphore(2);
      all.emplace_back(other).acquire();
      co_await wait_in_queue(i + 1);
    }
    std::uint64_t fence = holds[1].fence();
    for (std::size_t i = 0; i < all.size(); ++i) {
      co_await holds.front().release();
      holds.pop_front();
      co_await eventually("the next is in", [&] { return all[i].in(); });
      BOOST_TEST(all[i].got.fence() > fence);
      fence = all[i].got.fence();
      for (std::size_t k = i + 1; k < all.size(); ++k) BOOST_TEST(!all[k].ended());
      holds.push_back(std::move(all[i].got));
    }
  });
}

BOOST_AUTO_TEST_CASE(ten_thousand_of_one_client_on_five_permits_are_few_entries_and_are_all_served_once) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    counting_semaphore lock(c, "n", 5);
    constexpr std::size_t all = 10000 / rarer;
    std::set<std::uint64_t> fences;
    std::size_t served = 0;
    int inside = 0;
    bool fine = true;
    const auto one = [&]() -> awaitable<void> {
      hold h = co_await lock.acquire();
      fine = fine && h.valid() && ++inside <= 5 && fences.insert(h.fence()).second;
      co_await pause(5us);
      --inside;
      auto [ec] = co_await h.release(as_tuple);
      fine = fine && !ec;
      ++served;
    };
    for (std::size_t i = 0; i < all; ++i) asio::co_spawn(executor, one, asio::detached);
    std::int64_t most = 0;
    const auto end = now() + 10 * limit;
    while (served < all && now() < end) {
      most = std::max(most, in_queue());
      co_await pause(5ms);
    }
    BOOST_TEST(served == all);
    BOOST_TEST(fine);
    BOOST_TEST(fences.size() == all);
    BOOST_TEST(most <= 16);
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(another_limit_is_refused_while_somebody_is_in) {
  run([&]() -> awaitable<void> {
    const counting_semaphore two = co_await semaphore(2);
    const counting_semaphore three = co_await semaphore(3);
    const counting_semaphore one_only = co_await semaphore(1);
    const counting_semaphore none_at_all = co_await semaphore(0);
    hold one = co_await two.acquire();
    for (const counting_semaphore* lock : std::array{&three, &one_only}) {
      auto [ec, none] = co_await lock->acquire(as_tuple);
      BOOST_TEST(ec == error::wrong_limit);
      auto [ec2, none2] = co_await lock->try_acquire(as_tuple);
      BOOST_TEST(ec2 == error::wrong_limit);
    }
    BOOST_TEST(in_queue() == 0);
    co_await one.release();
    hold other = co_await three.acquire();
    auto [ec, none] = co_await two.acquire(as_tuple);
    BOOST_TEST(ec == error::wrong_limit);
    co_await other.release();
    auto [bad, nothing] = co_await none_at_all.acquire(as_tuple);
    BOOST_TEST(bad == error::invalid_option);
    auto [bad2] = co_await two.resize(0, as_tuple);
    BOOST_TEST(bad2 == error::invalid_option);
    BOOST_TEST(redis.size() == 0U);
  });
}

// Two objects of one client that believe in different limits: each is told about its own.
BOOST_AUTO_TEST_CASE(objects_of_one_client_with_different_limits_do_not_answer_for_each_other) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    counting_semaphore one(c, "n", 1);
    counting_semaphore two(c, "n", 2);
    hold h = co_await one.acquire();
    asker right(one);
    right.acquire();
    co_await wait_in_queue(1);
    // One of its own client waits already.
    asker wrong(two);
    wrong.acquire();
    co_await eventually("it ends", [&] { return wrong.ended(); });
    BOOST_TEST(*wrong.ec == error::wrong_limit);
    BOOST_TEST(!right.ended());
    co_await h.release();
    co_await eventually("it is in", [&] { return right.in(); });
    // Both ask at once, the wrong one first.
    asker also_right(one);
    wrong.acquire();
    also_right.acquire();
    co_await eventually("it ends", [&] { return wrong.ended(); });
    BOOST_TEST(*wrong.ec == error::wrong_limit);
    co_await wait_in_queue(1);
    BOOST_TEST(!also_right.ended());
    co_await right.got.release();
    co_await eventually("it is in", [&] { return also_right.in(); });
    co_await also_right.got.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(resize_up_lets_in_at_once_who_waits) {
  run([&]() -> awaitable<void> {
    const counting_semaphore lock = co_await semaphore(1);
    const counting_semaphore copy = lock;
    const counting_semaphore old = co_await semaphore(1);
    hold first = co_await lock.acquire();
    std::deque<asker> all;
    for (int i = 0; i < 4; ++i) {
      const counting_semaphore other = co_await semaphore(1);
      all.emplace_back(other).acquire();
      co_await wait_in_queue(i + 1);
    }
    co_await lock.resize(4);
    co_await eventually("three are in", [&] { return all[0].in() && all[1].in() && all[2].in(); });
    BOOST_TEST(!all[3].ended());
    // The object and its copies know the new limit, others do not.
    BOOST_TEST(!(co_await lock.try_acquire()).has_value());
    BOOST_TEST(!(co_await copy.try_acquire()).has_value());
    auto [ec, none] = co_await old.try_acquire(as_tuple);
    BOOST_TEST(ec == error::wrong_limit);
    co_await first.release();
    co_await eventually("the last is in", [&] { return all[3].in(); });
    for (auto& a : all) co_await a.got.release();
    co_await nothing_left();
  });
}

// Who asks while this very object is being resized asks with the old limit, and is not told that it is wrong.
BOOST_AUTO_TEST_CASE(resize_does_not_turn_away_who_asks_at_the_same_time) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    const counting_semaphore lock = co_await semaphore(2);
    hold first = co_await lock.acquire();
    for (const std::uint32_t limit : {5U, 6U, 7U, 8U}) {
      int ended = 0;
      std::vector<error_code> all;
      const auto note = [&](error_code ec) {
        all.push_back(ec);
        ++ended;
      };
      lock.resize(limit, note);
      co_await asio::post(executor, asio::deferred);
      lock.acquire([&](error_code ec, hold) { note(ec); });
      lock.try_acquire([&](error_code ec, std::optional<hold>) { note(ec); });
      acquire_all({}, lock)([&](error_code ec, holds<1>) { note(ec); });
      co_await eventually("all have ended", [&] { return ended == 4; });
      for (const auto ec : all) BOOST_TEST(!ec, ec.message());
    }
    co_await first.release();
    co_await nothing_left();
  });
}

// The same of the one script of acquire_all, which arrives behind the resize.
BOOST_AUTO_TEST_CASE(resize_does_not_turn_away_an_acquire_all_at_the_same_time) {
  run([&]() -> awaitable<void> {
    gate way(redis);
    client c(co_await asio::this_coro::executor, way.url());
    const counting_semaphore lock(c, "n", 2);
    const hold first = co_await lock.acquire();
    way.hold_requests();
    outcome resized;
    lock.resize(5, resized.handler());
    std::optional<error_code> ended;
    acquire_all({}, lock, mutex(c, "m"))([&](error_code ec, holds<2>) { ended = ec; });
    co_await eventually("both are on their way", [&] { return way.kept() == 2; });
    way.pass();
    co_await eventually("it ends", [&] { return ended.has_value(); });
    BOOST_TEST(!*ended, ended->message());
    BOOST_TEST((resized.ec && !*resized.ec));
  });
}

// Operations that are granted at once have found nothing busy, however many they are.
BOOST_AUTO_TEST_CASE(who_is_let_in_at_once_is_not_contended) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    const counting_semaphore lock(c, "n", 10);
    std::deque<asker> all;
    for (int i = 0; i < 10; ++i) all.emplace_back(lock).acquire();
    co_await eventually("all are in",
                        [&] { return std::all_of(all.begin(), all.end(), [](auto& a) { return a.in(); }); });
    BOOST_TEST(c.stats().contended == 0U);
    for (int i = 0; i < 3; ++i) all.emplace_back(lock).acquire();
    co_await eventually("three wait", [&] { return c.stats().contended == 3; });
    for (auto& a : all) {
      co_await eventually("it is in", [&] { return a.in(); });
      co_await a.got.release();
    }
    BOOST_TEST(c.stats().contended == 3U);
    co_await nothing_left();
  });
}

// Those that wait are granted whatever the limit has become: also who stands behind another of his client.
BOOST_AUTO_TEST_CASE(resize_elsewhere_does_not_turn_away_who_waits) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    const counting_semaphore lock = co_await semaphore(1);
    hold first = co_await lock.acquire();
    client c(executor, redis.url());
    std::deque<asker> all;
    for (int i = 0; i < 5; ++i) all.emplace_back(counting_semaphore(c, "n", 1)).acquire();
    co_await wait_in_queue(1);
    co_await eventually("all wait", [&] { return c.stats().waiting == 5; });
    co_await lock.resize(2);
    for (auto& a : all) {
      co_await eventually("the next is in", [&] { return a.ended(); });
      BOOST_TEST(!*a.ec, a.ec->message());
      co_await a.got.release();
    }
    co_await first.release();
    co_await nothing_left();
  });
}

// The entry of a waiter that asks in parallel with its client's entry is new, but the waiter has waited.
BOOST_AUTO_TEST_CASE(a_second_resize_elsewhere_does_not_turn_away_a_waiter_that_asks_in_parallel) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    const counting_semaphore lock = co_await semaphore(4);
    std::deque<hold> holds;
    for (int i = 0; i < 4; ++i) holds.push_back(co_await lock.acquire());
    gate way(redis);
    client c(executor, way.url());
    std::deque<asker> all;
    for (int i = 0; i < 6; ++i) all.emplace_back(counting_semaphore(c, "n", 4)).acquire();
    co_await wait_in_queue(1);
    co_await eventually("all wait", [&] { return c.stats().waiting == 6; });
    way.hold_requests();
    co_await lock.resize(6);
    // The entry's grant is pushed. The next waiter asks with 4, and then with 6.
    while (!all[1].in()) {
      co_await eventually("it asks, or is in", [&] { return way.kept() > 0 || all[1].in(); });
      if (all[1].in()) break;
      way.pass();
      way.hold_requests();
    }
    BOOST_TEST(all[0].in());
    // Its grant lets two ask at once, both with 6, and they arrive after the resize.
    co_await eventually("the next ones ask", [&] { return way.kept() >= 2; });
    BOOST_TEST((co_await lock.inspect()).holders == 6U);
    co_await lock.resize(8);
    way.pass();
    co_await eventually("both have ended", [&] { return all[2].ended() && all[3].ended(); });
    for (auto& a : all) {
      co_await eventually("the next has ended", [&] { return a.ended(); });
      BOOST_TEST(!*a.ec, a.ec->message());
      if (a.in()) co_await a.got.release();
    }
    for (auto& h : holds) co_await h.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(resize_down_takes_nothing_away_and_lets_nobody_in_until_enough_have_gone) {
  run([&]() -> awaitable<void> {
    const counting_semaphore lock = co_await semaphore(4);
    std::deque<hold> holds;
    for (int i = 0; i < 4; ++i) holds.push_back(co_await lock.acquire());
    const counting_semaphore elsewhere = co_await semaphore(4);
    asker next(elsewhere);
    next.acquire();
    co_await wait_in_queue(1);
    co_await lock.resize(2);
    for (auto& h : holds) {
      co_await h.extend(60s);
      BOOST_TEST(h.valid());
    }
    for (int i = 0; i < 2; ++i) {
      co_await holds.back().release();
      holds.pop_back();
      BOOST_TEST((co_await lock.inspect()).holders == holds.size());
      BOOST_TEST(!next.ended());
    }
    co_await holds.back().release();
    co_await eventually("the next is in", [&] { return next.in(); });
    BOOST_TEST(!(co_await lock.try_acquire()).has_value());
    co_await next.got.release();
    co_await holds.front().release();
    co_await nothing_left();
  });
}

// Whoever they asked with: also if all who were in have gone, by release or by the end of their leases.
BOOST_AUTO_TEST_CASE(resize_is_for_those_who_wait_though_nobody_is_in_any_more) {
  run([&]() -> awaitable<void> {
    for (const bool by_waiters : {false, true}) {
      for (const bool expire : {false, true}) {
        const auto executor = co_await asio::this_coro::executor;
        const counting_semaphore lock = co_await semaphore(3);
        client c(executor, redis.url());
        const counting_semaphore theirs(c, "n", 3);
        std::deque<hold> holds;
        const acquire_options brief{.lease = expire ? 2s : 60s, .renew = renewal::none};
        for (int i = 0; i < 3; ++i) holds.push_back(co_await lock.acquire(brief));
        std::deque<asker> all;
        for (int i = 0; i < 6; ++i) all.emplace_back(i % 2 == 0 ? lock : theirs).acquire();
        co_await wait_in_queue(2);
        co_await eventually("all wait", [&] { return c.stats().waiting == 3; });
        const counting_semaphore elsewhere = co_await semaphore(3);
        const counting_semaphore& changed = by_waiters ? theirs : elsewhere;
        co_await changed.resize(1);
        for (auto& h : holds) {
          if (!expire) co_await h.release();
        }
        std::size_t served = 0;
        while (served < all.size()) {
          co_await eventually("somebody is in",
                              [&] { return std::any_of(all.begin(), all.end(), [](asker& a) { return a.in(); }); });
          // Time for others to come in as well.
          co_await pause(30ms);
          BOOST_TEST((co_await lock.inspect()).holders == 1U);
          for (auto& a : all) {
            if (!a.in()) continue;
            ++served;
            co_await a.got.release();
          }
        }
        for (auto& a : all) BOOST_TEST(!*a.ec, a.ec->message());
        holds.clear();
        co_await nothing_left();
      }
    }
  });
}

// The server's clock is far ahead all of a sudden, so the script takes the request for old bytes, and changes nothing.
BOOST_AUTO_TEST_CASE(a_resize_that_the_server_takes_for_a_late_one_is_made_again) {
  run([&]() -> awaitable<void> {
    const counting_semaphore lock = co_await semaphore(1);
    hold h = co_await lock.acquire({.lease = 24h, .renew = renewal::none});
    redis.clock().offset = 1h;
    co_await lock.resize(3);
    const counting_semaphore elsewhere = co_await semaphore(3);
    auto [ec, second] = co_await elsewhere.try_acquire(as_tuple);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(second.has_value());
    BOOST_TEST(h.valid());
  });
}

BOOST_AUTO_TEST_CASE(a_semaphore_that_nobody_holds_has_no_limit) {
  run([&]() -> awaitable<void> {
    const counting_semaphore lock = co_await semaphore(1);
    co_await lock.resize(2);
    BOOST_TEST(redis.size() == 0U);
    hold one = co_await lock.acquire();
    hold two = co_await lock.acquire();
    BOOST_TEST(!(co_await lock.try_acquire()).has_value());
    co_await one.release();
    co_await two.release();
    const counting_semaphore seven = co_await semaphore(7);
    hold other = co_await seven.acquire();
    BOOST_TEST(other.valid());
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
