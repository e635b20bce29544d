// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/lock_replies.hpp"

#include "store/quorum/inspections.hpp"

#include "support/unit_test.hpp"

#include <leasehold/shared_mutex.hpp>

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::test {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(lock_replies)

detail::reply reply_with(std::initializer_list<std::string_view> scalars) {
  detail::reply r;
  for (const auto s : scalars) r.add(s);
  return r;
}

BOOST_AUTO_TEST_CASE(a_page_of_a_list_is_read) {
  const auto found =
      detail::read_page(reply_with({"p:a", "mutex", "2048", "1000", "2", "1", "", "1", "t", "1000", "2048", "",
                                    "q:b", "mutex", "2048", "1000", "0", "1", "", "1", "u", "1000", "2048", ""}),
                        "p:");
  BOOST_REQUIRE_EQUAL(found.size(), 1U);
  BOOST_TEST(found[0].name == "a");
  BOOST_TEST(found[0].token == "t");
  BOOST_TEST(found[0].waiters == 2U);
}

BOOST_AUTO_TEST_CASE(a_list_has_no_lock_that_nobody_holds) {
  const auto free = reply_with({"p:a", "mutex", "2048", "1000", "0", "0", "", "0"});
  BOOST_TEST(detail::read_page(free, "p:").empty());
  const auto ends_within_a_lock = reply_with({"p:b", "mutex", "2048", "1000", "0", "1", "", "1", "t"});
  BOOST_TEST(detail::read_page(ends_within_a_lock, "p:").empty());
}

BOOST_AUTO_TEST_CASE(a_scan_ends_though_every_cursor_is_new) {
  const auto pages_of = [](std::size_t bytes) {
    const std::string content(bytes, 'x');
    detail::scan s;
    s.begin();
    std::size_t pages = 0;
    for (const char* problem = nullptr; problem == nullptr && pages < 2'000'000; ++pages) {
      detail::reply r;
      r.add(std::to_string(pages + 1));
      problem = s.take(r);
      // What was found out about its keys.
      if (problem == nullptr) problem = s.note(reply_with({content}));
      if (problem != nullptr) BOOST_TEST(std::string_view(problem) == "the list is longer than 256 MiB");
    }
    return pages;
  };
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  BOOST_TEST(pages_of(mebibyte) == 256U);
  // Empty ones.
  BOOST_TEST(pages_of(0) == mebibyte + 1);
}

BOOST_AUTO_TEST_CASE(a_page_longer_than_any_list_ends_a_scan) {
  detail::scan s;
  s.begin();
  detail::reply r;
  r.add("7");
  r.add(std::string((std::size_t{256} << 20) + 1, 'x'));
  BOOST_TEST(std::string_view(s.take(r)) == "the list is longer than 256 MiB");
}

BOOST_AUTO_TEST_CASE(only_keys_that_may_be_records_are_read_of_a_page) {
  const auto page = reply_with({"7", "p:a", "q:b", "leasehold:{0}:fence", "p:leasehold:", "p:"});
  BOOST_TEST((detail::read_keys(page, "p:") == std::vector<std::string>{"p:a", "p:leasehold:", "p:"}));
  BOOST_TEST((detail::read_keys(page, "") == std::vector<std::string>{"p:a", "q:b", "p:leasehold:", "p:"}));
  BOOST_TEST(detail::read_keys(reply_with({"7"}), "").empty());
}

BOOST_AUTO_TEST_CASE(a_cursor_that_was_seen_before_ends_a_scan) {
  detail::scan s;
  s.begin();
  BOOST_TEST(s.take(reply_with({"7"})) == nullptr);
  BOOST_TEST(s.cursor() == "7");
  BOOST_TEST(s.take(reply_with({"9"})) == nullptr);
  BOOST_TEST(std::string_view(s.take(reply_with({"7"}))) == "the server's SCAN goes in a circle");
  BOOST_TEST(std::string_view(s.take(reply_with({"x"}))) == "the server's answer to SCAN is none");
  // The next server has cursors of its own.
  s.begin();
  BOOST_TEST(s.take(reply_with({"7"})) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_quorum_has_the_holds_that_a_majority_names) {
  const auto a = detail::read_inspection(reply_with({"1", "2048", "1000", "0", "", "t", "1000", ""}));
  const auto b = detail::read_inspection(reply_with({"1", "2048", "900", "0", "", "t", "900", ""}));
  const detail::inspection none;
  const auto merged = detail::merge_inspections({&a, &b, &none}, 2);
  BOOST_REQUIRE_EQUAL(merged.holds.size(), 1U);
  BOOST_TEST(merged.holds[0].token == "t");
  BOOST_TEST(merged.left == 900ms);
  BOOST_TEST(merged.fence == 2048U);
  BOOST_TEST(detail::merge_inspections({&a, &none, &none}, 2).holders == 0U);
}

BOOST_AUTO_TEST_CASE(an_inspection_reports_the_tokens_of_all_holds) {
  const auto readers =
      detail::read_inspection(reply_with({"2", "2048", "1000", "0", "r", "t", "1000", "r", "u", "900", "r"}));
  const lock_info info = detail::info_of(detail::merge_inspections({&readers, &readers}, 2), detail::kinds::reader);
  BOOST_TEST(info.holders == 2U);
  BOOST_TEST(info.tokens == (std::vector<std::string>{"t", "u"}), boost::test_tools::per_element());
  BOOST_TEST(info.token == "t");
}

BOOST_AUTO_TEST_CASE(a_server_that_names_a_hold_twice_is_no_majority) {
  const auto twice = reply_with({"2", "2048", "1000", "0", "", "t", "1000", "", "t", "1000", ""});
  const auto its = detail::read_inspection(twice);
  const detail::inspection none;
  BOOST_TEST(detail::merge_inspections({&its, &none, &none}, 2).holders == 0U);
}

// A script lists a hundred at most, and each server others.
BOOST_AUTO_TEST_CASE(holds_that_no_majority_lists_are_counted_all_the_same) {
  const auto some = [](const std::string& token) {
    auto r = reply_with({"300", "2048", "5000", "0", "r"});
    for (int i = 0; i < 100; ++i) {
      for (const std::string& s : {token + std::to_string(i), std::string("1000"), std::string("r")}) r.add(s);
    }
    return detail::read_inspection(r);
  };
  const auto a = some("t"), b = some("u"), c = some("v");
  const detail::inspection none;
  const auto merged = detail::merge_inspections({&a, &b, &c}, 2);
  BOOST_TEST(merged.holders == 300U);
  BOOST_TEST(merged.holds.size() == 100U);
  BOOST_TEST(merged.left == 5000ms);
  BOOST_TEST(merged.fence == 2048U);
  // What one server has is not held.
  BOOST_TEST(detail::merge_inspections({&a, &none, &none}, 2).holders == 0U);
}

BOOST_AUTO_TEST_CASE(an_owner_of_another_program_has_no_token) {
  const auto a = detail::read_inspection(reply_with({"1", "0", "1000", "0", "redisson"}));
  BOOST_TEST(a.holders == 1U);
  BOOST_TEST(a.holds.empty());
  const auto merged = detail::merge_inspections({&a, &a}, 2);
  BOOST_TEST(merged.holders == 1U);
  BOOST_TEST(merged.about == "redisson");
  BOOST_TEST(merged.left == 1000ms);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
