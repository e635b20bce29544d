// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/limit.hpp"
#include "time/clock.hpp"
#include "time/timer.hpp"

#include <leasehold/leasehold.hpp>

#include <boost/asio.hpp>

#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace leasehold::test {

using namespace std::chrono_literals;
using asio::awaitable;

// Runs the context until nothing is left to do, and fails if that does not come. In the simulation that is virtual time.
void run_to_end(asio::io_context&);
// The same until the condition holds, and fails if it never does.
void run_until(asio::io_context&, const std::function<bool()>& condition);
// For that long, or until nothing is left to do.
void run_for(asio::io_context&, std::chrono::nanoseconds);

// As hold::expires_at() tells time.
inline std::chrono::steady_clock::time_point now() { return detail::to_steady(clock::now()); }

// Runs a coroutine to its end and then the context to its: whatever the coroutine leaves behind has to end by itself.
// Rethrows what the coroutine throws.
template <class Body>
void run(asio::io_context& context, Body body) {
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

template <class Body>
void run(Body body) {
  asio::io_context context;
  run(context, std::move(body));
}

// Nothing is proved by its length: it only gives a broken subject the time to show itself.
inline awaitable<void> pause(std::chrono::nanoseconds d) {
  detail::timer timer(co_await asio::this_coro::executor);
  const auto wait = [&timer, d](auto handler) { timer.wait(detail::later(clock::now(), d), std::move(handler)); };
  co_await asio::async_initiate<const asio::use_awaitable_t<>&, void(error_code)>(wait, asio::use_awaitable);
}

// Waits for something that happens on this context; not as long as run() does, so that it can say what did not happen.
template <class Condition>
awaitable<void> eventually(const char* what, Condition condition) {
  const auto end = clock::now() + limit / 2;
  while (!condition()) {
    if (clock::now() > end) throw std::runtime_error(std::string("did not happen in time: ") + what);
    co_await pause(1ms);
  }
}

// Lets everything run that is ready.
inline awaitable<void> turn(int times = 3) {
  for (int i = 0; i < times; ++i) co_await asio::post(asio::deferred);
}

}  // namespace leasehold::test
