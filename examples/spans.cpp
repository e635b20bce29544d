// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Spans as OpenTelemetry knows them, made of the events of a client and written as lines of JSON: one for each wait for
// a lock, one for each hold, and one for each wait that is slow, while it lasts. A program with an OpenTelemetry
// library makes its spans in the same place. Here two clients want the same lock.

#include "support/arguments.hpp"

#include <leasehold/leasehold.hpp>

#include <fmt/format.h>

#include <boost/asio.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto usage = R"(usage: spans [OPTION VALUE]...

  --redis URL   the Redis of both clients (LEASEHOLD_REDIS, redis://127.0.0.1:6379)
  --work TIME   how long the first client has the lock (300ms)
  --slow TIME   a wait that takes longer is reported (100ms)
)";

// A JSON string. Names of locks are any bytes; those of this program are ASCII.
std::string quoted(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      (json += '\\') += c;
    } else {
      json += c >= ' ' && c <= '~' ? c : '?';
    }
  }
  return json + '"';
}

std::int64_t unix_nanoseconds(std::chrono::system_clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

// [spans]
// A span ends when its event comes, and has begun as long ago as the event says. A hold that is lost is in two spans:
// the second one comes with its release.
void write_span(std::string_view client, const leasehold::event& e) {
  using kind = leasehold::event::kind;
  std::string_view name = "lock.wait";
  if (e.what == kind::released || e.what == kind::lost) name = "lock.hold";
  if (e.what == kind::slow_wait) name = "lock.slow_wait";
  const auto now = std::chrono::system_clock::now();
  std::string line = fmt::format(R"({{"name":{},"start_unix_nano":"{}","duration_us":{},"attributes":{{)", quoted(name),
                                 unix_nanoseconds(now - e.duration), e.duration.count());
  line += fmt::format(R"("client":{},"lock.name":{},"lock.class":{},"outcome":{})", quoted(client), quoted(e.name),
                      quoted(e.label), quoted(to_string(e.what)));
  if (!e.token.empty()) line += fmt::format(R"(,"lock.token":{})", quoted(e.token));
  // A fence is more than a double, JSON's number, can hold.
  if (e.fence != 0) line += fmt::format(R"(,"lock.fence":"{}")", e.fence);
  if (!e.holder.empty()) line += fmt::format(R"(,"lock.holder":{})", quoted(e.holder));
  if (e.since) line += fmt::format(R"(,"lock.held_since_unix_nano":"{}")", unix_nanoseconds(*e.since));
  fmt::print("{}}}}}\n", line);
  std::fflush(stdout);
}

leasehold::client_options with_spans(std::string label, std::chrono::milliseconds slow) {
  leasehold::client_options options;
  options.label = label;
  options.classify = [](std::string_view name) { return std::string(name.substr(0, name.find(':'))); };
  options.slow_wait = slow;
  options.observer = [label = std::move(label)](const leasehold::event& e) {
    // What concerns the connection has no name.
    if (!e.name.empty()) write_span(label, e);
  };
  return options;
}
// [/spans]

asio::awaitable<void> leave_after(leasehold::hold hold, std::chrono::milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait();
  co_await hold.release();
}

asio::awaitable<void> come_and_go(leasehold::mutex lock) {
  leasehold::hold hold = co_await lock.acquire({.lease = 10s});
  co_await hold.release();
}

// The second client waits for the first one.
asio::awaitable<void> both(std::string url, std::chrono::milliseconds time, std::chrono::milliseconds slow) {
  const auto executor = co_await asio::this_coro::executor;
  leasehold::client first(executor, url, with_spans("web1", slow));
  leasehold::client second(executor, url, with_spans("web2", slow));
  leasehold::mutex lock(first, "seat:A1");
  leasehold::hold hold = co_await lock.acquire({.lease = 10s, .wait = 10s});
  auto working = asio::co_spawn(executor, leave_after(std::move(hold), time), asio::deferred);
  auto waiting = asio::co_spawn(executor, come_and_go(leasehold::mutex(second, "seat:A1")), asio::deferred);
  auto together = asio::experimental::make_parallel_group(std::move(working), std::move(waiting));
  auto operation = together.async_wait(asio::experimental::wait_for_all(), asio::deferred);
  const auto [order, failed, also_failed] = co_await std::move(operation);
  co_await first.close();
  co_await second.close();
  if (failed) std::rethrow_exception(failed);
  if (also_failed) std::rethrow_exception(also_failed);
}

int run(int argc, char** argv) {
  const support::arguments arguments(argc, argv,
                                     {{"--redis", support::default_redis()}, {"--work", "300ms"}, {"--slow", "100ms"}});
  const auto slow = arguments.duration("--slow");
  if (slow < 1ms) throw support::usage_error("--slow: it must be 1ms or more");
  asio::io_context context(1);
  auto program = both(arguments.text("--redis"), arguments.duration("--work"), slow);
  asio::co_spawn(context, std::move(program), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  context.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return support::main_program(usage, argc, argv, run); }
