// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "time/clock.hpp"

#include "support/unit_test.hpp"

#include <chrono>

using namespace std::chrono_literals;
using leasehold::clock;
using leasehold::detail::later;
using leasehold::detail::to_steady;
using leasehold::detail::wait_traits;

BOOST_AUTO_TEST_SUITE(clock_and_sums)

BOOST_AUTO_TEST_CASE(a_sum_is_exact_while_it_fits) {
  const clock::time_point t(5s);
  BOOST_TEST(later(t, 3s) == clock::time_point(8s));
  BOOST_TEST(later(t, -3s) == clock::time_point(2s));
  BOOST_TEST(later(t, 0ms) == t);
  BOOST_TEST(later(t, 1ns) == clock::time_point(5s + 1ns));
}

BOOST_AUTO_TEST_CASE(a_sum_that_does_not_fit_is_the_latest_time) {
  const clock::time_point t = clock::now();
  BOOST_TEST(later(t, std::chrono::milliseconds::max()) == clock::time_point::max());
  BOOST_TEST(later(t, std::chrono::hours(24 * 365 * 400)) == clock::time_point::max());
  BOOST_TEST(later(t, clock::duration::max()) == clock::time_point::max());
  BOOST_TEST(later(clock::time_point::max(), 0ms) == clock::time_point::max());
  BOOST_TEST(later(clock::time_point::max(), 1ms) == clock::time_point::max());
  BOOST_TEST(later(clock::time_point::max() - 1ms, 1ms) == clock::time_point::max());
  BOOST_TEST(later(clock::time_point::max() - 2ms, 1ms) == clock::time_point::max() - 1ms);
}

BOOST_AUTO_TEST_CASE(the_clock_does_not_go_back) {
  auto last = clock::now();
  for (int i = 0; i < 10000; ++i) {
    const auto now = clock::now();
    BOOST_REQUIRE(now >= last);
    last = now;
  }
}

// A9: the conversion may be early, never late.
BOOST_AUTO_TEST_CASE(an_instant_by_steady_clock_is_never_later) {
  for (int i = 0; i < 1000; ++i) {
    const auto steady_before = std::chrono::steady_clock::now();
    const auto now = clock::now();
    const auto converted = to_steady(now + 10s);
    const auto steady_after = std::chrono::steady_clock::now();
    BOOST_REQUIRE(converted <= steady_after + 10s);
    // It is early by what passes between two readings of a clock, and by what is less than a sleep of the machine.
    BOOST_REQUIRE(converted >= steady_before + 10s - (steady_after - steady_before) - 1ms);
  }
  BOOST_TEST(to_steady(clock::time_point::max()) == std::chrono::steady_clock::time_point::max());
  BOOST_TEST(to_steady(clock::time_point::min()) == std::chrono::steady_clock::time_point::min());
}

BOOST_AUTO_TEST_CASE(an_instant_is_always_the_same_by_steady_clock) {
  const auto t = clock::now() + 10s;
  const auto converted = to_steady(t);
  for (int i = 0; i < 1000; ++i) BOOST_REQUIRE(to_steady(t) == converted);
}

// A timer of steady_clock stands still while the machine sleeps, so it must not be armed for long.
BOOST_AUTO_TEST_CASE(a_timer_looks_at_least_once_a_second) {
  BOOST_TEST(wait_traits::to_wait_duration(clock::duration(1h)) == clock::duration(1s));
  BOOST_TEST(wait_traits::to_wait_duration(clock::time_point::max()) == clock::duration(1s));
  BOOST_TEST(wait_traits::to_wait_duration(clock::duration(10ms)) == clock::duration(10ms));
  BOOST_TEST(wait_traits::to_wait_duration(clock::now() - 1s) <= clock::duration(-1s));
}

BOOST_AUTO_TEST_SUITE_END()
