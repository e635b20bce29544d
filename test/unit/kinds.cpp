// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/kind.hpp"

#include "support/unit_test.hpp"

#include <leasehold/leasehold.hpp>

#include <string>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(kinds_of_locks)

using detail::ask_is;
using detail::role;
namespace kinds = detail::kinds;

BOOST_AUTO_TEST_CASE(an_ask_says_who_asks) {
  BOOST_TEST(detail::make_ask(kinds::mutex, "a") == "");
  BOOST_TEST(detail::make_ask(kinds::counting_semaphore, "a") == "");
  BOOST_TEST(detail::make_ask(kinds::recursive_mutex, "a") == "a");
  BOOST_TEST(detail::make_ask(kinds::writer, "a") == "wa");
  BOOST_TEST(detail::make_ask(kinds::reader, "") == "r");
}

BOOST_AUTO_TEST_CASE(what_an_ask_says_is_read_again) {
  const auto writer = detail::read_ask(ask_is::role_and_owner, "wa");
  BOOST_TEST((writer.role == role::writer));
  BOOST_TEST(writer.owner == "a");
  BOOST_TEST((detail::read_ask(ask_is::role_and_owner, "r").role == role::reader));
  BOOST_TEST((detail::read_ask(ask_is::role_and_owner, "").role == role::none));
  BOOST_TEST(detail::read_ask(ask_is::owner, "wa").owner == "wa");
  BOOST_TEST(detail::read_ask(ask_is::limit, "3").owner == "");
  BOOST_TEST(detail::read_ask(ask_is::nothing, "a").owner == "");
}

BOOST_AUTO_TEST_CASE(a_writer_becomes_a_reader) {
  std::string ask = "wa";
  detail::ask_to_read(ask);
  BOOST_TEST(ask == "ra");
  ask.clear();
  detail::ask_to_read(ask);
  BOOST_TEST(ask == "");
}

BOOST_AUTO_TEST_CASE(a_kind_is_known_by_its_name) {
  BOOST_TEST((detail::ask_of_kind("shared_mutex") == ask_is::role_and_owner));
  BOOST_TEST((detail::ask_of_kind("counting_semaphore") == ask_is::limit));
  BOOST_TEST((detail::ask_of_kind("recursive_mutex") == ask_is::owner));
  BOOST_TEST((detail::ask_of_kind("mutex") == ask_is::nothing));
  BOOST_TEST((detail::ask_of_kind("") == ask_is::nothing));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
