// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The end of a hold: its release, by the program, by the destructor, or by client::close.
#include "lock/hold_state.hpp"

#include "protocol/lease_reply.hpp"
#include "time/lease.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace leasehold::detail {

using std::chrono::milliseconds;

void hold_state::release(release_op::listener l) {
  activity::unlink();
  leave();
  complete_waiters(error::not_held);
  notify(event::kind::released, tenure_.lasted);
  const bool was_gone = gone_.load(std::memory_order_relaxed);
  if (was_gone || is_missing_ || loss_reported_ || may_be_reader() || downgraded_ || grant_.next == nullptr ||
      rests() || !grant_.next->pass_on(*this, l)) {
    const bool is_wanted = grant_.lingering && grant_.lingering->end();
    if (was_gone && l) std::exchange(l, nullptr)->on_released(error::lost);  // Redis has already said so.
    // (An attempt without an answer may still acquire the lock.)
    if (!was_gone || grant_.unanswered.exists) {
      auto op = std::make_shared<release_op>(core_, lock_, grant_.token, deadline(), grant_.unanswered);
      if (!tenure_.is_lost) op->of_a_hold();
      if (grant_.contended || is_wanted) op->expect_waiter();
      op->may_last(left_until());
      op->rest_until(rests_until());
      op->start(std::move(l));
    }
  }
  handle_.reset();
  let_close_end();
}

void hold_state::count_loss() {
  if (!std::exchange(tenure_.is_lost, true)) core_->count().count(lock_->its_class.get(), &lock_figures::lost);
}

void hold_state::let_close_end() {
  const auto before = flags_.fetch_and(static_cast<std::uint8_t>(~is_awaited), std::memory_order_acq_rel);
  if ((before & is_awaited) != 0) core_->end_work();
}

void hold_state::note_for_release(const answer& a, milliseconds lease) {
  const outcome& o = *a.from_store;
  const bool is_told = !o.refused && o.lease.understood;
  if (o.refused == refusal::wrong_type ||
      (is_told && (o.lease.status == status::not_held || (lease > milliseconds(0) && !is_recorded(o.lease.fence))))) {
    is_missing_ = true;
    // If it was released already, its next holder, or what lingers, has the token.
    core_->note_broken(grant_.token);
  } else if (is_told && lease > milliseconds(0) && !loss_reported_) {
    const auto ends = core_->still_sure(grant_.token, local_deadline(a.sent, lease, o.lease.left, core_->drift()));
    deadline_.store(std::max(deadline(), ends), std::memory_order_release);
  }
}

hold_state::grant hold_state::as_granted() const {
  grant g = grant_;
  g.deadline = deadline();
  if (confirmed_) g.may_last_until = left_until();
  g.lengthening = lengthening_.lease;
  return g;
}

void hold_state::drop(std::shared_ptr<hold_state> state) {
  if (!state->begin_release()) return;
  auto core = state->core_;
  core->post([state = std::move(state)] { state->release(nullptr); });
}

void hold_state::unguard() {
  const auto before = flags_.fetch_and(static_cast<std::uint8_t>(~is_guarded), std::memory_order_acq_rel);
  if ((before & is_released) != 0 || (before & is_awaited) == 0) return;
  core_->post([self = shared_from_this()] { self->release_by_close(); });
}

void hold_state::release_by_close() {
  auto flags = flags_.load(std::memory_order_acquire);
  while ((flags & is_released) == 0) {
    const auto closed = static_cast<std::uint8_t>(flags | is_released | by_close);
    if (flags_.compare_exchange_weak(flags, closed, std::memory_order_acq_rel)) return release(nullptr);
  }
}

void hold_state::on_close() {
  const auto self = shared_from_this();  // From begin_release on, the user's thread may drop the last other reference.
  if (!loss_reported_ && !released()) stop_holding();
  // Its release has begun, and comes on the strand; or with_lock releases it when its body has ended. In one step,
  // since other threads may guard and release the hold meanwhile.
  auto flags = flags_.load(std::memory_order_acquire);
  for (;;) {
    const bool waits = (flags & (is_guarded | is_released)) != 0;
    const auto next = static_cast<std::uint8_t>(flags | (waits ? is_awaited : is_released | by_close));
    if (!flags_.compare_exchange_weak(flags, next, std::memory_order_acq_rel)) continue;
    return waits ? core_->begin_work() : release(nullptr);
  }
}

}  // namespace leasehold::detail
