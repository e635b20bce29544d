// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "example.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {
namespace {

// The instants of all calls that are told, by the server's clock, in microseconds.
std::vector<std::int64_t> calls_in(const std::string& output) {
  std::vector<std::int64_t> all;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    BOOST_REQUIRE_MESSAGE(line.starts_with("call ") && line.find(" at=") != line.npos, line);
    all.push_back(std::stoll(line.substr(line.find(" at=") + 4)));
  }
  return all;
}

// The shortest time in which calls + 1 calls begin.
std::int64_t shortest_window(std::vector<std::int64_t> all, std::size_t calls) {
  std::sort(all.begin(), all.end());
  std::int64_t shortest = all.back() - all.front();
  for (std::size_t i = 0; i + calls < all.size(); ++i) shortest = std::min(shortest, all[i + calls] - all[i]);
  return shortest;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(rate_limit, with_examples)

BOOST_AUTO_TEST_CASE(no_window_has_more_calls_than_allowed) {
  child first = start({"rate_limit", "--calls", "4", "--window", "400ms", "--total", "10"});
  child second = start({"rate_limit", "--calls", "4", "--window", "400ms", "--total", "10"});
  const ended a = end_of(first), b = end_of(second);
  BOOST_TEST(a.status == 0, a.errors);
  BOOST_TEST(b.status == 0, b.errors);
  auto all = calls_in(a.output);
  const auto others = calls_in(b.output);
  BOOST_REQUIRE((all.size() == 10U && others.size() == 10U));
  all.insert(all.end(), others.begin(), others.end());
  // Redis ends a lease at a whole millisecond.
  BOOST_TEST(shortest_window(all, 4) >= 399'000);
  // The limit is used: 20 calls begin in five windows.
  const auto [least, most] = std::minmax_element(all.begin(), all.end());
  BOOST_TEST(*most - *least >= 4 * 399'000);
}

// A permit of an instance that is killed comes back with its lease, and not before.
BOOST_AUTO_TEST_CASE(a_killed_instance_leaves_its_permits_until_the_window_ends) {
  child first = start({"rate_limit", "--calls", "1", "--window", "1s", "--total", "2"});
  const auto line = first.read_line();
  BOOST_REQUIRE(line.has_value());
  first.signal(SIGKILL);
  first.wait();
  auto all = calls_in(*line);
  const ended next = run({"rate_limit", "--calls", "1", "--window", "1s", "--total", "1"});
  BOOST_TEST(next.status == 0, next.errors);
  all.push_back(calls_in(next.output).at(0));
  BOOST_TEST(shortest_window(all, 1) >= 999'000);
}

BOOST_AUTO_TEST_CASE(an_option_out_of_range_is_named) {
  const std::vector<std::pair<words, std::string>> cases = {
      {{"rate_limit", "--calls", "0"}, "--calls 0: it must be 1 to 100000"},
      {{"rate_limit", "--total", "0"}, "--total 0"},
      {{"rate_limit", "--window", "0s"}, "--window: 1ms to 30 days"},
      {{"rate_limit", "--window", "soon"}, "\"soon\" is no duration"},
  };
  for (const auto& [command, problem] : cases) {
    const ended e = run(command);
    BOOST_TEST(e.status == 64);
    BOOST_TEST(contains(e.errors, problem), e.errors);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
