// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// mutex::inspect.
#pragma once

#include "lock_state.hpp"
#include "query.hpp"

#include <leasehold/mutex.hpp>

#include <memory>

namespace leasehold::detail {

class inspect_op final : public query<lock_info> {
 public:
  inspect_op(const std::shared_ptr<lock_state>& lock, handler::handler_type h);

 private:
  void write(std::uint32_t, arguments&) override;
  void take(const reply&) override;

  const std::shared_ptr<const lock_identity> lock_;
};

}  // namespace leasehold::detail
