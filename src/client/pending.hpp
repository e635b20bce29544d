// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A completion handler that waits for its operation.
#pragma once

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/container/new_allocator.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace leasehold::detail {

namespace asio = boost::asio;

// Which kinds of cancellation an operation obeys.
constexpr bool any_type(asio::cancellation_type_t t) { return t != asio::cancellation_type_t::none; }
constexpr bool stops_waiting(asio::cancellation_type_t t) {
  return (t & (asio::cancellation_type_t::terminal | asio::cancellation_type_t::partial)) !=
         asio::cancellation_type_t::none;
}

template <class Signature>
class pending;

// Keeps a handler, and outstanding work on its executor.
template <class... Args>
class pending<void(Args...)> {
 public:
  using handler_type = asio::any_completion_handler<void(Args...)>;

  pending() = default;
  // `fallback`: the executor of a handler that has none of its own. Empty: the context has ended, and the handler is
  // kept only to be destroyed.
  pending(handler_type handler, const asio::any_completion_executor& fallback) : handler_(std::move(handler)) {
    if (!fallback) return;
    executor_ =
        asio::prefer(asio::get_associated_executor(handler_, fallback), asio::execution::outstanding_work.tracked);
  }

  explicit operator bool() const { return static_cast<bool>(handler_); }

  // Makes the handler's cancellation slot call on_cancel(operation) for the types that `obeys` accepts. The operation
  // is held weakly. The initiating function calls this before the operation starts. on_cancel runs on the thread that
  // emits the signal.
  template <class Operation, class Obeys, class OnCancel>
  void connect_cancellation(const std::shared_ptr<Operation>& operation, Obeys obeys, OnCancel on_cancel) {
    auto slot = asio::get_associated_cancellation_slot(handler_);
    if (!slot.is_connected()) return;
    slot.assign([weak = std::weak_ptr<Operation>(operation), obeys, on_cancel](asio::cancellation_type_t type) {
      if (!obeys(type)) return;
      if (auto strong = weak.lock()) on_cancel(strong);
    });
  }

  // Invokes the handler on its executor, never inside this call. The slot is cleared there too: it belongs to the
  // handler's side and must not be touched from the strand. (any_completion_executor can only be dispatched to, hence
  // the post to `base`, which also keeps the caller's code off the strand.)
  void complete(const asio::any_io_executor& base, Args... args) {
    auto invoke = [handler = std::move(handler_), executor = std::move(executor_),
                   ... args = std::move(args)]() mutable {
      auto run_on = std::move(executor);
      asio::dispatch(run_on, [handler = std::move(handler), ... args = std::move(args)]() mutable {
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) slot.clear();
        std::move(handler)(std::move(args)...);
      });
    };
    if (const auto* const known = base.target<asio::io_context::executor_type>()) {
      // Many wait at a time, more than Asio's cache has blocks: where it has none it asks for aligned memory, which
      // takes malloc longer.
      asio::post(*known, asio::bind_allocator(boost::container::new_allocator<void>(), std::move(invoke)));
    } else {
      asio::post(base, std::move(invoke));
    }
  }

  // Destroys the handler without invoking it: its context ends.
  void drop() {
    auto handler = std::move(handler_);
    auto executor = std::move(executor_);
  }

 private:
  asio::any_completion_executor executor_;
  handler_type handler_;
};

}  // namespace leasehold::detail
