// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "clock.hpp"

#include <time.h>

namespace leasehold {

clock::time_point clock::now() noexcept {
  timespec t{};
#ifdef CLOCK_BOOTTIME
  ::clock_gettime(CLOCK_BOOTTIME, &t);
#else
  ::clock_gettime(CLOCK_MONOTONIC, &t);
#endif
  return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

namespace detail {

std::chrono::steady_clock::time_point to_steady(clock::time_point t) noexcept {
  if (t == clock::time_point::max()) return std::chrono::steady_clock::time_point::max();
  if (t == clock::time_point::min()) return std::chrono::steady_clock::time_point::min();
  // The other clock is read first, so that a pause between the two readings makes the answer earlier, never later.
  const auto steady = std::chrono::steady_clock::now();
  return later(steady, t - clock::now());
}

}  // namespace detail
}  // namespace leasehold
