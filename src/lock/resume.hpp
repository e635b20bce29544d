// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// client::resume: goes on with a hold that was detached.
#pragma once

#include "client/operation.hpp"
#include "lock/hold_state.hpp"
#include "lock/lock_identity.hpp"
#include "protocol/ticket_text.hpp"

#include <leasehold/hold.hpp>
#include <leasehold/ticket.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace leasehold::detail {

class resume_op final : public caller, public operation<resume_op, hold> {
 public:
  resume_op(std::shared_ptr<client_handle> handle, handler::handler_type h,
            std::shared_ptr<const ticket_fields> detached, const resume_options& options);
  static void start(const std::shared_ptr<client_handle>& handle, handler::handler_type h,
                    std::shared_ptr<const ticket_fields> detached, const resume_options& options);

 private:
  request request_of(std::uint32_t) const override;
  bool wants(std::uint32_t) const override { return !is_over(); }
  turn turn_of(std::uint32_t) const override { return turn::keeps; }
  void answered(std::uint32_t, const answer&) override;
  void store_is_up() override { send(); }
  void store_refuses(error_code ec) override { end(ec); }
  void ring(clock::time_point) override;

  void begin() override;
  error_code check();
  void send();
  void try_again();
  hold resumed(const answer&) const;

  const std::shared_ptr<client_handle> handle_;
  const std::shared_ptr<const ticket_fields> detached_;
  const resume_options options_;
  std::chrono::milliseconds lease_{0};
  std::string recorded_;  // The fence in the record, as a text.
  std::shared_ptr<const lock_identity> lock_;
  clock::time_point give_up_at_{};
  bool asking_ = false;
};

}  // namespace leasehold::detail
