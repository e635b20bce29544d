// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the command leaves behind in the background, with and without --wait-children.
#include "leasehold_command.hpp"
#include "support/terminal.hpp"

#include <csignal>
#include <filesystem>
#include <optional>

namespace leasehold::test {

namespace {

// A process whose parent ends at once. It has its own session as a daemon has, and does not hold the output open.
const std::string daemon =
    "(setsid sh -c 'until [ -e $FOLDER/end ]; do sleep 0.01; done; echo > $FOLDER/ended' > /dev/null 2>&1 &); ";
const std::string background =
    "sh -c 'until [ -e $FOLDER/end ]; do sleep 0.01; done; echo > $FOLDER/ended' > /dev/null 2>&1 & ";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(background_processes, with_leasehold)

BOOST_AUTO_TEST_CASE(the_lock_is_released_when_the_command_has_ended) {
  BOOST_TEST(run({"run", "n", "--", "sh", "-c", background + "exit 3"}).status == 3);
  BOOST_TEST(!redis.get("n"));
  folder.write("end", "");
  wait_until("the other's end", [&] { return std::filesystem::exists(folder / "ended"); });
}

BOOST_AUTO_TEST_CASE(or_when_all_processes_that_it_has_started_have_ended) {
  for (const auto& leaves_behind : {background, daemon}) {
    child c = start({"run", "--wait-children", "--lease", short_lease, "--grace", "0", "n", "--", "sh", "-c",
                     leaves_behind + "echo $$; exit 3"});
    const std::string command = c.read_line().value();
    wait_until("the command has ended", [&] { return !std::filesystem::exists("/proc/" + command); });
    wait_for_renewal("n");
    BOOST_TEST(!c.status());
    BOOST_TEST(redis.get("n").has_value());
    BOOST_TEST(!std::filesystem::exists(folder / "ended"));
    folder.write("end", "");
    BOOST_TEST(c.wait() == 3);
    BOOST_TEST(std::filesystem::exists(folder / "ended"));
    BOOST_TEST(c.errors() == "");
    BOOST_TEST(!redis.get("n"));
    std::filesystem::remove(folder / "end");
    std::filesystem::remove(folder / "ended");
  }
}

BOOST_AUTO_TEST_CASE(then_signals_and_the_loss_of_the_lease_reach_them) {
  const std::string told = "trap 'echo > $FOLDER/ended; exit' TERM; echo > $FOLDER/begun; while :; do sleep 0.01; done";
  const std::string in_daemon = "(setsid sh -c \"$1\" > /dev/null 2>&1 &); ";
  const std::string in_background = "sh -c \"$1\" > /dev/null 2>&1 & ";
  for (const auto& leaves_behind : {in_background, in_daemon}) {
    for (const bool in_terminal : {false, true}) {
      for (const bool loses : {false, true}) {
        BOOST_TEST_CONTEXT(leaves_behind << (in_terminal ? ", in a terminal" : "") << (loses ? ", loss" : ", signal")) {
          words command = leasehold_command(
              {"run", "--wait-children", "n", "--", "sh", "-c",
               leaves_behind + "echo $$ > $FOLDER/new; mv $FOLDER/new $FOLDER/command; exit 3", "sh", told});
          std::optional<terminal> t;
          std::optional<child> c;
          if (in_terminal) {
            t.emplace(command, environment());
          } else {
            command.insert(command.begin(), "setsid");
            c.emplace(command, environment());
          }
          wait_until("its begin", [&] { return std::filesystem::exists(folder / "begun"); });
          wait_until("the command itself", [&] { return std::filesystem::exists(folder / "command"); });
          const std::string pid = read_file(folder / "command");
          const std::string process = "/proc/" + pid.substr(0, pid.find('\n'));
          wait_until("its end", [&] { return !std::filesystem::exists(process); });
          if (loses) {
            lose("n");
          } else {
            t ? t->signal(SIGTERM) : c->signal(SIGTERM);
          }
          BOOST_TEST((t ? t->wait() : c->wait()) == (loses ? 74 : 3));
          BOOST_TEST(std::filesystem::exists(folder / "ended"));
          for (const std::string file : {"begun", "command", "ended"}) std::filesystem::remove(folder / file);
        }
      }
    }
  }
}

// A daemon's worker: the daemon ends by the signal, or it goes on until its worker has ended.
BOOST_AUTO_TEST_CASE(the_loss_of_the_lease_is_reported_to_all_of_them_before_they_are_killed) {
  const std::string worker =
      "trap 'echo > $FOLDER/ended; exit' TERM; echo > $FOLDER/begun; while :; do sleep 0.01; done";
  for (const std::string trap : {"", "trap : TERM; "}) {
    for (const bool in_terminal : {false, true}) {
      BOOST_TEST_CONTEXT("'" << trap << "'" << (in_terminal ? ", in a terminal" : "")) {
        const std::string command = "(setsid sh -c \"$1\" sh \"$2\" > /dev/null 2>&1 &); while :; do sleep 0.01; done";
        const std::string daemon_with_worker = trap + "sh -c \"$1\" & wait $!; wait $!";
        words all = leasehold_command(
            {"run", "--wait-children", "n", "--", "sh", "-c", command, "sh", daemon_with_worker, worker});
        std::optional<terminal> t;
        std::optional<child> c;
        if (in_terminal) {
          t.emplace(all, environment());
        } else {
          all.insert(all.begin(), "setsid");
          c.emplace(all, environment());
        }
        wait_until("its begin", [&] { return std::filesystem::exists(folder / "begun"); });
        lose("n");
        BOOST_TEST((t ? t->wait() : c->wait()) == 74);
        BOOST_TEST(std::filesystem::exists(folder / "ended"));
        std::filesystem::remove(folder / "begun");
        std::filesystem::remove(folder / "ended");
      }
    }
  }
}

// An agent, for example, which later runs of the password command use.
BOOST_AUTO_TEST_CASE(what_a_password_command_leaves_behind_is_none_of_them) {
  redis.command("ACL", "SETUSER", "locker", "on", ">secret", "~*", "&*", "+@all");
  const std::string command =
      "[ ! -e $FOLDER/again ] || { setsid sleep 1000 > /dev/null 2>&1 & echo $! > $FOLDER/new; "
      "mv $FOLDER/new $FOLDER/daemon; rm $FOLDER/again; }; echo secret";
  for (const bool loses : {false, true}) {
    child c = start({"run", "--wait-children", "--user", "locker", "--password-command", command, "n", "--", "sh", "-c",
                     wait_for_a_signal});
    BOOST_TEST(c.read_line().value_or("") == "ready");
    folder.write("again", "");
    redis.command("CLIENT", "KILL", "USER", "locker");
    wait_until("a daemon", [&] { return std::filesystem::exists(folder / "daemon"); });
    wait_until("a connection", [&] { return contains(redis.command("CLIENT", "LIST").text, "user=locker"); });
    if (loses) {
      lose("n");
    } else {
      c.signal(SIGTERM);
    }
    BOOST_TEST(c.wait() == (loses ? 74 : 143));
    const std::string daemon = read_file(folder / "daemon");
    BOOST_TEST(!has_ended(daemon.substr(0, daemon.find('\n'))));
    ::kill(std::stoi(daemon), SIGKILL);
    std::filesystem::remove(folder / "daemon");
  }
}

// A shell has started a process beside it, and has become leasehold by exec.
BOOST_AUTO_TEST_CASE(what_this_process_has_had_before_is_none_of_them) {
  for (const bool loses : {false, true}) {
    words command{"sh", "-c", "sleep 1000 > /dev/null 2>&1 & echo $!; exec \"$@\"", "sh"};
    for (auto& w : leasehold_command({"run", "--wait-children", "n", "--", "sh", "-c", wait_for_a_signal})) {
      command.push_back(std::move(w));
    }
    child c(command, environment());
    const std::string other = c.read_line().value();
    BOOST_TEST(c.read_line().value_or("") == "ready");
    if (loses) {
      lose("n");
    } else {
      c.signal(SIGTERM);
    }
    BOOST_TEST(c.wait() == (loses ? 74 : 143));
    BOOST_TEST(!has_ended(other));
    ::kill(std::stoi(other), SIGKILL);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
