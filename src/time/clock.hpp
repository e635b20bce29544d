// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The only source of time.
#pragma once

#include <chrono>

namespace leasehold {

// system::uptime(): it is monotonic, and runs on while the machine sleeps, as the leases on the server do.
// (steady_clock stands still during suspend: a hold would look valid after Redis has granted the lock to another
// client.)
struct clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<clock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept;
};

namespace detail {

// Moves the clock forward for this process: for tests only (leasehold::testing). An instant that was read before the
// call is then d earlier.
void move_clock(clock::duration d) noexcept;

// t + d, at most time_point::max(): every sum of durations saturates.
template <class Clock, class Duration, class Rep, class Period>
constexpr std::chrono::time_point<Clock, Duration> later(std::chrono::time_point<Clock, Duration> t,
                                                         std::chrono::duration<Rep, Period> d) {
  using point = std::chrono::time_point<Clock, Duration>;
  if (d > std::chrono::duration_cast<std::chrono::duration<Rep, Period>>(point::max() - t)) return point::max();
  return t + std::chrono::duration_cast<Duration>(d);
}

// The same instant on std::chrono::steady_clock, provided that the machine does not sleep in between.
std::chrono::steady_clock::time_point to_steady(clock::time_point) noexcept;

// A sleeping machine stops the timers of steady_clock but not this clock. So timers on this clock check it at least
// once a second.
struct wait_traits {
  static clock::duration to_wait_duration(const clock::duration& d) {
    return d < std::chrono::seconds(1) ? d : clock::duration(std::chrono::seconds(1));
  }
  static clock::duration to_wait_duration(const clock::time_point& t) { return to_wait_duration(t - clock::now()); }
};

}  // namespace detail
}  // namespace leasehold
