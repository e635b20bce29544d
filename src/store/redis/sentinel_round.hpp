// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// One round of questions to the Sentinels of a group: which of them is asked when, when the round ends without a
// master, and what it has come to then. No I/O, and no clock of its own.
#pragma once

#include "time/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace leasehold::detail {

class sentinel_round {
 public:
  // Before the first one.
  sentinel_round() = default;
  // `sentinels`: how many are known, at least one. `limit`: for all of them together.
  sentinel_round(std::size_t sentinels, std::chrono::milliseconds limit, clock::time_point now)
      : sentinels_(sentinels),
        head_start_(std::min<std::chrono::milliseconds>(
            longest_head_start, limit / (2 * static_cast<std::chrono::milliseconds::rep>(sentinels)))),
        last_chance_(limit / 4),
        ends_at_(later(now, limit)) {}

  // Some were not asked yet.
  bool has_next() const { return asked_ != sentinels_; }
  // The number of the next one, which is asked now.
  std::size_t next(clock::time_point now) {
    const std::size_t n = asked_++;
    shorten(now);
    return n;
  }
  // For how long the client asks a Sentinel alone before it asks the next one, too.
  std::chrono::milliseconds head_start() const { return head_start_; }

  // A Sentinel that was asked has no answer. `refuses`: it will say the same next time.
  void on_failure(std::string_view sentinel, std::string_view words, bool refuses, clock::time_point now) {
    ++failed_;
    if (refuses) ++refusals_;
    note(sentinel, words);
    shorten(now);
  }

  // Why a Sentinel has not answered, when the round ends.
  void on_no_answer(std::string_view sentinel, std::string_view why) { note(sentinel, why); }

  // Each Sentinel was asked, and has no answer.
  bool is_over() const { return failed_ == sentinels_; }
  // At the latest.
  clock::time_point ends_at() const { return ends_at_; }

  // Why there is no master, if the round ends now.
  std::string why() const { return words_.empty() ? "no Sentinel answers" : words_; }
  // Most Sentinels have answered, and said no.
  bool is_refused() const { return refusals_ * 2 > sentinels_; }

 private:
  static constexpr std::chrono::milliseconds longest_head_start{200};

  // Once most have refused, the others have a quarter of the limit to know the master: time to connect, over TLS and
  // with credentials that have to be asked for.
  void shorten(clock::time_point now) {
    if (is_refused() && !has_next()) ends_at_ = std::min(ends_at_, later(now, last_chance_));
  }

  // Only a part of long words is shown (failures.cpp). They are not cut here, because that might cut a credential in
  // two.
  void note(std::string_view sentinel, std::string_view words) {
    constexpr std::size_t enough = 500;
    if (words_.size() > enough) return;
    if (!words_.empty()) words_ += "; ";
    words_ += "Sentinel ";
    words_ += sentinel;
    words_ += ": ";
    words_ += words;
  }

  std::size_t sentinels_ = 0;
  std::size_t asked_ = 0;
  std::size_t failed_ = 0;
  std::size_t refusals_ = 0;
  std::chrono::milliseconds head_start_{};
  std::chrono::milliseconds last_chance_{};
  clock::time_point ends_at_{};
  std::string words_;  // Of the Sentinels that had no answer.
};

}  // namespace leasehold::detail
