// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Coroutines of one client pass on what several of them hold at a time: permits, readers, the entries of one owner
// (docs/protocol.md, "A cohort of several holds").
#include "simulation/scene.hpp"

#include "support/unit_test.hpp"

#include <leasehold/counting_semaphore.hpp>
#include <leasehold/recursive_mutex.hpp>
#include <leasehold/shared_mutex.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(scenarios)

using namespace simulation;

namespace {

struct crowd : scene {
  explicit crowd(clock::duration way = 1ms) {
    w.fastest = w.slowest = way;
    w.server(0).on_run = [this](const auto&, const auto& arguments, const auto&) {
      ++calls[std::string(arguments[0])];
    };
  }
  // So many coroutines acquire the lock so often, and work for that long each time.
  template <class Lock>
  void add_workers(process& p, const Lock& lock, int number, int rounds, clock::duration work = clock::duration(0)) {
    for (int i = 0; i < number; ++i) {
      spawn(p, [this, &p, lock, rounds, work]() -> awaitable<void> {
        for (int n = 0; n < rounds; ++n) {
          auto waiting = scenarios::acquire(lock, {.lease = 10s});
          auto [ec, h] = co_await std::move(waiting);
          BOOST_REQUIRE(!ec);
          most = std::max(most, ++inside);
          fences.push_back(h.fence());
          if (work != clock::duration(0)) {
            auto pause = p.sleep(work);
            co_await std::move(pause);
          }
          BOOST_TEST(h.valid());
          --inside;
          auto ending = scenarios::release(h);
          BOOST_TEST(!co_await std::move(ending));
        }
      });
    }
  }
  int number_of_calls() const {
    int all = 0;
    for (const auto& [what, n] : calls) all += n;
    return all;
  }
  bool is_free() { return w.server(0).data().execute({"EXISTS", "n", the_queue}).integer == 0; }

  std::map<std::string, int> calls;
  std::vector<std::uint64_t> fences;  // In the order of the grants.
  int inside = 0, most = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(permits_are_passed_on_without_asking) {
  crowd s;
  process& p = s.add();
  s.add_workers(p, counting_semaphore(p.client(), "n", 10), 100, 100, 100us);
  s.finish();
  BOOST_TEST(s.fences.size() == 10000U);
  BOOST_TEST(s.most == 10);
  BOOST_TEST(s.number_of_calls() < 250);
  // In the order of the grants, each has its own.
  BOOST_TEST(std::is_sorted(s.fences.begin(), s.fences.end(), std::less_equal<>()));
  s.wait(1s);
  BOOST_TEST(s.is_free());
}

BOOST_AUTO_TEST_CASE(readers_are_passed_on_without_asking) {
  crowd s;
  process& p = s.add();
  s.add_workers(p, shared_mutex(p.client(), "n").shared(), 100, 100);
  s.finish();
  BOOST_TEST_MESSAGE(s.number_of_calls());
  BOOST_TEST(s.fences.size() == 10000U);
  BOOST_TEST(s.number_of_calls() < 1000);
  s.wait(1s);
  BOOST_TEST(s.is_free());
}

BOOST_AUTO_TEST_CASE(entries_of_an_owner_are_passed_on_without_asking) {
  crowd s;
  process& p = s.add();
  s.add_workers(p, recursive_mutex(p.client(), "n", "o"), 100, 100);
  s.finish();
  BOOST_TEST(s.fences.size() == 10000U);
  BOOST_TEST(s.number_of_calls() < 1000);
  s.wait(1s);
  BOOST_TEST(s.is_free());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
