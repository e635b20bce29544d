// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// `leasehold run` with several names.
#include "leasehold_command.hpp"

#include <csignal>
#include <memory>
#include <sstream>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(several, with_leasehold)

BOOST_AUTO_TEST_CASE(the_command_finds_all_its_holds_in_the_environment_in_the_order_given) {
  const words names = {"z", "two words", "l\xc3\xa4s \xff", "status"};
  words arguments{"run", "--prefix", "p:"};
  arguments.insert(arguments.end(), names.begin(), names.end());
  for (const std::string word : {"--", "sh", "-c",
                                 "echo \"$LEASEHOLD_NAME\"; echo $LEASEHOLD_TOKEN; echo $LEASEHOLD_FENCE; "
                                 "until [ -e $FOLDER/end ]; do sleep 0.01; done"}) {
    arguments.push_back(word);
  }
  child holder = start(arguments);
  for (const auto& name : names) BOOST_TEST(holder.read_line().value() == name);
  std::istringstream tokens(holder.read_line().value());
  std::istringstream fences(holder.read_line().value());
  std::string token, fence;
  for (const auto& name : names) {
    tokens >> token;
    fences >> fence;
    BOOST_TEST(redis.get("p:" + name).value() == "leasehold:" + token + ":" + fence);
  }
  BOOST_TEST(!(tokens >> token));
  BOOST_TEST(!(fences >> fence));
  folder.write("end", "");
  BOOST_TEST(holder.wait() == 0);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(names_that_look_like_options_stand_between_two_separators) {
  const ended e = run({"run", "--", "-a", "--b", "--", "sh", "-c", "echo \"$LEASEHOLD_NAME\""});
  BOOST_TEST(e.status == 0);
  BOOST_TEST(e.output == "-a\n--b\n");
  BOOST_TEST(run({"run", "--", "-5", "-!", "--", "sh", "-c", "echo \"$LEASEHOLD_NAME\""}).output == "-5\n-!\n");
  BOOST_TEST(run({"status", "--", "-5"}).status == 0);
  // Only the first separator is ours.
  const ended other = run({"run", "a", "--", "echo", "b", "--", "c"});
  BOOST_TEST(other.output == "b -- c\n");
  BOOST_TEST(run({"run", "a", "--lease", "3s", "b", "--", "sh", "-c", "echo $LEASEHOLD_NAME"}).output == "a b\n");
}

BOOST_AUTO_TEST_CASE(options_of_the_kind_are_for_all_names) {
  const ended e = run({"run", "--permits", "2", "a", "b", "--", LEASEHOLD_CLI_PATH, "list"});
  BOOST_TEST(e.status == 0);
  BOOST_TEST_CONTEXT(e.output) {
    BOOST_TEST(contains(e.output, "\na  "));
    BOOST_TEST(contains(e.output, "\nb  "));
    BOOST_TEST(!contains(e.output, "mutex"));
    BOOST_TEST(contains(e.output, "1 of 2 "));
  }
}

BOOST_AUTO_TEST_CASE(without_one_of_them_none_is_acquired) {
  redis.command("SET", "b", "somebody else");
  // So long that the store is reached in time on a machine that stands still meanwhile.
  for (const words& how : {words{"--no-wait"}, words{"--wait", "4s"}}) {
    words arguments{"run", "a", "b", "c", "--", "echo", "no"};
    arguments.insert(arguments.begin() + 1, how.begin(), how.end());
    const ended e = run(arguments);
    BOOST_TEST(e.status == 75);
    BOOST_TEST(is_error_line(e.errors, "'a', 'b', 'c': not acquired"));
    BOOST_TEST(e.output == "");
    BOOST_TEST(redis.size() == 1U);
  }
  child c = start({"run", "a", "b", "c", "--", "echo", "all"});
  wait_until("it waits", [&] { return redis.command("EXISTS", "leasehold:{0}:queue:b").integer == 1; });
  redis.command("DEL", "b");
  BOOST_TEST(c.read_line().value() == "all");
  BOOST_TEST(c.wait() == 0);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_signal_while_waiting_for_the_second_leaves_no_trace) {
  redis.command("SET", "b", "somebody else");
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    child c = start({"run", "b", "a", "--", "echo", "no"});
    wait_until("it has the first", [&] { return redis.get("a").has_value(); });
    wait_until("it waits for the second",
               [&] { return redis.command("EXISTS", "leasehold:{0}:queue:b").integer == 1; });
    c.signal(signal);
    const ended e = end_of(c);
    BOOST_TEST(e.status == 128 + signal);
    BOOST_TEST(e.output + e.errors == "");
    BOOST_TEST(redis.get("b").value() == "somebody else");
    wait_until(
        "its entry is gone", [&] { return redis.size() == 1U; }, soon);
  }
}

BOOST_AUTO_TEST_CASE(the_loss_of_any_stops_the_command) {
  for (const std::string gone : {"a", "b"}) {
    child c = start({"run", "a", "b", "--", "sh", "-c",
                     "exec 2> /dev/null; trap 'echo terminated; exit 0' TERM; " + wait_for_a_signal});
    BOOST_TEST(c.read_line().value() == "ready");
    lose(gone);
    const ended e = end_of(c);
    BOOST_TEST(e.output == "terminated\n");
    BOOST_TEST(e.status == 74);
    BOOST_TEST(is_error_line(e.errors, "'" + gone + "'"));
    BOOST_TEST(redis.size() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(success_without_one_of_the_locks_is_no_success) {
  const ended e =
      run({"run", "a", "b", "--", "sh", "-c", "redis-cli -s " + redis.socket_path() + " DEL b > $FOLDER/out"});
  BOOST_TEST(e.status == 74);
  BOOST_TEST(is_error_line(e.errors, "'b'"));
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(locks_that_cannot_be_released_are_all_told) {
  child c = start({"run", "a", "b", "--", "sh", "-c", "echo ready; until [ -e $FOLDER/end ]; do sleep 0.01; done"});
  BOOST_TEST(c.read_line().value() == "ready");
  redis.stop();
  folder.write("end", "");
  BOOST_TEST(c.wait() == 0);
  BOOST_TEST(contains(c.errors(), "leasehold: 'a': not released"));
  BOOST_TEST(contains(c.errors(), "leasehold: 'b': not released"));
  redis.go_on();
}

BOOST_AUTO_TEST_CASE(opposite_orders_never_wait_for_each_other) {
  folder.write("f", "0\n");
  const std::string increment = "cd $FOLDER; v=$(cat f); sleep 0.01; echo $((v+1)) > f";
  std::vector<std::unique_ptr<child>> all;
  for (int i = 0; i < 10; ++i) {
    const bool forward = i % 2 == 0;
    all.push_back(std::make_unique<child>(leasehold_command({"run", "--wait", "60s", forward ? "a" : "b",
                                                             forward ? "b" : "a", "--", "sh", "-c", increment}),
                                          environment()));
  }
  // One lock alone excludes them, too.
  for (const std::string name : {"a", "b"}) {
    all.push_back(std::make_unique<child>(
        leasehold_command({"run", "--wait", "60s", name, "--", "sh", "-c", "sleep 0.01"}), environment()));
  }
  for (auto& c : all) BOOST_TEST(c->wait() == 0);
  BOOST_TEST(read_file(folder / "f") == "10\n");
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
