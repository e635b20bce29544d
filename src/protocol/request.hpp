// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a client asks of a server: values, which one function turns into the KEYS and ARGV of a script. That function is
// the table of docs/protocol.md, "The scripts"; test/unit/requests.cpp compares the two. One request is no script:
// scan.
#pragma once

#include "protocol/arguments.hpp"
#include "protocol/scripts.hpp"
#include "time/clock.hpp"
#include "time/server_clock.hpp"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::detail {

enum class verb : std::uint8_t {
  acquire,
  confirm,
  renew,
  release,
  rest,  // Release, but keep all others out for a while.
  keep,  // Release or keep.
  refresh,
  want,
  downgrade,
  resize,
  raise,
  inspect,
  acquire_all,
  list,  // This and the following: of operators.
  show,
  break_lock,
  proclaim,  // This and the following: of elections.
  withdraw,
  leader,
  scan,  // Of operators, too; a command.
};

// The keys of a script that may change the queue (protocol/keys.hpp).
template <class Text>
struct basic_keys {
  Text record, fences, queue, entries;
  Text leader{};  // Of an election.
};

// One lock of acquire_all, or of list.
struct member_request {
  basic_keys<std::string_view> keys;
  std::string_view kind, token, ask;
};

// Fields that the verb does not need keep their defaults.
template <class Text>
struct basic_request {
  detail::verb verb{};
  const script* of_kind = nullptr;  // The script that runs; null: scan.
  basic_keys<Text> keys{};          // scan: the record says which server scans, and is no key.
  Text token{};
  std::chrono::milliseconds lease{0};
  Text ask{};
  std::uint32_t limit = 0;  // The ask of a counting semaphore, which is a number; 0: `ask` is.
  // acquire, acquire_all, resize: how long after it was sent the script refuses to run (not-after).
  std::chrono::milliseconds run_within{0};
  // acquire: and wait, if grants are pushed to this client. want, refresh: `sending` says whether they are.
  bool joins_queue = false;
  bool repairs = false;                       // acquire, acquire_all: a record without an expiry gets one.
  Text follows{};                             // acquire: the token of the reader before in the same local queue.
  bool record_only = false;                   // release, rest: the server may lack the other keys.
  bool publishes_first = false;               // The messages of the script must leave the server before its reply does.
  clock::time_point rests_until{};            // rest
  Text channel{};                             // release, rest: on which Redisson listens.
  std::uint64_t fence = 0;                    // raise, proclaim, withdraw
  bool exact = false;                         // raise: a larger fence is lowered.
  std::span<const member_request> members{};  // acquire_all; list
  Text pattern{}, cursor{};                   // scan
  Text fence_text{};                          // break_lock, renew: of the hold that is meant, as the server has it.
  bool force = false;                         // break_lock: also what another program holds.
  std::uint64_t revision = 0;                 // proclaim: of the hold's values.
  bool record_stays = false;                  // withdraw: it may outlive the term.
  Text value{};                               // proclaim

  basic_request() = default;
  // Of the other kind of text. `members` are not copied: a store that keeps requests has no use for them.
  template <class Other>
  explicit basic_request(const basic_request<Other>& r);
};

// The views must stay valid until the request has been written.
using request = basic_request<std::string_view>;
// For a store that asks several servers.
using kept_request = basic_request<std::string>;

// What the store says of a request when it is sent.
struct sending {
  clock::time_point at{};
  clock::time_point may_run_until{};  // Certainly not later, by the local clock, if the request has a not-after.
  std::int64_t not_after = 0;         // By the server's clock, in microseconds.
  bool joins_queue = false;           // It joins the queue, unless the lock is granted.
};

// For a request that is sent `now` to the server with this clock. pushes_grants: the server publishes grants to this
// client, so that it may wait in a queue.
sending plan(const request&, clock::time_point now, const server_clock&, bool pushes_grants);
// Appends the keys and arguments of a request that is sent so.
void write(const request&, const sending&, arguments&);
// The words of a request that is no script.
std::vector<std::string> command_of(const request&);

template <class Text>
template <class Other>
basic_request<Text>::basic_request(const basic_request<Other>& r)
    : verb(r.verb),
      of_kind(r.of_kind),
      keys{Text(r.keys.record), Text(r.keys.fences), Text(r.keys.queue), Text(r.keys.entries), Text(r.keys.leader)},
      token(r.token),
      lease(r.lease),
      ask(r.ask),
      limit(r.limit),
      run_within(r.run_within),
      joins_queue(r.joins_queue),
      repairs(r.repairs),
      follows(r.follows),
      record_only(r.record_only),
      publishes_first(r.publishes_first),
      rests_until(r.rests_until),
      channel(r.channel),
      fence(r.fence),
      exact(r.exact),
      pattern(r.pattern),
      cursor(r.cursor),
      fence_text(r.fence_text),
      force(r.force),
      revision(r.revision),
      record_stays(r.record_stays),
      value(r.value) {}

}  // namespace leasehold::detail
