// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/lingering_pauses.hpp"

#include "support/unit_test.hpp"

#include <cstddef>
#include <string>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(lingering_pauses)

BOOST_AUTO_TEST_CASE(however_many_locks_pause_a_fixed_number_of_them_is_kept) {
  detail::lingering_pauses pauses;
  const auto name = [](std::size_t i) { return "n" + std::to_string(i); };
  for (std::size_t i = 0; i < 2000; ++i) pauses.pause(name(i));
  std::size_t paused = 0;
  for (std::size_t i = 0; i < 2000; ++i) paused += pauses.is_paused(name(i)) ? 1U : 0U;
  BOOST_TEST(paused == 1024U);
  BOOST_TEST(pauses.is_paused(name(1999)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
