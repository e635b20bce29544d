// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A lock of any kind: what it is, and its client.
#pragma once

#include "client/client_core.hpp"
#include "lock/lock_identity.hpp"
#include "protocol/kind.hpp"

#include <leasehold/error.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace leasehold::detail {

class lock_state {
 public:
  // bad: if it is an error, every operation fails with it.
  lock_state(std::shared_ptr<client_handle> h, std::string name, const kind&, const std::string& owner = {},
             std::uint32_t limit = 0, error_code bad = {});

  const std::shared_ptr<client_handle> handle;
  const std::shared_ptr<const lock_identity> identity;
  const error_code bad;
};

}  // namespace leasehold::detail
