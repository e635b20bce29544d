// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/run.hpp"

namespace leasehold::test {

void run(asio::io_context& context, const coroutine& body) {
  std::optional<std::exception_ptr> end;
  asio::co_spawn(context, body(), [&end](std::exception_ptr failure) { end = failure; });
  try {
    run_to_end(context);
  } catch (const std::runtime_error&) {
    // That the coroutine failed says more than that something of it was left.
    if (end && *end) std::rethrow_exception(*end);
    throw;
  }
  if (!end) throw std::runtime_error("the coroutine did not end, and nothing is left to do");
  if (*end) std::rethrow_exception(*end);
}

void run(const coroutine& body) {
  asio::io_context context;
  run(context, body);
}

awaitable<void> pause(std::chrono::nanoseconds d) {
  detail::timer timer(co_await asio::this_coro::executor);
  const auto wait = [&timer, d](auto handler) { timer.wait(detail::later(clock::now(), d), std::move(handler)); };
  co_await asio::async_initiate<const asio::use_awaitable_t<>&, void(error_code)>(wait, asio::use_awaitable);
}

awaitable<void> wait_for(const char* what, condition holds) {
  const auto end = clock::now() + limit / 2;
  while (!holds()) {
    if (clock::now() > end) throw std::runtime_error(std::string("did not happen in time: ") + what);
    co_await pause(1ms);
  }
}

awaitable<void> turn(int times) {
  for (int i = 0; i < times; ++i) co_await asio::post(asio::deferred);
}

}  // namespace leasehold::test
