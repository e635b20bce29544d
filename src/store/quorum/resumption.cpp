// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// How a quorum goes on with a hold that another client has detached: a ballot that renews it, and a claim that this
// client has not made by an attempt of its own.
#include "protocol/scripts.hpp"
#include "store/quorum/ballot.hpp"
#include "store/quorum/claim.hpp"
#include "store/quorum/majority.hpp"
#include "store/quorum/quorum_store.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

namespace leasehold::detail {

// Every server may have the hold, so the release goes to every server.
std::shared_ptr<claim> quorum_store::resumed_claim(const kept_request& r) {
  kept_request attempt(r);
  attempt.verb = verb::acquire;
  attempt.fence_text.clear();
  const auto c = claim_of(attempt);
  c->resumes(attempt);
  return c;
}

void claim::resumes(const kept_request& attempt) {
  for (auto& p : places_) p.asked = true;
  if (fence_ != 0) return;
  // Another client may have downgraded it since this client had it, and servers may have missed that.
  attempt_ = attempt;
  was_writer_ = attempt_.of_kind == &scripts::shared_mutex && attempt_.ask.starts_with('r');
}

void claim::forget_unless_held() {
  if (fence_ == 0 && !releasing_) end();
}

// When the hold was granted, a majority had its fence exactly, and no other one has a smaller fence and counts. So at
// least one server has it still: otherwise the fence of the ticket was made up.
void ballot::decide_resumption(bool late) {
  std::uint64_t fence = 0;
  std::from_chars(request_.fence_text.data(), request_.fence_text.data() + request_.fence_text.size(), fence);
  std::vector<std::chrono::milliseconds> lefts;
  bool is_known = false;
  std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
  for (const auto& v : voices_) {
    // A writer's token with a larger fence has become a reader's.
    if (v.said != answer_is::yes || v.fence < fence || (is_writer() && v.fence != fence)) continue;
    is_known = is_known || v.fence == fence;
    lefts.push_back(comparable(v.left));
    earliest = std::min(earliest, v.server_time);
  }
  const auto pending = count(answer_is::pending);
  const auto unknown = pending + count(answer_is::missing) + count(answer_is::error);
  if (lefts.size() >= quorum_.majority() && is_known && !is_releasing()) {
    // An earlier resumption of the token has ended without a majority, and its claim with it.
    if (quorum_.find_claim(request_.token) != claim_) return end_undecided();
    const bool was_held = claim_->fence() != 0;
    claim_->granted(fence);
    if (!was_held && caller_ && !caller_->wants(tag_)) claim_->let_go();
    return end_with(status::held, fence, nth_largest(lefts, quorum_.majority()), 1, earliest);
  }
  // Servers that have the token with a smaller fence do not have this hold.
  const bool possible = lefts.size() + unknown >= quorum_.majority() && (is_known || unknown != 0);
  if (possible && pending != 0 && !late) return;
  const auto resumed = claim_;
  if (!possible) {
    end_with(status::not_held, 0, std::chrono::milliseconds(0));
  } else if (!end_with_error()) {
    end_undecided();
  }
  resumed->forget_unless_held();
}

}  // namespace leasehold::detail
