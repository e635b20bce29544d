// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Many threads, many processes, several execution contexts.
#include "support/child.hpp"
#include "support/with_redis.hpp"

#include <atomic>
#include <fstream>
#include <thread>

namespace leasehold::test {

namespace {

// Reads a number from a file and writes it back plus one, with a gap in between in which others may do the same.
void increment_file(const std::string& path) {
  std::uint64_t n = 0;
  std::ifstream(path) >> n;
  std::this_thread::yield();
  std::ofstream(path) << n + 1;
}

// Arguments: the URL, the file, coroutines, rounds.
int increment(const std::vector<std::string>& arguments) {
  const std::string& path = arguments.at(1);
  const int coroutines = std::stoi(arguments.at(2));
  const int rounds = std::stoi(arguments.at(3));
  asio::io_context context;
  int failures = 0;
  {
    client c(context, arguments.at(0));
    for (int i = 0; i < coroutines; ++i) {
      const auto work = [](mutex lock, const std::string& file, int times) -> awaitable<void> {
        for (int r = 0; r < times; ++r) {
          hold h = co_await lock.acquire({.retry = {.first = 1ms, .max = 20ms}});
          increment_file(file);
          // A release for which nobody waits must do as well.
          if (r % 2) co_await h.release();
        }
      };
      asio::co_spawn(context, work(mutex(c, "counter"), path, rounds),
                     [&](std::exception_ptr e) { failures += e != nullptr; });
    }
  }
  context.run();
  return failures;
}

const child_program increment_program("increment", increment);

}  // namespace

BOOST_FIXTURE_TEST_SUITE(threads_and_processes, with_redis)

// The promise itself: a number that is read and written back without atomicity is counted exactly.
BOOST_AUTO_TEST_CASE(processes_and_coroutines_count_exactly) {
  temporary_folder folder;
  const std::string path = folder.write("number", "0");
  constexpr int processes = 6;
  constexpr int coroutines = 5;
  constexpr int rounds = 10;
  std::vector<std::unique_ptr<child>> children;
  for (int i = 0; i < processes; ++i) {
    children.push_back(std::make_unique<child>(increment_program.command(
        {i % 2 ? redis.url() : redis.tcp_url(), path, std::to_string(coroutines), std::to_string(rounds)})));
  }
  for (auto& c : children) {
    BOOST_TEST(c->wait() == 0);
    BOOST_TEST(c->errors() == "");
  }
  BOOST_TEST(std::stoi(read_file(path)) == processes * coroutines * rounds);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(an_observer_is_called_by_one_thread_at_a_time) {
  asio::thread_pool pool(3);
  std::atomic<bool> inside{false};
  std::atomic<int> at_once{0};
  int told = 0;  // Not atomic: no two calls are at the same time.
  client_options o;
  o.observer = [&](const event&) {
    if (inside.exchange(true)) ++at_once;
    ++told;
    std::this_thread::yield();
    inside = false;
  };
  {
    client c(pool.get_executor(), redis.url(), o);
    for (int i = 0; i < 20; ++i) {
      const auto work = [](mutex lock) -> awaitable<void> {
        for (int r = 0; r < 50; ++r) {
          hold h = co_await lock.acquire();
          co_await h.release();
        }
      };
      asio::co_spawn(pool, work(mutex(c, "n" + std::to_string(i % 5))), asio::detached);
    }
  }
  pool.join();
  BOOST_TEST(at_once == 0);
  BOOST_TEST(told >= 20 * 50 * 2);
}

BOOST_AUTO_TEST_CASE(coroutines_on_a_thread_pool_count_exactly) {
  asio::thread_pool pool(4);
  int number = 0;  // Not atomic: the lock is what guards it.
  std::atomic<int> failures{0};
  {
    client c(pool.get_executor(), redis.url());
    for (int i = 0; i < 20; ++i) {
      const auto work = [](mutex lock, int& n) -> awaitable<void> {
        for (int r = 0; r < 10; ++r) {
          co_await with_lock(lock, {.retry = {.first = 1ms, .max = 10ms}}, [&n](hold&) -> awaitable<void> {
            const int before = n;
            co_await asio::post(asio::deferred);
            n = before + 1;
          });
        }
      };
      asio::co_spawn(asio::make_strand(pool), work(mutex(c, "n"), number), [&](std::exception_ptr e) {
        if (e) ++failures;
      });
    }
  }
  pool.join();
  BOOST_TEST(failures == 0);
  BOOST_TEST(number == 200);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_context_run_by_two_threads_counts_exactly) {
  asio::io_context context;
  int number = 0;
  std::atomic<int> failures{0};
  {
    client c(context, redis.tcp_url());
    for (int i = 0; i < 20; ++i) {
      const auto work = [](mutex lock, int& n) -> awaitable<void> {
        for (int r = 0; r < 10; ++r) {
          hold h = co_await lock.acquire({.retry = {.first = 1ms, .max = 10ms}});
          const int before = n;
          co_await asio::post(asio::deferred);
          n = before + 1;
          co_await h.release();
        }
      };
      // Boost.Test is for one thread.
      asio::co_spawn(asio::make_strand(context), work(mutex(c, "n"), number), [&](std::exception_ptr e) {
        if (e) ++failures;
      });
    }
  }
  std::thread second([&] { context.run(); });
  context.run();
  second.join();
  BOOST_TEST(failures == 0);
  BOOST_TEST(number == 200);
}

// Const functions from any thread, while others do the same.
BOOST_AUTO_TEST_CASE(any_thread_may_ask_the_client_and_its_locks) {
  asio::io_context context;
  auto work = asio::make_work_guard(context);
  std::thread runner([&] { context.run(); });
  {
    client c(context, redis.url());
    mutex lock(c, "n");
    std::vector<std::thread> threads;
    std::atomic<int> acquired{0};
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 50; ++i) {
          mutex own(c, std::to_string(t));
          hold h = own.acquire(asio::use_future).get();
          if (h.valid()) ++acquired;
          c.stats();
          c.last_refusal();
          lock.inspect(asio::use_future).get();
          if (i % 2) h.release(asio::use_future).get();
        }
      });
    }
    for (auto& t : threads) t.join();
    BOOST_TEST(acquired == 200);
    c.close(asio::use_future).get();
  }
  work.reset();
  runner.join();
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(cancellation_from_another_thread_is_safe) {
  asio::thread_pool pool(3);
  {
    client c(pool.get_executor(), redis.url());
    redis.command("SET", "n", "somebody's");
    for (int i = 0; i < 200; ++i) {
      auto strand = asio::make_strand(pool);
      const auto work = [](mutex lock, int n) -> awaitable<void> {
        auto soon = asio::cancel_after(std::chrono::microseconds(n * 37 % 3000), as_tuple);
        auto [ec, h] = co_await lock.acquire(soon);
        if (ec != asio::error::operation_aborted) throw system_error(ec);
      };
      asio::co_spawn(strand, work(mutex(c, "n"), i), asio::use_future).get();
    }
  }
  pool.join();
  BOOST_TEST(redis.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_coroutine_may_live_on_another_context_than_the_client) {
  asio::io_context clients;
  asio::thread_pool elsewhere(1);
  auto work = asio::make_work_guard(clients);
  std::thread runner([&] { clients.run(); });
  {
    client c(clients, redis.url());
    const auto use = [](mutex lock) -> awaitable<int> {
      const auto here = std::this_thread::get_id();
      int wrong = 0;
      for (int i = 0; i < 20; ++i) {
        hold h = co_await lock.acquire();
        wrong += std::this_thread::get_id() != here;
        co_await h.extend(40s);
        wrong += std::this_thread::get_id() != here;
        co_await h.release();
        wrong += std::this_thread::get_id() != here;
        wrong += co_await with_lock(lock, [here](hold&) -> awaitable<int> {
          co_await turn();
          co_return std::this_thread::get_id() != here;
        });
      }
      co_return wrong;
    };
    const int wrong = asio::co_spawn(elsewhere, use(mutex(c, "n")), asio::use_future).get();
    BOOST_TEST(wrong == 0);
  }
  work.reset();
  runner.join();
  elsewhere.join();
}

// The library starts no thread of its own; a unix socket needs no resolver either.
BOOST_AUTO_TEST_CASE(no_thread_is_started) {
  const auto threads = [] {
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
    }
    return -1;
  };
  const int before = threads();
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    BOOST_TEST(threads() == before);
    co_await h.release();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
