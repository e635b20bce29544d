// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// client::resume: goes on with a hold that was detached.
#pragma once

#include "client/query.hpp"
#include "lock/hold_state.hpp"
#include "lock/lock_identity.hpp"
#include "protocol/ticket_text.hpp"

#include <leasehold/hold.hpp>
#include <leasehold/ticket.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace leasehold::detail {

class resume_op final : public query<hold> {
 public:
  // lock: that of the ticket; null for an empty ticket.
  resume_op(const std::shared_ptr<client_handle>& handle, handler::handler_type h,
            std::shared_ptr<const ticket_fields> detached, std::shared_ptr<const lock_identity> lock,
            const resume_options& options);
  static void start(const std::shared_ptr<client_handle>& handle, handler::handler_type h,
                    std::shared_ptr<const ticket_fields> detached, const resume_options& options);

 private:
  request request_of(std::uint32_t) const override;
  turn turn_of(std::uint32_t) const override { return turn::keeps; }
  void take(const outcome&, const answer&) override;
  bool takes_refusal(const outcome&) override;

  hold resumed(const answer&) const;

  const std::shared_ptr<const ticket_fields> detached_;
  const std::shared_ptr<const lock_identity> lock_;
  const resume_options options_;
  const std::chrono::milliseconds lease_;
  const std::string recorded_;  // The fence in the record, as a text.
};

}  // namespace leasehold::detail
