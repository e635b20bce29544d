// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lock/release.hpp"
#include "protocol/request.hpp"
#include "time/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace leasehold::detail {

// The attempts to acquire with one token, one after the other: what is known of the latest, and what those may leave
// that were not answered. No I/O.
class attempts {
 public:
  // The next one, on this connection. It is sent at once, or later, or never.
  void begin(clock::time_point now, std::uint64_t epoch, std::chrono::milliseconds lease) {
    stamp_ = now;
    may_run_until_ = now;
    epoch_ = epoch;
    lease_ = lease;
    is_sent_ = false;
  }
  // The store may have to send the same request to another server (store::run).
  void sent(const sending& s) {
    stamp_ = s.at;
    may_run_until_ = std::max(may_run_until_, s.may_run_until);
    is_sent_ = true;
  }
  void answered(clock::time_point received) { took_ = received - stamp_; }
  // No answer comes, or the script has failed halfway. `trace`: how long after an attempt has run something of it may
  // be left.
  void note_unanswered(std::chrono::milliseconds trace) { unanswered_.merge(epoch_, may_run_until_, trace); }
  // For a new token.
  void forget_unanswered() { unanswered_ = {}; }

  bool is_sent() const { return is_sent_; }
  // The script certainly runs after this instant.
  clock::time_point stamp() const { return stamp_; }
  std::chrono::milliseconds lease() const { return lease_; }
  const unanswered_attempt& unanswered() const { return unanswered_; }
  // The answer takes longer than usual.
  bool is_late(clock::time_point now) const {
    return now - stamp_ >= std::max<clock::duration>(std::chrono::milliseconds(100), 2 * took_);
  }

 private:
  clock::time_point stamp_{};
  clock::time_point may_run_until_{};
  clock::duration took_{0};  // The last answer.
  std::uint64_t epoch_ = 0;
  std::chrono::milliseconds lease_{0};
  bool is_sent_ = false;
  unanswered_attempt unanswered_;
};

}  // namespace leasehold::detail
