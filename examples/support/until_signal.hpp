// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// For programs whose work is one coroutine, which a signal ends early.
#pragma once

#include <fmt/format.h>

#include <boost/asio.hpp>

#include <csignal>
#include <cstdio>
#include <exception>
#include <utility>

namespace support {

namespace asio = boost::asio;

// Runs the program until nothing is left to do in the context. One of the signals, of which there are up to three, or
// SIGPIPE (the reader of the output has ended) cancels it. Returns the signal that came, 0 if none did. What the
// program throws is thrown here, unless a signal came.
template <class... Signals>
int run_until_signal(asio::io_context& context, asio::awaitable<void> program, Signals... numbers) {
  int signal = 0;
  std::exception_ptr problem;
  asio::cancellation_signal interrupt;
  asio::signal_set signals(context, numbers...);
  signals.add(SIGPIPE);
  signals.async_wait([&](boost::system::error_code aborted, int number) {
    if (aborted) return;
    signal = number;
    interrupt.emit(asio::cancellation_type::terminal);
  });
  auto ended = [&](std::exception_ptr e) {
    problem = e;
    signals.cancel();
  };
  asio::co_spawn(context, std::move(program), asio::bind_cancellation_slot(interrupt.slot(), ended));
  context.run();
  if (problem && signal == 0) std::rethrow_exception(problem);
  return signal;
}

// Tells it, and returns the exit status of a program that a signal has kept from its end.
inline int interrupted(int signal) {
  fmt::print(stderr, "interrupted\n");
  return 128 + signal;
}

}  // namespace support
