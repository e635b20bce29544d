// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The table of the draws and their winners, in SQLite: the resource that the lock protects. It does not trust the lock.
// It remembers the largest fence that it has seen of each draw and refuses smaller ones, and a draw that is done stays
// as it is.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lottery {

struct draw {
  std::string id;
  long tickets = 0;  // numbered from 1
  long winners = 0;
};

// Who draws, and with which lock.
struct drawer {
  std::string instance;
  std::uint64_t fence = 0;
};

struct progress {
  drawer last;  // the latest who began it, or who has done it
  bool done = false;
};

enum class answer { accepted, stale, done };

// Every function throws std::runtime_error with the file's name and what SQLite says. None waits for another program's
// transaction for longer than five seconds.
class table {
 public:
  // The file is made if it is not there.
  explicit table(const std::string& file);

  // Nothing if nobody has begun the draw. Throws if the draw has another number of tickets or winners.
  std::optional<progress> find(const draw& d) const;

  // From here on a smaller fence is refused.
  answer begin(const draw& d, const drawer& by);

  // Writes the winners, all of them or none.
  answer finish(const draw& d, const drawer& by, const std::vector<long>& winners);

  // In the order in which they were drawn.
  std::vector<long> winners(const draw& d) const;

 private:
  class statement;
  class transaction;
  struct close {
    void operator()(sqlite3* s) const noexcept { sqlite3_close(s); }
  };

  answer why_refused(const draw& d) const;

  std::string file_;
  std::unique_ptr<sqlite3, close> database_;
};

}  // namespace lottery
