// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "cli/password.hpp"

#include "support/limit.hpp"
#include "support/temporary_folder.hpp"
#include "support/unit_test.hpp"

#include <leasehold/client.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace leasehold::test {
namespace {

using namespace std::chrono_literals;

struct told_password {
  std::string why;
  leasehold::credentials given;
};

struct with_passwords_of_the_command {
  cli::store_options from_file() const {
    cli::store_options where;
    where.user = "locker";
    where.password_file = folder.write("password", "secret\n");
    return where;
  }
  static cli::store_options from_command(const std::string& command) {
    cli::store_options where;
    where.user = "locker";
    where.password_command = command;
    return where;
  }

  void ask(const credentials_function& password, credentials_request::role of = credentials_request::role::server) {
    const credentials_handler done([this](const std::string& why, const leasehold::credentials& given) {
      all.push_back({why, given});
    });
    password({"there", of, context.get_executor()}, done);
  }
  told_password answer_to(const credentials_function& password,
                          credentials_request::role of = credentials_request::role::server) {
    all.clear();
    ask(password, of);
    context.restart();
    context.run();
    BOOST_REQUIRE(all.size() == 1U);
    return all.front();
  }

  temporary_folder folder;
  boost::asio::io_context context;
  std::vector<told_password> all;
};

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

// Also those whose ends have not been collected.
std::vector<std::string> children_of_this_process() {
  std::ifstream list("/proc/thread-self/children");
  return {std::istream_iterator<std::string>(list), {}};
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(passwords_of_the_command, with_passwords_of_the_command)

BOOST_AUTO_TEST_CASE(they_are_for_the_user_of_the_servers_and_are_asked_for_again_every_minute) {
  using enum credentials_request::role;
  for (const auto& where : {from_file(), from_command("echo secret")}) {
    const auto password = cli::password_of(context, where);
    for (const auto of : {server, sentinel}) {
      const auto before = std::chrono::steady_clock::now();
      const told_password told = answer_to(password, of);
      BOOST_TEST(told.why == "");
      BOOST_TEST(told.given.password == "secret");
      // Sentinels have users of their own.
      BOOST_TEST(told.given.user == (of == server ? "locker" : ""));
      // Four fifths of that are a minute.
      BOOST_TEST((told.given.expires >= before + 75s));
      BOOST_TEST((told.given.expires <= std::chrono::steady_clock::now() + 75s));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_file_is_closed_each_time) {
  const auto password = cli::password_of(context, from_file());
  answer_to(password);
  const auto before = open_descriptors();
  for (int i = 0; i < 2; ++i) BOOST_TEST(answer_to(password).given.password == "secret");
  BOOST_TEST(open_descriptors() == before);
}

// As the servers of a quorum do.
BOOST_AUTO_TEST_CASE(requests_that_come_while_the_command_runs_get_its_answer) {
  const std::string runs = folder / "runs";
  const auto password = cli::password_of(context, from_command("echo run >> " + runs + "; echo secret"));
  for (int i = 0; i < 3; ++i) ask(password);
  context.run();
  BOOST_TEST(all.size() == 3U);
  for (const auto& told : all) {
    BOOST_TEST(told.why == "");
    BOOST_TEST(told.given.password == "secret");
  }
  BOOST_TEST(read_file(runs) == "run\n");
}

// The same way as one that takes too long.
BOOST_AUTO_TEST_CASE(a_command_that_prints_too_much_is_killed_with_what_it_has_started) {
  const std::string file = folder / "pid";
  const auto password =
      cli::password_of(context, from_command("sleep 1000 & printf $! > " + file + "; head -c 70000 /dev/zero; wait"));
  BOOST_TEST(answer_to(password).why == "the password command: it prints more than 65536 bytes");
  const std::string process = "/proc/" + read_file(file);
  BOOST_REQUIRE(process != "/proc/");
  wait_until(
      "its end", [&] { return !std::filesystem::exists(process); }, 20s);
}

BOOST_AUTO_TEST_CASE(the_processes_of_earlier_runs_are_collected) {
  const auto password = cli::password_of(context, from_command("echo secret"));
  const auto children_after_a_run = [&] {
    BOOST_TEST(answer_to(password).why == "");
    std::vector<std::string> children;
    wait_until("the end of its processes", [&] {
      children = children_of_this_process();
      return std::all_of(children.begin(), children.end(), [](const std::string& pid) {
        return read_file("/proc/" + pid + "/status").find("State:\tZ") != std::string::npos;
      });
    });
    return children.size();
  };
  const auto first = children_after_a_run();
  for (int i = 0; i < 3; ++i) BOOST_TEST(children_after_a_run() <= first);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
