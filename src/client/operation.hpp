// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "client/client_core.hpp"
#include "client/pending.hpp"

#include <boost/asio/error.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace leasehold::detail {

// The life of an operation that asks the store, or waits for it: from its start, on any thread, to the completion of
// its handler. Except for `launch`, everything happens on the strand. acquire_op, with two types of handlers, and
// release_op, with none, have lives of their own.
template <class Derived, class... Results>
class operation : public activity, public alarm, public std::enable_shared_from_this<Derived> {
 public:
  using handler = pending<void(error_code, Results...)>;

 protected:
  operation(std::shared_ptr<client_core> core, typename handler::handler_type h)
      : core_(std::move(core)), handler_(std::move(h), core_->fallback()) {}
  ~operation() = default;

  // Calls begin, unless the operation is cancelled before. obeys: which types of cancellation call cancel.
  template <class Obeys>
  void launch(Obeys obeys) {
    const auto self = this->shared_from_this();
    handler_.connect_cancellation(self, obeys, [](const std::shared_ptr<Derived>& o) {
      operation& its = *o;
      its.core_->post([o] { static_cast<operation&>(*o).cancel(); });
    });
    core_->post([self] {
      operation& its = *self;
      if (its.is_over()) return;
      its.self_ = self;
      its.begin();
    });
  }

  virtual void begin() = 0;
  virtual void cancel() { end(asio::error::operation_aborted); }

  bool is_over() const { return !handler_; }
  // Completes the handler, if that has not happened before.
  void end(error_code ec, Results... results)
    requires(sizeof...(Results) != 0)
  {
    finish(ec, std::move(results)...);
  }
  void end(error_code ec) { finish(ec, Results()...); }
  // Completes the handler, and goes on without one.
  void stop_waiting() { core_->complete(handler_, asio::error::operation_aborted, Results()...); }

  void on_close() override { end(error::closed); }
  void abandon() override {
    const auto self = std::move(self_);
    handler_.drop();
  }

  const std::shared_ptr<client_core> core_;
  std::shared_ptr<Derived> self_;  // From its beginning to its end.

 private:
  void finish(error_code ec, Results... results) {
    const auto self = std::move(self_);
    unset();
    activity::unlink();
    if constexpr (std::is_base_of_v<caller, Derived>) static_cast<Derived&>(*this).caller::unlink();
    core_->complete(handler_, ec, std::move(results)...);
  }

  handler handler_;
};

}  // namespace leasehold::detail
