// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/redis/sentinel_round.hpp"

#include "support/unit_test.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace leasehold::test {
namespace {

struct with_round {
  explicit with_round(std::size_t sentinels = 3) : round(sentinels, std::chrono::seconds(3), now) {}

  void asks() {
    BOOST_REQUIRE(round.has_next());
    round.next(now);
  }
  void fails(bool refuses) { round.on_failure("s:1", "no", refuses, now); }

  clock::time_point now = clock::time_point(std::chrono::hours(1));
  const clock::time_point limit = now + std::chrono::seconds(3);
  detail::sentinel_round round;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sentinel_rounds, with_round)

using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(sentinels_that_say_nothing_refuse_nothing) {
  for (std::size_t i = 0; i < 3; ++i) {
    BOOST_REQUIRE(round.has_next());
    BOOST_TEST(round.next(now) == i);
  }
  BOOST_TEST(!round.has_next());
  BOOST_TEST(!round.is_over());
  BOOST_TEST((round.ends_at() == limit));
  BOOST_TEST(!round.is_refused());
  BOOST_TEST(round.why() == "no Sentinel answers");
}

BOOST_AUTO_TEST_CASE(a_silent_one_is_named_if_it_is_known_why) {
  asks();
  round.on_no_answer("a:1", "no credentials: no answer");
  BOOST_TEST(round.why() == "Sentinel a:1: no credentials: no answer");
  BOOST_TEST(!round.is_refused());
  BOOST_TEST(!round.is_over());
}

BOOST_AUTO_TEST_CASE(once_most_have_refused_a_silent_one_has_a_quarter_of_the_limit) {
  asks();
  now += round.head_start();
  asks();
  fails(true);
  asks();
  BOOST_TEST((round.ends_at() == limit));
  now += 10ms;
  fails(true);
  BOOST_TEST(round.is_refused());
  BOOST_TEST(!round.is_over());
  BOOST_TEST((round.ends_at() == now + 750ms));
  now += 50ms;
  fails(false);
  BOOST_TEST(round.is_over());
  BOOST_TEST(round.is_refused());
}

BOOST_AUTO_TEST_CASE(a_refusal_does_not_lengthen_a_round) {
  for (int i = 0; i < 3; ++i) asks();
  now = limit - 100ms;
  fails(true);
  fails(true);
  BOOST_TEST((round.ends_at() == limit));
}

BOOST_AUTO_TEST_CASE(sentinels_that_were_not_asked_yet_have_their_time_though_most_have_refused) {
  with_round five(5);
  for (int i = 0; i < 3; ++i) {
    five.asks();
    five.fails(true);
  }
  BOOST_TEST(five.round.is_refused());
  five.asks();
  BOOST_TEST((five.round.ends_at() == five.limit));
  five.now += five.round.head_start();
  five.asks();
  BOOST_TEST((five.round.ends_at() == five.now + 750ms));
}

BOOST_AUTO_TEST_CASE(a_refusal_of_half_of_them_is_none) {
  with_round two(2);
  two.asks();
  two.fails(true);
  two.asks();
  two.fails(false);
  BOOST_TEST(two.round.is_over());
  BOOST_TEST(!two.round.is_refused());
  BOOST_TEST((two.round.ends_at() == two.limit));
}

BOOST_AUTO_TEST_CASE(a_short_limit_leaves_each_sentinel_its_time) {
  const detail::sentinel_round short_one(3, 300ms, now);
  BOOST_TEST((short_one.head_start() == 50ms));
}

BOOST_AUTO_TEST_CASE(the_words_of_all_sentinels_are_kept_until_they_are_long) {
  for (int i = 0; i < 3; ++i) asks();
  const std::string words(600, 'x');
  round.on_failure("a:1", "no", true, now);
  round.on_failure("b:2", words, true, now);
  round.on_failure("c:3", "no", true, now);
  BOOST_TEST(round.why() == "Sentinel a:1: no; Sentinel b:2: " + words);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
