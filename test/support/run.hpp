// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/limit.hpp"
#include "time/clock.hpp"
#include "time/timer.hpp"

#include <leasehold/leasehold.hpp>

#include <boost/asio.hpp>

#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace leasehold::test {

using namespace std::chrono_literals;
using asio::awaitable;

// A function without parameters, as a test writes one: it captures references and little else. (std::function costs the
// compiler some fifteen functions for each lambda, and the tests have thousands.)
template <class Result>
class light_function {
 public:
  template <class F>
    requires(!std::is_same_v<F, light_function>)
  light_function(const F& f) : call_([](const void* what) -> Result { return (*static_cast<const F*>(what))(); }) {
    static_assert(sizeof(F) <= sizeof(what_) && alignof(F) <= alignof(std::max_align_t));
    static_assert(std::is_trivially_copyable_v<F> && std::is_trivially_destructible_v<F>);
    std::memcpy(what_, &f, sizeof f);
  }
  Result operator()() const { return call_(what_); }

 private:
  Result (*call_)(const void*);
  alignas(std::max_align_t) unsigned char what_[128];
};

// One type each for a test's coroutine and for what it waits for: Asio's templates are compiled for each type of a
// handler, so they were compiled again for each test.
using coroutine = light_function<awaitable<void>>;
using condition = light_function<bool>;

// Runs the context until nothing is left to do, and fails if that does not come. In the simulation that is virtual
// time.
void run_to_end(asio::io_context&);
// The same until the condition holds, and fails if it never does.
void run_until(asio::io_context&, const condition&);
// For that long, or until nothing is left to do.
void run_for(asio::io_context&, std::chrono::nanoseconds);

// As hold::expires_at() tells time.
inline std::chrono::steady_clock::time_point now() { return detail::to_steady(clock::now()); }

// Runs a coroutine to its end and then the context to its: whatever the coroutine leaves behind has to end by itself.
// Rethrows what the coroutine throws.
void run(asio::io_context&, const coroutine&);
void run(const coroutine&);

// Nothing is proved by its length: it only gives a broken subject the time to show itself.
awaitable<void> pause(std::chrono::nanoseconds);

// Waits for something that happens on this context; not as long as run() does, so that it can say what did not happen.
awaitable<void> wait_for(const char* what, condition);
// (The conversion to a condition is made here: none of its temporaries is part of a co_await expression, see
// docs/gcc12.md.)
template <class Condition>
awaitable<void> eventually(const char* what, Condition holds) {
  return wait_for(what, condition(std::move(holds)));
}

// Lets everything run that is ready.
awaitable<void> turn(int times = 3);

}  // namespace leasehold::test
