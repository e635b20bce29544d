// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// One call to all servers of a quorum (quorum_store.hpp), and one answer made of theirs. A renewal or an inspection is
// one round. An attempt and a downgrade, which get a fence, are two: each server says yes with a fence of its own, then
// one of them is written back (docs/protocol.md, "The quorum").
//
// A renewal that a majority confirms writes the grant again on servers that lack it, with the same token and fence. So a
// bare majority does not stay bare. That is one call more to such a server, and a second one for the fence.
//
// Owned by the quorum until it has answered its caller, and by each of its calls on its way: late answers still count
// for the claim.
//
// A ballot releases nothing: what it was granted, and what it may have been granted, is the claim's, which it notifies
// of everything it sends and hears. Whatever is changed here, this is to stay true: the caller is answered once; no
// more is said than a majority has said, in the round that counts; a server whose answer to an attempt is not known
// is taken to have granted it; and a grant is written again only while a majority has it and it is not being released.
#pragma once

#include "protocol/lease_reply.hpp"
#include "store/quorum/kept_call.hpp"
#include "store/store.hpp"

#include "time/alarms.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace leasehold::detail {

class claim;
class quorum_store;
class voter;

class ballot final : public caller, public alarm, public std::enable_shared_from_this<ballot> {
 public:
  ballot(quorum_store&, const script&, kept_call, std::shared_ptr<caller> the_caller, std::uint32_t tag);

  bool is_attempt() const { return kind_ == kind::acquire; }
  void start();
  // The same after it had to wait for others.
  void start_late();

 private:
  enum class kind { acquire, renew, downgrade, inspect };
  enum : std::uint32_t { asking, raising, restoring, phases };
  enum class answer_is { missing, pending, yes, no, error };

  // What a server has said.
  struct voice {
    answer_is said = answer_is::missing;
    std::uint64_t fence = 0;
    std::chrono::milliseconds left{0};
    std::uint32_t depth = 1;
    reply words;  // Of an error, and of inspect.
    bool asked_to_raise = false;
    answer_is raised = answer_is::missing;
    bool asked_to_restore = false;
  };

  // --- With each server ---

  bool ask(voter&, std::uint32_t phase);
  void write(std::uint32_t tag, arguments&) override;
  void write_call(arguments&);
  void write_restored(arguments&);
  // An attempt must not run behind the release that undoes it, and nothing is renewed after its release.
  bool wants(std::uint32_t) const override;
  turn turn_of(std::uint32_t) const override {
    return kind_ == kind::renew || kind_ == kind::downgrade ? turn::keeps : turn::asks;
  }
  std::chrono::milliseconds patience_of(std::uint32_t) const override { return patience_; }
  void answered(std::uint32_t tag, const answer&) override;
  void take(voter&, voice& its, std::uint32_t phase, answer_is& said, const answer&);
  // A renewal counts a server only if its record has the hold's fence: there is no second round.
  answer_is& said_in(voice& its, std::uint32_t phase) const {
    return phase == raising && kind_ != kind::renew ? its.raised : its.said;
  }
  // A server that grants when the fence is known already is told it.
  void late_grant(voter&);
  void raise(voter&);
  // Of a renewal: on servers that never had the hold, or lost it.
  void restore_where_missing();
  void ring(clock::time_point) override;

  // --- What it comes to ---

  std::size_t count(answer_is, answer_is voice::*which = &voice::said) const;
  // Busy servers have made a majority impossible, or a majority has answered and some were busy.
  bool busy(std::size_t yes) const;
  // The attempt was given up.
  bool is_releasing() const;

  // late: nobody is waited for any more.
  void decide(bool late);
  void decide_grant(bool late);
  // That of those who agree, as the servers do which an owner has entered before; else the largest. None: another
  // answer may show more agreement.
  std::optional<std::uint64_t> choose_fence(bool all) const;
  void decide_raise(bool late);
  void grant();
  // Of an attempt: what it was granted is released everywhere.
  void refuse(std::size_t yes);
  void decide_renewal(bool late);
  // Holds that a majority has.
  void decide_inspection(bool late);

  // If a majority has failed alike.
  bool end_with_error();
  void end_undecided(std::size_t answers);
  void end_with(status, std::uint64_t fence, std::chrono::milliseconds left, std::uint32_t depth = 1);
  void end(const reply&);

  quorum_store& quorum_;
  const script& script_;
  const kept_call call_;
  std::shared_ptr<caller> caller_;  // Until it is answered.
  const std::uint32_t tag_;
  const std::chrono::milliseconds patience_;  // Of caller_.
  kind kind_;
  std::chrono::milliseconds lease_{0};
  std::shared_ptr<claim> claim_;
  std::vector<voice> voices_;  // By the number of the voter.
  clock::time_point sent_{};
  std::optional<clock::time_point> starts_by_;  // Of an attempt that waits for servers to be reached.

  std::uint64_t fence_ = 0;  // That is written back; 0: not chosen yet.
  clock::time_point raise_sent_{};
  bool larger_ = false;
};

}  // namespace leasehold::detail
