// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/with_memory.hpp"

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(with_lock_and_while_held, with_memory)

namespace {

// Sleeps until it is cancelled; then does a little more before it ends, as clean-up does.
awaitable<void> work_until_cancelled(bool& ended) {
  asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
  auto [ec] = co_await timer.async_wait(as_tuple);
  BOOST_TEST(ec == asio::error::operation_aborted);
  co_await asio::this_coro::reset_cancellation_state();
  co_await pause(20ms);
  ended = true;
  throw system_error(asio::error::operation_aborted);
}

// The error code that a coroutine ends with.
template <class T>
awaitable<error_code> error_of(awaitable<T> a) {
  try {
    co_await std::move(a);
  } catch (const system_error& e) {
    co_return e.code();
  }
  co_return error_code();
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_body_runs_while_the_lock_is_held) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    bool ran = false;
    co_await with_lock(lock, [&](hold& h) -> awaitable<void> {
      BOOST_TEST(h.valid());
      BOOST_TEST(redis.get("n").value().find(h.token()) != std::string::npos);
      auto busy = co_await lock.try_acquire();
      BOOST_TEST(!busy.has_value());
      ran = true;
    });
    BOOST_TEST(ran);
    BOOST_TEST(!redis.get("n"));  // The release was awaited.
    BOOST_TEST(c.stats().released == 1U);
  });
}

BOOST_AUTO_TEST_CASE(results_come_back) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    const int number = co_await with_lock(lock, {.lease = 5s}, [](hold&) -> awaitable<int> { co_return 42; });
    BOOST_TEST(number == 42);
    // Movable only, and without a default constructor.
    struct box {
      explicit box(std::unique_ptr<int> v) : value(std::move(v)) {}
      std::unique_ptr<int> value;
    };
    box b = co_await with_lock(lock, [](hold&) -> awaitable<box> { co_return box(std::make_unique<int>(7)); });
    BOOST_TEST(*b.value == 7);
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(a_named_body_may_own_things) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    const std::string text(100, 'x');
    const auto body = [text](hold&) -> awaitable<std::size_t> { co_return text.size(); };
    const std::size_t size = co_await with_lock(lock, body);
    BOOST_TEST(size == 100U);
  });
}

BOOST_AUTO_TEST_CASE(the_bodys_exception_passes_and_the_lock_is_released) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    std::string text;
    try {
      co_await with_lock(lock, [](hold&) -> awaitable<void> {
        co_await turn();
        throw std::logic_error("the body's own");
      });
    } catch (const std::logic_error& e) {
      text = e.what();
    }
    BOOST_TEST(text == "the body's own");
    BOOST_TEST(!redis.get("n"));
  });
}

BOOST_AUTO_TEST_CASE(a_body_that_throws_before_it_is_a_coroutine_is_no_different) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    const auto body = [](hold&) -> awaitable<void> { throw std::logic_error("at once"); };
    bool caught = false;
    try {
      co_await with_lock(lock, body);
    } catch (const std::logic_error&) {
      caught = true;
    }
    BOOST_TEST(caught);
    BOOST_TEST(!redis.get("n"));
  });
}

BOOST_AUTO_TEST_CASE(what_acquire_fails_with_is_thrown) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    redis.command("SET", "n", "somebody's");
    mutex lock(c, "n");
    bool ran = false;
    auto guarded = with_lock(lock, {.wait = 10ms}, [&](hold&) -> awaitable<void> {
      ran = true;
      co_return;
    });
    const error_code ec = co_await error_of(std::move(guarded));
    BOOST_TEST(ec == error::timed_out);
    BOOST_TEST(!ran);
  });
}

BOOST_AUTO_TEST_CASE(a_loss_cancels_the_body_and_joins_it) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    bool ended = false;
    const auto body = [&](hold& h) -> awaitable<void> {
      BOOST_TEST(h.valid());
      redis.command("DEL", "n");
      co_await work_until_cancelled(ended);
    };
    const error_code ec = co_await error_of(with_lock(lock, {.lease = 600ms}, body));
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(ended);
    BOOST_TEST(c.stats().lost == 1U);
  });
}

BOOST_AUTO_TEST_CASE(a_lease_that_ends_cancels_the_body) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    bool ended = false;
    const auto body = [&](hold&) -> awaitable<int> {
      co_await work_until_cancelled(ended);
      co_return 1;
    };
    const error_code ec = co_await error_of(with_lock(lock, {.lease = 200ms, .renew = renewal::none}, body));
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(ended);
  });
}

BOOST_AUTO_TEST_CASE(margin_leaves_the_body_time_to_end) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    bool ended = false;
    bool held_at_the_end = false;
    const auto body = [&](hold& h) -> awaitable<void> {
      try {
        co_await work_until_cancelled(ended);
      } catch (const system_error&) {
        held_at_the_end = now() < h.expires_at();
        throw;
      }
    };
    const acquire_options options{.lease = 20s, .renew = renewal::none, .margin = 19700ms};
    const error_code ec = co_await error_of(with_lock(lock, options, body));
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(ended);
    BOOST_TEST(held_at_the_end);
    BOOST_TEST(!redis.get("n"));
  });
}

// A result that outlived the lease is no result.
BOOST_AUTO_TEST_CASE(a_body_that_ends_normally_after_the_loss_is_a_loss) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    const auto body = [&](hold& h) -> awaitable<int> {
      co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
      co_await eventually("the hold is no longer valid", [&] { return !h.valid(); });
      co_return 1;
    };
    const error_code ec = co_await error_of(with_lock(lock, {.lease = 100ms, .renew = renewal::none}, body));
    BOOST_TEST(ec == error::lost);
  });
}

BOOST_AUTO_TEST_CASE(an_exception_after_the_loss_is_the_bodys_own) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    const auto body = [&](hold& h) -> awaitable<int> {
      co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
      co_await eventually("the hold is no longer valid", [&] { return !h.valid(); });
      throw std::logic_error("the body's own");
    };
    bool caught = false;
    try {
      co_await with_lock(lock, {.lease = 100ms, .renew = renewal::none}, body);
    } catch (const std::logic_error&) {
      caught = true;
    }
    BOOST_TEST(caught);
  });
}

BOOST_AUTO_TEST_CASE(a_body_may_release_by_itself_and_go_on) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    const int result = co_await with_lock(lock, [&](hold& h) -> awaitable<int> {
      co_await h.release();
      BOOST_TEST(!redis.get("n"));
      co_await pause(20ms);
      auto again = co_await lock.try_acquire();
      BOOST_TEST(again.has_value());
      co_return 5;
    });
    BOOST_TEST(result == 5);
  });
}

BOOST_AUTO_TEST_CASE(a_body_may_take_the_hold_along) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    hold taken;
    co_await with_lock(lock, [&](hold& h) -> awaitable<void> {
      taken = std::move(h);
      co_return;
    });
    BOOST_TEST(taken.valid());
    BOOST_TEST(redis.get("n").has_value());
  });
}

BOOST_AUTO_TEST_CASE(cancelling_the_caller_stops_the_body_joins_it_and_releases) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    for (const auto type :
         {asio::cancellation_type::terminal, asio::cancellation_type::partial, asio::cancellation_type::total}) {
      bool ended = false;
      bool started = false;
      const auto body = [&](hold&) -> awaitable<void> {
        started = true;
        co_await work_until_cancelled(ended);
      };
      asio::cancellation_signal signal;
      std::optional<std::exception_ptr> result;
      const auto caller = [&]() -> awaitable<void> {
        co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
        co_await with_lock(lock, body);
      };
      asio::co_spawn(co_await asio::this_coro::executor, caller(),
                     asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) { result = e; }));
      co_await eventually("the body runs", [&] { return started; });
      signal.emit(type);
      co_await eventually("it ends", [&] { return result.has_value(); });
      BOOST_TEST(ended);
      error_code ec;
      try {
        if (*result) std::rethrow_exception(*result);
      } catch (const system_error& e) {
        ec = e.code();
      }
      BOOST_TEST(ec == asio::error::operation_aborted);
      co_await eventually("the lock is free", [&] { return !redis.get("n"); });
    }
    BOOST_TEST(c.stats().lost == 0U);
  });
}

BOOST_AUTO_TEST_CASE(a_caller_that_is_cancelled_does_not_wait_for_the_answer_to_the_release) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    mutex lock(c, "n");
    bool started = false;
    bool ended = false;
    const auto body = [&](hold&) -> awaitable<void> {
      started = true;
      co_await work_until_cancelled(ended);
    };
    asio::cancellation_signal signal;
    std::optional<std::exception_ptr> result;
    asio::co_spawn(co_await asio::this_coro::executor, with_lock(lock, body),
                   asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) { result = e; }));
    co_await eventually("the body runs", [&] { return started; });
    redis.stop();
    const auto start = now();
    signal.emit(asio::cancellation_type::terminal);
    co_await eventually("it ends", [&] { return result.has_value(); });
    BOOST_TEST(now() - start < 100ms);  // The body takes 20 ms.
    BOOST_TEST(ended);
    BOOST_TEST(redis.get("n").has_value());
    redis.go_on();
    co_await eventually("the lock is free", [&] { return !redis.get("n"); });
  });
}

// As one that ends all sessions of a server may do.
BOOST_AUTO_TEST_CASE(a_body_that_cancels_its_own_caller_is_cancelled) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    bool ended = false;
    asio::cancellation_signal signal;
    std::optional<std::exception_ptr> result;
    const auto body = [&](hold&) -> awaitable<void> {
      signal.emit(asio::cancellation_type::terminal);
      co_await work_until_cancelled(ended);
    };
    asio::co_spawn(co_await asio::this_coro::executor, with_lock(lock, body),
                   asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) { result = e; }));
    co_await eventually("it ends", [&] { return result.has_value(); });
    BOOST_TEST(static_cast<bool>(*result));
    co_await eventually("the lock is free", [&] { return !redis.get("n"); });
  });
}

BOOST_AUTO_TEST_CASE(cancelling_while_it_waits_for_the_lock_never_starts_the_body) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    hold h = co_await lock.acquire();
    bool started = false;
    asio::cancellation_signal signal;
    std::optional<std::exception_ptr> result;
    const auto body = [&](hold&) -> awaitable<void> {
      started = true;
      co_return;
    };
    asio::co_spawn(co_await asio::this_coro::executor, with_lock(lock, body),
                   asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) { result = e; }));
    co_await eventually("it waits", [&] { return c.stats().contended == 1; });
    signal.emit(asio::cancellation_type::terminal);
    co_await eventually("it ends", [&] { return result.has_value(); });
    BOOST_TEST(static_cast<bool>(*result));
    BOOST_TEST(!started);
    BOOST_TEST(c.stats().cancelled == 1U);
  });
}

// The caller's own cancellation settings are as they were, before and after.
BOOST_AUTO_TEST_CASE(the_callers_cancellation_settings_are_left_alone) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    for (const bool throws : {true, false}) {
      co_await asio::this_coro::throw_if_cancelled(throws);
      co_await with_lock(lock, [](hold&) -> awaitable<void> { co_return; });
      const bool after = co_await asio::this_coro::throw_if_cancelled();
      BOOST_TEST(after == throws);
    }
  });
}

BOOST_AUTO_TEST_CASE(close_releases_a_hold_that_the_body_has_moved_elsewhere) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.connect_timeout = 1min;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    const mutex lock(c, "n");
    hold kept;
    bool started = false;
    bool ended = false;
    const auto body = [&](hold& h) -> awaitable<void> {
      kept = std::move(h);
      started = true;
      co_await work_until_cancelled(ended);
    };
    asio::co_spawn(co_await asio::this_coro::executor, with_lock(lock, body), [](std::exception_ptr) {});
    co_await eventually("the body runs", [&] { return started; });
    const auto began = now();
    auto [closed] = co_await c.close(as_tuple);
    BOOST_TEST(!closed);
    BOOST_TEST(now() - began < 10s);
    BOOST_TEST(ended);
    BOOST_TEST(!redis.get("n"));
  });
}

// The program destroys what its observer uses when close has completed.
BOOST_AUTO_TEST_CASE(the_observer_is_not_called_after_close) {
  run([&]() -> awaitable<void> {
    bool closed = false;
    client_options o;
    o.connect_timeout = 300ms;
    o.observer = [&closed](const event& e) { BOOST_TEST(!closed, to_string(e.what)); };
    client c(co_await asio::this_coro::executor, redis.url(), o);
    const mutex lock(c, "n");
    bool started = false;
    bool ended = false;
    const auto body = [&](hold&) -> awaitable<void> {
      co_await asio::this_coro::throw_if_cancelled(false);
      co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
      started = true;
      co_await pause(1s);
    };
    asio::co_spawn(co_await asio::this_coro::executor, with_lock(lock, body),
                   [&](std::exception_ptr) { ended = true; });
    co_await eventually("the body runs", [&] { return started; });
    auto [ec] = co_await c.close(as_tuple);
    closed = true;
    BOOST_TEST(ec == error::unreachable);
    co_await eventually("with_lock ends", [&] { return ended; });
    co_await pause(100ms);
  });
}

BOOST_AUTO_TEST_CASE(close_tells_the_body_and_waits_for_its_end) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    bool started = false;
    bool ended = false;
    std::optional<error_code> result;
    const auto body = [&](hold&) -> awaitable<void> {
      started = true;
      // Its end finds the lock still held: nobody else may come in before.
      try {
        co_await work_until_cancelled(ended);
      } catch (const system_error&) {
        BOOST_TEST(redis.get("n").has_value());
        throw;
      }
    };
    asio::co_spawn(co_await asio::this_coro::executor, with_lock(lock, body), [&](std::exception_ptr e) {
      try {
        if (e) std::rethrow_exception(e);
        result = error_code();
      } catch (const system_error& failure) {
        result = failure.code();
      }
    });
    co_await eventually("the body runs", [&] { return started; });
    auto [closed] = co_await c.close(as_tuple);
    BOOST_TEST(!closed);
    BOOST_TEST(ended);
    BOOST_TEST(!redis.get("n"));
    co_await eventually("with_lock ends", [&] { return result.has_value(); });
    BOOST_TEST(*result == error::lost);
  });
}

// The lock ends with its lease then.
BOOST_AUTO_TEST_CASE(a_server_that_does_not_take_the_release_is_no_failure_of_the_body) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.command_timeout = 300ms;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    mutex lock(c, "n");
    const auto body = [&](hold&) -> awaitable<int> {
      redis.stop();
      co_return 42;
    };
    const int result = co_await with_lock(lock, {.lease = 2s, .renew = renewal::none}, body);
    BOOST_TEST(result == 42);
    redis.go_on();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(the_loss_of_an_outer_lock_ends_the_body_of_the_inner_one_first) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex outer(c, "outer");
    mutex inner(c, "inner");
    bool ended = false;
    bool was_joined = false;
    error_code of_inner;
    const auto in_both = [&](hold&) -> awaitable<void> {
      redis.command("DEL", "outer");
      co_await work_until_cancelled(ended);
    };
    const auto in_outer = [&](hold&) -> awaitable<void> {
      try {
        co_await with_lock(inner, in_both);
      } catch (const system_error& e) {
        of_inner = e.code();
        was_joined = ended;
        throw;
      }
    };
    const error_code of_outer = co_await error_of(with_lock(outer, {.lease = 600ms}, in_outer));
    BOOST_TEST(of_outer == error::lost);
    BOOST_TEST(of_inner == asio::error::operation_aborted);
    BOOST_TEST(was_joined);
    co_await eventually("the inner one is free", [&] { return redis.size() == 0; });
  });
}

BOOST_AUTO_TEST_CASE(while_held_goes_on_with_a_hold_that_is_empty_or_released_by_the_work) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h;
    const auto work = [&h]() -> awaitable<int> {
      if (h.valid()) co_await h.release();
      co_await turn();
      co_return 42;
    };
    int result = co_await while_held(h, work());
    BOOST_TEST(result == 42);
    h = co_await mutex(c, "n").acquire();
    result = 0;
    result = co_await while_held(h, work());
    BOOST_TEST(result == 42);
  });
}

BOOST_AUTO_TEST_CASE(while_held_does_not_release) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    const auto work = [](int n) -> awaitable<int> { co_return n + 1; };
    const int result = co_await while_held(h, work(1));
    BOOST_TEST(result == 2);
    co_await while_held(h, turn());
    BOOST_TEST(h.valid());
    BOOST_TEST(redis.get("n").has_value());
  });
}

// What awaitable_operators cannot do: it ends when the work throws.
BOOST_AUTO_TEST_CASE(while_held_passes_exceptions_on) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    const auto work = []() -> awaitable<void> {
      co_await turn();
      throw std::logic_error("work");
    };
    bool caught = false;
    try {
      co_await while_held(h, work());
    } catch (const std::logic_error&) {
      caught = true;
    }
    BOOST_TEST(caught);
    BOOST_TEST(h.valid());
  });
}

BOOST_AUTO_TEST_CASE(while_held_stops_the_work_at_the_loss) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 200ms, .renew = renewal::none});
    bool ended = false;
    const error_code ec = co_await error_of(while_held(h, work_until_cancelled(ended)));
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(ended);
    // And never starts anything after it.
    bool started = false;
    const auto work = [&]() -> awaitable<void> {
      started = true;
      co_return;
    };
    const error_code again = co_await error_of(while_held(h, work()));
    BOOST_TEST(again == error::lost);
    BOOST_TEST(!started);
    // Nor if one of several holds is lost.
    std::vector<hold> both;
    both.push_back(co_await mutex(c, "m").acquire());
    both.push_back(std::move(h));
    const error_code of_several = co_await error_of(while_held(both, work()));
    BOOST_TEST(of_several == error::lost);
    BOOST_TEST(!started);
  });
}

// Cancelled by nobody: the work's own operation_aborted is its own business.
BOOST_AUTO_TEST_CASE(the_works_own_abortion_is_no_loss) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    const auto work = []() -> awaitable<void> {
      co_await pause(10ms);
      throw system_error(asio::error::operation_aborted);
    };
    const error_code ec = co_await error_of(while_held(h, work()));
    BOOST_TEST(ec == asio::error::operation_aborted);
    BOOST_TEST(h.valid());
    mutex lock(c, "m");
    const auto body = [&](hold&) -> awaitable<void> { co_await work(); };
    const error_code ec2 = co_await error_of(with_lock(lock, body));
    BOOST_TEST(ec2 == asio::error::operation_aborted);
    BOOST_TEST(!redis.get("m"));
  });
}

BOOST_AUTO_TEST_CASE(an_exception_names_the_lock_the_option_and_the_server) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    mutex lock(c, "n");
    const auto body = [](hold&) -> awaitable<void> { co_return; };
    const auto deletes = [&](hold& h) -> awaitable<void> {
      redis.command("DEL", "n");
      co_await h.lost();
    };
    // Runs to its end and yields the text.
    const auto text_of = [](awaitable<void> work, std::string& option) -> awaitable<std::string> {
      try {
        co_await std::move(work);
      } catch (const exception& e) {
        BOOST_TEST(e.lock() == "n");
        option = e.option();
        co_return e.what();
      }
      co_return "nothing was thrown";
    };
    const std::string where = "lock 'n' at " + redis.url();
    std::string option;
    const std::string margin = co_await text_of(with_lock(lock, {.lease = 1s, .margin = 2s}, body), option);
    BOOST_TEST(margin == "invalid option: " + where + ": acquire_options::margin");
    BOOST_TEST(option == "acquire_options::margin");
    const std::string lost = co_await text_of(with_lock(lock, {.lease = 300ms}, deletes), option);
    BOOST_TEST(lost == "lost: " + where);
    hold h = co_await lock.acquire();
    const std::string busy = co_await text_of(with_lock(lock, {.wait = 0ms}, body), option);
    BOOST_TEST(busy == "timed out: " + where);
    const std::string held = co_await text_of(while_held(h, deletes(h)), option);
    BOOST_TEST(held == "lost: " + where);
  });
}

BOOST_AUTO_TEST_CASE(several_locks_are_held_together) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    mutex a(c, "a");
    shared_mutex b(c, "b");
    const auto both = [&](holds<2>& h) -> awaitable<std::size_t> {
      BOOST_TEST(h.valid());
      BOOST_TEST(h[1].name() == "b");
      BOOST_TEST(redis.get("a").has_value());
      co_return h.size();
    };
    const std::size_t two = co_await with_lock(std::tuple(a, b.shared()), {.lease = 5s}, both);
    BOOST_TEST(two == 2U);
    BOOST_TEST(redis.size() == 0U);  // The release was awaited.
    const std::vector<mutex> many{mutex(c, "x"), mutex(c, "y"), mutex(c, "z")};
    const auto all = [&](std::vector<hold>& h) -> awaitable<void> {
      BOOST_TEST(h.size() == 3U);
      BOOST_TEST(redis.size() == 3U);
      co_return;
    };
    co_await with_lock(many, all);
    BOOST_TEST(redis.size() == 0U);
    // The body's own exception passes.
    const auto fails = [](holds<2>&) -> awaitable<void> { throw std::logic_error("own"); };
    bool caught = false;
    try {
      co_await with_lock(std::tuple(a, b), fails);
    } catch (const std::logic_error&) {
      caught = true;
    }
    BOOST_TEST(caught);
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(the_loss_of_one_of_several_stops_the_work) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    mutex a(c, "a"), b(c, "b");
    const std::vector<mutex> locks{a, b};
    bool ended = false;
    std::string which;
    const auto body = [&](holds<2>&) -> awaitable<void> {
      redis.command("DEL", "b");
      co_await work_until_cancelled(ended);
    };
    try {
      co_await with_lock(std::tuple(a, b), {.lease = 3s}, body);
    } catch (const exception& e) {
      BOOST_TEST(e.code() == error::lost);
      which = e.lock();
    }
    BOOST_TEST(which == "b");
    BOOST_TEST(ended);
    BOOST_TEST(redis.size() == 0U);
    // while_held neither acquires nor releases.
    auto pair = co_await acquire_all({.lease = 3s}, a, b);
    redis.command("DEL", "a");
    ended = false;
    const error_code ec = co_await error_of(while_held(pair, work_until_cancelled(ended)));
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(ended);
    BOOST_TEST(pair[1].valid());
    co_await pair[1].release();
    auto list = co_await acquire_all({.lease = 3s}, locks);
    redis.command("DEL", "b");
    ended = false;
    const error_code ec2 = co_await error_of(while_held(list, work_until_cancelled(ended)));
    BOOST_TEST(ec2 == error::lost);
    BOOST_TEST(ended);
  });
}

// The option that is wrong, and the server.
BOOST_AUTO_TEST_CASE(an_exception_names_all_of_several_locks) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    mutex a(c, "a"), b(c, "b");
    const std::vector<mutex> list{a, b}, none;
    const auto pair = [](holds<2>&) -> awaitable<void> { co_return; };
    const auto all = [](std::vector<hold>&) -> awaitable<void> { co_return; };
    const auto text_of = [](awaitable<void> work, std::string& option) -> awaitable<std::string> {
      try {
        co_await std::move(work);
      } catch (const exception& e) {
        option = e.option();
        co_return e.what();
      }
      co_return "nothing was thrown";
    };
    const std::string where = "lock 'a, b' at " + redis.url();
    const acquire_options wrong{.lease = 1s, .margin = 2s};
    std::string option;
    for (const bool is_list : {false, true}) {
      auto first = is_list ? with_lock(list, wrong, all) : with_lock(std::tuple(a, b), wrong, pair);
      const std::string margin = co_await text_of(std::move(first), option);
      BOOST_TEST(margin == "invalid option: " + where + ": acquire_options::margin");
      BOOST_TEST(option == "acquire_options::margin");
      redis.kill();
      const acquire_options soon{.wait = 100ms};
      auto second = is_list ? with_lock(list, soon, all) : with_lock(std::tuple(a, b), soon, pair);
      const std::string away = co_await text_of(std::move(second), option);
      BOOST_TEST(away.starts_with("unreachable: " + where), away);
      redis.start();
    }
    auto nothing = with_lock(none, all);
    const std::string empty = co_await text_of(std::move(nothing), option);
    BOOST_TEST(empty == "invalid option: no locks were given");
  });
}

// All or none, before one deadline; the exception names them all.
BOOST_AUTO_TEST_CASE(several_locks_of_which_one_is_busy_time_out) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    mutex a(c, "a"), b(c, "b");
    hold other = co_await b.acquire();
    const auto body = [](holds<2>&) -> awaitable<void> { co_return; };
    std::string names;
    try {
      co_await with_lock(std::tuple(a, b), {.wait = 0ms}, body);
    } catch (const exception& e) {
      BOOST_TEST(e.code() == error::timed_out);
      names = e.lock();
    }
    BOOST_TEST(names == "a, b");
    BOOST_TEST(!redis.get("a"));
  });
}

// A caller that is cancelled while it waits for one of several locks, then one whose body runs.
BOOST_AUTO_TEST_CASE(cancelling_the_caller_leaves_none_of_several_locks_held) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    mutex a(c, "a"), b(c, "b");
    const std::vector<mutex> list{a, b};
    for (const bool is_list : {false, true}) {
      for (const bool is_busy : {true, false}) {
        hold busy;
        if (is_busy) busy = co_await b.acquire();
        bool started = false;
        bool ended = false;
        asio::cancellation_signal signal;
        std::optional<std::exception_ptr> result;
        const auto work = [&]() -> awaitable<void> {
          started = true;
          co_await work_until_cancelled(ended);
        };
        const auto pair = [&](holds<2>&) -> awaitable<void> { co_await work(); };
        const auto all = [&](std::vector<hold>&) -> awaitable<void> { co_await work(); };
        auto waiting = is_list ? with_lock(list, all) : with_lock(std::tuple(a, b), pair);
        asio::co_spawn(co_await asio::this_coro::executor, std::move(waiting),
                       asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) { result = e; }));
        if (is_busy) {
          co_await eventually("it waits", [&] { return redis.get("a").has_value(); });
        } else {
          co_await eventually("the body runs", [&] { return started; });
        }
        signal.emit(asio::cancellation_type::terminal);
        co_await eventually("it ends", [&] { return result.has_value(); });
        BOOST_TEST(static_cast<bool>(*result));
        BOOST_TEST(started == !is_busy);
        BOOST_TEST(ended == !is_busy);
        co_await eventually("a is free", [&] { return !redis.get("a"); });
        if (is_busy) co_await busy.release();
        co_await eventually("b is free", [&] { return redis.size() == 0; });
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(close_leaves_several_locks_to_the_body_until_it_has_ended) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    mutex a(c, "a"), b(c, "b");
    bool started = false;
    bool ended = false;
    std::optional<std::exception_ptr> result;
    const auto body = [&](holds<2>&) -> awaitable<void> {
      started = true;
      try {
        co_await work_until_cancelled(ended);
      } catch (const system_error&) {
        BOOST_TEST(redis.size() == 2U);
        throw;
      }
    };
    asio::co_spawn(co_await asio::this_coro::executor, with_lock(std::tuple(a, b), body),
                   [&](std::exception_ptr e) { result = e; });
    co_await eventually("the body runs", [&] { return started; });
    co_await c.close();
    BOOST_TEST(ended);
    BOOST_TEST(redis.size() == 0U);
    co_await eventually("with_lock ends", [&] { return result.has_value(); });
    error_code ec;
    try {
      if (*result) std::rethrow_exception(*result);
    } catch (const system_error& e) {
      ec = e.code();
    }
    BOOST_TEST(ec == error::lost);
  });
}

// As for one hold: what the work or the body does with its holds is its own business.
BOOST_AUTO_TEST_CASE(several_holds_may_be_released_or_taken_along) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    mutex a(c, "a"), b(c, "b");
    const auto releases = [](holds<2>& h) -> awaitable<int> {
      co_await h.release();
      co_await turn();
      co_return 42;
    };
    int result = co_await with_lock(std::tuple(a, b), releases);
    BOOST_TEST(result == 42);
    hold along;
    const auto takes = [&along](holds<2>& h) -> awaitable<void> {
      along = std::move(h[1]);
      co_return;
    };
    co_await with_lock(std::tuple(a, b), takes);
    BOOST_TEST(along.valid());
    BOOST_TEST(!redis.get("a"));
    co_await along.release();
    holds<2> empty;
    const auto work = []() -> awaitable<int> { co_return 7; };
    result = co_await while_held(empty, work());
    BOOST_TEST(result == 7);
    std::vector<hold> none;
    result = co_await while_held(none, work());
    BOOST_TEST(result == 7);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
