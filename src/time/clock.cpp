// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "time/clock.hpp"

#include <time.h>

namespace leasehold {

// Alone in its file: a simulation links another one.
clock::time_point clock::now() noexcept {
  timespec t{};
#ifdef CLOCK_BOOTTIME
  ::clock_gettime(CLOCK_BOOTTIME, &t);
#else
  ::clock_gettime(CLOCK_MONOTONIC, &t);
#endif
  return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

}  // namespace leasehold
