// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a script replies to acquire and renew, and what it publishes to the next waiter.
#pragma once

#include "protocol/lease_reply.hpp"
#include "protocol/pushed_grant.hpp"
#include "time/server_clock.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace leasehold::test {

inline std::string check_lease_reply(std::string_view text) {
  using namespace std::chrono_literals;
  const detail::lease_reply r(text);
  if (!r.understood) return {};
  if (text.find_first_not_of("0123456789- ") != text.npos) return "something is understood that is no numbers";
  if (r.left < -1ms || r.left > detail::longest_left) return "what is left is out of range";
  if (r.fence > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return "the fence is too large";
  if (r.server_time < 0 || r.server_time >= (std::int64_t{1} << 32) * 1000000) return "the time is out of range";
  const detail::lease_reply again(fmt::format("{} {} {} {} {} {}", static_cast<int>(r.status), r.fence, r.left.count(),
                                              r.server_time / 1000000, r.server_time % 1000000, r.depth));
  if (!again.understood || again.status != r.status || again.fence != r.fence || again.left != r.left ||
      again.server_time != r.server_time || again.depth != r.depth) {
    return "written down and read again, it is another one";
  }
  // The sums that are made of it must not overflow.
  const auto now = clock::now();
  detail::server_clock c(0.01);
  c.observe(1700000000000000, now - 1s, now);
  if (c.observe(r.server_time, now, now + 1s) < clock::duration(0))
    return "the clock was stepped forward by less than 0";
  const auto [not_after, passed] = c.not_after(now, 30s);
  if (not_after <= r.server_time && r.server_time > 0) return "a request sent now is late already";
  if (passed < now + 30s) return "a request is late before its limit";
  return {};
}

inline std::string check_pushed_grant(std::string_view text) {
  using namespace std::chrono_literals;
  const auto g = detail::read_pushed_grant(text);
  if (!g) return {};
  if (text.find_first_not_of("0123456789 ") != text.npos) return "something is understood that is no numbers";
  if (g->stamp <= clock::time_point()) return "the stamp is not positive";
  if (g->lease <= 0ms || g->lease > 2s) return "the lease is out of range";
  const auto again = detail::read_pushed_grant(
      fmt::format("{} {} {} {}", g->fence, g->stamp.time_since_epoch().count(), g->lease.count(), g->depth));
  if (!again || again->fence != g->fence || again->stamp != g->stamp || again->lease != g->lease ||
      again->depth != g->depth) {
    return "written down and read again, it is another one";
  }
  detail::grant_check check;
  const auto now = clock::time_point(24h);
  check.busy(1700000000000000, now - 10s);
  if (check.believes(*g, 2s, now)) return "a grant of a stamp that was never sent is believed";
  check.sent(g->stamp);
  const bool believed = check.believes(*g, 2s, now);
  if (believed && g->stamp > now) return "a grant of a request of the future is believed";
  const auto granted_at = g->fence / 2048;
  if (believed && (granted_at < 1700000000000000 || granted_at > 1700000070000000)) {
    return "a grant is believed whose fence is not of its time";
  }
  if (believed && check.believes(*g, g->lease - 1ms, now)) return "a longer lease than was asked for is believed";
  return {};
}

// One text for both: their forms are alike.
inline std::string check_grants(std::string_view text) {
  auto wrong = check_lease_reply(text);
  return wrong.empty() ? check_pushed_grant(text) : wrong;
}

}  // namespace leasehold::test
