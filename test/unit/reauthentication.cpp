// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/redis/reauthentication.hpp"

#include "support/unit_test.hpp"

#include <chrono>

namespace leasehold::test {
namespace {

struct with_schedule {
  clock::duration wait_for(clock::duration left) { return schedule.accepted(now, left) - now; }
  clock::duration pause() { return schedule.failed(now, 0.0) - now; }

  clock::time_point now = clock::time_point(std::chrono::hours(1));
  detail::reauthentication schedule{backoff{std::chrono::milliseconds(50), std::chrono::milliseconds(400), 2.0, 0.0}};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(reauthentications, with_schedule)

using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(the_next_credentials_are_asked_for_after_four_fifths_of_the_time) {
  BOOST_TEST(wait_for(15min) == 12min);
  BOOST_TEST(wait_for(10s) == 8s);
  BOOST_TEST(wait_for(5s) == 4s);
}

BOOST_AUTO_TEST_CASE(they_are_asked_for_a_second_before_the_end_at_least) {
  BOOST_TEST(wait_for(4s) == 3s);
  BOOST_TEST(wait_for(1500ms) == 500ms);
}

BOOST_AUTO_TEST_CASE(credentials_that_last_for_no_time_are_not_asked_for_again_and_again) {
  for (const clock::duration left : {clock::duration(0), clock::duration(1ms), clock::duration(1100ms)}) {
    BOOST_TEST(wait_for(left) == 200ms);
  }
  BOOST_TEST(wait_for(900ms) == 720ms);
}

BOOST_AUTO_TEST_CASE(credentials_without_an_end_are_not_asked_for_again) {
  BOOST_TEST(schedule.accepted(now, clock::duration::max()) == clock::time_point::max());
}

BOOST_AUTO_TEST_CASE(pauses_grow_until_there_are_new_ones) {
  for (const auto expected : {50ms, 100ms, 200ms, 400ms, 400ms}) BOOST_TEST(pause() == expected);
  wait_for(10s);
  BOOST_TEST(pause() == 50ms);
}

BOOST_AUTO_TEST_CASE(what_is_left_is_never_negative_nor_too_much) {
  using point = std::chrono::steady_clock::time_point;
  const point instant(1h);
  const auto left = [&](point expires) { return schedule.left_of(credentials("u", "p", expires), instant); };
  BOOST_TEST(left(instant + 3s) == 3s);
  BOOST_TEST(left(instant) == 0s);
  BOOST_TEST(left(instant - 3s) == 0s);
  BOOST_TEST(left(point::min()) == 0s);
  BOOST_TEST(left(point::max()) == clock::duration::max());
  BOOST_TEST(schedule.left_of(credentials(), instant) == clock::duration::max());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
