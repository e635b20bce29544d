// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// acquire_all: one script if all locks are free, otherwise one lock after the other.
#pragma once

#include "client/operation.hpp"
#include "lock/acquire.hpp"
#include "lock/attempts.hpp"
#include "lock/lock_state.hpp"
#include "lock/release.hpp"

#include <leasehold/acquire_all.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::detail {

class acquire_all_op final : public caller, public operation<acquire_all_op, std::vector<hold>> {
 public:
  acquire_all_op(std::shared_ptr<lock_group> locks, const acquire_options& options, handler::handler_type h);
  static void start(const std::shared_ptr<lock_group>& locks, const acquire_options& options, handler::handler_type h);

 private:
  // On the strand of the first lock's client, like everything in this class.
  void begin() override;
  void cancel() override { leave(asio::error::operation_aborted); }
  void begin_again();
  std::vector<std::string> asks() const;
  error_code check() const;
  request request_of(std::uint32_t) const override;
  void sent(std::uint32_t, const sending&) override;
  bool wants(std::uint32_t) const override;
  void answered(std::uint32_t, const answer&) override;
  void take(const answer&);
  void take_all(const answer&);
  void on_close() override { leave(error::closed); }
  void on_stopped() override { complete(error::closed); }
  void abandon() override;
  void ring(clock::time_point now) override;

  void acquire_next();
  void acquired(error_code, hold);
  void leave(error_code why);
  void limit_leaving();
  void release_all(error_code outcome);
  void release_holds();
  void released();
  void complete(error_code);

  const std::shared_ptr<lock_group> locks_;
  const acquire_options options_;

  std::vector<std::size_t> order_;  // Of acquiring the locks one by one: by the bytes of their records.
  bool one_server_ = true;          // All locks are on one server,
  bool one_slot_ = true;            // and in one slot.
  clock::time_point began_{};
  clock::time_point deadline_ = clock::time_point::max();

  // The single script.
  std::vector<std::string> tokens_, asks_;  // As they were sent,
  std::vector<member_request> members_;     // in these.
  attempts attempt_;
  bool asking_ = false;

  // One lock after the other.
  std::size_t next_ = 0;  // An index into order_.
  asio::cancellation_signal stop_next_;
  bool acquiring_ = false;
  clock::time_point leave_by_ = clock::time_point::max();  // Set if the deadline passes during an acquire.

  std::vector<hold> holds_;
  std::size_t releases_under_way_ = 0;  // Answers to releases that are still to come, of earlier attempts, too.
  bool leaving_ = false;
  bool releasing_ = false;
  error_code outcome_;
};

}  // namespace leasehold::detail
