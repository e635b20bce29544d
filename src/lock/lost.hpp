// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// hold::lost: an operation that waits for the loss of a hold.
#pragma once

#include "client/client_core.hpp"
#include "client/pending.hpp"
#include "lock/hold_state.hpp"

#include <boost/asio/error.hpp>

#include <memory>

namespace leasehold::detail {

// Waits in hold_state::waiters_. It does not keep the hold alive: a hold that is destroyed ends the operation.
class lost_op final : public loss_listener {
 public:
  lost_op(const std::shared_ptr<hold_state>& hold, hold_handler handler)
      : core_(hold->core()), hold_(hold), handler_(std::move(handler), core_->fallback()) {}

  static void start(const std::shared_ptr<hold_state>& hold, hold_handler handler) {
    auto op = std::make_shared<lost_op>(hold, std::move(handler));
    op->handler_.connect_cancellation(op, any_type,
                                      [](const std::shared_ptr<lost_op>& o) { o->core_->post([o] { o->cancel(); }); });
    op->core_->post([op, hold] {
      if (op->handler_) hold->wait_for_loss(op);
    });
  }

  void complete(error_code ec) override { core_->complete(handler_, ec); }
  void abandon() override { handler_.drop(); }

 private:
  void cancel() {
    if (!handler_) return;
    if (const auto hold = hold_.lock()) hold->forget(*this);
    complete(asio::error::operation_aborted);
  }

  const std::shared_ptr<client_core> core_;
  const std::weak_ptr<hold_state> hold_;
  pending<void(error_code)> handler_;
};

}  // namespace leasehold::detail
