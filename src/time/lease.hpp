// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The arithmetic of leases. No I/O, no clock of its own.
#pragma once

#include "time/clock.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>

namespace leasehold::detail {

// How much earlier than on the server a lease is taken to end. This allows for clocks that run at different rates, and
// for Redis's resolution of a millisecond ("Distributed Locks with Redis", redis.io).
struct drift_allowance {
  double ratio = 0.01;
  std::chrono::milliseconds floor{2};

  clock::duration of(std::chrono::milliseconds lease) const {
    const auto proportional = std::chrono::duration<double, std::milli>(static_cast<double>(lease.count()) * ratio);
    return std::chrono::duration_cast<clock::duration>(proportional) + floor;
  }
};

// The local deadline after a request that was answered. The request was sent at `sent`, and certainly ran before the
// lease of `lease` began or was last lengthened. `left` is what was left then according to the server (negative: the
// key has no expiry).
inline clock::time_point local_deadline(clock::time_point sent, std::chrono::milliseconds lease,
                                        std::chrono::milliseconds left, const drift_allowance& drift) {
  const auto sure = left.count() < 0 ? lease : std::min(lease, left);
  return later(sent, sure) - drift.of(sure);
}

// When to renew: after a third of the time until `lost` (the instant at which the loss would be reported), so that two
// more attempts fit. It may be up to a sixteenth of that time sooner, so that renewals go out together: all that are
// due within such a step are due at its beginning. `phase` is the client's own, so that the clients of a machine do not
// all renew at the same instants.
inline clock::time_point renewal_due(clock::time_point now, clock::time_point lost, clock::duration phase) {
  const auto third = (lost - now) / 3;
  constexpr clock::duration least = std::chrono::milliseconds(1);
  if (third <= least) return now + least;
  const clock::duration step(std::bit_floor(static_cast<std::uint64_t>(third.count() / 16)));
  const auto due = now + third;
  return due - (due.time_since_epoch() + phase) % step;
}

// How long a renewal, and everything else on its connection, may go unanswered before another connection is the better
// choice: a third of `usable`, the lease before its margin, so that another attempt fits; but at least half a second,
// so that the client does not leave a server that stops for a moment.
inline std::chrono::milliseconds renewal_patience(std::chrono::milliseconds usable) {
  return std::max(usable / 3, std::chrono::milliseconds(500));
}

}  // namespace leasehold::detail
