// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Destruction in every order, with connections to real servers: none may crash, hang, leak, or leave a lock behind that
// could have been released. What does not depend on connections: test/simulation/locks/lifetimes.cpp.
#include "support/program.hpp"
#include "support/with_redis.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

namespace leasehold::test {

namespace {

// Calls f with each permutation of the letters.
template <class F>
void permute(std::string letters, F f) {
  std::sort(letters.begin(), letters.end());
  do {
    BOOST_TEST_CONTEXT("order " << letters) { f(letters); }
  } while (std::next_permutation(letters.begin(), letters.end()));
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(lifetimes, with_redis)

BOOST_AUTO_TEST_CASE(run_returns_when_the_last_handle_is_gone_and_the_release_went_out_first) {
  permute("clh", [&](const std::string& order) {
    program w(redis);
    w.acquire();
    for (const char what : order) w.destroy(what);
    run_to_end(*w.context);
    BOOST_TEST(!redis.get("n"));
  });
}

BOOST_AUTO_TEST_CASE(the_context_may_go_at_any_time) {
  permute("clhx", [&](const std::string& order) {
    program w(redis);
    w.acquire();
    for (const char what : order) w.destroy(what);
    redis.command("DEL", "n");
  });
}

BOOST_AUTO_TEST_CASE(the_context_may_go_with_turns_in_between) {
  permute("clhx", [&](const std::string& order) {
    program w(redis);
    w.acquire();
    for (const char what : order) {
      w.destroy(what);
      if (w.context) w.context->poll();
    }
    redis.command("DEL", "n");
  });
}

// Operations in every state when the context goes: their handlers are destroyed and not called, and nothing leaks.
BOOST_AUTO_TEST_CASE(the_context_may_go_with_operations_pending) {
  struct state {
    const char* name;
    std::function<void(program&, std::function<void()>)> start;
  };
  const std::vector<state> states = {
      {"connecting",
       [&](program& w, std::function<void()> f) {
         w.c->ready([f](error_code) { f(); });
         w.lock->acquire([f](error_code, hold) { f(); });
       }},
      {"asking",
       [&](program& w, std::function<void()> f) {
         bool up = false;
         w.c->ready([&](error_code) { up = true; });
         w.run_until([&] { return up; });
         redis.stop();
         const auto commands = w.c->stats().commands;
         w.lock->acquire([f](error_code, hold) { f(); });
         w.lock->try_acquire([f](error_code, std::optional<hold>) { f(); });
         w.lock->inspect([f](error_code, lock_info) { f(); });
         w.run_until([&] { return w.c->stats().commands == commands + 3; });
       }},
      {"pausing",
       [&](program& w, std::function<void()> f) {
         redis.command("SET", "n", "somebody's");
         w.lock->acquire({.retry = {.first = 1h, .max = 1h, .factor = 1.0, .jitter = 0.0}},
                         [f](error_code, hold) { f(); });
         w.run_until([&] { return w.c->stats().contended == 1; });
         w.context->poll();
       }},
      {"holding",
       [&](program& w, std::function<void()> f) {
         w.acquire();
         w.held->lost([f](error_code) { f(); });
         w.held->lost([f](error_code) { f(); });
         w.context->poll();
       }},
      {"releasing",
       [&](program& w, std::function<void()> f) {
         w.acquire();
         redis.stop();
         w.held->release([f](error_code) { f(); });
         w.context->poll();
       }},
      {"extending",
       [&](program& w, std::function<void()> f) {
         w.acquire();
         redis.stop();
         w.held->extend(1s, [f](error_code) { f(); });
         w.context->poll();
       }},
      {"closing",
       [&](program& w, std::function<void()> f) {
         w.acquire();
         redis.stop();
         w.c->close([f](error_code) { f(); });
         w.context->poll();
       }},
      {"leaving",
       [&](program& w, std::function<void()> f) {
         bool up = false;
         w.c->ready([&](error_code) { up = true; });
         w.run_until([&] { return up; });
         redis.stop();
         auto signal = std::make_shared<asio::cancellation_signal>();
         w.lock->acquire(asio::bind_cancellation_slot(signal->slot(), [f, signal](error_code, hold) { f(); }));
         w.context->poll();
         signal->emit(asio::cancellation_type::terminal);
         w.context->poll();
       }},
  };
  for (const auto& s : states) {
    for (const std::string order : {"xhlc", "clhx", "hxcl"}) {
      BOOST_TEST_CONTEXT(s.name << ", order " << order) {
        auto called = std::make_shared<int>(0);
        {
          program w(redis);
          s.start(w, [called] { ++*called; });
          for (const char what : order) w.destroy(what);
          BOOST_TEST(*called == 0);
        }
        BOOST_TEST(called.use_count() == 1);
      }
      redis.go_on();
      redis.command("FLUSHALL");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_client_that_never_connects_may_be_dropped) {
  redis.stop();
  asio::io_context context;
  {
    client c(context, redis.url());
    mutex lock(c, "n");
  }
  run_to_end(context);
  {
    client c(context, "redis://127.0.0.1:" + std::to_string(free_port()));
    run_for(context, 20ms);
  }
  run_to_end(context);
  redis.go_on();
}

BOOST_AUTO_TEST_CASE(a_coroutine_that_is_destroyed_with_its_context_takes_everything_along) {
  asio::io_context context;
  bool inside = false;
  asio::co_spawn(
      context,
      [&]() -> awaitable<void> {
        client c(co_await asio::this_coro::executor, redis.url());
        mutex lock(c, "n");
        co_await with_lock(lock, [&](hold& h) -> awaitable<void> {
          inside = true;
          co_await h.lost();
        });
      },
      asio::detached);
  run_until(context, [&] { return inside; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
