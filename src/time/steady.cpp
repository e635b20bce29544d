// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "time/clock.hpp"

#include <algorithm>
#include <atomic>

namespace leasehold::detail {
namespace {

// How far this clock is ahead of steady_clock. That grows while the machine sleeps, and only then. A difference that is
// less than a sleep is the time between the two readings: it is ignored, so that the same instant is always converted
// the same way.
clock::duration ahead_of_steady() noexcept {
  static std::atomic<clock::duration> known{clock::duration::min()};
  constexpr auto least_sleep = std::chrono::milliseconds(1);
  constexpr auto short_enough = std::chrono::microseconds(100);
  auto found = clock::duration::max();
  for (int i = 0; i < 10; ++i) {
    // The other clock is read first, so that a pause makes an instant earlier, never later.
    const auto steady = std::chrono::steady_clock::now();
    found = std::min(found, clock::duration(clock::now().time_since_epoch() - steady.time_since_epoch()));
    if (std::chrono::steady_clock::now() - steady < short_enough) break;
  }
  auto before = known.load(std::memory_order_relaxed);
  if (before != clock::duration::min() && std::chrono::abs(found - before) < least_sleep) return before;
  // If another thread was first, both have measured the same.
  return known.compare_exchange_strong(before, found, std::memory_order_relaxed) ? found : before;
}

}  // namespace

std::chrono::steady_clock::time_point to_steady(clock::time_point t) noexcept {
  if (t == clock::time_point::max()) return std::chrono::steady_clock::time_point::max();
  if (t == clock::time_point::min()) return std::chrono::steady_clock::time_point::min();
  return later(std::chrono::steady_clock::time_point(), t.time_since_epoch() - ahead_of_steady());
}

}  // namespace leasehold::detail
