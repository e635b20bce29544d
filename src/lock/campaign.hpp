// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// election::campaign, leadership::proclaim and election::leader.
#pragma once

#include "client/operation.hpp"
#include "client/query.hpp"
#include "lock/leader_term.hpp"
#include "lock/lock_state.hpp"

#include <leasehold/election.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <memory>
#include <optional>

namespace leasehold::detail {

// Acquires the mutex, and proclaims the value before it completes.
class campaign_op final : public proclaim_listener, public operation<campaign_op, leadership> {
 public:
  campaign_op(std::shared_ptr<lock_state> lock, handler::handler_type h, const acquire_options& options,
              shared_text value);
  static void start(const std::shared_ptr<lock_state>& lock, handler::handler_type h, const acquire_options& options,
                    shared_text value);

 private:
  void begin() override;
  void acquired(error_code, hold);
  void proclaimed(error_code) override;
  bool is_left() const override { return is_over(); }
  void cancel() override { leave(asio::error::operation_aborted); }
  void on_close() override { leave(error::closed); }
  void on_stopped() override { end(error::closed); }
  void ring(clock::time_point) override;
  void abandon() override;

  void leave(error_code why);
  void resign(error_code outcome);

  const std::shared_ptr<lock_state> lock_;
  const acquire_options options_;
  const shared_text value_;

  asio::cancellation_signal stop_acquiring_;
  bool acquiring_ = false;
  hold hold_;
  std::shared_ptr<leader_term> term_;
  bool resigning_ = false;
  error_code outcome_;
};

class proclaim_op final : public proclaim_listener, public operation<proclaim_op> {
 public:
  proclaim_op(std::shared_ptr<hold_state> hold, handler::handler_type h, std::shared_ptr<leader_term> term,
              shared_text value)
      : operation(hold->core(), std::move(h)),
        hold_(std::move(hold)),
        term_(std::move(term)),
        value_(std::move(value)) {}
  void start() { launch(stops_waiting); }

 private:
  void begin() override;
  void proclaimed(error_code ec) override {
    if (!is_over()) end(ec);
  }
  bool is_left() const override { return is_over(); }
  void ring(clock::time_point) override;

  const std::shared_ptr<hold_state> hold_;
  const std::shared_ptr<leader_term> term_;
  const shared_text value_;
};

class leader_op final : public query<std::optional<leader_info>> {
 public:
  leader_op(const std::shared_ptr<lock_state>& lock, handler::handler_type h)
      : query(lock->handle, lock->identity->record, std::move(h)), lock_(lock->identity) {}

 private:
  request request_of(std::uint32_t) const override;
  void take(const outcome&, const answer&) override;

  const std::shared_ptr<const lock_identity> lock_;
};

}  // namespace leasehold::detail
