// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a lock costs, beside what it could cost at the least. The loops that are compared each run `n` coroutines on one
// io_context and one thread; each coroutine acquires and releases a lock of its own, again and again.
#include "bare_script.hpp"
#include "bench.hpp"

#include "support/redis_server.hpp"

#include <leasehold/leasehold.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/redis/connection.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::bench {
namespace {

namespace asio = boost::asio;
namespace redis = boost::redis;
using steady = std::chrono::steady_clock;

struct target {
  unsigned short port;
  seconds time;
};

// What the coroutines share: counts pairs until the time is over.
struct stopwatch {
  explicit stopwatch(const target& t)
      : start(steady::now()), end(start + std::chrono::duration_cast<steady::duration>(t.time)) {}

  bool running() {
    ++pairs;
    // The clock is looked at now and then: it is not what is measured.
    if (pairs % 16 == 0) over = steady::now() >= end;
    return !over;
  }
  double rate() const {
    return static_cast<double>(pairs) / std::chrono::duration<double>(steady::now() - start).count();
  }

  steady::time_point start;
  steady::time_point end;
  std::uint64_t pairs = 0;
  bool over = false;
};

asio::awaitable<void> leasehold_loop(mutex lock, stopwatch& watch, std::size_t& running, client c) {
  do {
    hold h = co_await lock.acquire();
    co_await h.release();
  } while (watch.running());
  if (--running == 0) co_await c.close();
}

// Both requests are written once: the loop does nothing but send them and wait for their answers.
asio::awaitable<void> request_loop(redis::connection& connection, const redis::request& acquire,
                                   const redis::request& release, stopwatch& watch, std::size_t& running) {
  do {
    co_await connection.async_exec(acquire, redis::ignore, asio::deferred);
    co_await connection.async_exec(release, redis::ignore, asio::deferred);
  } while (watch.running());
  if (--running == 0) connection.cancel();
}

asio::awaitable<void> load(redis::connection& connection, const redis::request& request) {
  co_await connection.async_exec(request, redis::ignore, asio::deferred);
}

void rethrow(std::exception_ptr e) {
  if (e) std::rethrow_exception(e);
}

struct requests {
  redis::request acquire;
  redis::request release;
};

double run_requests(const target& t, const redis::request& preparation, std::vector<requests>& all) {
  asio::io_context context(1);
  redis::connection connection(context, redis::logger(redis::logger::level::emerg));
  redis::config config;
  config.addr.port = std::to_string(t.port);
  connection.async_run(config, asio::detached);
  asio::co_spawn(context, load(connection, preparation), [&](std::exception_ptr e) {
    rethrow(e);
    context.stop();
  });
  context.run();
  context.restart();
  stopwatch watch(t);
  std::size_t running = all.size();
  for (auto& r : all) {
    asio::co_spawn(context, request_loop(connection, r.acquire, r.release, watch, running), rethrow);
  }
  context.run();
  return watch.rate();
}

double leasehold_pairs(const target& t, std::size_t coroutines, const client_options& options = {}) {
  asio::io_context context(1);
  client c(context, fmt::format("redis://127.0.0.1:{}", t.port), options);
  c.ready([&](error_code ec) {
    if (ec) throw system_error(ec);
    context.stop();
  });
  context.run();
  context.restart();
  stopwatch watch(t);
  std::size_t running = coroutines;
  for (std::size_t i = 0; i < coroutines; ++i) {
    asio::co_spawn(context, leasehold_loop(mutex(c, fmt::format("bench:{}", i)), watch, running, c), rethrow);
  }
  context.run();
  return watch.rate();
}

double bare_pairs(const target& t, std::size_t coroutines) {
  redis::request preparation;
  push_load(preparation);
  std::vector<requests> all(coroutines);
  for (std::size_t i = 0; i < coroutines; ++i) {
    const std::string key = fmt::format("bench:{}", i);
    const std::string token = fmt::format("0123456789abcdef0123456789abcdef.{}", i);
    push_acquire(all[i].acquire, key, token, "123456789012345");
    push_release(all[i].release, key, token);
  }
  return run_requests(t, preparation, all);
}

double plain_pairs(const target& t, std::size_t coroutines) {
  constexpr std::string_view compare_and_delete =
      "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";
  redis::request preparation;
  preparation.push("SCRIPT", "LOAD", compare_and_delete);
  std::vector<requests> all(coroutines);
  for (std::size_t i = 0; i < coroutines; ++i) {
    const std::string key = fmt::format("bench:{}", i);
    const std::string token = fmt::format("0123456789abcdef0123456789abcdef.{}", i);
    all[i].acquire.push("SET", key, token, "NX", "PX", "30000");
    // SHA-1 of the script above.
    all[i].release.push("EVALSHA", "ae3671744a5dbb24ea37ef607b8b10ac7856d43e", "1", key, token);
  }
  return run_requests(t, preparation, all);
}

client_options classified() {
  client_options o;
  o.classify = [](std::string_view name) { return std::string(name.substr(0, name.find(':'))); };
  return o;
}

}  // namespace

// What figures for each class of locks cost: the same locks with client_options::classify and without it, in turn.
void classes(const settings& s, report& out) {
  out.section("classes", "acquire + release of free locks, with figures for each class and without; pairs per second");
  const test::redis_server server;
  const target where{server.port(), s.time};
  out.line(fmt::format("{:>10}  {:>12}  {:>12}  {:>18}", "coroutines", "without", "classify", "classify / without"));
  for (const std::size_t n : s.coroutines) {
    std::vector<double> without, with, ratio;
    for (int round = 0; round < s.rounds; ++round) {
      without.push_back(leasehold_pairs(where, n));
      with.push_back(leasehold_pairs(where, n, classified()));
      ratio.push_back(with.back() / without.back());
    }
    out.line(fmt::format("{:>10}  {:>12.0f}  {:>12.0f}  {:>18.3f}", n, median(without), median(with), median(ratio)));
  }
}

// Ratios are taken round by round, so that a machine whose speed drifts does not decide.
void pairs(const settings& s, report& out) {
  out.section("pairs", "acquire + release of free locks, one name for each coroutine; pairs per second");
  const test::redis_server server;
  const target where{server.port(), s.time};
  out.line(fmt::format("{:>10}  {:>12}  {:>12}  {:>12}  {:>18}  {:>18}", "coroutines", "leasehold", "bare scripts",
                       "SET NX + CAD", "leasehold / bare", "leasehold / SET NX"));
  plot picture("Acquire and release of free locks: pairs per second");
  for (const std::size_t n : s.coroutines) {
    std::vector<double> ours, bare, plain, to_bare, to_plain;
    for (int round = 0; round < s.rounds; ++round) {
      ours.push_back(leasehold_pairs(where, n));
      bare.push_back(bare_pairs(where, n));
      plain.push_back(plain_pairs(where, n));
      to_bare.push_back(ours.back() / bare.back());
      to_plain.push_back(ours.back() / plain.back());
    }
    out.line(fmt::format("{:>10}  {:>12.0f}  {:>12.0f}  {:>12.0f}  {:>18.2f}  {:>18.2f}", n, median(ours), median(bare),
                         median(plain), median(to_bare), median(to_plain)));
    picture.bars(fmt::format("{} coroutine{}", n, n == 1 ? "" : "s"), {{"leasehold", median(ours)},
                                                                       {"the bare scripts", median(bare)},
                                                                       {"SET NX + compare-and-delete", median(plain)}});
  }
  out.line("bare scripts: a loop on boost::redis::connection that sends the same two scripts and nothing else.");
  out.line("SET NX + CAD: the same with SET NX PX and a compare-and-delete script: no fence, no repeat, no not-after.");
  out.draw(picture);
}

}  // namespace leasehold::bench
