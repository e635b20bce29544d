// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "client/client_identity.hpp"

#include "support/unit_test.hpp"

#include <cstddef>
#include <string>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(client_identities)

BOOST_AUTO_TEST_CASE(no_two_clients_have_a_number_in_common) {
  client_options o;
  o.label = "same";
  detail::client_identity a(o), b(o);
  // Their digits are two numbers of 64 bits.
  const std::string ours = a.id().substr(5), theirs = b.id().substr(5);
  BOOST_TEST_REQUIRE(ours.size() == 32U);
  BOOST_TEST_REQUIRE(theirs.size() == 32U);
  for (const std::size_t from : {0U, 16U}) {
    BOOST_TEST(ours.substr(from, 16) != theirs.substr(0, 16));
    BOOST_TEST(ours.substr(from, 16) != theirs.substr(16, 16));
  }
  BOOST_TEST(ours.substr(0, 16) != ours.substr(16, 16));
  BOOST_TEST(a.phase() != b.phase());
  BOOST_TEST(a.random() != b.random());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
