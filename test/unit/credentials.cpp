// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/unit_test.hpp"

#include <leasehold/client.hpp>
#include <leasehold/error.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(handlers_of_credentials)

namespace {

using strings_told = std::vector<std::string>;

// Keeps "<why>/<user>" of each answer.
credentials_handler into(strings_told& told) {
  return credentials_handler(
      [&told](const std::string& why, const leasehold::credentials& given) { told.push_back(why + "/" + given.user); });
}

}  // namespace

// A function may answer and then throw: the client answers for it then.
BOOST_AUTO_TEST_CASE(only_the_first_answer_counts) {
  strings_told told;
  const credentials_handler answer = into(told), copy = answer;
  answer(leasehold::credentials("alice", "1"));
  answer(leasehold::credentials("bob", "2"));
  copy(leasehold::credentials("carol", "3"));
  copy(std::make_exception_ptr(std::runtime_error("thrown")));
  BOOST_TEST(told == strings_told{"/alice"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_failure_always_has_a_reason) {
  strings_told told;
  into(told)(std::make_exception_ptr(std::runtime_error("thrown")));
  into(told)(std::make_exception_ptr(std::runtime_error("")));
  into(told)(std::make_exception_ptr(1));
  into(told)(error_code(error::timed_out));
  into(told)(std::string("no file"));
  BOOST_TEST(told == (strings_told{"thrown/", "it gives no reason/", "an exception of an unknown type/", "timed out/",
                                   "no file/"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_did_not_fail_is_an_answer) {
  strings_told told;
  const leasehold::credentials alice("alice", "1");
  into(told)(std::exception_ptr(), alice);
  into(told)(error_code(), alice);
  into(told)(std::string(), alice);
  BOOST_TEST(told == (strings_told{"/alice", "/alice", "/alice"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
