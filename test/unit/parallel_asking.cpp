// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a queue entry decides without I/O: how many waiters ask at once, and what an attempt may leave.
#include "lock/parallel_asking.hpp"
#include "lock/attempts.hpp"

#include "support/unit_test.hpp"

#include <chrono>

namespace leasehold::test {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(parallel_askings)

BOOST_AUTO_TEST_CASE(one_more_asks_after_each_grant_and_one_alone_after_a_refusal) {
  detail::parallel_asking asking;
  BOOST_TEST(!asking.has_room());
  asking.on_grant();
  BOOST_TEST(asking.has_room());
  asking.on_begin();
  BOOST_TEST(!asking.has_room());
  asking.on_end(true, "a");
  asking.on_begin();
  BOOST_TEST(asking.has_room());
  asking.on_begin();
  BOOST_TEST(!asking.has_room());
  asking.on_end(false, "b");
  asking.on_end(false, "c");
  BOOST_TEST(!asking.has_room());
  asking.on_grant();
  asking.on_busy();
  BOOST_TEST(!asking.has_room());
}

BOOST_AUTO_TEST_CASE(no_more_than_a_limit_ask_at_once) {
  detail::parallel_asking asking;
  for (int i = 0; i < 1000; ++i) asking.on_grant();
  int begun = 0;
  for (; asking.has_room(); ++begun) asking.on_begin();
  BOOST_TEST(begun == 255);
}

BOOST_AUTO_TEST_CASE(the_last_reader_is_the_last_that_was_granted) {
  detail::parallel_asking asking;
  BOOST_TEST(asking.last_reader() == "");
  asking.on_reader("a");
  asking.on_begin();
  asking.on_end(false, "b");
  BOOST_TEST(asking.last_reader() == "a");
  asking.on_begin();
  asking.on_end(true, "c");
  BOOST_TEST(asking.last_reader() == "c");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(attempts_of_a_token)

const clock::time_point begin_of_attempt{2h};

detail::sending sent_at(clock::time_point at, clock::time_point may_run_until) {
  detail::sending s{};
  s.at = at;
  s.may_run_until = may_run_until;
  return s;
}

BOOST_AUTO_TEST_CASE(an_attempt_that_was_not_answered_leaves_something_until_its_trace_ends) {
  detail::attempts its;
  its.begin(begin_of_attempt, 7, 30s);
  BOOST_TEST(!its.is_sent());
  BOOST_TEST(!its.unanswered().exists);
  its.sent(sent_at(begin_of_attempt + 1s, begin_of_attempt + 6s));
  BOOST_TEST(its.is_sent());
  BOOST_TEST(its.stamp() == begin_of_attempt + 1s);
  BOOST_TEST(its.lease() == 30s);
  its.note_unanswered(30s);
  BOOST_TEST(its.unanswered().exists);
  BOOST_TEST(its.unanswered().epoch == 7U);
  BOOST_TEST(its.unanswered().may_run_until == begin_of_attempt + 6s);
  BOOST_TEST(its.unanswered().gone_by == begin_of_attempt + 36s);
  its.forget_unanswered();
  BOOST_TEST(!its.unanswered().exists);
}

BOOST_AUTO_TEST_CASE(the_latest_instant_counts_if_an_attempt_was_sent_to_two_servers) {
  detail::attempts its;
  its.begin(begin_of_attempt, 7, 30s);
  its.sent(sent_at(begin_of_attempt, begin_of_attempt + 9s));
  its.sent(sent_at(begin_of_attempt + 1s, begin_of_attempt + 6s));
  its.note_unanswered(1s);
  BOOST_TEST(its.unanswered().may_run_until == begin_of_attempt + 9s);
  // The next one begins anew.
  its.begin(begin_of_attempt + 20s, 8, 30s);
  BOOST_TEST(!its.is_sent());
  its.note_unanswered(1s);
  BOOST_TEST(its.unanswered().may_run_until == begin_of_attempt + 20s);
  BOOST_TEST(its.unanswered().epoch == 7U);
}

BOOST_AUTO_TEST_CASE(an_answer_is_late_after_twice_the_time_of_the_last_one) {
  detail::attempts its;
  its.begin(begin_of_attempt, 1, 30s);
  BOOST_TEST(!its.is_late(begin_of_attempt + 99ms));
  BOOST_TEST(its.is_late(begin_of_attempt + 100ms));
  its.answered(begin_of_attempt + 400ms);
  its.begin(begin_of_attempt + 1s, 1, 30s);
  BOOST_TEST(!its.is_late(begin_of_attempt + 1799ms));
  BOOST_TEST(its.is_late(begin_of_attempt + 1800ms));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
