// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Redisson's RLock and a recursive mutex share a key: its layout, what its scripts do, and its unlock channel. The
// scripts here do what its own do, call by call.
#include "interop/other_program.hpp"
#include "support/proxy.hpp"

namespace leasehold::test {

namespace {

// lease, owner -> nil: locked | milliseconds left
const char* const lock_script =
    "if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then "
    "redis.call('hincrby', KEYS[1], ARGV[2], 1) redis.call('pexpire', KEYS[1], ARGV[1]) return nil end "
    "return redis.call('pttl', KEYS[1])";
// message, lease, owner -> nil: not his | 0: still his | 1: free
const char* const unlock_script =
    "if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end "
    "if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then redis.call('pexpire', KEYS[1], ARGV[2]) return 0 end "
    "redis.call('del', KEYS[1]) redis.call('publish', KEYS[2], ARGV[1]) return 1";
// lease, owner -> 1: lengthened | 0: not his
const char* const renew_script =
    "if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then redis.call('pexpire', KEYS[1], ARGV[1]) return 1 end return "
    "0";

const std::string channel = "redisson_lock__channel:{n}";

// A thread of a Redisson client.
struct redisson_thread {
  redis_server& redis;
  std::string owner;  // <UUID of the client>:<thread>

  bool lock(const std::string& lease = "30000") const {
    return redis.command("EVAL", lock_script, "1", "n", lease, owner).is_nil();
  }
  // 1: free, 0: still his, -1: not his.
  std::int64_t unlock() const {
    const reply r = redis.command("EVAL", unlock_script, "2", "n", channel, "0", "30000", owner);
    return r.is_nil() ? -1 : r.integer;
  }
  bool renew(const std::string& lease) const {
    return redis.command("EVAL", renew_script, "1", "n", lease, owner).integer == 1;
  }
};

const std::string here = "b983c153-7421-469a-addb-44fb92259a1b:1";
const std::string there = "01a0ff6c-6b72-4e6b-a8a8-4fcd2e2b3f0f:47";

client_options with_redisson() {
  client_options o;
  o.redisson = true;
  return o;
}

std::int64_t listeners(redis_server& redis, const std::string& to = channel) {
  return redis.command("PUBSUB", "NUMSUB", to).items[1].integer;
}

// What somebody hears who listens to the channel, as Redisson does.
class subscriber {
 public:
  explicit subscriber(const redis_server& redis, const std::string& to = channel) : connection_(redis.socket_path()) {
    connection_.command({"SUBSCRIBE", to});
  }
  std::string next() { return connection_.receive().items[2].text; }

 private:
  redis_connection connection_;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(redisson, with_redis)

BOOST_AUTO_TEST_CASE(its_lock_keeps_us_out_until_the_last_unlock) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    recursive_mutex lock(c, "n", here);
    redisson_thread other{redis, there};
    BOOST_TEST(other.lock());
    BOOST_TEST(other.lock());
    BOOST_TEST(!(co_await lock.try_acquire()).has_value());
    const lock_info info = co_await lock.inspect();
    BOOST_TEST(info.holders == 2U);
    BOOST_TEST(info.owner == there);
    waiter ours(lock);
    co_await wait_in_queue(redis, "n");
    BOOST_TEST(other.unlock() == 0);
    BOOST_TEST(other.renew("60000"));
    co_await ours.polls(c, 2);
    BOOST_TEST(!ours.is_in());
    const std::vector<std::string> as_theirs{there, "1"};
    BOOST_TEST(hash_of(redis, "n") == as_theirs, boost::test_tools::per_element());
    BOOST_TEST(other.unlock() == 1);
    co_await eventually("it is acquired", [&] { return ours.is_in(); });
    BOOST_TEST(other.unlock() == -1);
    BOOST_TEST(!other.renew("60000"));
    BOOST_TEST(ours.got().valid());
    co_await ours.got().release();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(its_lock_keeps_us_out_until_it_expires) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    BOOST_TEST((redisson_thread{redis, there}.lock("1500")));
    waiter ours(recursive_mutex(c, "n", here));
    co_await eventually("it is acquired", [&] { return ours.is_in(); });
    co_await ours.got().release();
  });
}

BOOST_AUTO_TEST_CASE(our_recursive_mutex_keeps_it_out_until_the_last_release) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    recursive_mutex lock(c, "n", here);
    redisson_thread other{redis, there};
    hold one = co_await lock.acquire();
    hold two = co_await lock.acquire();
    const std::vector<std::string> before = hash_of(redis, "n");
    // It is told when to ask again.
    const reply left = redis.command("EVAL", lock_script, "1", "n", "30000", there);
    BOOST_TEST(left.integer > 0);
    BOOST_TEST(left.integer <= 30'000);
    BOOST_TEST(other.unlock() == -1);
    BOOST_TEST(!other.renew("60000"));
    BOOST_TEST(hash_of(redis, "n") == before, boost::test_tools::per_element());
    co_await two.release();
    BOOST_TEST(!other.lock());
    co_await one.release();
    BOOST_TEST(other.lock());
  });
}

BOOST_AUTO_TEST_CASE(our_recursive_mutex_keeps_it_out_until_it_expires) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    redisson_thread other{redis, there};
    hold h = co_await recursive_mutex(c, "n", here).acquire({.lease = 300ms, .renew = renewal::none});
    co_await eventually("it gets in", [&] { return other.lock(); });
    const auto [ec] = co_await h.release(as_tuple);
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(count_of(redis, "n", there) == "1");
  });
}

BOOST_AUTO_TEST_CASE(the_same_owner_enters_from_both_sides) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    recursive_mutex lock(c, "n", here);
    redisson_thread same{redis, here};
    hold one = co_await lock.acquire();
    BOOST_TEST(same.lock());
    BOOST_TEST(count_of(redis, "n", here) == "2");
    co_await one.release();
    BOOST_TEST(count_of(redis, "n", here) == "1");
    hold two = co_await lock.acquire();
    BOOST_TEST(two.depth() == 2U);
    BOOST_TEST(same.unlock() == 0);
    BOOST_TEST(two.valid());
    co_await two.release();
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(the_release_that_frees_the_lock_is_published_and_no_other) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), with_redisson());
    recursive_mutex lock(c, "n", here);
    redisson_thread same{redis, here};
    subscriber waits(redis);
    hold one = co_await lock.acquire();
    hold two = co_await lock.acquire();
    co_await one.release();
    redis.command("PUBLISH", channel, "one is left");
    BOOST_TEST(waits.next() == "one is left");
    co_await two.release();
    BOOST_TEST(waits.next() == "0");
    // It still has one itself.
    hold three = co_await lock.acquire();
    BOOST_TEST(same.lock());
    co_await three.release();
    redis.command("PUBLISH", channel, "theirs is left");
    BOOST_TEST(waits.next() == "theirs is left");
    BOOST_TEST(same.unlock() == 1);
    BOOST_TEST(waits.next() == "0");
    // One of ours is next.
    hold four = co_await lock.acquire();
    waiter fifth(recursive_mutex(c, "n", there));
    co_await wait_in_queue(redis, "n");
    co_await four.release();
    co_await eventually("the fifth is in", [&] { return fifth.is_in(); });
    redis.command("PUBLISH", channel, "handed over");
    BOOST_TEST(waits.next() == "handed over");
    co_await fifth.got().release();
    BOOST_TEST(waits.next() == "0");
  });
}

BOOST_AUTO_TEST_CASE(nothing_is_published_or_listened_to_unless_asked_for) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    recursive_mutex lock(c, "n", here);
    subscriber hears(redis);
    hold one = co_await lock.acquire();
    waiter second(recursive_mutex(c, "n", there));
    co_await wait_in_queue(redis, "n");
    BOOST_TEST(listeners(redis) == 1);
    co_await one.release();
    co_await eventually("the second is in", [&] { return second.is_in(); });
    co_await second.got().release();
    redis.command("PUBLISH", channel, "silence");
    BOOST_TEST(hears.next() == "silence");
  });
}

BOOST_AUTO_TEST_CASE(the_channel_is_named_as_redisson_names_it) {
  run([&]() -> awaitable<void> {
    client_options options = with_redisson();
    options.prefix = "app:";
    client c(co_await asio::this_coro::executor, redis.url(), options);
    subscriber plain(redis, "redisson_lock__channel:{app:n}");
    subscriber tagged(redis, "redisson_lock__channel:app:{user}n");
    hold one = co_await recursive_mutex(c, "n", here).acquire();
    hold two = co_await recursive_mutex(c, "{user}n", here).acquire();
    co_await one.release();
    co_await two.release();
    BOOST_TEST(plain.next() == "0");
    BOOST_TEST(tagged.next() == "0");
  });
}

// By its timer it polls every 0.67 s: that would take a minute.
BOOST_AUTO_TEST_CASE(its_unlock_wakes_who_waits_at_once) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), with_redisson());
    recursive_mutex lock(c, "n", here);
    redisson_thread other{redis, there};
    BOOST_TEST(other.lock("600000"));
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 90; ++i) {
      waiter ours(lock);
      co_await eventually("it listens", [&] { return listeners(redis) == 1; });
      BOOST_TEST(other.unlock() == 1);
      co_await eventually("it is acquired", [&] { return ours.is_in(); });
      co_await ours.got().release();
      co_await eventually("it listens no more", [&] { return listeners(redis) == 0; });
      BOOST_TEST(other.lock("600000"));
    }
    BOOST_TEST(std::chrono::steady_clock::now() - start < 30s);
  });
}

BOOST_AUTO_TEST_CASE(it_listens_again_after_a_reconnect) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), with_redisson());
    redisson_thread other{redis, there};
    BOOST_TEST(other.lock("600000"));
    waiter ours(recursive_mutex(c, "n", here));
    waiter ours_too(recursive_mutex(c, "n", "another owner"));
    co_await wait_in_queue(redis, "n", 2);
    co_await eventually("it listens", [&] { return listeners(redis) == 1; });
    redis.command("CLIENT", "KILL", "TYPE", "pubsub");
    co_await eventually("it listens again", [&] { return c.stats().reconnects == 1 && listeners(redis) == 1; });
    BOOST_TEST(other.unlock() == 1);
    co_await eventually("it is acquired", [&] { return ours.is_in(); });
    co_await ours.got().release();
    co_await eventually("the other, too", [&] { return ours_too.is_in(); });
    co_await ours_too.got().release();
    co_await eventually("it listens no more", [&] { return listeners(redis) == 0; });
  });
}

// A refusal of SUBSCRIBE is a reply that nobody asked for: no other reply may be taken for its neighbour's.
BOOST_AUTO_TEST_CASE(a_client_that_may_not_listen_looks_as_before) {
  redis.command("ACL", "SETUSER", "u", "on", ">secret", "~*", "+@all", "resetchannels", "&leasehold:*");
  std::vector<std::string> ends;  // Closing is told after the coroutine's end.
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    proxy p(executor, redis);
    client_options options = with_redisson();
    options.observer = [&ends](const event& e) {
      if (e.what == event::kind::disconnected) ends.emplace_back(e.text);
    };
    const std::string unix_url = "unix://";
    client c(executor, unix_url + "u:secret@" + p.url().substr(unix_url.size()), options);
    redisson_thread other{redis, there};
    BOOST_TEST(other.lock("600000"));
    // The server knows the scripts then.
    hold one = co_await mutex(c, "one").acquire();
    hold two = co_await recursive_mutex(c, "two", here).acquire();
    p.hold_replies();
    waiter ours(recursive_mutex(c, "n", here));
    co_await wait_in_queue(redis, "n");
    p.forget();
    p.pass();
    p.hold_requests();
    co_await eventually("it wants to listen", [&] { return p.requests().find(channel) != std::string_view::npos; });
    // Behind the refusal come the replies to these.
    std::vector<hold> holds;
    for (int i = 0; i < 10; ++i) {
      mutex(c, "other " + std::to_string(i)).acquire([&](error_code ec, hold h) {
        BOOST_TEST(!ec, ec.message());
        holds.push_back(std::move(h));
      });
    }
    co_await eventually("all have asked", [&] { return p.requests().find("other 9") != std::string_view::npos; });
    p.pass();
    co_await eventually("all are acquired", [&] { return holds.size() == 10; });
    for (const hold& h : holds) {
      BOOST_TEST(
          redis.get(h.name()).value_or("").starts_with("leasehold:" + h.token() + ":" + std::to_string(h.fence())));
    }
    BOOST_TEST(other.unlock() == 1);
    co_await eventually("it is acquired", [&] { return ours.is_in(); });
    BOOST_TEST(c.stats().reconnects == 1U);
    BOOST_REQUIRE(ends.size() == 1);
    BOOST_TEST(ends.front().starts_with("NOPERM"));
    co_await ours.got().release();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
