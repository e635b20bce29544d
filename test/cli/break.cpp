// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "leasehold_command.hpp"
#include "support/hostile_server.hpp"

#include <regex>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(break_by_force, with_leasehold)

BOOST_AUTO_TEST_CASE(a_lock_is_freed_and_its_holder_stops) {
  child holder = start({"run", "--lease", "10m", "n", "--", "sh", "-c",
                        "echo $LEASEHOLD_TOKEN; echo $LEASEHOLD_FENCE; " + wait_for_a_signal});
  const std::string token = holder.read_line().value();
  const std::string fence = holder.read_line().value();
  const ended e = run({"break", "n"});
  BOOST_TEST(e.status == 0);
  BOOST_TEST(e.errors == "");
  BOOST_TEST(std::regex_match(
      e.output, std::regex("n: was held by " + token + ", fence " + fence + ", [0-9.]+ s left; free now\n")));
  BOOST_TEST(!redis.get("n"));
  const ended again = run({"break", "n"});
  BOOST_TEST(again.status == 1);
  BOOST_TEST(again.output == "");
  BOOST_TEST(is_error_line(again.errors, "'n': the lock is not held"));
  BOOST_TEST(end_of(holder).status == 74);
}

BOOST_AUTO_TEST_CASE(the_next_in_the_queue_gets_it) {
  child holder = start({"run", "--lease", "10m", "n", "--", "sh", "-c", "echo ready; " + wait_for_a_signal});
  BOOST_TEST(holder.read_line().value() == "ready");
  child next = start({"run", "n", "--", "sh", "-c", "echo $LEASEHOLD_TOKEN"});
  wait_until("the next waits", [&] { return contains(run({"status", "n"}).output, ", 1 waiting"); });
  const ended e = run({"break", "n"});
  BOOST_TEST(e.status == 0);
  const std::string token = next.read_line().value();
  BOOST_TEST(e.output.ends_with("; handed to " + token + "\n"));
  BOOST_TEST(next.wait() == 0);
  BOOST_TEST(end_of(holder).status == 74);
}

BOOST_AUTO_TEST_CASE(what_is_not_ours_needs_force) {
  redis.command("SET", "n", "somebody\n");
  const ended refused = run({"break", "n"});
  BOOST_TEST(refused.status == 65);
  BOOST_TEST(refused.output == "");
  BOOST_TEST(is_error_line(refused.errors, "--force"));
  BOOST_TEST(redis.get("n").has_value());
  const ended forced = run({"break", "--force", "n"});
  BOOST_TEST(forced.status == 0);
  BOOST_TEST(forced.output == "n: was held by somebody\\n, without a fence, forever; free now\n");
  BOOST_TEST(!redis.get("n"));
  redis.command("HSET", "p:n", "a", "b");
  const ended hash = run({"break", "--force", "--prefix", "p:", "n"});
  BOOST_TEST(hash.status == 65);
  BOOST_TEST(is_error_line(hash.errors, "'p:n'"));
  BOOST_TEST(redis.command("HGET", "p:n", "a").text == "b");
}

// The hold that was read is never there any more when it is to be broken.
BOOST_AUTO_TEST_CASE(a_lock_that_changes_hands_too_fast_is_not_broken) {
  int calls = 0;
  const hostile_server server([&](const words& w) -> hostile_server::answer {
    if (w[0] != "EVALSHA") return hostile_server::polite(w);
    if (++calls > 2) return {"-LOADING not yet\r\n"};
    return {array({"1", "mutex", "7", "9000", "0", "1", "", "1", "x.1", "9000", "7", ""})};
  });
  const ended e = run({"break", "--redis", server.url(), "n"});
  BOOST_TEST(e.status == 75);
  BOOST_TEST(is_error_line(e.errors, "'n': not broken, it changes hands too fast"), e.errors);
  BOOST_TEST(e.output == "");
}

BOOST_AUTO_TEST_CASE(names_are_any_bytes) {
  for (const std::string name : {"--force", "\xff", "two words"}) {
    redis.command("SET", name, "leasehold:x.1:7");
    const ended e = run({"break", "--", name});
    BOOST_TEST(e.status == 0);
    BOOST_TEST(e.output.ends_with(": was held by x.1, fence 7, forever; free now\n"));
    BOOST_TEST(!redis.get(name));
  }
}

BOOST_AUTO_TEST_CASE(failures_have_the_statuses_of_run) {
  redis.command("SET", "n", "leasehold:x.1:7");
  redis.command("ACL", "SETUSER", "op", "on", ">secret", "~*", "&*", "+@all", "-del");
  const ended refused = run({"break", "n", "--redis", "redis://op:secret@127.0.0.1:" + std::to_string(redis.port())});
  BOOST_TEST(refused.status == 77);
  BOOST_TEST(is_error_line(refused.errors, "refused: "));
  redis.stop();
  const ended unreachable = run({"break", "n"});
  BOOST_TEST(unreachable.status == 69);
  BOOST_TEST(is_error_line(unreachable.errors, redis.url()));
  redis.go_on();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
