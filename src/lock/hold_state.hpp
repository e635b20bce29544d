// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A hold, as the client keeps it: its deadline, its renewals, and the operations that wait for its loss.
#pragma once

#include "client/client_core.hpp"
#include "lock/lock_identity.hpp"
#include "lock/release.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::detail {

class hold_state;
struct lease_reply;
struct ticket_fields;

// An operation that waits for the loss of a hold: implemented by lost.hpp.
class loss_listener {
 public:
  virtual void complete(error_code) = 0;
  // The context ends: destroy the handler.
  virtual void abandon() = 0;

 protected:
  ~loss_listener() = default;
};

// The waiters that may take a hold over instead of its release: implemented by cohort.hpp.
class successors {
 public:
  // False (and the hold is unchanged): there is no waiter, or the waiter must not have the hold. `h` is not lost, but
  // may still be unconfirmed.
  virtual bool pass_on(hold_state& h, release_op::listener&) = 0;

 protected:
  ~successors() = default;
};

// What lasts from one hold with a token to the next while the lock lingers between them: implemented by lingering.hpp.
class lingering_tenure {
 public:
  // The lock does not linger after this hold. True: another client waits for it.
  virtual bool end() = 0;

 protected:
  ~lingering_tenure() = default;
};

// Where several holds exist at a time: those of one client with the same ask (joint_cohort.hpp). On the strand.
struct joint_holds {
  std::size_t holds = 0;  // That were not released or lost.
};

// What a cohort knows of the record that its holds pass on (cohort.hpp). Redis may have given the token a further fence
// ahead of time, for the next holder in the cohort, while the current holder is still at work. A pushed grant may be
// passed on before it is confirmed: then one confirmation is for all its holders, and is answered to the present one.
struct cohort_tenure {
  std::uint64_t recorded_fence = 0;  // The fence in the record, unless a refresh is on its way, or was not answered.
  std::weak_ptr<hold_state> holder;  // The present one, until the grant is confirmed.
  bool will_confirm = false;         // The confirmation is about to be asked for,
  bool confirming = false;           // or is on its way.
  // Requests that were not answered may lengthen the lease to this length.
  std::chrono::milliseconds lengthening{0};
  bool asked = false;                   // Redis was asked for the next fence, or has said that others wait.
  bool refreshing = false;              // That question is on its way.
  unanswered_attempt unanswered;        // Such questions that were not answered,
  std::uint32_t number_unanswered = 0;  // and how many of them the record has not shown yet.
  std::uint64_t next_fence = 0;         // 0: not known yet.
  clock::time_point confirmed_at{};     // Of the next fence: when the request was sent,
  clock::time_point deadline{};         // and how long its lease lasts.

  // A refresh that was sent on this connection and may run until then has no answer; min(): it was never sent.
  void note_unanswered(std::uint64_t epoch, clock::time_point may_run_until) {
    if (may_run_until == clock::time_point::min()) return;
    unanswered.merge(epoch, may_run_until, lengthening);
    ++number_unanswered;
  }
};

// Public members may be called from any thread, except those marked as belonging to the strand.
class hold_state final : public caller, public activity, public alarm, public std::enable_shared_from_this<hold_state> {
 public:
  struct grant {
    std::string token;
    std::uint64_t fence = 0;      // As Redis has given it.
    std::uint64_t own_fence = 0;  // Of a hold that was passed on; 0: `fence`.
    clock::time_point deadline{};
    std::chrono::milliseconds lease{0};
    std::chrono::milliseconds margin{0};
    std::chrono::milliseconds at_least{0};
    unanswered_attempt unanswered;
    // The record may exist until then, because of requests to lengthen the lease, answered or not.
    clock::time_point may_last_until{};
    // The longest lease that such a request asked for. The server may carry it out late.
    std::chrono::milliseconds longest_asked{0};
    // The same of those that have no answer.
    std::chrono::milliseconds lengthening{0};
    clock::time_point asked_at{};  // When the operation began that was granted the lock.
    // When the request was sent with which Redis confirmed this grant; time_point::min(): it is not confirmed yet.
    clock::time_point confirmed_at{};
    // The bound of the cohort counts from then: the same, or the arrival of the message that brought the grant.
    clock::time_point cohort_since{};
    std::shared_ptr<cohort_tenure> tenure;  // Null before the first pass of a grant that was confirmed from the start.
    std::shared_ptr<joint_holds> joint;     // Null where one hold exists at a time.
    renewal renew = renewal::automatic;
    std::uint32_t passes = 0;  // How often it was passed on since cohort_since, without asking Redis (cohort.hpp).
    std::uint32_t depth = 1;
    bool is_repeated = false;    // An earlier request with the token may have been granted before it.
    bool contended = false;      // It had waiters, and was not kept since then because no other client waited.
    successors* next = nullptr;  // Null: none.
    std::shared_ptr<lingering_tenure> lingering;  // Null: it does not linger.
  };

  hold_state(std::shared_ptr<client_handle> handle, std::shared_ptr<const lock_identity> lock, grant&& g);

  const std::shared_ptr<client_core>& core() const { return core_; }
  const lock_identity& lock() const { return *lock_; }
  const std::shared_ptr<const lock_identity>& shared_lock() const { return lock_; }
  const std::string& token() const { return grant_.token; }
  std::uint64_t fence() const { return fence_.load(std::memory_order_acquire); }
  std::uint32_t depth() const { return grant_.depth; }
  std::chrono::milliseconds lease() const { return grant_.lease; }
  const std::shared_ptr<lingering_tenure>& lingering() const { return grant_.lingering; }
  const std::shared_ptr<joint_holds>& joint() const { return grant_.joint; }
  clock::time_point deadline() const { return deadline_.load(std::memory_order_acquire); }

  bool released() const { return (flags_.load(std::memory_order_acquire) & is_released) != 0; }
  bool detached() const { return (flags_.load(std::memory_order_acquire) & is_detached) != 0; }
  // Redis no longer has it, or the deadline has passed.
  bool gone() const { return gone_.load(std::memory_order_acquire) || clock::now() >= deadline(); }
  bool valid() const { return !released() && !loss_reported() && !gone(); }
  // The hold has not covered the work up to now: it is gone, or client::close has released it.
  bool outlived() const {
    const auto flags = flags_.load(std::memory_order_acquire);
    return (flags & is_released) != 0 ? (flags & by_close) != 0 : gone();
  }

  // True for the first caller only: from then on the hold is being released.
  bool begin_release() { return (flags_.fetch_or(is_released, std::memory_order_acq_rel) & is_released) == 0; }
  // The hold's owner has destroyed it without a release.
  static void drop(std::shared_ptr<hold_state>);
  // A caller that has guarded the hold and then finds it not outlived has the hold to itself: client::close leaves the
  // release to that caller.
  void guard() { flags_.fetch_or(is_guarded, std::memory_order_acq_rel); }
  // The program does not have the hold yet: until keep_rest, its release does not wait for acquire_options::at_least.
  void forgo_rest() { flags_.fetch_or(is_forgone, std::memory_order_acq_rel); }
  void keep_rest() { flags_.fetch_and(static_cast<std::uint8_t>(~is_forgone), std::memory_order_acq_rel); }
  // If client::close has waited for it, and the hold is not being released (it was moved elsewhere), it is released.
  void unguard();

  // --- On the strand ---

  // The grant has arrived: starts the renewals, for a pushed grant after its confirmation.
  void start(bool confirmed);
  // After begin_release.
  void release(release_op::listener);
  // After begin_release: the hold stays in Redis, and this client forgets it. The reply has renewed it just now.
  std::shared_ptr<const ticket_fields> detach(const lease_reply&, const answer&);
  void wait_for_loss(std::shared_ptr<loss_listener>);
  void forget(loss_listener&);
  // What the next holder in a cohort takes over.
  grant as_granted() const;
  // Whether a record with this fence belongs to this tenure.
  bool is_recorded(std::uint64_t fence);
  bool confirmed() const { return confirmed_; }
  // A request that gives the record another fence is on its way.
  bool is_refreshing() const { return grant_.tenure && grant_.tenure->refreshing; }
  // One that was not answered.
  const unanswered_attempt& unanswered_refresh() const {
    static constexpr unanswered_attempt none;
    return grant_.tenure ? grant_.tenure->unanswered : none;
  }
  // Whether hold::wanted has found for the first time that another client waits.
  bool is_first_wanted() { return !std::exchange(was_wanted_, true); }
  // Earlier attempts with the token.
  const unanswered_attempt& unanswered() const { return grant_.unanswered; }
  // A writer that can still become a reader.
  bool is_writer() const { return lock_->kind.role == role::writer && !downgraded_; }
  // A request to become a reader is on its way. (If its answer is lost, the fence in a later answer shows the change.)
  void expect_reader() { ++may_be_reader_; }
  // The server has refused it.
  void expect_no_reader() { may_be_reader_ -= may_be_reader_ != 0 ? 1U : 0U; }
  // That has no answer yet, or its answer was lost.
  bool may_be_reader() const { return may_be_reader_ != 0; }
  // It has become a reader, in a phase with this fence.
  void become_reader(std::uint64_t fence);
  // A request that lengthens the lease to this length is being sent.
  void lengthens(std::chrono::milliseconds lease) {
    asks_for(lease);
    lengthening_.lease = std::max(lengthening_.lease, lease);
    ++lengthening_.requests;
  }
  // It was answered.
  void is_lengthened() {
    if (lengthening_.requests != 0 && --lengthening_.requests == 0) lengthening_.lease = grant_.lengthening;
  }
  // What the server says to a request for `lease` (0: that lengthens nothing) while the release of the hold comes next
  // on the strand, of which the request did not know: the next one to have the hold takes it over.
  void note_for_release(const answer&, std::chrono::milliseconds lease);
  // lost() has completed. The hold stays lost.
  bool loss_reported() const { return loss_reported_.load(std::memory_order_acquire); }
  // A request has lengthened the lease to `lease`, and the server says that `left` is left of it.
  void raise(const answer&, std::chrono::milliseconds lease, std::chrono::milliseconds left);
  // Redis does not have the hold any more. left_in_store: but the token may wait in the queue, or may have been granted
  // once more.
  void lose(bool left_in_store = false);

 private:
  // lengthening: renews a hold that is still to be confirmed.
  enum : std::uint32_t { confirming, renewing, checking, lengthening };
  // by_close: released by client::close.
  // is_awaited: client::close waits for its release (core_'s work).
  // is_detached: released here, without a release in the store.
  enum : std::uint8_t {
    is_released = 1,
    is_guarded = 2,
    by_close = 4,
    is_forgone = 8,
    is_awaited = 16,
    is_detached = 32
  };

  void confirm_soon();
  bool is_unconfirmed() const { return !confirmed_ && !loss_reported_ && !released(); }
  // The present holder of the cohort, if the confirmation that this one has asked for is that one's,
  std::shared_ptr<hold_state> passed_to() const;
  // and if it still needs it.
  std::shared_ptr<hold_state> heir() const;

  request request_of(std::uint32_t tag) const override;
  void sent(std::uint32_t tag, const sending&) override;
  bool wants(std::uint32_t) const override { return !loss_reported_ && !released(); }
  turn turn_of(std::uint32_t) const override { return turn::keeps; }
  std::chrono::milliseconds patience_of(std::uint32_t) const override {
    return renewal_patience(grant_.lease - grant_.margin);
  }
  void answered(std::uint32_t tag, const answer&) override;
  void store_is_up() override;
  void store_refuses(error_code) override;
  void on_close() override;
  void on_clock_jump(clock::duration) override;
  void on_other_server() override;
  void on_moved(const std::unordered_set<std::uint16_t>&) override;
  void on_tagged_keys() override {
    if (loss_reported_ || released() || listens_) return;
    listen_at_ = clock::now();
    schedule();
  }
  void on_broken(std::string_view token) override;
  // The release of a lost hold connects again, unless Redis has reported that the hold is gone.
  bool needs_store() const override { return !loss_reported_; }
  void abandon() override;
  void ring(clock::time_point now) override;

  void asks_for(std::chrono::milliseconds lease);
  void schedule();
  clock::time_point next_renewal() const { return next_renewal(clock::now()); }
  clock::time_point next_renewal(clock::time_point now) const;
  clock::time_point rests_until() const;
  bool rests() const {
    const auto until = rests_until();
    return until != clock::time_point::min() && clock::now() < until;
  }
  void believe(const answer&, std::chrono::milliseconds left);
  void ask();
  void release_by_close();
  // client::close waits no longer for this hold, if it did.
  void let_close_end();
  void try_again(clock::time_point now);
  // It has fewer renewals than it may need, and one is due only later: asking for it must use up none.
  bool saves_renewals() const;
  clock::time_point left_until() const;
  void report_loss();
  void count_loss();
  void notify(event::kind, clock::duration) const;
  void stop_holding();
  void complete_waiters(error_code);
  void leave();

  const std::shared_ptr<client_core> core_;
  const std::shared_ptr<const lock_identity> lock_;
  // Any thread may read the token, the depth and the lease, which do not change. `confirmed_at`, `may_last_until` and
  // `longest_asked` are kept up to date here, on the strand.
  grant grant_;
  std::atomic<std::uint64_t> fence_;
  std::atomic<clock::time_point> deadline_;
  // (Small members together: there may be very many holds.)
  std::atomic<std::uint8_t> flags_{0};
  std::atomic<bool> gone_{false};
  std::atomic<bool> loss_reported_{false};
  bool was_wanted_ = false;
  bool is_missing_ = false;  // Redis has said, after the program had released the hold, that it does not have it.
  bool listens_ = false;     // In a cluster: the slot's messages were asked for.
  bool confirmed_ = true;
  bool asking_ = false;
  bool downgraded_ = false;
  std::uint32_t may_be_reader_ = 0;  // Downgrades that may have run, or will.
  std::uint32_t renewals_left_;

  std::shared_ptr<client_handle> handle_;  // Until the release is under way.
  clock::time_point renew_at_ = clock::time_point::max();
  clock::time_point check_at_ = clock::time_point::max();   // When it is asked for again without a renewal.
  clock::time_point listen_at_ = clock::time_point::max();  // In a cluster: when the slot's messages are asked for.
  struct {
    std::chrono::milliseconds lease{0};
    std::uint32_t requests = 0;  // That lengthen it, and have no answer.
  } lengthening_;
  clock::time_point raised_at_{};  // When the request was sent with which the deadline was last raised.
  struct {
    clock::time_point began{};
    clock::duration lasted{0};  // Until the release or the loss, whichever came first.
    bool is_counted = false;    // In the gauge of holds,
    bool is_lost = false;       // and among those that were lost.
  } tenure_;
  std::vector<std::shared_ptr<loss_listener>> waiters_;
};

}  // namespace leasehold::detail
