// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "support/proxy.hpp"
#include "support/with_redis.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

std::vector<std::string> names_of(const std::vector<listed_lock>& locks) {
  std::vector<std::string> names;
  for (const auto& lock : locks) names.push_back(lock.name);
  return names;
}

using strings = std::vector<std::string>;

struct with_admin : with_redis {
  // Entries that nobody stands behind: due so many seconds from now.
  void join(const std::string& record, const std::string& token, int due_in, int lease = 5000) {
    redis.command("EVAL",
                  "local t = redis.call('TIME') "
                  "local due = string.format('%d', (t[1] + ARGV[3]) * 1000000) "
                  "redis.call('ZADD', KEYS[1], redis.call('HINCRBY', KEYS[2], '#mutex', 1), ARGV[1]) "
                  "redis.call('HSET', KEYS[2], ARGV[1], '7 ' .. ARGV[2] .. ' ' .. due .. ' ')",
                  "2", "leasehold:{0}:line:" + record, "leasehold:{0}:entries:" + record, token, std::to_string(lease),
                  std::to_string(due_in));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(admin, with_admin)

BOOST_AUTO_TEST_CASE(list_tells_of_each_lock_what_its_holder_knows) {
  run([&]() -> awaitable<void> {
    client a(co_await asio::this_coro::executor, redis.url());
    client b(co_await asio::this_coro::executor, redis.url());
    std::vector<listed_lock> locks = co_await list(a);
    BOOST_TEST(locks.empty());
    hold second = co_await mutex(a, "second").acquire({.lease = 10s});
    hold first = co_await mutex(b, "first").acquire();
    outcome waiting;
    mutex(b, "second").acquire([&](error_code ec, hold) { waiting.ec = ec; });
    co_await eventually("the waiter has found the lock busy", [&] { return b.stats().contended == 1; });
    locks = co_await list(a);
    BOOST_REQUIRE(locks.size() == 2U);
    BOOST_TEST(locks[0].name == "first");
    BOOST_TEST(locks[0].held);
    BOOST_TEST(locks[0].token == first.token());
    BOOST_TEST(locks[0].fence == first.fence());
    BOOST_TEST(locks[0].waiters == 0U);
    BOOST_TEST(locks[1].name == "second");
    BOOST_TEST(locks[1].token == second.token());
    BOOST_TEST(locks[1].waiters == 1U);
    BOOST_REQUIRE(locks[1].ttl.has_value());
    BOOST_TEST(*locks[1].ttl <= 10s);
    BOOST_TEST(*locks[1].ttl > 0s);
    co_await second.release();
    co_await eventually("the waiter has had it", [&] { return waiting.ended(); });
  });
}

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

BOOST_AUTO_TEST_CASE(list_takes_the_prefix_literally) {
  run([&]() -> awaitable<void> {
    const std::string prefixes[] = {"a*", "a?", "[ab]", "a\\", "a", "^a", "{a}", "", std::string("\0\xff", 2), "leas"};
    for (const std::string& prefix : prefixes) redis.command("SET", prefix + "n", "leasehold:x.1:7");
    redis.command("SET", "ax", "leasehold:x.1:7");
    redis.command("SET", "leasehold:n", "leasehold:x.1:7");
    redis.command("SET", "a*", "leasehold:x.1:7");  // With the prefix "a*" no name is left.
    for (const std::string& prefix : prefixes) {
      client_options o;
      o.prefix = prefix;
      client c(co_await asio::this_coro::executor, redis.url(), o);
      strings names = names_of(co_await list(c));
      if (prefix == "") {
        BOOST_TEST(names.size() == 12U);
      } else if (prefix == "a") {
        BOOST_TEST(names == (strings{"*", "*n", "?n", "\\n", "n", "x"}), boost::test_tools::per_element());
      } else {
        BOOST_TEST(names == strings{"n"}, boost::test_tools::per_element());
      }
    }
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

BOOST_AUTO_TEST_CASE(show_tells_who_has_it_and_who_waits_in_order) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.label = "holder";
    client a(co_await asio::this_coro::executor, redis.url(), o);
    o.label = "second";
    client b(co_await asio::this_coro::executor, redis.url(), o);
    o.label = "third";
    client c(co_await asio::this_coro::executor, redis.url(), o);
    lock_status lock = co_await show(a, "n");
    BOOST_TEST(!lock.held);
    BOOST_TEST(lock.token == "");
    BOOST_TEST(lock.line.empty());
    BOOST_TEST(lock.waiters == 0U);

    hold h = co_await mutex(a, "n").acquire();
    mutex(b, "n").acquire({.lease = 5s}, [](error_code, hold) {});
    co_await eventually("the second waits", [&] { return b.stats().contended == 1; });
    mutex(c, "n").acquire({.lease = 7s}, [](error_code, hold) {});
    co_await eventually("the third waits", [&] { return c.stats().contended == 1; });
    lock = co_await show(a, "n");
    BOOST_TEST(lock.held);
    BOOST_TEST(lock.token == h.token());
    BOOST_TEST(lock.token.starts_with("holder-"));
    BOOST_TEST(lock.fence == h.fence());
    BOOST_TEST(lock.ttl.has_value());
    BOOST_TEST(lock.waiters == 2U);
    BOOST_REQUIRE(lock.line.size() == 2U);
    BOOST_TEST(lock.line[0].token.starts_with("second-"));
    BOOST_TEST(lock.line[0].lease == 5s);
    BOOST_TEST(!lock.line[0].silent);
    BOOST_TEST(lock.line[1].token.starts_with("third-"));
    BOOST_TEST(lock.line[1].lease == 7s);
  });
}

BOOST_AUTO_TEST_CASE(show_tells_silent_entries_and_the_first_hundred_of_many) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    for (int i = 0; i < 130; ++i) join("n", "x." + std::to_string(i), i % 2 ? -5 : 60, 1000 + i);
    // Known to the line only.
    redis.command("HDEL", "leasehold:{0}:entries:n", "x.2");
    const lock_status lock = co_await show(c, "n");
    BOOST_TEST(!lock.held);
    BOOST_TEST(lock.waiters == 130U);
    BOOST_REQUIRE(lock.line.size() == 100U);
    for (std::size_t i = 0; i < 100; ++i) {
      BOOST_TEST(lock.line[i].token == "x." + std::to_string(i));
      BOOST_TEST(lock.line[i].silent == (i % 2 == 1 || i == 2));
      if (i != 2) BOOST_TEST(lock.line[i].lease.count() == static_cast<std::int64_t>(1000 + i));
    }
  });
}

BOOST_AUTO_TEST_CASE(show_takes_another_programs_string_for_a_lock_without_a_fence) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    const std::string value("foreign\0value", 13);
    redis.command("SET", "n", value);
    lock_status lock = co_await show(c, "n");
    BOOST_TEST(lock.held);
    BOOST_TEST((lock.token == value));
    BOOST_TEST(lock.fence == 0U);
    BOOST_TEST(!lock.ttl.has_value());
    redis.command("PEXPIRE", "n", "60000");
    lock = co_await show(c, "n");
    BOOST_TEST(lock.ttl.has_value());
    redis.command("SET", "n", "");
    lock = co_await show(c, "n");
    BOOST_TEST(lock.held);
    BOOST_TEST(lock.token == "");
    redis.command("SET", "n", std::string(100'000, 'x'));
    lock = co_await show(c, "n");
    BOOST_TEST(lock.token.size() == 65536U);
  });
}

BOOST_AUTO_TEST_CASE(what_is_no_lock_is_the_wrong_type) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    redis.command("HSET", "n", "a", "1");
    auto [ec, lock] = co_await show(c, "n", as_tuple);
    BOOST_TEST(ec == error::wrong_type);
    for (const bool force : {false, true}) {
      auto [ec2, broken] = co_await break_lock(c, "n", force, as_tuple);
      BOOST_TEST(ec2 == error::wrong_type);
    }
    BOOST_TEST(redis.command("HGET", "n", "a").text == "1");
    BOOST_TEST(c.stats().connects == 1U);
  });
}

BOOST_AUTO_TEST_CASE(break_frees_a_lock_and_says_whose_it_was) {
  run([&]() -> awaitable<void> {
    client a(co_await asio::this_coro::executor, redis.url());
    client b(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(a, "n").acquire({.lease = 900ms});
    outcome lost;
    h.lost(lost.handler());
    const broken_lock broken = co_await break_lock(b, "n");
    BOOST_TEST(broken.name == "n");
    BOOST_TEST(broken.held);
    BOOST_TEST(broken.token == h.token());
    BOOST_TEST(broken.fence == h.fence());
    BOOST_REQUIRE(broken.ttl.has_value());
    BOOST_TEST(*broken.ttl <= 900ms);
    BOOST_TEST(broken.waiters == 0U);
    BOOST_TEST(broken.next == "");
    BOOST_TEST(redis.size() == 0U);
    co_await eventually("the holder learns of it", [&] { return lost.ended(); });
    BOOST_TEST(!*lost.ec);
    BOOST_TEST(!h.valid());
    auto [ec] = co_await h.release(as_tuple);
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(redis.size() == 0U);
    auto [again, nothing] = co_await break_lock(b, "n", as_tuple);
    BOOST_TEST(again == error::not_held);
  });
}

BOOST_AUTO_TEST_CASE(break_hands_the_lock_to_the_next_in_line) {
  run([&]() -> awaitable<void> {
    client a(co_await asio::this_coro::executor, redis.url());
    client b(co_await asio::this_coro::executor, redis.url());
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(a, "n").acquire();
    std::optional<hold> got;
    mutex(b, "n").acquire([&](error_code ec, hold next) {
      BOOST_TEST(!ec);
      got = std::move(next);
    });
    co_await eventually("the waiter has found the lock busy", [&] { return b.stats().contended == 1; });
    const broken_lock broken = co_await break_lock(c, "n");
    BOOST_TEST(broken.token == h.token());
    BOOST_TEST(broken.waiters == 1U);
    co_await eventually("the waiter gets the lock", [&] { return got.has_value(); });
    BOOST_TEST(got->token() == broken.next);
    BOOST_TEST(got->fence() > h.fence());
    BOOST_TEST(b.stats().handed_off == 1U);
    auto [ec] = co_await h.release(as_tuple);
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(got->valid());
    lock_status lock = co_await show(c, "n");
    BOOST_TEST(lock.token == got->token());
  });
}

// It still stands in the line, in front.
BOOST_AUTO_TEST_CASE(break_passes_over_a_holder_that_has_not_confirmed) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    join("n", "a.1", 60);
    join("n", "b.1", 60);
    redis.command("SET", "n", "leasehold:a.1:7", "PX", "2000");
    broken_lock broken = co_await break_lock(c, "n");
    BOOST_TEST(broken.token == "a.1");
    BOOST_TEST(broken.next == "b.1");
    BOOST_TEST(redis.get("n").value().starts_with("leasehold:b.1:"));
    BOOST_TEST(redis.command("ZSCORE", "leasehold:{0}:line:n", "a.1").is_nil());
    broken = co_await break_lock(c, "n");
    BOOST_TEST(broken.token == "b.1");
    BOOST_TEST(broken.next == "");
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(break_of_a_free_lock_that_somebody_waits_for_helps_the_first) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    join("n", "silent.1", -5);
    join("n", "living.1", 60);
    auto [ec, broken] = co_await break_lock(c, "n", as_tuple);
    BOOST_TEST(ec == error::not_held);
    BOOST_TEST(redis.get("n").value().starts_with("leasehold:living.1:"));
    // Those who wait for a lock of another kind are not given a mutex.
    redis.command("ZADD", "leasehold:{0}:line:m", "1", "x.1");
    redis.command("HSET", "leasehold:{0}:entries:m", "#another", "1", "x.1", "7 5000 9000000000000000 ");
    auto [ec2, broken2] = co_await break_lock(c, "m", as_tuple);
    BOOST_TEST(ec2 == error::not_held);
    BOOST_TEST(!redis.get("m"));
    redis.command("SET", "m", "leasehold:x.2:7");
    const broken_lock last = co_await break_lock(c, "m");
    BOOST_TEST(last.next == "");
    BOOST_TEST(!redis.get("m"));
  });
}

BOOST_AUTO_TEST_CASE(another_programs_string_is_broken_by_force_only) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    for (const std::string value : {"somebody's", "", "leasehold:", "leasehold:x:y"}) {
      redis.command("SET", "n", value);
      auto [ec, nothing] = co_await break_lock(c, "n", as_tuple);
      BOOST_TEST(ec == error::wrong_type);
      BOOST_TEST(redis.get("n").value() == value);
      broken_lock broken = co_await break_lock(c, "n", true);
      BOOST_TEST(broken.token == value);
      BOOST_TEST(broken.fence == 0U);
      BOOST_TEST(!broken.ttl.has_value());
      BOOST_TEST(redis.size() == 0U);
    }
    redis.command("SET", "n", std::string(1'000'000, 'x'));
    join("n", "a.1", 60);
    broken_lock broken = co_await break_lock(c, "n", true);
    BOOST_TEST(broken.next == "a.1");
    BOOST_TEST(redis.get("n").value().starts_with("leasehold:a.1:"));
  });
}

BOOST_AUTO_TEST_CASE(break_needs_no_memory) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    join("n", "a.1", 60);
    redis.command("SET", "n", "leasehold:x.1:7");
    join("m", "b.1", 60);
    redis.command("SET", "m", "somebody's");
    redis.command("CONFIG", "SET", "maxmemory", "1");
    BOOST_TEST(redis.command("SET", "o", "x").is_error());
    broken_lock broken = co_await break_lock(c, "m", true);
    BOOST_TEST(broken.next == "b.1");
    broken = co_await break_lock(c, "m");
    BOOST_TEST(broken.token == "b.1");
    broken = co_await break_lock(c, "n");
    BOOST_TEST(broken.token == "x.1");
    BOOST_TEST(broken.next == "a.1");
    broken = co_await break_lock(c, "n");
    BOOST_TEST(broken.token == "a.1");
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(a_break_that_is_repeated_after_a_lost_reply_leaves_the_next_holder_alone) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    proxy between(executor, redis);
    client c(executor, between.url());
    co_await c.ready();
    {
      // The server knows the script from now on, so that the first reply is that to the look.
      auto [ec, nothing] = co_await break_lock(c, "other", as_tuple);
      BOOST_TEST(ec == error::not_held);
    }
    join("n", "a.1", 60);
    join("n", "b.1", 60);
    redis.command("SET", "n", "leasehold:x.1:7");
    between.cut_after_replies(std::string("*5\r\n:1\r\n$3\r\nx.1\r\n$1\r\n7\r\n:-1\r\n:2\r\n").size() + 3);
    const broken_lock broken = co_await break_lock(c, "n");
    BOOST_TEST(between.accepted() == 2U);
    BOOST_TEST(broken.token == "x.1");
    BOOST_TEST(broken.fence == 7U);
    BOOST_TEST(broken.next == "a.1");
    BOOST_TEST(redis.get("n").value().starts_with("leasehold:a.1:"));
    BOOST_TEST(redis.command("ZCARD", "leasehold:{0}:line:n").integer == 2);
  });
}

BOOST_AUTO_TEST_CASE(bad_names_are_told_and_nothing_is_asked) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    for (const std::string& name : {std::string(), std::string("leasehold:fence"), std::string(65537, 'x')}) {
      auto [ec, lock] = co_await show(c, name, as_tuple);
      BOOST_TEST(ec == error::invalid_name);
      auto [ec2, broken] = co_await break_lock(c, name, true, as_tuple);
      BOOST_TEST(ec2 == error::invalid_name);
    }
    BOOST_TEST(c.stats().commands == 0U);
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
                  "+getrange", "+pttl", "+zcard", "+exists", "+zrange", "+hget");
    redis.command("ACL", "SETUSER", "op", "+hexists", "+pexpire", "+set", "+del", "+zrem", "+hdel", "+hlen", "+hset",
                  "+publish");
    redis.command("SET", "other", "leasehold:x.1:7");
    redis.command("SET", "billing:n", "leasehold:x.1:7");
    join("billing:n", "a.1", 60);
    client_options o;
    o.prefix = "billing:";
    client c(co_await asio::this_coro::executor, "redis://op:secret@127.0.0.1:" + std::to_string(redis.port()), o);
    const std::vector<listed_lock> locks = co_await list(c);
    BOOST_TEST(names_of(locks) == strings{"n"}, boost::test_tools::per_element());
    const lock_status lock = co_await show(c, "n");
    BOOST_TEST(lock.line.size() == 1U);
    broken_lock broken = co_await break_lock(c, "n");
    BOOST_TEST(broken.next == "a.1");
    broken = co_await break_lock(c, "n");
    BOOST_TEST(broken.next == "");
  });
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_answer_is_unreachable_and_cancellation_does_not_wait_for_it) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.command_timeout = 100ms;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    co_await c.ready();
    redis.stop();
    auto [ec, locks] = co_await list(c, as_tuple);
    BOOST_TEST(ec == error::unreachable);
    auto [ec2, lock] = co_await show(c, "n", as_tuple);
    BOOST_TEST(ec2 == error::unreachable);
    auto [ec3, broken] = co_await break_lock(c, "n", as_tuple);
    BOOST_TEST(ec3 == error::unreachable);
    o.command_timeout = 1h;
    client patient(co_await asio::this_coro::executor, redis.url(), o);
    auto cancelled = list(patient, asio::cancel_after(10ms, as_tuple));
    auto [ec4, locks4] = co_await std::move(cancelled);
    BOOST_TEST(ec4 == asio::error::operation_aborted);
    redis.go_on();
    co_await patient.close();
    auto [ec5, locks5] = co_await list(patient, as_tuple);
    BOOST_TEST(ec5 == error::closed);
  });
}

BOOST_AUTO_TEST_CASE(the_operations_take_callbacks_and_outlive_the_client_handle) {
  asio::io_context context;
  redis.command("SET", "n", "leasehold:x.1:7");
  std::vector<listed_lock> locks;
  broken_lock broken;
  {
    client c(context, redis.url());
    list(c, [&, c](error_code ec, std::vector<listed_lock> found) {
      BOOST_TEST(!ec);
      locks = std::move(found);
      break_lock(c, "n", [&](error_code failed, broken_lock b) {
        BOOST_TEST(!failed);
        broken = std::move(b);
      });
    });
  }
  run_to_end(context);
  BOOST_TEST(locks.size() == 1U);
  BOOST_TEST(broken.token == "x.1");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
