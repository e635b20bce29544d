// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What may happen to those who wait in the queue, and to who has just been granted.
#include "protocol/scripts.hpp"
#include "simulation/with_memory.hpp"
#include "store/memory/server.hpp"

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::test {

namespace {

struct with_queue_under_faults : with_memory {
  static client_options quick() {
    client_options o;
    o.command_timeout = 300ms;
    o.connect_timeout = 1s;
    o.reconnect = {.first = 5ms, .max = 20ms, .factor = 2.0, .jitter = 0.5};
    return o;
  }
  std::int64_t in_queue() { return redis.command("ZCARD", the_queue).integer; }
  awaitable<void> wait_in_queue(std::int64_t n) {
    co_await eventually("it waits in the queue", [this, n] { return in_queue() == n; });
  }
  awaitable<void> nothing_left() {
    co_await eventually("nothing is left", [this] { return redis.size() == 0; });
  }
  std::string place(int n) {
    const auto r = redis.command("ZRANGE", the_queue, std::to_string(n), std::to_string(n));
    return r.items.empty() ? "" : r.items[0].text;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(faults_in_queue, with_queue_under_faults)

namespace {

const std::string entries_key = "leasehold:{0}:entries:n";

// What a dead waiter costs the queue: its grant lasts 2 s, and the next waiter in the queue polls within 667 ms.
constexpr auto soon = 2700ms;

struct waiter {
  waiter(const asio::any_io_executor& e, const std::string& url, const client_options& o = {})
      : c(e, url, o), lock(c, "n") {}

  client c;
  mutex lock;
  std::optional<error_code> ec;
  hold got;
  std::chrono::steady_clock::time_point at;

  bool ended() const { return ec.has_value(); }
  void acquire(acquire_options o = {}) {
    ec.reset();
    lock.acquire(o, [this](error_code e, hold h) {
      ec = e;
      got = std::move(h);
      at = now();
    });
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_holder_that_is_killed_lets_the_first_in_the_queue_in) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    other_program holder(redis);
    const hold* const its = co_await holder.keep(mutex(holder.client(), "n"), {.lease = 1500ms});
    const auto fence = its->fence();
    std::deque<waiter> all;
    for (int i = 0; i < 3; ++i) {
      all.emplace_back(executor, redis.url()).acquire();
      co_await wait_in_queue(i + 1);
    }
    holder.die();
    auto last = fence;
    for (auto& w : all) {
      co_await eventually("the next has it", [&] { return w.ended(); });
      BOOST_TEST(w.got.fence() > last);
      last = w.got.fence();
      co_await w.got.release();
    }
    co_await nothing_left();
  });
}

// It was told "busy" once, and nothing any more.
BOOST_AUTO_TEST_CASE(a_wait_that_ends_without_an_answer_to_its_last_question_is_unreachable) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client first(executor, redis.url(), patient());
    hold h = co_await mutex(first, "n").acquire({.lease = 60s, .renew = renewal::none});
    waiter w(executor, redis.url(), patient());
    w.acquire({.wait = 3s});
    co_await wait_in_queue(1);
    redis.stop();
    co_await eventually("it ends", [&] { return w.ended(); });
    BOOST_TEST(*w.ec == error::unreachable);
    BOOST_TEST(!w.got.valid());
    redis.go_on();
    co_await h.release();
    co_await nothing_left();
  });
}

// A waiter behind another one of its client joins anew when that one is granted: the answer was that the lock is busy,
// and it is.
BOOST_AUTO_TEST_CASE(a_wait_that_ends_while_its_entry_is_made_anew_has_timed_out) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    gate network(redis);
    network.slow(50ms);
    client d(executor, redis.url());
    client c(executor, network.url(), patient());
    co_await c.ready();
    mutex lock(c, "n");
    for (auto when = 800ms; when <= 1000ms; when += 10ms) {
      hold h = co_await mutex(d, "n").acquire({.lease = 60s, .renew = renewal::none});
      hold first, third;
      std::optional<error_code> second;
      const auto start = now();
      lock.acquire([&](error_code, hold g) { first = std::move(g); });
      lock.acquire({.wait = 1s}, [&](error_code ec, hold) { second = ec; });
      lock.acquire([&](error_code, hold g) { third = std::move(g); });
      co_await wait_in_queue(1);
      co_await pause(start + when - now());
      co_await h.release();
      co_await eventually("the first is in", [&] { return first.valid(); });
      co_await eventually("the second has waited in vain", [&] { return second.has_value(); });
      BOOST_TEST(*second == error::timed_out, second->message());
      co_await first.release();
      co_await eventually("the third is in", [&] { return third.valid(); });
      co_await third.release();
    }
    co_await nothing_left();
  });
}

// C1, C2: dead, or frozen, in the queue: nobody waits for its lease of ten minutes.
BOOST_AUTO_TEST_CASE(who_is_granted_and_dead_costs_the_queue_a_short_time) {
  for (const bool killed : {true, false}) {
    BOOST_TEST_CONTEXT((killed ? "killed" : "frozen")) {
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        waiter first(executor, redis.url());
        first.acquire();
        co_await eventually("it is acquired", [&] { return first.ended(); });
        other_program other(redis);
        std::uint64_t its_fence = 0;
        bool its_was_valid = false;
        other.start([&]() -> awaitable<void> {
          const hold h = co_await mutex(other.client(), "n").acquire({.lease = 10min});
          its_fence = h.fence();
          its_was_valid = h.valid();
          co_await pause(1s);
        });
        co_await wait_in_queue(1);
        waiter second(executor, redis.url());
        second.acquire();
        co_await wait_in_queue(2);
        killed ? other.die() : other.stop();
        const std::string dead = place(0);
        co_await first.got.release();
        const auto start = now();
        co_await eventually("the second has it", [&] { return second.ended(); });
        BOOST_TEST((second.at - start < soon));
        BOOST_TEST(second.got.valid());
        const auto fence = second.got.fence();
        if (!killed) {
          // It thaws with a grant from long ago in its socket.
          other.go_on();
          co_await eventually("it has polled", [&] {
            // Its place is kept, and it is alive again: its next poll is due.
            const auto e = redis.command("HGET", entries_key, dead);
            const auto t = redis.command("TIME");
            return !e.is_nil() &&
                   std::stoll(e.text.substr(e.text.rfind(' ') + 1)) / 1000000 >= std::stoll(t.items[0].text);
          });
          BOOST_TEST(its_fence == 0U);
          BOOST_TEST(redis.get("n").value().find(second.got.token()) != std::string::npos);
          co_await second.got.release();
          co_await eventually("it has it", [&] { return its_fence != 0; });
          BOOST_TEST(its_was_valid);
          BOOST_TEST(its_fence > fence);
        } else {
          co_await second.got.release();
        }
        other.die();
        redis.command("FLUSHALL");
      });
    }
  }
}

// A10.
BOOST_AUTO_TEST_CASE(all_who_wait_get_in_though_the_server_forgets_everything) {
  for (const bool restarted : {true, false}) {
    BOOST_TEST_CONTEXT((restarted ? "restarted empty" : "FLUSHALL")) {
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        waiter first(executor, redis.url(), quick());
        first.acquire({.lease = 5s});
        co_await eventually("it is acquired", [&] { return first.ended(); });
        std::deque<waiter> all;
        for (int i = 0; i < 3; ++i) {
          all.emplace_back(executor, redis.url(), quick()).acquire();
          co_await wait_in_queue(i + 1);
        }
        if (restarted) {
          redis.kill();
          redis.start();
        } else {
          redis.command("FLUSHALL");
        }
        std::uint64_t fence = first.got.fence();
        for (int i = 0; i < 3; ++i) {
          waiter* now = nullptr;
          co_await eventually("somebody has it", [&] {
            for (auto& w : all) {
              if (w.got.valid()) now = &w;
            }
            return now != nullptr;
          });
          int inside = 0;
          for (auto& w : all) inside += w.got.valid() ? 1 : 0;
          BOOST_TEST(inside == 1);
          BOOST_TEST(now->got.fence() > fence);
          fence = now->got.fence();
          co_await now->got.release();
        }
        co_await eventually("the hold of before is lost", [&] { return !first.got.valid(); });
        co_await nothing_left();
      });
    }
  }
}

// One call passes over 32: those behind get in all the same, one after the other.
BOOST_AUTO_TEST_CASE(a_crowd_of_dead_entries_in_front_is_passed_over) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    waiter first(executor, redis.url());
    first.acquire();
    co_await eventually("it is acquired", [&] { return first.ended(); });
    const std::string text(detail::scripts::mutex.text);
    const std::string fence_counter = "leasehold:{0}:fence";
    for (int i = 0; i < 80; ++i) {
      const std::string token = "dead." + std::to_string(i);
      redis.command("EVAL", text, "4", "n", fence_counter, the_queue, entries_key, "acquire", token, "600000",
                    "9007199254740991", "1");
      // Silent, but not for long enough to be taken out.
      const std::int64_t due = std::stoll(redis.command("TIME").items[0].text) * 1000000 - 2000000;
      redis.command("HSET", entries_key, token, "1 600000 " + std::to_string(due));
    }
    std::deque<waiter> all;
    for (int i = 0; i < 3; ++i) {
      all.emplace_back(executor, redis.url()).acquire();
      co_await wait_in_queue(80 + i + 1);
    }
    co_await first.got.release();
    for (int i = 0; i < 3; ++i) {
      const auto start = now();
      waiter* now = nullptr;
      co_await eventually("somebody has it", [&] {
        for (auto& w : all) {
          if (w.got.valid()) now = &w;
        }
        return now != nullptr;
      });
      // If several die at once.
      BOOST_TEST((now->at - start < 8s));
      co_await now->got.release();
    }
  });
  // Nobody polls any more: Redis itself forgets the dead.
  BOOST_TEST(redis.ttl(the_queue) <= 60000);
  BOOST_TEST((redis.ttl(the_queue) > 0 || in_queue() == 0));
}

// Redis stands still for longer than a poll may be late, while a release, a newcomer's attempt and the waiter's poll
// are on their way to it, in any order: the waiter is next all the same.
BOOST_AUTO_TEST_CASE(a_server_that_stood_still_lets_no_newcomer_overtake) {
  for (const bool release_first : {true, false}) {
    for (const auto length : {100ms, 2000ms, 20000ms}) {
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client holder(executor, redis.url(), patient());
        hold h = co_await mutex(holder, "n").acquire({.lease = 60s, .renew = renewal::none});
        waiter waiting(executor, redis.url(), patient());
        waiting.acquire();
        co_await wait_in_queue(1);
        redis.stop();
        outcome released;
        std::string newcomer;
        const auto release = [&]() -> awaitable<void> {
          h.release(released.handler());
          co_await pause(10ms);
        };
        const auto come = [&] {
          redis.server().arrive([&newcomer](detail::memory::server& s) {
            const std::array<std::string_view, 4> keys{"n", "leasehold:{0}:fence", the_queue, entries_key};
            const std::array<std::string_view, 5> arguments{"acquire", "new.1", "30000", "9007199254740991", ""};
            newcomer = s.eval(detail::scripts::mutex.text, keys, arguments).text;
          });
        };
        if (release_first) co_await release();
        come();
        if (!release_first) co_await release();
        co_await pause(length);
        redis.go_on();
        BOOST_TEST(newcomer.starts_with("0 "), newcomer);
        co_await eventually("the waiter has it", [&] { return waiting.ended(); });
        BOOST_TEST(!*waiting.ec);
        co_await eventually("the release has ended", [&] { return released.ended(); });
        BOOST_TEST(!*released.ec);
        co_await waiting.got.release();
        redis.command("FLUSHALL");
      });
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
