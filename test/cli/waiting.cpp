// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// `leasehold run` while it waits: it has nothing to release, says at a terminal what it waits for, and never waits for
// itself.
#include "leasehold_command.hpp"
#include "support/terminal.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <utility>

namespace leasehold::test {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

struct with_waiter : with_leasehold {
  // Another program has the lock, and this one waits in its queue.
  std::unique_ptr<child> waiter(words command) {
    redis.command("SET", "n", "somebody else");
    auto c = std::make_unique<child>(leasehold_command(std::move(command)), environment());
    // A machine that stands still may leave it no time to wait.
    wait_until("an entry in the queue",
               [&] { return redis.command("ZCARD", "leasehold:{0}:queue:n").integer == 1 || c->status(); });
    return c;
  }

  // A server that does not know the script of a request needs another request, which is not there any more.
  void load_scripts() const { BOOST_TEST(run({"run", "m", "--", "true"}).status == 0); }
  static words command(bool runs, const std::string& option) {
    return runs ? words{"run", option, "n", "--", "echo", "no"} : words{"acquire", option, "n"};
  }
};

// By `run` or by `acquire`, and whether the store dies or stands still.
constexpr std::pair<bool, bool> commands_and_failures[] = {{true, true}, {true, false}, {false, true}, {false, false}};

auto below(steady_clock::duration limit) {
  return [limit](steady_clock::duration took) { return took < limit; };
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(waiting, with_waiter)

// Closing the client took five seconds more.
BOOST_AUTO_TEST_CASE(a_deadline_holds_though_the_store_has_gone_meanwhile) {
  for (const auto& [runs, dies] : commands_and_failures) {
    const auto took = best_of_five(
        [&, runs = runs, dies = dies] {
          const auto begin = steady_clock::now();
          const auto c = waiter(command(runs, "--wait=2s"));
          dies ? redis.kill() : redis.stop();
          const ended e = end_of(*c);
          const auto end = steady_clock::now();
          // On a machine that stood still the deadline may have come first.
          const bool too_early = e.status == 75;
          BOOST_TEST((e.status == 69 || too_early), e.errors);
          BOOST_TEST(e.output == "");
          dies ? redis.start() : redis.go_on();
          wait_until("the entry has gone",
                     [&] { return redis.command("ZCARD", "leasehold:{0}:queue:n").integer == 0; });
          return too_early ? steady_clock::duration::max() : end - begin;
        },
        below(3500ms));
    BOOST_TEST((took < 3500ms));
  }
}

BOOST_AUTO_TEST_CASE(a_signal_ends_the_waiting_though_the_store_has_gone_meanwhile) {
  for (const auto& [runs, dies] : commands_and_failures) {
    const auto took = best_of_five(
        [&, runs = runs, dies = dies] {
          const auto c = waiter(command(runs, "--wait=1h"));
          dies ? redis.kill() : redis.stop();
          const auto begin = steady_clock::now();
          c->signal(SIGTERM);
          const ended e = end_of(*c);
          const auto end = steady_clock::now();
          BOOST_TEST(e.status == 143, e.errors);
          BOOST_TEST(e.output + e.errors == "");
          dies ? redis.start() : redis.go_on();
          wait_until("the entry has gone",
                     [&] { return redis.command("ZCARD", "leasehold:{0}:queue:n").integer == 0; });
          return end - begin;
        },
        below(900ms));
    BOOST_TEST((took < 900ms));
  }
}

// Without a signal it tries for some seconds to release the lock.
BOOST_AUTO_TEST_CASE(a_signal_shortens_the_release_to_a_store_that_stands_still) {
  load_scripts();
  const auto took = best_of_five(
      [&] {
        child c = start({"run", "n", "--", "sh", "-c", "exec 2> /dev/null; trap 'exit 3' TERM; " + wait_for_a_signal});
        BOOST_TEST(c.read_line().value() == "ready");
        redis.stop();
        const auto begin = steady_clock::now();
        c.signal(SIGTERM);
        BOOST_TEST(c.wait() == 3);
        const auto end = steady_clock::now();
        BOOST_TEST(is_error_line(c.errors(), "'n'"), c.errors());
        redis.go_on();
        // The request was sent.
        wait_until("the release", [&] { return !redis.get("n"); });
        return end - begin;
      },
      below(3s));
  BOOST_TEST((took < 3s));
}

BOOST_AUTO_TEST_CASE(a_second_signal_ends_the_release) {
  load_scripts();
  const auto took = best_of_five(
      [&] {
        child c =
            start({"run", "n", "--", "sh", "-c", "echo $$; until [ -e $FOLDER/end ]; do sleep 0.01; done; exit 4"});
        const std::string command = c.read_line().value();
        redis.stop();
        folder.write("end", "");
        wait_until("the command has ended", [&] { return has_ended(command); });
        const auto begin = steady_clock::now();
        c.signal(SIGTERM);
        c.signal(SIGINT);
        BOOST_TEST(c.wait() == 4);
        const auto end = steady_clock::now();
        BOOST_TEST(is_error_line(c.errors(), "'n'"), c.errors());
        redis.go_on();
        std::filesystem::remove(folder / "end");
        wait_until("the release", [&] { return !redis.get("n"); });
        return end - begin;
      },
      below(900ms));
  BOOST_TEST((took < 900ms));
}

BOOST_AUTO_TEST_CASE(a_terminal_is_told_what_the_waiting_is_for) {
  redis.command("SET", "n", "leasehold:holder-1.1:7", "PX", "600000");
  terminal first(leasehold_command({"run", "n", "--", "echo", "first"}), environment());
  first.read_until("leasehold: waiting for 'n': held by holder-1.1, 5");
  first.read_until(" s left; this run is next");
  terminal second(leasehold_command({"run", "n", "--", "echo", "second"}), environment());
  second.read_until("waiting for 'n': held by holder-1.1, 5");
  second.read_until(" s left; 1 in front of this run");
  redis.command("DEL", "n");
  BOOST_TEST(first.wait() == 0);
  BOOST_TEST(second.wait() == 0);
}

BOOST_AUTO_TEST_CASE(a_terminal_is_told_of_several_holders_and_of_a_store_that_has_gone) {
  child reader = start({"run", "--shared", "n", "--", "sh", "-c", wait_for_a_signal});
  BOOST_TEST(reader.read_line().value() == "ready");
  terminal writer(leasehold_command({"run", "--exclusive", "n", "--", "echo", "written"}), environment());
  writer.read_until("leasehold: waiting for 'n': held by 1 reader, ");
  reader.signal(SIGTERM);
  BOOST_TEST(writer.wait() == 0);
  redis.stop();
  terminal t(leasehold_command({"run", "--wait", "1h", "n", "--", "echo", "no"}), environment());
  t.read_until("waiting for 'n': " + redis.url() + ": unreachable");
  t.signal(SIGTERM);
  BOOST_TEST(t.wait() == 143);
  redis.go_on();
}

BOOST_AUTO_TEST_CASE(without_a_terminal_it_waits_in_silence) {
  redis.command("SET", "n", "somebody else");
  const ended e = run({"run", "--wait", "4s", "n", "--", "echo", "no"});
  BOOST_TEST(e.status == 75);
  BOOST_TEST(is_error_line(e.errors, "not acquired within 4s"), e.errors);
}

// It would wait forever.
BOOST_AUTO_TEST_CASE(a_run_or_an_acquire_inside_a_run_of_the_same_lock_is_refused) {
  const std::string inner = std::string(LEASEHOLD_CLI_PATH) + " run ";
  const std::string acquire = std::string(LEASEHOLD_CLI_PATH) + " acquire ";
  const std::pair<words, std::string> cases[] = {
      {{}, inner + "n -- echo no"},
      {{}, inner + "--wait 1h n -- echo no"},
      {{}, inner + "other n -- echo no"},
      {{}, inner + "other -- " + inner + "n -- echo no"},
      {{"--exclusive"}, inner + "--exclusive n -- echo no"},
      {{"--exclusive"}, inner + "--shared n -- echo no"},
      {{"--shared"}, inner + "--exclusive n -- echo no"},
      {{"--permits=1"}, inner + "--permits 1 n -- echo no"},
      {{}, acquire + "n"},
      {{}, acquire + "--wait 1h n"},
      {{}, inner + "other -- " + acquire + "n"},
      {{"--shared"}, acquire + "--exclusive n"},
      {{"--permits=1"}, acquire + "--permits 1 n"},
  };
  for (const auto& [how, command] : cases) {
    BOOST_TEST_CONTEXT(command) {
      words arguments{"run", "n", "--", "sh", "-c", command};
      arguments.insert(arguments.begin() + 1, how.begin(), how.end());
      const ended e = run(arguments);
      BOOST_TEST(e.status == 64);
      BOOST_TEST(is_error_line(e.errors, "'n': a leasehold run around this one holds it"), e.errors);
      BOOST_TEST(e.output == "");
      wait_until("nothing is held", [&] { return !redis.get("n") && !redis.get("other"); });
    }
  }
}

BOOST_AUTO_TEST_CASE(an_acquire_inside_a_run_that_does_not_wait_for_itself_goes_on) {
  const std::string inner = std::string(LEASEHOLD_CLI_PATH) + " acquire ";
  const ended other = run({"run", "n", "--", "sh", "-c", inner + "m"});
  BOOST_TEST(other.status == 0, other.errors);
  BOOST_TEST(other.output.starts_with("lh1."));
  BOOST_TEST(run({"run", "n", "--", "sh", "-c", inner + "--no-wait n"}).status == 75);
}

BOOST_AUTO_TEST_CASE(a_run_inside_another_that_does_not_wait_for_itself_goes_on) {
  const redis_server other;
  const std::string inner = std::string(LEASEHOLD_CLI_PATH) + " run ";
  const std::pair<words, std::string> cases[] = {
      {{}, inner + "m -- echo yes"},
      {{}, inner + "--prefix p: n -- echo yes"},
      {{}, inner + "--redis " + other.url() + " n -- echo yes"},
      {{"--shared"}, inner + "--shared n -- echo yes"},
      {{"--permits=2"}, inner + "--permits 2 n -- echo yes"},
  };
  for (const auto& [how, command] : cases) {
    words arguments{"run", "n", "--", "sh", "-c", command};
    arguments.insert(arguments.begin() + 1, how.begin(), how.end());
    const ended e = run(arguments);
    BOOST_TEST_CONTEXT(command << ": " << e.errors) {
      BOOST_TEST(e.status == 0);
      BOOST_TEST(e.output == "yes\n");
    }
  }
  BOOST_TEST(run({"run", "n", "--", "sh", "-c", inner + "--no-wait n -- echo no"}).status == 75);
  // A permit of another program may come free while it waits.
  child third = start({"run", "--permits", "2", "s", "--", "sh", "-c", wait_for_a_signal});
  BOOST_TEST(third.read_line().value() == "ready");
  child c =
      start({"run", "--permits", "2", "s", "--", "sh", "-c", "echo outer; " + inner + "--permits 2 s -- echo inner"});
  BOOST_TEST(c.read_line().value() == "outer");
  const auto begin = steady_clock::now();
  wait_until("a poll", [&] { return steady_clock::now() > begin + 1500ms; });
  BOOST_TEST(!c.status());
  third.signal(SIGTERM);
  BOOST_TEST(c.read_line().value() == "inner");
  BOOST_TEST(c.wait() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
