// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Python programs with redis-py's Lock and C++ programs with a leasehold mutex exclude each other on one name.
#include "interop/other_program.hpp"

#include <string>
#include <vector>

namespace leasehold::test {

namespace {

// Debian's python3-redis belongs to Debian's Python.
const char* const python = "/usr/bin/python3";

bool is_installed() {
  child c({python, "-c", "import redis"});
  c.read_rest();
  return c.wait() == 0;
}

boost::test_tools::assertion_result has_redis_py(boost::unit_test::test_unit_id) {
  static const bool installed = is_installed();
  boost::test_tools::assertion_result result(installed);
  result.message() << "python3-redis is not installed";
  return result;
}

std::vector<std::string> script(const std::string& text, const redis_server& redis) {
  return {python, "-u", "-c", "import sys, redis\nr = redis.Redis(unix_socket_path=sys.argv[1])\n" + text,
          redis.socket_path()};
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(redis_py, with_redis, *boost::unit_test::precondition(has_redis_py))

BOOST_AUTO_TEST_CASE(its_lock_keeps_us_out_until_it_is_released) {
  child other(
      script("lock = r.lock('n', timeout=60)\n"
             "print(lock.acquire())\n"
             "r.blpop('go', 60)\n"
             "lock.release()\n"
             "print('released')\n",
             redis));
  BOOST_REQUIRE(other.read_line().value() == "True");
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    auto busy = co_await lock.try_acquire();
    BOOST_TEST(!busy.has_value());
    lock_info info = co_await lock.inspect();
    BOOST_TEST(info.held);
    BOOST_TEST(info.fence == 0U);
    std::optional<hold> got;
    lock.acquire([&](error_code ec, hold h) {
      BOOST_TEST(!ec);
      got = std::move(h);
    });
    co_await eventually("it waits", [&] { return c.stats().contended == 2; });
    redis.command("RPUSH", "go", "1");
    co_await eventually("it is acquired", [&] { return got.has_value(); });
    BOOST_TEST(got->valid());
  });
  BOOST_TEST(other.read_line().value() == "released");
  BOOST_TEST(other.wait() == 0);
}

BOOST_AUTO_TEST_CASE(our_mutex_keeps_it_out_until_it_is_released) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    child other(
        script("lock = r.lock('n', timeout=60, sleep=0.01)\n"
               "print(lock.acquire(blocking=False), lock.locked())\n"
               "print(lock.acquire(blocking_timeout=60))\n"
               "print(r.get('n') == lock.local.token)\n",
               redis));
    BOOST_TEST(other.read_line().value() == "False True");
    BOOST_TEST(h.valid());
    co_await h.release();
    BOOST_TEST(other.read_line().value() == "True");
    BOOST_TEST(other.read_line().value() == "True");
    BOOST_TEST(other.wait() == 0);
  });
}

// It cannot release or extend what is ours, and says so in its own words.
BOOST_AUTO_TEST_CASE(it_cannot_touch_our_hold) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    child other(
        script("lock = r.lock('n', timeout=60)\n"
               "print(lock.acquire())\n"
               "r.delete('n')\n"
               "print('deleted')\n"
               "r.blpop('go', 60)\n"
               "for f in (lock.release, lambda: lock.extend(60), lock.reacquire):\n"
               "  try:\n"
               "    f(); print('worked')\n"
               "  except redis.exceptions.LockError: print('refused')\n",
               redis));
    other.read_line();
    BOOST_TEST(other.read_line().value() == "deleted");
    hold h = co_await mutex(c, "n").acquire();
    const std::string value = redis.get("n").value();
    redis.command("RPUSH", "go", "1");
    for (int i = 0; i < 3; ++i) BOOST_TEST(other.read_line().value() == "refused");
    BOOST_TEST(redis.get("n").value() == value);
    BOOST_TEST(h.valid());
    co_await h.release();
  });
}

BOOST_AUTO_TEST_CASE(its_lock_keeps_us_out_until_it_expires) {
  child other(
      script("lock = r.lock('n', timeout=1.5)\n"
             "print(lock.acquire())\n"
             "r.blpop('go', 60)\n"
             "try: lock.release(); print('worked')\n"
             "except redis.exceptions.LockError: print('refused')\n",
             redis));
  BOOST_REQUIRE(other.read_line().value() == "True");
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    waiter ours(mutex(c, "n"));
    co_await eventually("it is acquired", [&] { return ours.is_in(); });
    redis.command("RPUSH", "go", "1");
    BOOST_TEST(other.read_line().value() == "refused");
    BOOST_TEST(ours.got().valid());
    co_await ours.got().release();
  });
}

BOOST_AUTO_TEST_CASE(our_mutex_keeps_it_out_until_it_expires) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 1500ms, .renew = renewal::none});
    child other(
        script("lock = r.lock('n', timeout=60, sleep=0.01)\n"
               "print(lock.acquire(blocking_timeout=60))\n",
               redis));
    BOOST_TEST(other.read_line().value() == "True");
    const std::string value = redis.get("n").value();
    const auto [ec] = co_await h.release(as_tuple);
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(redis.get("n").value() == value);
  });
}

// Without a timeout, which is its default, its lock has no expiry.
BOOST_AUTO_TEST_CASE(its_lock_without_a_timeout_is_waited_for_and_shown_as_such) {
  child other(
      script("lock = r.lock('n')\n"
             "print(lock.acquire(), lock.local.token.decode())\n"
             "r.blpop('go', 60)\n"
             "lock.release()\n"
             "print('released')\n",
             redis));
  const std::string first = other.read_line().value();
  BOOST_REQUIRE(first.starts_with("True "));
  const std::string token = first.substr(5);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    const lock_info info = co_await lock.inspect();
    BOOST_TEST(info.held);
    BOOST_TEST(info.token == token);
    BOOST_TEST(info.fence == 0U);
    BOOST_TEST(!info.ttl.has_value());
    waiter ours(lock);
    co_await wait_in_queue(redis, "n");
    BOOST_TEST(output_of({LEASEHOLD_CLI_PATH, "status", "--redis", redis.url(), "n"})
                   .starts_with("n: held, forever, without a fence, token " + token + ", 1 waiting"));
    co_await ours.polls(c, 2);
    BOOST_TEST(!ours.is_in());
    BOOST_TEST(redis.ttl("n") == -1);
    redis.command("RPUSH", "go", "1");
    co_await eventually("it is acquired", [&] { return ours.is_in(); });
    co_await ours.got().release();
  });
  BOOST_TEST(other.read_line().value() == "released");
  BOOST_TEST(other.wait() == 0);
}

BOOST_AUTO_TEST_CASE(repair_missing_expiry_gives_its_lock_one_lease) {
  child other(
      script("lock = r.lock('n')\n"
             "print(lock.acquire())\n"
             "r.blpop('go', 60)\n"
             "try: lock.release(); print('worked')\n"
             "except redis.exceptions.LockError: print('refused')\n",
             redis));
  BOOST_REQUIRE(other.read_line().value() == "True");
  const std::string value = redis.get("n").value();
  run([&]() -> awaitable<void> {
    client_options repairing;
    repairing.repair_missing_expiry = true;
    client c(co_await asio::this_coro::executor, redis.url(), repairing);
    mutex lock(c, "n");
    waiter ours(lock, {.lease = 5s});
    co_await wait_in_queue(redis, "n");
    const auto left = redis.ttl("n");
    BOOST_TEST(left > 0);
    BOOST_TEST(left <= 5000);
    BOOST_TEST(redis.get("n").value() == value);
    // It polls several times meanwhile, and gives no more.
    co_await eventually("it is acquired", [&] { return ours.is_in(); });
    redis.command("RPUSH", "go", "1");
    BOOST_TEST(other.read_line().value() == "refused");
    BOOST_TEST(ours.got().valid());
    co_await ours.got().release();
  });
}

BOOST_AUTO_TEST_CASE(both_count_exactly) {
  redis.command("SET", "number", "0");
  constexpr int rounds = 30;
  const std::string text = "print('begins')\nfor i in range(" + std::to_string(rounds) +
                           "):\n"
                           "  with r.lock('n', timeout=60, sleep=0.002):\n"
                           "    v = int(r.get('number'))\n"
                           "    r.set('number', v + 1)\n";
  child a(script(text, redis));
  child b(script(text, redis));
  BOOST_REQUIRE(a.read_line().value() == "begins");
  BOOST_REQUIRE(b.read_line().value() == "begins");
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    for (int i = 0; i < rounds; ++i) {
      hold h = co_await lock.acquire({.retry = {.first = 1ms, .max = 4ms}});
      const auto before = std::stoi(redis.get("number").value());
      co_await turn();
      redis.command("SET", "number", std::to_string(before + 1));
      co_await h.release();
    }
  });
  BOOST_TEST(a.wait() == 0);
  BOOST_TEST(b.wait() == 0);
  BOOST_TEST(redis.get("number").value() == std::to_string(3 * rounds));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
