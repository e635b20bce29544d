// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/with_memory.hpp"
#include "support/kinds.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

struct with_recursive_mutex : with_kinds_on<with_memory> {
  // A program enters and stays.
  static awaitable<const hold*> enter(other_program& p, std::string owner, std::chrono::milliseconds lease) {
    return p.keep(recursive_mutex(p.client(), "n", std::move(owner)), {.lease = lease});
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(recursive_mutexes, with_recursive_mutex)

BOOST_AUTO_TEST_CASE(an_owner_enters_again_and_the_last_release_frees) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client here(executor, redis.url());
    client there(executor, redis.url());
    recursive_mutex a(here, "n", "request 7");
    recursive_mutex b(there, "n", "request 7");
    recursive_mutex other(there, "n", "request 8");
    hold one = co_await a.acquire();
    hold two = co_await b.acquire();
    hold three = co_await a.acquire();
    BOOST_TEST(one.depth() == 1U);
    BOOST_TEST(two.depth() == 2U);
    BOOST_TEST(three.depth() == 3U);
    BOOST_TEST(one.fence() == two.fence());
    BOOST_TEST(one.token() != two.token());
    BOOST_TEST(!(co_await other.try_acquire()).has_value());
    const lock_info info = co_await other.inspect();
    BOOST_TEST(info.holders == 3U);
    BOOST_TEST(info.owner == "request 7");
    asker next(other);
    next.acquire();
    co_await wait_in_queue(1);
    // Past who waits.
    hold four = co_await b.acquire();
    BOOST_TEST(four.depth() == 4U);
    auto five = co_await a.try_acquire();
    BOOST_TEST(five.has_value());
    co_await five->release();
    co_await one.release();
    co_await four.release();
    co_await three.release();
    BOOST_TEST(!next.ended());
    co_await two.release();
    co_await eventually("the other is in", [&] { return next.in(); });
    BOOST_TEST(next.got.fence() > one.fence());
    BOOST_TEST(next.got.depth() == 1U);
    co_await next.got.release();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(releases_in_any_order_free_with_the_last) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client here(executor, redis.url());
    client there(executor, redis.url());
    recursive_mutex rival(there, "n", "the other");
    std::array<std::size_t, 4> order{0, 1, 2, 3};
    do {
      std::deque<hold> holds;
      for (std::size_t i = 0; i < order.size(); ++i) {
        holds.push_back(co_await recursive_mutex(i % 2 == 0 ? here : there, "n", "me").acquire());
        BOOST_TEST(holds.back().depth() == i + 1);
      }
      for (std::size_t i = 0; i < order.size(); ++i) {
        const lock_info info = co_await rival.inspect();
        BOOST_TEST(info.holders == order.size() - i);
        BOOST_TEST(!(co_await rival.try_acquire()).has_value());
        co_await holds[order[i]].release();
      }
      BOOST_TEST(redis.size() == 0U);
    } while (std::next_permutation(order.begin(), order.end()));
  });
}

BOOST_AUTO_TEST_CASE(many_coroutines_of_an_owner_are_in_at_once) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    recursive_mutex lock(c, "n", "me");
    std::vector<hold> in;
    std::vector<std::size_t> depths;
    const auto one = [&]() -> awaitable<void> {
      hold h = co_await lock.acquire();
      depths.push_back(h.depth());
      in.push_back(std::move(h));
    };
    for (int i = 0; i < 500; ++i) asio::co_spawn(executor, one, asio::detached);
    co_await eventually("all are in", [&] { return in.size() == 500; });
    for (const auto& h : in) BOOST_TEST(h.fence() == in.front().fence());
    // Each was the first to reach its depth.
    std::sort(depths.begin(), depths.end());
    for (std::size_t i = 0; i < depths.size(); ++i) BOOST_TEST(depths[i] == i + 1);
    asker other(recursive_mutex(client(executor, redis.url()), "n", "other"));
    other.acquire();
    co_await wait_in_queue(1);
    for (std::size_t i = 1; i < in.size(); ++i) co_await in[i].release();
    BOOST_TEST(!other.ended());
    co_await in[0].release();
    co_await eventually("the other is in", [&] { return other.in(); });
    co_await other.got.release();
    co_await nothing_left();
  });
}

// A8: the key lives as long as the longest entry; each entry as long as its own lease.
BOOST_AUTO_TEST_CASE(the_lock_lasts_as_long_as_the_longest_entry) {
  for (const bool short_one_first : {true, false}) {
    BOOST_TEST_CONTEXT((short_one_first ? "the short one first" : "the long one first")) {
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client c(executor, redis.url());
        recursive_mutex lock(c, "n", "me");
        recursive_mutex rival(c, "n", "other");
        asker brief(lock);
        asker lasting(lock);
        if (short_one_first) co_await acquired(brief, {.lease = 400ms, .renew = renewal::none});
        co_await acquired(lasting, {.lease = 60s, .renew = renewal::none});
        if (!short_one_first) co_await acquired(brief, {.lease = 400ms, .renew = renewal::none});
        BOOST_TEST(redis.ttl("n") > 50000);
        brief.watch();
        co_await eventually("the short one is lost", [&] { return brief.lost.ended(); });
        BOOST_TEST(lasting.got.valid());
        std::optional<lock_info> info;
        co_await pause(20ms);  // The local deadline is before the server's.
        do {
          info = co_await lock.inspect();
        } while (info->holders == 2);
        BOOST_TEST(info->holders == 1U);
        BOOST_TEST(info->token == lasting.got.token());
        BOOST_TEST(redis.ttl("n") > 50000);
        BOOST_TEST(!(co_await rival.try_acquire()).has_value());
        auto [ec] = co_await brief.got.release(as_tuple);
        BOOST_TEST(ec == error::lost);
        BOOST_TEST((co_await lock.inspect()).holders == 1U);
        // The next entry is the second, not the third.
        hold again = co_await lock.acquire();
        BOOST_TEST(again.depth() == 2U);
        co_await again.release();
        co_await lasting.got.release();
        BOOST_TEST(redis.size() == 0U);
      });
    }
  }
}

// When the longest entry goes, the key ends with the longest of those that stay.
BOOST_AUTO_TEST_CASE(the_longest_entry_takes_its_lease_along) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    recursive_mutex lock(c, "n", "me");
    hold brief = co_await lock.acquire({.lease = 10s, .renew = renewal::none});
    hold lasting = co_await lock.acquire({.lease = 600s, .renew = renewal::none});
    BOOST_TEST(redis.ttl("n") > 500000);
    co_await lasting.release();
    BOOST_TEST(redis.ttl("n") <= 10000);
    BOOST_TEST(brief.valid());
  });
}

BOOST_AUTO_TEST_CASE(other_processes_enter_as_the_same_owner) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    other_program one(redis), two(redis);
    const hold* const first = co_await enter(one, "me", 30s);
    const hold* const second = co_await enter(two, "me", 30s);
    hold third = co_await recursive_mutex(client(executor, redis.url()), "n", "me").acquire();
    BOOST_TEST(first->depth() == 1U);
    BOOST_TEST(second->depth() == 2U);
    BOOST_TEST(first->fence() == third.fence());
    BOOST_TEST(second->fence() == third.fence());
    BOOST_TEST(third.depth() == 3U);
    BOOST_TEST(!(co_await recursive_mutex(client(executor, redis.url()), "n", "other").try_acquire()).has_value());
  });
}

// A process that dies frees its own entry when its own lease has ended, and nobody else's.
BOOST_AUTO_TEST_CASE(the_entry_of_a_process_that_dies_ends_with_its_own_lease) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    recursive_mutex lock(client(executor, redis.url()), "n", "me");
    hold mine = co_await lock.acquire({.lease = 60s});
    other_program another(redis);
    const hold* const its = co_await enter(another, "me", 1500ms);
    BOOST_TEST(its->depth() == 2U);
    asker other(recursive_mutex(client(executor, redis.url()), "n", "other"));
    other.acquire();
    co_await wait_in_queue(1);
    another.die();
    std::optional<lock_info> info;
    do {
      co_await pause(10ms);
      info = co_await lock.inspect();
    } while (info->holders == 2);
    BOOST_TEST(info->holders == 1U);
    BOOST_TEST(info->token == mine.token());
    BOOST_TEST(!other.ended());
    BOOST_TEST(mine.valid());
    // Nothing of the dead one keeps the lock.
    co_await mine.release();
    co_await eventually("the other is in", [&] { return other.in(); });
    BOOST_TEST(other.got.fence() > mine.fence());
    co_await other.got.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(an_owner_of_whom_only_the_dead_are_in_goes_out_with_the_last_lease) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    other_program one(redis), two(redis);
    co_await enter(one, "me", 700ms);
    co_await enter(two, "me", 1500ms);
    asker other(recursive_mutex(client(executor, redis.url()), "n", "other"));
    other.acquire();
    co_await wait_in_queue(1);
    one.die();
    two.die();
    co_await eventually("the other is in", [&] { return other.in(); });
    BOOST_TEST(other.got.depth() == 1U);
    co_await other.got.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(owners_are_checked_and_may_be_any_bytes) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    for (const std::string& bad :
         {std::string(), std::string("leasehold"), std::string("leasehold:x"), std::string(65537, 'x')}) {
      auto [ec, none] = co_await recursive_mutex(c, "n", bad).acquire(as_tuple);
      BOOST_TEST(ec == error::invalid_name);
      auto [ec2, none2] = co_await recursive_mutex(c, "n", bad).try_acquire(as_tuple);
      BOOST_TEST(ec2 == error::invalid_name);
    }
    BOOST_TEST(c.stats().commands == 0U);
    const std::string all_bytes = [] {
      std::string s;
      for (int i = 0; i < 256; ++i) s += static_cast<char>(i);
      return s;
    }();
    for (const std::string& owner :
         {std::string(65536, 'x'), all_bytes, std::string(" "), std::string("7"), std::string("leasehold-worker"),
          std::string(" a  b "), std::string("\0", 1), std::string("\n")}) {
      BOOST_TEST_CONTEXT("an owner of " << owner.size() << " bytes") {
        recursive_mutex lock(c, "n", owner);
        hold one = co_await lock.acquire();
        hold two = co_await lock.acquire();
        BOOST_TEST(two.depth() == 2U);
        BOOST_TEST(((co_await lock.inspect()).owner == owner));
        BOOST_TEST(!(co_await recursive_mutex(c, "n", owner.substr(0, 65535) + "z").try_acquire()).has_value());
        // Through the queue as well.
        asker next(recursive_mutex(client(executor, redis.url()), "n", owner.substr(0, 65535) + "y"));
        next.acquire();
        co_await wait_in_queue(1);
        co_await one.release();
        co_await two.release();
        co_await eventually("the next is in", [&] { return next.in(); });
        co_await next.got.release();
        co_await nothing_left();
      }
    }
  });
}

// Entries of one owner that stand one behind another in the queue are granted together.
BOOST_AUTO_TEST_CASE(an_owner_who_waits_in_several_places_is_let_in_in_all_of_them) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    asker first(recursive_mutex(client(executor, redis.url()), "n", "first"));
    co_await acquired(first);
    std::deque<asker> all;
    for (const char* owner : {"me", "me", "other", "me"}) {
      all.emplace_back(recursive_mutex(client(executor, redis.url()), "n", owner)).acquire();
      co_await wait_in_queue(static_cast<std::int64_t>(all.size()));
    }
    co_await first.got.release();
    co_await eventually("the first two are in", [&] { return all[0].in() && all[1].in(); });
    BOOST_TEST(all[0].got.fence() == all[1].got.fence());
    // He does not wait for who waits for him: at its next poll it is in.
    co_await eventually("and the last", [&] { return all[3].in(); });
    BOOST_TEST(!all[2].ended());
    for (const std::size_t i : {0U, 1U, 3U}) co_await all[i].got.release();
    co_await eventually("the other is in", [&] { return all[2].in(); });
    co_await all[2].got.release();
    co_await nothing_left();
  });
}

// The names and the owners make the same text, one behind the other.
BOOST_AUTO_TEST_CASE(waiters_for_two_locks_stand_in_two_queues_whatever_their_owners_are) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url()), other(executor, redis.url());
    hold first = co_await recursive_mutex(other, "a", "x").acquire();
    hold second = co_await recursive_mutex(other, "ab", "x").acquire();
    asker one(recursive_mutex(c, "a", "bc")), two(recursive_mutex(c, "ab", "c"));
    one.acquire();
    two.acquire();
    for (const char* queue : {"leasehold:{0}:queue:a", "leasehold:{0}:queue:ab"}) {
      co_await eventually("it waits in the queue", [&] { return redis.command("EXISTS", queue).integer == 1; });
    }
    co_await second.release();
    co_await eventually("the second is in", [&] { return two.in(); });
    BOOST_TEST(two.got.name() == "ab");
    BOOST_TEST(!one.ended());
    co_await first.release();
    co_await eventually("the first is in", [&] { return one.in(); });
    BOOST_TEST(one.got.name() == "a");
  });
}

// What other programs' reentrant scripts have counted stays theirs.
BOOST_AUTO_TEST_CASE(an_entry_of_another_program_counts_and_is_left_alone) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    redis.command("HSET", "n", "me", "2");
    redis.command("PEXPIRE", "n", "60000");
    hold mine = co_await recursive_mutex(c, "n", "me").acquire({.lease = 5s});
    BOOST_TEST(mine.depth() == 3U);
    BOOST_TEST(redis.ttl("n") > 50000);
    BOOST_TEST(!(co_await recursive_mutex(c, "n", "other").try_acquire()).has_value());
    co_await mine.release();
    BOOST_TEST(redis.command("HGET", "n", "me").text == "2");
    BOOST_TEST(redis.ttl("n") > 50000);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
