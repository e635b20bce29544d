// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The basis of every public asynchronous function: a small initiation. It owns what it needs (a deferred operation may
// outlive the object it came from), names an executor (cancel_after needs one) and hands a type-erased handler to the
// compiled library. Nothing here is for users.
#pragma once

#include <leasehold/detail/built_with.hpp>
#include <leasehold/error.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace leasehold {

namespace asio = boost::asio;

namespace detail {

class client_handle;
class lock_state;
class hold_state;
struct hold_group;

// An empty executor once the execution context has gone.
asio::any_io_executor executor_of(const std::shared_ptr<client_handle>&) noexcept;
asio::any_io_executor executor_of(const std::shared_ptr<lock_state>&) noexcept;
// The system executor for an empty hold.
asio::any_io_executor executor_of(const std::shared_ptr<hold_state>&) noexcept;

// A handle without a hold has no client, hence no strand to complete from.
template <class State>
bool is_empty(const std::shared_ptr<State>& state) noexcept {
  return !state;
}
bool is_empty(const std::shared_ptr<hold_group>& group) noexcept;

// Ends an operation that has no client, hence no strand to complete from: on the handler's executor, never inside this
// call. (An any_completion_executor can only be dispatched to: from a thread of the system executor.)
template <class Handler, class... Results>
void complete_without_client(Handler&& handler, Results... results) {
  auto executor = asio::get_associated_executor(handler, asio::system_executor());
  auto completion = asio::append(std::forward<Handler>(handler), std::move(results)...);
  if constexpr (asio::can_require_v<decltype(executor), asio::execution::blocking_t::never_t>) {
    asio::post(executor, std::move(completion));
  } else {
    asio::post(asio::system_executor(), std::move(completion));
  }
}

// What an operation of an empty handle ends with.
template <class Signature>
struct with_not_held;
template <class... Results>
struct with_not_held<void(error_code, Results...)> {
  template <class Handler>
  static void complete(Handler&& handler) {
    complete_without_client(std::forward<Handler>(handler), make_error_code(error::not_held), Results()...);
  }
};

template <auto Start, class State, class Signature>
struct initiation {
  std::shared_ptr<State> state;

  using executor_type = asio::any_io_executor;
  executor_type get_executor() const noexcept { return executor_of(state); }

  template <class Handler, class... Args>
  void operator()(Handler&& handler, Args... args) const {
    if constexpr (std::is_same_v<State, hold_state> || std::is_same_v<State, hold_group>) {
      if (is_empty(state)) {
        with_not_held<Signature>::complete(std::forward<Handler>(handler));
        return;
      }
    }
    Start(state, asio::any_completion_handler<Signature>(std::forward<Handler>(handler)), args...);
  }
};

// Runs Start(state, handler, args...) when the operation is started with its final completion handler.
// (Token is deduced with its reference: an lvalue is copied, not moved from.)
template <auto Start, class Signature, class State, class Token, class... Args>
auto initiate(const std::shared_ptr<State>& state, Token&& token, Args... args) {
  return asio::async_initiate<Token, Signature>(initiation<Start, State, Signature>{state}, token, args...);
}

}  // namespace detail
}  // namespace leasehold
