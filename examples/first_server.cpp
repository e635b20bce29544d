// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// first_server PORT: a web server whose requests work under a lock; docs/guide.md begins with it.

// [server]
#include <leasehold/leasehold.hpp>

#include <boost/asio.hpp>

#include <charconv>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

// The work that must not run twice at the same time, on any of the servers.
asio::awaitable<std::string> brew(leasehold::hold& held) {
  asio::steady_timer work(co_await asio::this_coro::executor, 1s);
  co_await work.async_wait();
  std::string answer = held.name();
  answer += " is ready, fence ";
  answer += std::to_string(held.fence());
  co_return answer;
}

// A request begins with a line such as "GET /coffee HTTP/1.1"; "coffee" is the name of the lock.
asio::awaitable<void> serve(tcp::socket socket, leasehold::client redis) {
  std::string request;
  auto buffer = asio::dynamic_buffer(request, 8192);
  co_await asio::async_read_until(socket, buffer, "\r\n\r\n");
  std::string answer = "HTTP/1.0 200 OK\r\n\r\n";
  try {
    const auto slash = request.find('/');
    leasehold::mutex lock(redis, request.substr(slash + 1, request.find(' ', slash) - slash - 1));
    answer += co_await leasehold::with_lock(lock, {.lease = 10s, .wait = 5s}, brew);
  } catch (const leasehold::system_error& e) {
    answer = "HTTP/1.0 503 Service Unavailable\r\n\r\n";
    answer += e.code().message();  // "timed out": the lock was busy for five seconds.
  }
  answer += '\n';
  co_await asio::async_write(socket, asio::buffer(answer));
}

asio::awaitable<void> listen(unsigned short port, leasehold::client redis) {
  const auto executor = co_await asio::this_coro::executor;
  tcp::acceptor acceptor(executor, tcp::endpoint(tcp::v4(), port));
  std::cout << "http://127.0.0.1:" << acceptor.local_endpoint().port() << std::endl;
  asio::steady_timer pause(executor);
  for (;;) {
    auto [failure, socket] = co_await acceptor.async_accept(asio::as_tuple);
    if (failure) {
      // Too many open files, for example. That passes, and the requests at work keep their locks.
      pause.expires_after(10ms);
      co_await pause.async_wait();
    } else {
      asio::co_spawn(executor, serve(std::move(socket), redis), asio::detached);
    }
  }
}

unsigned short port_of(const std::string& argument) {
  unsigned short port = 0;
  const char* const end = argument.data() + argument.size();
  const auto [parsed, ec] = std::from_chars(argument.data(), end, port);
  if (ec == std::errc() && parsed == end) return port;
  throw std::invalid_argument("the port '" + argument + "' is no number from 0 to 65535");
}

int main(int argc, char** argv) try {
  const unsigned short port = argc > 1 ? port_of(argv[1]) : 0;
  const char* url = std::getenv("LEASEHOLD_REDIS");
  asio::io_context context;
  leasehold::client redis(context, url ? url : "redis://127.0.0.1:6379");
  asio::co_spawn(context, listen(port, redis), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  context.run();
} catch (const std::exception& e) {
  std::cerr << "first_server: " << e.what() << std::endl;
  return 1;
}
// [/server]
