// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The lock ends after half a second. The work under it takes longer, now and then, and goes on without the lock.

#include "story.hpp"

#include <optional>

namespace {

using namespace wrong_ways;

const std::string lock_name = "wrong_ways:account-lock";
const std::string account = "wrong_ways:account";

// [wrong]
awaitable<void> wrong_deposit(plain_redis& redis, std::string token, int amount, const work& check) {
  constexpr auto delete_if_ours =
      "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
  while (co_await redis.command("SET", lock_name, token, "NX", "PX", "500") != "OK") co_await a_moment();
  const int balance = std::stoi(co_await redis.command("GET", account));
  co_await check();  // Usually a matter of milliseconds.
  co_await redis.command("SET", account, std::to_string(balance + amount));
  co_await redis.command("EVAL", delete_if_ours, "1", lock_name, token);
}
// [/wrong]

// [right]
awaitable<void> right_deposit(leasehold::client redis, plain_redis& bank, int amount, const work& check) {
  leasehold::mutex lock(redis, lock_name);
  auto deposit = [&](leasehold::hold&) -> awaitable<void> {
    const int balance = std::stoi(co_await bank.command("GET", account));
    co_await check();  // The lease is renewed meanwhile. If that fails the work is stopped here.
    co_await bank.command("SET", account, std::to_string(balance + amount));
  };
  co_await leasehold::with_lock(lock, {.lease = 500ms}, deposit);
}
// [/right]

awaitable<int> verdict(plain_redis& redis) {
  const std::string balance = co_await redis.command("GET", account);
  say("The account had 100, 20 and 10 were paid in, and now it has {}.", balance);
  if (balance != "130") co_return broken("two worked at once, and a payment is gone");
  co_return kept("the lock lasts as long as the work");
}

awaitable<int> wrong(std::string url) {
  const auto executor = co_await asio::this_coro::executor;
  plain_redis alice(executor, url), bob(executor, url);
  co_await alice.command("SET", account, "100");
  const work long_check = [&]() -> awaitable<void> {
    say("Alice has the lock for 500 ms and has read the account. Her check takes longer.");
    co_await wrong_deposit(bob, "bob", 10, nothing);
    say("Alice's lease has ended. Bob had the lock, paid 10 in, and has released it.");
  };
  co_await wrong_deposit(alice, "alice", 20, long_check);
  say("Alice is ready, and pays 20 in.");
  co_return co_await verdict(alice);
}

awaitable<int> right(std::string url) {
  const auto executor = co_await asio::this_coro::executor;
  leasehold::client alice(executor, url), bob(executor, url);
  plain_redis bank(executor, url);
  co_await bank.command("SET", account, "100");
  const work long_check = [&]() -> awaitable<void> {
    say("Alice has the lock with a lease of 500 ms and has read the account. Her check takes longer.");
    while (alice.stats().renewed < 4) co_await a_moment();
    const std::optional<leasehold::hold> bobs = co_await leasehold::mutex(bob, lock_name).try_acquire();
    say("Her lease was renewed 4 times, each time for 500 ms. Bob tries: {}.",
        bobs ? "Bob has the lock" : "it is locked");
  };
  for (bool done = false; !done;) {
    try {
      co_await right_deposit(alice, bank, 20, long_check);
      done = true;
    } catch (const leasehold::system_error& e) {
      if (e.code() != leasehold::error::lost) throw;
      say("This machine was too slow to renew in time. Alice was stopped before she paid in, and begins again.");
    }
  }
  say("Alice is ready, and pays 20 in.");
  co_await right_deposit(bob, bank, 10, nothing);
  say("Bob has the lock and pays 10 in.");
  const int status = co_await verdict(bank);
  co_await bank.command("DEL", account);
  co_return status;
}

}  // namespace

int main(int argc, char** argv) { return wrong_ways::play(argc, argv, {lock_name, account}, wrong, right); }
