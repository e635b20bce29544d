// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The classic reentrant scripts (a hash owner -> count, by HINCRBY, HEXISTS and EXPIRE), run by redis-cli, share a
// recursive mutex's key.
#include "interop/other_program.hpp"

#include <algorithm>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(reentrant_scripts, with_redis)

namespace {

const char* const lock_script =
    "if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then "
    "redis.call('hincrby', KEYS[1], ARGV[1], 1) redis.call('expire', KEYS[1], ARGV[2]) return 1 else return 0 end";
const char* const unlock_script =
    "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return nil "
    "elseif redis.call('hincrby', KEYS[1], ARGV[1], -1) == 0 then redis.call('del', KEYS[1]) return 1 "
    "else return 0 end";
const char* const renew_script =
    "if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then return redis.call('expire', KEYS[1], ARGV[2]) "
    "else return 0 end";

// One such program.
struct script_client {
  redis_server& redis;
  std::string owner;

  bool lock(const std::string& seconds = "60") const {
    return redis_cli(redis, {"EVAL", lock_script, "1", "n", owner, seconds}) == "1";
  }
  // "1": free, "0": still his, "": not his.
  std::string unlock() const { return redis_cli(redis, {"EVAL", unlock_script, "1", "n", owner}); }
  bool renew(const std::string& seconds) const {
    return redis_cli(redis, {"EVAL", renew_script, "1", "n", owner, seconds}) == "1";
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(another_owner_of_theirs_keeps_us_out_until_the_last_unlock) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    recursive_mutex lock(c, "n", "ours");
    script_client other{redis, "theirs"};
    BOOST_TEST(other.lock());
    BOOST_TEST(other.lock());
    BOOST_TEST(!(co_await lock.try_acquire()).has_value());
    const lock_info info = co_await lock.inspect();
    BOOST_TEST(info.held);
    BOOST_TEST(info.holders == 2U);
    BOOST_TEST(info.owner == "theirs");
    BOOST_TEST(info.token == "");
    BOOST_TEST(info.fence == 0U);
    BOOST_TEST(info.ttl.has_value());
    waiter ours(lock);
    co_await wait_in_queue(redis, "n");
    BOOST_TEST(other.unlock() == "0");
    co_await ours.polls(c, 2);
    BOOST_TEST(!ours.is_in());
    const std::vector<std::string> as_theirs{"theirs", "1"};
    BOOST_TEST(hash_of(redis, "n") == as_theirs, boost::test_tools::per_element());
    BOOST_TEST(other.unlock() == "1");
    co_await eventually("it is acquired", [&] { return ours.is_in(); });
    BOOST_TEST(ours.got().depth() == 1U);
    BOOST_TEST(other.unlock() == "");
    BOOST_TEST(ours.got().valid());
    co_await ours.got().release();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(another_owner_of_theirs_keeps_us_out_until_it_expires) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    BOOST_TEST((script_client{redis, "theirs"}.lock("1")));
    waiter ours(recursive_mutex(c, "n", "ours"));
    co_await eventually("it is acquired", [&] { return ours.is_in(); });
    BOOST_TEST(count_of(redis, "n", "ours") == "1");
    BOOST_TEST(count_of(redis, "n", "theirs") == "");
    co_await ours.got().release();
  });
}

BOOST_AUTO_TEST_CASE(another_owner_of_ours_keeps_them_out_until_the_last_release) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    recursive_mutex lock(c, "n", "ours");
    script_client other{redis, "theirs"};
    hold one = co_await lock.acquire();
    hold two = co_await lock.acquire();
    const std::vector<std::string> before = hash_of(redis, "n");
    BOOST_TEST(!other.lock());
    BOOST_TEST(other.unlock() == "");
    BOOST_TEST(!other.renew("60"));
    BOOST_TEST(hash_of(redis, "n") == before, boost::test_tools::per_element());
    co_await one.release();
    BOOST_TEST(!other.lock());
    co_await two.release();
    BOOST_TEST(other.lock());
    BOOST_TEST(redis.command("HLEN", "n").integer == 1);
  });
}

BOOST_AUTO_TEST_CASE(another_owner_of_ours_keeps_them_out_until_it_expires) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    script_client other{redis, "theirs"};
    hold h = co_await recursive_mutex(c, "n", "ours").acquire({.lease = 300ms, .renew = renewal::none});
    co_await eventually("it gets in", [&] { return other.lock(); });
    const auto [ec] = co_await h.release(as_tuple);
    BOOST_TEST(ec == error::lost);
    const std::vector<std::string> as_theirs{"theirs", "1"};
    BOOST_TEST(hash_of(redis, "n") == as_theirs, boost::test_tools::per_element());
  });
}

// Two holds of ours and two locks of theirs, released in each of the six orders.
BOOST_AUTO_TEST_CASE(the_same_owner_enters_from_both_sides_and_leaves_in_any_order) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    recursive_mutex lock(c, "n", "request 7");
    recursive_mutex stranger(c, "n", "request 8");
    script_client same{redis, "request 7"};
    script_client other{redis, "request 9"};
    std::string order = "oott";
    do {
      BOOST_TEST_CONTEXT(order) {
        const bool ours_first = order.front() == 'o';
        if (!ours_first) BOOST_TEST(same.lock());
        hold one = co_await lock.acquire();
        if (ours_first) BOOST_TEST(same.lock());
        BOOST_TEST(one.depth() == (ours_first ? 1U : 2U));
        hold two = co_await lock.acquire();
        BOOST_TEST(two.depth() == 3U);
        BOOST_TEST(two.fence() == one.fence());
        BOOST_TEST(same.lock());
        int left = 4;
        for (const char who : order) {
          BOOST_TEST(count_of(redis, "n", "request 7") == std::to_string(left));
          const lock_info info = co_await lock.inspect();
          BOOST_TEST(info.holders == static_cast<std::size_t>(left));
          BOOST_TEST(info.owner == "request 7");
          BOOST_TEST(!(co_await stranger.try_acquire()).has_value());
          BOOST_TEST(!other.lock());
          --left;
          if (who == 't') {
            BOOST_TEST(same.unlock() == (left == 0 ? "1" : "0"));
          } else {
            co_await (one.valid() ? one : two).release();
          }
        }
        BOOST_TEST(redis.size() == 0U);
      }
    } while (std::next_permutation(order.begin(), order.end()));
  });
}

// A hold that has ended by itself is still in the count until a script of ours reads it: their last unlock does not
// free the lock then, and their other owners wait until the key expires.
BOOST_AUTO_TEST_CASE(an_expired_hold_beside_theirs_is_taken_out_by_who_waits) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    script_client same{redis, "request 7"};
    BOOST_TEST(same.lock());
    hold h = co_await recursive_mutex(c, "n", "request 7").acquire({.lease = 300ms, .renew = renewal::none});
    co_await h.lost();
    BOOST_TEST(same.unlock() == "0");
    waiter ours(recursive_mutex(c, "n", "request 8"));
    co_await eventually("it is acquired", [&] { return ours.is_in(); });
    BOOST_TEST(count_of(redis, "n", "request 7") == "");
    BOOST_TEST(count_of(redis, "n", "request 8") == "1");
    co_await ours.got().release();
    BOOST_TEST(redis.size() == 0U);
  });
}

// What is lost: EXPIRE says what the lease of all is.
BOOST_AUTO_TEST_CASE(their_expiry_shortens_our_lease_until_we_lengthen_it) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    script_client same{redis, "request 7"};
    hold h = co_await recursive_mutex(c, "n", "request 7").acquire({.lease = 600s});
    BOOST_TEST(redis.ttl("n") > 60'000);
    BOOST_TEST(same.lock("60"));
    BOOST_TEST(redis.ttl("n") <= 60'000);
    co_await h.extend(601s);
    BOOST_TEST(redis.ttl("n") > 60'000);
    BOOST_TEST(same.renew("60"));
    BOOST_TEST(redis.ttl("n") <= 60'000);
    // What they have is not ours to shorten.
    hold brief = co_await recursive_mutex(c, "n", "request 7").acquire({.lease = 10s});
    co_await h.release();
    BOOST_TEST(redis.ttl("n") > 10'000);
    co_await brief.release();
    BOOST_TEST(redis.ttl("n") > 10'000);
    BOOST_TEST(count_of(redis, "n", "request 7") == "1");
    BOOST_TEST(same.unlock() == "1");
  });
}

// The lock that a crash between HINCRBY and EXPIRE leaves.
BOOST_AUTO_TEST_CASE(a_hash_without_an_expiry_is_waited_for_and_repaired_on_request) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    redis.command("HSET", "n", "theirs", "1");
    recursive_mutex lock(c, "n", "ours");
    const lock_info info = co_await lock.inspect();
    BOOST_TEST(info.held);
    BOOST_TEST(!info.ttl.has_value());
    waiter patient(lock);
    co_await wait_in_queue(redis, "n");
    co_await patient.polls(c, 2);
    BOOST_TEST(!patient.is_in());
    BOOST_TEST(redis.ttl("n") == -1);
    client_options repairing;
    repairing.repair_missing_expiry = true;
    client d(executor, redis.url(), repairing);
    waiter second(recursive_mutex(d, "n", "ours"), {.lease = 5s});
    co_await eventually("both are in", [&] { return patient.is_in() && second.is_in(); });
    co_await second.got().release();
    co_await patient.got().release();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(both_count_exactly) {
  redis.command("SET", "number", "0");
  constexpr int rounds = 20;
  const std::string text = "echo begins\nfor i in $(seq " + std::to_string(rounds) +
                           "); do\n"
                           "  until [ \"$(redis-cli -s \"$0\" EVAL \"$1\" 1 n other 60)\" = 1 ]; do sleep 0.01; done\n"
                           "  v=$(redis-cli -s \"$0\" GET number)\n"
                           "  redis-cli -s \"$0\" SET number $((v + 1))\n"
                           "  redis-cli -s \"$0\" EVAL \"$2\" 1 n other\n"
                           "done\n";
  child other({"sh", "-c", text, redis.socket_path(), lock_script, unlock_script});
  BOOST_REQUIRE(other.read_line().value() == "begins");
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    recursive_mutex lock(c, "n", "ours");
    for (int i = 0; i < rounds; ++i) {
      hold h = co_await lock.acquire();
      const auto before = std::stoi(redis.get("number").value());
      co_await turn();
      redis.command("SET", "number", std::to_string(before + 1));
      co_await h.release();
    }
  });
  other.read_rest();
  BOOST_TEST(other.wait() == 0);
  BOOST_TEST(redis.get("number").value() == std::to_string(2 * rounds));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
