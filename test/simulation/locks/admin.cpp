// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/with_memory.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

struct with_admin : with_memory {
  // Entries that nobody stands behind: due so many seconds from now.
  void join(const std::string& record, const std::string& token, int due_in, int lease = 5000,
            const std::string& kind = "mutex", const std::string& ask = "") {
    redis.command("EVAL",
                  "local t = redis.call('TIME') "
                  "local due = string.format('%d', (t[1] + ARGV[3]) * 1000000) "
                  "redis.call('ZADD', KEYS[1], redis.call('HINCRBY', KEYS[2], '#' .. ARGV[4], 1), ARGV[1]) "
                  "redis.call('HSET', KEYS[2], ARGV[1], '7 ' .. ARGV[2] .. ' ' .. due .. ' ' .. ARGV[5])",
                  "2", "leasehold:{0}:queue:" + record, "leasehold:{0}:entries:" + record, token, std::to_string(lease),
                  std::to_string(due_in), kind, ask);
  }
  // How many holds a record has.
  std::int64_t members(const std::string& record) { return redis.command("HLEN", record).integer - 1; }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(admin, with_admin)

namespace {

std::vector<std::string> names_of(const std::vector<listed_lock>& locks) {
  std::vector<std::string> names;
  for (const auto& lock : locks) names.push_back(lock.name);
  return names;
}

using strings = std::vector<std::string>;

}  // namespace

// It breaks the hold that it has seen, and no other: here there is another one each time.
BOOST_AUTO_TEST_CASE(a_lock_that_changes_hands_all_the_time_is_not_broken) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    gate network(redis);
    client_options o;
    o.command_timeout = 500ms;
    client c(executor, network.url(), o);
    co_await c.ready();
    network.slow(10ms);
    std::optional<error_code> ec;
    int turns = 0;
    const auto change_hands = [&] {
      const auto fence = std::to_string(++turns);
      redis.command("SET", "n", "leasehold:other." + fence + ":" + fence, "PX", "60000");
    };
    change_hands();
    break_lock(c, "n", [&](error_code e, broken_lock) { ec = e; });
    co_await eventually("it ends", [&] {
      change_hands();
      return ec.has_value();
    });
    BOOST_TEST(*ec == error::timed_out);
    BOOST_TEST(redis.get("n").has_value());
  });
}

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

BOOST_AUTO_TEST_CASE(list_and_show_tell_of_every_kind_who_has_it) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold m = co_await mutex(c, "mutex").acquire();
    recursive_mutex recursive(c, "recursive", "request 7");
    hold r1 = co_await recursive.acquire();
    hold r2 = co_await recursive.acquire({.lease = 60s});
    hold reader1 = co_await shared_mutex(c, "readers").acquire_shared();
    hold reader2 = co_await shared_mutex(c, "readers", "me").acquire_shared();
    hold writer = co_await shared_mutex(c, "writer", "you").acquire();
    counting_semaphore three(c, "semaphore", 3);
    hold s1 = co_await three.acquire({.lease = 10s});
    hold s2 = co_await three.acquire({.lease = 60s});
    const std::vector<listed_lock> locks = co_await list(c);
    BOOST_TEST(names_of(locks) == (strings{"mutex", "readers", "recursive", "semaphore", "writer"}),
               boost::test_tools::per_element());
    for (const auto& listed : locks) {
      const lock_status shown = co_await show(c, listed.name);
      for (const lock_details& lock : {lock_details(listed), lock_details(shown)}) {
        BOOST_TEST_CONTEXT(listed.name) {
          BOOST_TEST(lock.held);
          BOOST_TEST(lock.holds.size() == lock.holders);
          BOOST_TEST(lock.ttl.has_value());
          BOOST_TEST(lock.fence == lock.holds.back().fence);
          for (const auto& h : lock.holds) BOOST_TEST((h.ttl > 0s && h.ttl <= lock.ttl));
          if (listed.name != "readers" && listed.name != "writer") BOOST_TEST(lock.mode == "");
          if (listed.name != "semaphore") BOOST_TEST(lock.limit == 0U);
          if (listed.name == "mutex") {
            BOOST_TEST(lock.kind == "mutex");
            BOOST_TEST(lock.holders == 1U);
            BOOST_TEST(lock.holds[0].token == m.token());
            BOOST_TEST(lock.holds[0].owner == "");
          } else if (listed.name == "recursive") {
            BOOST_TEST(lock.kind == "recursive_mutex");
            BOOST_TEST(lock.owner == "request 7");
            BOOST_TEST(lock.holders == 2U);
            BOOST_TEST(lock.holds[1].owner == "request 7");
            BOOST_TEST(lock.fence == r1.fence());
            BOOST_TEST(*lock.ttl > 30s);
          } else if (listed.name == "readers") {
            BOOST_TEST(lock.kind == "shared_mutex");
            BOOST_TEST(lock.mode == "readers");
            BOOST_TEST(lock.owner == "");
            BOOST_TEST(lock.holders == 2U);
            const bool first = lock.holds[0].token == reader1.token();
            BOOST_TEST(lock.holds[first].token == reader2.token());
            BOOST_TEST(lock.holds[first].role == "reader");
            BOOST_TEST(lock.holds[first].owner == "me");
            BOOST_TEST(lock.holds[!first].owner == "");
          } else if (listed.name == "writer") {
            BOOST_TEST(lock.kind == "shared_mutex");
            BOOST_TEST(lock.mode == "writer");
            BOOST_TEST(lock.owner == "you");
            BOOST_TEST(lock.holds[0].token == writer.token());
            BOOST_TEST(lock.holds[0].role == "writer");
            BOOST_TEST(lock.holds[0].owner == "you");
          } else {
            BOOST_TEST(lock.kind == "counting_semaphore");
            BOOST_TEST(lock.limit == 3U);
            BOOST_TEST(lock.holders == 2U);
            BOOST_TEST(lock.token == s1.token());
            BOOST_TEST(lock.holds[0].fence == s1.fence());
            BOOST_TEST(*lock.holds[0].ttl <= 10s);
            BOOST_TEST(lock.holds[1].token == s2.token());
            BOOST_TEST(lock.holds[1].fence == s2.fence());
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(who_is_past_his_deadline_is_out) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    redis.command("HSET", "some", "leasehold", "counting_semaphore 9 2 7 2", "leasehold:x.1", "7 8 2", "leasehold:x.2",
                  "9000000000000000 9 2");
    redis.command("HSET", "none", "leasehold", "shared_mutex 9 1 7 r", "leasehold:x.1", "7 9 r");
    const std::vector<listed_lock> locks = co_await list(c);
    BOOST_TEST(names_of(locks) == strings{"some"}, boost::test_tools::per_element());
    const lock_status some = co_await show(c, "some");
    BOOST_TEST(some.holders == 1U);
    BOOST_TEST(some.token == "x.2");
    BOOST_TEST(some.limit == 2U);
    const lock_status none = co_await show(c, "none");
    BOOST_TEST(!none.held);
    BOOST_TEST(none.kind == "");
    auto [ec, broken] = co_await break_lock(c, "none", as_tuple);
    BOOST_TEST(ec == error::not_held);
  });
}

// The owner's count in the record still has it.
BOOST_AUTO_TEST_CASE(a_hold_of_an_owner_that_is_past_its_deadline_does_not_count) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    redis.command("HSET", "some", "leasehold", "recursive_mutex 9 2 7 me", "leasehold:x.1", "7 9 me", "leasehold:x.2",
                  "9000000000000000 9 me", "me", "2");
    redis.command("HSET", "none", "leasehold", "recursive_mutex 9 1 7 me", "leasehold:x.1", "7 9 me", "me", "1");
    const lock_status some = co_await show(c, "some");
    BOOST_TEST(some.holders == 1U);
    BOOST_TEST(some.token == "x.2");
    const lock_status none = co_await show(c, "none");
    BOOST_TEST(!none.held);
    const std::vector<listed_lock> locks = co_await list(c);
    BOOST_REQUIRE(locks.size() == 1U);
    BOOST_TEST(locks[0].holders == 1U);
    auto [ec, broken] = co_await break_lock(c, "none", as_tuple);
    BOOST_TEST(ec == error::not_held);
  });
}

// Another program of the same owner has given the key a shorter expiry.
BOOST_AUTO_TEST_CASE(a_hold_is_not_shown_to_outlive_its_key) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    const hold h = co_await recursive_mutex(c, "n", "me").acquire({.lease = 60s, .renew = renewal::none});
    redis.command("PEXPIRE", "n", "5000");
    const lock_status shown = co_await show(c, "n");
    const std::vector<listed_lock> locks = co_await list(c);
    BOOST_REQUIRE(locks.size() == 1U);
    for (const lock_details& lock : {lock_details(shown), lock_details(locks[0])}) {
      BOOST_REQUIRE(lock.holds.size() == 1U);
      BOOST_TEST(*lock.ttl <= 5s);
      BOOST_TEST(*lock.holds[0].ttl <= *lock.ttl);
    }
  });
}

BOOST_AUTO_TEST_CASE(a_hundred_holds_are_told_and_all_are_counted_and_broken) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    counting_semaphore many(c, "n", 4'294'967'295);
    std::vector<hold> holds;
    for (int i = 0; i < 150; ++i) holds.push_back(co_await many.acquire());
    const lock_status lock = co_await show(c, "n");
    BOOST_TEST(lock.limit == 4'294'967'295U);
    BOOST_TEST(lock.holders == 150U);
    BOOST_TEST(lock.holds.size() == 100U);
    BOOST_TEST(lock.token == holds[0].token());
    const lock_info info = co_await many.inspect();
    BOOST_TEST(info.holders == 150U);
    BOOST_TEST(info.tokens.size() == 100U);
    const broken_lock broken = co_await break_lock(c, "n");
    BOOST_TEST(broken.holders == 150U);
    BOOST_TEST(redis.size() == 0U);
  });
}

// The URL names one node; "bar" is at the first master, "foo" at the second.
BOOST_AUTO_TEST_CASE(list_tells_of_the_locks_of_every_master_of_a_cluster) {
  memory_server other;
  BOOST_REQUIRE(redis.number() == 0U);
  BOOST_REQUIRE(other.number() == 1U);
  const detail::memory::cluster nodes({&redis.server(), &other.server()}, 2);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, "memory+cluster:s0");
    const hold bar = co_await mutex(c, "bar").acquire();
    const hold foo = co_await mutex(c, "foo").acquire();
    BOOST_TEST(redis.size() == 1U);
    BOOST_TEST(other.size() == 1U);
    const strings names = names_of(co_await list(c));
    BOOST_TEST(names == (strings{"bar", "foo"}), boost::test_tools::per_element());
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

// A script about all of them would block the server for as long as that takes.
BOOST_AUTO_TEST_CASE(list_looks_at_some_hundred_locks_at_a_time_also_in_one_slot) {
  const detail::memory::cluster slots({&redis.server()}, 1);
  run([&]() -> awaitable<void> {
    for (int i = 0; i < 600; ++i) redis.command("SET", "{t}:" + std::to_string(i), "leasehold:x.1:7");
    client c(co_await asio::this_coro::executor, redis.url());
    const auto first = co_await list(c);  // It learns that keys have slots.
    BOOST_TEST(first.size() == 600U);
    const auto before = redis.scripts();
    const auto all = co_await list(c);
    BOOST_TEST(all.size() == 600U);
    BOOST_TEST(redis.scripts() - before == 3);
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
    BOOST_TEST(lock.queue.empty());
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
    BOOST_REQUIRE(lock.queue.size() == 2U);
    BOOST_TEST(lock.queue[0].token.starts_with("second-"));
    BOOST_TEST(lock.queue[0].lease == 5s);
    BOOST_TEST(!lock.queue[0].silent);
    BOOST_TEST(lock.queue[1].token.starts_with("third-"));
    BOOST_TEST(lock.queue[1].lease == 7s);
  });
}

BOOST_AUTO_TEST_CASE(show_tells_what_is_waited_for) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    join("shared", "a.1", 60, 5000, "shared_mutex", "wme");
    join("shared", "a.2", 60, 5000, "shared_mutex", "r");
    lock_status lock = co_await show(c, "shared");
    BOOST_REQUIRE(lock.queue.size() == 2U);
    BOOST_TEST(lock.queue[0].role == "writer");
    BOOST_TEST(lock.queue[0].owner == "me");
    BOOST_TEST(lock.queue[1].role == "reader");
    BOOST_TEST(lock.queue[1].owner == "");
    join("recursive", "a.3", 60, 5000, "recursive_mutex", "r you");
    lock = co_await show(c, "recursive");
    BOOST_REQUIRE(lock.queue.size() == 1U);
    BOOST_TEST(lock.queue[0].role == "");
    BOOST_TEST(lock.queue[0].owner == "r you");
    join("semaphore", "a.4", 60, 5000, "counting_semaphore", "3");
    lock = co_await show(c, "semaphore");
    BOOST_REQUIRE(lock.queue.size() == 1U);
    BOOST_TEST(lock.queue[0].owner == "");
  });
}

BOOST_AUTO_TEST_CASE(show_takes_another_programs_reentrant_lock_for_one_without_a_fence) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    const std::string owner("some\0body:1", 11);
    redis.command("HSET", "n", owner, "3");
    lock_status lock = co_await show(c, "n");
    BOOST_TEST(lock.held);
    BOOST_TEST(lock.kind == "");
    BOOST_TEST((lock.token == owner));
    BOOST_TEST((lock.owner == owner));
    BOOST_TEST(lock.holders == 3U);
    BOOST_TEST(lock.fence == 0U);
    BOOST_TEST(!lock.ttl.has_value());
    const std::vector<listed_lock> locks = co_await list(c);
    BOOST_TEST(locks.empty());
    auto [ec, nothing] = co_await break_lock(c, "n", as_tuple);
    BOOST_TEST(ec == error::wrong_type);
    BOOST_TEST(members("n") == 0);
    join("n", "a.1", 60, 5000, "recursive_mutex", "me");
    broken_lock broken = co_await break_lock(c, "n", true);
    BOOST_TEST((broken.owner == owner));
    BOOST_TEST(broken.next == "a.1");
    lock = co_await show(c, "n");
    BOOST_TEST(lock.owner == "me");
    // The same owner by another program, and by us: ours, all of it.
    redis.command("HINCRBY", "n", "me", "1");
    lock = co_await show(c, "n");
    BOOST_TEST(lock.kind == "recursive_mutex");
    BOOST_TEST(lock.holders == 2U);
    BOOST_TEST(lock.holds.size() == 1U);
    // Ours has gone.
    redis.command("HDEL", "n", "leasehold:a.1");
    redis.command("HINCRBY", "n", "me", "-1");
    lock = co_await show(c, "n");
    BOOST_TEST(lock.held);
    BOOST_TEST(lock.kind == "");
    BOOST_TEST(lock.owner == "me");
    auto [ec2, nothing2] = co_await break_lock(c, "n", as_tuple);
    BOOST_TEST(ec2 == error::wrong_type);
    broken = co_await break_lock(c, "n", true);
    BOOST_TEST(broken.holders == 1U);
    // He still waits, since he never confirmed.
    BOOST_TEST(broken.next == "a.1");
  });
}

BOOST_AUTO_TEST_CASE(show_tells_silent_entries_and_the_first_hundred_of_many) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    for (int i = 0; i < 130; ++i) join("n", "x." + std::to_string(i), i % 2 ? -5 : 60, 1000 + i);
    // Known to the queue only.
    redis.command("HDEL", "leasehold:{0}:entries:n", "x.2");
    const lock_status lock = co_await show(c, "n");
    BOOST_TEST(!lock.held);
    BOOST_TEST(lock.waiters == 130U);
    BOOST_REQUIRE(lock.queue.size() == 100U);
    for (std::size_t i = 0; i < 100; ++i) {
      BOOST_TEST(lock.queue[i].token == "x." + std::to_string(i));
      BOOST_TEST(lock.queue[i].silent == (i % 2 == 1 || i == 2));
      if (i != 2) BOOST_TEST(lock.queue[i].lease.count() == static_cast<std::int64_t>(1000 + i));
    }
  });
}

// The script of show is the first that runs after a pause of the server.
BOOST_AUTO_TEST_CASE(show_takes_no_entry_for_silent_that_could_not_poll) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    co_await c.ready();
    join("n", "x.1", 2);
    redis.command("EVAL",
                  "local t = redis.call('TIME') "
                  "redis.call('HSET', KEYS[1], '#ran', string.format('%d', t[1] * 1000000 + t[2]))",
                  "1", "leasehold:{0}:entries:n");
    co_await pause(10s);
    const lock_status lock = co_await show(c, "n");
    BOOST_REQUIRE(lock.queue.size() == 1U);
    BOOST_TEST(!lock.queue[0].silent);
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
    redis.command("HSET", "hash", "a", "b");
    redis.command("HSET", "two", "a", "1", "b", "1");
    redis.command("HSET", "almost", "leasehold", "shared_mutex 7 one 0 r", "leasehold:x.1", "9000000000000000 7 r");
    redis.command("HSET", "kind", "leasehold", "\x1b[2J\xff 7 1 9000000000000000 r", "leasehold:x.1",
                  "9000000000000000 7 r");
    redis.command("HSET", "mutex", "leasehold", "mutex 7 1 9000000000000000 r", "leasehold:x.1",
                  "9000000000000000 7 r");
    redis.command("RPUSH", "list", "a");
    for (const std::string name : {"hash", "two", "almost", "kind", "mutex", "list"}) {
      auto [ec, lock] = co_await show(c, name, as_tuple);
      BOOST_TEST(ec == error::wrong_type);
      for (const bool force : {false, true}) {
        auto [ec2, broken] = co_await break_lock(c, name, force, as_tuple);
        BOOST_TEST(ec2 == error::wrong_type);
      }
      BOOST_TEST(redis.command("EXISTS", name).integer == 1);
    }
    const std::vector<listed_lock> locks = co_await list(c);
    BOOST_TEST(locks.empty());
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

// Whatever the kind: the clients of the holds that were broken are told, and find out at once. By themselves they would
// ask in twenty minutes.
BOOST_AUTO_TEST_CASE(break_tells_the_former_holders) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client a(executor, redis.url()), b(executor, redis.url()), c(executor, redis.url());
    const acquire_options hour{.lease = 1h}, once{.lease = 1h, .renew = renewal::none};
    for (int kind = 0; kind < 4; ++kind) {
      BOOST_TEST_CONTEXT("kind " << kind) {
        std::vector<hold> held;
        const auto take = [&](const client& by) -> awaitable<void> {
          const acquire_options o = held.empty() ? hour : once;
          hold h;
          if (kind == 0) h = co_await mutex(by, "n").acquire(o);
          if (kind == 1) h = co_await recursive_mutex(by, "n", "me").acquire(o);
          if (kind == 2) h = co_await shared_mutex(by, "n").acquire_shared(o);
          if (kind == 3) h = co_await counting_semaphore(by, "n", 3).acquire(o);
          held.push_back(std::move(h));
        };
        co_await take(a);
        if (kind != 0) co_await take(a);
        if (kind != 0) co_await take(b);
        std::vector<outcome> lost(held.size());
        for (std::size_t i = 0; i < held.size(); ++i) held[i].lost(lost[i].handler());
        const broken_lock broken = co_await break_lock(c, "n");
        BOOST_TEST(broken.token == held[0].token());
        co_await eventually("the holders are told", [&] {
          return std::all_of(lost.begin(), lost.end(), [](const outcome& o) { return o.ended(); });
        });
        for (const outcome& o : lost) BOOST_TEST(!*o.ec);
      }
    }
  });
}

// It is a hint and no more: a client asks, and what is still there stays.
BOOST_AUTO_TEST_CASE(a_forged_message_that_a_hold_was_broken_costs_one_question) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 12s, .renew = renewal::at_most(1)});
    const std::string channel = "leasehold:{0}:" + h.token().substr(0, h.token().find('.'));
    const auto before = c.stats();
    const auto deadline = h.expires_at();
    redis.command("PUBLISH", channel, "broken " + h.token());
    co_await eventually("it asks", [&] { return c.stats().commands == before.commands + 1; });
    const std::string others[] = {"", "x", "x.1", h.token() + "0"};
    for (const std::string& token : others) redis.command("PUBLISH", channel, "broken " + token);
    co_await eventually("it has an answer",
                        [&] { return c.stats().round_trip.count() == before.round_trip.count() + 1; });
    co_await turn(20);
    BOOST_TEST(h.valid());
    BOOST_TEST((h.expires_at() == deadline));
    BOOST_TEST(c.stats().renewed == before.renewed);
    BOOST_TEST(c.stats().commands == before.commands + 1);
    // The renewal comes when it was due, and is not used up.
    co_await eventually("it is renewed", [&] { return c.stats().renewed == before.renewed + 1 || !h.valid(); });
    BOOST_TEST(h.valid());
    BOOST_TEST(h.expires_at() > deadline);
  });
}

BOOST_AUTO_TEST_CASE(break_hands_the_lock_to_the_next_in_the_queue) {
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

BOOST_AUTO_TEST_CASE(break_ends_all_holds_and_lets_in_who_waits) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client a(executor, redis.url());
    client b(executor, redis.url());
    const auto queue_length = [&] { return redis.command("ZCARD", "leasehold:{0}:queue:n").integer; };
    shared_mutex in(a, "n"), out(b, "n", "me");
    hold one = co_await in.acquire_shared({.lease = 1s});
    hold two = co_await in.acquire_shared({.lease = 1s});
    outcome one_lost, two_lost;
    one.lost(one_lost.handler());
    two.lost(two_lost.handler());
    std::optional<hold> writer, reader;
    const auto into = [](std::optional<hold>& where) {
      return [&where](error_code ec, hold h) {
        BOOST_TEST(!ec);
        where = std::move(h);
      };
    };
    out.acquire(into(writer));
    co_await eventually("the writer waits", [&] { return queue_length() == 1; });
    broken_lock broken = co_await break_lock(b, "n");
    BOOST_TEST(broken.kind == "shared_mutex");
    BOOST_TEST(broken.mode == "readers");
    BOOST_TEST(broken.holders == 2U);
    BOOST_TEST(broken.waiters == 1U);
    co_await eventually("the writer is in", [&] { return writer.has_value(); });
    BOOST_TEST(broken.next == writer->token());
    BOOST_TEST(writer->fence() > one.fence());
    BOOST_TEST(b.stats().handed_off == 1U);
    co_await eventually("the readers learn of it", [&] { return one_lost.ended() && two_lost.ended(); });
    BOOST_TEST(writer->valid());
    auto [ec] = co_await one.release(as_tuple);
    BOOST_TEST(ec == error::lost);
    in.acquire_shared(into(reader));
    co_await eventually("a reader waits", [&] { return queue_length() == 1; });
    broken = co_await break_lock(a, "n");
    BOOST_TEST(broken.mode == "writer");
    BOOST_TEST(broken.owner == "me");
    BOOST_TEST(broken.token == writer->token());
    co_await eventually("the reader is in", [&] { return reader.has_value(); });
    BOOST_TEST(broken.next == reader->token());
  });
}

BOOST_AUTO_TEST_CASE(break_of_each_kind_lets_in_as_many_as_the_lock_admits) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    const std::string kinds[] = {"recursive_mutex", "shared_mutex", "counting_semaphore"};
    const std::string asks[] = {"you", "r", "2"};
    const std::string abouts[] = {"me", "w", "2"};
    const std::int64_t let_in[] = {3, 3, 2};
    for (int i = 0; i < 3; ++i) {
      BOOST_TEST_CONTEXT(kinds[i]) {
        redis.command("HSET", "n", "leasehold", kinds[i] + " 9 1 9000000000000000 " + abouts[i], "leasehold:x.1",
                      "9000000000000000 9 " + abouts[i]);
        if (i == 0) redis.command("HSET", "n", "me", "1");
        for (const std::string token : {"a.1", "a.2", "a.3"}) join("n", token, 60, 5000, kinds[i], asks[i]);
        const broken_lock broken = co_await break_lock(c, "n");
        BOOST_TEST(broken.kind == kinds[i]);
        BOOST_TEST(broken.token == "x.1");
        BOOST_TEST(broken.next.starts_with("a."));
        const lock_status now = co_await show(c, "n");
        BOOST_TEST(now.holders == static_cast<std::size_t>(let_in[i]));
        BOOST_TEST(now.fence > 9U);
        BOOST_TEST(redis.command("HEXISTS", "n", "me").integer == 0);
        redis.command("DEL", "n", "leasehold:{0}:queue:n", "leasehold:{0}:entries:n");
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(break_of_several_holds_passes_over_those_that_have_not_confirmed) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    for (const std::string token : {"a.1", "a.2", "b.1"}) join("n", token, 60, 5000, "counting_semaphore", "2");
    redis.command("HSET", "n", "leasehold", "counting_semaphore 9 2 9000000000000000 2", "leasehold:a.1",
                  "9000000000000000 8 2", "leasehold:a.2", "9000000000000000 9 2");
    broken_lock broken = co_await break_lock(c, "n");
    BOOST_TEST(broken.token == "a.1");
    BOOST_TEST(broken.next == "b.1");
    BOOST_TEST(members("n") == 1);
    BOOST_TEST(redis.command("ZCARD", "leasehold:{0}:queue:n").integer == 1);
    broken = co_await break_lock(c, "n");
    BOOST_TEST(broken.next == "");
    BOOST_TEST(redis.size() == 0U);
  });
}

// It still waits in the queue, in front.
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
    BOOST_TEST(redis.command("ZSCORE", "leasehold:{0}:queue:n", "a.1").is_nil());
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
    redis.command("ZADD", "leasehold:{0}:queue:m", "1", "x.1");
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
    join("s", "c.1", 60, 5000, "shared_mutex", "w");
    redis.command("HSET", "s", "leasehold", "shared_mutex 7 1 9000000000000000 r", "leasehold:x.1",
                  "9000000000000000 7 r");
    redis.command("CONFIG", "SET", "maxmemory", "1");
    BOOST_TEST(redis.command("SET", "o", "x").is_error());
    broken_lock broken = co_await break_lock(c, "s");
    BOOST_TEST(broken.token == "x.1");
    BOOST_TEST(broken.next == "c.1");
    broken = co_await break_lock(c, "s");
    BOOST_TEST(broken.next == "");
    broken = co_await break_lock(c, "m", true);
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
    gate between(redis);
    client c(executor, between.url());
    co_await c.ready();
    {
      // The server knows the script from now on, so that the first reply is that to the poll.
      auto [ec, nothing] = co_await break_lock(c, "other", as_tuple);
      BOOST_TEST(ec == error::not_held);
    }
    join("n", "a.1", 60);
    join("n", "b.1", 60);
    redis.command("SET", "n", "leasehold:x.1:7");
    between.cut_after_replies(1);
    const broken_lock broken = co_await break_lock(c, "n");
    BOOST_TEST(between.accepted() == 2U);
    BOOST_TEST(broken.token == "x.1");
    BOOST_TEST(broken.fence == 7U);
    BOOST_TEST(broken.next == "a.1");
    BOOST_TEST(redis.get("n").value().starts_with("leasehold:a.1:"));
    BOOST_TEST(redis.command("ZCARD", "leasehold:{0}:queue:n").integer == 2);
  });
}

BOOST_AUTO_TEST_CASE(a_repeated_break_leaves_the_next_holds_of_any_kind_alone) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    gate between(redis);
    client c(executor, between.url());
    co_await c.ready();
    {
      auto [ec, nothing] = co_await break_lock(c, "other", as_tuple);
      BOOST_TEST(ec == error::not_held);
    }
    for (const std::string token : {"a.1", "a.2", "b.1"}) join("n", token, 60, 5000, "shared_mutex", "r");
    redis.command("HSET", "n", "leasehold", "shared_mutex 7 1 9000000000000000 w", "leasehold:x.1",
                  "9000000000000000 7 w");
    between.cut_after_replies(1);
    const broken_lock broken = co_await break_lock(c, "n");
    BOOST_TEST(between.accepted() == 2U);
    BOOST_TEST(broken.token == "x.1");
    BOOST_TEST(broken.next != "");
    BOOST_TEST(members("n") == 3);
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
    cancel_timer soon(co_await asio::this_coro::executor, 10ms);
    auto [ec4, locks4] = co_await list(patient, soon.bind(as_tuple));
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
