// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// How operations are started and where they complete.
#include "simulation/with_memory.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <functional>
#include <thread>
#include <type_traits>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(completion, with_memory)

namespace {

using tuple_of_hold = std::tuple<error_code, hold>;

// Every overload of every operation can be named without a token; the result is a deferred operation.
template <class Operation>
constexpr bool is_deferred = requires(Operation o) {
  std::move(o)(asio::detached);
};
static_assert(is_deferred<decltype(std::declval<const mutex&>().acquire())>);
static_assert(is_deferred<decltype(std::declval<const mutex&>().acquire(acquire_options()))>);
static_assert(is_deferred<decltype(std::declval<const mutex&>().try_acquire())>);
static_assert(is_deferred<decltype(std::declval<const mutex&>().try_acquire(acquire_options()))>);
static_assert(is_deferred<decltype(std::declval<const mutex&>().inspect())>);
static_assert(is_deferred<decltype(std::declval<hold&>().extend(1s))>);
static_assert(is_deferred<decltype(std::declval<hold&>().downgrade())>);
static_assert(is_deferred<decltype(std::declval<hold&>().release())>);
static_assert(is_deferred<decltype(std::declval<const hold&>().lost())>);
static_assert(is_deferred<decltype(std::declval<const client&>().ready())>);
static_assert(is_deferred<decltype(std::declval<const client&>().close())>);

}  // namespace

BOOST_AUTO_TEST_CASE(every_operation_can_be_awaited_as_it_is) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    co_await c.ready();
    hold a = co_await lock.acquire();
    co_await a.extend(40s);
    co_await a.release();
    hold b = co_await lock.acquire({.lease = 5s});
    std::optional<hold> none = co_await lock.try_acquire();
    none = co_await lock.try_acquire({.lease = 5s});
    BOOST_TEST(!none.has_value());
    lock_info info = co_await lock.inspect();
    BOOST_TEST(info.held);
    redis.command("DEL", "n");
    auto [extended] = co_await b.extend(5s, as_tuple);
    BOOST_TEST(extended == error::lost);
    co_await b.lost();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(an_error_is_thrown_where_nothing_else_is_asked_for) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    error_code ec;
    try {
      hold h = co_await mutex(c, "").acquire();
    } catch (const system_error& e) {
      ec = e.code();
    }
    BOOST_TEST(ec == error::invalid_name);
  });
}

BOOST_AUTO_TEST_CASE(every_operation_takes_use_awaitable) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    co_await c.ready(asio::use_awaitable);
    hold h = co_await lock.acquire(asio::use_awaitable);
    co_await h.extend(40s, asio::use_awaitable);
    auto none = co_await lock.try_acquire({.lease = 5s}, asio::use_awaitable);
    BOOST_TEST(!none.has_value());
    lock_info info = co_await lock.inspect(asio::use_awaitable);
    BOOST_TEST(info.held);
    co_await h.release(asio::use_awaitable);
    h = co_await lock.acquire({.lease = 5s}, asio::use_awaitable);
    co_await h.release(asio::use_awaitable);
    co_await c.close(asio::use_awaitable);
  });
}

BOOST_AUTO_TEST_CASE(every_operation_takes_a_callback) {
  asio::io_context context;
  client c(context, redis.url());
  mutex lock(c, "n");
  hold held;
  int done = 0;
  c.ready([&](error_code ec) {
    BOOST_TEST(!ec);
    lock.acquire({.lease = 10s}, [&](error_code ec2, hold h) {
      BOOST_TEST(!ec2);
      held = std::move(h);
      lock.try_acquire([&](error_code ec3, std::optional<hold> none) {
        BOOST_TEST(!ec3);
        BOOST_TEST(!none.has_value());
        lock.inspect([&](error_code ec4, lock_info info) {
          BOOST_TEST(!ec4);
          BOOST_TEST(info.held);
          held.extend(60s, [&](error_code ec5) {
            BOOST_TEST(!ec5);
            held.lost([&](error_code ec6) {
              BOOST_TEST(ec6 == error::not_held);
              ++done;
            });
            held.release([&](error_code ec7) {
              BOOST_TEST(!ec7);
              c.close([&](error_code ec8) {
                BOOST_TEST(!ec8);
                ++done;
              });
            });
          });
        });
      });
    });
  });
  run_to_end(context);
  BOOST_TEST(done == 2);
}

BOOST_AUTO_TEST_CASE(results_come_as_tuples_or_by_reference) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    tuple_of_hold result = co_await lock.acquire({.lease = 5s}, asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(!std::get<0>(result));
    BOOST_TEST(std::get<1>(result).valid());
    auto [ec1, none] = co_await lock.try_acquire(as_tuple);
    BOOST_TEST(!ec1);
    auto [ec2] = co_await std::get<1>(result).release(as_tuple);
    BOOST_TEST(!ec2);

    error_code ec = error::lost;
    auto redirected = asio::redirect_error(asio::use_awaitable, ec);
    hold h = co_await lock.acquire(redirected);
    BOOST_TEST(!ec);
    auto deferred = asio::redirect_error(asio::deferred, ec);
    hold timed_out = co_await lock.acquire({.wait = 0ms}, deferred);
    BOOST_TEST(ec == error::timed_out);
    BOOST_TEST(!timed_out.valid());
    co_await h.release(deferred);
    BOOST_TEST(!ec);
    co_await h.release(deferred);
    BOOST_TEST(ec == error::not_held);
  });
}

BOOST_AUTO_TEST_CASE(awaitable_operators_work) {
  using namespace asio::experimental::awaitable_operators;
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex a(c, "a");
    mutex b(c, "b");
    auto both = a.acquire(asio::use_awaitable) && b.acquire(asio::use_awaitable);
    auto [first, second] = co_await std::move(both);
    BOOST_TEST(first.valid());
    BOOST_TEST(second.valid());
    // The loser is cancelled and leaves nothing.
    mutex other(c, "other");
    auto either = a.acquire(asio::use_awaitable) || other.acquire(asio::use_awaitable);
    auto winner = co_await std::move(either);
    BOOST_TEST(winner.index() == 1U);
    BOOST_TEST(std::get<1>(winner).name() == "other");
    BOOST_TEST(c.stats().waiting == 0U);
    BOOST_TEST(redis.get("a").value().find(first.token()) != std::string::npos);
  });
}

BOOST_AUTO_TEST_CASE(a_deferred_operation_can_be_stored_and_started_later) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    auto acquire = mutex(c, "n").acquire({.lease = 10s});  // The mutex has gone.
    hold h = co_await std::move(acquire);
    BOOST_TEST(h.valid());
    auto release = h.release();
    auto unused = h.extend(1s);
    BOOST_TEST(h.valid());
    co_await std::move(release);
    BOOST_TEST(!redis.get("n"));
  });
}

// Nothing completes inside its initiating call, also where the answer is known at once.
BOOST_AUTO_TEST_CASE(no_handler_runs_inside_the_initiating_call) {
  asio::io_context context;
  client c(context, redis.url());
  mutex lock(c, "n");
  mutex bad(c, "");
  hold held;
  hold empty;
  holds<2> none;
  counting_semaphore permits(c, "permits", 1);
  bool inside = false;
  int completed = 0;
  const auto check = [&](auto&&...) {
    BOOST_TEST(!inside);
    ++completed;
  };
  int started = 0;
  const auto start = [&](auto f) {
    inside = true;
    f();
    inside = false;
    ++started;
  };
  asio::post(context, [&] {
    start([&] { c.ready(asio::bind_executor(context, check)); });
    start([&] { bad.acquire(asio::bind_executor(context, check)); });
    start([&] { bad.try_acquire(asio::bind_executor(context, check)); });
    start([&] { bad.inspect(asio::bind_executor(context, check)); });
    start([&] { lock.acquire({.lease = 0ms}, asio::bind_executor(context, check)); });
    start([&] { empty.release(asio::bind_executor(context, check)); });
    start([&] { empty.extend(1s, asio::bind_executor(context, check)); });
    start([&] { empty.downgrade(asio::bind_executor(context, check)); });
    start([&] { empty.lost(asio::bind_executor(context, check)); });
    start([&] { none.release(asio::bind_executor(context, check)); });
    start([&] { none.lost(asio::bind_executor(context, check)); });
    start([&] { acquire_all(bad, lock)(asio::bind_executor(context, check)); });
    start([&] { acquire_all(acquire_options(), std::vector<mutex>())(asio::bind_executor(context, check)); });
    start([&] { list(c, asio::bind_executor(context, check)); });
    start([&] { show(c, "n", asio::bind_executor(context, check)); });
    start([&] { break_lock(c, "other", asio::bind_executor(context, check)); });
    start([&] { permits.resize(0, asio::bind_executor(context, check)); });
    start([&] { permits.resize(2, asio::bind_executor(context, check)); });
    lock.acquire([&](error_code, hold h) {
      held = std::move(h);
      start([&] { lock.try_acquire(asio::bind_executor(context, check)); });
      start([&] { held.extend(0s, asio::bind_executor(context, check)); });
      start([&] { held.downgrade(asio::bind_executor(context, check)); });
      start([&] { held.lost(asio::bind_executor(context, check)); });
      start([&] { held.release(asio::bind_executor(context, check)); });
      start([&] { held.release(asio::bind_executor(context, check)); });
      start([&] { held.lost(asio::bind_executor(context, check)); });
      start([&] { c.ready(asio::bind_executor(context, check)); });
      start([&] { c.close(asio::bind_executor(context, check)); });
      start([&] { c.close(asio::bind_executor(context, check)); });
      start([&] { c.ready(asio::bind_executor(context, check)); });
      start([&] { lock.acquire(asio::bind_executor(context, check)); });
      start([&] { acquire_all(lock, permits)(asio::bind_executor(context, check)); });
      start([&] { list(c, asio::bind_executor(context, check)); });
      start([&] { show(c, "n", asio::bind_executor(context, check)); });
      start([&] { break_lock(c, "n", asio::bind_executor(context, check)); });
      start([&] { permits.resize(3, asio::bind_executor(context, check)); });
    });
  });
  run_to_end(context);
  BOOST_TEST(started == 35);
  BOOST_TEST(completed == started);
}

BOOST_AUTO_TEST_CASE(a_handler_without_an_executor_runs_on_the_clients) {
  asio::io_context context;
  client c(context, redis.url());
  BOOST_TEST((c.get_executor() == context.get_executor()));
  BOOST_TEST((mutex(c, "n").get_executor() == context.get_executor()));
  const auto here = std::this_thread::get_id();
  int completed = 0;
  mutex(c, "n").acquire([&](error_code, hold h) {
    BOOST_TEST((std::this_thread::get_id() == here));
    BOOST_TEST((h.get_executor() == context.get_executor()));
    ++completed;
    c.close([](error_code) {});
  });
  run_to_end(context);
  BOOST_TEST(completed == 1);
}

BOOST_AUTO_TEST_CASE(a_move_only_handler_is_fine) {
  asio::io_context context;
  client c(context, redis.url());
  auto flag = std::make_unique<int>(0);
  int* const seen = flag.get();
  std::unique_ptr<int> kept;
  mutex(c, "n").acquire([&, flag = std::move(flag)](error_code ec, hold) mutable {
    BOOST_TEST(!ec);
    *flag = 1;
    kept = std::move(flag);
    c.close([](error_code) {});
  });
  run_to_end(context);
  BOOST_TEST(*seen == 1);
}

// A callback that is an lvalue is copied.
BOOST_AUTO_TEST_CASE(a_callback_may_be_used_again) {
  asio::io_context context;
  client c(context, redis.url());
  int completed = 0;
  const std::function<void(error_code)> constant = [&](error_code) { ++completed; };
  std::function<void(error_code)> callback = constant;
  c.ready(callback);
  c.ready(callback);
  c.ready(constant);
  c.ready(constant);
  BOOST_TEST(static_cast<bool>(callback));
  c.close(callback);
  run_to_end(context);
  BOOST_TEST(completed == 5);
}

// Asio demands that the memory of an operation is free before its handler runs: an operation started there may use it.
BOOST_AUTO_TEST_CASE(a_handler_may_start_the_next_operation_and_destroy_everything) {
  asio::io_context context;
  std::optional<client> c(std::in_place, context, redis.url());
  std::optional<mutex> lock(std::in_place, *c, "n");
  int rounds = 0;
  std::function<void(error_code, hold)> next = [&](error_code ec, hold h) {
    BOOST_REQUIRE(!ec);
    if (++rounds == 100) {
      h = hold();
      lock.reset();
      c.reset();
      return;
    }
    h = hold();
    lock->acquire({.retry = {.first = 1ms, .max = 1ms}}, next);
  };
  lock->acquire(next);
  run_to_end(context);
  BOOST_TEST(rounds == 100);
  BOOST_TEST(!redis.get("n"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
