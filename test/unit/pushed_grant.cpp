// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/pushed_grant.hpp"

#include "support/unit_test.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>

using namespace std::chrono_literals;
using leasehold::clock;
using leasehold::detail::grant_check;
using leasehold::detail::pushed_grant;
using leasehold::detail::read_pushed_grant;

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(pushed_grants)

namespace {

constexpr std::int64_t server_time = 1700000000000000;
const clock::time_point t0(1000s);

// The server has answered a request of t0 that the lock is busy, and grants it half a second later.
struct entry {
  entry() {
    check.sent(t0);
    check.busy(server_time, t0);
  }
  bool believes(clock::time_point now = t0 + 1s) const { return check.believes(grant, 30s, now); }

  grant_check check;
  pushed_grant grant{static_cast<std::uint64_t>(server_time + 500000) * 2048, t0, 2000ms, 1};
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_message_is_read) {
  const auto g = read_pushed_grant("2048 1000 2000");
  BOOST_REQUIRE(g);
  BOOST_TEST(g->fence == 2048U);
  BOOST_TEST(g->stamp.time_since_epoch().count() == 1000);
  BOOST_TEST(g->lease == 2000ms);
  BOOST_TEST(g->depth == 1U);
  BOOST_TEST(read_pushed_grant("2048 1000 2000 3").value().depth == 3U);
}

BOOST_AUTO_TEST_CASE(other_messages_are_not_understood) {
  for (const std::string_view bad :
       {"", "x", "1", "1 2", "1 2 ", "1 2 3 4 5", "1 2 3x", "-1 2 3", "1 0 3", "1 -2 3", "1 2 0", "1 2 -3", "1 2 2001",
        "1 2 9223372036854775807", "1 9223372036854775808 3", "18446744073709551616 2 3", "1 2 3 4294967296"}) {
    BOOST_TEST(!read_pushed_grant(bad), bad);
  }
}

BOOST_AUTO_TEST_CASE(a_grant_after_the_last_answer_is_believed) { BOOST_TEST(entry().believes()); }

BOOST_AUTO_TEST_CASE(only_a_stamp_that_was_sent_is_believed) {
  entry e;
  e.grant.stamp = t0 + 1ns;
  BOOST_TEST(!e.believes());
  // A further request is on its way, and may have been seen or not.
  e.check.sent(t0 + 700ms);
  e.grant.stamp = t0;
  BOOST_TEST(e.believes());
  e.grant.stamp = t0 + 700ms;
  BOOST_TEST(e.believes());
  BOOST_TEST(!e.believes(t0 + 600ms));
  e.grant.stamp = {};
  BOOST_TEST(!e.believes());
}

BOOST_AUTO_TEST_CASE(only_one_of_the_last_four_stamps_is_believed) {
  entry e;
  for (int i = 1; i <= 3; ++i) e.check.sent(t0 + i * 1ms);
  BOOST_TEST(e.believes());
  e.check.sent(t0 + 4ms);
  BOOST_TEST(!e.believes());
  e.grant.stamp = t0 + 1ms;
  BOOST_TEST(e.believes());
}

BOOST_AUTO_TEST_CASE(no_lease_that_was_not_asked_for_is_believed) {
  const entry e;
  BOOST_TEST(e.check.believes(e.grant, 2000ms, t0 + 1s));
  BOOST_TEST(!e.check.believes(e.grant, 1999ms, t0 + 1s));
}

BOOST_AUTO_TEST_CASE(only_a_fence_near_the_servers_clock_is_believed) {
  entry e;
  const auto at = [&](std::int64_t microseconds) {
    e.grant.fence = static_cast<std::uint64_t>(server_time + microseconds) * 2048;
    return e.believes();
  };
  BOOST_TEST(at(0));
  BOOST_TEST(!at(-1));
  // A second has passed, and the counter may be ahead of the clock by a minute.
  BOOST_TEST(at(61000000));
  BOOST_TEST(!at(61000001));
  e.grant.fence = ~std::uint64_t{0};
  BOOST_TEST(!e.believes());
}

BOOST_AUTO_TEST_CASE(before_the_first_answer_nothing_is_believed) {
  entry e;
  e.check = {};
  e.check.sent(t0);
  BOOST_TEST(!e.believes());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
