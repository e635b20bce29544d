// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/client.hpp>
#include <leasehold/error.hpp>

#include "support/unit_test.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

using leasehold::error;

BOOST_AUTO_TEST_SUITE(errors)

BOOST_AUTO_TEST_CASE(the_message_is_the_enumerator_with_spaces) {
  const std::pair<error, std::string> all[] = {
      {error::timed_out, "timed out"},
      {error::lost, "lost"},
      {error::not_held, "not held"},
      {error::no_quorum, "no quorum"},
      {error::unreachable, "unreachable"},
      {error::refused, "refused"},
      {error::wrong_type, "wrong type"},
      {error::wrong_limit, "wrong limit"},
      {error::invalid_name, "invalid name"},
      {error::invalid_option, "invalid option"},
      {error::invalid_url, "invalid url"},
      {error::not_supported, "not supported"},
      {error::closed, "closed"},
      {error::invalid_ticket, "invalid ticket"},
  };
  std::set<int> values;
  for (const auto& [e, text] : all) {
    const leasehold::error_code ec = e;
    BOOST_TEST(ec.message() == text);
    BOOST_TEST(ec.failed());
    BOOST_TEST(ec.category().name() == std::string("leasehold"));
    BOOST_TEST((ec == e));
    values.insert(ec.value());
  }
  BOOST_TEST(values.size() == std::size(all));
}

BOOST_AUTO_TEST_CASE(there_is_one_category) {
  BOOST_TEST((&leasehold::error_category() == &make_error_code(error::lost).category()));
  const leasehold::error_code ec = error::lost;
  BOOST_TEST((ec != error::closed));
  BOOST_TEST((ec != leasehold::error_code(ec.value(), boost::system::generic_category())));
}

BOOST_AUTO_TEST_CASE(a_value_that_is_no_error_has_a_message_too) {
  BOOST_TEST(leasehold::error_category().message(99) == "unknown error");
  BOOST_TEST(leasehold::error_category().message(-1) == "unknown error");
}

BOOST_AUTO_TEST_CASE(a_system_error_carries_the_message) {
  const leasehold::system_error e(make_error_code(error::timed_out), "report");
  BOOST_TEST(std::string(e.what()).starts_with("report: timed out"));
}

BOOST_AUTO_TEST_CASE(an_exception_names_what_has_failed) {
  const leasehold::exception e(make_error_code(error::unreachable),
                               {.lock = "report", .server = "redis://h", .detail = "Connection refused"});
  BOOST_TEST(e.what() == std::string("unreachable: lock 'report' at redis://h: Connection refused"));
  BOOST_TEST(e.lock() == "report");
  BOOST_TEST(e.option() == "");
  BOOST_TEST(e.server() == "redis://h");
  BOOST_TEST(e.detail() == "Connection refused");
  try {
    throw e;
  } catch (const leasehold::system_error& base) {
    BOOST_TEST((base.code() == error::unreachable));
    BOOST_TEST(base.what() == std::string(e.what()));
  }
  const auto text = [](leasehold::exception::context about) {
    return std::string(leasehold::exception(make_error_code(error::refused), std::move(about)).what());
  };
  BOOST_TEST(text({}) == "refused");
  BOOST_TEST(text({.server = "redis://h", .detail = "OOM"}) == "refused: redis://h: OOM");
  BOOST_TEST(text({.option = "client_options::drift"}) == "refused: client_options::drift");
  // One line, and not a long one.
  BOOST_TEST(text({.lock = "a\nb\x1b"}) == "refused: lock 'a\\nb\\x1b'");
  // Nothing that a terminal obeys or that is no UTF-8: an 8-bit escape, a text that runs backwards, half a character.
  BOOST_TEST(text({.detail = "\xc2\x9b"
                             "31m \xe2\x80\xae \xe2\x82"}) == R"(refused: \xc2\x9b31m \xe2\x80\xae \xe2\x82)");
  BOOST_TEST(text({.lock = std::string(1000, 'x')}) == "refused: lock '" + std::string(100, 'x') + "...'");
}

BOOST_AUTO_TEST_CASE(events_have_names) {
  using kind = leasehold::event::kind;
  BOOST_TEST(to_string(kind::connected) == "connected");
  BOOST_TEST(to_string(kind::clock_jump) == "clock_jump");
  BOOST_TEST(to_string(kind::tagged_keys) == "tagged_keys");
  BOOST_TEST(to_string(kind::slow_wait) == "slow_wait");
  BOOST_TEST(to_string(kind::cancelled) == "cancelled");
  BOOST_TEST(to_string(kind::credentials) == "credentials");
  BOOST_TEST(to_string(kind::wanted) == "wanted");
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(kind::wanted); ++i) names.insert(to_string(static_cast<kind>(i)));
  BOOST_TEST(names.size() == static_cast<std::size_t>(kind::wanted) + 1);
  BOOST_TEST(names.count("unknown") == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
