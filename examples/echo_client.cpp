// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Loads echo servers: many connections at once, each sends one line "NAME TEXT" after the other and checks that it
// comes back. When a server dies, its connections go on with the next one and ask again there. Reports throughput and
// latency; the exit status says whether every echo was right.

#include "support/arguments.hpp"

#include <fmt/format.h>

#include <boost/asio.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

constexpr auto usage = R"(usage: echo_client --servers HOST:PORT[,HOST:PORT]... [OPTION VALUE]...

  --servers LIST     the servers; connection i begins with number i and goes on with the next when it dies
  --connections N    how many at once (10)
  --requests N       how many each connection sends (100)
  --seconds N        send for so long instead
  --names LIST       the locks, or how many there are (apple,cherry,plum)
  --pause TIME       how long a connection pauses between two requests, on average: half of it to one and a half (0s)
)";

// An answer that takes longer counts as a dead server. More than a server lets a request wait for its lock.
constexpr auto longest_answer = 30s;
// Without any answer for so long there is no server left.
constexpr auto longest_outage = 10s;

struct settings {
  std::vector<std::string> servers;
  std::vector<std::string> names;
  std::size_t connections = 0;
  std::size_t requests = 0;
  std::optional<steady::duration> duration;
  std::chrono::milliseconds pause{0};
};

class load {
 public:
  load(asio::io_context& context, settings s) : settings_(std::move(s)), context_(context), start_(steady::now()) {
    last_answer_ = start_;
    for (std::size_t i = 0; i < settings_.connections; ++i) {
      ++running_;
      asio::co_spawn(context_, connection(i), [this](std::exception_ptr failure) {
        if (--running_ == 0) end_ = steady::now();
        if (failure) std::rethrow_exception(failure);
      });
    }
  }

  // No further requests; those under way are waited for.
  void stop() { stopped_ = true; }
  bool has_ended() const { return running_ == 0; }

  bool report() {
    const double seconds = std::chrono::duration<double>(end_ - start_).count();
    fmt::print("{} in {:.1f} s: {:.0f} per second; {}, {}, {}\n", count(latencies_.size(), "echo", "es"), seconds,
               static_cast<double>(latencies_.size()) / std::max(seconds, 1e-9),
               count(settings_.connections, "connection"), count(settings_.names.size(), "lock"),
               count(settings_.servers.size(), "server"));
    std::sort(latencies_.begin(), latencies_.end());
    if (!latencies_.empty()) {
      fmt::print("latency: 50 % {}, 90 % {}, 99 % {}, longest {}\n", percentile(0.50), percentile(0.90),
                 percentile(0.99), percentile(1.00));
    }
    for (const auto& [answer, times] : refusals_)
      fmt::print("{} the answer was \"{}\"\n", count(times, "time"), answer);
    if (reconnects_ > 0) fmt::print("{} a connection went on with another server\n", count(reconnects_, "time"));
    fmt::print("{}\n", count(wrong_, "wrong echo", "es"));
    if (given_up_) fmt::print("given up: no server answers\n");
    return wrong_ == 0 && !given_up_ && !latencies_.empty();
  }

 private:
  static std::string count(std::uint64_t number, std::string_view what, std::string_view plural = "s") {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : plural);
  }

  bool goes_on(std::size_t sent) const {
    if (stopped_ || given_up_) return false;
    return settings_.duration ? steady::now() - start_ < *settings_.duration : sent < settings_.requests;
  }

  asio::awaitable<void> connection(std::size_t number) {
    std::size_t server = number;
    std::size_t sent = 0;
    while (goes_on(sent)) {
      tcp::socket socket(context_);
      if (co_await connect(socket, settings_.servers[server % settings_.servers.size()])) {
        std::string input;
        while (goes_on(sent)) {
          if (sent > 0 && settings_.pause > 0ms) {
            co_await rest(settings_.pause * std::uniform_real_distribution<double>(0.5, 1.5)(random_));
            if (!goes_on(sent)) break;
          }
          // Every connection goes through all the locks, and no two begin with the same one.
          const std::string& name = settings_.names[(number + sent) % settings_.names.size()];
          const std::string line = fmt::format("{} {}.{}\n", name, number, sent);
          if (!co_await request(socket, input, line)) break;
          ++sent;
        }
      }
      if (!goes_on(sent)) break;
      ++reconnects_;
      ++server;
      if (steady::now() - last_answer_ > longest_outage) given_up_ = true;
      co_await rest(50ms);
    }
  }

  asio::awaitable<void> rest(std::chrono::duration<double, std::milli> pause) {
    asio::steady_timer timer(context_, std::chrono::duration_cast<steady::duration>(pause));
    co_await timer.async_wait();
  }

  asio::awaitable<bool> connect(tcp::socket& socket, const std::string& server) {
    const auto colon = server.rfind(':');
    tcp::resolver resolver(context_);
    auto resolving = resolver.async_resolve(server.substr(0, colon), server.substr(colon + 1), asio::as_tuple);
    auto [unknown, endpoints] = co_await std::move(resolving);
    if (unknown) co_return false;
    auto connecting = asio::async_connect(socket, endpoints, asio::cancel_after(longest_outage, asio::as_tuple));
    auto [failure, endpoint] = co_await std::move(connecting);
    if (failure) co_return false;
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    co_return true;
  }

  // False if the server is gone: whether it did what it was asked for is not known, and an echo may be asked for twice.
  asio::awaitable<bool> request(tcp::socket& socket, std::string& input, const std::string& line) {
    const auto sent = steady::now();
    auto writing = asio::async_write(socket, asio::buffer(line), asio::as_tuple);
    auto [not_written, written] = co_await std::move(writing);
    if (not_written) co_return false;
    auto buffer = asio::dynamic_buffer(input);
    auto reading = asio::async_read_until(socket, buffer, '\n', asio::cancel_after(longest_answer, asio::as_tuple));
    auto [not_read, length] = co_await std::move(reading);
    if (not_read) co_return false;
    const std::string answer = input.substr(0, length);
    input.erase(0, length);
    last_answer_ = steady::now();
    if (answer == line) {
      latencies_.push_back(last_answer_ - sent);
    } else if (answer.starts_with("! ")) {
      ++refusals_[answer.substr(0, answer.size() - 1)];
    } else {
      ++wrong_;
    }
    co_return true;
  }

  std::string percentile(double share) const {
    const auto last = latencies_.size() - 1;
    const auto latency = latencies_[static_cast<std::size_t>(share * static_cast<double>(last) + 0.5)];
    return fmt::format("{:.1f} ms", std::chrono::duration<double, std::milli>(latency).count());
  }

  settings settings_;
  asio::io_context& context_;
  std::minstd_rand random_{std::random_device{}()};
  steady::time_point start_;
  steady::time_point end_;
  steady::time_point last_answer_;
  std::vector<steady::duration> latencies_;
  std::map<std::string, std::uint64_t> refusals_;
  std::uint64_t reconnects_ = 0;
  std::uint64_t wrong_ = 0;
  std::size_t running_ = 0;
  bool stopped_ = false;
  bool given_up_ = false;
};

std::vector<std::string> names_of(const std::string& text) {
  if (text.find_first_not_of("0123456789") != text.npos) return support::split(text, ',');
  std::vector<std::string> names;
  for (long i = 1; i <= support::parse_number(text); ++i) names.push_back(fmt::format("lock{}", i));
  return names;
}

int run(int argc, char** argv) {
  const support::arguments arguments(argc, argv,
                                     {{"--servers", ""},
                                      {"--connections", "10"},
                                      {"--requests", "100"},
                                      {"--seconds", ""},
                                      {"--names", "apple,cherry,plum"},
                                      {"--pause", "0s"}});
  settings s;
  s.servers = support::split(arguments.text("--servers"), ',');
  s.names = names_of(arguments.text("--names"));
  s.connections = static_cast<std::size_t>(arguments.number("--connections"));
  s.requests = static_cast<std::size_t>(arguments.number("--requests"));
  s.pause = arguments.duration("--pause");
  if (!arguments.text("--seconds").empty()) s.duration = std::chrono::seconds(arguments.number("--seconds"));
  if (s.servers.empty()) throw support::usage_error("--servers is missing");
  if (s.names.empty() || s.connections == 0) throw support::usage_error("there is nothing to do");
  for (const std::string& server : s.servers) {
    if (server.find(':') == server.npos) throw support::usage_error("\"" + server + "\" is not HOST:PORT");
  }

  asio::io_context context(1);
  load all(context, s);
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](boost::system::error_code failure, int) {
    if (!failure) all.stop();
  });
  // Not run(), which would wait for a signal.
  while (!all.has_ended()) context.run_one();
  return all.report() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return support::main_program(usage, argc, argv, run); }
