// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Whoever has tried to acquire the lock deletes it at the end, as one does in a `finally`: also who never had it.

#include "story.hpp"

#include <optional>

namespace {

using namespace wrong_ways;

const std::string report = "wrong_ways:report";

// [wrong]
awaitable<bool> wrong_write(plain_redis& redis, std::string who, const work& write) {
  const bool acquired = co_await redis.command("SET", report, who, "NX", "PX", "30000") == "OK";
  if (acquired) co_await write();
  co_await redis.command("DEL", report);  // Whose lock is it?
  co_return acquired;
}
// [/wrong]

// [right]
awaitable<bool> right_write(leasehold::client redis, const work& write) {
  leasehold::mutex lock(redis, report);
  std::optional<leasehold::hold> hold = co_await lock.try_acquire({.lease = 30s});
  if (!hold) co_return false;  // Without a hold there is nothing to release.
  co_await write();
  co_await hold->release();
  co_return true;
}
// [/right]

awaitable<int> wrong(std::string url) {
  const auto executor = co_await asio::this_coro::executor;
  plain_redis alice(executor, url), bob(executor, url), carol(executor, url);
  bool carol_writes = false;
  const work write = [&]() -> awaitable<void> {
    say("Alice has the lock and writes.");
    const bool bob_writes = co_await wrong_write(bob, "bob", nothing);
    say("Bob {}.", bob_writes ? "has the lock, too" : "finds it locked and goes away, with a DEL");
    carol_writes = co_await carol.command("SET", report, "carol", "NX", "PX", "30000") == "OK";
    if (carol_writes) say("Carol has the lock and writes, while Alice writes.");
  };
  co_await wrong_write(alice, "alice", write);
  const std::string holder = co_await bob.command("GET", report);
  say("Alice has written and sends her DEL, too. Carol still writes, and GET says {}.", holder);
  if (carol_writes) co_return broken("two wrote at once, because one without the lock deleted it");
  co_return kept("one wrote");
}

awaitable<int> right(std::string url) {
  const auto executor = co_await asio::this_coro::executor;
  leasehold::client alice(executor, url), bob(executor, url), carol(executor, url);
  bool carol_writes = false;
  const work write = [&]() -> awaitable<void> {
    say("Alice has the lock and writes.");
    const bool bob_writes = co_await right_write(bob, nothing);
    say("Bob {}.", bob_writes ? "has the lock, too" : "finds it locked and goes away");
    carol_writes = co_await right_write(carol, nothing);
    say("Carol {}.", carol_writes ? "has the lock and writes, while Alice writes" : "finds it locked, too");
  };
  co_await right_write(alice, write);
  if (carol_writes) co_return broken("two wrote at once");
  co_return kept("only the holder can release the lock");
}

}  // namespace

int main(int argc, char** argv) { return wrong_ways::play(argc, argv, {report}, wrong, right); }
