// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// SET NX PX with the same value for everybody. Whoever comes back after the end of its lease releases what another has.

#include "story.hpp"

namespace {

using namespace wrong_ways;

const std::string report = "wrong_ways:report";

// [wrong]
awaitable<bool> wrong_acquire(plain_redis& redis, std::string lease) {
  co_return co_await redis.command("SET", report, "1", "NX", "PX", lease) == "OK";
}

awaitable<void> wrong_release(plain_redis& redis) {
  co_await redis.command("DEL", report);  // Whose lock is it?
}
// [/wrong]

// [right]
awaitable<leasehold::hold> right_acquire(leasehold::client redis, std::chrono::milliseconds lease) {
  leasehold::mutex lock(redis, report);
  leasehold::hold hold = co_await lock.acquire({.lease = lease, .wait = 30s});
  co_return hold;  // With a token that no other hold has.
}

awaitable<bool> right_release(leasehold::hold& hold) {
  const auto [failure] = co_await hold.release(asio::as_tuple);
  co_return failure != leasehold::error::lost;
}
// [/right]

awaitable<int> wrong(std::string url) {
  process alice([&]() -> awaitable<void> {
    plain_redis redis(co_await asio::this_coro::executor, url);
    co_await wrong_acquire(redis, "300");
    say("Alice has the lock with a lease of 300 ms, and stands still.");
    freeze();
    co_await wrong_release(redis);
    say("Alice goes on, and releases the lock.");
  });
  alice.wait_until_frozen();

  const auto executor = co_await asio::this_coro::executor;
  plain_redis bob(executor, url), carol(executor, url);
  while (!co_await wrong_acquire(bob, "30000")) co_await a_moment();
  say("Alice's lease has ended, and Bob has the lock for 30 s.");
  alice.thaw();
  const bool carol_has_it = co_await wrong_acquire(carol, "30000");
  say("Carol tries: {}.", carol_has_it ? "she has it, while Bob has it" : "it is locked");
  if (!carol_has_it) co_return kept("Bob has the lock");
  const std::string value = co_await bob.command("GET", report);
  say("Bob looks: GET says {}, the same value that Bob has written.", value);
  co_return broken("Alice has released Bob's lock, and Bob cannot even see it");
}

awaitable<int> right(std::string url) {
  process alice([&]() -> awaitable<void> {
    leasehold::client redis(co_await asio::this_coro::executor, url);
    leasehold::hold hold = co_await right_acquire(redis, 300ms);
    say("Alice has the lock with a lease of 300 ms, and stands still.");
    freeze();
    const bool released = co_await right_release(hold);
    say("Alice goes on, and {}.", released ? "releases the lock" : "is told that her lock was lost");
  });
  alice.wait_until_frozen();

  const auto executor = co_await asio::this_coro::executor;
  leasehold::client bob(executor, url), carol(executor, url);
  leasehold::hold hold = co_await right_acquire(bob, 30s);
  say("Alice's lease has ended, and Bob has the lock for 30 s.");
  alice.thaw();
  leasehold::mutex lock(carol, report);
  const auto carols = co_await lock.try_acquire();
  say("Carol tries: {}.", carols ? "she has it" : "it is locked");
  const leasehold::lock_info info = co_await lock.inspect();
  say("She looks: the lock has {} token.", info.token == hold.token() ? "Bob's" : "another client's");
  const bool broke = carols || info.token != hold.token();
  co_await hold.release();
  if (broke) co_return broken("Bob has lost the lock");
  co_return kept("a release finds its own hold, or nothing");
}

}  // namespace

int main(int argc, char** argv) { return wrong_ways::play(argc, argv, {report}, wrong, right); }
