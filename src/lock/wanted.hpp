// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// hold::wanted: an operation that waits until another client waits for the lock of a hold.
#pragma once

#include "client/client_core.hpp"
#include "client/pending.hpp"
#include "lock/hold_state.hpp"
#include "lock/registry.hpp"

#include <memory>
#include <string>

namespace leasehold::detail {

// It does not keep the hold alive: a hold that is destroyed ends the operation.
class wanted_op final : public loss_listener,
                        public wanted_listener,
                        public caller,
                        public alarm,
                        public std::enable_shared_from_this<wanted_op> {
 public:
  wanted_op(const std::shared_ptr<hold_state>& hold, hold_handler handler);

  static void start(const std::shared_ptr<hold_state>& hold, hold_handler handler);

  // The hold is lost (success), or was released.
  void complete(error_code) override;
  void abandon() override;

 private:
  void begin(const std::shared_ptr<hold_state>&);
  void ask();
  void cancel();
  void end(error_code);

  const lock_identity& wanted_lock() const override { return *lock_; }
  std::shared_ptr<wanted_listener> shared_listener() override { return shared_from_this(); }
  void on_wanted() override { end(error_code()); }
  void on_gap() override { ask(); }
  bool is_first_wanted() override;

  request request_of(std::uint32_t) const override;
  bool wants(std::uint32_t) const override { return listens_; }
  turn turn_of(std::uint32_t) const override { return turn::keeps; }
  void answered(std::uint32_t, const answer&) override;
  void ring(clock::time_point) override { ask(); }

  const std::shared_ptr<client_core> core_;
  const std::shared_ptr<const lock_identity> lock_;
  const std::string token_;
  const std::weak_ptr<hold_state> hold_;
  pending<void(error_code)> handler_;
  bool listens_ = false;
  bool asking_ = false;
  bool asks_again_ = false;  // After the answer that is expected.
};

}  // namespace leasehold::detail
