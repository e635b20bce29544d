// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Who leads, as replies say it, and what an observer makes of them (lua/election.lua). No I/O.
#pragma once

#include "protocol/reply.hpp"

#include <leasehold/election.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace leasehold::detail {

// The reply to `leader`.
struct leader_reply {
  // A value that could not be a leader's is none.
  explicit leader_reply(const reply&);

  bool understood = false;
  std::optional<leader_info> leader;
  std::uint64_t revision = 0;         // Of its value.
  std::chrono::milliseconds left{0};  // Of the record; negative: it has no expiry, or there is none.
};

// The reply to `proclaim`.
struct proclaim_reply {
  explicit proclaim_reply(const reply&);

  bool understood = false;
  bool held = false;  // The record is this hold's, and the value is known.
};

// What an observer reports: never an older term after a newer one, nor an older value of the same term.
class leader_view {
 public:
  void take(leader_reply);
  // Whether the state differs from the one that was reported last; true before the first report.
  bool has_news() const { return !reported_ || *reported_ != now_; }
  std::optional<leader_info> report() {
    reported_ = now_;
    return now_;
  }

 private:
  std::optional<leader_info> now_;
  std::uint64_t fence_ = 0, revision_ = 0;  // The newest ones that were seen.
  std::optional<std::optional<leader_info>> reported_;
};

}  // namespace leasehold::detail
