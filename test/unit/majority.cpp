// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/quorum/majority.hpp"

#include "support/unit_test.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

using leasehold::detail::majority_of;
using leasehold::detail::nth_largest;

BOOST_AUTO_TEST_SUITE(majority)

// Of 2, 4, 6 servers one half could grant a lock and the other half as well.
BOOST_AUTO_TEST_CASE(two_majorities_have_a_server_in_common) {
  for (std::size_t n = 1; n <= 16; ++n) {
    BOOST_TEST(2 * majority_of(n) > n);
    // And it is the smallest number of which that is true.
    BOOST_TEST(2 * (majority_of(n) - 1) <= n);
  }
}

BOOST_AUTO_TEST_CASE(the_nth_largest_is_what_n_of_them_have_at_least) {
  BOOST_TEST(nth_largest(std::vector{7}, 1) == 7);
  BOOST_TEST(nth_largest(std::vector{1, 3}, 2) == 1);
  BOOST_TEST(nth_largest(std::vector{5, 5, 5}, 2) == 5);
  std::vector<int> all{1, 2, 4, 8, 16};
  do {
    for (std::size_t n = 1; n <= all.size(); ++n) BOOST_TEST(nth_largest(all, n) == 16 >> (n - 1));
  } while (std::next_permutation(all.begin(), all.end()));
}

BOOST_AUTO_TEST_SUITE_END()
