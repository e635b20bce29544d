// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/known_server.hpp"

#include "support/unit_test.hpp"

#include <string>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(known_servers)

detail::store::server connect(detail::known_server& known, const std::string& run_id) {
  detail::store::server found;
  known.on_up(run_id, found);
  return found;
}

BOOST_AUTO_TEST_CASE(a_server_is_another_if_its_process_is) {
  detail::known_server known;
  const auto first = connect(known, "a");
  BOOST_TEST(!first.again);
  BOOST_TEST(!first.another);
  const auto same = connect(known, "a");
  BOOST_TEST(same.again);
  BOOST_TEST(!same.another);
  BOOST_TEST(connect(known, "b").another);
  BOOST_TEST(!connect(known, "b").another);
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_say_may_be_another) {
  detail::known_server known;
  BOOST_TEST(!connect(known, "").another);
  BOOST_TEST(connect(known, "").another);
}

BOOST_AUTO_TEST_CASE(the_next_store_knows_what_the_one_before_knew) {
  detail::known_server before;
  connect(before, "a");
  detail::known_server next;
  next.assume(before.as_memory());
  const auto same = connect(next, "a");
  BOOST_TEST(!same.again);
  BOOST_TEST(!same.another);
  detail::known_server after_a_restart;
  after_a_restart.assume(before.as_memory());
  BOOST_TEST(connect(after_a_restart, "b").another);
  detail::known_server knows_nothing;
  knows_nothing.assume(detail::known_server().as_memory());
  BOOST_TEST(!connect(knows_nothing, "a").another);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
