// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a minority that is down costs: a quorum of five servers beside one of five of which two are down.
#include "bench.hpp"

#include "support/redis_server.hpp"

#include <leasehold/leasehold.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <fmt/format.h>

#include <array>
#include <exception>
#include <string>
#include <vector>

namespace leasehold::bench {
namespace {

using five = std::array<test::redis_server, 5>;

std::vector<std::string> urls(const five& servers) {
  std::vector<std::string> found;
  for (const auto& s : servers) found.push_back(s.tcp_url());
  return found;
}

asio::awaitable<void> acquire_again_and_again(client c, seconds time, std::vector<double>& took) {
  using steady = std::chrono::steady_clock;
  mutex lock(c, "n");
  co_await c.ready();
  const auto end = steady::now() + std::chrono::duration_cast<steady::duration>(time);
  do {
    const auto start = steady::now();
    hold h = co_await lock.acquire();
    took.push_back(std::chrono::duration<double, std::micro>(steady::now() - start).count());
    co_await h.release();
  } while (steady::now() < end);
  co_await c.close();
}

// The median time of an acquire, in microseconds.
double acquire_time(const five& servers, seconds time) {
  asio::io_context context(1);
  std::vector<double> took;
  asio::co_spawn(context, acquire_again_and_again(client(context, urls(servers)), time, took),
                 [](std::exception_ptr e) {
                   if (e) std::rethrow_exception(e);
                 });
  context.run();
  return median(std::move(took));
}

}  // namespace

void quorum(const settings& s, report& out) {
  out.section("quorum", "acquire of a free lock on a quorum of five servers, all of them up or two of them down; us");
  five all;
  five some;
  some[1].kill();
  some[3].kill();
  std::vector<double> up, down, ratio;
  for (int round = 0; round < s.rounds; ++round) {
    up.push_back(acquire_time(all, s.time));
    down.push_back(acquire_time(some, s.time));
    ratio.push_back(down.back() / up.back());
  }
  out.figure("all up, median", median(up), "us");
  out.figure("two down, median", median(down), "us");
  out.figure("two down / all up", median(ratio), "", at_most(1.3));
  plot picture("Acquire of a free lock on a quorum of five servers");
  picture.bars("us", {{"all up", median(up)}, {"two down", median(down)}});
  out.draw(picture);
}

}  // namespace leasehold::bench
