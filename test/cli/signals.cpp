// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "leasehold_command.hpp"
#include "support/terminal.hpp"

#include <unistd.h>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

using namespace std::chrono_literals;

namespace {

// Says of each SIGINT where it comes from, until SIGTERM. The arguments are put in front of each line.
const child_program tell_signals("tell_signals", [](const std::vector<std::string>& arguments) {
  // A process in the background must not outlive a test that has failed.
  ::alarm(600);
  std::string who;
  for (const auto& word : arguments) who += word + ' ';
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  std::printf("%sready\n", who.c_str());
  int from_terminal = 0;
  int from_process = 0;
  for (siginfo_t info{};;) {
    std::fflush(stdout);
    if (::sigwaitinfo(&set, &info) == SIGTERM) break;
    if (info.si_code == SI_KERNEL) {
      std::printf("%sinterrupt %d by the terminal\n", who.c_str(), ++from_terminal);
    } else {
      std::printf("%sinterrupt %d by a process\n", who.c_str(), ++from_process);
    }
  }
  std::printf("%send\n", who.c_str());
  return 5;
});

words command_that_tells_signals(words who = {}) {
  words command = tell_signals.command(std::move(who));
  // /proc/self/exe is another program in the terminal.
  command[0] = std::filesystem::read_symlink("/proc/self/exe");
  return command;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(signals, with_leasehold)

BOOST_AUTO_TEST_CASE(signals_are_passed_on_to_the_command) {
  child c =
      start({"run", "n", "--", "sh", "-c",
             "for s in TERM INT HUP QUIT USR1 USR2 CONT WINCH; do trap \"echo $s\" $s; done; " + wait_for_a_signal});
  BOOST_TEST(c.read_line().value() == "ready");
  const std::pair<int, std::string> all[] = {{SIGTERM, "TERM"}, {SIGINT, "INT"},    {SIGHUP, "HUP"},
                                             {SIGQUIT, "QUIT"}, {SIGUSR1, "USR1"},  {SIGUSR2, "USR2"},
                                             {SIGCONT, "CONT"}, {SIGWINCH, "WINCH"}};
  for (const auto& [number, name] : all) {
    c.signal(number);
    BOOST_TEST(c.read_line().value() == name);
  }
  for (const int number : {SIGALRM, SIGURG, SIGIO, SIGPWR, SIGRTMIN, SIGRTMIN + 7, SIGRTMAX}) {
    const std::string n = std::to_string(number);
    child other = start({"run", "m", "--", "bash", "-c", "trap 'echo got " + n + "' " + n + "; " + wait_for_a_signal});
    BOOST_TEST(other.read_line().value() == "ready");
    other.signal(number);
    BOOST_TEST(other.read_line().value() == "got " + n);
    BOOST_TEST(!other.status());
    other.signal(SIGTERM);
    BOOST_TEST(other.wait() == 143);
  }
  // The command decided to go on, so the lock is still held.
  BOOST_TEST(!c.status());
  BOOST_TEST(redis.get("n").has_value());
}

BOOST_AUTO_TEST_CASE(a_command_that_a_signal_ends_ends_us) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) {
    child c = start({"run", "n", "--", "sh", "-c", wait_for_a_signal});
    BOOST_TEST(c.read_line().value() == "ready");
    c.signal(signal);
    const ended e = end_of(c);
    BOOST_TEST(e.status == 128 + signal);
    BOOST_TEST(e.errors == "");
    BOOST_TEST(!redis.get("n"));
  }
}

// A shell that waits for a worker ends by the signal, and the worker would go on without the lock.
BOOST_AUTO_TEST_CASE(without_a_terminal_a_signal_that_ends_the_command_ends_its_children) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    words command = leasehold_command({"run", "n", "--", "sh", "-c", "sh -c 'echo $$; exec sleep 1000'; true"});
    command.insert(command.begin(), "setsid");
    child c(command, environment());
    const std::string worker = c.read_line().value();
    c.signal(signal);
    BOOST_TEST(c.wait() == 128 + signal);
    wait_until("the worker's end", [&] { return has_ended(worker); });
    BOOST_TEST(!redis.get("n"));
  }
}

// By its owner: root, say, in whose name a set-user-ID program works.
BOOST_AUTO_TEST_CASE(a_command_that_cannot_be_signalled_is_told) {
  if (::geteuid() != 0 || !std::filesystem::exists("/usr/bin/setpriv")) return;  // It needs two users.
  namespace fs = std::filesystem;
  fs::permissions(folder.path(), fs::perms(0755));
  fs::copy_file("/usr/bin/setpriv", folder / "as");
  fs::permissions(folder / "as", fs::perms(04755));
  words command{"/usr/bin/setpriv", "--reuid=65534", "--clear-groups"};
  for (auto& w : leasehold_command({"run", "--redis", "redis://127.0.0.1:" + std::to_string(redis.port()), "--grace",
                                    "200ms", "n", "--", folder / "as", "--reuid=0", "sh", "-c",
                                    "echo $$; until [ -e $FOLDER/end ]; do sleep 0.01; done"})) {
    command.push_back(std::move(w));
  }
  child c(command, environment());
  const auto line = c.read_line();
  if (!line) {
    BOOST_TEST_MESSAGE("set-user-ID programs do not run here: " << c.errors());
    return;
  }
  c.signal(SIGUSR1);
  wait_until("the words",
             [&] { return contains(c.errors(), "leasehold: the command cannot be signalled: Operation not"); });
  lose("n");
  wait_until("the words again",
             [&] { return contains(c.errors(), "stopping the command\nleasehold: the command cannot be signalled"); });
  BOOST_TEST(!c.status());
  folder.write("end", "");
  BOOST_TEST(c.wait() == 74);
}

BOOST_AUTO_TEST_CASE(a_signal_while_waiting_leaves_no_trace) {
  redis.command("SET", "n", "somebody else");
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    const auto commands = redis.info("total_commands_processed");
    child c = start({"run", "--wait", "1h", "n", "--", "echo", "no"});
    // The greeting and some attempts.
    wait_until("attempts", [&] { return redis.info("total_commands_processed") > commands + 20; });
    c.signal(signal);
    const ended e = end_of(c);
    BOOST_TEST(e.status == 128 + signal);
    BOOST_TEST(e.output + e.errors == "");
    BOOST_TEST(redis.get("n").value() == "somebody else");
    wait_until(
        "its entry is gone", [&] { return redis.size() == 1U; }, soon);
  }
  redis.command("DEL", "n");
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_signal_ends_the_waiting_for_a_server_that_does_not_answer) {
  redis.stop();
  for (const words& how : {words{}, words{"--wait", "1h"}}) {
    words arguments{"run", "n", "--", "echo", "no"};
    arguments.insert(arguments.begin() + 1, how.begin(), how.end());
    child c = start(arguments);
    // Signals are blocked before anything else, so this cannot come too early once they are.
    wait_until("blocked signals", [&] {
      const std::string status = read_file("/proc/" + std::to_string(c.pid()) + "/status");
      const auto mask = status.find("SigBlk:\t");
      return mask != status.npos && (std::stoull(status.substr(mask + 8, 16), nullptr, 16) >> (SIGTERM - 1) & 1) != 0;
    });
    c.signal(SIGTERM);
    const ended e = end_of(c);
    BOOST_TEST(e.status == 143);
    BOOST_TEST(e.output + e.errors == "");
  }
  redis.go_on();
  BOOST_TEST(!redis.get("n"));
}

BOOST_AUTO_TEST_CASE(if_we_are_killed_the_command_gets_sigterm_and_the_next_gets_the_lock_within_the_lease) {
  child first =
      start({"run", "--lease", short_lease, "n", "--", "sh", "-c",
             "trap 'echo terminated > $FOLDER/first; exit' TERM; echo $LEASEHOLD_FENCE; " + wait_for_a_signal});
  const std::string fence = first.read_line().value();
  child second = start({"run", "n", "--", "sh", "-c", "echo $LEASEHOLD_FENCE"});
  wait_until("the second waits", [&] { return redis.info("connected_clients") > 2; });
  first.signal(SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  const std::string next = second.read_line().value();
  // The lease and a pause between two attempts, and the machine may be busy or stand still.
  BOOST_TEST((std::chrono::steady_clock::now() - killed < 6s + 500ms + 4s));
  BOOST_TEST(second.wait() == 0);
  BOOST_TEST(std::stoull(next) > std::stoull(fence));
  wait_until("SIGTERM for the command", [&] { return std::filesystem::exists(folder / "first"); });
}

BOOST_AUTO_TEST_CASE(ctrl_c_reaches_the_command_from_the_terminal_only) {
  words command{"run", "n", "--"};
  for (auto& word : command_that_tells_signals()) command.push_back(std::move(word));
  terminal t(leasehold_command(command), environment());
  t.read_until("ready");
  // Two at a time may become one, so once would prove nothing.
  for (int i = 1; i <= 20; ++i) {
    t.type("\x03");
    t.read_until("interrupt " + std::to_string(i) + " by the terminal");
  }
  t.signal(SIGTERM);
  BOOST_TEST(!contains(t.read_until("end"), "by a process"));
  BOOST_TEST(t.wait() == 5);
}

// As that of timeout(1), which puts itself into the background of the terminal.
BOOST_AUTO_TEST_CASE(the_keys_of_the_terminal_reach_a_command_that_has_a_group_of_its_own) {
  const std::pair<std::string, std::string> keys[] = {{"\x03", "INT"}, {"\x1c", "QUIT"}};
  for (const auto& [key, name] : keys) {
    // timeout(1) ends by a signal that comes before it knows its child: it knows it once it sleeps.
    const std::string knows_its_child = "until grep -q 'State:.S' /proc/$PPID/status; do sleep 0.01; done; ";
    const std::string command =
        "ulimit -c 0; trap 'echo told of " + name + "; exit 5' " + name + "; " + knows_its_child + wait_for_a_signal;
    terminal t(leasehold_command({"run", "n", "--", "timeout", "1h", "sh", "-c", command}), environment());
    t.read_until("ready");
    t.type(key);
    t.read_until("told of " + name);
    BOOST_TEST(t.wait() == 5);
    BOOST_TEST(!redis.get("n"));
  }
}

// One of them is in the foreground of the terminal, which signals it by itself, and the other one has its own session.
BOOST_AUTO_TEST_CASE(after_the_end_of_the_command_ctrl_c_reaches_each_of_the_others_once) {
  words command{"run",
                "--wait-children",
                "n",
                "--",
                "sh",
                "-c",
                "(\"$@\" near & setsid \"$@\" far &); echo $$ > $FOLDER/new; mv $FOLDER/new $FOLDER/command; exit 3",
                "sh"};
  for (auto& word : command_that_tells_signals()) command.push_back(std::move(word));
  terminal t(leasehold_command(command), environment());
  t.read_until("near ready");
  t.read_until("far ready");
  wait_until("the command", [&] { return std::filesystem::exists(folder / "command"); });
  const std::string pid = read_file(folder / "command");
  wait_until("its end", [&] { return !std::filesystem::exists("/proc/" + pid.substr(0, pid.find('\n'))); });
  for (int i = 1; i <= 20; ++i) {
    t.type("\x03");
    t.read_until("near interrupt " + std::to_string(i) + " by the terminal");
    t.read_until("far interrupt " + std::to_string(i) + " by a process");
  }
  t.signal(SIGTERM);
  BOOST_TEST(t.wait() == 3);
  const std::string& shown = t.read_rest();
  BOOST_TEST(contains(shown, "near end"));
  BOOST_TEST(contains(shown, "far end"));
  BOOST_TEST(!contains(shown, "near interrupt 1 by a process"));
  BOOST_TEST(!contains(shown, "far interrupt 1 by the terminal"));
}

// `stty tostop`: a process in the background that writes to the terminal is stopped.
BOOST_AUTO_TEST_CASE(a_terminal_that_stops_writers_in_the_background_does_not_stop_us) {
  words command{"bash", "-c", "set -m; stty tostop; \"$@\" & wait $!; echo \"ended: $?\"", "bash"};
  for (auto& w : leasehold_command({"run", "n", "--", "sh", "-c", "echo > $FOLDER/begun; exec sleep 1000"})) {
    command.push_back(std::move(w));
  }
  terminal t(command, environment());
  wait_until("the command", [&] { return std::filesystem::exists(folder / "begun"); });
  lose("n");
  t.read_until("the lease was lost");
  t.read_until("ended: 74");
}

// The kernel sends that one, too, but only to this process, which has inherited the timer.
BOOST_AUTO_TEST_CASE(an_inherited_alarm_reaches_the_command_at_a_terminal) {
  const char* trap = "trap 'echo the alarm; exit 3' ALRM; echo ready; while :; do sleep 0.1; done";
  std::vector<std::string> command{"perl", "-e", "alarm 4; exec @ARGV"};
  const auto ours = leasehold_command({"run", "n", "--", "sh", "-c", trap});
  command.insert(command.end(), ours.begin(), ours.end());
  terminal t(command, environment());
  t.read_until("ready");
  t.read_until("the alarm");
  BOOST_TEST(t.wait() == 3);
}

// The kernel tells the leader of the session only, which leasehold is here (`ssh -t HOST leasehold run ...`).
BOOST_AUTO_TEST_CASE(a_terminal_that_goes_away_ends_the_command) {
  const std::string trap = "trap 'echo > $FOLDER/hung_up; exit 3' HUP; echo ready; while :; do sleep 0.02; done";
  // The release has a second, for which the machine may stand still.
  const bool is_free = best_of_five(
      [&] {
        redis.command("DEL", "n");
        std::filesystem::remove(folder / "hung_up");
        terminal t(leasehold_command({"run", "n", "--", "sh", "-c", trap}), environment());
        t.read_until("ready");
        t.hang_up();
        wait_until("SIGHUP for the command", [&] { return std::filesystem::exists(folder / "hung_up"); });
        BOOST_TEST(t.wait() == 3);
        return !redis.get("n");
      },
      [](bool b) { return b; });
  BOOST_TEST(is_free);
}

BOOST_AUTO_TEST_CASE(the_command_may_read_from_the_terminal) {
  terminal t(leasehold_command({"run", "n", "--", "sh", "-c", "echo ready; read line; echo \"got $line\""}),
             environment());
  t.read_until("ready");
  t.type("some words\n");
  t.read_until("got some words");
  BOOST_TEST(t.wait() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
