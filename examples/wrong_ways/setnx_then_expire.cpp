// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// SETNX takes the lock, EXPIRE gives it an end: two commands. Who dies between them leaves a lock without an end.

#include "story.hpp"

namespace {

using namespace wrong_ways;

const std::string report = "wrong_ways:report";

// [wrong]
awaitable<bool> wrong_acquire(plain_redis& redis, std::string who) {
  const bool acquired = co_await redis.command("SETNX", report, who) == "1";
  if (!acquired) co_return false;
  crash();  // Two commands: the process may die here.
  co_await redis.command("PEXPIRE", report, "500");
  co_return true;
}
// [/wrong]

// [right]
awaitable<leasehold::hold> right_acquire(leasehold::client redis) {
  leasehold::mutex lock(redis, report);
  // Lock and lease are one write, so there is no lock without an end.
  leasehold::hold hold = co_await lock.acquire({.lease = 500ms, .wait = 30s});
  co_return hold;
}
// [/right]

awaitable<int> wrong(std::string url) {
  process alice([&]() -> awaitable<void> {
    plain_redis redis(co_await asio::this_coro::executor, url);
    say("Alice sends SETNX, and is killed before she can send PEXPIRE.");
    co_await wrong_acquire(redis, "alice");
  });
  alice.wait_until_dead();

  plain_redis bob(co_await asio::this_coro::executor, url);
  const bool acquired = co_await wrong_acquire(bob, "bob");
  if (acquired) co_return kept("Bob has the lock");
  say("Bob sends SETNX. Redis says 0: it is locked.");
  const std::string left = co_await bob.command("PTTL", report);
  say("Bob asks how long it will be: PTTL says {}.", left);
  if (left != "-1") co_return kept("the lock will end");
  co_return broken("the lock has no end, and whoever could release it is dead: it is locked for ever");
}

awaitable<int> right(std::string url) {
  process alice([&]() -> awaitable<void> {
    leasehold::client redis(co_await asio::this_coro::executor, url);
    leasehold::hold hold = co_await right_acquire(redis);
    say("Alice has the lock with a lease of 500 ms, and is killed.");
    crash();
  });
  alice.wait_until_dead();

  leasehold::client bob(co_await asio::this_coro::executor, url);
  say("Bob waits for the lock.");
  leasehold::hold hold = co_await right_acquire(bob);
  say("Bob has the lock: Alice's lease has ended.");
  co_await hold.release();
  co_return kept("a dead holder keeps the others out for one lease and no longer");
}

}  // namespace

int main(int argc, char** argv) { return wrong_ways::play(argc, argv, {report}, wrong, right); }
