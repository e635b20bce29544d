// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// coming_from [URL]...: the code of docs/coming-from.md, run from top to bottom. Several URLs make a quorum.

#include <leasehold/leasehold.hpp>

#include <boost/asio.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> write_report(leasehold::hold& held) {
  asio::steady_timer work(co_await asio::this_coro::executor, 20ms);
  co_await work.async_wait();
  std::cout << held.name() << " is written" << std::endl;
}

// [redis_py]
asio::awaitable<void> report(leasehold::client redis) {
  leasehold::mutex lock(redis, "report");
  try {
    co_await leasehold::with_lock(lock, {.lease = 10s, .wait = 2s}, write_report);
  } catch (const leasehold::system_error& e) {
    if (e.code() != leasehold::error::timed_out) throw;
    std::cout << "another client holds it" << std::endl;
  }
}
// [/redis_py]

// [redisson]
asio::awaitable<void> order(leasehold::client redis, std::string request_id) {
  leasehold::recursive_mutex lock(redis, "order:4711", request_id);
  leasehold::hold outer = co_await lock.acquire();  // lock(): renewed as long as it is held.
  // tryLock(100, 10, SECONDS): at most 100 s of waiting, and a lease of 10 s that nobody renews.
  leasehold::hold inner = co_await lock.acquire({.lease = 10s, .wait = 100s, .renew = leasehold::renewal::none});
  std::cout << "in " << inner.depth() << " times, fence " << inner.fence() << std::endl;
  co_await inner.release();
  co_await outer.release();
}
// [/redisson]

// [redlock]
asio::awaitable<void> move_money() {
  asio::steady_timer work(co_await asio::this_coro::executor, 20ms);
  co_await work.async_wait();
  std::cout << "moved" << std::endl;
}

asio::awaitable<void> transfer(leasehold::client redis) {
  leasehold::mutex from(redis, "account:17");
  leasehold::mutex to(redis, "account:4");
  auto [payer, payee] = co_await leasehold::acquire_all({.lease = 5s, .wait = 3s}, from, to);
  // The loss of either lock cancels the work.
  co_await leasehold::while_held(payer, leasehold::while_held(payee, move_money()));
}
// [/redlock]

// [quorum]
leasehold::client connect(asio::io_context& context, const std::vector<std::string>& urls) {
  return leasehold::client(context, urls);  // Two or more: a lock is held while a majority of them holds it.
}
// [/quorum]

// [redis_plus_plus]
asio::awaitable<void> guarded(leasehold::client redis) {
  leasehold::mutex lock(redis, "resource");
  leasehold::hold held = co_await lock.acquire({.lease = 3s});
  std::cout << "fence " << held.fence() << std::endl;
}  // Released here, in the background.
// [/redis_plus_plus]

// [redsync]
asio::awaitable<void> by_hand(leasehold::client redis) {
  leasehold::mutex lock(redis, "my-global-mutex");
  leasehold::hold held = co_await lock.acquire({.lease = 8s, .wait = 16s, .renew = leasehold::renewal::none});
  co_await held.extend(8s);
  auto [failure] = co_await held.release(asio::as_tuple(asio::use_awaitable));
  if (failure == leasehold::error::lost) std::cout << "it was already lost" << std::endl;
}
// [/redsync]

asio::awaitable<void> serve(leasehold::hold& held) {
  asio::steady_timer work(co_await asio::this_coro::executor, 20ms);
  co_await work.async_wait();
  std::cout << held.name() << " has served" << std::endl;
}

// [margin]
asio::awaitable<void> lead(leasehold::client redis) {
  leasehold::mutex lock(redis, "leader");
  // If renewals fail, serve is cancelled 15 s before the lease ends.
  co_await leasehold::with_lock(lock, {.lease = 45s, .margin = 15s}, serve);
}
// [/margin]

asio::awaitable<void> schedule(std::uint64_t term) {
  std::cout << "schedules in term " << term << std::endl;
  co_return;
}

// [election]
asio::awaitable<void> lead_in_turn(leasehold::client redis) {
  leasehold::election election(redis, "scheduler");
  leasehold::leadership led = co_await election.campaign("10.0.0.7:8000", {.lease = 15s});
  co_await leasehold::while_held(led.hold(), schedule(led.term()));
  co_await led.resign();
}
// [/election]

asio::awaitable<void> all(leasehold::client redis, bool is_quorum) {
  const std::string request = "request 9f86";
  co_await report(redis);
  co_await order(redis, request);
  co_await transfer(redis);
  co_await guarded(redis);
  co_await by_hand(redis);
  co_await lead(redis);
  if (!is_quorum) co_await lead_in_turn(redis);
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> urls(argv + 1, argv + argc);
  const char* given = std::getenv("LEASEHOLD_REDIS");
  if (urls.empty()) urls.emplace_back(given ? given : "redis://127.0.0.1:6379");
  asio::io_context context;
  asio::co_spawn(context, all(connect(context, urls), urls.size() > 1), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  context.run();
} catch (const std::exception& e) {
  std::cerr << "coming_from: " << e.what() << std::endl;
  return 1;
}
