// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The release looks whether the lock is its own, and then deletes it: two commands. Between them the lease can end.

#include "story.hpp"

namespace {

using namespace wrong_ways;

const std::string report = "wrong_ways:report";

// [wrong]
awaitable<void> wrong_release(plain_redis& redis, std::string token) {
  const std::string whose = co_await redis.command("GET", report);
  if (whose == token) {
    freeze();  // Two commands: the lease may end here.
    co_await redis.command("DEL", report);
  }
}
// [/wrong]

// [right]
awaitable<void> right_release(leasehold::hold& hold) {
  freeze();
  // One script compares the token and deletes the key. A release that comes too late reports `lost`.
  const auto [failure] = co_await hold.release(asio::as_tuple);
  say("Alice goes on, and her release says: {}.", failure ? failure.message() : "released");
}
// [/right]

awaitable<bool> acquire(plain_redis& redis, std::string token, std::string lease) {
  co_return co_await redis.command("SET", report, token, "NX", "PX", lease) == "OK";
}

awaitable<int> wrong(std::string url) {
  process alice([&]() -> awaitable<void> {
    plain_redis redis(co_await asio::this_coro::executor, url);
    co_await acquire(redis, "alice's token", "1000");
    say("Alice has the lock with a lease of 1 s. When she releases it she finds her own token, and stands still.");
    co_await wrong_release(redis, "alice's token");
  });
  alice.wait_until_frozen();

  const auto executor = co_await asio::this_coro::executor;
  plain_redis bob(executor, url), carol(executor, url);
  while (!co_await acquire(bob, "bob's token", "30000")) co_await a_moment();
  say("Alice's lease has ended, and Bob has the lock for 30 s.");
  alice.thaw();
  say("Alice goes on and sends her DEL.");
  const bool carol_has_it = co_await acquire(carol, "carol's token", "30000");
  say("Carol tries: {}.", carol_has_it ? "she has it, while Bob has it" : "it is locked");
  if (carol_has_it) co_return broken("Alice has deleted Bob's lock, though she had looked whose it was");
  co_return kept("Bob has the lock");
}

awaitable<int> right(std::string url) {
  process alice([&]() -> awaitable<void> {
    leasehold::client redis(co_await asio::this_coro::executor, url);
    leasehold::mutex lock(redis, report);
    leasehold::hold hold = co_await lock.acquire({.lease = 300ms});
    say("Alice has the lock with a lease of 300 ms. When she is about to release it she stands still.");
    co_await right_release(hold);
  });
  alice.wait_until_frozen();

  const auto executor = co_await asio::this_coro::executor;
  leasehold::client bob(executor, url), carol(executor, url);
  leasehold::mutex lock(bob, report);
  leasehold::hold hold = co_await lock.acquire({.lease = 30s, .wait = 30s});
  say("Alice's lease has ended, and Bob has the lock for 30 s.");
  alice.thaw();
  const auto carols = co_await leasehold::mutex(carol, report).try_acquire();
  say("Carol tries: {}.", carols ? "she has it" : "it is locked");
  const bool broke = carols || !hold.valid();
  co_await hold.release();
  if (broke) co_return broken("Bob has lost the lock");
  co_return kept("Alice could release nothing but her own lock, and that had ended");
}

}  // namespace

int main(int argc, char** argv) { return wrong_ways::play(argc, argv, {report}, wrong, right); }
