// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// What the kinds of locks do through the public interface.
#include "support/run.hpp"
#include "support/unit_test.hpp"
#include "support/with_redis.hpp"

#include <leasehold/leasehold.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace leasehold::test {

using asio::awaitable;
using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_SUITE(kinds, with_redis)

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
    std::optional<hold> next;
    const auto wait = [&]() -> awaitable<void> { next = co_await other.acquire(); };
    asio::co_spawn(executor, wait, asio::detached);
    co_await eventually("the other waits", [&] { return redis.command("ZCARD", "leasehold:{0}:line:n").integer == 1; });
    // Past who waits.
    hold four = co_await b.acquire();
    BOOST_TEST(four.depth() == 4U);
    co_await one.release();
    co_await four.release();
    co_await three.release();
    BOOST_TEST(!next.has_value());
    co_await two.release();
    co_await eventually("the other is in", [&] { return next.has_value(); });
    BOOST_TEST(next->fence() > one.fence());
    BOOST_TEST(next->depth() == 1U);
    co_await next->release();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(readers_enter_together_and_a_writer_alone) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    client d(executor, redis.url());
    shared_mutex lock(c, "n");
    shared_mutex far(d, "n");
    hold one = co_await lock.acquire_shared();
    hold two = co_await far.acquire_shared();
    BOOST_TEST(one.fence() == two.fence());
    std::optional<hold> writer, reader;
    const auto write = [&]() -> awaitable<void> { writer = co_await far.acquire(); };
    const auto read = [&]() -> awaitable<void> { reader = co_await lock.acquire_shared(); };
    asio::co_spawn(executor, write, asio::detached);
    co_await eventually("the writer waits", [&] { return redis.command("ZCARD", "leasehold:{0}:line:n").integer == 1; });
    asio::co_spawn(executor, read, asio::detached);
    co_await eventually("the reader waits", [&] { return redis.command("ZCARD", "leasehold:{0}:line:n").integer == 2; });
    BOOST_TEST(!(co_await lock.try_acquire_shared()).has_value());
    co_await one.release();
    co_await two.release();
    co_await eventually("the writer is in", [&] { return writer.has_value(); });
    BOOST_TEST(!reader.has_value());
    BOOST_TEST(writer->fence() > one.fence());
    const auto before = writer->fence();
    co_await writer->downgrade();
    co_await eventually("the reader is in", [&] { return reader.has_value(); });
    BOOST_TEST(writer->valid());
    BOOST_TEST(writer->fence() > before);
    BOOST_TEST(reader->fence() == writer->fence());
    const auto [again] = co_await writer->downgrade(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(again == error::not_supported);
    co_await writer->release();
    co_await reader->release();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(a_semaphore_has_as_many_holds_as_its_limit) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    counting_semaphore two(c, "n", 2);
    counting_semaphore three(c, "n", 3);
    hold one = co_await two.acquire();
    hold another = co_await two.acquire();
    BOOST_TEST(one.fence() < another.fence());
    BOOST_TEST(!(co_await two.try_acquire()).has_value());
    const auto [wrong, none] = co_await three.acquire(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(wrong == error::wrong_limit);
    std::optional<hold> third;
    const auto wait = [&]() -> awaitable<void> { third = co_await two.acquire(); };
    asio::co_spawn(executor, wait, asio::detached);
    co_await eventually("it waits", [&] { return redis.command("ZCARD", "leasehold:{0}:line:n").integer == 1; });
    co_await two.resize(3);
    co_await eventually("it is in", [&] { return third.has_value(); });
    BOOST_TEST(!(co_await three.try_acquire()).has_value());
    co_await one.release();
    hold fourth = co_await two.acquire();
    co_await fourth.release();
    co_await another.release();
    co_await third->release();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(many_who_may_be_in_at_once_do_not_wait_for_each_other) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    shared_mutex lock(c, "n");
    std::vector<hold> in;
    const auto read = [&]() -> awaitable<void> { in.push_back(co_await lock.acquire_shared()); };
    for (int i = 0; i < 1000; ++i) asio::co_spawn(executor, read, asio::detached);
    co_await eventually("all are in", [&] { return in.size() == 1000; });
    BOOST_TEST((co_await lock.inspect()).holders == 1000U);
    in.clear();
    hold writer = co_await lock.acquire();
    BOOST_TEST(writer.valid());
    // Behind a writer they are one entry.
    for (int i = 0; i < 1000; ++i) asio::co_spawn(executor, read, asio::detached);
    co_await eventually("they wait", [&] { return c.stats().waiting == 1000; });
    co_await eventually("in line", [&] { return redis.command("ZCARD", "leasehold:{0}:line:n").integer == 1; });
    co_await writer.release();
    co_await eventually("all are in again", [&] { return in.size() == 1000; });
    in.clear();
    co_await c.close();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
