// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A TCP server that answers a line "NAME TEXT" with the same line while it holds the lock NAME. Start as many as you
// like on one Redis: of all their connections one at a time works under a name. One coroutine per connection, one
// thread. What cannot be done is answered with a line, too: "! timed out".

#include "support/arguments.hpp"
#include "support/event_line.hpp"
#include "support/sessions.hpp"

#include <leasehold/leasehold.hpp>

#include <fmt/format.h>

#include <boost/asio.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <set>
#include <string>
#include <string_view>

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

constexpr auto usage = R"(usage: echo_server [OPTION VALUE]...

  --redis URL    the Redis that all servers share (LEASEHOLD_REDIS, redis://127.0.0.1:6379)
  --port N       0, the default: any that is free; the first line of output says which
  --name NAME    how this server calls itself in its messages (echo)
  --lease TIME   how long a lock outlives a server that dies (10s)
  --wait TIME    how long a request may wait for its lock (10s)
  --hold TIME    how long the work under a lock takes (20ms)
)";

// Requests are lines of at most this length.
constexpr std::size_t longest_line = 4096;
// A client that does not read its answer must not keep others from the lock.
constexpr auto longest_write = 2s;
// How long a server that is asked to end lets requests go on.
constexpr auto grace = 3s;

struct settings {
  std::string name;
  leasehold::acquire_options lock;
  std::chrono::milliseconds hold;
};

// Tells of the time under a lock: its end is told on every way out, before the lock goes back.
class told_hold {
 public:
  explicit told_hold(const leasehold::hold& h) : name_(h.name()), fence_(fmt::format("fence={}", h.fence())) {
    support::write_event("acquired", name_, fence_);
  }
  ~told_hold() { support::write_event("released", name_, fence_); }
  told_hold(const told_hold&) = delete;
  told_hold& operator=(const told_hold&) = delete;

 private:
  std::string name_;
  std::string fence_;
};

class server {
 public:
  server(asio::io_context& context, leasehold::client redis, settings s, unsigned short port)
      : settings_(std::move(s)), redis_(std::move(redis)), acceptor_(context, tcp::endpoint(tcp::v4(), port)) {}

  unsigned port() const { return acceptor_.local_endpoint().port(); }

  asio::awaitable<void> accept() {
    return support::accept_each(acceptor_, [this](tcp::socket s) { return session(std::move(s)); });
  }

  // Ends in good order: no new requests, those under way get their answers, and every lock goes back.
  // [stop]
  asio::awaitable<void> stop() {
    acceptor_.close();
    boost::system::error_code ignored;
    // An idle session now reads the end of its input; a busy one ends after its answer.
    for (tcp::socket* s : sessions_) s->shutdown(tcp::socket::shutdown_receive, ignored);
    asio::steady_timer pause(acceptor_.get_executor());
    for (const auto end = std::chrono::steady_clock::now() + grace;
         !sessions_.empty() && std::chrono::steady_clock::now() < end;) {
      pause.expires_after(10ms);
      co_await pause.async_wait();
    }
    // A request that still waits for its lock is answered "! closed".
    co_await redis_.close(asio::as_tuple);
  }
  // [/stop]

 private:
  asio::awaitable<void> session(tcp::socket socket) {
    const support::registered here(sessions_, socket);
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    std::string input;
    // stop() does not end the input of a client that goes on sending.
    while (acceptor_.is_open()) {
      auto buffer = asio::dynamic_buffer(input, longest_line);
      auto [failure, length] = co_await asio::async_read_until(socket, buffer, '\n', asio::as_tuple);
      if (failure) co_return;
      std::string line = input.substr(0, length);
      input.erase(0, length);
      if (!co_await answer(socket, line)) co_return;
    }
  }

  // False if the connection is of no use any more.
  // [answer]
  asio::awaitable<bool> answer(tcp::socket& socket, const std::string& line) {
    const auto space = line.find(' ');
    if (space == 0 || space == line.npos) co_return co_await write(socket, "! expected: NAME TEXT\n");
    const leasehold::mutex lock(redis_, line.substr(0, space));
    bool begun = false;
    // The body has a name because g++ 12 miscompiles a temporary one inside the co_await expression.
    auto echo = [&](leasehold::hold& held) -> asio::awaitable<bool> {
      const told_hold told(held);
      if (settings_.hold > 0ms) {
        asio::steady_timer work(socket.get_executor(), settings_.hold);
        co_await work.async_wait();
      }
      begun = true;
      co_return co_await write(socket, line);
    };
    support::write_event("waiting", lock.name());
    std::string problem;
    try {
      co_return co_await leasehold::with_lock(lock, settings_.lock, echo);
    } catch (const boost::system::system_error& e) {
      problem = e.code().message();
    }
    support::write_event("failed", lock.name(), problem);
    fmt::print(stderr, "{}: {}: {}\n", settings_.name, lock.name(), problem);
    // The echo may be sent already. The client would take a second answer for that of its next request.
    if (begun) co_return false;
    co_return co_await write(socket, fmt::format("! {}\n", problem));
  }
  // [/answer]

  static asio::awaitable<bool> write(tcp::socket& socket, std::string text) {
    const auto buffer = asio::buffer(text);
    auto operation = asio::async_write(socket, buffer, asio::cancel_after(longest_write, asio::as_tuple));
    auto [failure, length] = co_await std::move(operation);
    co_return !failure && length == text.size();
  }

  settings settings_;
  leasehold::client redis_;
  tcp::acceptor acceptor_;
  std::set<tcp::socket*> sessions_;
};

asio::awaitable<void> serve(server& s, asio::signal_set& signals) {
  asio::co_spawn(co_await asio::this_coro::executor, s.accept(), asio::detached);
  co_await signals.async_wait();
  co_await s.stop();
}

int run(int argc, char** argv) {
  const support::arguments arguments(argc, argv,
                                     {{"--redis", support::default_redis()},
                                      {"--port", "0"},
                                      {"--name", "echo"},
                                      {"--lease", "10s"},
                                      {"--wait", "10s"},
                                      {"--hold", "20ms"}});
  settings s;
  s.name = arguments.text("--name");
  s.hold = arguments.duration("--hold");
  s.lock.lease = arguments.duration("--lease");
  if (s.lock.lease < 1ms || s.lock.lease > 24h * 30) throw support::usage_error("--lease: 1ms to 30 days");
  s.lock.wait = arguments.duration("--wait");
  // While Redis cannot answer (it is loading its data, say), ask again soon.
  s.lock.retry = {.first = 2ms, .max = 25ms};
  const long port = arguments.number("--port");
  if (port > 65535) throw support::usage_error("a port is at most 65535");

  asio::io_context context(1);
  leasehold::client_options options;
  options.observer = [name = s.name](const leasehold::event& e) {
    // What goes as it should is nobody's business.
    if (e.what == leasehold::event::kind::lost) fmt::print(stderr, "{}: {}: lost\n", name, e.name);
    if (e.what != leasehold::event::kind::connected && !e.text.empty()) fmt::print(stderr, "{}: {}\n", name, e.text);
  };
  leasehold::client redis(context, arguments.text("--redis"), options);
  asio::signal_set signals(context, SIGINT, SIGTERM);
  server echo(context, redis, s, static_cast<unsigned short>(port));
  fmt::print("listening {}\n", echo.port());
  std::fflush(stdout);
  asio::co_spawn(context, serve(echo, signals), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  context.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return support::main_program(usage, argc, argv, run); }
