// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Coroutines that acquire and release as fast as they can, on one io_context and one thread.
#pragma once

#include "bench.hpp"

#include <leasehold/leasehold.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace leasehold::bench {

struct race_state {
  std::chrono::steady_clock::time_point end;
  std::uint64_t acquired = 0;
  std::size_t running = 0;
};

template <class Lock>
asio::awaitable<void> compete(race_state& r, Lock lock, const std::vector<client>& all) {
  while (std::chrono::steady_clock::now() < r.end) {
    hold h = co_await lock.acquire();
    ++r.acquired;
    co_await h.release();
  }
  if (--r.running != 0) co_return;
  for (const client& c : all) co_await c.close();
}

// A client for each URL, of which the coroutines take turns. make(client, i) -> the lock of coroutine i. The result is
// acquisitions per second.
template <class Make>
double race(const std::vector<std::string>& urls, std::size_t coroutines, seconds time, report& out, Make make) {
  asio::io_context context(1);
  std::vector<client> clients;
  for (const auto& url : urls) {
    clients.emplace_back(context, url).ready([&](error_code ec) {
      if (ec) throw system_error(ec);
      context.stop();
    });
    context.run();
    context.restart();
  }
  race_state r;
  r.running = coroutines;
  const auto begin = std::chrono::steady_clock::now();
  r.end = begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(time);
  for (std::size_t i = 0; i < coroutines; ++i) {
    asio::co_spawn(context, compete(r, make(clients[i % clients.size()], i), clients), [](std::exception_ptr e) {
      if (e) std::rethrow_exception(e);
    });
  }
  context.run();
  const seconds took = std::chrono::steady_clock::now() - begin;
  for (const client& c : clients) out.expect(c.stats().lost == 0, "no hold is lost");
  out.expect(r.acquired >= coroutines, "every coroutine is served");
  return static_cast<double>(r.acquired) / took.count();
}

}  // namespace leasehold::bench
