// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// quickstart [URL]: one lock, from nothing to released. README.md shows what stands between the two marks.
#include <leasehold/leasehold.hpp>

#include <boost/asio.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// [lock]
asio::awaitable<void> write_report(leasehold::client redis) {
  leasehold::mutex lock(redis, "report:nightly");
  auto write = [](leasehold::hold& hold) -> asio::awaitable<void> {
    asio::steady_timer work(co_await asio::this_coro::executor, 500ms);
    co_await work.async_wait();  // Cancelled if the lock is lost.
    std::cout << "written with fence " << hold.fence() << std::endl;
  };
  co_await leasehold::with_lock(lock, {.lease = 10s, .wait = 2s}, write);
}
// [/lock]

int main(int argc, char** argv) try {
  const char* url = argc > 1 ? argv[1] : std::getenv("LEASEHOLD_REDIS");
  asio::io_context context;
  leasehold::client redis(context, url ? url : "redis://127.0.0.1:6379");
  asio::co_spawn(context, write_report(std::move(redis)), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  context.run();  // Until the last lock is released.
} catch (const std::exception& e) {
  // "invalid url: ...", or "timed out: lock 'report:nightly' at ...": another program held the lock for two seconds.
  std::cerr << e.what() << std::endl;
  return 1;
}
