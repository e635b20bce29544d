// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// Destruction in every order: none may crash, hang, leak, or leave a lock behind that could have been given back.
#include "support/with_redis.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <vector>

namespace leasehold::test {

namespace {

// Everything that a program may have, each destructible by itself.
struct world {
  std::unique_ptr<asio::io_context> context = std::make_unique<asio::io_context>();
  std::optional<client> c;
  std::optional<mutex> lock;
  std::optional<hold> held;

  explicit world(const redis_server& redis, const client_options& options = {}) {
    c.emplace(*context, redis.url(), options);
    lock.emplace(*c, "n");
  }
  void acquire() {
    lock->acquire([this](error_code ec, hold h) {
      BOOST_TEST(!ec);
      held.emplace(std::move(h));
    });
    run_until([this] { return held.has_value(); });
  }
  template <class Condition>
  void run_until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      BOOST_REQUIRE(std::chrono::steady_clock::now() < end);
      context->restart();
      context->run_one_for(10ms);
    }
  }
  void destroy(char what) {
    switch (what) {
      case 'c': c.reset(); break;
      case 'l': lock.reset(); break;
      case 'h': held.reset(); break;
      case 'x': context.reset(); break;
      default: break;
    }
  }
};

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
    world w(redis);
    w.acquire();
    for (const char what : order) w.destroy(what);
    run_to_end(*w.context);
    BOOST_TEST(!redis.get("n"));
  });
}

BOOST_AUTO_TEST_CASE(the_context_may_go_at_any_time) {
  permute("clhx", [&](const std::string& order) {
    world w(redis);
    w.acquire();
    for (const char what : order) w.destroy(what);
    redis.command("DEL", "n");
  });
}

BOOST_AUTO_TEST_CASE(the_context_may_go_with_turns_in_between) {
  permute("clhx", [&](const std::string& order) {
    world w(redis);
    w.acquire();
    for (const char what : order) {
      w.destroy(what);
      if (w.context) w.context->poll();
    }
    redis.command("DEL", "n");
  });
}

BOOST_AUTO_TEST_CASE(nothing_is_done_after_the_context_has_gone) {
  world w(redis);
  w.acquire();
  w.context.reset();
  BOOST_TEST(w.held->name() == "n");
  BOOST_TEST(w.held->token() != "");
  client copy = *w.c;
  mutex another(copy, "m");
  BOOST_TEST(!copy.get_executor());
  BOOST_TEST(!another.get_executor());
  BOOST_TEST(copy.stats().acquired == 1U);
  BOOST_TEST(copy.last_refusal() == "");
  hold moved = std::move(*w.held);
  BOOST_TEST(moved.expires_at() > std::chrono::steady_clock::now());
  // Operations may be started and do nothing; their handlers are destroyed.
  auto flag = std::make_shared<int>(0);
  copy.ready([flag](error_code) { *flag = 1; });
  copy.close([flag](error_code) { *flag = 1; });
  another.acquire([flag](error_code, hold) { *flag = 1; });
  another.try_acquire([flag](error_code, std::optional<hold>) { *flag = 1; });
  another.inspect([flag](error_code, lock_info) { *flag = 1; });
  moved.extend(1s, [flag](error_code) { *flag = 1; });
  moved.lost([flag](error_code) { *flag = 1; });
  moved.downgrade([flag](error_code) { *flag = 1; });
  moved.release([flag](error_code) { *flag = 1; });
  BOOST_TEST(*flag == 0);
  BOOST_TEST(flag.use_count() == 1);
  // The server still has it: it ends with its lease.
  BOOST_TEST(redis.get("n").has_value());
}

// Operations in every state when the context goes: their handlers are destroyed and not called, and nothing leaks.
BOOST_AUTO_TEST_CASE(the_context_may_go_with_operations_pending) {
  struct state {
    const char* name;
    std::function<void(world&, std::function<void()>)> start;
  };
  const std::vector<state> states = {
      {"connecting",
       [&](world& w, std::function<void()> f) {
         w.c->ready([f](error_code) { f(); });
         w.lock->acquire([f](error_code, hold) { f(); });
       }},
      {"asking",
       [&](world& w, std::function<void()> f) {
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
       [&](world& w, std::function<void()> f) {
         redis.command("SET", "n", "somebody's");
         w.lock->acquire({.retry = {.first = 1h, .max = 1h, .factor = 1.0, .jitter = 0.0}},
                         [f](error_code, hold) { f(); });
         w.run_until([&] { return w.c->stats().contended == 1; });
         w.context->poll();
       }},
      {"holding",
       [&](world& w, std::function<void()> f) {
         w.acquire();
         w.held->lost([f](error_code) { f(); });
         w.held->lost([f](error_code) { f(); });
         w.context->poll();
       }},
      {"releasing",
       [&](world& w, std::function<void()> f) {
         w.acquire();
         redis.stop();
         w.held->release([f](error_code) { f(); });
         w.context->poll();
       }},
      {"extending",
       [&](world& w, std::function<void()> f) {
         w.acquire();
         redis.stop();
         w.held->extend(1s, [f](error_code) { f(); });
         w.context->poll();
       }},
      {"closing",
       [&](world& w, std::function<void()> f) {
         w.acquire();
         redis.stop();
         w.c->close([f](error_code) { f(); });
         w.context->poll();
       }},
      {"leaving",
       [&](world& w, std::function<void()> f) {
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
          world w(redis);
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

// A deferred operation may be stored, and started or destroyed, after the object it came from has gone.
BOOST_AUTO_TEST_CASE(deferred_operations_outlive_their_objects) {
  world w(redis);
  bool up = false;
  w.c->ready([&](error_code) { up = true; });
  w.run_until([&] { return up; });
  {
    // Destroyed, never started.
    auto unused = w.lock->acquire();
    auto unused_close = w.c->close();
  }
  auto acquire = w.lock->acquire();
  auto inspect = w.lock->inspect();
  auto close = w.c->close();
  w.lock.reset();
  w.c.reset();
  std::optional<hold> got;
  std::move(acquire)([&](error_code ec, hold h) {
    BOOST_TEST(!ec);
    got = std::move(h);
  });
  w.run_until([&] { return got.has_value(); });
  auto release = got->release();
  auto lost = got->lost();
  auto extend = got->extend(10s);
  auto dropped = got->lost();
  got.reset();
  outcome o[4];
  std::move(lost)(o[0].handler());
  std::move(extend)(o[1].handler());
  std::move(release)(o[2].handler());
  bool inspected = false;
  std::move(inspect)([&](error_code ec, lock_info) {
    BOOST_TEST(!ec);
    inspected = true;
  });
  w.run_until([&] { return o[0].ended() && o[1].ended() && o[2].ended() && inspected; });
  for (int i = 0; i < 3; ++i) BOOST_TEST(*o[i].ec == error::not_held);
  std::move(close)(o[3].handler());
  run_to_end(*w.context);
  BOOST_TEST(o[3].ended());
  BOOST_TEST(!redis.get("n"));
}

BOOST_AUTO_TEST_CASE(deferred_operations_may_be_started_after_the_context_has_gone) {
  world w(redis);
  w.acquire();
  auto acquire = w.lock->acquire();
  auto release = w.held->release();
  auto close = w.c->close();
  w.context.reset();
  auto flag = std::make_shared<int>(0);
  std::move(acquire)([flag](error_code, hold) { *flag = 1; });
  std::move(release)([flag](error_code) { *flag = 1; });
  std::move(close)([flag](error_code) { *flag = 1; });
  BOOST_TEST(*flag == 0);
  BOOST_TEST(flag.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_hold_alone_keeps_its_lease_alive) {
  world w(redis);
  w.lock->acquire({.lease = 600ms}, [&](error_code, hold h) { w.held.emplace(std::move(h)); });
  w.run_until([&] { return w.held.has_value(); });
  w.lock.reset();
  w.c.reset();
  const auto first = w.held->expires_at();
  w.run_until([&] { return w.held->expires_at() > first + 1200ms || !w.held->valid(); });
  BOOST_TEST(w.held->valid());
  w.held.reset();
  run_to_end(*w.context);
  BOOST_TEST(!redis.get("n"));
}

BOOST_AUTO_TEST_CASE(a_waiting_operation_alone_keeps_the_client_alive) {
  world w(redis);
  redis.command("SET", "n", "somebody's", "PX", "100");
  bool acquired = false;
  w.lock->acquire([&](error_code ec, hold h) {
    BOOST_TEST(!ec);
    acquired = h.valid();
  });
  w.lock.reset();
  w.c.reset();
  run_to_end(*w.context);
  BOOST_TEST(acquired);
  BOOST_TEST(!redis.get("n"));
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
    context.restart();
    context.run_for(20ms);
  }
  run_to_end(context);
  redis.go_on();
}

// With the store gone a dropped hold must not keep run() for longer than its lease and the client's time-out.
BOOST_AUTO_TEST_CASE(run_returns_though_the_release_cannot_be_sent) {
  client_options o;
  o.connect_timeout = 200ms;
  world w(redis, o);
  w.lock->acquire({.lease = 1s}, [&](error_code, hold h) { w.held.emplace(std::move(h)); });
  w.run_until([&] { return w.held.has_value(); });
  redis.kill();
  w.held.reset();
  w.lock.reset();
  w.c.reset();
  run_to_end(*w.context);
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
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!inside && std::chrono::steady_clock::now() < end) context.run_one_for(10ms);
  BOOST_TEST(inside);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
