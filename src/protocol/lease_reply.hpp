// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the scripts report about a lease.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace leasehold::detail {

// For the client no lease lasts longer than this: the sum of such a time and a clock's time never overflows.
inline constexpr std::chrono::milliseconds longest_left = std::chrono::hours(24 * 365 * 100);

inline std::chrono::milliseconds bounded_left(std::int64_t ms) {
  return std::chrono::milliseconds(std::clamp<std::int64_t>(ms, -1, longest_left.count()));
}

// A script's answer about a lease (docs/protocol.md, "The scripts").
enum class status : std::int8_t {
  other_limit = -2,    // Of a semaphore: `left` is its limit.
  too_late = -1,       // The call has arrived after its not-after.
  not_held = 0,        // The token has no hold: the lock is busy, or the hold has ended.
  held = 1,            // The token has been granted now, or was before.
  waits_in_front = 2,  // The token waits in the queue, first or second;
  waits = 3,           // further back; or others wait (refresh: 2).
};

// For an acquire: other clients have the lock.
constexpr bool is_busy(status s) { return s == status::not_held || s == status::waits_in_front || s == status::waits; }

// The answer to acquire and renew: "<status> <fence> <left> <s> <us>[ <depth>]" (lua/shared/lock.lua).
struct lease_reply {
  lease_reply() = default;
  explicit lease_reply(std::string_view text) noexcept;

  bool understood = false;
  detail::status status = detail::status::not_held;
  std::uint64_t fence = 0;
  std::chrono::milliseconds left{0};
  std::int64_t server_time = 0;  // Microseconds.
  std::uint32_t depth = 1;       // How many times the owner of a recursive mutex holds it.
};

}  // namespace leasehold::detail
