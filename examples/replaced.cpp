// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// replaced NAME: holds the lock NAME until SIGTERM. At SIGHUP it replaces itself by the binary that is in its place
// then, and the new program goes on with the same hold: no other client can be granted the lock in between, and the
// fence stays the same. It ends with status 1 if the lock is lost. While it waits for the lock, each of these signals
// ends it.
#include <leasehold/leasehold.hpp>

#include <boost/asio.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

// [pipe]
// Not the arguments and not the environment, which other processes may see: a ticket is a secret. A pipe takes 64 KiB.
int put_into_a_pipe(const std::string& text) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  if (::write(ends[1], text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::system_error(errno, std::generic_category(), "write");
  }
  ::close(ends[1]);
  return ends[0];
}

std::string take_out_of(int pipe) {
  std::string text;
  char part[4096];
  for (ssize_t n; (n = ::read(pipe, part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(n));
  ::close(pipe);
  return text;
}
// [/pipe]

// No value: a signal came first.
// [first]
asio::awaitable<std::optional<leasehold::hold>> acquire_or_go_on(leasehold::client redis, std::string name,
                                                                 std::optional<int> pipe, asio::signal_set& signals) {
  if (pipe) {
    const leasehold::ticket detached = leasehold::ticket::parse(take_out_of(*pipe));
    co_return co_await redis.resume(detached);
  }
  leasehold::mutex lock(redis, name);
  // Each of the two cancels the other one. A signal that comes with the grant ends the program, too.
  auto both = asio::experimental::make_parallel_group(lock.acquire({.lease = 10s}), signals.async_wait(asio::deferred));
  auto [order, failure, hold, aborted, signal] =
      co_await both.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  if (!aborted) co_return std::nullopt;
  if (failure) throw leasehold::system_error(failure);
  co_return std::move(hold);
}
// [/first]

// The descriptor of the ticket for the next program; none: this was the last one.
asio::awaitable<std::optional<int>> work(std::string url, std::string name, std::optional<int> pipe) {
  const auto executor = co_await asio::this_coro::executor;
  asio::signal_set signals(executor, SIGHUP, SIGTERM, SIGINT);
  leasehold::client redis(executor, url);
  std::optional<leasehold::hold> hold = co_await acquire_or_go_on(redis, name, pipe, signals);
  std::optional<int> next;
  if (!hold) co_return next;
  std::cout << (pipe ? "goes on" : "begins") << ", process " << ::getpid() << ", fence " << hold->fence() << std::endl;
  const int signal = co_await leasehold::while_held(*hold, signals.async_wait(asio::use_awaitable));
  // [detach]
  if (signal == SIGHUP) {
    const leasehold::ticket detached = co_await hold->detach();
    next = put_into_a_pipe(detached.to_string());
  } else {
    co_await hold->release();
  }
  co_await redis.close();  // The connection is not for the next program.
  // [/detach]
  co_return next;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) {
      std::cerr << "usage: replaced NAME\n";
      return EXIT_FAILURE;
    }
    // Of the program after an exec: the second argument is the descriptor.
    std::optional<int> pipe;
    if (argc == 3) pipe = std::stoi(argv[2]);
    const char* const given = std::getenv("LEASEHOLD_REDIS");
    const std::string url = given ? given : "redis://127.0.0.1:6379";
    std::string path(PATH_MAX, '\0');
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
    if (length < 0) throw std::system_error(errno, std::generic_category(), "readlink");
    path.resize(static_cast<std::size_t>(length));
    {
      asio::io_context context;
      std::exception_ptr failed;
      asio::co_spawn(context, work(url, argv[1], pipe), [&](std::exception_ptr e, std::optional<int> next) {
        failed = e;
        pipe = next;
      });
      context.run();
      if (failed) std::rethrow_exception(failed);
    }
    if (!pipe) return EXIT_SUCCESS;
    const std::string descriptor = std::to_string(*pipe);
    ::execl(path.c_str(), argv[0], argv[1], descriptor.c_str(), static_cast<char*>(nullptr));
    throw std::system_error(errno, std::generic_category(), path);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return EXIT_FAILURE;
  }
}
