// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a queue entry does with a grant: by an answer, by a message, acknowledged by replicas, or passed on in the
// client.
#include "lock/queue_entry.hpp"

#include "client/options.hpp"
#include "lock/cohort.hpp"
#include "lock/hold_state.hpp"
#include "lock/joint_cohort.hpp"
#include "lock/lingering.hpp"
#include "protocol/lease_reply.hpp"

#include <algorithm>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

milliseconds whole_ms(clock::duration d) {
  return std::max(std::chrono::duration_cast<milliseconds>(d), milliseconds(1));
}

}  // namespace

void queue_entry::on_grant(const lease_reply& lease, const answer& a) {
  if (!drop_late(a.received)) return;
  if (is_of_another(lease)) return begin_again();
  const milliseconds wanted = first_lease(front().options());
  const auto until = core_->still_sure(token_, local_deadline(a.sent, attempts_.lease(), lease.left, core_->drift()));
  // The answer took longer than the lease, or the waiter in front is now one with a longer lease. A repeat lengthens
  // the lease.
  const bool is_short = attempts_.lease() < wanted;
  if ((a.received >= until || is_short) && !std::exchange(asked_again_, true)) return ask();
  // The lease has to cover at_least, even if the waiter in front has changed once more.
  if (is_short && front().options().at_least.count() != 0) return ask();
  if (front().options().replicas != 0) return prove();
  grant(lease.fence, until, a.sent, lease.depth);
}

// Of a waiter that has left. Its lease may be longer than the waiter in front has asked for, and cannot be shortened:
// if this program died, others would be kept out for that long. Or it followed a reader that this one has not waited
// with.
bool queue_entry::is_of_another(const lease_reply& lease) {
  return std::max(attempts_.lease(), lease.left) > first_lease(front().options()) ||
         (!follows_.empty() && !front().may_follow());
}

void queue_entry::begin_again() {
  release_token(nullptr);
  begin();
}

// The replicas acknowledge the confirmation and not the grant itself, which another client may have made: WAIT only
// covers the writes of its own connection.
void queue_entry::prove() {
  const auto& o = front().options();
  // The wait must leave something of the lease.
  const auto limit =
      std::min({core_->options().command_timeout, o.lease / 2, whole_ms(front().deadline() - clock::now())});
  go_to(state::proving);
  proof_.attempt = next_attempt();
  proof_.stepped = core_->stepped();
  if (core_->send_acknowledged(shared_from_this(), proof_.attempt, o.replicas, limit)) {
    // The limit is that of WAIT alone: the request may also have to wait for another one, or for a connection.
    const auto until = later(clock::now(), std::min(limit + core_->options().command_timeout, attempts_.lease()));
    return go_to(state::proving, until);
  }
  asked_again_ = true;  // The attempt before was granted.
  ask();
}

void queue_entry::on_proof(const answer& a) {
  const auto self = shared_from_this();
  unset();
  if (!drop_late(a.received)) return;
  go_to(state::asking);  // With the answer in hand.
  const lease_reply lease = a.from_store != nullptr ? a.from_store->lease : lease_reply();
  const auto& o = front().options();
  // The grant stands, and its slot is being moved, for example. The next poll follows it.
  const bool may_stand = a.from_store != nullptr && a.from_store->refused && is_temporary(*a.from_store->refused);
  if (role_ != role::once && may_stand) {
    asked_again_ = true;
    return pause(a.received);
  }
  const bool ours = lease.understood && lease.status == status::held;
  if (ours && a.from_store->acknowledged >= o.replicas) {
    if (is_of_another(lease)) return begin_again();
    // WAIT held the reply back. Meanwhile another reply may have shown a step of the clock.
    const auto until =
        local_deadline(a.sent, attempts_.lease(), lease.left, core_->drift()) - (core_->stepped() - proof_.stepped);
    const bool covers = o.at_least.count() == 0 || attempts_.lease() >= o.at_least;
    if (attempts_.lease() < first_lease(o) && (!std::exchange(asked_again_, true) || !covers)) return ask();
    if (a.received < until) return grant(lease.fence, until, a.sent, lease.depth);
  }
  // A token that some replicas know is never used again.
  lacks_replicas_ = lease.understood;
  const auto op = front().shared();
  release_token(nullptr);
  if (role_ == role::once) {
    forget();
    waiters_.pop_front();
    return op->complete(lacks_replicas_ ? make_error_code(error::no_quorum) : make_error_code(error::unreachable));
  }
  registry::of(*core_).forget_token(*this);
  take_token();
  pause(a.received);
}

void queue_entry::on_granted(const pushed_grant& g) {
  if (state_ == state::over || state_ == state::proving) return;
  const auto now = clock::now();
  if (!drop_late(now)) return;
  if (!check_.believes(g, attempts_.lease(), now)) {
    if (state_ != state::asking) ask();
    return;
  }
  // The answer to a poll that has gone out for a waiter with a longer lease decides.
  if (is_on_its_way() && attempts_.lease() > first_lease(front().options())) return;
  // The lease is that of a waiter that has left, and cannot be shortened: on_grant() decides.
  if (g.lease > first_lease(front().options())) {
    if (!is_on_its_way()) ask();
    return;
  }
  core_->count().handed_off.fetch_add(1, std::memory_order_relaxed);
  // Half a round trip: the request with the stamp ran before the grant, so the lease began after the stamp.
  const auto until = local_deadline(g.stamp, g.lease, g.lease, core_->drift());
  if (front().options().replicas != 0) {
    if (state_ != state::asking) prove();
    return;
  }
  // If this process died before the confirmation, the lock would be free after the short lease, and not after at_least.
  if (until - front().options().margin - now < least_head_start || front().options().at_least.count() != 0) {
    if (state_ != state::asking) ask();  // Confirms, as a repeat.
    return;
  }
  grant(g.fence, until, clock::time_point::min(), g.depth);
}

// confirmed_at: time_point::min() for a grant that is still to be confirmed.
void queue_entry::grant(std::uint64_t fence, clock::time_point deadline, clock::time_point confirmed_at,
                        std::uint32_t depth) {
  const auto self = shared_from_this();
  const bool confirmed = confirmed_at != clock::time_point::min();
  // A poll may still be on its way.
  const bool polls = is_on_its_way() && !confirmed;
  if (polls) attempts_.note_unanswered(longest_trace());
  hold_state::grant g{};
  g.token = token_;
  g.fence = fence;
  g.deadline = deadline;
  g.unanswered = attempts_.unanswered();
  g.confirmed_at = confirmed_at;
  g.cohort_since = confirmed ? confirmed_at : clock::now();
  // An owner enters past all entries that wait, so a grant says nothing about them.
  if (lock_->kind.shares_fence) g.cohort_since = {};
  if (!confirmed && passes_on(*lock_) && !lock_->kind.shares_fence) {
    g.tenure = std::make_shared<cohort_tenure>();
    g.tenure->recorded_fence = fence;
    if (polls) g.tenure->lengthening = attempts_.lease();  // A repeat confirms.
  }
  g.depth = depth;
  g.is_repeated = asked_again_ || attempts_.unanswered().exists;
  g.contended = in_queue_;
  if (!answered_) parallel_.on_grant();
  on_parallel_outcome(true);
  const auto op = front().shared();
  waiters_.pop_front();
  if (lock_->kind.role == detail::role::reader) {
    parallel_.on_reader(token_);
    if (in_queue_) {
      for (auto& w : waiters_) w.let_follow();
    }
  }
  note_granted();
  auto held = hand_over(*op, std::move(g));
  if (waiters_.empty()) {
    forget();
  } else {
    begin();
    ask_in_parallel();
  }
  op->complete(std::move(held));
}

// The waiters behind that wait for it. Those of a lock that several hold at a time may still be granted it at once.
void queue_entry::note_granted() {
  lacks_replicas_ = false;
  if (std::exchange(found_busy_, true) || lock_->kind.mode == hold_mode::shared) return;
  for (auto& w : waiters_) w.note_contention();
}

hold queue_entry::hand_over(waiter& op, hold_state::grant&& g) {
  g.asked_at = op.began();
  const bool confirmed = g.confirmed_at != clock::time_point::min();
  g.lease = op.options().lease;
  g.renew = op.options().renew;
  g.margin = op.options().margin;
  g.at_least = op.options().at_least;
  g.next = &cohort();
  join(joint_, g);
  lingering::accompany(core_, lock_, op.options(), g, confirmed);
  auto held = std::make_shared<hold_state>(op.handle(), lock_, std::move(g));
  held->start(confirmed);
  if (op.forgoes_rest()) held->forgo_rest();
  return access::make_hold(std::move(held));
}

waiter* queue_entry::first(clock::time_point now) {
  return role_ != role::once && drop_late(now) && !waiters_.empty() ? &front() : nullptr;
}

void queue_entry::grant_locally(hold_state::grant&& g) {
  const auto self = shared_from_this();
  const auto op = front().shared();
  waiters_.pop_front();
  note_granted();
  if (lock_->kind.mode == hold_mode::shared) parallel_.on_pass();
  // Those that asked before may have left, and the next ones would follow none of the readers that are there.
  if (lock_->kind.role == detail::role::reader) parallel_.on_reader(g.token);
  auto held = hand_over(*op, std::move(g));
  if (waiters_.empty()) {
    withdraw(nullptr);
  } else if (joint_ && (!joint_->beside.empty() || !follows_.empty())) {
    // The place of this waiter is in front of waiters that have come before the next one here, and each has one to
    // follow with.
    if (is_on_its_way()) attempts_.note_unanswered(longest_trace());
    begin_again();
  }
  op->complete(std::move(held));
}

}  // namespace leasehold::detail
