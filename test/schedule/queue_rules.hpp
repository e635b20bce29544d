// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What must hold whatever the model says: seen from the clients, by what they were told and nothing else.
#pragma once

#include "schedule/queue_model.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace leasehold::test {

class queue_rules {
 public:
  explicit queue_rules(lock_kind k) : kind_(k) {}

  // A call of a client and what came of it. The messages that it has sent follow.
  struct call {
    std::int64_t now = 0;
    std::string what, token, ask;
    std::int64_t lease = 0;
    std::string reply;
  };
  void saw(const call&);
  void saw(std::int64_t now, const std::string& message, const std::string& ask);
  // Another program has it, or its owner has entered; none of ours surely lasts longer than that without being told
  // anew.
  void foreign(std::int64_t now, const std::string& ask, std::int64_t until);
  void foreign_left() { foreign_.reset(); }
  void all_is_lost();
  // The clock is about to be stepped back: what has ended stays so. False if that is not sure of some hold.
  bool forget_ended(std::int64_t now);

 private:
  struct hold {
    std::string ask;
    std::uint64_t fence = 0;
    std::int64_t until = 0;    // It certainly lasts until then,
    std::int64_t at_most = 0;  // and certainly no longer than this.
  };
  struct program {
    std::string ask;
    std::int64_t until = 0;
  };

  void granted(std::int64_t now, const std::string& token, const std::string& ask, std::uint64_t fence,
               std::int64_t until);
  bool together(const std::string& a, const std::string& b) const;
  std::string who(std::int64_t now) const;

  const lock_kind kind_;
  std::map<std::string, hold> holds_;
  std::optional<program> foreign_;
  std::size_t limit_ = 0;
  std::uint64_t last_fence_ = 0;
};

}  // namespace leasehold::test
