// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "cli/options.hpp"

#include "support/unit_test.hpp"

#include <chrono>
#include <string>
#include <variant>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(command_options)

using namespace std::chrono_literals;

// What is beyond them is refused: test/cli/usage.cpp.
BOOST_AUTO_TEST_CASE(the_largest_and_the_smallest_values_are_allowed) {
  const auto interval = [](const std::string& text) {
    const auto wanted = cli::parse_options({"watch", "--redis", "unix:///nowhere", "--interval", text});
    return std::get<cli::watch_options>(wanted).interval;
  };
  BOOST_TEST(interval("100ms") == 100ms);
  BOOST_TEST(interval("1d") == 24h);
  const auto run = [](const std::string& option, const std::string& text) {
    const auto wanted = cli::parse_options({"run", "--redis", "unix:///nowhere", option, text, "n", "--", "true"});
    return std::get<cli::run_options>(wanted);
  };
  BOOST_TEST(run("--lease", "1ms").lease == 1ms);
  BOOST_TEST(run("--lease", "30d").lease == 720h);
  BOOST_TEST(run("--at-least", "30d").at_least == 720h);
  BOOST_TEST(run("--conflict-exit-code", "0").conflict_exit_code == 0);
  BOOST_TEST(run("--conflict-exit-code", "255").conflict_exit_code == 255);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
