// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "market/load.hpp"

#include "market/books.hpp"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sys/resource.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace market {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

// More than a buyer can spend.
constexpr long funds = 1'000'000'000'000;
constexpr long highest_price = 100;
// What stands on the market before the clock starts, so that buyers do not all want the same from the beginning.
constexpr long stock = 1000;
// A seller without items gets so many.
constexpr long delivery = 1000;

// A wait of this length is counted by the player in the way.
constexpr auto slow = 10ms;

double seconds(steady::duration d) { return std::chrono::duration<double>(d).count(); }

// What all players of a run share.
struct session {
  steady::time_point begin;
  steady::time_point end;
  const bool& stop;
  bool failed = false;
  long made = 0;
  figures counted = {};

  bool over() const { return stop || failed || steady::now() >= end; }
};

struct seller {
  player me;
  database& data;
  long id;
  std::vector<long> items;
  std::minstd_rand random;

  asio::awaitable<void> list_one(session& s) {
    if (items.empty()) {
      const long first = s.made + 1;
      s.made += delivery;
      co_await make_items(data, id, first, delivery);
      for (long i = 0; i < delivery; ++i) items.push_back(first + i);
    }
    const std::string item = std::to_string(items.back());
    switch (co_await me.list(item, std::uniform_int_distribution<long>(1, highest_price)(random))) {
      case outcome::done:
        ++s.counted.listed;
        items.pop_back();
        break;
      case outcome::refused: ++s.counted.retries; break;
      case outcome::gone: throw std::runtime_error(fmt::format("item {} is not in inventory:{}", item, id));
    }
  }

  asio::awaitable<void> run(session& s) {
    while (!s.over()) co_await list_one(s);
  }
};

struct buyer {
  player me;

  asio::awaitable<void> run(session& s) {
    std::optional<offer> wanted;
    auto since = steady::now();
    while (!s.over()) {
      if (!wanted) {
        wanted = co_await me.look();
        since = steady::now();
        if (wanted) continue;
        // Nothing to buy. To ask without a pause would keep the sellers from Redis.
        asio::steady_timer pause(co_await asio::this_coro::executor, 1ms);
        co_await pause.async_wait(asio::use_awaitable);
        continue;
      }
      switch (co_await me.buy(wanted)) {
        case outcome::done:
          ++s.counted.bought;
          s.counted.waited += seconds(steady::now() - since);
          since = steady::now();
          break;
        case outcome::refused: ++s.counted.retries; break;
        case outcome::gone:
          ++s.counted.too_late;
          wanted = co_await me.look();
          break;
      }
    }
    // What could not be bought until the end was waited for as well.
    if (wanted) s.counted.waited += seconds(steady::now() - since);
  }
};

// Lets coroutines run, and waits for them all. The first exception ends the session, and is thrown by join().
class group {
 public:
  group(asio::io_context& context, session& s) : context_(context), session_(s), ended_(context) {}

  void add(asio::awaitable<void> work) {
    ++running_;
    asio::co_spawn(context_, std::move(work), [this](std::exception_ptr e) {
      if (e && !failure_) failure_ = e;
      if (e) session_.failed = true;
      if (--running_ == 0) ended_.cancel();
    });
  }

  asio::awaitable<void> join() {
    while (running_ > 0) {
      ended_.expires_at(steady::time_point::max());
      boost::system::error_code ignored;
      auto token = asio::redirect_error(asio::use_awaitable, ignored);
      co_await ended_.async_wait(token);
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  asio::io_context& context_;
  session& session_;
  asio::steady_timer ended_;
  std::size_t running_ = 0;
  std::exception_ptr failure_;
};

// [watched_clients]
// The clients of a run. Their figures are on one page, and so are the slow waits: by the class of the lock, and by the
// client that had it.
class watched_clients {
 public:
  explicit watched_clients(bool counts) : counts_(counts) {}

  leasehold::client make(asio::io_context& context, const std::string& url, const std::string& label) {
    leasehold::client_options options;
    options.label = label;
    if (!counts_) return leasehold::client(context, url, options);
    // "market:item:7" is the lock of an item, "market" that of the whole market.
    options.classify = [](std::string_view name) { return name == "market" ? "market" : "item"; };
    options.slow_wait = slow;
    options.observer = [waits = waits_](const leasehold::event& e) {
      if (e.what == leasehold::event::kind::slow_wait) ++(*waits)[{std::string(e.label), std::string(e.holder)}];
    };
    all_.emplace_back(label, leasehold::client(context, url, options));
    return all_.back().second;
  }

  std::string metrics() const {
    std::vector<leasehold::client_figures> figures;
    for (const auto& [label, c] : all_) figures.push_back({label, c.stats(), c.stats_by_class()});
    std::string page = leasehold::to_prometheus(figures);
    const auto to = std::back_inserter(page);
    if (waits_->empty()) return page;
    fmt::format_to(to, "# HELP market_slow_waits_total Slow waits, by the client that had the lock.\n");
    fmt::format_to(to, "# TYPE market_slow_waits_total counter\n");
    for (const auto& [what, count] : *waits_) {
      fmt::format_to(to, "market_slow_waits_total{{class=\"{}\",holder=\"{}\"}} {}\n", what.first, what.second, count);
    }
    return page;
  }

 private:
  using slow_waits = std::map<std::pair<std::string, std::string>, std::uint64_t>;

  const bool counts_;
  // The observers outlive this object.
  std::shared_ptr<slow_waits> waits_ = std::make_shared<slow_waits>();
  std::vector<std::pair<std::string, leasehold::client>> all_;
};
// [/watched_clients]

// Processor time in seconds.
asio::awaitable<double> redis_time(database& data) {
  redis::request ask;
  ask.push("INFO", "cpu");
  const std::vector<reply> answer = co_await data.run(ask);
  double sum = 0;
  constexpr std::array<std::string_view, 2> fields{"used_cpu_sys:", "used_cpu_user:"};
  for (const std::string_view field : fields) {
    const auto at = answer[0].text.find(field);
    if (at != std::string::npos) sum += std::strtod(answer[0].text.c_str() + at + field.size(), nullptr);
  }
  co_return sum;
}

double own_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto sum = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return sum(used.ru_utime) + sum(used.ru_stime);
}

}  // namespace

asio::awaitable<figures> trade(asio::io_context& context, std::string url, method how, load size, rules rule,
                               const bool& stop) {
  database data(context, url);
  watched_clients watched(rule.metrics);
  const leasehold::client locks = watched.make(context, url, "market");
  co_await locks.ready(asio::use_awaitable);
  co_await open_books(data, size.sellers, size.buyers, funds, stock);

  session s{{}, {}, stop};
  s.made = stock;
  std::vector<std::unique_ptr<database>> connections;
  std::vector<leasehold::client> clients;
  const auto make_player = [&](long id) {
    const bool alone = rule.own_clients || how == method::watch;
    if (alone) connections.push_back(std::make_unique<database>(context, url));
    if (rule.own_clients) clients.push_back(watched.make(context, url, fmt::format("player-{}", id)));
    database& mine = alone ? *connections.back() : data;
    return player(mine, rule.own_clients ? clients.back() : locks, how, rule.joined_watch, id);
  };
  std::vector<seller> sellers;
  std::vector<buyer> buyers;
  for (long id = 1; id <= size.sellers; ++id) {
    sellers.push_back({make_player(id), data, id, {}, std::minstd_rand(static_cast<unsigned>(id))});
  }
  for (long id = size.sellers + 1; id <= size.sellers + size.buyers; ++id) buyers.push_back({make_player(id)});
  for (const leasehold::client& c : clients) co_await c.ready(asio::use_awaitable);

  const double redis_before = co_await redis_time(data);
  const double own_before = own_time();
  s.begin = steady::now();
  s.end = s.begin + rule.length;
  group players(context, s);
  for (seller& one : sellers) players.add(one.run(s));
  for (buyer& one : buyers) players.add(one.run(s));
  co_await players.join();
  s.counted.seconds = seconds(steady::now() - s.begin);
  s.counted.own_core = (own_time() - own_before) / s.counted.seconds;
  const double redis_after = co_await redis_time(data);
  s.counted.redis_core = (redis_after - redis_before) / s.counted.seconds;

  if (rule.metrics) s.counted.metrics = watched.metrics();
  s.counted.problems = co_await check_books(data);
  co_return s.counted;
}

}  // namespace market
