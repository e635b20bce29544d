// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "example.hpp"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {
namespace {

// A line of the program, whose whole form is checked.
class span {
 public:
  explicit span(const std::string& line) {
    static const std::regex form(
        "\\{\"name\":\"([a-z._]+)\",\"start_unix_nano\":\"([0-9]+)\",\"duration_us\":([0-9]+),"
        "\"attributes\":\\{(\"[a-z._]+\":\"[^\"]*\"(,\"[a-z._]+\":\"[^\"]*\")*)\\}\\}");
    static const std::regex attribute("\"([a-z._]+)\":\"([^\"]*)\"");
    std::smatch found;
    BOOST_REQUIRE_MESSAGE(std::regex_match(line, found, form), line);
    name = found[1];
    start = std::stoll(found[2]);
    duration = std::stoll(found[3]) * 1000;
    const std::string all = found[4];
    for (std::sregex_iterator i(all.begin(), all.end(), attribute), end; i != end; ++i) attributes[(*i)[1]] = (*i)[2];
  }

  std::string attribute(const std::string& its_name) const {
    const auto found = attributes.find(its_name);
    return found == attributes.end() ? "" : found->second;
  }

  // In nanoseconds.
  std::int64_t end() const { return start + duration; }

  std::string name;
  std::int64_t start = 0;
  std::int64_t duration = 0;
  std::map<std::string, std::string> attributes;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(spans, with_examples)

BOOST_AUTO_TEST_CASE(each_wait_and_each_hold_is_a_span) {
  const ended e = run({"spans", "--work", "400ms", "--slow", "100ms"});
  BOOST_REQUIRE_MESSAGE(e.status == 0, e.errors);
  // By the client and the name of the span.
  std::map<std::pair<std::string, std::string>, span> all;
  std::istringstream lines(e.output);
  for (std::string line; std::getline(lines, line);) {
    const span s(line);
    const std::pair key(s.attribute("client"), s.name);
    BOOST_TEST(all.emplace(key, s).second, line);
  }
  BOOST_TEST(all.size() == 5U, e.output);
  const auto& held = all.at({"web1", "lock.hold"});
  const auto& waited = all.at({"web2", "lock.wait"});
  const auto& slow = all.at({"web2", "lock.slow_wait"});
  BOOST_TEST(held.duration >= 400'000'000);
  BOOST_TEST(waited.duration >= 300'000'000);
  // By two looks at the clock, which may have been stepped meanwhile.
  constexpr std::int64_t some = 200'000'000;
  BOOST_TEST(std::abs(waited.end() - held.end()) < some);
  BOOST_TEST(std::abs(slow.start - waited.start) < some);
  BOOST_TEST(slow.duration >= 100'000'000);
  BOOST_TEST(slow.attribute("lock.holder") == "web1");
  BOOST_TEST(slow.attribute("lock.token") == held.attribute("lock.token"));
  BOOST_TEST(slow.attribute("lock.fence") == held.attribute("lock.fence"));
  BOOST_TEST(std::abs(std::stoll(slow.attribute("lock.held_since_unix_nano")) - held.start) < some);
  for (const auto& [key, s] : all) {
    BOOST_TEST(s.attribute("lock.name") == "seat:A1");
    BOOST_TEST(s.attribute("lock.class") == "seat");
  }
  BOOST_TEST(waited.attribute("outcome") == "acquired");
  BOOST_TEST(held.attribute("outcome") == "released");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
