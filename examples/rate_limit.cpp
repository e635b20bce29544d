// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A rate limit that all instances of a program share: at most so many calls begin in any window of time. It is a
// counting semaphore whose permits rest: each comes back when the window, counted from its grant, has ended.

#include "support/arguments.hpp"
#include "support/connection_events.hpp"

#include <leasehold/leasehold.hpp>

#include <fmt/format.h>

#include <boost/asio.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto usage = R"(usage: rate_limit [OPTION VALUE]...

  --redis URL     the Redis that all instances share (LEASEHOLD_REDIS, redis://127.0.0.1:6379)
  --name NAME     what is limited; all instances that share it share the limit (api)
  --calls N       how many calls may begin in any window, 1 to 100000 (5)
  --window TIME   how long the window is, 1ms or more (1s)
  --total N       how many calls this instance makes (20)
)";

// [rate_limit]
class rate_limit {
 public:
  rate_limit(const leasehold::client& redis, const std::string& name, std::uint32_t calls,
             std::chrono::milliseconds window)
      : permits_(redis, "rate:" + name, calls), window_(window) {}

  // Waits until a call may begin, first come, first served. Returns the fence of its permit.
  asio::awaitable<std::uint64_t> wait() const {
    // at_least: the permit rests until the window is over. Neither its release, by the destructor of the hold, nor the
    // death of this process gives it back earlier.
    const leasehold::hold permit = co_await permits_.acquire({.lease = window_, .at_least = window_});
    co_return permit.fence();
  }

 private:
  const leasehold::counting_semaphore permits_;
  const std::chrono::milliseconds window_;
};
// [/rate_limit]

asio::awaitable<void> make_calls(leasehold::client redis, std::string name, std::uint32_t calls,
                                 std::chrono::milliseconds window, long total) {
  const rate_limit limit(redis, name, calls, window);
  for (long number = 1; number <= total; ++number) {
    const std::uint64_t fence = co_await limit.wait();
    // A fence is 2048 times the instant of its grant, in microseconds of Redis's clock.
    fmt::print("call {} at={}us\n", number, fence / 2048);
    std::fflush(stdout);
  }
}

long number_between(const support::arguments& arguments, const char* option, long least, long most) {
  const long number = arguments.number(option);
  if (number < least || number > most) {
    throw support::usage_error(fmt::format("{} {}: it must be {} to {}", option, number, least, most));
  }
  return number;
}

int run(int argc, char** argv) {
  const support::arguments arguments(argc, argv,
                                     {{"--redis", support::default_redis()},
                                      {"--name", "api"},
                                      {"--calls", "5"},
                                      {"--window", "1s"},
                                      {"--total", "20"}});
  const auto calls = static_cast<std::uint32_t>(number_between(arguments, "--calls", 1, 100'000));
  const long total = number_between(arguments, "--total", 1, 1'000'000);
  const auto window = arguments.duration("--window");
  if (window < 1ms || window > 24h * 30) throw support::usage_error("--window: 1ms to 30 days");

  asio::io_context context(1);
  leasehold::client_options options;
  options.observer = support::tell_connection("rate_limit");
  const leasehold::client redis(context, arguments.text("--redis"), options);
  std::exception_ptr problem;
  auto program = make_calls(redis, arguments.text("--name"), calls, window, total);
  asio::co_spawn(context, std::move(program), [&](std::exception_ptr e) {
    problem = e;
    context.stop();  // The last permit may not be released yet. It comes back with its lease, the window.
  });
  context.run();
  if (problem) std::rethrow_exception(problem);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return support::main_program(usage, argc, argv, run); }
