// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Two keys in one script, or in one transaction: both locks or none, on one Redis. A Redis Cluster refuses it as soon
// as the keys are in different slots. Needs a cluster: --redis redis+cluster://HOST:PORT,...

#include "story.hpp"

namespace {

using namespace wrong_ways;

const std::string from = "wrong_ways:account:17";
const std::string to = "wrong_ways:account:4";

// [wrong]
awaitable<bool> wrong_acquire_by_script(plain_redis& redis, std::string token) {
  constexpr auto script = R"(
    if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then return 0 end
    redis.call('SET', KEYS[1], ARGV[1], 'PX', 30000)
    redis.call('SET', KEYS[2], ARGV[1], 'PX', 30000)
    return 1)";
  co_return co_await redis.command("EVAL", script, "2", from, to, token) == "1";
}

awaitable<bool> wrong_acquire_by_transaction(plain_redis& redis, std::string token) {
  co_await redis.command("MULTI");
  co_await redis.command("MSETNX", from, token, to, token);
  co_await redis.command("PEXPIRE", from, "30000");
  co_await redis.command("PEXPIRE", to, "30000");
  co_return co_await redis.command("EXEC") == "1 1 1";
}
// [/wrong]

// [right]
awaitable<leasehold::holds<2>> right_acquire(leasehold::client redis) {
  leasehold::mutex payer(redis, from);
  leasehold::mutex payee(redis, to);
  leasehold::holds<2> both = co_await leasehold::acquire_all({.lease = 30s, .wait = 30s}, payer, payee);
  co_return both;
}
// [/right]

using attempt = awaitable<bool> (*)(plain_redis&, std::string);

awaitable<bool> tells_what_redis_says(plain_redis& redis, const char* what, attempt acquire) {
  bool acquired = false;
  std::string answer;
  try {
    acquired = co_await acquire(redis, "alice");
    answer = acquired ? "she has both" : "one of them is locked";
  } catch (const support::redis_error& e) {
    answer = e.what();
  }
  say("Alice tries {}: {}.", what, answer);
  co_return acquired;
}

awaitable<int> wrong(std::string url) {
  const auto executor = co_await asio::this_coro::executor;
  plain_redis alice(executor, url);
  const std::string payer = co_await alice.command("CLUSTER", "KEYSLOT", from);
  const std::string payee = co_await alice.command("CLUSTER", "KEYSLOT", to);
  say("A transfer needs two locks. {} is in slot {}, {} in slot {}.", from, payer, to, payee);
  const bool by_script = co_await tells_what_redis_says(alice, "a script over both", wrong_acquire_by_script);
  plain_redis again(executor, url);
  const bool by_transaction = co_await tells_what_redis_says(again, "MULTI", wrong_acquire_by_transaction);
  if (!by_script && !by_transaction) co_return broken("nobody has the locks, and nobody can ever acquire both");
  co_return kept("Alice has both locks");
}

awaitable<int> right(std::string url) {
  const auto executor = co_await asio::this_coro::executor;
  leasehold::client alice(executor, url), bob(executor, url);
  leasehold::holds<2> both = co_await right_acquire(alice);
  say("Alice has {} with fence {}, and {} with fence {}.", both[0].name(), both[0].fence(), both[1].name(),
      both[1].fence());
  const bool bob_has_one = (co_await leasehold::mutex(bob, from).try_acquire()).has_value() ||
                           (co_await leasehold::mutex(bob, to).try_acquire()).has_value();
  say("Bob tries the one and the other: {}.", bob_has_one ? "Bob has one" : "both are locked");
  const bool broke = bob_has_one || !both.valid();
  co_await both.release();
  if (broke) co_return broken("two have the locks");
  co_return kept("both locks or none, wherever their names are");
}

}  // namespace

int main(int argc, char** argv) { return wrong_ways::play(argc, argv, {}, wrong, right); }
