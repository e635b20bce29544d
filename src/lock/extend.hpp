// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// hold::extend and hold::downgrade: the operations that change a hold while it lives.
#pragma once

#include "client/operation.hpp"
#include "lock/hold_state.hpp"

#include <chrono>
#include <memory>
#include <optional>

namespace leasehold::detail {

class extend_op final : public caller, public operation<extend_op> {
 public:
  extend_op(std::shared_ptr<hold_state> hold, hold_handler h, std::optional<std::chrono::milliseconds> lease);
  static void start(const std::shared_ptr<hold_state>& hold, hold_handler h,
                    std::optional<std::chrono::milliseconds> lease);

 private:
  request request_of(std::uint32_t) const override;
  void sent(std::uint32_t, const sending&) override;
  bool wants(std::uint32_t) const override;
  turn turn_of(std::uint32_t) const override { return turn::keeps; }
  void answered(std::uint32_t, const answer&) override;
  void end_released(const answer&);
  void store_is_up() override { send(); }
  void store_refuses(error_code ec) override { end(ec); }
  void ring(clock::time_point) override;

  void begin() override;
  // The request goes on, and is repeated if it must be.
  void cancel() override { stop_waiting(); }
  error_code bad() const;
  void send();
  bool has_ended() const { return self_ == nullptr; }

  const std::shared_ptr<hold_state> hold_;
  const std::optional<std::chrono::milliseconds> lease_;  // None: downgrade.
  clock::time_point give_up_at_{};
  bool asking_ = false;
  bool is_expected_ = false;   // A downgrade, by the hold.
  bool may_have_run_ = false;  // One of the requests before.
};

}  // namespace leasehold::detail
