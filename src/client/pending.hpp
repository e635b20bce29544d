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
#include <utility>
#include <variant>

namespace leasehold::detail {

namespace asio = boost::asio;

// Which kinds of cancellation an operation obeys.
constexpr bool any_type(asio::cancellation_type_t t) { return t != asio::cancellation_type_t::none; }
constexpr bool stops_waiting(asio::cancellation_type_t t) {
  return (t & (asio::cancellation_type_t::terminal | asio::cancellation_type_t::partial)) !=
         asio::cancellation_type_t::none;
}

// The executor of an io_context behind a type-erased one; null: it is another one.
inline const asio::io_context::executor_type* io_context_behind(const asio::any_completion_executor& e) {
  const auto* const inner = e.target<asio::any_io_executor>();
  return inner != nullptr ? inner->target<asio::io_context::executor_type>()
                          : e.target<asio::io_context::executor_type>();
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
    auto its = asio::get_associated_executor(handler_, fallback);
    if (const auto* const known = io_context_behind(its)) {
      // The usual case. Work on a type-erased executor takes memory, and each step through it takes time.
      executor_.template emplace<known_work>(asio::prefer(*known, asio::execution::outstanding_work.tracked));
    } else {
      executor_ = asio::prefer(std::move(its), asio::execution::outstanding_work.tracked);
    }
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

  // Invokes the handler on its executor, never inside this call, and off the client's strand. `base`: the client's
  // executor.
  void complete(const asio::any_io_executor& base, Args... args) {
    auto executor = std::exchange(executor_, {});
    auto invoke = [handler = std::move(handler_), ... args = std::move(args)]() mutable {
      // The slot is cleared here: it belongs to the handler's side and must not be touched from the strand.
      auto slot = asio::get_associated_cancellation_slot(handler);
      if (slot.is_connected()) slot.clear();
      std::move(handler)(std::move(args)...);
    };
    if (const auto* const known = std::get_if<known_work>(&executor)) {
      return post_to(asio::prefer(*known, asio::execution::outstanding_work.untracked), std::move(invoke));
    }
    // any_completion_executor can only be dispatched to, hence the post to `base`.
    auto on_base = [run_on = std::get<asio::any_completion_executor>(std::move(executor)),
                    invoke = std::move(invoke)]() mutable {
      auto its = std::move(run_on);
      asio::dispatch(its, std::move(invoke));
    };
    const auto* const known = base.target<asio::io_context::executor_type>();
    known != nullptr ? post_to(*known, std::move(on_base)) : asio::post(base, std::move(on_base));
  }

  // Destroys the handler without invoking it: its context ends.
  void drop() {
    auto handler = std::move(handler_);
    const auto executor = std::exchange(executor_, {});
  }

 private:
  // Outstanding work on an io_context.
  using known_work = decltype(asio::prefer(std::declval<const asio::io_context::executor_type&>(),
                                           asio::execution::outstanding_work.tracked));

  // Many wait at a time, more than Asio's cache has blocks: where it has none it asks for aligned memory, which takes
  // malloc longer.
  template <class F>
  static void post_to(const asio::io_context::executor_type& e, F f) {
    asio::post(e, asio::bind_allocator(boost::container::new_allocator<void>(), std::move(f)));
  }

  std::variant<asio::any_completion_executor, known_work> executor_;
  handler_type handler_;
};

}  // namespace leasehold::detail
