// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// booking: the seats of a theatre, reserved, paid and cancelled over HTTP. Start as many instances as you like: they
// share the table of the seats and a Redis with a lock for each seat. docs/recipes/booking.md tells how.

#include "booking/api.hpp"
#include "booking/board.hpp"
#include "booking/server.hpp"
#include "booking/service.hpp"
#include "booking/table.hpp"
#include "support/arguments.hpp"

#include <leasehold/leasehold.hpp>

#include <fmt/format.h>
#include <boost/asio.hpp>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

namespace {

namespace asio = boost::asio;

constexpr auto usage = R"(usage: booking [OPTION VALUE]...

  --redis URL      the Redis that all instances share (LEASEHOLD_REDIS, redis://127.0.0.1:6379)
  --table FILE     the SQLite file that all instances share (booking.db)
  --port N         0, the default: any that is free; the first line of output says which
  --name NAME      how this instance is called where its locks are shown (booking)
  --rows N         rows of the theatre, 1 to 26 (6)
  --seats N        seats of a row, 1 to 40 (12)
  --lease TIME     how long a lock outlives an instance that dies (10s)
  --deadline TIME  how long a request waits for its lock, if its X-Deadline-Ms does not say (2s)
  --work TIME      how long a payment takes (20ms)
  --grace TIME     how long requests may go on after SIGTERM (5s)
  --slow TIME      a request that waits this long for a lock is counted in /metrics with the instance that has it (1s)
)";

std::string instance_name(const std::string& name) {
  if (name.empty() || name.size() > 32 ||
      name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != name.npos) {
    throw support::usage_error(fmt::format("--name \"{}\": 1 to 32 of A-Z, a-z, 0-9, '_' and '-'", name));
  }
  return name;
}

long number_between(const support::arguments& arguments, const char* option, long least, long most) {
  const long number = arguments.number(option);
  if (number < least || number > most) {
    throw support::usage_error(fmt::format("{} {}: it must be {} to {}", option, number, least, most));
  }
  return number;
}

std::chrono::milliseconds positive(const support::arguments& arguments, const char* option) {
  const auto duration = arguments.duration(option);
  if (duration.count() < 1) throw support::usage_error(fmt::format("{}: it must be 1ms or more", option));
  return duration;
}

asio::awaitable<void> serve(booking::server& s, asio::signal_set& signals, std::chrono::milliseconds grace) {
  asio::co_spawn(co_await asio::this_coro::executor, s.accept(), asio::detached);
  co_await signals.async_wait();
  co_await s.stop(grace);
}

int run(int argc, char** argv) {
  const support::arguments arguments(argc, argv,
                                     {{"--redis", support::default_redis()},
                                      {"--table", "booking.db"},
                                      {"--port", "0"},
                                      {"--name", "booking"},
                                      {"--rows", "6"},
                                      {"--seats", "12"},
                                      {"--lease", "10s"},
                                      {"--deadline", "2s"},
                                      {"--work", "20ms"},
                                      {"--grace", "5s"},
                                      {"--slow", "1s"}});
  booking::settings settings;
  settings.name = instance_name(arguments.text("--name"));
  settings.lease = positive(arguments, "--lease");
  settings.work = arguments.duration("--work");
  const auto deadline = positive(arguments, "--deadline");
  const auto grace = arguments.duration("--grace");
  const auto slow = positive(arguments, "--slow");
  const auto port = static_cast<unsigned short>(number_between(arguments, "--port", 0, 65535));

  asio::io_context context(1);
  booking::table table(arguments.text("--table"), static_cast<int>(number_between(arguments, "--rows", 1, 26)),
                       static_cast<int>(number_between(arguments, "--seats", 1, 40)));
  // From here on only this thread touches the table. It ends before the table and the context do.
  booking::blocking_thread database;

  // [observer]
  leasehold::client_options options;
  options.prefix = "booking:";
  options.label = settings.name;
  // "seat:A1" is in the class "seat".
  options.classify = [](std::string_view name) { return std::string(name.substr(0, name.find(':'))); };
  options.slow_wait = slow;
  booking::slow_wait_counts waits;
  options.observer = [&waits](const leasehold::event& e) {
    using kind = leasehold::event::kind;
    if (e.what == kind::disconnected || e.what == kind::unreachable || e.what == kind::refused ||
        e.what == kind::evicting || e.what == kind::lost || e.what == kind::slow_wait) {
      fmt::print(stderr, "booking: {} {}\n", e.name, e.text);
    }
    if (e.what == kind::slow_wait) {
      ++waits[{std::string(e.label), e.holder.empty() ? "another program" : std::string(e.holder)}];
    }
  };
  // [/observer]
  const leasehold::client redis(context, arguments.text("--redis"), options);
  booking::service service(redis, table, database, settings);
  booking::board board(redis, table, database, settings.name);
  booking::api api(redis, service, board, deadline, waits);
  booking::server server(context, redis, api, port);
  asio::signal_set signals(context, SIGINT, SIGTERM);
  fmt::print("listening {}\n", server.port());
  std::fflush(stdout);
  asio::co_spawn(context, serve(server, signals, grace), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  context.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return support::main_program(usage, argc, argv, run); }
