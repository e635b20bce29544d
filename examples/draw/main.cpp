// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A lottery. Several instances of a service start at the same minute; one draws the winners, and they are drawn once,
// also if that one dies or hangs in the middle. The lock sees to it that one instance at a time is at it. That the
// winners are drawn once is the table's doing: it keeps the fence and whether the draw is done, see table.hpp.

#include "draw/table.hpp"
#include "support/arguments.hpp"
#include "support/connection_events.hpp"
#include "support/event_line.hpp"
#include "support/until_signal.hpp"

#include <leasehold/leasehold.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/asio.hpp>

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto usage = R"(usage: draw --table FILE --draw ID [OPTION VALUE]...

  --table FILE      the SQLite database of all draws; made if it is not there
  --draw ID         the draw; what is done once is never drawn again
  --tickets N       the tickets are numbered from 1 to N (1000)
  --winners N       how many of them win (10)
  --at HH:MM:SS     when to start, today by local time; at once if that has passed
  --redis URL       the Redis that all instances share (LEASEHOLD_REDIS, redis://127.0.0.1:6379)
  --instance NAME   how this instance calls itself (its process id)
  --lease TIME      how long the lock outlives an instance that dies (10s)
  --wait TIME       how long to wait for the lock (10m)
  --work TIME       how long the drawing takes (100ms)
  --stall TIME      hang for so long before the winners are written, as a paused process does (0ms)
)";

struct settings {
  lottery::draw draw;
  std::string instance;
  leasehold::acquire_options lock;
  std::chrono::milliseconds work;
  std::chrono::milliseconds stall;
  std::string at;  // "": at once
};

std::chrono::system_clock::time_point parse_time_of_day(const std::string& text) {
  const auto parts = support::split(text, ':');
  const bool plausible = text.size() == 8 && parts.size() == 3 && parts[0].size() == 2 && parts[1].size() == 2;
  if (!plausible || text.find_first_not_of("0123456789:") != text.npos || parts[0] > "23" || parts[1] > "59" ||
      parts[2] > "59") {
    throw support::usage_error(fmt::format("\"{}\" is no time of day; write for example 12:00:00", text));
  }
  const std::time_t now = std::time(nullptr);
  std::tm day{};
  ::localtime_r(&now, &day);
  day.tm_hour = static_cast<int>(support::parse_number(parts[0]));
  day.tm_min = static_cast<int>(support::parse_number(parts[1]));
  day.tm_sec = static_cast<int>(support::parse_number(parts[2]));
  day.tm_isdst = -1;
  return std::chrono::system_clock::from_time_t(std::mktime(&day));
}

std::vector<long> draw_winners(const lottery::draw& d) {
  std::vector<long> tickets(static_cast<std::size_t>(d.tickets));
  std::iota(tickets.begin(), tickets.end(), 1);
  std::random_device chance;
  std::shuffle(tickets.begin(), tickets.end(), chance);
  tickets.resize(static_cast<std::size_t>(d.winners));
  return tickets;
}

class participant {
 public:
  participant(leasehold::client redis, lottery::table& table, settings s)
      : settings_(std::move(s)), table_(table), lock_(std::move(redis), fmt::format("draw:{}", settings_.draw.id)) {}

  asio::awaitable<void> await_start();
  asio::awaitable<void> take_part();

 private:
  asio::awaitable<void> draw(leasehold::hold& held);
  void tell(std::string_view what, std::string_view more = {}) const {
    support::write_event(what, lock_.name(),
                         fmt::format("instance={}{}{}", settings_.instance, more.empty() ? "" : " ", more));
  }
  void tell_refusal(lottery::answer why, std::uint64_t fence) const;

  settings settings_;
  lottery::table& table_;
  leasehold::mutex lock_;
};

asio::awaitable<void> participant::await_start() {
  if (settings_.at.empty()) co_return;
  const auto time = parse_time_of_day(settings_.at);
  tell("waiting", fmt::format("until={}", settings_.at));
  asio::system_timer start(co_await asio::this_coro::executor, time);
  co_await start.async_wait();
}

// [part]
// Goes on until the table has the winners, whichever instance has drawn them.
asio::awaitable<void> participant::take_part() {
  auto body = [this](leasehold::hold& held) { return draw(held); };
  for (;;) {
    const auto row = table_.find(settings_.draw);
    if (row && row->done) {
      tell("done", fmt::format("fence={} by={} winners={}", row->last.fence, row->last.instance,
                               fmt::join(table_.winners(settings_.draw), ",")));
      co_return;
    }
    tell("waiting");
    try {
      co_await leasehold::with_lock(lock_, settings_.lock, body);
    } catch (const leasehold::system_error& e) {
      // The lock was lost. Whether the draw is done, only the table knows.
      if (e.code() != leasehold::error::lost) throw;
      tell("lost");
    }
  }
}
// [/part]

// [draw]
asio::awaitable<void> participant::draw(leasehold::hold& held) {
  const lottery::drawer me{settings_.instance, held.fence()};
  const auto before = table_.find(settings_.draw);
  if (before && before->done) co_return;
  // From here on the table refuses an earlier holder that is only slow.
  if (const auto answer = table_.begin(settings_.draw, me); answer != lottery::answer::accepted) {
    tell_refusal(answer, me.fence);
    // If the lock is held and the table has seen a larger fence all the same, waiting does not help.
    if (answer == lottery::answer::stale && held.valid()) {
      throw std::runtime_error("Redis has lost its fences, or is not the one that others use");
    }
    co_return;
  }
  tell("drawing",
       before ? fmt::format("fence={} after={}", me.fence, before->last.instance) : fmt::format("fence={}", me.fence));
  asio::steady_timer work(co_await asio::this_coro::executor, settings_.work);
  co_await work.async_wait();  // Cancelled if the lock is lost.
  const auto winners = draw_winners(settings_.draw);
  tell("writing", fmt::format("fence={}", me.fence));
  std::this_thread::sleep_for(settings_.stall);  // Nothing can be cancelled here.
  if (const auto answer = table_.finish(settings_.draw, me, winners); answer != lottery::answer::accepted) {
    tell_refusal(answer, me.fence);
  }
}
// [/draw]

void participant::tell_refusal(lottery::answer why, std::uint64_t fence) const {
  const auto row = table_.find(settings_.draw);
  tell("refused", fmt::format("fence={} table={} {}", fence, row ? row->last.fence : 0,
                              why == lottery::answer::done ? "is done" : "has a larger fence"));
}

// The client goes when this coroutine ends, and with it the last reason for the io_context to run.
asio::awaitable<void> take_part(leasehold::client redis, lottery::table& table, settings s) {
  participant p(redis, table, s);
  co_await p.await_start();
  co_await p.take_part();
}

int run(int argc, char** argv) {
  const support::arguments arguments(argc, argv,
                                     {{"--table", ""},
                                      {"--draw", ""},
                                      {"--tickets", "1000"},
                                      {"--winners", "10"},
                                      {"--at", ""},
                                      {"--redis", support::default_redis()},
                                      {"--instance", fmt::format("{}", ::getpid())},
                                      {"--lease", "10s"},
                                      {"--wait", "10m"},
                                      {"--work", "100ms"},
                                      {"--stall", "0ms"}});
  for (const char* needed : {"--table", "--draw"}) {
    if (arguments.text(needed).empty()) throw support::usage_error(fmt::format("{} is needed", needed));
  }
  settings s;
  s.draw = {arguments.text("--draw"), arguments.number("--tickets"), arguments.number("--winners")};
  if (s.draw.tickets < 1 || s.draw.tickets > 1'000'000) throw support::usage_error("--tickets: 1 to 1000000");
  if (s.draw.winners < 1 || s.draw.winners > s.draw.tickets) {
    throw support::usage_error(fmt::format("--winners: 1 to {}, as many as there are tickets", s.draw.tickets));
  }
  s.instance = arguments.text("--instance");
  s.lock.lease = arguments.duration("--lease");
  if (s.lock.lease < 1ms || s.lock.lease > 24h * 30) throw support::usage_error("--lease: 1ms to 30 days");
  s.lock.wait = arguments.duration("--wait");
  s.work = arguments.duration("--work");
  s.stall = arguments.duration("--stall");
  s.at = arguments.text("--at");
  if (!s.at.empty()) parse_time_of_day(s.at);

  lottery::table table(arguments.text("--table"));
  asio::io_context context(1);
  leasehold::client_options options;
  options.observer = support::tell_connection(s.instance);
  auto taking_part = take_part(leasehold::client(context, arguments.text("--redis"), options), table, s);
  const int signal = support::run_until_signal(context, std::move(taking_part), SIGINT, SIGTERM);
  return signal == 0 ? 0 : support::interrupted(signal);
}

}  // namespace

int main(int argc, char** argv) { return support::main_program(usage, argc, argv, run); }
