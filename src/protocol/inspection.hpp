// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a script says to inspect (lua/shared/lock.lua).
#pragma once

#include "protocol/reply.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace leasehold::detail {

// In front of the token of a hold that was released before acquire_options::at_least was over (docs/protocol.md, "Holds
// that rest").
inline constexpr char mark_of_rest = '~';

struct inspection {
  struct hold {
    std::string token;
    std::chrono::milliseconds left{0};
    std::string ask;
  };

  std::size_t holders = 0;
  std::uint64_t fence = 0;            // Of the record;
  std::chrono::milliseconds left{0};  // negative: it has no expiry.
  std::size_t waiters = 0;
  std::string about;  // What the record keeps for all holds, see lua/shared/members.lua.
  // Empty although there are holders: the owner is another program's, and has no token.
  std::vector<hold> holds;
};

inspection read_inspection(const reply&);

}  // namespace leasehold::detail
