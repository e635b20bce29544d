// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/ticket_text.hpp"

#include "support/unit_test.hpp"

#include <chrono>
#include <string>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(forged_tickets)

namespace {

using namespace std::chrono_literals;

// Its checksum is right.
bool is_read(const std::string& kind_name, const std::string& owner, const std::string& token = "client.1") {
  detail::ticket_fields f;
  f.kind_name = kind_name;
  f.kind = detail::kind_of(kind_name, /*is_reader=*/false);
  f.name = "n";
  f.owner = owner;
  f.limit = kind_name == "counting_semaphore" ? 1 : 0;
  f.token = token;
  f.fence = f.recorded = 4096;
  f.lease = 1s;
  return detail::read_ticket(detail::ticket_text(f)).wrong == nullptr;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_owner_is_one_of_a_lock_that_has_owners) {
  for (const char* const kind : {"mutex", "counting_semaphore"}) {
    BOOST_TEST(is_read(kind, ""), kind);
    BOOST_TEST(!is_read(kind, "me"), kind);
  }
  for (const char* const kind : {"recursive_mutex", "shared_mutex"}) BOOST_TEST(is_read(kind, "me"), kind);
}

// The client's channel is named by what is before the dot.
BOOST_AUTO_TEST_CASE(a_token_names_its_client) {
  BOOST_TEST(is_read("mutex", "", "c.1"));
  for (const char* const token : {".1", ".c.1", ".", "c"}) BOOST_TEST(!is_read("mutex", "", token), token);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
