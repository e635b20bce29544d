// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Which room of src/ includes which (src/README.md): arrows run one way, and no units include each other in a circle.
// A file includes what it names. One file of the library calls the operating system.
#include "support/unit_test.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
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

// Calls `use` with the name of each file, from `top` on, and each of its lines.
template <class Use>
void for_each_line(const fs::path& top, const std::string& folder, Use use) {
  for (const auto& file : fs::recursive_directory_iterator(top / folder)) {
    const auto extension = file.path().extension();
    if (extension != ".cpp" && extension != ".hpp") continue;
    const auto name = fs::relative(file.path(), top).generic_string();
    std::ifstream text(file.path());
    for (std::string line; std::getline(text, line);) use(name, line);
  }
}

graph read_sources(const fs::path& top) {
  graph found;
  for_each_line(top, "", [&](const std::string& name, const std::string& line) {
    auto& included = found[name];
    const auto other = included_by(line);
    if (other.empty()) return;
    // Those of the command are written from their own folder on.
    included.push_back(fs::exists(top / other) ? other : room_of(name) + "/" + other);
  });
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

// Where the names of std are that the library uses most.
const std::map<std::string, std::string, std::less<>> header_of_std{
    {"all_of", "algorithm"},
    {"any_of", "algorithm"},
    {"clamp", "algorithm"},
    {"count_if", "algorithm"},
    {"find", "algorithm"},
    {"find_if", "algorithm"},
    {"max", "algorithm"},
    {"min", "algorithm"},
    {"sort", "algorithm"},
    {"array", "array"},
    {"atomic", "atomic"},
    {"from_chars", "charconv"},
    {"chrono", "chrono"},
    {"size_t", "cstddef"},
    {"int64_t", "cstdint"},
    {"uint64_t", "cstdint"},
    {"deque", "deque"},
    {"exception_ptr", "exception"},
    {"function", "functional"},
    {"initializer_list", "initializer_list"},
    {"numeric_limits", "limits"},
    {"list", "list"},
    {"map", "map"},
    {"make_shared", "memory"},
    {"make_unique", "memory"},
    {"shared_ptr", "memory"},
    {"unique_ptr", "memory"},
    {"weak_ptr", "memory"},
    {"mutex", "mutex"},
    {"accumulate", "numeric"},
    {"optional", "optional"},
    {"queue", "queue"},
    {"set", "set"},
    {"span", "span"},
    {"invalid_argument", "stdexcept"},
    {"runtime_error", "stdexcept"},
    {"string", "string"},
    {"string_view", "string_view"},
    {"tuple", "tuple"},
    {"is_same_v", "type_traits"},
    {"unordered_map", "unordered_map"},
    {"unordered_set", "unordered_set"},
    {"exchange", "utility"},
    {"forward", "utility"},
    {"move", "utility"},
    {"pair", "utility"},
    {"variant", "variant"},
    {"vector", "vector"},
};

// What a file includes, and what it names.
struct source_file {
  std::set<std::string> files;    // Of the project, by their paths: "src/lock/lock_state.hpp".
  std::set<std::string> headers;  // Of others: "vector".
  std::set<std::string> of_std, of_asio;
  // Types of the project, each with an underscore (other words mean too much): those that the file defines, and those
  // that it only declares.
  std::set<std::string> defined, declared;
  std::set<std::string> words;  // With an underscore, and nothing in front that says whose they are.
};
using project = std::map<std::string, source_file>;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// A line without its comment and the contents of its texts.
std::string code_of(std::string_view line) {
  std::string code;
  for (bool in_text = false; !line.empty(); line.remove_prefix(1)) {
    if (!in_text && line.starts_with("//")) break;
    if (in_text && line.front() == '\\' && line.size() > 1)
      line.remove_prefix(1);
    else if (line.front() == '"')
      in_text = !in_text;
    else if (!in_text)
      code += line.front();
  }
  return code;
}

void note_words(source_file& f, std::string_view code) {
  for (std::size_t at = 0; at < code.size();) {
    auto end = at;
    while (end < code.size() && is_word(code[end])) ++end;
    const std::string word(code.substr(at, end - at));
    const auto before = code.substr(0, at);
    if (before.ends_with("std::")) {
      f.of_std.insert(word);
    } else if (before.ends_with("asio::")) {
      f.of_asio.insert(word);
    } else if (word.find('_') != word.npos && before.find_last_of(".>:") != at - 1) {
      f.words.insert(word);
    }
    at = end + 1;
  }
  // "class name : base {", "struct name;"
  for (const std::string_view key : {"class ", "struct ", "enum class "}) {
    if (!code.starts_with(key)) continue;
    auto name = code.substr(key.size());
    name = {name.begin(), std::find_if_not(name.begin(), name.end(), is_word)};
    if (name.find('_') != name.npos) (code.ends_with(';') ? f.declared : f.defined).emplace(name);
  }
}

project read_project() {
  const fs::path top = LEASEHOLD_SOURCE_DIR;
  project found;
  for (const auto* folder : {"src", "include"}) {
    for_each_line(top, folder, [&](const std::string& name, const std::string& line) {
      auto& f = found[name];
      if (const auto own = included_by(line); !own.empty()) {
        f.files.insert(fs::exists(top / "src" / own) ? "src/" + own : room_of(name) + "/" + own);
      } else if (line.starts_with("#include <")) {
        const auto header = line.substr(10, line.find('>') - 10);
        if (header.starts_with("leasehold/"))
          f.files.insert("include/" + header);
        else
          f.headers.insert(header);
      } else {
        note_words(f, code_of(line));
      }
    });
  }
  return found;
}

// The file, and what it includes of the project, directly or not.
void add_included(const project& all, const std::string& file, std::set<std::string>& into) {
  if (!all.contains(file) || !into.insert(file).second) return;
  for (const auto& other : all.at(file).files) add_included(all, other, into);
}

// What files of src name though neither they nor headers of the project that they include say where it is: compiled
// together with others that do, it would not be missed.
std::vector<std::string> missing_includes(const project& all) {
  std::set<std::string> every_header;
  std::map<std::string, std::set<std::string>> where;  // Type -> files.
  for (const auto& [name, f] : all) {
    every_header.insert(f.headers.begin(), f.headers.end());
    if (!name.ends_with(".hpp")) continue;
    for (const auto& type : f.defined) where[type].insert(name);
  }
  std::vector<std::string> missing;
  for (const auto& [name, f] : all) {
    if (!name.starts_with("src/")) continue;
    std::set<std::string> files, headers, types;
    add_included(all, name, files);
    for (const auto& other : files) {
      const auto& o = all.at(other);
      headers.insert(o.headers.begin(), o.headers.end());
      types.insert(o.declared.begin(), o.declared.end());
    }
    for (const auto& word : f.of_std) {
      const auto known = header_of_std.find(word);
      if (known != header_of_std.end() && !headers.contains(known->second)) missing.push_back(name + ": std::" + word);
    }
    for (const auto& word : f.of_asio) {
      const auto header = "boost/asio/" + word + ".hpp";
      // (Words without an underscore are namespaces, too.)
      if (word.find('_') != word.npos && every_header.contains(header) && !headers.contains(header)) {
        missing.push_back(name + ": asio::" + word);
      }
    }
    for (const auto& word : f.words) {
      const auto known = where.find(word);
      if (known == where.end() || known->second.size() != 1 || types.contains(word)) continue;
      if (!files.contains(*known->second.begin())) missing.push_back(name + ": " + word);
    }
  }
  return missing;
}

BOOST_AUTO_TEST_CASE(a_file_includes_what_it_names) {
  for (const auto& name : missing_includes(read_project())) BOOST_ERROR("not included: " << name);
}

BOOST_AUTO_TEST_CASE(a_missing_include_is_found) {
  auto all = read_project();
  all["src/lock/box.cpp"].headers = {"vector"};
  note_words(all["src/lock/box.cpp"], code_of("std::vector<hold_state> a;  // std::optional"));
  note_words(all["src/lock/box.cpp"], code_of("std::optional<int> b = asio::co_spawn(\"std::set\");"));
  const std::vector<std::string> expected{"src/lock/box.cpp: std::optional", "src/lock/box.cpp: asio::co_spawn",
                                          "src/lock/box.cpp: hold_state"};
  BOOST_TEST(missing_includes(all) == expected, boost::test_tools::per_element());
  all["src/lock/box.cpp"].headers.insert({"optional", "boost/asio/co_spawn.hpp"});
  all["src/lock/box.cpp"].files.insert("src/lock/hold_state.hpp");
  BOOST_TEST(missing_includes(all).empty());
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
