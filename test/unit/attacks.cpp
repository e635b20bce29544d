// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// docs/attacks.md names a test for each attack, and each fault of test/simulation/mutations a place in the sources.
#include "support/child.hpp"
#include "support/unit_test.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(attacks)

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The names of all test cases in these folders of test/.
std::set<std::string> test_cases(std::initializer_list<const char*> folders) {
  static const std::regex begin(R"(BOOST_(AUTO|FIXTURE)_TEST_CASE\((\w+))");
  std::set<std::string> found;
  for (const char* const folder : folders) {
    for (const auto& file : fs::recursive_directory_iterator(fs::path(LEASEHOLD_SOURCE_DIR) / "test" / folder)) {
      if (file.path().extension() != ".cpp") continue;
      const auto text = read(file.path());
      for (std::sregex_iterator i(text.begin(), text.end(), begin), end; i != end; ++i) found.insert((*i)[2]);
    }
  }
  return found;
}

BOOST_AUTO_TEST_CASE(each_attack_has_a_test) {
  const auto in_virtual_time = test_cases({"simulation"});
  const auto on_servers = test_cases({"integration", "faults", "cli"});
  static const std::regex row(R"(\n\| ([^|]+) \| ([^|]*)\| ([^|]*)\|)"), name("`([^`]+)`");
  const auto text = read(fs::path(LEASEHOLD_SOURCE_DIR) / "docs" / "attacks.md");
  std::size_t attacks = 0;
  for (std::sregex_iterator i(text.begin(), text.end(), row), end; i != end; ++i) {
    const std::string attack = (*i)[1];
    if (attack == "attack") continue;
    ++attacks;
    std::size_t named = 0;
    for (const int column : {2, 3}) {
      const auto& known = column == 2 ? in_virtual_time : on_servers;
      const std::string names = (*i)[static_cast<std::size_t>(column)];
      for (std::sregex_iterator n(names.begin(), names.end(), name); n != end; ++n) {
        ++named;
        BOOST_TEST(known.contains((*n)[1]), attack << ": there is no test " << (*n)[1]);
      }
    }
    BOOST_TEST(named != 0U, attack << ": without a test");
  }
  BOOST_TEST(attacks >= 35U);
}

// Whoever changes a line that a fault is planted in changes the fault, too.
BOOST_AUTO_TEST_CASE(each_mutation_can_be_planted) {
  const auto mutate = fs::path(LEASEHOLD_SOURCE_DIR) / "test" / "simulation" / "mutate";
  child c({"python3", mutate.string(), "--list"});
  const std::string all = c.read_rest();
  BOOST_TEST(c.wait() == 0, c.errors());
  BOOST_TEST(std::count(all.begin(), all.end(), '\n') >= 100);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
