// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The lock's value is the instant at which it ends, by the clock of whoever took it; who finds it past takes over with
// GETSET. Clocks differ, and GETSET overwrites the value even if somebody else was faster.

#include "story.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <algorithm>

namespace {

using namespace wrong_ways;
using namespace asio::experimental::awaitable_operators;

const std::string report = "wrong_ways:report";

// [wrong]
awaitable<bool> wrong_acquire(plain_redis& redis, long now, const work& meanwhile = nothing) {
  const std::string mine = std::to_string(now + 30'000);  // The end, by this client's clock.
  if (co_await redis.command("SETNX", report, mine) == "1") co_return true;
  const std::string theirs = co_await redis.command("GET", report);
  if (theirs == "nil" || std::stol(theirs) > now) co_return false;
  co_await meanwhile();  // Other clients read the value, too.
  co_return co_await redis.command("GETSET", report, mine) == theirs;
}
// [/wrong]

// [right]
awaitable<leasehold::hold> right_acquire(leasehold::client redis) {
  leasehold::mutex lock(redis, report);
  // Redis counts the lease, by its own clock. No client's time is compared with another's.
  leasehold::hold hold = co_await lock.acquire({.lease = 30s, .wait = 30s});
  co_return hold;
}
// [/right]

awaitable<int> wrong(std::string url) {
  const auto executor = co_await asio::this_coro::executor;
  plain_redis alice(executor, url), bob(executor, url);
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  const long now = std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();

  const bool alice_has_it = co_await wrong_acquire(alice, now);
  say("Alice acquires the lock for 30 s: {}.", alice_has_it ? "she has it" : "no");
  const bool bob_has_it = co_await wrong_acquire(bob, now + 60'000);
  say("Bob's clock is a minute fast. He finds her lock past and takes over: {}.", bob_has_it ? "he has it, too" : "no");

  co_await alice.command("SET", report, "1");
  say("Another time: the lock of a dead holder is past. Alice and Bob both see it.");
  bool alice_took_over = false;
  const work alice_is_faster = [&]() -> awaitable<void> { alice_took_over = co_await wrong_acquire(alice, now); };
  const bool bob_took_over = co_await wrong_acquire(bob, now + 60'000, alice_is_faster);
  say("Alice's GETSET comes first: {}. Bob's comes second: {}.", alice_took_over ? "she has it" : "no",
      bob_took_over ? "he has it, too" : "he has not");
  const std::string end = co_await alice.command("GET", report);
  const bool overwritten = alice_took_over && std::stol(end) != now + 30'000;
  say("But the lock ends {} ms after Alice's time: {}.", std::stol(end) - now - 30'000,
      overwritten ? "it is Bob's" : "it is hers");

  if (alice_has_it && bob_has_it && overwritten) {
    co_return broken("first two had the lock at once, then one who has not got it changed its end");
  }
  co_return kept("one client has the lock, and the end is its own");
}

awaitable<int> right(std::string url) {
  process dead([&]() -> awaitable<void> {
    leasehold::client redis(co_await asio::this_coro::executor, url);
    leasehold::mutex lock(redis, report);
    leasehold::hold hold = co_await lock.acquire({.lease = 300ms});
    say("Another process has the lock, and dies.");
    crash();
  });
  dead.wait_until_dead();

  const auto executor = co_await asio::this_coro::executor;
  leasehold::client alice(executor, url), bob(executor, url);
  say("Alice and Bob both wait for the end of the lease.");
  int inside = 0;
  int most = 0;
  bool overwritten = false;
  auto take_over = [&](leasehold::client redis, const char* who) -> awaitable<void> {
    leasehold::hold hold = co_await right_acquire(redis);
    most = std::max(most, ++inside);
    const leasehold::lock_info info = co_await leasehold::mutex(redis, report).inspect();
    overwritten = overwritten || info.token != hold.token();
    say("{} has it for 30 s. Redis says so, too: {}.", who, info.token == hold.token() ? "yes" : "no");
    --inside;
    co_await hold.release();
  };
  co_await (take_over(alice, "Alice") && take_over(bob, "Bob"));
  if (most > 1 || overwritten) co_return broken("two had the lock at once");
  co_return kept("one after the other, whatever their clocks say");
}

}  // namespace

int main(int argc, char** argv) { return wrong_ways::play(argc, argv, {report}, wrong, right); }
