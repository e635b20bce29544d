// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "cli/text.hpp"
#include "support/unit_test.hpp"

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(command_text)

BOOST_AUTO_TEST_CASE(a_word_that_may_have_a_password_is_not_repeated) {
  for (const char* word : {"u:p@h", "redis://h", "password=p", "sentinel_password=p", "auth=p", "Password=p", "AUTH=p",
                           "lh1.AAAA", "ticket=lh1.AAAA"}) {
    BOOST_TEST(cli::word_in_quotes(word) == "'***'", word);
  }
  BOOST_TEST(cli::word_in_quotes("jobs/nightly") == "'jobs/nightly'");
}

BOOST_AUTO_TEST_CASE(of_an_option_only_the_name_is_repeated) {
  BOOST_TEST(cli::option_in_quotes("--redi=u:p@h") == "'--redi'");
  BOOST_TEST(cli::option_in_quotes("--pass=p") == "'--pass'");
  BOOST_TEST(cli::option_in_quotes("--pass:p") == "'--pass'");
  BOOST_TEST(cli::option_in_quotes("--password") == "'--password'");
  BOOST_TEST(cli::option_in_quotes("--jsonsentinel_Passwordsecret=x") == "'--jsonsentinel_Password***'");
  BOOST_TEST(cli::option_in_quotes("--secret@host") == "'--***'");
  BOOST_TEST(cli::option_in_quotes("--sec!ret@host") == "'--***'");
  BOOST_TEST(cli::option_in_quotes("-psecret") == "'-p'");
  BOOST_TEST(cli::option_in_quotes("-p") == "'-p'");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
