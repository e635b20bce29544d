// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "example.hpp"
#include "support/locks.hpp"

#include <csignal>
#include <string>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(replaced, with_examples)

BOOST_AUTO_TEST_CASE(a_program_that_replaces_its_binary_goes_on_with_the_same_hold) {
  child c = start({"replaced", "n"});
  const std::string first = c.read_line().value_or("");
  const std::string process = "process " + std::to_string(c.pid());
  BOOST_TEST(first.starts_with("begins, " + process + ", fence "), first);
  const auto record = redis.get("n");
  BOOST_REQUIRE(record.has_value());
  const std::string fence = first.substr(first.rfind(' ') + 1);
  BOOST_TEST(record->ends_with(":" + fence));
  for (int i = 0; i < 3; ++i) {
    c.signal(SIGHUP);
    const std::string next = c.read_line().value_or("");
    BOOST_TEST(next == "goes on, " + process + ", fence " + fence);
    BOOST_TEST((redis.get("n") == record));
  }
  test::run([&]() -> awaitable<void> {
    client other(co_await asio::this_coro::executor, redis.url());
    const auto none = co_await mutex(other, "n").try_acquire();
    BOOST_TEST(!none.has_value());
  });
  c.signal(SIGTERM);
  const ended e = end_of(c);
  BOOST_TEST(e.status == 0, e.errors);
  BOOST_TEST(!redis.get("n").has_value());
}

BOOST_AUTO_TEST_CASE(a_lock_that_was_lost_meanwhile_is_reported) {
  child c = start({"replaced", "n"});
  c.read_line();
  redis.command("DEL", "n");
  c.signal(SIGHUP);
  const ended e = end_of(c);
  BOOST_TEST(e.status == 1);
  BOOST_TEST(contains(e.errors, "lost"), e.errors);
}

BOOST_AUTO_TEST_CASE(a_hold_that_is_lost_is_reported_without_a_signal) {
  child c = start({"replaced", "n"});
  c.read_line();
  redis.command("DEL", "n");
  const ended e = end_of(c);
  BOOST_TEST(e.status == 1);
  BOOST_TEST(contains(e.errors, "lost"), e.errors);
}

BOOST_AUTO_TEST_CASE(a_signal_ends_the_wait_for_a_busy_lock) {
  redis.command("SET", "n", "of another program", "PX", "600000");
  for (const int signal : {SIGTERM, SIGHUP}) {
    child c = start({"replaced", "n"});
    wait_until("a waiter in the queue", [this] { return redis.size() > 1; });
    c.signal(signal);
    const ended e = end_of(c);
    BOOST_TEST(e.status == 0, e.errors);
    BOOST_TEST(e.output == "");
    BOOST_TEST(redis.size() == 1U);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
