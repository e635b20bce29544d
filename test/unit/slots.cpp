// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/slots.hpp"
#include "support/unit_test.hpp"

#include <set>
#include <string>

namespace leasehold::test {

using namespace detail;

BOOST_AUTO_TEST_SUITE(slots)

// "Redis cluster specification": the CRC16 of 123456789 is 0x31C3.
BOOST_AUTO_TEST_CASE(the_slot_is_the_crc_of_the_key) {
  BOOST_TEST(slot_of("123456789") == 0x31c3 % number_of_slots);
  BOOST_TEST(slot_of("") == 0);
  BOOST_TEST(slot_of("foo") == 12182);
  BOOST_TEST(slot_of("bar") == 5061);
}

BOOST_AUTO_TEST_CASE(the_first_tag_that_is_not_empty_stands_for_the_key) {
  BOOST_TEST(slot_of("{user1000}.following") == slot_of("user1000"));
  BOOST_TEST(slot_of("foo{bar}{zap}") == slot_of("bar"));
  BOOST_TEST(slot_of("foo{{bar}}zap") == slot_of("{bar"));
  // No tag: the whole key counts.
  BOOST_TEST(slot_of("foo{}{bar}") != slot_of("bar"));
  BOOST_TEST(slot_of("foo{bar") != slot_of("bar"));
  BOOST_TEST(slot_of("}foo{bar}") == slot_of("bar"));
}

BOOST_AUTO_TEST_CASE(each_slot_has_a_tag_of_its_own) {
  std::set<std::string_view> seen;
  for (std::uint32_t slot = 0; slot < number_of_slots; ++slot) {
    const auto s = static_cast<std::uint16_t>(slot);
    const std::string_view tag = tag_of_slot(s);
    // One character is the sign of a server without slots (lua/shared/queue.lua).
    BOOST_REQUIRE(tag.size() >= 2);
    BOOST_REQUIRE(tag.size() <= 4);
    BOOST_REQUIRE(seen.insert(tag).second);
    BOOST_REQUIRE_EQUAL(slot_of(fence_key(s)), s);
    BOOST_REQUIRE_EQUAL(slot_of("leasehold:{" + std::string(tag) + "}:queue:a{b}c"), s);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
