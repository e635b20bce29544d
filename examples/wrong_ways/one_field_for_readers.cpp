// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A read/write lock in a hash with one field for all readers. The second reader overwrites the first, and takes the
// field away when he goes: a writer gets in while the first still reads.

#include "story.hpp"

#include <optional>

namespace {

using namespace wrong_ways;

const std::string lock_name = "wrong_ways:rates-lock";
const std::string rates = "wrong_ways:rates";

// [wrong]
awaitable<bool> wrong_lock_shared(plain_redis& redis, std::string reader) {
  constexpr auto script = R"(
    if redis.call('HEXISTS', KEYS[1], 'write') == 1 then return 0 end
    redis.call('HSET', KEYS[1], 'read', ARGV[1])  -- Overwrites the field of another reader.
    redis.call('PEXPIRE', KEYS[1], 30000)
    return 1)";
  co_return co_await redis.command("EVAL", script, "1", lock_name, reader) == "1";
}

awaitable<void> wrong_unlock_shared(plain_redis& redis, std::string reader) {
  constexpr auto script = R"(
    if redis.call('HGET', KEYS[1], 'read') == ARGV[1] then redis.call('HDEL', KEYS[1], 'read') end)";
  co_await redis.command("EVAL", script, "1", lock_name, reader);
}

awaitable<bool> wrong_lock(plain_redis& redis, std::string writer) {
  constexpr auto script = R"(
    if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end  -- No field: is the lock free?
    redis.call('HSET', KEYS[1], 'write', ARGV[1])
    redis.call('PEXPIRE', KEYS[1], 30000)
    return 1)";
  co_return co_await redis.command("EVAL", script, "1", lock_name, writer) == "1";
}
// [/wrong]

// [right]
awaitable<leasehold::hold> right_lock_shared(leasehold::client redis) {
  leasehold::shared_mutex lock(redis, lock_name);
  leasehold::hold hold = co_await lock.acquire_shared({.lease = 30s, .wait = 30s});
  co_return hold;  // Each reader has a place of its own in the lock, and releases no other.
}

awaitable<std::optional<leasehold::hold>> right_try_lock(leasehold::client redis) {
  leasehold::shared_mutex lock(redis, lock_name);
  std::optional<leasehold::hold> hold = co_await lock.try_acquire({.lease = 30s});
  co_return hold;
}
// [/right]

// What the lock protects: two rates, of the same day.
awaitable<void> set_rates(plain_redis& bank, std::string day) {
  co_await bank.command("HSET", rates, "EUR", day, "USD", day);
}

int verdict(const std::string& eur, const std::string& usd) {
  say("Alice has read the rate of the euro of {} and that of the dollar of {}.", eur, usd);
  if (eur != usd) return broken("a writer got in while Alice was reading");
  return kept("nobody writes while somebody reads");
}

awaitable<int> wrong(std::string url) {
  const auto executor = co_await asio::this_coro::executor;
  plain_redis alice(executor, url), bob(executor, url), carol(executor, url);
  co_await set_rates(carol, "Monday");

  co_await wrong_lock_shared(alice, "alice");
  const std::string eur = co_await alice.command("HGET", rates, "EUR");
  say("Alice has the read lock, and reads the euro.");
  co_await wrong_lock_shared(bob, "bob");
  co_await wrong_unlock_shared(bob, "bob");
  say("Bob has the read lock beside her, and releases it.");
  const bool carol_writes = co_await wrong_lock(carol, "carol");
  say("Carol tries to get the write lock: {}.", carol_writes ? "she has it, and writes" : "it is locked");
  if (carol_writes) co_await set_rates(carol, "Tuesday");
  const std::string usd = co_await alice.command("HGET", rates, "USD");
  co_return verdict(eur, usd);
}

awaitable<int> right(std::string url) {
  const auto executor = co_await asio::this_coro::executor;
  leasehold::client alice(executor, url), bob(executor, url), carol(executor, url);
  plain_redis bank(executor, url);
  co_await set_rates(bank, "Monday");

  leasehold::hold alice_reads = co_await right_lock_shared(alice);
  const std::string eur = co_await bank.command("HGET", rates, "EUR");
  say("Alice has the read lock, and reads the euro.");
  leasehold::hold bob_reads = co_await right_lock_shared(bob);
  co_await bob_reads.release();
  say("Bob has the read lock beside her, and releases it.");
  std::optional<leasehold::hold> carol_writes = co_await right_try_lock(carol);
  say("Carol tries to get the write lock: {}.", carol_writes ? "she has it, and writes" : "it is locked");
  if (carol_writes) co_await set_rates(bank, "Tuesday");
  const std::string usd = co_await bank.command("HGET", rates, "USD");
  co_await alice_reads.release();

  if (!carol_writes) carol_writes = co_await right_try_lock(carol);
  say("Alice has released it. Carol tries again: {}.", carol_writes ? "she has it" : "it is locked");
  if (carol_writes) co_await carol_writes->release();
  co_await bank.command("DEL", rates);
  co_return verdict(eur, usd);
}

}  // namespace

int main(int argc, char** argv) { return wrong_ways::play(argc, argv, {lock_name, rates}, wrong, right); }
