// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Each source file names its license in its first lines, as the Boost Software License asks of copies.
#include "support/temporary_folder.hpp"
#include "support/unit_test.hpp"

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(licenses)

namespace fs = std::filesystem;

// Pages, JSON (which has no comments) and what tests read as data.
bool is_source(const fs::path& file) {
  const auto extension = file.extension();
  if (extension == ".md" || extension == ".json" || extension == ".pyc") return false;
  const auto folder = file.parent_path();
  return folder.filename() != "mutations" && folder.parent_path().filename() != "corpus";
}

// A first line that a program asks for ("#!...", "#compdef") may come before it.
bool names_its_license(const fs::path& file) {
  constexpr std::string_view license = "SPDX-License-Identifier: BSL-1.0";
  std::ifstream text(file);
  std::string line;
  for (int i = 0; i < 3 && std::getline(text, line); ++i) {
    if (line.ends_with(license)) return true;
  }
  return false;
}

struct result {
  std::size_t sources = 0;
  std::vector<std::string> without;
};

result read_licenses(const fs::path& top) {
  result found;
  const auto look_at = [&](const fs::path& file) {
    if (!is_source(file)) return;
    ++found.sources;
    if (!names_its_license(file)) found.without.push_back(fs::relative(file, top).generic_string());
  };
  for (const auto* folder : {"include", "src", "lua", "test", "examples", ".ci", ".github"}) {
    if (!fs::exists(top / folder)) continue;
    for (const auto& file : fs::recursive_directory_iterator(top / folder)) {
      if (file.is_regular_file()) look_at(file.path());
    }
  }
  for (const auto* file : {"CMakeLists.txt", "dev"}) {
    if (fs::exists(top / file)) look_at(top / file);
  }
  return found;
}

BOOST_AUTO_TEST_CASE(each_source_file_names_its_license) {
  const auto found = read_licenses(LEASEHOLD_SOURCE_DIR);
  BOOST_TEST(found.sources > 500U);
  for (const auto& file : found.without) BOOST_ERROR("no license identifier: " << file);
}

BOOST_AUTO_TEST_CASE(a_source_file_without_a_license_is_found) {
  const temporary_folder folder;
  const fs::path top = folder.path();
  for (const auto* name : {"src/store", "test/fuzz/corpus/urls"}) fs::create_directories(top / name);
  std::ofstream(top / "dev") << "#!/bin/sh\n# SPDX-License-Identifier: BSL-1.0\n";
  std::ofstream(top / "src/README.md") << "# src\n";
  std::ofstream(top / "test/fuzz/corpus/urls/one") << "redis://\n";
  std::ofstream(top / "src/store/url.cpp") << "// SPDX-License-Identifier: MIT\n#include \"store/url.hpp\"\n";
  const auto found = read_licenses(top);
  BOOST_TEST(found.sources == 2U);
  const std::vector<std::string> without{"src/store/url.cpp"};
  BOOST_TEST(found.without == without, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
