// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/unit_test.hpp"

#include <leasehold/detail/printable.hpp>

#include <string>

namespace leasehold::test {

using detail::shortened;

BOOST_AUTO_TEST_SUITE(printable)

BOOST_AUTO_TEST_CASE(what_is_short_stays) {
  BOOST_TEST(shortened("") == "");
  BOOST_TEST(shortened("NOAUTH Authentication required.") == "NOAUTH Authentication required.");
  BOOST_TEST(shortened(std::string(500, 'x')) == std::string(500, 'x'));
}

BOOST_AUTO_TEST_CASE(what_is_longer_is_cut_between_characters) {
  BOOST_TEST(shortened(std::string(501, 'x')) == std::string(500, 'x'));
  const std::string sign = "\xe2\x82\xac";  // Three bytes.
  BOOST_TEST(shortened(std::string(497, 'x') + sign + "x") == std::string(497, 'x') + sign);
  BOOST_TEST(shortened(std::string(498, 'x') + sign) == std::string(498, 'x'));
  BOOST_TEST(shortened(std::string(499, 'x') + sign) == std::string(499, 'x'));
  BOOST_TEST(shortened(std::string(1000, '\x80')).size() == 500U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
