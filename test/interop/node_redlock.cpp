// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Node programs with node-redlock on one Redis and C++ programs with a leasehold mutex exclude each other on one name.
#include "interop/other_program.hpp"

namespace leasehold::test {

namespace {

const char* const packages = LEASEHOLD_BUILD_DIR "/test/node";

// 0 once node, redlock and ioredis are there. It bounds itself to less than a minute.
int install() {
  child c({LEASEHOLD_SOURCE_DIR "/test/interop/node/install", packages});
  return c.wait();
}

boost::test_tools::assertion_result has_redlock(boost::unit_test::test_unit_id) {
  static const bool installed = install() == 0;
  boost::test_tools::assertion_result result(installed);
  result.message() << "node, npm or npm's registry is missing";
  return result;
}

child start(const std::string& text, const redis_server& redis) {
  return child({"node", "-e",
                "const Redis = require('ioredis');\n"
                "const { default: Redlock } = require('redlock');\n"
                "const r = new Redis(process.argv[1]);\n"
                "const once = new Redlock([r], { retryCount: 0 });\n"
                "const patient = new Redlock([r], { retryCount: -1, retryDelay: 10, retryJitter: 5 });\n"
                "const tell = (p) => p.then(() => console.log('worked'), () => console.log('refused'));\n"
                "(async () => {\n" +
                    text + "})().finally(() => r.disconnect());\n",
                redis.socket_path()},
               {std::string("NODE_PATH=") + packages + "/node_modules"});
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(node_redlock, with_redis, *boost::unit_test::precondition(has_redlock))

BOOST_AUTO_TEST_CASE(its_lock_keeps_us_out_until_it_is_released) {
  child other = start(
      "const lock = await once.acquire(['n'], 60000);\n"
      "console.log(lock.value);\n"
      "await r.blpop('go', 60);\n"
      "await tell(lock.release());\n",
      redis);
  const std::string value = other.read_line().value();
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    BOOST_TEST(!(co_await lock.try_acquire()).has_value());
    const lock_info info = co_await lock.inspect();
    BOOST_TEST(info.token == value);
    BOOST_TEST(info.fence == 0U);
    BOOST_TEST(info.ttl.has_value());
    waiter ours(lock);
    co_await wait_in_queue(redis, "n");
    co_await ours.polls(c, 2);
    BOOST_TEST(!ours.is_in());
    BOOST_TEST(redis.get("n").value() == value);
    redis.command("RPUSH", "go", "1");
    co_await eventually("it is acquired", [&] { return ours.is_in(); });
    BOOST_TEST(ours.got().valid());
    co_await ours.got().release();
  });
  BOOST_TEST(other.read_line().value() == "worked");
  BOOST_TEST(other.wait() == 0);
}

BOOST_AUTO_TEST_CASE(its_lock_keeps_us_out_until_it_expires) {
  child other = start(
      "await once.acquire(['n'], 1500);\n"
      "console.log('locked');\n"
      "await r.blpop('go', 60);\n",
      redis);
  BOOST_REQUIRE(other.read_line().value() == "locked");
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    waiter ours(mutex(c, "n"));
    co_await eventually("it is acquired", [&] { return ours.is_in(); });
    BOOST_TEST(ours.got().valid());
    co_await ours.got().release();
  });
}

BOOST_AUTO_TEST_CASE(our_mutex_keeps_it_out_until_it_is_released) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    const std::string value = redis.get("n").value();
    child other = start(
        "await tell(once.acquire(['n'], 60000));\n"
        "const lock = await patient.acquire(['n'], 60000);\n"
        "console.log(await r.get('n') === lock.value);\n",
        redis);
    BOOST_TEST(other.read_line().value() == "refused");
    BOOST_TEST(redis.get("n").value() == value);
    BOOST_TEST(h.valid());
    co_await h.release();
    BOOST_TEST(other.read_line().value() == "true");
    BOOST_TEST(other.wait() == 0);
  });
}

BOOST_AUTO_TEST_CASE(our_mutex_keeps_it_out_until_it_expires) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 1500ms, .renew = renewal::none});
    child other = start("console.log((await patient.acquire(['n'], 60000)).value);\n", redis);
    const std::string value = other.read_line().value();
    BOOST_TEST(redis.get("n").value() == value);
    const auto [ec] = co_await h.release(as_tuple);
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(redis.get("n").value() == value);
    BOOST_TEST(other.wait() == 0);
  });
}

// It can neither release nor extend what is ours.
BOOST_AUTO_TEST_CASE(it_cannot_touch_our_hold) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    child other = start(
        "const lock = await once.acquire(['n'], 60000);\n"
        "await r.del('n');\n"
        "console.log('deleted');\n"
        "await r.blpop('go', 60);\n"
        "await tell(lock.extend(60000));\n"
        "await tell(lock.release());\n",
        redis);
    BOOST_TEST(other.read_line().value() == "deleted");
    hold h = co_await mutex(c, "n").acquire();
    const std::string value = redis.get("n").value();
    redis.command("RPUSH", "go", "1");
    for (int i = 0; i < 2; ++i) BOOST_TEST(other.read_line().value() == "refused");
    BOOST_TEST(redis.get("n").value() == value);
    BOOST_TEST(h.valid());
    co_await h.release();
    BOOST_TEST(other.wait() == 0);
  });
}

BOOST_AUTO_TEST_CASE(both_count_exactly) {
  redis.command("SET", "number", "0");
  constexpr int rounds = 30;
  child other = start(
      "console.log('begins');\n"
      "for (let i = 0; i < " +
          std::to_string(rounds) +
          "; ++i) {\n"
          "  const lock = await patient.acquire(['n'], 60000);\n"
          "  const v = Number(await r.get('number'));\n"
          "  await r.set('number', v + 1);\n"
          "  await lock.release();\n"
          "}\n",
      redis);
  BOOST_REQUIRE(other.read_line().value() == "begins");
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    for (int i = 0; i < rounds; ++i) {
      hold h = co_await lock.acquire();
      const auto before = std::stoi(redis.get("number").value());
      co_await turn();
      redis.command("SET", "number", std::to_string(before + 1));
      co_await h.release();
    }
  });
  BOOST_TEST(other.wait() == 0);
  BOOST_TEST(redis.get("number").value() == std::to_string(2 * rounds));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
