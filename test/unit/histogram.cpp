// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/histogram.hpp>

#include "support/unit_test.hpp"

#include <chrono>
#include <cstdint>

namespace leasehold::test {

using std::chrono::microseconds;

BOOST_AUTO_TEST_SUITE(histograms)

BOOST_AUTO_TEST_CASE(each_bucket_begins_where_the_one_before_ends) {
  for (std::size_t i = 0; i < histogram::buckets; ++i) {
    const auto from = histogram::lower_end(i);
    BOOST_TEST(histogram::bucket_of(from) == i);
    if (i != 0) BOOST_TEST(histogram::bucket_of(from - microseconds(1)) == i - 1);
  }
}

BOOST_AUTO_TEST_CASE(a_bucket_is_at_most_a_sixteenth_wide) {
  for (std::size_t i = 16; i + 1 < histogram::buckets; ++i) {
    const auto from = histogram::lower_end(i).count();
    const auto to = histogram::lower_end(i + 1).count();
    BOOST_TEST((to - from) * 16 <= from);
  }
}

BOOST_AUTO_TEST_CASE(what_is_out_of_range_goes_to_the_ends) {
  BOOST_TEST(histogram::bucket_of(microseconds(-5)) == 0U);
  BOOST_TEST(histogram::bucket_of(microseconds::max()) == histogram::buckets - 1);
}

BOOST_AUTO_TEST_CASE(quantiles_are_lower_ends_of_buckets) {
  histogram h;
  BOOST_TEST(h.quantile(0.5).count() == 0);
  h.set_count_in(histogram::bucket_of(microseconds(10)), 90);
  h.set_count_in(histogram::bucket_of(microseconds(1024)), 10);
  BOOST_TEST(h.count() == 100U);
  BOOST_TEST(h.quantile(0.0).count() == 10);
  BOOST_TEST(h.quantile(0.5).count() == 10);
  BOOST_TEST(h.quantile(0.9).count() == 10);
  BOOST_TEST(h.quantile(0.91).count() == 1024);
  BOOST_TEST(h.quantile(1.0).count() == 1024);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
