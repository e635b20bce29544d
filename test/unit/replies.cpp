// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What is read out of the replies of servers.
#include "protocol/lease_reply.hpp"
#include "protocol/reply.hpp"

#include "support/unit_test.hpp"

#include <cstdint>
#include <initializer_list>
#include <string_view>

using namespace std::chrono_literals;

namespace leasehold::test {

using detail::lease_reply;
using detail::longest_left;

BOOST_AUTO_TEST_SUITE(replies)

BOOST_AUTO_TEST_CASE(numbers_are_whole_scalars) {
  detail::reply r;
  for (const std::string_view s : {"1", "-1", "1x", "", "9223372036854775808", "9223372036854775807"}) r.add(s);
  std::int64_t n = 0;
  BOOST_TEST(r.read(0, n));
  BOOST_TEST(n == 1);
  BOOST_TEST(r.read(1, n));
  for (const std::size_t bad : {2U, 3U, 4U, 6U}) BOOST_TEST(!r.read(bad, n));
  BOOST_TEST(r.left(0) == 1ms);
  BOOST_TEST(r.left(1) == -1ms);
  BOOST_TEST(r.left(5).count() == std::int64_t{1} << 53);
}

BOOST_AUTO_TEST_CASE(a_lease_is_read) {
  const lease_reply r("1 3676670230831230976 30000 1700000000 999999 2");
  BOOST_TEST(r.understood);
  BOOST_TEST((r.status == detail::status::held));
  BOOST_TEST(r.fence == 3676670230831230976U);
  BOOST_TEST(r.left == 30000ms);
  BOOST_TEST(r.server_time == 1700000000999999);
  BOOST_TEST(r.depth == 2U);
  BOOST_TEST(lease_reply("0 0 -1 1700000000 0").left == -1ms);
}

BOOST_AUTO_TEST_CASE(what_is_left_leaves_room_for_sums) {
  BOOST_TEST(lease_reply("0 0 9223372036854775807 1 0").left == longest_left);
  BOOST_TEST(lease_reply("0 0 -9223372036854775808 1 0").left == -1ms);
  BOOST_TEST(lease_reply("0 0 9223372036854775807 1 0").understood);
}

BOOST_AUTO_TEST_CASE(numbers_out_of_range_are_not_understood) {
  for (const std::string_view bad :
       {"", "OK", "1", "1 2 3 4", "1 2 3 4 1000000", "1 2 3 4294967296 0", "1 2 3 -1 0", "1 9223372036854775808 3 4 5",
        "1 18446744073709551616 3 4 5", "9223372036854775808 2 3 4 5", "1 2 9223372036854775808 4 5",
        "1 2 3 4 5 4294967296", "1 2 3 4 5 6 7", "1 2 3 4 5x", "-3 2 3 4 5", "4 2 3 4 5", "257 2 3 4 5"}) {
    BOOST_TEST(!lease_reply(bad).understood, bad);
  }
}

BOOST_AUTO_TEST_CASE(a_nul_byte_is_not_the_end) {
  using namespace std::string_view_literals;
  for (const std::string_view bad : {"1 2 3 4 5\0"sv, "1 2 3 4 5\0006"sv, "1 2 3 4 5 6\0"sv, "1 2 3 4 5 6\0007"sv}) {
    BOOST_TEST(!lease_reply(bad).understood);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
