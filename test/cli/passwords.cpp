// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Passwords that change: --password-file, --password-command and --user.
#include "leasehold_command.hpp"

#include <csignal>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace leasehold::test {

namespace {

struct with_password : with_leasehold {
  with_password() {
    redis.command("ACL", "SETUSER", "locker", "on", ">first", "~*", "&*", "+@all");
    redis.command("ACL", "SETUSER", "default", "resetpass", ">of-default");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(passwords, with_password)

BOOST_AUTO_TEST_CASE(a_file_has_the_password) {
  const std::string file = folder.write("password", "of-default\n");
  for (const std::string text : {"of-default\n", "of-default", "of-default\r\nsecond line\n"}) {
    folder.write("password", text);
    const ended e = run({"run", "--password-file", file, "n", "--", "echo", "yes"});
    BOOST_TEST(e.output == "yes\n", e.errors);
  }
  folder.write("password", "first\n");
  const ended e = run({"run", "--password-file", file, "--user", "locker", "n", "--", "echo", "yes"});
  BOOST_TEST(e.output == "yes\n", e.errors);
  for (const std::string subcommand : {"list", "watch"}) {
    words arguments{subcommand, "--password-file", file, "--user", "locker"};
    if (subcommand == "watch") arguments.insert(arguments.end(), {"--count", "1"});
    BOOST_TEST(run(arguments).status == 0);
  }
  BOOST_TEST(run({"status", "--password-file", file, "--user", "locker", "n"}).status == 0);
  BOOST_TEST(run({"break", "--password-file", file, "--user", "locker", "n"}).status == 1);
}

BOOST_AUTO_TEST_CASE(a_command_prints_the_password) {
  folder.write("password", "of-default\n");
  for (const std::string command : {"echo of-default", "printf of-default", "exec echo of-default",
                                    "echo of-default; echo more", "cat $FOLDER/password"}) {
    const ended e = run({"run", "--password-command", command, "n", "--", "echo", "yes"});
    BOOST_TEST(e.output == "yes\n", command << ": " << e.errors);
  }
}

// The command is not run with the descriptors of this process, and finds nothing on its standard input.
BOOST_AUTO_TEST_CASE(the_command_finds_nothing_that_is_not_its_own) {
  const std::string command = "ls /proc/self/fd | wc -l >$FOLDER/descriptors; cat >$FOLDER/input; echo of-default";
  const ended e = run({"run", "--password-command", command, "n", "--", "echo", "yes"});
  BOOST_TEST(e.output == "yes\n", e.errors);
  int descriptors = 0;
  std::ifstream(folder / "descriptors") >> descriptors;
  BOOST_TEST(descriptors <= 5);  // Of ls: the three, and what it reads; perhaps one more.
  BOOST_TEST(read_file(folder / "input") == "");
}

BOOST_AUTO_TEST_CASE(a_password_that_changes_is_read_again) {
  const std::string file = folder.write("password", "first\n");
  for (const words& options : {words{"--password-file", file}, words{"--password-command", "cat " + file}}) {
    folder.write("password", "first\n");
    redis.command("ACL", "SETUSER", "locker", "resetpass", ">first");
    words arguments{"run", "--user", "locker"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--lease", "30s", "n", "--", "sh", "-c", wait_for_a_signal});
    child holder = start(arguments);
    BOOST_TEST(holder.read_line().value_or("") == "ready");
    folder.write("password", "second\n");
    redis.command("ACL", "SETUSER", "locker", "resetpass", ">second");
    redis.command("CLIENT", "KILL", "USER", "locker");
    wait_until("it is connected again", [&] { return contains(redis.command("CLIENT", "LIST").text, "user=locker"); });
    holder.signal(SIGTERM);
    const ended e = end_of(holder);
    BOOST_TEST(e.status == 128 + SIGTERM);
    BOOST_TEST(e.errors == "");
    BOOST_TEST(!redis.get("n"));  // It was released.
  }
}

BOOST_AUTO_TEST_CASE(a_file_without_a_password_is_refused) {
  const std::string empty = folder.write("empty", "\nof-default\n");
  const std::pair<std::string, std::string> cases[] = {{folder / "missing", "No such file or directory"},
                                                       {folder.path(), "Is a directory"},
                                                       {empty, "there is no password in its first line"},
                                                       {"/dev/zero", "longer than 65536 bytes"}};
  for (const auto& [file, reason] : cases) {
    const ended e = run({"run", "--password-file", file, "n", "--", "echo", "no"});
    BOOST_TEST_CONTEXT(e.errors) {
      BOOST_TEST(e.status == 64);
      BOOST_TEST(is_error_line(e.errors, "'" + file + "': "));
      BOOST_TEST(contains(e.errors, reason));
      BOOST_TEST(e.output == "");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_command_without_a_password_is_told) {
  const std::pair<std::string, std::string> cases[] = {
      {"exit 3", "the password command: its exit status is 3"},
      {"no-such-command 2>/dev/null", "the password command: its exit status is 127"},
      {":", "the password command: there is no password in the first line of its output"},
      {"kill -9 $$", "the password command: it was killed"},
      {"printf 'user\\nof-default'; kill -9 $$", "the password command: it was killed"},
      {"yes 2>/dev/null", "the password command: it prints more than 65536 bytes"},
      {"sleep 60", "the password command: it takes too long"}};
  std::deque<child> all;
  for (const auto& [command, reason] : cases)
    all.emplace_back(leasehold_command({"status", "--password-command", command, "n"}), environment());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [command, reason] = cases[i];
    const auto is_told = [&, in = &reason](const ended& one) { return contains(one.errors, *in); };
    ended e = end_of(all[i]);
    // The client waits for only half a second longer than for the command: the machine may stand still at both ends.
    if (!is_told(e)) {
      e = best_of_five([&, by = &command] { return run({"status", "--password-command", *by, "n"}); }, is_told);
    }
    BOOST_TEST_CONTEXT(e.errors) {
      BOOST_TEST(e.status == 69);
      BOOST_TEST(is_error_line(e.errors, reason));
      BOOST_TEST(!contains(e.errors, "of-default"));
    }
  }
}

// Whatever ends it: a time-out, a signal that it handles or not, or one that no process can handle.
BOOST_AUTO_TEST_CASE(the_command_does_not_outlive_leasehold) {
  const std::string command = "sh -c 'echo $$ > $FOLDER/new; mv $FOLDER/new $FOLDER/pid; exec sleep 1000'";
  const std::pair<words, int> cases[] = {{{"run", "--wait", "4s", "n", "--", "echo", "no"}, 0},
                                         {{"run", "n", "--", "echo", "no"}, SIGTERM},
                                         {{"run", "n", "--", "echo", "no"}, SIGKILL},
                                         {{"acquire", "n"}, SIGINT},
                                         {{"status", "n"}, SIGTERM},
                                         {{"watch"}, SIGHUP},
                                         {{"list"}, SIGKILL}};
  for (const auto& [subcommand, signal] : cases) {
    BOOST_TEST_CONTEXT(subcommand[0] << ", signal " << signal) {
      words arguments = subcommand;
      arguments.insert(arguments.begin() + 1, {"--password-command", command});
      child c = start(arguments);
      wait_until("the password command", [&] { return std::filesystem::exists(folder / "pid"); });
      const std::string pid = read_file(folder / "pid");
      if (signal != 0) c.signal(signal);
      BOOST_TEST(c.wait() == (signal != 0 ? 128 + signal : 69));
      wait_until("its end", [&] { return has_ended(pid.substr(0, pid.find('\n'))); });
      std::filesystem::remove(folder / "pid");
    }
  }
}

// The shell has ended, and a process that it has left behind keeps its output open.
BOOST_AUTO_TEST_CASE(what_the_command_leaves_in_the_background_is_killed_with_it) {
  const std::string command = "sleep 1000 & echo $! > $FOLDER/new; mv $FOLDER/new $FOLDER/pid; echo $$ > $FOLDER/shell";
  for (const int signal : {0, SIGTERM, SIGKILL}) {
    BOOST_TEST_CONTEXT("signal " << signal) {
      child c = start({"run", "--wait", "4s", "--password-command", command, "n", "--", "echo", "no"});
      wait_until("the password command", [&] { return std::filesystem::exists(folder / "shell"); });
      const std::string pid = read_file(folder / "pid");
      if (signal != 0) c.signal(signal);
      BOOST_TEST(c.wait() == (signal != 0 ? 128 + signal : 69));
      wait_until("its end", [&] { return has_ended(pid.substr(0, pid.find('\n'))); });
      for (const std::string file : {"pid", "shell"}) std::filesystem::remove(folder / file);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_does_not_go_together_is_refused) {
  const std::string file = folder.write("password", "of-default\n");
  const ended both = run({"list", "--password-file", file, "--password-command", "echo x"});
  BOOST_TEST(both.status == 64);
  BOOST_TEST(is_error_line(both.errors, "--password-"));
  const ended alone = run({"list", "--user", "locker"});
  BOOST_TEST(alone.status == 64);
  BOOST_TEST(is_error_line(alone.errors, "--user is for --password-file and --password-command"));
  const ended twice = run({"list", "--redis", "redis://:secret@127.0.0.1", "--password-file", file});
  BOOST_TEST(twice.status == 64);
  BOOST_TEST(is_error_line(twice.errors, "--password-file: 'redis://***@127.0.0.1' has a password, too"));
}

BOOST_AUTO_TEST_CASE(the_password_is_not_shown) {
  const std::string file = folder.write("password", "wrong-secret\n");
  const ended e = run({"status", "--password-file", file, "n"});
  BOOST_TEST(e.status == 69);
  BOOST_TEST(is_error_line(e.errors, "WRONGPASS"));
  BOOST_TEST(!contains(e.errors, "secret"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
