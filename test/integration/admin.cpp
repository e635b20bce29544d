// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The operations for administrators and what only real servers do: SCAN, any bytes, rights. The others:
// test/simulation/locks/admin.cpp.
#include "support/with_redis.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(admin, with_redis)

namespace {

std::vector<std::string> names_of(const std::vector<listed_lock>& locks) {
  std::vector<std::string> names;
  for (const auto& lock : locks) names.push_back(lock.name);
  return names;
}

using strings = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(list_finds_the_locks_among_keys_of_all_other_sorts) {
  run([&]() -> awaitable<void> {
    redis.command("EVAL",
                  "for i = 1, 600 do "
                  "redis.call('SET', 'string:' .. i, 'x') "
                  "redis.call('SET', 'leasehold:' .. i, 'leasehold:a.1:7') "
                  "redis.call('HSET', 'hash:' .. i, 'leasehold:a.1:7', 'x') "
                  "redis.call('RPUSH', 'list:' .. i, 'x') "
                  "redis.call('SADD', 'set:' .. i, 'x') "
                  "redis.call('SET', 'expiring:' .. i, 'x', 'PX', 1) end",
                  "0");
    client c(co_await asio::this_coro::executor, redis.url());
    std::vector<hold> holds;
    strings expected;
    for (int i = 10; i < 60; ++i) {
      expected.push_back("lock:" + std::to_string(i));
      holds.push_back(co_await mutex(c, expected.back()).acquire());
    }
    // Almost records, one that never ends, and one that is too big to be fetched for nothing.
    for (const std::string almost : {"leasehold:", "leasehold:x", "leasehold:x:", "leasehold:x:y", "leasehold::7"}) {
      redis.command("SET", "almost" + almost, almost);
    }
    redis.command("SET", "big", std::string(10'000'000, 'x'));
    redis.command("SET", "for ever", "leasehold:x.1:7");
    expected.insert(expected.begin(), "for ever");
    const std::vector<listed_lock> locks = co_await list(c);
    BOOST_TEST(names_of(locks) == expected, boost::test_tools::per_element());
    BOOST_TEST(!locks[0].ttl.has_value());
    BOOST_TEST(locks[0].token == "x.1");
    BOOST_TEST(locks[0].fence == 7U);
    BOOST_TEST(locks[1].ttl.has_value());
  });
}

BOOST_AUTO_TEST_CASE(names_are_any_bytes) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    strings names = {std::string("\0\r\n\xff \"", 6), "a}b", "{}{t}", "%s%n", std::string(65536, 'x'), "*"};
    std::sort(names.begin(), names.end());
    std::vector<hold> holds;
    for (const auto& name : names) holds.push_back(co_await mutex(c, name).acquire());
    const std::vector<listed_lock> locks = co_await list(c);
    BOOST_TEST((names_of(locks) == names));
    for (std::size_t i = 0; i < names.size(); ++i) {
      lock_status lock = co_await show(c, names[i]);
      BOOST_TEST(lock.token == holds[i].token());
      broken_lock broken = co_await break_lock(c, names[i]);
      BOOST_TEST((broken.name == names[i]));
      BOOST_TEST(broken.token == holds[i].token());
    }
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(a_user_without_the_rights_is_refused) {
  run([&]() -> awaitable<void> {
    redis.command("SET", "n", "leasehold:x.1:7");
    redis.command("ACL", "SETUSER", "op", "on", ">secret", "~*", "&*", "+@all", "-scan", "-type");
    client c(co_await asio::this_coro::executor, "redis://op:secret@127.0.0.1:" + std::to_string(redis.port()));
    auto [ec, locks] = co_await list(c, as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(c.last_refusal() != "");
    auto [ec2, lock] = co_await show(c, "n", as_tuple);
    BOOST_TEST(ec2 == error::refused);
    auto [ec3, broken] = co_await break_lock(c, "n", as_tuple);
    BOOST_TEST(ec3 == error::refused);
    BOOST_TEST(redis.get("n").value() == "leasehold:x.1:7");
  });
}

// docs/operations.md
BOOST_AUTO_TEST_CASE(the_rights_that_are_documented_suffice) {
  run([&]() -> awaitable<void> {
    redis.command("ACL", "SETUSER", "op", "on", ">secret", "resetchannels", "~billing:*", "~leasehold:*",
                  "&leasehold:*", "+ping", "+subscribe", "+time", "+info", "+evalsha", "+eval", "+scan", "+type",
                  "+getrange", "+hlen", "+hgetall", "+pttl", "+zcard", "+exists", "+zrange", "+hget", "+hexists");
    redis.command("ACL", "SETUSER", "op", "+pexpire", "+set", "+del", "+zrem", "+hdel", "+hset", "+get", "+hmget",
                  "+hincrby", "+publish");
    redis.command("SET", "other", "leasehold:x.1:7");
    redis.command("SET", "billing:n", "leasehold:x.1:7");
    const auto join = [&](const std::string& record, const std::string& kind, const std::string& token,
                          const std::string& ask) {
      redis.command("ZADD", "leasehold:{0}:queue:" + record, "1", token);
      redis.command("HSET", "leasehold:{0}:entries:" + record, "#" + kind, "1", token,
                    "7 5000 9000000000000000 " + ask);
    };
    join("billing:n", "mutex", "a.1", "");
    client_options o;
    o.prefix = "billing:";
    client c(co_await asio::this_coro::executor, "redis://op:secret@127.0.0.1:" + std::to_string(redis.port()), o);
    const std::vector<listed_lock> locks = co_await list(c);
    BOOST_TEST(names_of(locks) == strings{"n"}, boost::test_tools::per_element());
    const lock_status lock = co_await show(c, "n");
    BOOST_TEST(lock.queue.size() == 1U);
    broken_lock broken = co_await break_lock(c, "n");
    BOOST_TEST(broken.next == "a.1");
    broken = co_await break_lock(c, "n");
    BOOST_TEST(broken.next == "");
    redis.command("HSET", "billing:r", "me", "1", "leasehold", "recursive_mutex 7 1 9000000000000000 me",
                  "leasehold:x.1", "9000000000000000 7 me");
    join("billing:r", "recursive_mutex", "a.2", "you");
    broken = co_await break_lock(c, "r");
    BOOST_TEST(broken.token == "x.1");
    BOOST_TEST(broken.next == "a.2");
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
