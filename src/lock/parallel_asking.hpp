// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace leasehold::detail {

// How many waiters of a local queue may ask at once for a lock with several holders at a time, and which grant the next
// one follows. No I/O.
//
// The number grows by one with each grant and falls to one with each refusal, so it doubles in each round trip.
class parallel_asking {
 public:
  // An entry may be made beside that of the local queue.
  bool has_room() const { return entries_ + 1 < at_once_; }
  void on_begin() { ++entries_; }
  // The first answer to such an entry has come, or it is over without one.
  void on_end(bool granted, const std::string& token) {
    --entries_;
    if (granted) last_reader_ = token;
    granted ? on_grant() : on_busy();
  }
  // The answer to an attempt of the local queue's own entry.
  void on_grant() { at_once_ = std::min(at_once_ + 1, most_at_once); }
  void on_busy() { at_once_ = 1; }
  // A waiter was granted the lock without asking. As long as that goes on, the others need few requests.
  void on_pass() { at_once_ = 1; }

  // A reader was granted the lock.
  void on_reader(const std::string& token) { last_reader_ = token; }
  const std::string& last_reader() const { return last_reader_; }

 private:
  static constexpr std::size_t most_at_once = 256;

  std::size_t at_once_ = 1;
  std::size_t entries_ = 0;
  std::string last_reader_;  // The token; "": there was none.
};

}  // namespace leasehold::detail
