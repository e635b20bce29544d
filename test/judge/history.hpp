// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What clients have noted while faults were injected, and the judgement about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace leasehold::test {

// Nanoseconds of steady_clock, which is one for all processes of a machine.
using instant = std::int64_t;

instant now_noted();

// In milliseconds.
std::string shown(instant);

struct span {
  instant from;
  instant to;
};

// Meanwhile a server's wall clock was stepped forward by so much: leases of then end as much earlier than their holders
// know, until a reply shows it.
struct step {
  span when;
  instant by;
};

// What happened to the servers, and excuses something.
struct excuses {
  std::vector<span> losing = {};  // Grants may have been lost. Two may be in together then; the fence tells them apart.
  std::vector<span> forgetting =
      {};  // A minority of a quorum may have lost what it had: a hold may end early, and nothing worse.
  std::vector<step> steps = {};
  bool unordered = false;  // Fences are lost, and what comes may be below them; on a quorum while a server was away.
  bool quorum = false;  // Entries of one owner that came at the same time, and readers, need not have the same fence.
};

// One acquire operation, and the hold that came of it. Every time is that of the client.
struct tenure {
  std::string id;    // For people: the process and a number.
  std::string kind;  // mutex, recursive_mutex, shared_mutex, counting_semaphore
  std::string name;
  std::string who;       // The owner; "w" or "r"; the limit.
  std::string together;  // What was asked for at once, all or none, has the same here; "": alone.
  instant called = 0;
  std::optional<instant> limit;  // It has to end by then; nothing: when the lock is free.
  bool cancelled = false;        // It may be.
  bool resumed = false;          // From the ticket of an earlier one, whose fence it has.
  std::optional<instant> ended;  // Without a grant, for this reason,
  std::string reason;
  std::optional<instant> granted;  // or with one,
  std::uint64_t fence = 0;
  instant at_first = 0;  // what it said then of its end,
  instant expires = 0;   // what it said last,
  instant margin = 0;
  std::optional<instant> given_up;  // when the program began to give it up,
  std::optional<instant> told;      // or was told of its loss.

  std::string client;
  std::vector<instant> jumps;  // Of a server's clock, that its client saw meanwhile.

  // It said that it was valid until then.
  instant claimed_until() const;
};

// Another operation: extend, release, resize, close.
struct operation {
  std::string id;
  std::string what;
  std::string name;          // Of the semaphore that is resized,
  std::uint64_t resize = 0;  // and to what.
  instant called = 0;
  instant limit = 0;
  std::optional<instant> ended;
  std::string reason;
};

// A process. It was frozen where its own clock stood still: by a signal, or because the machine had no time for it.
struct process_history {
  std::string name;
  std::optional<instant> killed;
  std::vector<span> frozen;
  std::vector<instant> jumps;  // Of a server's clock, that its clients saw.
  std::map<std::string, tenure> tenures;
  std::map<std::string, operation> operations;
  std::map<std::string, std::uint64_t> counts;

  void read(const std::string& file);
  // How much later than `limit` it was, in the process's time.
  instant late(instant limit, instant t) const;
};

struct judgement {
  std::vector<std::string> violations;
  std::map<std::string, std::uint64_t> counts;
  instant latest_end = 0;   // How late an operation ended at most, in the process's time,
  std::string latest;       // which;
  instant latest_loss = 0;  // how late a loss was told.
};

judgement judge(const std::vector<process_history>&, const excuses& = {});

}  // namespace leasehold::test
