// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The market of "Redis in Action", chapter 6: sellers list items, buyers buy them, and what is read must not change
// before what is written because of it. Compares WATCH, one lock for the whole market and a lock for each item, beside
// the figures of the book. After each run it looks whether no money and no item has appeared or vanished; the exit
// status says so.

#include "market/books.hpp"
#include "market/load.hpp"
#include "market/report.hpp"

#include "support/arguments.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"
#include "support/until_signal.hpp"

#include <leasehold/leasehold.hpp>

#include <fmt/format.h>

#include <boost/asio.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto usage = R"(usage: market [OPTION VALUE]... [--keep]
       market --check --redis URL

  --seconds N      how long each run takes (60)
  --loads LIST     SELLERS+BUYERS, with commas between them (1+1,5+1,5+5)
  --methods LIST   watch, one (lock for the whole market), item (a lock for each): (watch,one,item)
  --clients HOW    shared: all players have one client and one connection for data, as in one server; own: each has its
                   own, as if it were a program by itself (shared); with WATCH each has its own connection always
  --watch HOW      apart: WATCH is a request of its own, before what is read, as in the book; joined: both are one
                   request (apart)
  --wait HOW       asleep: the program sleeps until there is something to do; awake: it looks all the time, as a game's
                   server with a processor of its own does (asleep)
  --out FOLDER     where to write market.svg, and for each run with locks what Prometheus reads of them, such as
                   5+5-item.prom (nowhere)
  --redis URL      redis://... or unix:///... of a Redis without a market (one that is started for this run only)
  --keep           leave the market of the last run in that Redis
  --check          trade nothing; look whether all money and all items of the market are there
)";

// For everything that takes no time unless something is wrong.
constexpr auto generous = 20s;

struct settings {
  std::vector<market::load> loads;
  std::vector<market::method> methods;
  market::rules rule;
  std::string out;
  std::string redis;
  bool awake = false;
  bool keep = false;
  bool check = false;
};

// Takes an option without a value out of the command line.
bool take_flag(std::vector<char*>& words, std::string_view flag) {
  return std::erase_if(words, [&](const char* word) { return word == flag; }) > 0;
}

// Whether it is the second.
bool choose(const support::arguments& arguments, std::string_view option, std::string_view first,
            std::string_view second) {
  const std::string& text = arguments.text(option);
  if (text != first && text != second) {
    throw support::usage_error(fmt::format("{}: {} or {}, not \"{}\"", option, first, second, text));
  }
  return text == second;
}

settings read_settings(int argc, char** argv) {
  settings s;
  std::vector<char*> words(argv, argv + argc);
  s.keep = take_flag(words, "--keep");
  s.check = take_flag(words, "--check");
  const support::arguments arguments(static_cast<int>(words.size()), words.data(),
                                     {{"--seconds", "60"},
                                      {"--loads", "1+1,5+1,5+5"},
                                      {"--methods", "watch,one,item"},
                                      {"--clients", "shared"},
                                      {"--watch", "apart"},
                                      {"--wait", "asleep"},
                                      {"--out", ""},
                                      {"--redis", ""}});
  const long seconds = arguments.number("--seconds");
  if (seconds < 1 || seconds > 3600) throw support::usage_error("--seconds: 1 to 3600");
  s.rule.length = std::chrono::seconds(seconds);
  for (const std::string& text : support::split(arguments.text("--loads"), ',')) {
    const auto plus = text.find('+');
    if (plus == text.npos) throw support::usage_error(fmt::format("\"{}\" is no load; write for example 5+1", text));
    const market::load size{support::parse_number(std::string_view(text).substr(0, plus)),
                            support::parse_number(std::string_view(text).substr(plus + 1))};
    if (size.sellers < 1 || size.sellers > 1000 || size.buyers < 1 || size.buyers > 1000) {
      throw support::usage_error(fmt::format("\"{}\": 1 to 1000 sellers and as many buyers", text));
    }
    const auto same = [&](const market::load& other) { return market::name(other) == market::name(size); };
    if (std::any_of(s.loads.begin(), s.loads.end(), same)) {
      throw support::usage_error(fmt::format("\"{}\" is named twice", text));
    }
    s.loads.push_back(size);
  }
  for (const std::string& text : support::split(arguments.text("--methods"), ',')) {
    const std::vector<market::method> all{market::method::watch, market::method::one_lock, market::method::item_lock};
    const auto how = std::find_if(all.begin(), all.end(), [&](auto m) { return market::short_name(m) == text; });
    if (how == all.end()) throw support::usage_error(fmt::format("\"{}\" is no method: watch, one or item", text));
    if (std::find(s.methods.begin(), s.methods.end(), *how) != s.methods.end()) {
      throw support::usage_error(fmt::format("\"{}\" is named twice", text));
    }
    s.methods.push_back(*how);
  }
  if (s.loads.empty() || s.methods.empty()) throw support::usage_error("--loads and --methods need one at least");
  s.rule.own_clients = choose(arguments, "--clients", "shared", "own");
  s.rule.joined_watch = choose(arguments, "--watch", "apart", "joined");
  s.awake = choose(arguments, "--wait", "asleep", "awake");
  s.out = arguments.text("--out");
  s.rule.metrics = !s.out.empty();
  s.redis = arguments.text("--redis");
  if (s.redis.empty() && (s.check || s.keep)) throw support::usage_error("--check and --keep need --redis");
  return s;
}

void say(std::string_view text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

bool tell_problems(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) fmt::print(stderr, "wrong: {}\n", problem);
  return !problems.empty();
}

class program {
 public:
  program(asio::io_context& context, settings s, const bool& stop)
      : context_(context), settings_(std::move(s)), stop_(stop) {}

  asio::awaitable<int> run() {
    std::string url = settings_.redis;
    if (url.empty()) url = start_redis();
    leasehold::client_options patience;
    // A Redis that has just been started may take a while.
    patience.connect_timeout = redis_ ? std::chrono::milliseconds(generous) : 2s;
    {
      const leasehold::client client(context_, url, patience);
      const auto [failed] = co_await client.ready(asio::as_tuple(asio::use_awaitable));
      if (failed) {
        const std::string why = client.last_failure();
        throw std::runtime_error(
            fmt::format("the connection to Redis: {}{}{}", failed.message(), why.empty() ? "" : ": ", why));
      }
    }
    market::database data(context_, url);
    if (settings_.check) co_return co_await check(data);
    const std::string there = co_await market::find_books(data);
    if (!there.empty()) {
      throw std::runtime_error(
          fmt::format("there is a key \"{}\" already: only a Redis without a market is used", there));
    }
    if (!settings_.out.empty()) std::filesystem::create_directories(settings_.out);
    const bool good = co_await run_all(data, url);
    if (stop_) co_return 1;
    fmt::print("{}", market::aims(results_));
    write_picture();
    say(good ? "After each run all money and each item was there." : "Money or items appeared or vanished.");
    co_return good ? 0 : 1;
  }

  // However run() ended. While Redis runs, so does the reading of its output, and the io_context with it.
  void end_redis() { redis_.reset(); }

 private:
  std::string start_redis() {
    folder_.emplace("leasehold-market");
    const std::string socket = folder_->path() + "/redis.sock";
    redis_ = std::make_unique<support::process>(
        context_,
        std::vector<std::string>{"redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly",
                                 "no", "--dir", folder_->path()},
        [](std::string_view) {});
    return "unix://" + socket;
  }

  static asio::awaitable<int> check(market::database& data) {
    const std::vector<std::string> problems = co_await market::check_books(data);
    if (tell_problems(problems)) co_return 1;
    say("All money and each item is there.");
    co_return 0;
  }

  asio::awaitable<bool> run_all(market::database& data, const std::string& url) {
    bool good = true;
    for (const market::load& size : settings_.loads) {
      for (const market::method how : settings_.methods) {
        // Of the last run the market may stay.
        co_await market::remove_books(data);
        market::result one{size, how, {}};
        std::exception_ptr failure;
        try {
          one.found = co_await market::trade(context_, url, how, size, settings_.rule, stop_);
        } catch (...) {
          failure = std::current_exception();
        }
        if (failure || stop_) {
          try {
            co_await market::remove_books(data);
          } catch (const std::exception&) {
            // What went wrong first is what is told.
          }
          if (failure) std::rethrow_exception(failure);
          co_return good;
        }
        for (const std::string& p : one.found.problems) {
          good = false;
          fmt::print(stderr, "wrong: {} by {}: {}\n", market::name(size), market::short_name(how), p);
        }
        write_metrics(one);
        results_.push_back(std::move(one));
      }
      say(market::table(results_, size, settings_.rule.length));
    }
    if (!settings_.keep) co_await market::remove_books(data);
    co_return good;
  }

  void write_metrics(const market::result& one) const {
    if (settings_.out.empty() || one.how == market::method::watch) return;
    write_file(fmt::format("{}-{}.prom", market::name(one.size), market::short_name(one.how)), one.found.metrics);
  }

  void write_picture() const {
    if (settings_.out.empty()) return;
    say(fmt::format("The picture is {}.", write_file("market.svg", market::picture(results_, settings_.rule.length))));
  }

  // Returns its path.
  std::string write_file(const std::string& name, const std::string& text) const {
    std::string path = settings_.out + "/" + name;
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path);
    return path;
  }

  asio::io_context& context_;
  settings settings_;
  const bool& stop_;
  std::optional<support::temporary_folder> folder_;
  std::unique_ptr<support::process> redis_;
  std::vector<market::result> results_;
};

int run(int argc, char** argv) {
  const settings s = read_settings(argc, argv);
  asio::io_context context(1);
  bool stop = false;
  program all(context, s, stop);
  int status = 1;
  int signal = 0;
  std::exception_ptr problem;
  asio::signal_set signals(context, SIGINT, SIGTERM, SIGHUP);
  signals.add(SIGPIPE);  // The reader of the output has ended.
  signals.async_wait([&](boost::system::error_code aborted, int number) {
    if (aborted) return;
    signal = number;
    stop = true;
    signals.clear();  // The next one ends the program where it stands.
  });
  asio::co_spawn(context, all.run(), [&](std::exception_ptr e, int result) {
    problem = e;
    status = result;
    all.end_redis();
    signals.cancel();
  });
  while (s.awake && !context.stopped()) context.poll();
  context.run();
  if (signal != 0) return support::interrupted(signal);
  if (problem) std::rethrow_exception(problem);
  return status;
}

}  // namespace

int main(int argc, char** argv) { return support::main_program(usage, argc, argv, run); }
