// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Completion tokens that need threads or timers of Asio's own. The others: test/simulation/locks/completion.cpp.
#include "support/with_redis.hpp"

#include <atomic>
#include <future>
#include <thread>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(completion, with_redis)

BOOST_AUTO_TEST_CASE(every_operation_takes_use_future) {
  asio::io_context context;
  auto work = asio::make_work_guard(context);
  std::thread thread([&] { context.run(); });
  {
    client c(context, redis.url());
    mutex lock(c, "n");
    c.ready(asio::use_future).get();
    hold h = lock.acquire(asio::use_future).get();
    BOOST_TEST(h.valid());
    BOOST_TEST(lock.inspect(asio::use_future).get().held);
    BOOST_TEST(!lock.try_acquire(asio::use_future).get().has_value());
    h.extend(60s, asio::use_future).get();
    std::future<void> lost = h.lost(asio::use_future);
    h.release(asio::use_future).get();
    BOOST_CHECK_EXCEPTION(lost.get(), system_error, [](const auto& e) { return e.code() == error::not_held; });
    BOOST_CHECK_EXCEPTION(h.release(asio::use_future).get(), system_error,
                          [](const auto& e) { return e.code() == error::not_held; });
    c.close(asio::use_future).get();
  }
  work.reset();
  thread.join();
}

BOOST_AUTO_TEST_CASE(cancel_after_ends_what_takes_too_long) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    auto soon = asio::cancel_after(20ms, as_tuple);
    auto late = asio::cancel_after(50s, as_tuple);
    auto [ec, h] = co_await lock.acquire(late);
    BOOST_TEST(!ec);
    auto [ec2, none] = co_await lock.acquire(soon);
    BOOST_TEST(ec2 == asio::error::operation_aborted);
    auto [ec3] = co_await h.lost(soon);
    BOOST_TEST(ec3 == asio::error::operation_aborted);
    auto [ec4] = co_await h.extend(50s, late);
    BOOST_TEST(!ec4);
    auto [ec5] = co_await h.release(late);
    BOOST_TEST(!ec5);
    auto [ec6, taken] = co_await lock.try_acquire(late);
    BOOST_TEST(!ec6);
    auto [ec7, info] = co_await lock.inspect(late);
    BOOST_TEST(!ec7);
    auto [ec8] = co_await c.ready(late);
    BOOST_TEST(!ec8);
    auto [ec9] = co_await c.close(late);
    BOOST_TEST(!ec9);
  });
}

// Every operation names an executor; without one cancel_after would not compile for callbacks, or would run on a thread
// of the system's.
BOOST_AUTO_TEST_CASE(cancel_after_works_without_a_coroutine) {
  asio::io_context context;
  client c(context, redis.url());
  mutex lock(c, "n");
  redis.command("SET", "n", "somebody's");
  std::optional<error_code> result;
  lock.acquire(asio::cancel_after(20ms, [&](error_code ec, hold) {
    result = ec;
    c.close([](error_code) {});
  }));
  run_to_end(context);
  BOOST_REQUIRE(result.has_value());
  BOOST_TEST(*result == asio::error::operation_aborted);
}

// The client lives on one context, the handlers on another one with its own thread.
BOOST_AUTO_TEST_CASE(handlers_run_on_their_associated_executor) {
  asio::io_context context;
  asio::thread_pool elsewhere(1);
  const std::thread::id there =
      asio::post(elsewhere, asio::use_future([] { return std::this_thread::get_id(); })).get();
  std::atomic<int> completed{0};
  const auto check = [&](auto&&...) {
    BOOST_TEST((std::this_thread::get_id() == there));
    ++completed;
  };
  const auto bound = asio::bind_executor(elsewhere.get_executor(), check);
  client c(context, redis.url());
  mutex lock(c, "n");
  c.ready(bound);
  lock.inspect(bound);
  mutex(c, "").acquire(bound);
  run(context, [&]() -> awaitable<void> {
    hold h = co_await lock.acquire();
    lock.try_acquire(bound);
    h.lost(bound);
    h.extend(10s, bound);
    h.downgrade(bound);
    counting_semaphore(c, "permits", 1).resize(2, bound);
    list(c, bound);
    show(c, "n", bound);
    break_lock(c, "other", bound);
    co_await lock.inspect();
    h.release(bound);
    const mutex a(c, "a");
    const mutex b(c, "b");
    holds<2> both = co_await acquire_all(a, b);
    both.lost(bound);
    both.release(bound);
    acquire_all(mutex(c, "d"), mutex(c, "e"))(bound);
    co_await eventually("all have ended", [&] { return completed == 15; });
    c.close(bound);
  });
  elsewhere.join();
  BOOST_TEST(completed == 16);
}

// The run() of that context does not return before.
BOOST_AUTO_TEST_CASE(handlers_run_on_another_io_context) {
  asio::io_context context, elsewhere;
  client c(context, redis.url());
  const mutex lock(c, "n");
  std::atomic<bool> completed = false;
  std::thread::id ran_on;
  lock.acquire(asio::bind_executor(elsewhere.get_executor(), [&](error_code, hold) {
    ran_on = std::this_thread::get_id();
    completed = true;
  }));
  std::thread thread([&] { elsewhere.run(); });
  const auto there = thread.get_id();
  run(context, [&]() -> awaitable<void> {
    co_await eventually("it has ended", [&] { return completed.load(); });
    co_await c.close();
  });
  thread.join();
  BOOST_TEST((ran_on == there));
}

// As a library that is compiled passes them on. Their executor can only be dispatched to.
BOOST_AUTO_TEST_CASE(erased_handlers_run_on_their_executor_also_without_a_client) {
  asio::thread_pool elsewhere(1);
  const std::thread::id there =
      asio::post(elsewhere, asio::use_future([] { return std::this_thread::get_id(); })).get();
  std::atomic<int> completed{0};
  const auto ends_with = [&](error_code expected) {
    return asio::bind_executor(elsewhere.get_executor(), [&, expected](error_code ec, auto&&...) {
      BOOST_TEST(ec == expected);
      BOOST_TEST((std::this_thread::get_id() == there));
      ++completed;
    });
  };
  using handler = asio::any_completion_handler<void(error_code)>;
  const auto watch_and_change = [&](hold& h, holds<2>& two, leadership& l, error_code expected) {
    h.lost(handler(ends_with(error::not_held)));
    h.wanted(handler(ends_with(error::not_held)));
    two.lost(handler(ends_with(error::not_held)));
    l.lost(handler(ends_with(error::not_held)));
    h.extend(10s, handler(ends_with(expected)));
    l.proclaim("value", handler(ends_with(expected)));
  };
  const auto release = [&](hold& h, holds<2>& two, leadership& l, error_code expected) {
    h.release(handler(ends_with(expected)));
    two.release(handler(ends_with(expected)));
    l.resign(handler(ends_with(expected)));
  };
  asio::io_context context;
  client c(context, redis.url());
  run(context, [&]() -> awaitable<void> {
    hold h = co_await mutex(c, "n").acquire();
    holds<2> two = co_await acquire_all(mutex(c, "a"), mutex(c, "b"));
    leadership l = co_await election(c, "e").campaign("first");
    watch_and_change(h, two, l, {});
    co_await eventually("both have changed", [&] { return completed == 2; });
    release(h, two, l, {});
    co_await eventually("all have ended", [&] { return completed == 9; });
    hold none;
    holds<2> neither;
    leadership nobody;
    watch_and_change(none, neither, nobody, error::not_held);
    release(none, neither, nobody, error::not_held);
    none.downgrade(handler(ends_with(error::not_held)));
    none.detach(asio::any_completion_handler<void(error_code, ticket)>(ends_with(error::not_held)));
    acquire_all(std::vector<mutex>(),
                asio::any_completion_handler<void(error_code, std::vector<hold>)>(ends_with(error::invalid_option)));
    co_await eventually("all have ended", [&] { return completed == 21; });
    co_await c.close();
  });
  elsewhere.join();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
