// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/lock_state.hpp"

#include "client/options.hpp"

#include <utility>

namespace leasehold::detail {
namespace {

std::shared_ptr<const lock_identity> classified(std::shared_ptr<lock_identity> lock, client_core& core) {
  lock->its_class = core.class_of(lock->name);
  return lock;
}

}  // namespace

lock_state::lock_state(std::shared_ptr<client_handle> h, std::string name, const kind& k, const std::string& owner,
                       std::uint32_t limit, error_code b)
    : handle(std::move(h)),
      identity(classified(std::make_shared<lock_identity>(handle->core->keys(), std::move(name), k, owner, limit),
                          *handle->core)),
      bad(b ? b : check_name(identity->name, identity->record)) {}

}  // namespace leasehold::detail
