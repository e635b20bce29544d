// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/ticket_text.hpp"
#include "support/unit_test.hpp"

#include <leasehold/ticket.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(tickets)

namespace {

using namespace std::chrono_literals;

detail::ticket_fields an_example() {
  detail::ticket_fields f;
  f.kind_name = "shared_mutex";
  f.kind = detail::kind_of(f.kind_name, true);
  f.name = std::string("invoice \0 4711\n", 15);
  f.owner = "an owner";
  f.token = "host-1-0123456789abcdef0123456789abcdef.7";
  f.fence = 3600000000000000001;
  f.recorded = 3600000000000000000;
  f.lease = 10min;
  f.depth = 2;
  f.rest = 5s;
  f.rest_from = 1700000000000000;
  return f;
}

error_code outcome_of(const std::string& text) {
  error_code ec;
  const ticket t = ticket::parse(text, ec);
  BOOST_TEST(static_cast<bool>(t) == !ec);
  return ec;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_ticket_is_one_word_and_is_read_as_it_was_written) {
  const auto text = detail::ticket_text(an_example());
  BOOST_TEST(text.starts_with("lh1."));
  BOOST_TEST(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 4) ==
             text.npos);
  const ticket t = ticket::parse(text);
  BOOST_TEST(t.to_string() == text);
  BOOST_TEST(t.kind() == "shared_mutex");
  BOOST_TEST(t.is_reader());
  BOOST_TEST(t.name() == an_example().name);
  BOOST_TEST(t.owner() == "an owner");
  BOOST_TEST(t.limit() == 0U);
  BOOST_TEST(t.token() == an_example().token);
  BOOST_TEST(t.fence() == 3600000000000000001U);
  BOOST_TEST((t.lease() == 10min));
  const auto read = detail::read_ticket(text).fields;
  BOOST_TEST(read.recorded == 3600000000000000000U);
  BOOST_TEST(read.depth == 2U);
  BOOST_TEST((read.rest == 5s));
  BOOST_TEST(read.rest_from == 1700000000000000);
}

// The form must stay readable by later versions.
BOOST_AUTO_TEST_CASE(this_text_is_a_ticket_forever) {
  const std::string text =
      "lh1.BW11dGV4AAFuAAApaG9zdC0xLTAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVmLjGAIIAg6AcBAABkhEgV";
  detail::ticket_fields f;
  f.kind_name = "mutex";
  f.kind = detail::kind_of("mutex", false);
  f.name = "n";
  f.token = "host-1-0123456789abcdef0123456789abcdef.1";
  f.fence = f.recorded = 4096;
  f.lease = 1s;
  BOOST_TEST(detail::ticket_text(f) == text);
  BOOST_TEST(ticket::parse(text).fence() == 4096U);
}

BOOST_AUTO_TEST_CASE(a_text_of_which_a_part_is_missing_or_was_changed_is_no_ticket) {
  const auto text = detail::ticket_text(an_example());
  for (std::size_t n = 0; n < text.size(); ++n) {
    BOOST_TEST(outcome_of(text.substr(0, n)) == error::invalid_ticket);
    BOOST_TEST(outcome_of(text.substr(n + 1)) == error::invalid_ticket);
    auto changed = text;
    changed[n] = changed[n] == 'B' ? 'C' : 'B';
    BOOST_TEST(outcome_of(changed) == error::invalid_ticket);
    changed[n] = ' ';
    BOOST_TEST(outcome_of(changed) == error::invalid_ticket);
  }
  BOOST_TEST(outcome_of(text + "A") == error::invalid_ticket);
  BOOST_TEST(outcome_of(text + "\n") == error::invalid_ticket);
  BOOST_TEST(outcome_of(text + text) == error::invalid_ticket);
}

BOOST_AUTO_TEST_CASE(fields_that_no_hold_has_are_no_ticket) {
  const auto wrong = [](auto change) {
    auto f = an_example();
    change(f);
    return outcome_of(detail::ticket_text(f)) == error::invalid_ticket;
  };
  BOOST_TEST(!wrong([](auto&) {}));
  BOOST_TEST(wrong([](auto& f) { f.kind_name = "all"; }));
  BOOST_TEST(wrong([](auto& f) { f.name.clear(); }));
  BOOST_TEST(wrong([](auto& f) { f.name.assign(65537, 'n'); }));
  BOOST_TEST(wrong([](auto& f) { f.limit = 1; }));
  BOOST_TEST(wrong([](auto& f) { f.token.clear(); }));
  BOOST_TEST(wrong([](auto& f) { f.token = "~" + f.token; }));
  BOOST_TEST(wrong([](auto& f) { f.token += ":1"; }));
  BOOST_TEST(wrong([](auto& f) { f.token = "no_number"; }));
  BOOST_TEST(wrong([](auto& f) { f.lease = 0ms; }));
  BOOST_TEST(wrong([](auto& f) { f.lease = 24h * 30 + 1ms; }));
  BOOST_TEST(wrong([](auto& f) { f.depth = 0; }));
  BOOST_TEST(wrong([](auto& f) { f.fence = f.recorded = std::uint64_t{1} << 63; }));
}

BOOST_AUTO_TEST_CASE(the_failure_names_what_is_wrong_and_nothing_of_the_ticket) {
  const auto text = detail::ticket_text(an_example());
  try {
    (void)ticket::parse(text.substr(0, text.size() - 1));
    BOOST_FAIL("it is read");
  } catch (const exception& e) {
    BOOST_TEST(e.code() == error::invalid_ticket);
    const std::string words = e.what();
    BOOST_TEST(words.starts_with("invalid ticket: "));
    BOOST_TEST(words.find(text.substr(4, 8)) == words.npos);
    BOOST_TEST(words.find("missing") != words.npos);
  }
}

// Two readers of one phase have the same fence.
BOOST_AUTO_TEST_CASE(tickets_that_differ_in_anything_are_not_equal) {
  const auto is_equal_after = [](auto change) {
    auto f = an_example();
    change(f);
    return ticket::parse(detail::ticket_text(f)) == ticket::parse(detail::ticket_text(an_example()));
  };
  BOOST_TEST(is_equal_after([](auto&) {}));
  BOOST_TEST(!is_equal_after([](auto& f) { f.token.back() = '8'; }));
  BOOST_TEST(!is_equal_after([](auto& f) { f.kind = detail::kind_of(f.kind_name, false); }));
  BOOST_TEST(!is_equal_after([](auto& f) { f.name += 'x'; }));
  BOOST_TEST(!is_equal_after([](auto& f) { f.owner += 'x'; }));
  BOOST_TEST(!is_equal_after([](auto& f) { ++f.fence; }));
  BOOST_TEST(!is_equal_after([](auto& f) { ++f.recorded; }));
  BOOST_TEST(!is_equal_after([](auto& f) { f.lease += 1ms; }));
  BOOST_TEST(!is_equal_after([](auto& f) { ++f.depth; }));
  BOOST_TEST(!is_equal_after([](auto& f) { f.rest += 1ms; }));
  BOOST_TEST(!is_equal_after([](auto& f) { ++f.rest_from; }));
  const auto with_limit = [](std::uint32_t limit) {
    auto f = an_example();
    f.kind_name = "counting_semaphore";
    f.kind = detail::kind_of(f.kind_name, false);
    f.owner.clear();
    f.limit = limit;
    return ticket::parse(detail::ticket_text(f));
  };
  BOOST_TEST((with_limit(2) == with_limit(2)));
  BOOST_TEST(!(with_limit(2) == with_limit(3)));
}

BOOST_AUTO_TEST_CASE(an_empty_ticket_is_of_no_hold) {
  const ticket none;
  BOOST_TEST(!none);
  BOOST_TEST(none.to_string() == "");
  BOOST_TEST(none.name() == "");
  BOOST_TEST(none.fence() == 0U);
  BOOST_TEST((none == ticket()));
  BOOST_TEST(!(none == ticket::parse(detail::ticket_text(an_example()))));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
