// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Which room of src/ includes which (src/README.md): arrows run one way, and no units include each other in a circle.
// One file of the library calls the operating system.
#include "support/unit_test.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(includes)

namespace fs = std::filesystem;

// Each room may include itself and those that are named. "store": the files directly in that folder; "store/*": each
// folder in it (to include: except store/memory, which is no part of the library); "": those of src/ itself, the
// facades.
const std::map<std::string, std::set<std::string>> may_include{
    {"time", {}},
    {"protocol", {"time"}},
    {"store", {"protocol", "time"}},
    {"store/*", {"store", "protocol", "time"}},
    {"client", {"store", "protocol", "time"}},
    {"lock", {"client", "store", "protocol", "time"}},
    {"", {"lock", "client", "store", "store/*", "protocol", "time"}},
    {"testing", {"store/memory", "store", "protocol", "time"}},
    {"cli", {}},
};

// File (from src/) -> what it includes of src/.
using graph = std::map<std::string, std::vector<std::string>>;

std::string room_of(const std::string& file) {
  const auto slash = file.rfind('/');
  return slash == file.npos ? "" : file.substr(0, slash);
}

bool may(const std::set<std::string>& rule, const std::string& to) {
  return rule.contains(to) || (rule.contains("store/*") && to.starts_with("store/") && to != "store/memory");
}

// A header and its source are one unit.
std::string unit_of(const std::string& file) { return file.substr(0, file.rfind('.')); }

// What `#include "..."` of a line names; "" if it is no such line.
std::string included_by(std::string_view line) {
  constexpr std::string_view begin = "#include \"";
  if (!line.starts_with(begin)) return {};
  line.remove_prefix(begin.size());
  return std::string(line.substr(0, line.find('"')));
}

graph read_sources(const fs::path& top) {
  graph found;
  for (const auto& file : fs::recursive_directory_iterator(top)) {
    const auto extension = file.path().extension();
    if (extension != ".cpp" && extension != ".hpp") continue;
    const auto name = fs::relative(file.path(), top).generic_string();
    auto& included = found[name];
    std::ifstream text(file.path());
    for (std::string line; std::getline(text, line);) {
      const auto other = included_by(line);
      if (other.empty()) continue;
      // Those of the command are written from their own folder on.
      included.push_back(fs::exists(top / other) ? other : room_of(name) + "/" + other);
    }
  }
  return found;
}

std::vector<std::string> wrong_arrows(const graph& sources) {
  std::vector<std::string> wrong;
  for (const auto& [file, included] : sources) {
    const auto room = room_of(file);
    const auto rule = may_include.find(room.starts_with("store/") ? "store/*" : room);
    if (rule == may_include.end()) {
      wrong.push_back(file + " is in no room");
      continue;
    }
    for (const auto& other : included) {
      if (room_of(other) != room && !may(rule->second, room_of(other))) wrong.push_back(file + " -> " + other);
    }
  }
  return wrong;
}

// A circle of units, each of which includes the next; empty if there is none.
std::vector<std::string> circle(const graph& sources) {
  std::map<std::string, std::set<std::string>> units;
  for (const auto& [file, included] : sources) {
    for (const auto& other : included) {
      if (unit_of(other) != unit_of(file)) units[unit_of(file)].insert(unit_of(other));
    }
  }
  std::vector<std::string> path;
  std::set<std::string> done;
  const auto search = [&](const auto& self, const std::string& unit) -> bool {
    if (const auto again = std::find(path.begin(), path.end(), unit); again != path.end()) {
      path.erase(path.begin(), again);
      return true;
    }
    if (!done.insert(unit).second) return false;
    path.push_back(unit);
    for (const auto& next : units[unit]) {
      if (self(self, next)) return true;
    }
    path.pop_back();
    return false;
  };
  for (const auto& [file, included] : sources) {
    if (search(search, unit_of(file))) return path;
  }
  return {};
}

BOOST_AUTO_TEST_CASE(arrows_between_rooms_run_one_way) {
  const auto sources = read_sources(LEASEHOLD_SOURCE_DIR "/src");
  BOOST_TEST(sources.size() > 100U);
  for (const auto& arrow : wrong_arrows(sources)) BOOST_ERROR("a wrong arrow: " << arrow);
}

BOOST_AUTO_TEST_CASE(no_units_include_each_other_in_a_circle) {
  for (const auto& unit : circle(read_sources(LEASEHOLD_SOURCE_DIR "/src"))) BOOST_ERROR("in a circle: " << unit);
}

BOOST_AUTO_TEST_CASE(a_wrong_arrow_and_a_circle_are_found) {
  auto sources = read_sources(LEASEHOLD_SOURCE_DIR "/src");
  sources["store/store.hpp"].emplace_back("client/client_core.hpp");
  const std::vector<std::string> arrow{"store/store.hpp -> client/client_core.hpp"};
  BOOST_TEST(wrong_arrows(sources) == arrow, boost::test_tools::per_element());
  BOOST_TEST(circle(sources).size() >= 2U);
  sources["attic/box.cpp"];
  BOOST_TEST(wrong_arrows(sources).size() == 2U);
}

// The headers of C++, and of what the library depends on. All others are the operating system's.
bool is_portable(std::string_view header) {
  for (const std::string_view folder : {"boost/", "fmt/", "leasehold/", "openssl/"}) {
    if (header.starts_with(folder)) return true;
  }
  for (const std::string_view lua : {"lua.h", "lualib.h", "lauxlib.h"}) {
    if (header == lua) return true;
  }
  return header.find_first_of("/.") == header.npos;
}

// "::name(" without a scope before it: a function of C.
bool calls_the_system(std::string_view line) {
  const auto is_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  const auto is_scope = [&](char c) { return is_name(c) || (c >= 'A' && c <= 'Z') || c == '>' || c == ':'; };
  for (auto at = line.find("::"); at != line.npos; at = line.find("::", at + 2)) {
    auto end = at + 2;
    while (end < line.size() && is_name(line[end])) ++end;
    if (end > at + 2 && end < line.size() && line[end] == '(' && (at == 0 || !is_scope(line[at - 1]))) return true;
  }
  return false;
}

// Lines of a file that only one system may understand.
std::vector<std::string> lines_for_one_system(std::istream& text) {
  std::vector<std::string> found;
  for (std::string line; std::getline(text, line);) {
    const std::string_view code = std::string_view(line).substr(0, line.find("//"));
    constexpr std::string_view begin = "#include <";
    const bool is_include = code.starts_with(begin);
    const auto header = is_include ? code.substr(begin.size(), code.find('>') - begin.size()) : std::string_view();
    const bool asks = code.starts_with("#") && (code.find("__linux") != code.npos || code.find("_WIN32") != code.npos ||
                                                code.find("__APPLE__") != code.npos);
    if (asks || (is_include && !is_portable(header)) || calls_the_system(code)) found.push_back(line);
  }
  return found;
}

BOOST_AUTO_TEST_CASE(one_file_of_the_library_calls_the_operating_system) {
  const fs::path top = LEASEHOLD_SOURCE_DIR "/src";
  for (const auto& [file, included] : read_sources(top)) {
    if (room_of(file) == "cli") continue;
    std::ifstream text(top / file);
    const auto lines = lines_for_one_system(text);
    if (file == "time/system.cpp") {
      BOOST_TEST(lines.size() > 5U);
    } else {
      for (const auto& line : lines) BOOST_ERROR("for one system only: " << file << ": " << line);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_call_of_the_operating_system_is_found) {
  const auto lines_of = [](const std::string& text) {
    std::istringstream in(text);
    return lines_for_one_system(in).size();
  };
  for (const auto* line : {"#include <unistd.h>", "#include <sys/random.h>", "#include <linux/time.h>",
                           "#ifdef __linux__", "#if defined(_WIN32)", "  return ::getpid();", "::syscall(1);"}) {
    BOOST_TEST(lines_of(line) == 1U, line);
  }
  for (const auto* line : {"#include <vector>", "#include <boost/asio.hpp>", "#include <lua.h>", "asio::post(f);",
                           "std::function<void()> f;", "vector<int>::size();", "// ::getpid()", "::SSL_free"}) {
    BOOST_TEST(lines_of(line) == 0U, line);
  }
}

std::string read_map() {
  std::ifstream file(LEASEHOLD_SOURCE_DIR "/src/README.md");
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

BOOST_AUTO_TEST_CASE(the_map_names_every_room) {
  const std::string map = read_map();
  std::set<std::string> rooms;
  for (const auto& [file, included] : read_sources(LEASEHOLD_SOURCE_DIR "/src")) rooms.insert(room_of(file));
  BOOST_TEST(rooms.size() > 10U);
  for (const auto& room : rooms) {
    BOOST_TEST(map.find(room.empty() ? "`*.cpp`" : "`" + room + "/`") != map.npos, room);
  }
}

BOOST_AUTO_TEST_CASE(the_map_names_every_file_of_more_than_400_lines) {
  const std::string map = read_map();
  const fs::path top = LEASEHOLD_SOURCE_DIR "/src";
  for (const auto& [file, included] : read_sources(top)) {
    std::ifstream text(top / file);
    const auto lines = std::count(std::istreambuf_iterator<char>(text), std::istreambuf_iterator<char>(), '\n');
    BOOST_TEST((lines > 400) == (map.find("| `" + file + "` |") != map.npos), file << ": " << lines << " lines");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
