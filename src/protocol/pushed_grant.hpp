// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A grant that was published on the client's channel, and when to believe it. No I/O, no clock of its own.
//
// Every user of the server that may publish on leasehold:* can send such a message, so a message alone proves nothing.
// If the client does not believe a message, it polls instead: that costs a round trip, and the script's reply is the
// truth.
#pragma once

#include "time/clock.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace leasehold::detail {

struct pushed_grant {
  std::uint64_t fence = 0;
  clock::time_point stamp{};
  std::chrono::milliseconds lease{0};
  std::uint32_t depth = 1;
};

// "<fence> <stamp> <lease>[ <depth>]": the part behind "granted <token> " (lua/shared/queue.lua).
std::optional<pushed_grant> read_pushed_grant(std::string_view text) noexcept;

// Checks a grant against what a queue entry knows about its own requests.
class grant_check {
 public:
  // The entry has sent this stamp.
  void sent(clock::time_point stamp) { stamps_[next_++ % stamps_.size()] = stamp; }
  // The server said that the lock is busy, at this time of its clock, in microseconds. The request was sent at `sent`.
  void busy(std::int64_t server_time, clock::time_point sent) {
    server_time_ = server_time;
    server_time_sent_ = sent;
  }

  // asked: the lease that the entry asks for.
  bool believes(const pushed_grant&, std::chrono::milliseconds asked, clock::time_point now) const;

 private:
  // A grant carries the stamp of the latest request that the server has seen. Earlier requests may have been lost.
  std::array<clock::time_point, 4> stamps_{};
  std::size_t next_ = 0;
  std::int64_t server_time_ = 0;  // 0: the server has not answered yet.
  clock::time_point server_time_sent_{};
};

}  // namespace leasehold::detail
