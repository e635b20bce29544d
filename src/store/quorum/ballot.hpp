// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// One call to all servers of a quorum (quorum_store.hpp), and one answer made of theirs. A renewal or an inspection is
// one round. An attempt and a downgrade get a fence and need two rounds: each server says yes with a fence of its own,
// then one of these fences is written back (docs/protocol.md, "The quorum").
//
// A renewal that a majority confirms writes the grant again on servers that lack it, with the same token and fence. So
// the number of servers that have the hold does not stay at a bare majority. That costs one more call to such a server,
// and a second one for the fence. In the same way, a server that has missed a downgrade gets it with a renewal.
//
// The quorum owns a ballot until it has answered its caller. Each of its calls on its way owns it, too: late answers
// still count for the claim.
//
// A ballot releases nothing. The claim is responsible for what was granted and what may have been granted, and the
// ballot notifies it of everything it sends and receives. These invariants must hold after every change:
//   * The caller is answered once.
//   * The answer says no more than a majority has said in the round that counts.
//   * A server whose answer to an attempt is not known is assumed to have granted it.
//   * A grant is written again only while a majority has it and it is not being released.
#pragma once

#include "protocol/outcome.hpp"
#include "protocol/request.hpp"
#include "store/store.hpp"

#include "time/alarms.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leasehold::detail {

class claim;
class quorum_store;
class voter;

class ballot final : public caller, public alarm, public std::enable_shared_from_this<ballot> {
 public:
  ballot(quorum_store&, kept_request, std::shared_ptr<caller> the_caller, std::uint32_t tag);

  bool is_attempt() const { return kind_ == kind::acquire; }
  void start();
  // The same, for a ballot that had to wait for others.
  void start_late();

 private:
  enum class kind { acquire, renew, resume, downgrade, inspect };
  static kind kind_of(const kept_request&);
  enum : std::uint32_t { asking, raising, restoring, downgrading, phases };
  enum class answer_is { missing, pending, yes, no, error };

  // The answers of one server.
  struct voice {
    answer_is said = answer_is::missing;
    std::uint64_t fence = 0;
    std::chrono::milliseconds left{0};
    std::uint32_t depth = 1;
    std::int64_t server_time = 0;
    std::optional<refusal> refused;  // With these words.
    std::string words;
    std::shared_ptr<const inspection> inspected;
    bool asked_to_raise = false;
    answer_is raised = answer_is::missing;
    bool asked_to_restore = false;
    bool restored_as_writer = false;  // It was asked to before the hold became a reader's.
  };

  // --- With each server ---

  bool ask(voter&, std::uint32_t phase);
  // For how long a round waits for the servers.
  std::chrono::milliseconds longest_round() const;
  request request_of(std::uint32_t tag) const override;
  void sent(std::uint32_t tag, const sending&) override;
  // What is left of the hold, when it is written again.
  std::chrono::milliseconds left_at(clock::time_point now) const;
  // An attempt must not run after the release that undoes it, and a hold must not be renewed after its release.
  bool wants(std::uint32_t) const override;
  turn turn_of(std::uint32_t) const override {
    return kind_ == kind::acquire || kind_ == kind::inspect ? turn::asks : turn::keeps;
  }
  std::chrono::milliseconds patience_of(std::uint32_t) const override { return patience_; }
  void answered(std::uint32_t tag, const answer&) override;
  void take(voter&, voice& its, std::uint32_t phase, answer_is& said, const answer&);
  // A renewal counts a server only if its record has the hold's fence, because a renewal has no second round.
  answer_is& said_in(voice& its, std::uint32_t phase) const {
    return phase == raising && kind_ != kind::renew ? its.raised : its.said;
  }
  // If the server grants after the fence was chosen, it still gets that fence.
  void late_grant(voter&);
  void raise(voter&);
  // For a renewal: restores the hold on servers that never had it, or lost it.
  void restore_where_missing();
  void ring(clock::time_point) override;

  // --- The outcome ---

  std::size_t count(answer_is, answer_is voice::*which = &voice::said) const;
  // True if busy servers have made a majority impossible, or if a majority has answered and some servers were busy.
  bool busy(std::size_t yes) const;
  // The attempt was given up: its claim is being released.
  bool is_releasing() const;
  // Of a shared mutex.
  bool is_writer() const;
  // A writer has its record to itself, and its ticket needs its fence (decide_resumption).
  bool lowers_fences() const;

  // late: the ballot waits for no further answers.
  void decide(bool late);
  void decide_grant(bool late);
  // The fence on which a majority agrees (this happens where an owner has entered before); otherwise the largest one.
  // None: another answer may show more agreement.
  std::optional<std::uint64_t> choose_fence(bool all) const;
  void decide_raise(bool late);
  void grant();
  // For an attempt: releases everywhere what was granted.
  void refuse(std::size_t yes);
  void decide_renewal(bool late);
  // Of a hold that was detached, perhaps in another process: a majority has it with its fence or a larger one.
  void decide_resumption(bool late);
  // Answers with the holds that a majority has.
  void decide_inspection(bool late);

  // Ends the ballot if a majority has answered with errors that a repeat would not change; otherwise returns false.
  bool end_with_error();
  void end_undecided();
  // server_time: what has passed on a server between a renewal and a resumption is not less than the difference of the
  // two, since the two majorities have a server in common, and one names its latest clock, the other its earliest.
  void end_with(status, std::uint64_t fence, std::chrono::milliseconds left, std::uint32_t depth = 1,
                std::int64_t server_time = 0);
  void end(const outcome&);

  quorum_store& quorum_;
  const kept_request request_;
  const kind kind_;
  std::shared_ptr<caller> caller_;  // Until it is answered.
  const std::uint32_t tag_;
  const std::chrono::milliseconds patience_;  // Of caller_.
  std::shared_ptr<claim> claim_;
  std::vector<voice> voices_;  // By the number of the voter.
  clock::time_point sent_{};
  std::optional<clock::time_point> starts_by_;  // Of an attempt that waits until servers have been reached.

  std::uint64_t fence_ = 0;  // The fence that is written back; 0: not chosen yet.
  clock::time_point raise_sent_{};
  bool larger_ = false;
  bool waits_for_rest_ = false;  // An inspection: its outcome is certain.
};

}  // namespace leasehold::detail
