// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/scripts.hpp"
#include "simulation/with_memory.hpp"
#include "support/kinds.hpp"
#include "support/rarer.hpp"

#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

struct with_shared_mutex : with_kinds_on<with_memory> {
  // Of a client of its own.
  awaitable<shared_mutex> lock(const std::string& owner = {}) {
    co_return shared_mutex(client(co_await asio::this_coro::executor, redis.url()), "n", owner);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(shared_mutexes, with_shared_mutex)

BOOST_AUTO_TEST_CASE(readers_enter_together_and_a_writer_alone) {
  run([&]() -> awaitable<void> {
    const shared_mutex near = co_await lock();
    const shared_mutex far = co_await lock();
    hold one = co_await near.acquire_shared();
    hold two = co_await far.acquire_shared();
    BOOST_TEST(one.fence() == two.fence());
    BOOST_TEST(one.token() != two.token());
    BOOST_TEST(!(co_await near.try_acquire()).has_value());
    auto third = co_await near.try_acquire_shared();
    BOOST_TEST(third.has_value());
    lock_info info = co_await near.inspect();
    BOOST_TEST(info.holders == 3U);
    BOOST_TEST(info.owner.empty());
    co_await one.release();
    co_await two.release();
    BOOST_TEST(!(co_await near.try_acquire()).has_value());
    co_await third->release();
    hold writer = co_await near.acquire();
    BOOST_TEST(writer.fence() > two.fence());
    BOOST_TEST(!(co_await far.try_acquire()).has_value());
    BOOST_TEST(!(co_await far.try_acquire_shared()).has_value());
    BOOST_TEST(!(co_await near.try_acquire_shared()).has_value());
    co_await writer.release();
    const shared_mutex mine = co_await lock("request 7");
    hold owned = co_await mine.acquire();
    info = co_await near.inspect();
    BOOST_TEST(info.owner == "request 7");
    // A writer does not enter again.
    BOOST_TEST(!(co_await mine.try_acquire()).has_value());
    BOOST_TEST(!(co_await mine.try_acquire_shared()).has_value());
    co_await owned.release();
    BOOST_TEST(redis.size() == 0U);
  });
}

// One entry in Redis stands for all of them: a writer who came after it must not part them.
BOOST_AUTO_TEST_CASE(readers_of_one_client_who_waited_enter_together_before_the_next_writer) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    const shared_mutex near = co_await lock();
    const shared_mutex far = co_await lock();
    const shared_mutex third = co_await lock();
    std::vector<hold> readers;
    std::optional<hold> writer, late;
    const auto read = [&]() -> awaitable<void> { readers.push_back(co_await near.acquire_shared()); };
    const auto write = [&]() -> awaitable<void> { writer = co_await third.acquire(); };
    const auto read_late = [&]() -> awaitable<void> { late = co_await near.acquire_shared(); };
    const auto in_queue = [&] { return redis.command("ZCARD", "leasehold:{0}:queue:n").integer; };
    hold first = co_await far.acquire();
    for (int i = 0; i < 50; ++i) asio::co_spawn(executor, read, asio::detached);
    co_await eventually("the readers are one entry", [&] { return in_queue() == 1; });
    asio::co_spawn(executor, write, asio::detached);
    co_await eventually("the writer waits behind", [&] { return in_queue() == 2; });
    co_await first.release();
    // Nobody of them releases his hold before all are in.
    co_await eventually("all readers are in", [&] { return readers.size() == 50; });
    for (const hold& h : readers) BOOST_TEST(h.fence() == readers.front().fence());
    BOOST_TEST(!writer.has_value());
    // Who comes now is behind the writer.
    asio::co_spawn(executor, read_late, asio::detached);
    co_await eventually("he waits", [&] { return in_queue() == 2; });
    BOOST_TEST(!late.has_value());
    readers.clear();
    co_await eventually("the writer is in", [&] { return writer.has_value(); });
    BOOST_TEST(!late.has_value());
    co_await writer->release();
    co_await eventually("and then he", [&] { return late.has_value(); });
  });
}

BOOST_AUTO_TEST_CASE(readers_and_writers_enter_in_the_order_of_the_queue) {
  run([&]() -> awaitable<void> {
    const shared_mutex first = co_await lock();
    hold h = co_await first.acquire();
    // Readers one behind another enter together.
    const std::string order = "rrwrrrwwr";
    std::deque<asker> all;
    for (const char who : order) {
      const shared_mutex l = co_await lock();
      who == 'w' ? all.emplace_back(l).acquire() : all.emplace_back(l.shared()).acquire();
      co_await wait_in_queue(static_cast<std::int64_t>(all.size()));
    }
    std::uint64_t fence = h.fence();
    co_await h.release();
    std::size_t begin = 0;
    for (const std::size_t end : {2U, 3U, 6U, 7U, 8U, 9U}) {
      for (std::size_t i = begin; i < end; ++i) {
        co_await eventually("the next are in", [&] { return all[i].in(); });
        BOOST_TEST(all[i].got.fence() == all[begin].got.fence());
      }
      BOOST_TEST(all[begin].got.fence() > fence);
      fence = all[begin].got.fence();
      for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t k = end; k < all.size(); ++k) BOOST_TEST(!all[k].ended());
        co_await all[i].got.release();
      }
      begin = end;
    }
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(many_readers_of_one_client_enter_at_once_and_behind_a_writer_are_one_entry) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    shared_mutex lock(c, "n");
    std::vector<hold> in;
    const auto read = [&]() -> awaitable<void> {
      hold h = co_await lock.acquire_shared();
      in.push_back(std::move(h));
    };
    for (int i = 0; i < 1000; ++i) asio::co_spawn(executor, read, asio::detached);
    co_await eventually("all are in", [&] { return in.size() == 1000; });
    BOOST_TEST((co_await lock.inspect()).holders == 1000U);
    for (auto& h : in) BOOST_TEST(h.fence() == in.front().fence());
    in.clear();
    hold writer = co_await lock.acquire();
    BOOST_TEST(writer.valid());
    for (int i = 0; i < 1000; ++i) asio::co_spawn(executor, read, asio::detached);
    co_await eventually("they wait", [&] { return c.stats().waiting == 1000; });
    co_await wait_in_queue(1);
    co_await writer.release();
    co_await eventually("all are in again", [&] { return in.size() == 1000; });
    in.clear();
    co_await c.close();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(a_reader_has_a_lease_of_its_own) {
  run([&]() -> awaitable<void> {
    const shared_mutex l = co_await lock();
    asker brief(l.shared());
    const shared_mutex elsewhere = co_await lock();
    asker lasting(elsewhere.shared());
    co_await acquired(brief, {.lease = 400ms, .renew = renewal::none});
    co_await acquired(lasting, {.lease = 60s, .renew = renewal::none});
    brief.watch();
    const shared_mutex other = co_await lock();
    asker writer(other);
    writer.acquire();
    co_await wait_in_queue(1);
    co_await eventually("the short one is lost", [&] { return brief.lost.ended(); });
    BOOST_TEST(lasting.got.valid());
    std::optional<lock_info> info;
    do {
      co_await pause(10ms);
      info = co_await l.inspect();
    } while (info->holders == 2);
    BOOST_TEST(info->token == lasting.got.token());
    auto [ec] = co_await brief.got.release(as_tuple);
    BOOST_TEST(ec == error::lost);
    auto [extended] = co_await brief.got.extend(60s, as_tuple);
    BOOST_TEST(extended == error::not_held);
    BOOST_TEST((co_await l.inspect()).holders == 1U);
    BOOST_TEST(!writer.ended());
    co_await lasting.got.release();
    co_await eventually("the writer is in", [&] { return writer.in(); });
    co_await writer.got.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_reader_that_is_killed_frees_only_itself) {
  run([&]() -> awaitable<void> {
    const shared_mutex l = co_await lock();
    hold mine = co_await l.acquire_shared();
    other_program reader(redis);
    const hold* const its = co_await reader.keep(shared_mutex(reader.client(), "n").shared(), {.lease = 1500ms});
    BOOST_TEST(its->token() != mine.token());
    BOOST_TEST((co_await l.inspect()).holders == 2U);
    const shared_mutex other = co_await lock();
    asker writer(other);
    writer.acquire();
    co_await wait_in_queue(1);
    reader.die();
    std::optional<lock_info> info;
    do {
      co_await pause(10ms);
      info = co_await l.inspect();
    } while (info->holders == 2);
    BOOST_TEST(info->token == mine.token());
    BOOST_TEST(mine.valid());
    BOOST_TEST(!writer.ended());
    co_await mine.release();
    co_await eventually("the writer is in", [&] { return writer.in(); });
    co_await writer.got.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_writer_behind_a_dead_reader_gets_in_when_its_lease_has_ended) {
  run([&]() -> awaitable<void> {
    other_program reader(redis);
    co_await reader.keep(shared_mutex(reader.client(), "n").shared(), {.lease = 1s});
    const shared_mutex other = co_await lock();
    asker writer(other);
    writer.acquire();
    co_await wait_in_queue(1);
    reader.die();
    co_await eventually("the writer is in", [&] { return writer.in(); });
    BOOST_TEST((co_await inspected(writer.lock)).holders == 1U);
    co_await writer.got.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_reader_of_an_owner_who_reads_enters_past_a_waiting_writer) {
  run([&]() -> awaitable<void> {
    const shared_mutex mine = co_await lock("me");
    const shared_mutex mine_elsewhere = co_await lock("me");
    const shared_mutex somebodys = co_await lock("somebody");
    const shared_mutex nobodys = co_await lock();
    hold one = co_await mine.acquire_shared();
    hold nameless = co_await nobodys.acquire_shared();
    const shared_mutex other = co_await lock();
    asker writer(other);
    writer.acquire();
    co_await wait_in_queue(1);
    hold two = co_await mine_elsewhere.acquire_shared();
    auto three = co_await mine.try_acquire_shared();
    BOOST_TEST(three.has_value());
    BOOST_TEST(two.fence() == one.fence());
    BOOST_TEST(two.depth() == 1U);
    BOOST_TEST(!(co_await somebodys.try_acquire_shared()).has_value());
    BOOST_TEST(!(co_await nobodys.try_acquire_shared()).has_value());
    co_await one.release();
    co_await three->release();
    co_await nameless.release();
    BOOST_TEST(!writer.ended());
    hold four = co_await mine.acquire_shared();
    co_await two.release();
    co_await four.release();
    co_await eventually("the writer is in", [&] { return writer.in(); });
    BOOST_TEST(!(co_await mine.try_acquire_shared()).has_value());
    co_await writer.got.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(the_readers_behind_a_writer_enter_when_it_gives_up) {
  for (const bool cancelled : {true, false}) {
    BOOST_TEST_CONTEXT((cancelled ? "cancelled" : "timed out")) {
      run([&]() -> awaitable<void> {
        const shared_mutex l = co_await lock();
        hold h = co_await l.acquire_shared();
        const shared_mutex other = co_await lock();
        asker writer(other);
        writer.acquire({.wait = cancelled ? forever : std::chrono::milliseconds(1500)});
        co_await wait_in_queue(1);
        std::deque<asker> readers;
        for (int i = 0; i < 3; ++i) {
          const shared_mutex another = co_await lock();
          readers.emplace_back(another.shared()).acquire();
          co_await eventually("it waits in the queue", [&] { return in_queue() == i + 2; });
        }
        if (cancelled) writer.signal.emit(asio::cancellation_type::total);
        co_await eventually("the writer ends", [&] { return writer.ended(); });
        BOOST_TEST(*writer.ec == (cancelled ? asio::error::operation_aborted : make_error_code(error::timed_out)));
        for (auto& r : readers) {
          co_await eventually("the reader is in", [&] { return r.in(); });
          BOOST_TEST(r.got.fence() == h.fence());
        }
        co_await h.release();
        for (auto& r : readers) co_await r.got.release();
        co_await nothing_left();
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(downgrade_lets_readers_in_and_no_writer) {
  run([&]() -> awaitable<void> {
    const shared_mutex l = co_await lock("me");
    hold h = co_await l.acquire({.lease = 60s, .renew = renewal::none});
    const auto fence = h.fence();
    const auto token = h.token();
    const auto end = h.expires_at();
    std::deque<asker> all;
    for (const char who : std::string("rrwr")) {
      const shared_mutex other = co_await lock();
      who == 'w' ? all.emplace_back(other).acquire() : all.emplace_back(other.shared()).acquire();
      co_await wait_in_queue(static_cast<std::int64_t>(all.size()));
    }
    co_await h.downgrade();
    BOOST_TEST(h.valid());
    BOOST_TEST(h.fence() > fence);
    BOOST_TEST(h.token() == token);
    BOOST_TEST(h.expires_at() >= end - 1ms);
    co_await eventually("the readers in front are in", [&] { return all[0].in() && all[1].in(); });
    BOOST_TEST(all[0].got.fence() == h.fence());
    BOOST_TEST(!all[2].ended());
    BOOST_TEST(!all[3].ended());
    // It is a reader now: its owner may read again, past the writer.
    auto again = co_await l.try_acquire_shared();
    BOOST_TEST(again.has_value());
    co_await again->release();
    co_await h.extend(120s);
    BOOST_TEST(h.expires_at() > end + 30s);
    auto [twice] = co_await h.downgrade(as_tuple);
    BOOST_TEST(twice == error::not_supported);
    co_await all[0].got.release();
    co_await all[1].got.release();
    BOOST_TEST(!all[2].ended());
    co_await h.release();
    co_await eventually("the writer is in", [&] { return all[2].in(); });
    BOOST_TEST(all[2].got.fence() > h.fence());
    BOOST_TEST(!all[3].ended());
    co_await all[2].got.release();
    co_await eventually("the last is in", [&] { return all[3].in(); });
    co_await all[3].got.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_writer_in_front_of_the_queue_does_not_get_in_between) {
  run([&]() -> awaitable<void> {
    const shared_mutex l = co_await lock();
    hold h = co_await l.acquire();
    const shared_mutex other = co_await lock();
    asker writer(other);
    writer.acquire();
    co_await wait_in_queue(1);
    co_await h.downgrade();
    const lock_info info = co_await l.inspect();
    BOOST_TEST(info.token == h.token());
    BOOST_TEST(info.holders == 1U);
    BOOST_TEST(!(co_await l.try_acquire_shared()).has_value());
    BOOST_TEST(!writer.ended());
    co_await h.release();
    co_await eventually("the writer is in", [&] { return writer.in(); });
    co_await writer.got.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(downgrade_of_what_is_lost_says_so) {
  run([&]() -> awaitable<void> {
    const shared_mutex l = co_await lock();
    asker a(l);
    co_await acquired(a);
    a.watch();
    redis.command("DEL", "n");
    auto [ec] = co_await a.got.downgrade(as_tuple);
    BOOST_TEST(ec == error::lost);
    co_await eventually("the loss is reported", [&] { return a.lost.ended(); });
    BOOST_TEST(redis.size() == 0U);
    co_await acquired(a, {.lease = 200ms, .renew = renewal::none});
    co_await eventually("it ends", [&] { return !a.got.valid(); });
    auto [late] = co_await a.got.downgrade(as_tuple);
    BOOST_TEST(late == error::lost);
    co_await nothing_left();
    co_await acquired(a);
    co_await a.got.release();
    auto [gone] = co_await a.got.downgrade(as_tuple);
    BOOST_TEST(gone == error::not_held);
  });
}

// A downgraded hold is renewed, keeps out writers for as long, and is released as what it is.
BOOST_AUTO_TEST_CASE(a_downgraded_hold_lives_on) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    shared_mutex l(c, "n");
    asker a(l);
    co_await acquired(a, {.lease = 600ms});
    a.watch();
    // One of its own client would take a writer's hold over.
    asker next(l);
    next.acquire();
    co_await wait_in_queue(1);
    co_await a.got.downgrade();
    const auto renewed = c.stats().renewed;
    co_await eventually("it is renewed", [&] { return c.stats().renewed >= renewed + 5; });
    BOOST_TEST(a.got.valid());
    BOOST_TEST(!a.lost.ended());
    BOOST_TEST(!next.ended());
    co_await a.got.release();
    co_await eventually("the next is in", [&] { return next.in(); });
    BOOST_TEST(next.got.token() != a.got.token());
    BOOST_TEST(next.got.fence() > a.got.fence());
    co_await next.got.release();
    co_await nothing_left();
  });
}

// The request for it was delayed on a connection that is gone.
BOOST_AUTO_TEST_CASE(a_further_fence_for_a_cohort_that_is_asked_for_late_harms_no_reader) {
  run([&]() -> awaitable<void> {
    const shared_mutex l = co_await lock();
    hold h = co_await l.acquire();
    co_await h.downgrade();
    hold beside = co_await l.acquire_shared();
    const auto late =
        redis.command("EVAL", std::string(detail::scripts::shared_mutex.text), "4", "n", "leasehold:{0}:fence",
                      the_queue, "leasehold:{0}:entries:n", "refresh", h.token(), "30000", "w", "9007199254740991");
    BOOST_TEST(late.text.starts_with("2 "), late.text);
    co_await h.extend(60s);
    BOOST_TEST(h.valid());
    hold another = co_await l.acquire_shared();
    BOOST_TEST(another.fence() == h.fence());
    BOOST_TEST(beside.fence() == h.fence());
  });
}

// A cohort has been given a further fence ahead of time when its writer asks to become a reader, and is not answered.
BOOST_AUTO_TEST_CASE(a_writer_of_a_cohort_whose_downgrade_did_not_happen_is_still_a_writer) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options o;
    o.cohort = 1s;
    o.command_timeout = 300ms;
    o.reconnect = {.first = 1ms, .max = 5ms, .factor = 2.0, .jitter = 0.5};
    gate network(redis);
    client c(executor, network.url(), o);
    shared_mutex l(c, "n");
    asker one(l);
    asker two(l);
    do {
      one.got = hold();
      two.got = hold();
      co_await acquired(one, {.lease = 3s});
      two.acquire({.lease = 3s});
      co_await wait_in_queue(1);
      // More than half of the cohort's time: with the pass the next fence is asked for.
      co_await pause(600ms);
      co_await one.got.release();
      co_await eventually("it is in", [&] { return two.in(); });
    } while (c.stats().passed == 0);
    co_await eventually("the next fence is there", [&] {
      const std::string text = redis.command("HGET", "n", "leasehold:" + two.got.token()).text;
      return std::stoull(text.substr(text.find(' '))) > two.got.fence();
    });
    const auto fence = two.got.fence();
    network.refuse();
    network.cut();
    auto [unknown] = co_await two.got.downgrade(as_tuple);
    BOOST_TEST(unknown == error::unreachable);
    network.refuse(false);
    const auto renewed = c.stats().renewed;
    co_await eventually("it is renewed", [&] { return c.stats().renewed > renewed + 1; });
    BOOST_TEST(two.got.valid());
    BOOST_TEST(two.got.fence() == fence);
    auto [again] = co_await two.got.downgrade(as_tuple);
    BOOST_TEST(!again, again.message());
    BOOST_TEST(two.got.valid());
    auto reader = co_await l.try_acquire_shared();
    BOOST_REQUIRE(reader.has_value());
    BOOST_TEST(reader->fence() == two.got.fence());
  });
}

// Fifty readers come and go, and there is no instant without one.
BOOST_AUTO_TEST_CASE(a_writer_is_not_starved_by_readers) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    std::mt19937_64 engine(7);
    const auto end = now() + 5s;
    int readers = 0;
    int writers = 0;
    int ended = 0;
    std::uint64_t entered = 0;
    const auto read = [&](shared_mutex l) -> awaitable<void> {
      while (now() < end) {
        hold h = co_await l.acquire_shared();
        ++entered;
        ++readers;
        BOOST_TEST(writers == 0);
        co_await pause(std::chrono::milliseconds(10 + engine() % 40));
        --readers;
        co_await h.release();
      }
      ++ended;
    };
    for (int i = 0; i < 10; ++i) {
      const shared_mutex l = co_await lock();
      for (int k = 0; k < 5; ++k) asio::co_spawn(executor, read(l), asio::detached);
    }
    co_await eventually("they read", [&] { return entered > 100; });
    const shared_mutex l = co_await lock();
    int written = 0;
    while (now() < end) {
      // In the queue: a reader from now on was granted before, or stands behind.
      const auto before = entered;
      hold h = co_await l.acquire();
      ++writers;
      BOOST_TEST(readers == 0);
      ++written;
      // Each of the fifty may have entered before it waited in the queue, and been on its way.
      BOOST_TEST(entered - before <= 50U);
      co_await pause(2ms);
      --writers;
      co_await h.release();
    }
    BOOST_TEST(written > 3);
    co_await eventually("all have ended", [&] { return ended == 50; });
    co_await nothing_left();
  });
}

// Writers of one client, who pass the lock on among themselves, and readers of others.
BOOST_AUTO_TEST_CASE(readers_are_not_starved_by_a_cohort_of_writers) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    const auto end = now() + 2500ms;
    client c(executor, redis.url());
    shared_mutex l(c, "n");
    int ended = 0;
    int writers = 0;
    int readers = 0;
    std::uint64_t fence = 0;
    std::uint64_t written = 0;
    const auto write = [&]() -> awaitable<void> {
      while (now() < end) {
        hold h = co_await l.acquire();
        BOOST_TEST(++writers == 1);
        BOOST_TEST(readers == 0);
        BOOST_TEST(h.fence() > fence);
        fence = h.fence();
        ++written;
        // A grant that was pushed is passed on once it is confirmed.
        co_await pause(5ms);
        --writers;
        co_await h.release();
      }
      ++ended;
    };
    int reads = 0;
    const auto read = [&](shared_mutex other) -> awaitable<void> {
      while (now() < end) {
        hold h = co_await other.acquire_shared();
        ++readers;
        BOOST_TEST(writers == 0);
        BOOST_TEST(h.fence() >= fence);
        fence = h.fence();
        ++reads;
        co_await pause(500us);
        --readers;
        co_await h.release();
      }
      ++ended;
    };
    for (int i = 0; i < 20; ++i) asio::co_spawn(executor, write, asio::detached);
    for (int i = 0; i < 4; ++i) {
      const shared_mutex other = co_await lock();
      asio::co_spawn(executor, read(other), asio::detached);
    }
    co_await eventually("all have ended", [&] { return ended == 24; });
    BOOST_TEST(reads > 20);
    BOOST_TEST(written > 100U);
    BOOST_TEST(c.stats().passed > 0U);
    co_await nothing_left();
  });
}

// Never a writer beside anybody, whoever comes, goes, downgrades or gives up.
BOOST_AUTO_TEST_CASE(readers_and_writers_exclude_each_other_under_random_load) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        std::mt19937_64 engine(seed);
        int readers = 0;
        int writers = 0;
        int ended = 0;
        std::uint64_t fence = 0;
        const auto use = [&](shared_mutex l) -> awaitable<void> {
          for (unsigned i = 0; i < 60 / rarer; ++i) {
            const bool write = engine() % 3 == 0;
            const auto wait = engine() % 4 == 0 ? std::chrono::milliseconds(engine() % 20) : forever;
            asker a(l);
            asker r(l.shared());
            asker& one = write ? a : r;
            one.acquire({.wait = wait});
            co_await eventually("it ends", [&] { return one.ended(); });
            if (*one.ec) {
              BOOST_TEST((*one.ec == error::timed_out || *one.ec == error::unreachable), one.ec->message());
              continue;
            }
            BOOST_TEST(writers == 0);
            BOOST_TEST((!write || readers == 0));
            BOOST_TEST((write ? one.got.fence() > fence : one.got.fence() >= fence));
            fence = one.got.fence();
            ++(write ? writers : readers);
            co_await pause(std::chrono::microseconds(engine() % 5000));
            if (write && engine() % 2 == 0) {
              // From now on others may read.
              --writers;
              ++readers;
              co_await one.got.downgrade();
              BOOST_TEST(writers == 0);
              BOOST_TEST(one.got.fence() >= fence);
              fence = one.got.fence();
              co_await pause(std::chrono::microseconds(engine() % 5000));
              --readers;
            } else {
              --(write ? writers : readers);
            }
            auto [ec] = co_await one.got.release(as_tuple);
            BOOST_TEST(!ec, ec.message());
          }
          ++ended;
        };
        for (int c = 0; c < 4; ++c) {
          const shared_mutex l = co_await lock();
          for (int i = 0; i < 5; ++i) asio::co_spawn(executor, use(l), asio::detached);
        }
        co_await eventually("all have ended", [&] { return ended == 20; });
        co_await nothing_left();
      });
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
