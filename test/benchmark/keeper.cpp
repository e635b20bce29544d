// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "keeper.hpp"

#include "measures.hpp"

#include "support/child.hpp"

#include <leasehold/leasehold.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>

namespace leasehold::bench {
namespace {

// So many requests at once that round trips do not count, and so few that buffers do not grow.
constexpr std::size_t at_once = 100;

asio::awaitable<void> take(client c, std::vector<hold>& all, std::size_t i, acquire_options options) {
  for (; i < all.size(); i += at_once) {
    const mutex lock(c, fmt::format("hold:{}", i));
    all[i] = co_await lock.acquire(options);
  }
}

asio::awaitable<void> release_one(std::vector<hold>& all, std::size_t i) {
  for (; i < all.size(); i += at_once) co_await all[i].release();
}

// Runs part(0) to part(at_once - 1) at once.
template <class Part>
asio::awaitable<void> in_parts(Part& part) {
  auto executor = co_await asio::this_coro::executor;
  using operation = decltype(asio::co_spawn(executor, part(0), asio::deferred));
  std::vector<operation> parts;
  for (std::size_t i = 0; i < at_once; ++i) parts.push_back(asio::co_spawn(executor, part(i), asio::deferred));
  auto group = asio::experimental::make_parallel_group(std::move(parts));
  auto [order, failures] = co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
  for (const std::exception_ptr& e : failures) {
    if (e) std::rethrow_exception(e);
  }
}

asio::awaitable<void> keep_holds(std::string url, std::size_t count, std::chrono::milliseconds lease, seconds time) {
  client c(co_await asio::this_coro::executor, url);
  std::vector<hold> all(count);
  {
    // What is allocated once, for the connection and its buffers, is not what a hold costs.
    std::vector<hold> warm(at_once);
    auto warm_up = [&](std::size_t i) { return take(c, warm, i, {}); };
    co_await in_parts(warm_up);
    auto cool_down = [&](std::size_t i) { return release_one(warm, i); };
    co_await in_parts(cool_down);
  }
  const double bytes = bytes_allocated(), resident = bytes_resident();
  const acquire_options options{.lease = lease};
  auto acquire = [&](std::size_t i) { return take(c, all, i, options); };
  co_await in_parts(acquire);
  const auto n = static_cast<double>(count);
  fmt::print("{} {}\n", (bytes_allocated() - bytes) / n, (bytes_resident() - resident) / n);
  std::fflush(stdout);

  const double cpu = cpu_seconds();
  const auto renewed = c.stats().renewed;
  asio::steady_timer timer(co_await asio::this_coro::executor,
                           std::chrono::duration_cast<std::chrono::nanoseconds>(time));
  co_await timer.async_wait(asio::deferred);
  const statistics stats = c.stats();
  const std::uint64_t lost = count - stats.held;
  fmt::print("{} {} {}\n", (cpu_seconds() - cpu) / time.count(),
             static_cast<double>(stats.renewed - renewed) / time.count(), lost);
  std::fflush(stdout);

  auto release = [&](std::size_t i) { return release_one(all, i); };
  if (lost == 0) co_await in_parts(release);
  co_await c.close();
}

// Arguments: URL, number of holds, milliseconds of the lease, seconds.
const test::child_program keeper("keeper", [](const std::vector<std::string>& arguments) {
  asio::io_context context(1);
  const std::chrono::milliseconds lease(std::stol(arguments.at(2)));
  asio::co_spawn(context,
                 keep_holds(arguments.at(0), std::stoul(arguments.at(1)), lease, seconds(std::stod(arguments.at(3)))),
                 [](std::exception_ptr e) {
                   if (e) std::rethrow_exception(e);
                 });
  context.run();
  return 0;
});

double cpu_of(test::redis_server& server) {
  const std::string text = server.command("INFO", "cpu").text;
  const auto field = [&](const std::string& name) { return std::stod(text.substr(text.find(name) + name.size())); };
  return field("used_cpu_user:") + field("used_cpu_sys:");
}

std::istringstream next_line(test::child& process) {
  auto line = process.read_line();
  if (!line) throw std::runtime_error("the process with the holds failed: " + process.errors());
  return std::istringstream(*line);
}

}  // namespace

kept keep(test::redis_server& server, std::size_t holds, std::chrono::milliseconds lease, seconds time) {
  test::child process(keeper.command(
      {server.tcp_url(), std::to_string(holds), std::to_string(lease.count()), std::to_string(time.count())}));
  kept k;
  next_line(process) >> k.bytes >> k.resident;
  const double cpu = cpu_of(server);
  const auto begin = std::chrono::steady_clock::now();
  next_line(process) >> k.client_cpu >> k.renewals >> k.lost;
  const seconds took = std::chrono::steady_clock::now() - begin;
  k.server_cpu = (cpu_of(server) - cpu) / took.count();
  if (process.wait() != 0) throw std::runtime_error("the process with the holds failed: " + process.errors());
  k.left_behind = static_cast<std::int64_t>(server.size());
  return k;
}

}  // namespace leasehold::bench
