// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// How a renewal writes a hold again on servers that lack it (docs/protocol.md, "Repair of a server that lacks a hold").
#include "store/quorum/ballot.hpp"
#include "store/quorum/claim.hpp"
#include "store/quorum/quorum_store.hpp"
#include "store/quorum/voter.hpp"

#include <algorithm>
#include <chrono>

namespace leasehold::detail {

using std::chrono::milliseconds;

milliseconds ballot::left_at(clock::time_point now) const {
  return std::max(std::chrono::duration_cast<milliseconds>(claim_->until() - now), milliseconds(1));
}

void ballot::restore_where_missing() {
  if (!claim_ || claim_->fence() == 0 || is_releasing() || count(answer_is::yes) < quorum_.majority() ||
      clock::now() >= claim_->until()) {
    return;
  }
  for (const auto& v : quorum_.voters()) {
    auto& its = voices_[v->number];
    if (its.said != answer_is::no || its.asked_to_restore || !v->up()) continue;
    its.asked_to_restore = true;
    claim_->asked(*v);
    ask(*v, restoring);
  }
}

}  // namespace leasehold::detail
