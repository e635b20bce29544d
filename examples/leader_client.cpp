// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A client of the service in leader.cpp: it follows the election, and asks each leader at its address for its term.

#include "support/arguments.hpp"
#include "support/event_line.hpp"
#include "support/until_signal.hpp"

#include <leasehold/leasehold.hpp>

#include <fmt/format.h>

#include <boost/asio.hpp>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto usage = R"(usage: leader_client [OPTION VALUE]...

  --redis URL       the Redis that all share (LEASEHOLD_REDIS, redis://127.0.0.1:6379)
  --name NAME       of the election (service)
)";

// [ask]
asio::awaitable<std::string> ask(std::string address) {
  const auto executor = co_await asio::this_coro::executor;
  const auto colon = address.rfind(':');
  asio::ip::tcp::resolver resolver(executor);
  const auto found = co_await resolver.async_resolve(address.substr(0, colon), address.substr(colon + 1));
  asio::ip::tcp::socket service(executor);
  co_await asio::async_connect(service, found);
  std::string answer;
  co_await asio::async_read_until(service, asio::dynamic_buffer(answer, 1000), '\n');
  answer.resize(answer.find('\n'));
  co_return answer;
}

asio::awaitable<void> follow(leasehold::client redis, std::string name) {
  const leasehold::leader_observer changes = leasehold::election(redis, name).observe();
  for (;;) {
    const std::optional<leasehold::leader_info> leader = co_await changes.next();
    if (!leader) {
      support::write_event("nobody", name, "");
      continue;
    }
    support::write_event("found", name, fmt::format("fence={} value={}", leader->fence, leader->value));
    try {
      // The leader may have gone meanwhile: then the next change is on its way.
      auto asking = asio::co_spawn(redis.get_executor(), ask(leader->value), asio::cancel_after(1s, asio::deferred));
      const std::string answer = co_await std::move(asking);
      support::write_event("answered", name, fmt::format("fence={}", answer.substr(0, answer.find(' '))));
    } catch (const boost::system::system_error& e) {
      support::write_event("silent", name, fmt::format("fence={}", leader->fence));
    }
  }
}
// [/ask]

int run(int argc, char** argv) {
  const support::arguments arguments(argc, argv, {{"--redis", support::default_redis()}, {"--name", "service"}});
  asio::io_context context(1);
  auto following = follow(leasehold::client(context, arguments.text("--redis")), arguments.text("--name"));
  support::run_until_signal(context, std::move(following), SIGINT, SIGTERM);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return support::main_program(usage, argc, argv, run); }
