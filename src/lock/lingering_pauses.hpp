// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Which locks do not linger for now, because they lingered for nothing: another client wanted the lock before this one
// used it again. Such a lock costs the other client a round trip and this one nothing less.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace leasehold::detail {

// By lock_identity::local_queue. However many locks there are, it keeps 1024 of them.
class lingering_pauses {
 public:
  static constexpr std::size_t most = 1024;
  static constexpr std::uint32_t longest = 64;

  bool is_paused(const std::string& lock) const {
    const auto found = all_.find(lock);
    return found != all_.end() && found->second.left != 0;
  }
  // It has lingered for nothing: it does not linger after the next 1, 2, 4 ... 64 grants.
  void pause(const std::string& lock) {
    if (all_.size() >= most && !all_.contains(lock)) all_.erase(all_.begin());
    auto& p = all_[lock];
    p.length = std::clamp(p.length * 2, 1U, longest);
    p.left = p.length;
  }
  // A grant after which it does not linger.
  void count(const std::string& lock) {
    const auto found = all_.find(lock);
    if (found != all_.end() && found->second.left != 0) --found->second.left;
  }
  // It was used again while it lingered.
  void forget(const std::string& lock) { all_.erase(lock); }

 private:
  struct one {
    std::uint32_t length = 0;
    std::uint32_t left = 0;
  };
  std::unordered_map<std::string, one> all_;
};

}  // namespace leasehold::detail
