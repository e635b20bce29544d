// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Some threads start operations while another closes the client, or ends the context.
#include "support/with_redis.hpp"

#include <leasehold/admin.hpp>

#include <array>
#include <atomic>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

namespace leasehold::test {

namespace {

// What began and what ended, of all threads.
struct tally {
  std::array<std::atomic<int>, 9> open{};  // Of each kind of operation.
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  std::atomic<int> wrong{0};  // Ended with something that closing does not explain.

  void note(std::size_t kind, error_code ec) {
    --open[kind];
    if (ec && ec != error::closed && ec != error::lost && ec != error::not_held && ec != asio::error::operation_aborted)
      ++wrong;
    ++ended;
  }
};

// One of everything that a client can be asked for, again and again until it says closed.
void ask_until_closed(client c, tally& t, std::atomic<bool>& closed, int thread) {
  mutex lock(c, "m" + std::to_string(thread % 2));
  recursive_mutex again(c, "r", "owner" + std::to_string(thread));
  shared_mutex shared(c, "s");
  counting_semaphore permits(c, "c", 2);
  const auto end = [&t](std::size_t kind) { return [&t, kind](error_code ec, auto&&...) { t.note(kind, ec); }; };
  const auto strand = asio::make_strand(c.get_executor());
  // A hold is released when its handler returns.
  const auto begin = [&t](std::size_t kind) {
    ++t.open[kind];
    ++t.begun;
  };
  for (int i = 0; !closed || i < 50; ++i) {
    begin(0);
    lock.acquire({.lease = 2s, .wait = limit}, end(0));
    begin(1);
    again.acquire({.lease = 2s, .wait = limit}, end(1));
    begin(2);
    shared.acquire_shared({.lease = 2s, .wait = limit}, end(2));
    begin(3);
    permits.try_acquire({.lease = 2s}, end(3));
    begin(4);
    lock.inspect(end(4));
    begin(5);
    c.ready(end(5));
    begin(6);
    show(c, "m0", end(6));
    begin(7);
    lock.acquire({.lease = 2s, .wait = limit}, [&t](error_code ec, hold h) {
      if (ec) return t.note(7, ec);
      auto kept = std::make_shared<hold>(std::move(h));
      kept->extend(3s, [&t, kept](error_code) { kept->release([&t, kept](error_code failed) { t.note(7, failed); }); });
    });
    begin(8);
    // A time-out and what it cancels are for one strand.
    auto on_strand = asio::bind_executor(strand, end(8));
    asio::dispatch(strand, [lock, i, on_strand] {
      lock.acquire({.lease = 2s}, asio::cancel_after(std::chrono::microseconds(i * 31 % 500), on_strand));
    });
    c.stats();
    c.last_refusal();
    c.last_failure();
    // The others shall have their turn, and the queue shall not grow without bound.
    while (t.begun - t.ended > 300 && !closed) std::this_thread::yield();
  }
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(closing, with_redis)

BOOST_AUTO_TEST_CASE(operations_that_begin_while_another_thread_closes_all_end) {
  for (int round = 0; round < 8; ++round) {
    asio::thread_pool pool(2);
    tally t;
    {
      client_options o;
      o.command_timeout = limit;
      o.connect_timeout = limit;
      client c(pool.get_executor(), round % 2 ? redis.url() : redis.tcp_url(), o);
      std::atomic<bool> closed{false};
      std::latch ready(4);
      std::vector<std::thread> threads;
      for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&, i] {
          ready.arrive_and_wait();
          ask_until_closed(c, t, closed, i);
        });
      }
      ready.arrive_and_wait();
      // At a moment that is another in each round.
      while (t.ended < round * 40) std::this_thread::yield();
      c.close(asio::use_future).get();
      closed = true;
      for (auto& thread : threads) thread.join();
      BOOST_TEST(c.stats().held == 0U);
    }
    pool.join();
    BOOST_TEST(t.begun == t.ended);
    for (std::size_t kind = 0; kind < t.open.size(); ++kind) BOOST_TEST(t.open[kind] == 0, "kind " << kind);
    BOOST_TEST(t.wrong == 0);
    // What was granted was released.
    BOOST_TEST(redis.size() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(several_threads_may_close) {
  for (int round = 0; round < 20; ++round) {
    asio::thread_pool pool(2);
    std::atomic<int> failed{0};
    {
      client c(pool.get_executor(), redis.url());
      hold h = mutex(c, "n").acquire(asio::use_future).get();
      std::latch ready(3);
      std::vector<std::thread> threads;
      for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&, copy = c] {
          ready.arrive_and_wait();
          try {
            copy.close(asio::use_future).get();
          } catch (const system_error&) {
            ++failed;
          }
        });
      }
      for (auto& thread : threads) thread.join();
      BOOST_TEST(!h.valid());
    }
    pool.join();
    BOOST_TEST(failed == 0);
    BOOST_TEST(redis.size() == 0U);
  }
}

// The last handle goes on a thread that does not run the context, or the context stops under the operations.
BOOST_AUTO_TEST_CASE(handles_and_contexts_end_on_any_thread) {
  for (int round = 0; round < 20; ++round) {
    auto pool = std::make_unique<asio::thread_pool>(2);
    std::optional<client> c(std::in_place, pool->get_executor(), redis.url());
    std::optional<mutex> lock(std::in_place, *c, "n");
    c.reset();
    std::vector<std::thread> threads;
    std::atomic<int> ended{0};
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&, copy = *lock] {
        for (int n = 0; n < 20; ++n) copy.acquire({.lease = 1s}, [&](error_code, hold) { ++ended; });
      });
    }
    for (auto& thread : threads) thread.join();
    std::thread last([&] { lock.reset(); });
    if (round % 2) pool->stop();
    last.join();
    pool->join();
    if (round % 2 == 0) BOOST_TEST(ended == 40);
    pool.reset();
  }
}

// A hold's loss and its release meet on two threads.
BOOST_AUTO_TEST_CASE(a_hold_that_is_lost_while_it_is_released_ends_once) {
  asio::thread_pool pool(2);
  {
    client c(pool.get_executor(), redis.url());
    std::atomic<int> told{0};
    for (int i = 0; i < 100; ++i) {
      hold h = mutex(c, "n" + std::to_string(i)).acquire({.lease = 2s}, asio::use_future).get();
      h.lost([&](error_code) { ++told; });
      if (i % 2) redis.command("DEL", "n" + std::to_string(i));
      std::thread other([&] { c.stats(); });
      auto extended = h.extend(3s, asio::as_tuple(asio::use_future));
      h.release(asio::as_tuple(asio::use_future)).get();
      extended.get();
      other.join();
    }
    c.close(asio::use_future).get();
    wait_until("all are told", [&] { return told == 100; });
  }
  pool.join();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
