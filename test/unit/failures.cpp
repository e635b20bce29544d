// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "client/failures.hpp"
#include "support/unit_test.hpp"

#include <string>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(failures)

BOOST_AUTO_TEST_CASE(words_of_a_server_are_one_printable_line_without_a_credential) {
  detail::failures f("redis://h", {"secret"});
  f.note_refusal("ERR \x1b]0;title\a\r\n\xc2\x9b\xff secret \xc3\xbc");
  BOOST_TEST(f.last_refusal() == R"(ERR \x1b]0;title\x07\x0d\n\xc2\x9b\xff *** )"
                                 "\xc3\xbc",
             f.last_refusal());
  BOOST_TEST(f.note_failure("\x1b[2J"));
  BOOST_TEST(!f.note_failure("\x1b[2J"));
  BOOST_TEST(f.last_failure() == R"(\x1b[2J)");
  BOOST_TEST(f.presentable("a\tb") == R"(a\x09b)");
}

BOOST_AUTO_TEST_CASE(what_was_given_later_is_hidden_too) {
  detail::failures f("redis://h", {"secret"});
  f.hide({"alice", "token"});
  BOOST_TEST(f.presentable("alice token secret") == "*** *** ***");
  BOOST_TEST(f.presentable(std::string(1000000, 'x')).size() < 600U);
}

BOOST_AUTO_TEST_CASE(a_credential_at_the_limit_is_not_shown_in_part) {
  const detail::failures f("redis://h", {"secret"});
  const auto shown = f.presentable(std::string(497, 'x') + "secret");
  BOOST_TEST(shown == std::string(497, 'x') + "***");
}

BOOST_AUTO_TEST_CASE(an_error_is_explained_by_what_has_caused_it) {
  detail::failures f("redis://h", {});
  f.note_failure("Connection refused");
  f.note_refusal("OOM");
  BOOST_TEST(f.about(error::unreachable).detail == "Connection refused");
  BOOST_TEST(f.about(error::no_quorum).detail == "Connection refused");
  BOOST_TEST(f.about(error::refused).detail == "OOM");
  BOOST_TEST(f.about(error::lost).detail == "");
  BOOST_TEST(f.about(error::lost).server == "redis://h");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
