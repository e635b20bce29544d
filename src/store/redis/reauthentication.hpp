// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Decides when client_options::credentials is asked again for a connection that is up. No I/O, no clock and no
// randomness of its own.
#pragma once

#include "time/clock.hpp"
#include "time/pauses.hpp"

#include <leasehold/acquire_options.hpp>
#include <leasehold/client.hpp>

#include <algorithm>
#include <chrono>

namespace leasehold::detail {

class reauthentication {
 public:
  // At least this long before the credentials expire, if they last for longer.
  static constexpr std::chrono::seconds reserve{1};
  // Credentials that last for no time at all are not asked for more often.
  static constexpr std::chrono::milliseconds least_pause{200};

  explicit reauthentication(const backoff& b) : pauses_(b) {}

  // How long the credentials last; max(): until the end of the connection.
  static clock::duration left_of(const credentials& c, std::chrono::steady_clock::time_point now) {
    using point = std::chrono::steady_clock::time_point;
    if (c.expires == point::max()) return clock::duration::max();
    return c.expires <= now ? clock::duration(0) : std::chrono::duration_cast<clock::duration>(c.expires - now);
  }

  // The connection is authenticated with credentials that last for `left`. Returns when to ask for the next ones;
  // max(): never.
  clock::time_point accepted(clock::time_point now, clock::duration left) {
    pauses_.reset();
    if (left == clock::duration::max()) return clock::time_point::max();
    clock::duration wait = left / 5 * 4;
    if (left > reserve) wait = std::min<clock::duration>(wait, left - reserve);
    return later(now, std::max<clock::duration>(wait, least_pause));
  }

  // There were no new ones, or the server has refused them. Returns when to ask again. `random`: uniform in [0, 1).
  clock::time_point failed(clock::time_point now, double random) { return later(now, pauses_.next(random)); }

 private:
  pauses pauses_;
};

}  // namespace leasehold::detail
