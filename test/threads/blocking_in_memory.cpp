// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// leasehold::blocking on the store in memory, as in the unit tests of a threaded program.
#include "support/limit.hpp"
#include "support/unit_test.hpp"

#include <leasehold/blocking.hpp>
#include <leasehold/testing/memory_store.hpp>

#include <chrono>
#include <stop_token>
#include <thread>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(blocking_in_memory)

using namespace std::chrono_literals;
using testing::memory_store;

BOOST_AUTO_TEST_CASE(threads_count_exactly_without_a_server) {
  memory_store store("threads");
  int counter = 0;
  {
    blocking::client c(store.url());
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i) {
      threads.emplace_back([&, lock = blocking::mutex(c, "n")] {
        for (int r = 0; r < 100; ++r) {
          const blocking::hold h = lock.acquire();
          ++counter;
        }
      });
    }
  }
  BOOST_TEST(counter == 1600);
  BOOST_TEST(!store.held("n"));
}

BOOST_AUTO_TEST_CASE(time_that_the_test_moves_ends_waits_and_leases) {
  memory_store store("moved");
  blocking::client c(store.url());
  const blocking::mutex lock(c, "n");
  store.hold_elsewhere("n", 10min);
  error_code ec;
  std::thread waits([&] { static_cast<void>(lock.acquire({.wait = 1min}, ec)); });
  wait_until("it waits", [&] { return c.stats().contended == 1; });
  memory_store::advance(2min);
  waits.join();
  BOOST_TEST(ec == error::timed_out);
  store.release_elsewhere("n");
  blocking::hold h = lock.acquire({.lease = 30s});
  memory_store::advance(31s);
  h.wait_lost();
  BOOST_TEST(!h.valid());
}

BOOST_AUTO_TEST_CASE(a_lock_that_another_program_holds_is_waited_for) {
  memory_store store("elsewhere");
  blocking::client c(store.url());
  const blocking::mutex lock(c, "n");
  store.hold_elsewhere("n");
  std::thread releases([&] {
    wait_until("it waits", [&] { return c.stats().contended == 1; });
    store.release_elsewhere("n");
  });
  BOOST_TEST(lock.acquire().valid());
  releases.join();
}

BOOST_AUTO_TEST_CASE(a_quorum_of_stores_is_locked_by_threads) {
  memory_store a("a"), b("b"), d("d");
  blocking::client c({a.url(), b.url(), d.url()});
  const blocking::mutex lock(c, "n");
  lock.acquire().release();  // A new client counts the servers once it has reached all of them.
  b.stop();
  const blocking::hold h = lock.acquire();
  BOOST_TEST(h.valid());
  BOOST_TEST(a.held("n"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
