// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Decides when the next connection to a server is made, and to which of its host's addresses. No I/O, no clock and no
// randomness of its own.
#pragma once

#include "time/clock.hpp"
#include "time/pauses.hpp"

#include <leasehold/acquire_options.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::detail {

class reconnection {
 public:
  explicit reconnection(const backoff& b) : longest_pause_(b.max), pauses_(b), pauses_of_short_lived_(slower(b)) {}

  // --- The addresses of a host's name, tried one by one ---

  // The host's name must be resolved before the next connection.
  bool needs_addresses() const { return addresses_.empty(); }
  void found(std::vector<std::string> addresses) {
    number_found_ = std::max<std::size_t>(addresses.size(), 1);
    addresses_ = std::move(addresses);
    std::reverse(addresses_.begin(), addresses_.end());
  }
  // The next address, or the name if it could not be resolved. Each address gets a part of `limit`.
  std::pair<std::string, clock::duration> next_address(const std::string& name, clock::duration limit) {
    if (addresses_.empty()) return {name, limit};
    std::pair next(std::move(addresses_.back()), limit / static_cast<clock::rep>(number_found_));
    addresses_.pop_back();
    return next;
  }

  // --- Pauses ---

  void begins() { is_urgent_ = false; }
  void is_up(clock::time_point now) { up_since_ = now; }
  enum class end {
    not_reached,
    refused,  // By the server's words.
    lost,     // It was up.
  };
  // The connection has ended: returns what comes next. `random`: uniform in [0, 1).
  struct plan {
    end how;
    bool is_reported = true;   // False: another address is tried first.
    clock::duration pause{0};  // Before the next connection.
  };
  plan ended(end how, clock::time_point now, double random) {
    if (how == end::not_reached && !addresses_.empty()) return {.how = how, .is_reported = false};
    if (how != end::not_reached) addresses_.clear();
    // A server that accepts clients and then closes the connection is tried no faster than one that does not answer.
    const bool is_short_lived = how == end::lost && now - up_since_ < longest_pause_;
    if (how == end::lost) pauses_.reset();
    if (how == end::lost && !is_short_lived) pauses_of_short_lived_.reset();
    if (is_urgent_) return {.how = how};
    return {.how = how, .pause = (is_short_lived ? pauses_of_short_lived_ : pauses_).next(random)};
  }
  // The pause while no server to connect to is known.
  clock::duration pause(double random) { return pauses_.next(random); }
  // The pause when another server was announced before the connection began. None for the first in a while (hurry):
  // Sentinels that contradict themselves are not asked in a loop.
  clock::duration pause_unless_urgent(double random) {
    return std::exchange(is_urgent_, false) ? clock::duration(0) : pause(random);
  }

  // The client must connect to another server: without a pause, but not more often than one pause takes. True: a pause
  // that is under way ends, too.
  bool hurry(clock::time_point now) {
    if (hurried_at_ && now - *hurried_at_ < longest_pause_) return false;
    hurried_at_ = now;
    is_urgent_ = true;
    return true;
  }

 private:
  // For a server whose connections end as soon as they are up: fewer than ten connections in ten seconds by default.
  static backoff slower(backoff b) {
    b.factor *= b.factor;
    b.max *= 4;
    return b;
  }

  const std::chrono::milliseconds longest_pause_;
  pauses pauses_;
  pauses pauses_of_short_lived_;
  std::vector<std::string> addresses_;  // Still to be tried, the next one last.
  std::size_t number_found_ = 1;
  clock::time_point up_since_{};
  bool is_urgent_ = false;
  std::optional<clock::time_point> hurried_at_;
};

}  // namespace leasehold::detail
