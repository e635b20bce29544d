// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the scripts reply to list, show, break_lock and inspect (lua/admin.lua, lua/shared/lock.lua), as users see it.
// No I/O.
#pragma once

#include "protocol/inspection.hpp"
#include "protocol/kind.hpp"
#include "protocol/reply.hpp"

#include <leasehold/admin.hpp>
#include <leasehold/lock.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace leasehold::detail {

// Whose a lock is, in the replies to show and break.
enum class lock_is : std::int64_t { free = 0, ours = 1, foreign = 2, broken = 3 };
lock_is read_state(const reply&);

// Reads the part "What it is" (lua/admin.lua) of the reply, from scalar `i` on. Returns the index behind it.
std::size_t read_lock(const reply&, std::size_t i, lock_details&);
// As Redis has it, for a lock whose part begins at scalar `i`.
std::string_view fence_of_first_hold(const reply&, std::size_t i);

// The reply to show.
lock_status read_status(const reply&);

// The reply to list: the locks whose records have this prefix.
std::vector<listed_lock> read_page(const reply&, const std::string& prefix);

// What inspect reports of a lock of this kind.
lock_info info_of(const inspection&, const kind&);

// The keys of one page of a SCAN that may be records with this prefix.
std::vector<std::string> read_keys(const reply&, const std::string& prefix);

// Follows the cursor of a SCAN, page by page.
class scan {
 public:
  // Begins with another server.
  void begin();
  const std::string& cursor() const { return cursor_; }
  // Null, or the reason why the scan would not come to an end.
  const char* take(const reply&);
  // The same for what was found out about a page's keys.
  const char* note(const reply&);

 private:
  std::string cursor_ = "0";
  std::unordered_set<std::uint64_t> cursors_;  // Those that this server has returned.
  std::size_t bytes_ = 0;                      // Of what was found; a page counts, too.
};

}  // namespace leasehold::detail
