// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/redis/bulk.hpp"

#include "support/unit_test.hpp"

#include <string>
#include <string_view>

namespace leasehold::test {
using detail::bulk;

BOOST_AUTO_TEST_SUITE(bulk_strings)

BOOST_AUTO_TEST_CASE(they_are_written_as_boost_redis_writes_them) {
  for (std::size_t size = 0; size < 1200; ++size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(i * 7);
    std::string ours = "before", theirs = "before";
    boost_redis_to_bulk(ours, bulk{text});
    boost::redis::resp3::boost_redis_to_bulk(theirs, std::string_view(text));
    BOOST_TEST_REQUIRE(ours == theirs);
  }
}

BOOST_AUTO_TEST_CASE(a_view_of_nothing_is_an_empty_string) {
  std::string payload;
  boost_redis_to_bulk(payload, bulk{std::string_view()});
  BOOST_TEST(payload == "$0\r\n\r\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
