// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The properties that the fuzz targets state, for their corpora and for random changes to them. `./dev fuzz` looks
// further.
#include "fuzz/targets.hpp"

#include "support/rarer.hpp"
#include "support/unit_test.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(fuzzed)

std::vector<std::string> read_corpus(std::string_view target) {
  const auto folder = std::filesystem::path(LEASEHOLD_SOURCE_DIR) / "test/fuzz/corpus" / target;
  // In an order that does not depend on the file system: a failure can be repeated.
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> all;
  for (auto& [name, text] : files) all.push_back(std::move(text));
  return all;
}

// One of many small mistakes, at a place that the engine chooses.
void damage(std::string& text, const std::vector<std::string>& corpus, std::minstd_rand& random) {
  static constexpr std::string_view pieces[] = {"@",
                                                ":",
                                                "/",
                                                "?",
                                                "#",
                                                "&",
                                                "%4",
                                                ",",
                                                "[",
                                                "]",
                                                " ",
                                                "=",
                                                "://",
                                                "\n",
                                                "|",
                                                "~",
                                                "!",
                                                "$",
                                                "*",
                                                "-1",
                                                "password=",
                                                "auth",
                                                "unix://",
                                                "--",
                                                ".",
                                                "s",
                                                "\r\n",
                                                "9223372036854775807",
                                                "0",
                                                "16384",
                                                "h",
                                                "7",
                                                std::string_view("\0", 1),
                                                "\xff",
                                                "slave",
                                                "master",
                                                "18446744073709551616"};
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  const auto piece = [&] { return pieces[below(std::size(pieces))]; };
  const std::size_t at = below(text.size() + 1);
  switch (below(7)) {
    case 0: text.erase(at, 1 + below(8)); break;
    case 1: text.insert(at, piece()); break;
    case 2:
      if (at < text.size()) text[at] = piece()[0];
      break;
    case 3: text.insert(at, text.substr(below(text.size() + 1), below(30))); break;
    case 4:
      if (at < text.size()) text[at] = static_cast<char>(below(256));
      break;
    case 5: {
      const std::string& other = corpus[below(corpus.size())];
      text.replace(at, below(30), other.substr(below(other.size() + 1), below(60)));
      break;
    }
    default:
      if (at + 1 < text.size()) std::swap(text[at], text[at + 1]);
      break;
  }
}

void check_target(std::string_view name, unsigned changes) {
  const auto target = std::find_if(std::begin(fuzz_targets), std::end(fuzz_targets),
                                   [&](const fuzz_target& t) { return t.name == name; });
  BOOST_REQUIRE(target != std::end(fuzz_targets));
  const auto corpus = read_corpus(name);
  BOOST_REQUIRE(!corpus.empty());
  for (const auto& input : corpus) BOOST_TEST(target->check(input) == "", input);
  std::minstd_rand random(20261123);
  for (unsigned i = 0; i < changes / rarer; ++i) {
    std::string input = corpus[random() % corpus.size()];
    for (auto n = 1 + random() % 5; n != 0; --n) damage(input, corpus, random);
    const std::string wrong = target->check(input);
    BOOST_REQUIRE_MESSAGE(wrong.empty(), wrong << ": " << input);
  }
}

BOOST_AUTO_TEST_CASE(broken_urls) { check_target("broken_urls", 30000); }
BOOST_AUTO_TEST_CASE(cluster) { check_target("cluster", 30000); }
// CLI11 builds its grammar each time.
BOOST_AUTO_TEST_CASE(command_lines) { check_target("command_lines", 1000); }
BOOST_AUTO_TEST_CASE(credentials) { check_target("credentials", 30000); }
BOOST_AUTO_TEST_CASE(durations) { check_target("durations", 30000); }
BOOST_AUTO_TEST_CASE(error_words) { check_target("error_words", 30000); }
BOOST_AUTO_TEST_CASE(grants) { check_target("grants", 30000); }
BOOST_AUTO_TEST_CASE(handshakes) { check_target("handshakes", 30000); }
BOOST_AUTO_TEST_CASE(lock_replies) { check_target("lock_replies", 30000); }
BOOST_AUTO_TEST_CASE(resp3) { check_target("resp3", 30000); }
BOOST_AUTO_TEST_CASE(sentinel_answers) { check_target("sentinel_answers", 30000); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
