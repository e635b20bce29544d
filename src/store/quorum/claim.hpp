// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The state that the servers of a quorum (quorum_store.hpp) may have under one token, from the attempt until nothing of
// it can be left on any server.
//
// The quorum owns a claim, and finds it by its token, until the claim ends itself. The ballots that work for the claim
// own it, too, and so does each of its releases on its way. Ballots report to the claim what they ask for and what the
// servers answer. The claim itself asks only for releases. It keeps the attempt, so that a ballot can repeat it on a
// server that lacks the hold.
//
// These invariants must hold after every change:
//   * until() is never later than what a majority has granted, by the local clock.
//   * Once its release has begun, the claim sends it to every server that an attempt was sent to, answered or not,
//     until that server has answered a release or what it may have granted has expired (gone_by_). A release that may
//     have overtaken its attempt is sent once more when the attempt cannot run any more.
//   * The caller of the release is answered once: when a majority has decided it and the other servers that answer have
//     done so within quorum_store::patience, or when everything has expired. Unreachable servers get their release
//     later.
#pragma once

#include "protocol/request.hpp"
#include "store/store.hpp"

#include "time/alarms.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::detail {

class quorum_store;
class voter;

class claim final : public caller, public alarm, public std::enable_shared_from_this<claim> {
 public:
  // The keys of its releases are those of the attempt.
  claim(quorum_store&, const kept_request& attempt);

  const std::string& token() const { return release_.token; }
  bool is_releasing() const { return releasing_; }
  // For a hold: the request with which it is written again on a server that lacks it.
  const kept_request& attempt() const { return attempt_; }
  // The hold's fence; 0: there is no hold yet, or this client has detached it.
  std::uint64_t fence() const { return fence_; }
  // Until when a majority has the hold.
  clock::time_point until() const;
  // For how long a call that asks for this lease waits for the servers (quorum_store::patience). For a hold it may take
  // as long as for the longest lease so far, but no longer than a tenth of what is left: there is time to repeat it.
  std::chrono::milliseconds patience(std::chrono::milliseconds lease) const;

  // --- What ballots report ---

  // An attempt, or a grant that is written again, is sent to this server.
  void asked(const voter&);
  void answered_by(const voter&);
  // The attempt that is sent to this server may run there until `until`, and then leaves something for `lease`.
  void may_run(const voter&, clock::time_point until, std::chrono::milliseconds lease);
  // A lease of this length may begin at `from` at the latest.
  void lasts(clock::time_point from, std::chrono::milliseconds lease);
  // This server has said that `left` is left.
  void holds(const voter&, clock::time_point sent, std::chrono::milliseconds left);
  // This server has said that it does not have the token.
  void lacks(const voter&);
  // A majority has the hold, with this fence.
  void granted(std::uint64_t fence) {
    fence_ = fence;
    is_let_go_ = false;
  }
  // The same, and the hold is a reader's now.
  void downgraded(std::uint64_t fence);
  // It was, and is a reader's now.
  bool was_writer() const { return was_writer_; }
  // It is a writer's of a shared mutex, and no server has been asked to make it a reader's.
  bool is_writer() const;
  void is_being_downgraded() { may_read_ = true; }
  // With which fence a downgrade goes on for which a majority has given this one: not with a smaller one than an
  // earlier downgrade that was not decided, whose requests may still run.
  std::uint64_t fence_to_read_with(std::uint64_t given) { return read_with_ = std::max(read_with_, given); }
  // The hold was detached by this client, or was resumed for a caller that has gone: it is not written again.
  void let_go() {
    fence_ = 0;
    is_let_go_ = true;
  }
  // Nothing is to be done for it any more.
  bool is_quiet() const { return is_let_go_ && !releasing_; }
  // The hold was detached, perhaps by another client, and any server may have it. `attempt` is what would acquire it.
  void resumes(const kept_request& attempt);
  // Ends a claim that was made to resume a hold in vain. Nothing is released.
  void forget_unless_held();
  // The server may have missed the downgrade of the hold, of which it gives this fence.
  bool may_write_on(const voter&, std::uint64_t fence) const;
  // The server has made the hold a reader's, if it was not one already.
  void reads_on(const voter&);
  // There is a hold, which a majority has until `all`, and as far as is known this server does not have it, or ends its
  // lease much earlier than the others (by half of the lease): it was away when the hold was extended, or was away for
  // long.
  bool is_missing_on(const voter&, clock::time_point now, clock::time_point all) const;

  // --- The release ---

  void release();
  // The same with the user's request: its caller is answered. (Two holds that were resumed from one ticket are released
  // each.)
  void release(kept_request, std::shared_ptr<caller> the_caller, std::uint32_t tag);
  // Until when a server may carry out an attempt whose connection is gone, after a release; min(): none.
  clock::time_point late_until() const;

  void on_voter_up(voter&);
  void on_clock_jump(const voter&, clock::duration);

 private:
  // What has come of the release on a server. absent: it did not have the token. refused: it does not allow it.
  enum class release_is { unknown, done, absent, refused };
  struct place {
    bool asked = false;            // An attempt was sent there.
    std::uint32_t unanswered = 0;  // How many attempts were not answered,
    std::uint64_t epoch = 0;       // and the connection of the first of those.
    bool asking = false;           // A release is on its way,
    bool sent = false;             // and was sent.
    bool repeated = false;         // One was sent, and has no answer.
    release_is found = release_is::unknown;
    bool refuses = false;    // For a while: it is asked again.
    bool once_more = false;  // Another release follows after the attempt's not-after.
    bool granted = false;    // The server has had the hold.
    bool reads = false;      // It has been sent a downgrade by a renewal, and has confirmed it.
    clock::time_point may_run_until = clock::time_point::min();  // An attempt.
    clock::time_point until = clock::time_point::min();

    bool open() const { return asked && (found == release_is::unknown || refuses); }
    bool due(clock::time_point now) const { return open() || (once_more && now >= may_run_until); }
  };

  void send_everywhere();
  void send(voter&);
  // Whether the server may carry out an attempt whose connection is gone.
  bool is_late(const voter&) const;
  request request_of(std::uint32_t) const override { return request(release_); }
  void sent(std::uint32_t number, const sending&) override { places_[number].sent = true; }
  turn turn_of(std::uint32_t) const override { return turn::releases; }
  void answered(std::uint32_t number, const answer&) override;

  void settle(clock::time_point now);
  void conclude(clock::time_point now);
  void report(bool released);
  void report(const outcome&);
  void end();

  std::size_t number_of(release_is) const;
  // Whether the claim still waits for servers that answer, so that nothing is left on them when the release is
  // answered.
  bool waits(clock::time_point now) const;
  clock::time_point patience_ends() const;

  void schedule();
  void ring(clock::time_point now) override;

  quorum_store& quorum_;
  kept_request attempt_;
  kept_request release_;
  std::uint64_t fence_ = 0;
  std::uint64_t read_with_ = 0;
  std::vector<place> places_;  // By the number of the voter.
  clock::time_point gone_by_ = clock::time_point::min();
  clock::time_point again_at_ = clock::time_point::max();
  std::chrono::milliseconds pause_{0};  // Before that.
  clock::time_point began_{};
  clock::time_point woken_ = clock::time_point::min();
  std::chrono::milliseconds lease_{0};
  bool releasing_ = false;
  bool is_let_go_ = false;
  bool may_read_ = false;    // On a server at least: it was asked to downgrade the hold.
  bool was_writer_ = false;  // It is a reader's hold now, and a server may still have a writer's.
  std::string words_;        // Of a server that refuses.
  struct asker {
    std::shared_ptr<caller> the_caller;
    std::uint32_t tag;
  };
  std::vector<asker> callers_;  // Until they are answered.
};

}  // namespace leasehold::detail
