// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// docs/leasehold.1 says what `leasehold --help` says: it is compared piece by piece.
#include "leasehold_command.hpp"

#include <unistd.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(manual)

namespace {

using strings = std::set<std::string>;

const std::string page = LEASEHOLD_SOURCE_DIR "/docs/leasehold.1";
const words subcommands{"run", "elect", "leader", "status", "list", "watch", "acquire", "extend", "release", "break"};

words lines_of(const std::string& text) {
  std::istringstream in(text);
  words lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string help_of(const words& subcommand) {
  words arguments = subcommand;
  arguments.push_back("--help");
  return run_leasehold(arguments).output;
}

// All first groups of what is found.
strings all(const std::string& text, const std::string& pattern) {
  strings found;
  const std::regex wanted(pattern);
  for (std::sregex_iterator i(text.begin(), text.end(), wanted), end; i != end; ++i) found.insert((*i)[1]);
  return found;
}

// From the line that is `title` to the next of the same kind, ".Sh" or ".Ss", or of a higher one.
std::string section(const std::string& title) {
  std::string text;
  bool inside = false;
  for (const auto& line : lines_of(read_file(page))) {
    if (line == title) {
      inside = true;
    } else if (line.starts_with(".Sh ") || line.starts_with(title.substr(0, 4))) {
      inside = false;
    } else if (inside) {
      text += line + "\n";
    }
  }
  BOOST_TEST(text != "", "the page has no " << title);
  return text;
}

// The options that a section explains, each with what it takes: "--lease TIME"; and the text of each.
std::map<std::string, std::string> options_in(const std::string& title) {
  std::map<std::string, std::string> options;
  words current;
  for (const auto& line : lines_of(section(title))) {
    if (line.starts_with(".It Fl ")) {
      current.clear();
      std::smatch m;
      const std::regex option(" Fl ([^ ]+)( Ar ([A-Z]+))?");
      for (std::sregex_iterator i(line.begin(), line.end(), option), end; i != end; ++i) {
        const std::string value = (*i)[3];
        current.push_back("-" + std::string((*i)[1]) + (value.empty() ? "" : " ") + value);
        options[current.back()];
      }
    }
    for (const auto& option : current) options[option] += line + " ";
  }
  return options;
}

// The same of what --help prints; several lines are one text.
std::map<std::string, std::string> options_in_help(const words& subcommand) {
  std::map<std::string, std::string> options;
  words current;
  for (const auto& line : lines_of(help_of(subcommand))) {
    if (std::smatch m; std::regex_match(line, m, std::regex("  (-[^ ]+)( ([A-Z]+))?  +(.*)"))) {
      current.clear();
      std::istringstream names(m[1]);
      for (std::string name; std::getline(names, name, ',');) {
        current.push_back(name + (m[3].length() == 0 ? "" : " ") + m[3].str());
        options[current.back()] = m[4];
      }
    } else if (line.starts_with("          ")) {
      for (const auto& option : current) options[option] += " " + line.substr(line.find_first_not_of(' '));
    } else {
      current.clear();
    }
  }
  return options;
}

strings names_in(const std::map<std::string, std::string>& options) {
  strings names;
  for (const auto& [name, text] : options) names.insert(name);
  return names;
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_is_well_formed) {
  child lint({"mandoc", "-T", "lint", "-W", "warning", page});
  const ended e = end_of(lint);
  BOOST_TEST(e.status == 0);
  BOOST_TEST(e.output == "");
}

BOOST_AUTO_TEST_CASE(it_has_all_subcommands_and_no_others) {
  const strings wanted(subcommands.begin(), subcommands.end());
  BOOST_TEST(all(help_of({}), "\n  ([a-z]+)  ") == wanted, boost::test_tools::per_element());
  BOOST_TEST(all(read_file(page), "\n\\.Ss leasehold ([a-z]+)\n") == wanted, boost::test_tools::per_element());
  BOOST_TEST(all(section(".Sh SYNOPSIS"), "\\.Cm ([a-z]+)\n") == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(it_has_all_options_with_their_defaults_and_no_others) {
  BOOST_TEST(names_in(options_in(".Ss Options of the program")) == names_in(options_in_help({})),
             boost::test_tools::per_element());
  const auto of_each = options_in(".Ss Options of each subcommand");
  int defaults = 0;
  for (const auto& subcommand : subcommands) {
    BOOST_TEST_CONTEXT(subcommand) {
      auto explained = options_in(".Ss leasehold " + subcommand);
      explained.insert(of_each.begin(), of_each.end());
      const auto wanted = options_in_help({subcommand});
      BOOST_TEST(names_in(explained) == names_in(wanted), boost::test_tools::per_element());
      for (const auto& [option, help] : wanted) {
        std::smatch m;
        if (!std::regex_search(help, m, std::regex("\\(default: ([a-z0-9 ]+)\\)"))) continue;
        BOOST_TEST(contains(explained[option], " The default is " + m[1].str() + ". "), option << ": " << m[1]);
        ++defaults;
      }
    }
  }
  BOOST_TEST(defaults == 21);
}

BOOST_AUTO_TEST_CASE(its_synopsis_has_the_options_of_each_subcommand) {
  // Each part begins with the name of the program.
  std::string synopsis = section(".Sh SYNOPSIS");
  const std::regex part("\\.Nm leasehold\n\\.Cm ([a-z]+)\n((?!\\.Nm)[^\n]*\n)*");
  std::size_t parts = 0;
  for (std::sregex_iterator i(synopsis.begin(), synopsis.end(), part), end; i != end; ++i, ++parts) {
    strings wanted = names_in(options_in_help({(*i)[1]}));
    wanted.erase("-h");
    wanted.erase("--help");
    strings found;
    const std::string text = i->str();
    const std::regex option("[ .]Fl (-[a-z-]+)( Ar ([A-Z]+))?");
    for (std::sregex_iterator o(text.begin(), text.end(), option); o != end; ++o) {
      const std::string value = (*o)[3];
      found.insert("-" + std::string((*o)[1]) + (value.empty() ? "" : " ") + value);
    }
    BOOST_TEST(found == wanted, boost::test_tools::per_element());
  }
  BOOST_TEST(parts == subcommands.size());
}

BOOST_AUTO_TEST_CASE(its_exit_statuses_are_those_of_the_help) {
  strings wanted;
  for (const auto& subcommand : subcommands) {
    const std::string help = help_of({subcommand});
    const strings found = all(help.substr(help.rfind("Exit status")), "(?:^|[^0-9])([0-9]+)(?:[^0-9]|$)");
    wanted.insert(found.begin(), found.end());
  }
  BOOST_TEST(wanted.size() == 13U);
  BOOST_TEST(all(section(".Sh EXIT STATUS"), "\\.It ([0-9]+)") == wanted, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(the_help_and_it_name_the_members_of_the_json, with_leasehold) {
  for (const words& options : {words{}, words{"--shared"}, words{"--exclusive"}, words{"--permits", "2"}}) {
    words arguments{"run", "--at-least", "1h", "n", "--", "true"};
    arguments.insert(arguments.begin() + 1, options.begin(), options.end());
    BOOST_TEST(run(arguments).status == 0);
    const std::string json = run({"status", "--json", "n"}).output;
    BOOST_TEST(contains(json, "\"rests\":true"));
    strings members = all(json, "\"([a-z_]+)\":");
    members.insert("lingers");
    const strings in_help = all(options_in_help({"status"})["--json"], "([a-z_]+)");
    const strings in_page = all(options_in(".Ss leasehold status")["--json"], "([a-z_]+)");
    for (const auto& member : members) {
      BOOST_TEST(in_help.count(member) == 1U, member);
      BOOST_TEST(in_page.count(member) == 1U, member);
    }
    redis.command("DEL", "n");
  }
}

BOOST_FIXTURE_TEST_CASE(its_environment_is_what_the_command_reads_and_sets, with_leasehold) {
  const ended e = run({"run", "--redis", redis.url(), "n", "--", "env", "-u", "LEASEHOLD_REDIS"});
  strings wanted = all("\n" + e.output, "\n(LEASEHOLD_[A-Z]+)=");
  // What the test was given itself.
  for (char** v = environ; *v; ++v) wanted.erase(std::string(*v, std::string(*v).find('=')));
  BOOST_TEST(wanted.size() == 3U);
  // That they are read is what all tests of this program rely on, and those of nested runs and files.
  wanted.insert({"LEASEHOLD_REDIS", "LEASEHOLD_REDIS_FILE", "LEASEHOLD_OUTER"});
  BOOST_TEST(all(section(".Sh ENVIRONMENT"), "\\.It Ev ([A-Z_]+)") == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
