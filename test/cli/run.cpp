// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "leasehold_command.hpp"
#include "support/needs.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <sstream>
#include <tuple>

namespace leasehold::test {

using namespace std::chrono_literals;

namespace {

// A container may forbid namespaces.
bool has_host_names_of_its_own() {
  child c({"unshare", "--uts", "--map-root-user", "hostname", "x"});
  return c.wait() == 0;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(running, with_leasehold)

BOOST_AUTO_TEST_CASE(the_exit_status_is_the_commands) {
  for (const int status : {0, 1, 64, 74, 75, 255}) {
    const ended e = run({"run", "n", "--", "sh", "-c", "exit " + std::to_string(status)});
    BOOST_TEST(e.status == status);
    BOOST_TEST(e.errors == "");
  }
  for (const int signal : {2, 9, 15}) {
    const ended e = run({"run", "n", "--", "sh", "-c", "kill -" + std::to_string(signal) + " $$"});
    BOOST_TEST(e.status == 128 + signal);
    BOOST_TEST(e.errors == "");
  }
  BOOST_TEST(!redis.get("n"));
}

BOOST_AUTO_TEST_CASE(commands_that_cannot_be_run_are_told_apart) {
  std::filesystem::permissions(folder.write("text", "true\n"), std::filesystem::perms::owner_read);
  std::filesystem::permissions(folder.write("broken", "#!/nonexistent/sh\n"), std::filesystem::perms::all);
  const std::tuple<std::string, int, std::string> cases[] = {
      {"no-such-command", 127, "'no-such-command': command not found"},
      {"/no/such/command", 127, "'/no/such/command': No such file"},
      {"", 127, "''"},
      {"/dev/null/command", 127, "'/dev/null/command': Not a directory"},
      {folder / "text", 126, "text': Permission denied"},
      {folder / "broken", 127, "broken': No such file"},
      {"/", 126, "'/'"},
  };
  for (const auto& [command, status, text] : cases) {
    const ended e = run({"run", "n", "--", command, "argument"});
    BOOST_TEST(e.status == status);
    BOOST_TEST(is_error_line(e.errors, text));
    BOOST_TEST(!redis.get("n"));
  }
}

BOOST_AUTO_TEST_CASE(a_script_without_an_interpreter_line_is_read_by_the_shell) {
  std::filesystem::permissions(folder.write("script", "echo $0 $1\nexit 3\n"), std::filesystem::perms::all);
  child c({"env", "PATH=/nonexistent::" + folder.path(), LEASEHOLD_CLI_PATH, "run", "n", "--", "script", "word"},
          environment());
  const ended e = end_of(c);
  BOOST_TEST(e.status == 3);
  BOOST_TEST(e.output == folder / "script" + " word\n");
}

BOOST_AUTO_TEST_CASE(a_command_is_searched_for_as_by_execvp) {
  const temporary_folder other;
  std::filesystem::permissions(folder.write("job", "true\n"), std::filesystem::perms::owner_read);
  std::filesystem::permissions(other.write("job", "#!/bin/sh\necho found\n"), std::filesystem::perms::all);
  const auto run_job_in = [&](const std::string& path) {
    words variables = environment();
    variables.push_back("PATH=" + path);
    return run_leasehold({"run", "n", "--", "job"}, variables);
  };
  // A file that cannot be executed does not hide one in a later folder, and is the reason if there is none.
  const ended found = run_job_in(folder.path() + ":" + other.path());
  BOOST_TEST(found.output == "found\n", found.errors);
  const ended forbidden = run_job_in(folder.path() + ":/nonexistent");
  BOOST_TEST(forbidden.status == 126);
  BOOST_TEST(is_error_line(forbidden.errors, "'job': Permission denied"), forbidden.errors);
  child without_path({"env", "-u", "PATH", LEASEHOLD_CLI_PATH, "run", "n", "--", "true"}, environment());
  BOOST_TEST(end_of(without_path).status == 0);
}

BOOST_AUTO_TEST_CASE(a_long_host_name_with_dots_is_a_label, *needs(has_host_names_of_its_own, "no host names here")) {
  const std::string host = "a-host.whose.name.has.many.letters.and.some.dots.example";
  const std::string script = "hostname \"$1\" && exec \"$0\" run n -- printenv LEASEHOLD_TOKEN";
  child c({"unshare", "--uts", "--map-root-user", "sh", "-c", script, LEASEHOLD_CLI_PATH, host}, environment());
  const std::string end = "-" + std::to_string(c.pid());
  std::string label = host.substr(0, 32 - end.size()) + end;
  std::replace(label.begin(), label.end(), '.', '-');
  const ended e = end_of(c);
  BOOST_TEST(e.output.starts_with(label + "-"), e.output << e.errors);
}

BOOST_AUTO_TEST_CASE(the_command_finds_its_hold_in_the_environment) {
  const std::string name = "l\xc3\xa4s \xff";
  words variables = environment();
  variables.push_back("LEASEHOLD_FENCE=stale");
  child c(leasehold_command(
              {"run", "--prefix", "p:", name, "--", "sh", "-c",
               "echo \"$LEASEHOLD_NAME\"; echo $LEASEHOLD_TOKEN; echo $LEASEHOLD_FENCE; " + wait_for_a_signal}),
          variables);
  BOOST_TEST(c.read_line().value() == name);
  const std::string token = c.read_line().value();
  const std::string fence = c.read_line().value();
  BOOST_TEST(fence.find_first_not_of("0123456789") == fence.npos);
  BOOST_TEST(redis.get("p:" + name).value() == "leasehold:" + token + ":" + fence);
}

BOOST_AUTO_TEST_CASE(the_lease_is_renewed_while_the_command_runs) {
  child c = start({"run", "--lease", short_lease, "--grace", "0", "n", "--", "sh", "-c",
                   "echo ready; until [ -e $FOLDER/end ]; do sleep 0.01; done; exit 9"});
  BOOST_TEST(c.read_line().value() == "ready");
  const std::string record = redis.get("n").value();
  for (int renewals = 0; renewals < 3; ++renewals) wait_for_renewal("n");
  BOOST_TEST(redis.get("n").value() == record);
  folder.write("end", "");
  const ended e = end_of(c);
  BOOST_TEST(e.status == 9);
  BOOST_TEST(e.errors == "");
  BOOST_TEST(!redis.get("n"));
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_not_free_in_time_is_status_75_or_what_was_asked_for) {
  redis.command("SET", "n", "somebody else");
  const ended now = run({"run", "--no-wait", "n", "--", "echo", "no"});
  BOOST_TEST(now.status == 75);
  BOOST_TEST(is_error_line(now.errors, "'n'"));
  BOOST_TEST(now.output == "");
  const auto start = std::chrono::steady_clock::now();
  // So long that the store is reached in time on a machine that stands still meanwhile.
  const ended late = run({"run", "--wait", "4s", "n", "--", "echo", "no"});
  BOOST_TEST((std::chrono::steady_clock::now() - start >= 4s));
  BOOST_TEST(late.status == 75);
  BOOST_TEST(is_error_line(late.errors, "4s"));
  BOOST_TEST(run({"run", "--wait", "0", "n", "--", "echo", "no"}).status == 75);
  BOOST_TEST(run({"run", "--no-wait", "--conflict-exit-code", "1", "n", "--", "echo", "no"}).status == 1);
  const ended silent = run({"run", "--no-wait", "--conflict-exit-code", "0", "n", "--", "echo", "no"});
  BOOST_TEST(silent.status == 0);
  BOOST_TEST(silent.output + silent.errors == "");
  BOOST_TEST(redis.get("n").value() == "somebody else");
}

BOOST_AUTO_TEST_CASE(without_a_limit_it_waits_until_the_lock_is_free) {
  redis.command("SET", "n", "somebody else");
  child c = start({"run", "n", "--", "echo", "mine"});
  wait_until("an attempt", [&] { return redis.info("connected_clients") > 1; });
  redis.command("DEL", "n");
  const ended e = end_of(c);
  BOOST_TEST(e.status == 0);
  BOOST_TEST(e.output == "mine\n");
}

BOOST_AUTO_TEST_CASE(a_store_that_does_not_answer_is_status_69) {
  const std::string nowhere = "unix://" + folder / "no.sock";
  for (const words& how : {words{}, words{"--wait", "200ms"}, words{"--no-wait"}}) {
    words arguments{"run", "--redis", nowhere, "n", "--", "echo", "no"};
    arguments.insert(arguments.begin() + 1, how.begin(), how.end());
    const ended e = run_leasehold(arguments);
    BOOST_TEST(e.status == 69);
    BOOST_TEST(is_error_line(e.errors, nowhere));
    BOOST_TEST(e.output == "");
  }
  redis.stop();
  const ended e = run({"run", "--no-wait", "n", "--", "echo", "no"});
  BOOST_TEST(e.status == 69);
  BOOST_TEST(is_error_line(e.errors, redis.url()));
  redis.go_on();
}

BOOST_AUTO_TEST_CASE(a_key_that_holds_something_else_is_status_65) {
  redis.command("HSET", "p:n", "a", "b");
  const ended e = run({"run", "--prefix", "p:", "n", "--", "echo", "no"});
  BOOST_TEST(e.status == 65);
  BOOST_TEST(is_error_line(e.errors, "'p:n'"));
  BOOST_TEST(e.output == "");
}

BOOST_AUTO_TEST_CASE(a_server_that_says_no_is_status_77_with_its_words) {
  redis_server guarded({"requirepass right"});
  for (const words& how : {words{}, words{"--wait", "60s"}, words{"--no-wait"}}) {
    words arguments{"run",  "--redis", "redis://:wrong@127.0.0.1:" + std::to_string(guarded.port()), "n", "--",
                    "echo", "no"};
    arguments.insert(arguments.begin() + 1, how.begin(), how.end());
    const ended e = run_leasehold(arguments);
    BOOST_TEST_CONTEXT(e.errors) {
      BOOST_TEST(e.status == 77);
      BOOST_TEST(is_error_line(e.errors, "WRONGPASS"));
      BOOST_TEST(!contains(e.errors, "wrong@"));
      BOOST_TEST(e.output == "");
    }
  }
  const ended none = run_leasehold({"status", "--redis", guarded.url(), "n"});
  BOOST_TEST(none.status == 77);
  BOOST_TEST(is_error_line(none.errors, "NOAUTH"));
  const ended right = run_leasehold(
      {"run", "--redis", "redis://:right@127.0.0.1:" + std::to_string(guarded.port()), "n", "--", "echo", "yes"});
  BOOST_TEST(right.status == 0);
  BOOST_TEST(right.output == "yes\n");
}

BOOST_AUTO_TEST_CASE(the_command_inherits_the_descriptors_that_it_would_without_us) {
  child c({"sh", "-c",
           "exec \"$0\" run n -- sh -c '"
           "[ -e /proc/$$/fd/2 ] || echo closed; "
           "for f in /proc/$$/fd/*; do echo ${f##*/} $(readlink $f); done' 7< /dev/zero 2>&-",
           LEASEHOLD_CLI_PATH},
          environment());
  const ended e = end_of(c);
  BOOST_TEST_CONTEXT(e.output) {
    BOOST_TEST(e.status == 0);
    BOOST_TEST(contains(e.output, "closed\n"));
    BOOST_TEST(contains(e.output, "7 /dev/zero\n"));
    for (const std::string ours : {"socket:", "eventpoll", "eventfd", "timerfd", "signalfd"}) {
      BOOST_TEST(!contains(e.output, ours));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_command_inherits_the_signals_that_it_would_without_us) {
  // A shell as the command would tidy up itself.
  child c({"sh", "-c", "trap '' HUP PIPE; exec \"$0\" run n -- grep -E 'SigBlk|SigIgn' /proc/self/status",
           LEASEHOLD_CLI_PATH},
          environment());
  BOOST_TEST(end_of(c).output == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n");
  BOOST_TEST(run({"run", "n", "--", "grep", "-E", "SigBlk|SigIgn", "/proc/self/status"}).output ==
             "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

BOOST_AUTO_TEST_CASE(twenty_processes_exclude_each_other) {
  folder.write("f", "0\n");
  std::vector<std::unique_ptr<child>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(std::make_unique<child>(
        leasehold_command({"run", "--wait", "60s", "n", "--", "sh", "-c",
                           "cd $FOLDER; v=$(cat f); sleep 0.01; echo $((v+1)) > f; echo $LEASEHOLD_FENCE >> fences"}),
        environment()));
  }
  for (auto& c : all) BOOST_TEST(c->wait() == 0);
  BOOST_TEST(read_file(folder / "f") == "20\n");
  std::istringstream fences(read_file(folder / "fences"));
  std::uint64_t last = 0;
  for (std::uint64_t fence; fences >> fence; last = fence) BOOST_TEST(fence > last);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
