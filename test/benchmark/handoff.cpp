// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// How long a lock takes from one process to another that waits for it.
#include "workers.hpp"

#include "bare_script.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/redis/connection.hpp>

#include <fmt/format.h>

#include <exception>
#include <optional>
#include <thread>

namespace leasehold::bench {
namespace {

namespace redis = boost::redis;

constexpr pace turns{3ms, 1ms};

// "Publish, then the waiter tries again" at its best: one connection with nothing around it, requests that are written
// once, a channel that only the other one listens to.
//   lean   SET NX, and a compare-and-delete that publishes: no fence, no repeat, no not-after
//   same   leasehold's own script, and a PUBLISH in the same request
//   heard  lean, and what counts is when the message is there: nothing that is told by Redis can be sooner
class retrying_lock {
 public:
  retrying_lock(redis::connection& connection, const std::string& how, const std::string& me, const std::string& other)
      : connection_(connection), until_heard_(how == "heard") {
    load_.push("SUBSCRIBE", "to:" + me);
    if (how == "same") {
      const std::string token = "0123456789abcdef0123456789abcde" + me + ".1";
      push_load(load_);
      push_acquire(acquire_, "handoff", token, "");
      push_release(release_, "handoff", token);
      release_.push("PUBLISH", "to:" + other, "");
      return;
    }
    constexpr std::string_view script =
        "if redis.call('get',KEYS[1]) == ARGV[1] then redis.call('del',KEYS[1]) return "
        "redis.call('publish',ARGV[2],'') end";
    load_.push("SCRIPT", "LOAD", script);
    acquire_.push("SET", "handoff", me, "NX", "PX", "30000");
    // SHA-1 of the script above.
    release_.push("EVALSHA", "ce5480c91bb8d55388dd0e2722ced6ab0b7ff3b4", "1", "handoff", me, "to:" + other);
  }

  asio::awaitable<void> prepare() { co_await connection_.async_exec(load_, redis::ignore, asio::deferred); }

  asio::awaitable<steady::time_point> acquire() {
    std::optional<steady::time_point> heard;
    for (;;) {
      redis::response<std::optional<std::string>> reply;
      co_await connection_.async_exec(acquire_, reply, asio::deferred);
      // "OK", nil; leasehold's begins with its status.
      const auto& said = std::get<0>(reply).value();
      if (said && !said->starts_with('0')) co_return (until_heard_ ? heard : std::nullopt).value_or(steady::now());
      co_await connection_.async_receive2(asio::deferred);
      heard = steady::now();
    }
  }

  asio::awaitable<void> release() { co_await connection_.async_exec(release_, redis::ignore, asio::deferred); }

 private:
  redis::connection& connection_;
  const bool until_heard_;
  redis::request load_, acquire_, release_;
};

asio::awaitable<void> retry(asio::io_context& context, redis::connection& connection, std::string how, std::string me,
                            std::string other) {
  const stop_signal stop(context);
  retrying_lock lock(connection, how, me, other);
  co_await lock.prepare();
  tell(0, 0, co_await contend(lock, turns, stop));
  connection.cancel();
}

// Arguments: the port, how, its name, the other's name: a letter each.
const test::child_program retrier("retrier", [](const std::vector<std::string>& arguments) {
  asio::io_context context(1);
  redis::connection connection(context, redis::logger(redis::logger::level::emerg));
  redis::config config;
  config.addr.port = arguments.at(0);
  connection.async_run(config, asio::detached);
  asio::co_spawn(context, retry(context, connection, arguments.at(1), arguments.at(2), arguments.at(3)),
                 [](std::exception_ptr e) {
                   if (e) std::rethrow_exception(e);
                 });
  context.run();
  return 0;
});

// Two processes take turns. Both start alone and end alone; what is between counts.
std::vector<double> take_turns(std::vector<std::string> one, std::vector<std::string> other, seconds time) {
  workers both;
  both.start(std::move(one));
  both.start(std::move(other));
  std::this_thread::sleep_for(time + 200ms);
  return hand_offs(both.finish().tenures);
}

struct figures {
  std::vector<double> all, p50, p99;

  void add(const std::vector<double>& round) {
    if (round.empty()) throw std::runtime_error("the processes did not take turns");
    all.insert(all.end(), round.begin(), round.end());
    p50.push_back(quantile(round, 0.5));
    p99.push_back(quantile(round, 0.99));
  }
  std::string row(std::string_view name) const {
    return fmt::format("{:<28}  {:>9}  {:>12.0f}  {:>12.0f}", name, all.size(), median(p50), median(p99));
  }
};

}  // namespace

void handoff(const settings& s, report& out) {
  out.section("handoff", "from the call of release in one process to the critical section in another that waits; us");
  const test::redis_server server;
  figures ours, lean, same, heard;
  std::vector<double> to_lean, to_lean99, to_same, to_heard;
  const auto port = std::to_string(server.port());
  const auto worker = leasehold_worker(server.tcp_url(), "handoff:leasehold", turns);
  const auto retriers = [&](const std::string& how) {
    return take_turns(retrier.command({port, how, "a", "b"}), retrier.command({port, how, "b", "a"}), s.time);
  };
  for (int round = 0; round < s.rounds; ++round) {
    ours.add(take_turns(worker, worker, s.time));
    lean.add(retriers("lean"));
    same.add(retriers("same"));
    heard.add(retriers("heard"));
    to_lean.push_back(ours.p50.back() / lean.p50.back());
    to_lean99.push_back(ours.p99.back() / lean.p99.back());
    to_same.push_back(ours.p50.back() / same.p50.back());
    to_heard.push_back(heard.p50.back() / lean.p50.back());
  }
  out.line(fmt::format("{:<28}  {:>9}  {:>12}  {:>12}", "", "hand-offs", "p50", "p99"));
  out.line(ours.row("leasehold"));
  out.line(lean.row("publish, then try again"));
  out.line(same.row("the same, with a fence"));
  out.line(heard.row("until the message is there"));
  out.figure("leasehold / publish, then try again, p50", median(to_lean), "", at_most(0.6));
  out.figure("leasehold / publish, then try again, p99", median(to_lean99));
  out.figure("leasehold / the same, with a fence, p50", median(to_same), "", at_most(0.6));
  out.figure("until the message is there / publish, then try again, p50", median(to_heard));
  out.line(
      "publish, then try again: a bare boost::redis::connection; compare-and-delete and PUBLISH in one script, then");
  out.line("SET NX. The same, with a fence: leasehold's own script instead, for acquire and release.");
  out.line("Until the message is there: the first part of publish, then try again. No message could make it shorter.");
  out.line("Not in this run, measured on another machine like this (p50): publish and retry 427, rueidislock 599,");
  out.line("redis-plus-plus 1900, redis-py 50000, redsync 82000, node-redlock 105000.");

  plot picture("Hand-off between two processes: from the call of release to the critical section");
  picture.distribution(
      "microseconds",
      {{"leasehold", ours.all}, {"publish, then try again", lean.all}, {"the same, with a fence", same.all}});
  out.draw(picture);
}

}  // namespace leasehold::bench
