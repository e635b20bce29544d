// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "leasehold_command.hpp"

#include "support/stepped_clock.hpp"

#include <chrono>
#include <csignal>

namespace leasehold::test {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

// The shell tells of its children that a signal has killed; nobody wants to know.
const std::string tell_and_end = "exec 2> /dev/null; trap 'echo terminated; exit 0' TERM; ";
const std::string ignore = "trap '' TERM; ";

bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0; }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(loss, with_leasehold)

BOOST_AUTO_TEST_CASE(a_deleted_key_stops_the_command) {
  child c = start({"run", "--lease", short_lease, "n", "--", "sh", "-c", tell_and_end + wait_for_a_signal});
  BOOST_TEST(c.read_line().value() == "ready");
  redis.command("DEL", "n");
  const ended e = end_of(c);
  BOOST_TEST(e.output == "terminated\n");
  BOOST_TEST(e.status == 74);
  BOOST_TEST(is_error_line(e.errors, "'n'"));
  BOOST_TEST(!redis.get("n"));
}

// The lock of a command that hangs is not immortal.
BOOST_AUTO_TEST_CASE(with_a_limit_to_the_renewals_a_command_that_hangs_is_stopped) {
  child c = start(
      {"run", "--lease", short_lease, "--renewals", "2", "n", "--", "sh", "-c", tell_and_end + wait_for_a_signal});
  BOOST_TEST(c.read_line().value() == "ready");
  const ended e = end_of(c);
  BOOST_TEST(e.output == "terminated\n");
  BOOST_TEST(e.status == 74);
  BOOST_TEST(is_error_line(e.errors, "'n'"));
  wait_until("it is free", [&] { return !redis.get("n"); });
}

BOOST_AUTO_TEST_CASE(a_key_that_somebody_else_has_taken_stops_the_command_and_stays) {
  child c = start({"run", "--lease", short_lease, "n", "--", "sh", "-c", tell_and_end + wait_for_a_signal});
  BOOST_TEST(c.read_line().value() == "ready");
  redis.command("SET", "n", "somebody else");
  const ended e = end_of(c);
  BOOST_TEST(e.status == 74);
  BOOST_TEST(redis.get("n").value() == "somebody else");
}

BOOST_AUTO_TEST_CASE(a_server_that_hangs_stops_the_command_before_the_lease_can_end) {
  struct times {
    steady_clock::duration at_least, at_most;
  };
  const auto run_once = [&] {
    child c = start({"run", "--lease", "6s", "--grace", "4s", "n", "--", "sh", "-c", tell_and_end + wait_for_a_signal});
    BOOST_TEST(c.read_line().value() == "ready");
    const auto before = steady_clock::now();
    redis.stop();
    const auto stopped = steady_clock::now();
    BOOST_TEST(c.read_line().value() == "terminated");
    const auto terminated = steady_clock::now();
    BOOST_TEST(c.wait() == 74);
    BOOST_TEST(is_error_line(c.errors(), "'n'"));
    redis.go_on();
    return times{terminated - stopped, terminated - before};
  };
  // A third of the lease before its end, which was at most six seconds ahead. And no sooner, though the grace is
  // longer: after the last renewal that would be two seconds, and it is four, of which a third may have been over.
  const auto is_right = [](const times& t) { return t.at_least < 5500ms && t.at_most > 2500ms; };
  BOOST_TEST(is_right(best_of_five(run_once, is_right)));
}

BOOST_AUTO_TEST_CASE(a_server_that_comes_back_empty_stops_the_command) {
  child c = start({"run", "--lease", "10m", "n", "--", "sh", "-c", tell_and_end + wait_for_a_signal});
  BOOST_TEST(c.read_line().value() == "ready");
  redis.kill();
  redis.start();
  const ended e = end_of(c);
  BOOST_TEST(e.status == 74);
  BOOST_TEST(!redis.get("n"));
}

BOOST_AUTO_TEST_CASE(a_command_that_ignores_sigterm_is_killed_after_the_grace) {
  child c = start({"run", "--grace", "300ms", "n", "--", "sh", "-c", ignore + "echo $$; " + wait_for_a_signal});
  const pid_t command = std::stoi(c.read_line().value());
  BOOST_TEST(c.read_line().value() == "ready");
  const auto lost = steady_clock::now();
  lose("n");
  BOOST_TEST(c.wait() == 74);
  BOOST_TEST((steady_clock::now() - lost >= 300ms));
  BOOST_TEST(!is_alive(command));
}

BOOST_AUTO_TEST_CASE(the_grace_is_a_third_of_a_short_lease_if_none_is_given) {
  const words ignoring{"--", "sh", "-c", ignore + "echo $$; " + wait_for_a_signal};
  words without{"run", "--lease", "6s", "n"}, with{"run", "--lease", "6s", "--grace", "12s", "m"};
  for (words* w : {&without, &with}) w->insert(w->end(), ignoring.begin(), ignoring.end());
  child c = start(without), later = start(with);
  const auto other = std::stoi(later.read_line().value_or(""));
  for (child* one : {&c, &later}) {
    while (one->read_line().value_or("ready") != "ready") continue;
  }
  lose("m");
  lose("n");
  BOOST_TEST(c.wait() == 74);
  BOOST_TEST(!later.status());
  ::kill(other, SIGKILL);
  BOOST_TEST(later.wait() == 74);
}

BOOST_AUTO_TEST_CASE(without_grace_it_is_killed_at_once) {
  child c = start({"run", "--grace", "0", "n", "--", "sh", "-c", ignore + wait_for_a_signal});
  BOOST_TEST(c.read_line().value() == "ready");
  lose("n");
  BOOST_TEST(c.wait() == 74);
}

// A test has a terminal or has none; setsid makes sure of the latter.
BOOST_AUTO_TEST_CASE(the_commands_children_are_stopped_as_well) {
  words command =
      leasehold_command({"run", "--grace", "300ms", "n", "--", "sh", "-c",
                         "sleep 1000 & echo $!; (trap '' TERM; exec sleep 1000) & echo $!; " + wait_for_a_signal});
  command.insert(command.begin(), "setsid");
  child c(command, environment());
  const pid_t polite = std::stoi(c.read_line().value());
  const pid_t stubborn = std::stoi(c.read_line().value());
  BOOST_TEST(c.read_line().value() == "ready");
  lose("n");
  BOOST_TEST(c.wait() == 74);
  BOOST_TEST(!is_alive(polite));
  BOOST_TEST(!is_alive(stubborn));
}

BOOST_AUTO_TEST_CASE(a_stopped_command_is_woken_to_end) {
  child c =
      start({"run", "n", "--", "sh", "-c", "trap 'echo terminated; exit 0' TERM; echo $$; kill -STOP $$; sleep 60"});
  const pid_t command = std::stoi(c.read_line().value());
  wait_until("it has stopped",
             [&] { return contains(read_file("/proc/" + std::to_string(command) + "/status"), "State:\tT"); });
  lose("n");
  BOOST_TEST(c.read_line().value() == "terminated");
  BOOST_TEST(c.wait() == 74);
}

// Nobody reads what leasehold complains about, and the pipe is full.
words with_full_errors(words arguments) {
  const std::string full = "mkfifo $FOLDER/pipe; exec 8<> $FOLDER/pipe; dd if=/dev/zero bs=65536 count=1 >&8 2>&-; ";
  words command{"sh", "-c", full + "exec \"$@\" 2>&8", "sh"};
  for (auto& w : leasehold_command(std::move(arguments))) command.push_back(std::move(w));
  return command;
}

int status_after_signals(child& c) {
  wait_until("its end", [&c] {
    c.signal(SIGTERM);
    return c.status().has_value();
  });
  return *c.status();
}

BOOST_AUTO_TEST_CASE(a_full_standard_error_does_not_keep_the_command_running) {
  child c(with_full_errors({"run", "n", "m", "--", "sh", "-c", tell_and_end + wait_for_a_signal}), environment());
  BOOST_TEST(c.read_line().value() == "ready");
  lose("n");
  BOOST_TEST(c.read_line().value() == "terminated");
  wait_until("the other lock is free", [&] { return !redis.get("m"); });
  BOOST_TEST(status_after_signals(c) == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(a_full_standard_error_does_not_keep_a_program_that_has_not_acquired) {
  const child holder = start({"run", "n", "--", "sleep", "1000"});
  wait_until("the lock", [&] { return redis.get("n").has_value(); });
  child c(with_full_errors({"run", "--no-wait", "n", "--", "true"}), environment());
  BOOST_TEST(status_after_signals(c) == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(a_full_standard_error_does_not_keep_a_program_that_has_no_store) {
  child c(with_full_errors({"run", "--redis", "bogus", "n", "--", "true"}), environment());
  const std::string folder_of_it = "/proc/" + std::to_string(c.pid());
  wait_until("it waits for a reader", [&] {
    return read_file(folder_of_it + "/cmdline").starts_with(std::string(LEASEHOLD_CLI_PATH) + '\0') &&
           contains(read_file(folder_of_it + "/status"), "State:\tS");
  });
  BOOST_TEST(status_after_signals(c) == 128 + SIGTERM);
}

// Both at the same time, since leasehold stood still: the command was not stopped, so its own failure says more.
BOOST_AUTO_TEST_CASE(a_command_that_ended_by_itself_in_a_lost_lease_is_not_silently_lost) {
  const auto begin = [&](const std::string& name, int status) {
    return start({"run", "--lease", short_lease, name, "--", "sh", "-c",
                  "echo $$; until [ -e $FOLDER/end ]; do sleep 0.01; done; exit " + std::to_string(status)});
  };
  child success = begin("a", 0);
  child failure = begin("b", 9);
  words commands;
  for (child* c : {&success, &failure}) {
    commands.push_back(c->read_line().value());
    c->stop();
  }
  folder.write("end", "");
  for (const std::string& command : commands) {
    wait_until("the command has ended",
               [&] { return contains(read_file("/proc/" + command + "/status"), "State:\tZ"); });
  }
  wait_until("the leases have ended", [&] { return !redis.get("a") && !redis.get("b"); });
  for (child* c : {&success, &failure}) {
    c->signal(SIGCONT);
    const ended e = end_of(*c);
    BOOST_TEST(e.status == (c == &success ? 74 : 9));
    BOOST_TEST(is_error_line(e.errors, c == &success ? "'a'" : "'b'"), e.errors);
  }
}

BOOST_AUTO_TEST_CASE(success_without_the_lock_is_no_success) {
  const std::string del = "redis-cli -s " + redis.socket_path() + " DEL n > $FOLDER/out; ";
  const ended success = run({"run", "n", "--", "sh", "-c", del + "exit 0"});
  BOOST_TEST(success.status == 74);
  BOOST_TEST(is_error_line(success.errors, "'n'"));
  // The command's own failure says more.
  const ended failure = run({"run", "n", "--", "sh", "-c", del + "exit 5"});
  BOOST_TEST(failure.status == 5);
  BOOST_TEST(is_error_line(failure.errors, "'n'"));
}

BOOST_AUTO_TEST_CASE(a_command_that_ended_in_time_succeeds_though_the_lock_cannot_be_released) {
  child c = start({"run", "n", "--", "sh", "-c", "echo ready; until [ -e $FOLDER/end ]; do sleep 0.01; done"});
  BOOST_TEST(c.read_line().value() == "ready");
  redis.stop();
  folder.write("end", "");
  BOOST_TEST(c.wait() == 0);
  BOOST_TEST(is_error_line(c.errors(), "'n'"));
  redis.go_on();
}

// The store stands still for longer than the command waits for the answer to a release, before it closes its client.
BOOST_AUTO_TEST_CASE(a_release_that_is_answered_late_is_not_reported) {
  child c = start({"run", "n", "--", "sh", "-c", "echo ready; until [ -e $FOLDER/end ]; do sleep 0.01; done"});
  BOOST_TEST(c.read_line().value() == "ready");
  redis.stop();
  folder.write("end", "");
  const auto begin = std::chrono::steady_clock::now();
  wait_until("a pause", [&] { return std::chrono::steady_clock::now() > begin + 2500ms; });
  redis.go_on();
  BOOST_TEST(c.wait() == 0);
  BOOST_TEST(c.errors() == "");
  BOOST_TEST(!redis.get("n"));
}

BOOST_AUTO_TEST_CASE(after_a_pause_past_the_lease_the_command_is_stopped) {
  child c = start({"run", "--lease", short_lease, "n", "--", "sh", "-c", tell_and_end + wait_for_a_signal});
  BOOST_TEST(c.read_line().value() == "ready");
  c.stop();
  wait_until("the lease has ended", [&] { return !redis.get("n"); });
  c.signal(SIGCONT);
  BOOST_TEST(c.wait() == 74);
}

// A9: CLOCK_MONOTONIC stood still meanwhile, and the next renewal is twenty minutes away.
BOOST_AUTO_TEST_CASE(a_machine_that_slept_past_the_lease_stops_the_command) {
  stepped_clock clock;
  words all = environment();
  for (auto& e : clock.environment()) all.push_back(std::move(e));
  all.push_back("ASAN_OPTIONS=verify_asan_link_order=0");
  child c(leasehold_command({"run", "--lease", "1h", "n", "--", "sh", "-c", tell_and_end + wait_for_a_signal}), all);
  BOOST_TEST(c.read_line().value() == "ready");
  clock.sleep(2h);
  const ended e = end_of(c);
  BOOST_TEST(e.output == "terminated\n");
  BOOST_TEST(e.status == 74);
  BOOST_TEST(is_error_line(e.errors, "'n'"), e.errors);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
