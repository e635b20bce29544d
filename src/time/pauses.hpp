// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The pauses that a backoff describes. No I/O, no clock, no randomness of its own.
#pragma once

#include <leasehold/acquire_options.hpp>

#include <algorithm>
#include <chrono>

namespace leasehold::detail {

class pauses {
 public:
  explicit pauses(const backoff& b) : backoff_(b), next_(static_cast<double>(b.first.count())) {}

  // `random`: uniform in [0, 1).
  std::chrono::nanoseconds next(double random) {
    const double longest = static_cast<double>(backoff_.max.count());
    const double whole = std::min(next_, longest);
    next_ = std::min(next_ * backoff_.factor, longest);
    const std::chrono::duration<double, std::milli> pause(whole * (1.0 - backoff_.jitter * random));
    return std::chrono::duration_cast<std::chrono::nanoseconds>(pause);
  }

  void reset() { next_ = static_cast<double>(backoff_.first.count()); }

 private:
  backoff backoff_;
  double next_;
};

}  // namespace leasehold::detail
