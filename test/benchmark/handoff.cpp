// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// How long a lock takes from one process to another that waits for it.
#include "workers.hpp"

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
class retrying_lock {
 public:
  retrying_lock(redis::connection& connection, const std::string& me, const std::string& other)
      : connection_(connection) {
    constexpr std::string_view script =
        "if redis.call('get',KEYS[1]) == ARGV[1] then redis.call('del',KEYS[1]) return "
        "redis.call('publish',ARGV[2],'') end";
    load_.push("SCRIPT", "LOAD", script);
    load_.push("SUBSCRIBE", "to:" + me);
    acquire_.push("SET", "handoff", me, "NX", "PX", "30000");
    // SHA-1 of the script above.
    release_.push("EVALSHA", "ce5480c91bb8d55388dd0e2722ced6ab0b7ff3b4", "1", "handoff", me, "to:" + other);
  }

  asio::awaitable<void> prepare() { co_await connection_.async_exec(load_, redis::ignore, asio::deferred); }

  asio::awaitable<void> acquire() {
    for (;;) {
      redis::response<std::optional<std::string>> reply;
      co_await connection_.async_exec(acquire_, reply, asio::deferred);
      if (std::get<0>(reply).value()) co_return;
      co_await connection_.async_receive2(asio::deferred);
    }
  }

  asio::awaitable<void> release() { co_await connection_.async_exec(release_, redis::ignore, asio::deferred); }

 private:
  redis::connection& connection_;
  redis::request load_, acquire_, release_;
};

asio::awaitable<void> retry(asio::io_context& context, redis::connection& connection, std::string me,
                            std::string other) {
  const stop_signal stop(context);
  retrying_lock lock(connection, me, other);
  co_await lock.prepare();
  tell(0, 0, co_await contend(lock, turns, stop));
  connection.cancel();
}

// Arguments: the port, its name, the other's name.
const test::child_program retrier("retrier", [](const std::vector<std::string>& arguments) {
  asio::io_context context(1);
  redis::connection connection(context, redis::logger(redis::logger::level::emerg));
  redis::config config;
  config.addr.port = arguments.at(0);
  connection.async_run(config, asio::detached);
  asio::co_spawn(context, retry(context, connection, arguments.at(1), arguments.at(2)), [](std::exception_ptr e) {
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
  figures ours, theirs;
  std::vector<double> ratio50, ratio99;
  const auto port = std::to_string(server.port());
  const auto worker = leasehold_worker(server.tcp_url(), "handoff:leasehold", turns);
  for (int round = 0; round < s.rounds; ++round) {
    ours.add(take_turns(worker, worker, s.time));
    theirs.add(take_turns(retrier.command({port, "a", "b"}), retrier.command({port, "b", "a"}), s.time));
    ratio50.push_back(ours.p50.back() / theirs.p50.back());
    ratio99.push_back(ours.p99.back() / theirs.p99.back());
  }
  out.line(fmt::format("{:<28}  {:>9}  {:>12}  {:>12}", "", "hand-offs", "p50", "p99"));
  out.line(ours.row("leasehold"));
  out.line(theirs.row("publish, then try again"));
  out.figure("leasehold / publish, then try again, p50", median(ratio50), "", at_most(0.6));
  out.figure("leasehold / publish, then try again, p99", median(ratio99));
  out.line(
      "publish, then try again: a bare boost::redis::connection; compare-and-delete and PUBLISH in one script, then "
      "SET NX.");
  out.line("Not in this run, measured on another machine like this (p50): publish and retry 427, rueidislock 599,");
  out.line("redis-plus-plus 1900, redis-py 50000, redsync 82000, node-redlock 105000.");

  plot picture("Hand-off between two processes: from the call of release to the critical section");
  picture.distribution("microseconds", {{"leasehold", ours.all}, {"publish, then try again", theirs.all}});
  out.draw(picture);
}

}  // namespace leasehold::bench
