// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "workers.hpp"

#include <leasehold/leasehold.hpp>

#include <boost/asio/co_spawn.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace leasehold::bench {
namespace {

struct leasehold_lock {
  mutex lock;
  hold held;

  asio::awaitable<steady::time_point> acquire() {
    held = co_await lock.acquire();
    co_return steady::now();
  }
  asio::awaitable<void> release() { co_await held.release(); }
};

asio::awaitable<void> work(asio::io_context& context, std::string url, std::string name, pace p) {
  const stop_signal stop(context);
  client c(context, url);
  leasehold_lock lock{mutex(c, name), {}};
  const auto tenures = co_await contend(lock, p, stop);
  const statistics stats = c.stats();
  tell(stats.commands, stats.lost, tenures);
  co_await c.close();
}

// Arguments: URL, name, microseconds of the hold and of the pause.
const test::child_program worker("worker", [](const std::vector<std::string>& arguments) {
  asio::io_context context(1);
  const pace p{std::chrono::microseconds(std::stol(arguments.at(2))),
               std::chrono::microseconds(std::stol(arguments.at(3)))};
  asio::co_spawn(context, work(context, arguments.at(0), arguments.at(1), p), [](std::exception_ptr e) {
    if (e) std::rethrow_exception(e);
  });
  context.run();
  return 0;
});

}  // namespace

std::vector<std::string> leasehold_worker(const std::string& url, const std::string& name, pace p) {
  return worker.command({url, name, std::to_string(p.hold.count()), std::to_string(p.pause.count())});
}

std::vector<double> hand_offs(const std::vector<tenure>& all) {
  constexpr auto sure_to_wait = 1ms;
  std::vector<double> result;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const tenure &before = all[i - 1], &next = all[i];
    if (before.worker == next.worker || next.asked + sure_to_wait > before.released) continue;
    result.push_back(std::chrono::duration<double, std::micro>(next.begun - before.released).count());
  }
  return result;
}

void tell(std::uint64_t commands, std::uint64_t lost, const std::vector<tenure>& tenures) {
  fmt::print("{} {}\n", commands, lost);
  for (const tenure& t : tenures) {
    fmt::print("{} {} {}\n", t.asked.time_since_epoch().count(), t.begun.time_since_epoch().count(),
               t.released.time_since_epoch().count());
  }
  std::fflush(stdout);
}

workers::account workers::finish() {
  for (const auto& w : all_) w->signal(SIGTERM);
  account result;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    std::istringstream words(all_[i]->read_rest());
    if (all_[i]->wait() != 0) throw std::runtime_error("a worker failed: " + all_[i]->errors());
    std::uint64_t commands = 0, lost = 0;
    words >> commands >> lost;
    result.commands += commands;
    result.lost += lost;
    steady::rep asked, begun, released;
    while (words >> asked >> begun >> released) {
      const auto at = [](steady::rep n) { return steady::time_point(steady::duration(n)); };
      result.tenures.push_back({at(asked), at(begun), at(released), i});
    }
  }
  std::sort(result.tenures.begin(), result.tenures.end(),
            [](const tenure& a, const tenure& b) { return a.begun < b.begun; });
  return result;
}

contest run_contest(test::redis_server& server, std::size_t count, pace p, seconds time) {
  const std::string name = "contest";
  // Nobody begins before all wait in the queue. (lua/shared/queue.lua)
  server.command("SET", name, "gate");
  workers all;
  for (std::size_t i = 0; i < count; ++i) all.start(leasehold_worker(server.tcp_url(), name, p));
  const auto waiting = static_cast<std::int64_t>(count);
  test::wait_until("all workers wait in the queue",
                   [&] { return server.command("ZCARD", "leasehold:{0}:queue:" + name).integer == waiting; });
  const auto before = server.calls("evalsha");
  server.command("DEL", name);
  // The first in the queue finds that at its next poll, well within a second.
  std::this_thread::sleep_for(time + 1s);
  const auto scripts = server.calls("evalsha") - before;
  const auto end = steady::now();

  workers::account account = all.finish();
  auto& tenures = account.tenures;
  if (tenures.empty()) throw std::runtime_error("no worker was ever served");
  const auto from = [&](steady::time_point t) {
    return std::find_if(tenures.begin(), tenures.end(), [t](const tenure& one) { return one.begun >= t; });
  };
  contest result;
  result.lost = account.lost;
  result.sent = static_cast<double>(account.commands) / static_cast<double>(tenures.size());
  result.run = static_cast<double>(scripts) / static_cast<double>(from(end) - tenures.begin());
  tenures.erase(from(tenures.front().begun + std::chrono::duration_cast<steady::duration>(time)), tenures.end());
  result.tenures = std::move(tenures);
  return result;
}

}  // namespace leasehold::bench
