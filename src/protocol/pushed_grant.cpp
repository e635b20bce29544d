// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/pushed_grant.hpp"

#include "protocol/fence.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace leasehold::detail {
namespace {

// The longest lease of a grant that is still to be confirmed (lua/shared/call.lua).
constexpr std::chrono::milliseconds unconfirmed{2000};

// A fence is G * 2048, and G is the server's clock in microseconds unless that was stepped back. After a step back by
// more than this, each hand-off costs one more round trip until the clock has caught up.
constexpr std::chrono::minutes most_ahead{1};

}  // namespace

std::optional<pushed_grant> read_pushed_grant(std::string_view text) noexcept {
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto next = [&](auto& number) {
    const auto [stopped, ec] = std::from_chars(at, end, number);
    if (ec != std::errc() || (stopped != end && *stopped != ' ')) return false;
    at = stopped == end ? end : stopped + 1;
    return true;
  };
  pushed_grant g;
  clock::rep stamp = 0;
  std::int64_t lease = 0;
  if (!next(g.fence) || !next(stamp) || !next(lease) || (at != end && !next(g.depth)) || at != end) return std::nullopt;
  // Longer leases are never granted, and the bound leaves room for arithmetic.
  if (stamp <= 0 || lease <= 0 || lease > unconfirmed.count()) return std::nullopt;
  g.stamp = clock::time_point(clock::duration(stamp));
  g.lease = std::chrono::milliseconds(lease);
  return g;
}

// The fence must show that the grant came after the server's last reply, and not after now.
bool grant_check::believes(const pushed_grant& g, std::chrono::milliseconds asked, clock::time_point now) const {
  if (g.stamp <= clock::time_point() || g.stamp > now || g.lease > asked || server_time_ == 0) return false;
  if (std::find(stamps_.begin(), stamps_.end(), g.stamp) == stamps_.end()) return false;
  if (g.fence > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
  const auto granted = static_cast<std::int64_t>(g.fence / passes_per_fence);
  const auto passed = std::chrono::ceil<std::chrono::microseconds>(now - server_time_sent_ + most_ahead);
  return granted >= server_time_ && granted - server_time_ <= passed.count();
}

}  // namespace leasehold::detail
