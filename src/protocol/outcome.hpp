// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What has come of a request: the reply of its script, read once, by the store. A quorum makes one of the outcomes that
// its servers have reported.
#pragma once

#include "protocol/inspection.hpp"
#include "protocol/lease_reply.hpp"
#include "protocol/refusal.hpp"
#include "protocol/reply.hpp"
#include "protocol/request.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace leasehold::detail {

struct outcome {
  // An error, in these words. The view is valid during caller::answered.
  std::optional<refusal> refused;
  std::string_view words;
  bool may_have_written = false;  // The error came when the script was under way.
  // acquire, confirm, renew, keep (if it was kept), refresh, downgrade, resize, raise; acquire_all: of the lock that
  // was not granted.
  lease_reply lease;
  bool released = false;                        // release, rest, keep
  std::uint32_t acknowledged = 0;               // The number of replicas, see store::run_acknowledged.
  std::shared_ptr<const inspection> inspected;  // inspect
  // acquire_all: what was granted, otherwise null. list, show, break_lock, scan: the reply (lock_replies.hpp).
  // proclaim, withdraw, leader: the reply (leader_reply.hpp).
  const reply* scalars = nullptr;

  // acquire_all: so many locks were granted.
  bool granted_all(std::size_t members) const { return scalars != nullptr && scalars->size() == members; }
  // The lease of one of them.
  lease_reply lease_of(std::size_t member) const { return lease_reply(scalars->text(member)); }
};

// The reply must outlive the outcome.
outcome read_outcome(verb, const reply&);

// The outcome of an error.
outcome refused(refusal, std::string_view words);

}  // namespace leasehold::detail
