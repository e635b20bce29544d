// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The channels of slots in which a client listens: which it wants, and which its connection has. No I/O.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_set>

namespace leasehold::detail {

// Of one connection.
class slot_channels {
 public:
  // True: the server has to be asked to subscribe, or to unsubscribe.
  bool ask(std::uint16_t slot) { return asked_.insert(slot).second; }
  bool leave(std::uint16_t slot) {
    if (asked_.erase(slot) == 0) return false;
    subscribed_.erase(slot);
    left_.insert(slot);
    return true;
  }
  bool is_subscribed(std::uint16_t slot) const { return subscribed_.contains(slot); }

  enum class change : std::uint8_t {
    none,
    begun,
    ended,  // The client has not asked for that.
  };
  // The server has confirmed that the client is subscribed, or is not subscribed any more.
  change confirmed(std::uint16_t slot, bool subscribed) {
    if (const auto own = left_.find(slot); !subscribed && own != left_.end()) {
      left_.erase(own);
      return change::none;
    }
    if (subscribed) {
      if (!asked_.contains(slot)) return change::none;
      subscribed_.insert(slot);
      return change::begun;
    }
    subscribed_.erase(slot);
    return asked_.erase(slot) != 0 ? change::ended : change::none;
  }

  // The connection is gone.
  void forget() { *this = {}; }

 private:
  std::unordered_set<std::uint16_t> asked_;       // Slots whose channel the server was asked for,
  std::unordered_set<std::uint16_t> subscribed_;  // and has confirmed.
  std::unordered_multiset<std::uint16_t> left_;   // Slots whose channel was left, without a confirmation so far.
};

// Of a store.
class wanted_slots {
 public:
  // The client stays subscribed to this many slots in which it neither waits nor holds: it probably will again.
  static constexpr std::size_t most_idle = 64;

  void want(std::uint16_t slot) {
    all_.insert(slot);
    std::erase(idle_, slot);
  }
  // Returns the slot whose channel is to be left now.
  std::optional<std::uint16_t> release(std::uint16_t slot) {
    idle_.push_back(slot);
    if (idle_.size() <= most_idle) return std::nullopt;
    const auto oldest = idle_.front();
    idle_.pop_front();
    all_.erase(oldest);
    return oldest;
  }
  bool contains(std::uint16_t slot) const { return all_.contains(slot); }
  const std::unordered_set<std::uint16_t>& all() const { return all_; }

 private:
  std::unordered_set<std::uint16_t> all_;
  std::deque<std::uint16_t> idle_;  // Those of them that were left, the longest first.
};

}  // namespace leasehold::detail
