// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What waiting and holding cost: scripts, processor time, memory.
#include "keeper.hpp"
#include "measures.hpp"
#include "workers.hpp"

#include <leasehold/leasehold.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <sstream>
#include <stdexcept>

namespace leasehold::bench {
namespace {

// Waiters in a process of their own, all of them callbacks: what a coroutine's frame takes is up to the program.
struct crowd {
  std::size_t clients;
  std::size_t names;
  std::size_t each;  // waiters of each client on each name
};

std::string name_of(std::size_t i) { return fmt::format("cost:{}", i); }

asio::awaitable<void> pause(std::chrono::nanoseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(asio::deferred);
}

asio::awaitable<void> crowd_in(std::string url, crowd how, seconds time) {
  std::vector<client> clients;
  for (std::size_t i = 0; i < how.clients; ++i) {
    clients.emplace_back(co_await asio::this_coro::executor, url);
    co_await clients.back().ready();
    // The first lock has what is allocated once.
    const mutex first(clients.back(), "cost:first");
    hold h = co_await first.acquire();
    co_await h.release();
  }
  const double bytes = bytes_allocated(), resident = bytes_resident();
  // They wait in the queue in this order. They do not come all at once: the buffers of that would count as theirs.
  std::size_t come = 0;
  for (const client& c : clients) {
    for (std::size_t name = 0; name < how.names; ++name) {
      const mutex lock(c, name_of(name));
      for (std::size_t i = 0; i < how.each; ++i) {
        lock.acquire([](error_code, hold) {});
        if (++come % 100 == 0) co_await pause(5ms);
      }
    }
    co_await pause(50ms);
  }
  co_await pause(500ms);
  const auto waiters = static_cast<double>(how.clients * how.names * how.each);
  fmt::print("{} {} ", (bytes_allocated() - bytes) / waiters, (bytes_resident() - resident) / waiters);

  std::vector<std::uint64_t> before;
  for (const client& c : clients) before.push_back(c.stats().commands);
  const double cpu = cpu_seconds();
  co_await pause(std::chrono::duration_cast<std::chrono::nanoseconds>(time));
  fmt::print("{}", (cpu_seconds() - cpu) / waiters / time.count());
  std::size_t waiting = 0;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const statistics stats = clients[i].stats();
    fmt::print(" {}", static_cast<double>(stats.commands - before[i]) / time.count() /
                          static_cast<double>(how.names * how.each));
    waiting += stats.waiting;
  }
  fmt::print(" {}\n", waiting);
  std::fflush(stdout);
  for (const client& c : clients) co_await c.close();
}

// Arguments: URL, clients, names, waiters of each client on each name, seconds.
const test::child_program waiter("waiter", [](const std::vector<std::string>& arguments) {
  asio::io_context context(1);
  const crowd how{std::stoul(arguments.at(1)), std::stoul(arguments.at(2)), std::stoul(arguments.at(3))};
  asio::co_spawn(context, crowd_in(arguments.at(0), how, seconds(std::stod(arguments.at(4)))),
                 [](std::exception_ptr e) {
                   if (e) std::rethrow_exception(e);
                 });
  context.run();
  return 0;
});

struct crowd_cost {
  double bytes = 0;  // for each waiter
  double resident = 0;
  double cpu = 0;                // seconds for each second that one waits
  std::vector<double> commands;  // per second for each waiter, by client
};

crowd_cost measure(test::redis_server& server, crowd how, seconds time, report& out) {
  for (std::size_t i = 0; i < how.names; ++i) server.command("SET", name_of(i), "somebody");
  test::child process(waiter.command({server.tcp_url(), std::to_string(how.clients), std::to_string(how.names),
                                      std::to_string(how.each), std::to_string(time.count())}));
  std::istringstream words(process.read_rest());
  if (process.wait() != 0) throw std::runtime_error("the waiting process failed: " + process.errors());
  crowd_cost result;
  words >> result.bytes >> result.resident >> result.cpu;
  result.commands.resize(how.clients);
  for (double& c : result.commands) words >> c;
  std::size_t waiting = 0;
  words >> waiting;
  out.expect(waiting == how.clients * how.names * how.each, "everybody still waits");
  return result;
}

}  // namespace

void cost(const settings& s, report& out) {
  out.section("cost", "what waiting and holding cost");
  test::redis_server server;
  constexpr std::size_t contenders = 8;
  const contest c = run_contest(server, contenders, {10ms, 0us}, s.contest / 4);
  out.expect(c.lost == 0, "no hold is lost");
  const crowd_cost queue = measure(server, {10, 1, 1}, s.waiting, out);
  const crowd_cost local = measure(server, {1, 1, s.local_waiters}, s.waiting / 4, out);
  const crowd_cost many = measure(server, {1, s.names, 1}, s.waiting / 4, out);
  server.command("FLUSHALL");
  const kept held = keep(server, s.holds, s.lease, s.waiting / 100);

  out.line(fmt::format("{} processes on one name, 10 ms of work:", contenders));
  out.figure("  scripts per contended acquisition, by the clients", c.sent);
  out.figure("  scripts per contended acquisition, by the server", c.run);
  out.line("10 clients in the queue behind a lock that stays busy:");
  out.figure("  commands of the first", queue.commands[0], "/s");
  out.figure("  commands of the second", queue.commands[1], "/s");
  out.figure("  commands of the tenth", queue.commands[9], "/s");
  out.figure("  processor time of a client per second of waiting", queue.cpu * 1e6, "us");
  const auto row = [&](const std::string& what, const crowd_cost& w, const char* unit) {
    out.line(what + ":");
    out.figure(fmt::format("  commands of {}", unit), w.commands[0], "/s");
    out.figure("  processor time of one per second of waiting", w.cpu * 1e6, "us");
    out.figure("  memory of one: allocated", w.bytes, "bytes", at_most(2048));
    out.figure("  memory of one: resident set", w.resident, "bytes");
  };
  row(fmt::format("{} waiters of one client on one name", s.local_waiters), local, "one");
  row(fmt::format("{} waiters of one client on {} names", s.names, s.names), many, "one");
  out.line(fmt::format("{} holds of one client:", s.holds));
  out.figure("  memory of one: allocated", held.bytes, "bytes", at_most(2048));
  out.figure("  memory of one: resident set", held.resident, "bytes");

  plot picture("What waiting and holding cost");
  picture.bars("bytes allocated",
               {{fmt::format("waiter, {} on one name", s.local_waiters), local.bytes},
                {fmt::format("waiter, {} on {} names", s.names, s.names), many.bytes},
                {fmt::format("hold, one of {}", s.holds), held.bytes}},
               2048);
  picture.bars(
      "commands per second of a waiter",
      {{"first in the queue", queue.commands[0]}, {"second", queue.commands[1]}, {"tenth", queue.commands[9]}});
  picture.bars("scripts per contended acquisition", {{"sent by clients", c.sent}, {"run by the server", c.run}});
  out.draw(picture);
}

}  // namespace leasehold::bench
