// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// basic_lock::inspect and counting_semaphore::resize: queries about a lock of a known kind.
#pragma once

#include "client/query.hpp"
#include "lock/lock_state.hpp"

#include <leasehold/lock.hpp>

#include <cstdint>
#include <memory>

namespace leasehold::detail {

class inspect_op final : public query<lock_info> {
 public:
  inspect_op(const std::shared_ptr<lock_state>& lock, handler::handler_type h);

 private:
  request request_of(std::uint32_t) const override;
  void take(const outcome&, const answer&) override;

  const std::shared_ptr<const lock_identity> lock_;
};

class resize_op final : public query<void> {
 public:
  resize_op(const std::shared_ptr<lock_state>& lock, handler::handler_type h, std::uint32_t limit);

 private:
  request request_of(std::uint32_t) const override;
  void take(const outcome&, const answer&) override;

  const std::shared_ptr<const lock_identity> lock_;
  const std::uint32_t limit_;
};

}  // namespace leasehold::detail
