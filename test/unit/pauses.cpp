// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "time/pauses.hpp"

#include "client/options.hpp"
#include "support/unit_test.hpp"

#include <chrono>
#include <cmath>
#include <random>

using namespace std::chrono_literals;
using leasehold::backoff;
using leasehold::detail::pauses;
using std::chrono::nanoseconds;

BOOST_AUTO_TEST_SUITE(pauses_between_attempts)

BOOST_AUTO_TEST_CASE(without_jitter_they_grow_by_the_factor_up_to_the_longest) {
  pauses p(backoff{10ms, 100ms, 3.0, 0.0});
  BOOST_TEST(p.next(0.0) == nanoseconds(10ms));
  BOOST_TEST(p.next(0.999) == nanoseconds(30ms));
  BOOST_TEST(p.next(0.5) == nanoseconds(90ms));
  BOOST_TEST(p.next(0.5) == nanoseconds(100ms));
  BOOST_TEST(p.next(0.5) == nanoseconds(100ms));
}

BOOST_AUTO_TEST_CASE(full_jitter_reaches_from_the_whole_pause_to_nothing) {
  pauses longest(backoff{10ms, 500ms, 2.0, 1.0});
  BOOST_TEST(longest.next(0.0) == nanoseconds(10ms));
  pauses shortest(backoff{10ms, 500ms, 2.0, 1.0});
  const auto p = shortest.next(std::nextafter(1.0, 0.0));
  BOOST_TEST(p >= nanoseconds(0));
  BOOST_TEST(p < nanoseconds(1us));
}

BOOST_AUTO_TEST_CASE(half_jitter_keeps_half_of_the_pause) {
  pauses p(backoff{100ms, 100ms, 1.0, 0.5});
  std::mt19937_64 engine(1);
  std::uniform_real_distribution<double> random(0.0, 1.0);
  for (int i = 0; i < 10000; ++i) {
    const auto d = p.next(random(engine));
    BOOST_REQUIRE(d >= nanoseconds(50ms));
    BOOST_REQUIRE(d <= nanoseconds(100ms));
  }
}

BOOST_AUTO_TEST_CASE(a_factor_of_one_keeps_them_equal) {
  pauses p(backoff{7ms, 500ms, 1.0, 0.0});
  for (int i = 0; i < 1000; ++i) BOOST_REQUIRE(p.next(0.3) == nanoseconds(7ms));
}

BOOST_AUTO_TEST_CASE(a_huge_factor_saturates) {
  pauses p(backoff{1ms, 500ms, 1e308, 0.0});
  BOOST_TEST(p.next(0.0) == nanoseconds(1ms));
  for (int i = 0; i < 100; ++i) BOOST_REQUIRE(p.next(0.0) == nanoseconds(500ms));
}

BOOST_AUTO_TEST_CASE(the_longest_pause_of_all_does_not_overflow) {
  const auto longest = leasehold::detail::longest_lease;
  pauses p(backoff{longest, longest, 10.0, 0.0});
  for (int i = 0; i < 10; ++i) BOOST_REQUIRE(p.next(0.0) == nanoseconds(longest));
}

BOOST_AUTO_TEST_CASE(reset_begins_anew) {
  pauses p(backoff{10ms, 500ms, 2.0, 0.0});
  p.next(0.0);
  p.next(0.0);
  p.reset();
  BOOST_TEST(p.next(0.0) == nanoseconds(10ms));
}

BOOST_AUTO_TEST_CASE(the_defaults_are_full_jitter_between_ten_milliseconds_and_half_a_second) {
  pauses p{backoff()};
  BOOST_TEST(p.next(0.0) == nanoseconds(10ms));
  for (int i = 0; i < 20; ++i) p.next(0.0);
  BOOST_TEST(p.next(0.0) == nanoseconds(500ms));
  BOOST_TEST(p.next(0.5) == nanoseconds(250ms));
}

BOOST_AUTO_TEST_SUITE_END()
