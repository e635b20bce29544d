// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Many requests in one script call (lua/bundle.lua): a call costs Redis more than what is done in it. No I/O and no
// clock of its own.
#pragma once

#include "protocol/arguments.hpp"
#include "protocol/reply.hpp"
#include "protocol/request.hpp"
#include "time/clock.hpp"
#include "time/server_clock.hpp"

#include <bitset>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::detail {

// Acquires and releases of mutexes, each of another record, so that their order among themselves does not matter.
class bundle {
 public:
  // A bound for the time in which a call blocks Redis: that of so many calls, if every name is contended. Not more must
  // be added.
  static constexpr std::size_t most = 64;

  // Whether requests like this one can be in a bundle.
  static bool takes(const request&);

  std::size_t size() const { return members_.size(); }
  // Whether it can be together with those that are in already.
  bool has_room_for(const request&, bool pushes_grants) const;
  // The record and the keys must stay valid until the bundle is cleared. Like plan().
  sending add(const request&, clock::time_point now, const server_clock&, bool pushes_grants);

  // The script that carries out all of them.
  const script& of_kind() const;
  void write(arguments&) const;
  void clear();

 private:
  struct member {
    basic_keys<std::string_view> keys;
    std::size_t token_ends;
    detail::verb verb;
  };

  std::string_view token_of(const member&) const;

  std::vector<member> members_;
  std::string tokens_;
  std::size_t releases_ = 0;
  // What the acquires share.
  std::chrono::milliseconds lease_{0};
  std::chrono::milliseconds run_within_{0};
  sending acquires_{};
  std::bitset<256> hashes_;  // Of the records.
};

// The reply to each request of a bundle. To be asked in the order in which they were added.
class bundle_replies {
 public:
  bundle_replies(const reply& all, std::size_t releases, std::size_t requests)
      : all_(all), releases_(releases), is_shared_(all.size() != requests) {}

  // Sets `one` to what the script would have replied to this request by itself.
  void next(verb, reply& one);

 private:
  const reply& all_;
  const std::size_t releases_;
  const bool is_shared_;  // One reply for all releases, and one for all acquires.
  std::size_t release_ = 0;
  std::size_t acquire_ = 0;
};

}  // namespace leasehold::detail
