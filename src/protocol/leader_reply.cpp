// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/leader_reply.hpp"

#include "protocol/fence.hpp"

#include <cstdint>
#include <limits>
#include <utility>

namespace leasehold::detail {
namespace {

// A larger one would be above that of every later leader.
constexpr std::uint64_t largest_fence = std::numeric_limits<std::int64_t>::max();

}  // namespace

leader_reply::leader_reply(const reply& r) : left(r.left(0)) {
  leader_info found;
  std::int64_t number = 0;
  const bool is_number = r.size() != 0 && r.read(0, number);
  const bool says_who = r.size() == 4 && r.read(1, found.fence) && r.read(2, revision);
  const bool possible = found.fence != 0 && found.fence <= largest_fence;
  understood = is_number && (r.size() == 1 || (says_who && possible));
  if (!understood || r.size() == 1 || r.text(3).size() > longest_value) return;
  found.since = granted_at(found.fence);
  found.value = r.text(3);
  leader = std::move(found);
}

proclaim_reply::proclaim_reply(const reply& r) {
  std::int64_t status = 0;
  understood = r.size() == 1 && r.read(0, status) && (status == 0 || status == 1);
  held = understood && status == 1;
}

void leader_view::take(leader_reply r) {
  if (!r.leader) {
    now_.reset();
    return;
  }
  const auto fence = r.leader->fence;
  if (fence < fence_) {
    // The server does not know the newest term (after a failover, for example), so that one is over.
    now_.reset();
    return;
  }
  // The leader repeats its newest value to a server that has lost it.
  if (fence == fence_ && r.revision < revision_) return;
  fence_ = fence;
  revision_ = r.revision;
  now_ = std::move(r.leader);
}

}  // namespace leasehold::detail
