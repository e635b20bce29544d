// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A thread for calls that block, such as those of a database. The thread that runs the coroutines must not wait for
// them: it renews the leases.
#pragma once

#include <boost/asio.hpp>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace booking {

namespace asio = boost::asio;

class blocking_thread {
 public:
  // Calls f() on the thread and gives its result, or its exception, to the coroutine, which goes on where it was. The
  // call is not cancelled: what f refers to is safe in the coroutine.
  template <class F>
  asio::awaitable<std::invoke_result_t<F&>> run(F f) {
    std::optional<std::invoke_result_t<F&>> result;
    auto start = [&](auto handler) {
      auto home = asio::make_work_guard(asio::get_associated_executor(handler));
      asio::post(thread_, [&f, &result, home = std::move(home), handler = std::move(handler)]() mutable {
        std::exception_ptr failure;
        try {
          result.emplace(f());
        } catch (...) {
          failure = std::current_exception();
        }
        asio::post(home.get_executor(), [failure, handler = std::move(handler)]() mutable { handler(failure); });
      });
    };
    co_await asio::async_initiate<decltype(asio::use_awaitable), void(std::exception_ptr)>(start, asio::use_awaitable);
    co_return std::move(*result);
  }

 private:
  asio::thread_pool thread_{1};
};

}  // namespace booking
