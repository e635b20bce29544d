// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a fence says (docs/protocol.md, "Fences").
#pragma once

#include <chrono>
#include <cstdint>

namespace leasehold::detail {

// A fence is G * 2048 + i: i counts the passes since the last grant by Redis.
inline constexpr std::uint64_t passes_per_fence = 2048;

// G is the instant of the grant in microseconds, by the server's clock. Its 53 bits fit a time_point in nanoseconds.
inline std::chrono::system_clock::time_point granted_at(std::uint64_t fence) {
  return std::chrono::system_clock::time_point(
      std::chrono::microseconds(static_cast<std::int64_t>(fence / passes_per_fence)));
}

}  // namespace leasehold::detail
