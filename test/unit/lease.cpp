// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "time/lease.hpp"

#include "client/options.hpp"
#include "support/unit_test.hpp"

#include <chrono>
#include <set>

using namespace std::chrono_literals;
using leasehold::clock;
using leasehold::detail::drift_allowance;
using leasehold::detail::local_deadline;
using leasehold::detail::renewal_due;
using leasehold::detail::renewal_patience;

namespace {
const clock::time_point sent(1000s);
}

BOOST_AUTO_TEST_SUITE(lease)

BOOST_AUTO_TEST_CASE(the_drift_allowance_is_one_percent_and_two_milliseconds) {
  const drift_allowance drift;
  BOOST_TEST(drift.of(30s) == clock::duration(302ms));
  BOOST_TEST(drift.of(1000ms) == clock::duration(12ms));
  BOOST_TEST(drift.of(1ms) == clock::duration(2ms + 10us));
  BOOST_TEST(drift.of(0ms) == clock::duration(2ms));
}

BOOST_AUTO_TEST_CASE(the_drift_allowance_is_an_option) {
  const drift_allowance none{0.0, 0ms};
  BOOST_TEST(none.of(30s) == clock::duration(0));
  const drift_allowance half{0.5, 1min};
  BOOST_TEST(half.of(30s) == clock::duration(75s));
  BOOST_TEST(half.of(leasehold::detail::longest_lease) == clock::duration(std::chrono::hours(24 * 15) + 1min));
}

BOOST_AUTO_TEST_CASE(the_deadline_counts_from_the_sending) {
  BOOST_TEST(local_deadline(sent, 30s, 30s, {}) == sent + 30s - 302ms);
}

// A2: what the server says is left bounds the deadline of a repeat.
BOOST_AUTO_TEST_CASE(the_deadline_is_not_later_than_what_the_server_says_is_left) {
  BOOST_TEST(local_deadline(sent, 30s, 5s, {}) == sent + 5s - 52ms);
  BOOST_TEST(local_deadline(sent, 30s, 0ms, {}) == sent - 2ms);
}

BOOST_AUTO_TEST_CASE(the_deadline_is_not_later_than_the_lease_asked_for) {
  BOOST_TEST(local_deadline(sent, 5s, 30s, {}) == sent + 5s - 52ms);
}

BOOST_AUTO_TEST_CASE(without_an_expiry_the_lease_asked_for_counts) {
  BOOST_TEST(local_deadline(sent, 5s, -1ms, {}) == sent + 5s - 52ms);
}

BOOST_AUTO_TEST_CASE(a_lease_of_one_millisecond_has_ended_when_it_begins) {
  BOOST_TEST(local_deadline(sent, 1ms, 1ms, {}) < sent);
}

BOOST_AUTO_TEST_CASE(the_longest_lease_does_not_overflow) {
  const auto longest = leasehold::detail::longest_lease;
  const auto deadline = local_deadline(clock::now(), longest, longest, {});
  BOOST_TEST(deadline > clock::now() + std::chrono::hours(24 * 29));
  BOOST_TEST(deadline < clock::now() + std::chrono::hours(24 * 30));
}

BOOST_AUTO_TEST_CASE(a_lease_is_renewed_when_a_third_of_what_can_be_used_has_passed) {
  const auto deadline = local_deadline(sent, 30s, 30s, {});
  const auto third = (deadline - sent) / 3;
  for (const auto phase : {0ns, 1ns, 12345678ns, 1000000000ns}) {
    BOOST_TEST((renewal_due(sent, deadline, phase) <= sent + third));
    BOOST_TEST((renewal_due(sent, deadline, phase) > sent + third - third / 16));
    // With a margin the loss is told earlier, and so is the renewal.
    BOOST_TEST((renewal_due(sent, deadline - 25s, phase) < sent + 2s));
  }
}

// In a step of at least a thirty-second part of the third.
BOOST_AUTO_TEST_CASE(what_is_due_soon_is_due_together) {
  const auto lease = 30s;
  std::set<clock::time_point> due;
  for (int i = 0; i < 1000; ++i) {
    const auto one = sent + i * 1ms;
    due.insert(renewal_due(one, local_deadline(one, lease, lease, {}), 0ns));
  }
  BOOST_TEST(due.size() <= 5U);
  due.clear();
  for (const auto phase : {0ns, 7ns, 100000000ns, 250000000ns}) {
    due.insert(renewal_due(sent, local_deadline(sent, lease, lease, {}), phase));
  }
  BOOST_TEST(due.size() > 1U);
}

BOOST_AUTO_TEST_CASE(a_renewal_is_never_due_at_once) {
  // A drift that eats the lease up must not make one renewal follow the other without a pause.
  BOOST_TEST((renewal_due(sent, sent, 5ns) == sent + 1ms));
  BOOST_TEST((renewal_due(sent, sent - 10s, 5ns) == sent + 1ms));
  BOOST_TEST((renewal_due(sent, sent + 4ms, 5ns) > sent + 1ms));
}

// So that three of them fit, but for short leases.
BOOST_AUTO_TEST_CASE(a_renewal_waits_for_a_third_of_its_lease_and_half_a_second_at_least) {
  BOOST_TEST(renewal_patience(30s).count() == 10000);
  BOOST_TEST(renewal_patience(1500ms).count() == 500);
  BOOST_TEST(renewal_patience(100ms).count() == 500);
  BOOST_TEST(renewal_patience(0ms).count() == 500);
  BOOST_TEST(renewal_patience(-1s).count() == 500);
}

BOOST_AUTO_TEST_SUITE_END()
