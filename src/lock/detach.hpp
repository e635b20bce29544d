// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// hold::detach: makes a ticket of a hold.
#pragma once

#include "client/operation.hpp"
#include "lock/hold_state.hpp"

#include <leasehold/ticket.hpp>

#include <cstdint>
#include <memory>

namespace leasehold::detail {

// The request that it sends renews the hold, or confirms it. So the lease runs in full from then on, and Redis has said
// which fence the record has. A writer that may have become a reader, because its downgrade was not answered, becomes
// one first: later the downgrade would change the fence.
class detach_op final : public caller, public operation<detach_op, ticket> {
 public:
  detach_op(std::shared_ptr<hold_state> hold, handler::handler_type h);
  static void start(const std::shared_ptr<hold_state>& hold, handler::handler_type h);

 private:
  enum : std::uint32_t { renewing, downgrading };

  request request_of(std::uint32_t) const override;
  void sent(std::uint32_t tag, const sending&) override {
    if (tag == renewing) hold_->lengthens(hold_->lease());
  }
  bool wants(std::uint32_t) const override { return !hold_->loss_reported() && !hold_->released(); }
  turn turn_of(std::uint32_t) const override { return turn::keeps; }
  void answered(std::uint32_t, const answer&) override;
  void end_released(std::uint32_t tag, const answer&);
  void store_is_up() override { send(); }
  void store_refuses(error_code ec) override { end(ec); }
  void ring(clock::time_point) override;

  void begin() override;
  void send();
  void try_again();
  // Why the hold cannot be detached any more.
  error_code gone() const;

  const std::shared_ptr<hold_state> hold_;
  clock::time_point give_up_at_{};
  bool asking_ = false;
};

}  // namespace leasehold::detail
