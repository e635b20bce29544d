// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The client's knowledge of a server's clock, from the times in its replies. No I/O, no clock of its own.
#pragma once

#include "time/clock.hpp"

#include <algorithm>

#include <chrono>
#include <cstdint>
#include <utility>

namespace leasehold::detail {

// A reply that says "c" was made between the sending of its request and its own arrival. So the difference between the
// server's clock and ours lies in [c - received, c - sent]. The intervals of all replies are intersected. Before that,
// the interval known so far is widened by `drift` of the time passed (clocks run at different rates, up to what the
// leases allow for). A reply whose interval lies wholly above the known one proves that the server's clock was stepped
// forward.
class server_clock {
 public:
  explicit server_clock(double drift) : drift_(drift) {}

  // Forgets everything, for another server.
  void reset() { known_ = false; }
  bool known() const { return known_; }

  // Returns by how much the server's clock may have been stepped forward since the last reply; 0 if it was not. (Each
  // lease that began before then ends that much earlier for us.) A step back is followed and harmless: leases end
  // later. An impossible time is ignored.
  clock::duration observe(std::int64_t server_microseconds, clock::time_point sent, clock::time_point received) {
    if (server_microseconds <= 0 || server_microseconds > latest_time) return clock::duration(0);
    const clock::duration server = std::chrono::microseconds(server_microseconds);
    const clock::duration low = server - received.time_since_epoch();
    const clock::duration high = server - sent.time_since_epoch();
    clock::duration jump{0};
    if (known_) {
      const clock::duration oldest_low = low_ - slack(received);
      const clock::duration oldest_high = high_ + slack(received);
      if (low > oldest_high) {
        jump = std::min<clock::duration>(high - low_, longest_jump);
      } else if (high >= oldest_low) {
        low_ = std::max(low, oldest_low);
        high_ = std::min(high, oldest_high);
        at_ = sent;
        return clock::duration(0);
      }
    }
    known_ = true;
    low_ = low;
    high_ = high;
    at_ = sent;
    return jump;
  }

  // The server's clock at a local instant, in microseconds: never less than what it really shows.
  std::int64_t latest(clock::time_point local) const {
    const auto at_most = local.time_since_epoch() + high_ + slack(local);
    return std::chrono::duration_cast<std::chrono::microseconds>(at_most).count() + 1;
  }

  // How much `latest(local)` may be ahead of the server's clock.
  clock::duration uncertainty(clock::time_point local) const {
    return high_ - low_ + 2 * slack(local) + std::chrono::microseconds(2);
  }

  // The not-after of a request that is sent now and may take `limit`, and the local instant at which it has certainly
  // passed.
  std::pair<std::int64_t, clock::time_point> not_after(clock::time_point now, std::chrono::milliseconds limit) const {
    // The server's clock may be behind the instant computed here by the uncertainty, and may run slower by the drift.
    const auto on_a_slow_server = (clock::duration(limit) + uncertainty(now)) / (1 - drift_);
    const auto passed = later(now, std::chrono::duration_cast<clock::duration>(on_a_slow_server));
    return {latest(now) + std::chrono::microseconds(limit).count(), passed};
  }

 private:
  // In the year 2106. In nanoseconds it leaves room for sums.
  static constexpr std::int64_t latest_time = (std::int64_t{1} << 32) * 1000000;
  // Longer than any lease, so it has the same effect as any longer step. Deadlines may be shortened by hundreds of
  // them.
  static constexpr std::chrono::hours longest_jump{24 * 365};

  // How far the server's clock may have drifted from ours since the last reply.
  clock::duration slack(clock::time_point now) const {
    const auto passed = std::max(now - at_, clock::duration(0));
    return std::chrono::duration_cast<clock::duration>(passed * drift_) + std::chrono::milliseconds(1);
  }

  double drift_;
  bool known_ = false;
  clock::duration low_{0};
  clock::duration high_{0};
  clock::time_point at_{};  // When the interval was true; it widens from then on.
};

}  // namespace leasehold::detail
