// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/hold_state.hpp"

#include "protocol/lease_reply.hpp"

#include <algorithm>
#include <limits>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

// In a cluster, the client of a hold that lasts longer subscribes to the messages of its slot, to be notified if the
// lock is broken. That takes a command, which short holds do not pay.
constexpr milliseconds listens_after{1000};

}  // namespace

hold_state::hold_state(std::shared_ptr<client_handle> handle, std::shared_ptr<const lock_identity> lock, grant&& g)
    : core_(handle->core),
      lock_(std::move(lock)),
      grant_(std::move(g)),
      fence_(grant_.own_fence != 0 ? grant_.own_fence : grant_.fence),
      deadline_(grant_.deadline),
      renewals_left_(grant_.renew.limit()),
      handle_(std::move(handle)) {
  lengthening_.lease = grant_.lengthening;
}

void hold_state::start(bool confirmed) {
  core_->add(*this);
  core_->count().count(lock_->its_class.get(), &lock_figures::held);
  core_->count().count(lock_->its_class.get(), &lock_figures::acquired);
  const auto now = clock::now();
  tenure_.began = now;
  tenure_.is_counted = true;
  if (grant_.joint) ++grant_.joint->holds;
  notify(event::kind::acquired, now - grant_.asked_at);
  if (core_->has_slots()) listen_at_ = later(now, listens_after);
  confirmed_ = confirmed;
  raised_at_ = grant_.confirmed_at;
  // The server counts the lease from the arrival of the request, but the deadline counts from its sending.
  const auto lease = std::max(grant_.lease, grant_.at_least);
  grant_.may_last_until = std::max(grant_.may_last_until, later(later(now, lease), core_->drift().of(lease)));
  if (!confirmed_) {
    confirm_soon();
  } else if (renewals_left_ != 0) {
    renew_at_ = next_renewal(now);
  }
  schedule();
}

// (While at_least keeps more than it asks for, it would lengthen nothing.)
clock::time_point hold_state::next_renewal(clock::time_point now) const {
  const auto from = grant_.at_least > grant_.lease ? std::max(now, deadline() - grant_.lease) : now;
  return renewal_due(from, deadline() - grant_.margin, core_->identity().phase());
}

// Not too early by the server's clock: it counts from when the client knew of the grant, with the drift allowed for.
clock::time_point hold_state::rests_until() const {
  if (grant_.at_least.count() == 0 || (flags_.load(std::memory_order_acquire) & is_forgone) != 0) {
    return clock::time_point::min();
  }
  return later(tenure_.began, grant_.at_least) + core_->drift().of(grant_.at_least);
}

void hold_state::notify(event::kind what, clock::duration d) const {
  if (!core_->options().observer) return;
  core_->notify({.what = what,
                 .name = lock_->name,
                 .token = grant_.token,
                 .fence = fence(),
                 .duration = std::chrono::duration_cast<std::chrono::microseconds>(d),
                 .label = lock_->label()});
}

// The new holder's handler runs before the confirmation: if it releases at once and the cohort ends with it, there is
// nothing to confirm. If it passes the hold on, the confirmation is that of the next holder.
void hold_state::confirm_soon() {
  const auto& tenure = grant_.tenure;
  if (tenure) {
    tenure->holder = weak_from_this();
    if (tenure->confirming || std::exchange(tenure->will_confirm, true)) return;
  }
  core_->post([self = shared_from_this()] {
    self->core_->post([self] {
      if (self->grant_.tenure) self->grant_.tenure->will_confirm = false;
      const auto heir = self->is_unconfirmed() ? self : self->heir();
      if (!heir) return;
      heir->ask();
      heir->schedule();
    });
  });
}

std::shared_ptr<hold_state> hold_state::passed_to() const {
  if (confirmed_ || !grant_.tenure) return nullptr;
  const auto next = grant_.tenure->holder.lock();
  return next && next.get() != this && !next->confirmed_ ? next : nullptr;
}

std::shared_ptr<hold_state> hold_state::heir() const {
  const auto next = passed_to();
  return next && next->is_unconfirmed() ? next : nullptr;
}

// The renewal may still succeed until the local deadline.
void hold_state::try_again(clock::time_point now) {
  auto& again_at = saves_renewals() ? check_at_ : renew_at_;
  again_at = later(now, std::clamp(grant_.lease / 10, milliseconds(1), milliseconds(500)));
  schedule();
}

bool hold_state::saves_renewals() const {
  const bool is_limited = renewals_left_ != 0 && renewals_left_ != std::numeric_limits<std::uint32_t>::max();
  return is_limited && confirmed_ && renew_at_ != clock::time_point::max() && clock::now() < renew_at_;
}

void hold_state::schedule() {
  core_->set(*this, std::min({renew_at_, check_at_, listen_at_, deadline() - grant_.margin}));
}

void hold_state::ring(clock::time_point now) {
  if (now >= deadline() - grant_.margin) return report_loss();
  if (now >= listen_at_) {
    listen_at_ = clock::time_point::max();
    listens_ = true;
    core_->subscribe_slot(lock_->slot);
  }
  if (now >= check_at_) store_is_up();
  if (now >= renew_at_) {
    // Set first, so that the loss is reported whatever becomes of the renewal.
    core_->set(*this, deadline() - grant_.margin);
    ask();
  }
  schedule();
}

// Confirms a pushed grant, or renews. If no renewal is left (or wanted), it asks whether the hold still exists, without
// lengthening it.
void hold_state::ask() {
  renew_at_ = clock::time_point::max();  // Until the answer.
  if (asking_) return;
  const std::uint32_t tag = !confirmed_ ? confirming : renewals_left_ != 0 ? renewing : checking;
  cohort_tenure* const tenure = tag == confirming ? grant_.tenure.get() : nullptr;
  if (tenure != nullptr && tenure->confirming) return;  // A holder before this one has asked.
  asking_ = core_->send(shared_from_this(), tag);
  if (!asking_) return core_->when_up(*this);
  if (tenure == nullptr) return;
  tenure->confirming = true;
  tenure->lengthening = std::max(tenure->lengthening, grant_.lease);
}

void hold_state::store_is_up() {
  if (loss_reported_ || released()) return;
  check_at_ = clock::time_point::max();
  // Slots may move ten times before the next renewal is due.
  if (!saves_renewals()) {
    ask();
  } else if (!asking_) {
    asking_ = core_->send(shared_from_this(), checking);
    if (!asking_) core_->when_up(*this);
  }
  schedule();
}

void hold_state::store_refuses(error_code) { core_->when_up(*this); }

void hold_state::on_other_server() { store_is_up(); }

void hold_state::on_moved(const std::unordered_set<std::uint16_t>& slots) {
  if (slots.contains(lock_->slot)) store_is_up();
}

// The message may be forged. So it costs one question at a time, and that question neither lengthens the lease nor uses
// up a renewal.
void hold_state::on_broken(std::string_view token) {
  if (token != grant_.token) return;
  if (released()) is_missing_ = true;  // Its release comes next on the strand.
  if (loss_reported_ || released() || asking_ || !confirmed_) return;
  asking_ = core_->send(shared_from_this(), checking);
}

request hold_state::request_of(std::uint32_t tag) const {
  request r = lock_->request_for(tag == confirming ? verb::confirm : verb::renew, grant_.token);
  if (tag != checking) r.lease = grant_.lease;
  return r;
}

// (A confirmation is that of the cohort: cohort_tenure::lengthening.)
void hold_state::sent(std::uint32_t tag, const sending&) {
  if (tag == checking) return;
  tag == confirming ? asks_for(grant_.lease) : lengthens(grant_.lease);
}

void hold_state::asks_for(milliseconds lease) {
  grant_.longest_asked = std::max(grant_.longest_asked, lease);
  grant_.may_last_until = std::max(grant_.may_last_until, core_->may_last(lease));
}

void hold_state::answered(std::uint32_t tag, const answer& a) {
  if (tag == confirming && grant_.tenure) {
    grant_.tenure->confirming = false;
    if (a.from_store != nullptr) grant_.tenure->lengthening = milliseconds(0);
    // Also if its release comes next on the strand.
    if (const auto next = passed_to()) return next->answered(confirming, a);
  }
  const bool renews = tag == renewing || tag == lengthening;
  if (renews && a.from_store != nullptr) is_lengthened();
  core_->note_answer(a);
  asking_ = false;
  if (loss_reported_ || released()) {
    // Other holds of the client depend on the server's clock, too.
    const auto* const o = a.from_store;
    if (o == nullptr) return;
    if (!o->refused && o->lease.understood) core_->observe_time(o->lease.server_time, a);
    return note_for_release(a, tag == checking ? milliseconds(0) : grant_.lease);
  }
  if (a.from_store != nullptr && a.from_store->refused == refusal::wrong_type) return lose();  // It was overwritten.
  if (tag != checking && (a.from_store == nullptr || a.from_store->refused)) {
    core_->count().renewal_failed.fetch_add(1, std::memory_order_relaxed);
  }
  if (a.from_store == nullptr) return store_is_up();
  const outcome& o = *a.from_store;
  if (o.refused) {
    if (o.refused == refusal::no) core_->note_refusal(o.words);
    // The server may have the record but not the queue, which is moved first.
    if (tag == confirming && o.refused == refusal::moving_slot) {
      asking_ = core_->send(shared_from_this(), lengthening);
      if (asking_) return schedule();
    }
    return try_again(a.received);
  }
  const lease_reply& lease = o.lease;
  if (!lease.understood) return try_again(a.received);
  core_->observe_time(lease.server_time, a);
  if (loss_reported_) return;  // A jump of the server's clock has ended it.
  // Another fence: this tenure had ended, and the entry was granted the lock once more.
  if (lease.status != status::held || !is_recorded(lease.fence)) {
    return lose(/*left_in_store=*/lease.status == status::held);
  }
  if (tag == checking) {
    believe(a, lease.left);
    // A renewal may have become due meanwhile.
    if (renewals_left_ != 0 && renew_at_ == clock::time_point::max()) ask();
    // Or be due earlier, if less is left than was confirmed.
    if (renewals_left_ != 0 && renew_at_ != clock::time_point::max()) renew_at_ = std::min(renew_at_, next_renewal());
    return schedule();
  }
  if (tag == lengthening) {
    raise(a, grant_.lease, lease.left);
    return try_again(a.received);
  }
  if (tag == confirming) {
    confirmed_ = true;
    grant_.confirmed_at = a.sent;
  } else {
    core_->count().renewed.fetch_add(1, std::memory_order_relaxed);
    if (renewals_left_ != std::numeric_limits<std::uint32_t>::max()) --renewals_left_;
  }
  raise(a, grant_.lease, lease.left);
}

// Shortens the deadline if the server knows of less than was confirmed. A server that did not lengthen the lease may:
// the master after a failover, or one that has loaded an older file. (A reply that was overtaken proves nothing. On a
// quorum another majority may have confirmed more.)
void hold_state::believe(const answer& a, milliseconds left) {
  if (core_->is_quorum() || left < milliseconds(0) || a.sent <= raised_at_) return;
  // What the same server confirmed before still holds. For another server, the time of sending counts.
  if (deadline() <= later(core_->other_server_since() > raised_at_ ? a.sent : a.received, left)) return;
  deadline_.store(local_deadline(a.sent, left, left, core_->drift()), std::memory_order_release);
}

void hold_state::raise(const answer& a, milliseconds lease, milliseconds left) {
  believe(a, left);
  const auto confirmed = core_->still_sure(grant_.token, local_deadline(a.sent, lease, left, core_->drift()));
  if (confirmed > deadline()) {
    deadline_.store(confirmed, std::memory_order_release);
    raised_at_ = std::max(raised_at_, a.sent);
  }
  // An extension leaves the repeat of a refused confirmation where it is.
  if (confirmed_) renew_at_ = renewals_left_ == 0 ? clock::time_point::max() : next_renewal();
  schedule();
}

void hold_state::on_clock_jump(clock::duration jump) {
  if (loss_reported_) return;
  // Even while the hold is being released: the next holder in the cohort takes this over.
  deadline_.store(core_->after_jump(grant_.token, deadline(), jump), std::memory_order_release);
  if (grant_.tenure && grant_.tenure->next_fence != 0) {
    grant_.tenure->deadline = core_->after_jump(grant_.token, grant_.tenure->deadline, jump);
  }
  if (released()) return;
  renew_at_ = std::min(renew_at_, next_renewal());  // Jumps that follow one another do not put it off.
  if (clock::now() >= deadline() - grant_.margin) return report_loss();
  core_->is_quorum() ? store_is_up() : schedule();
}

void hold_state::lose(bool left_in_store) {
  if (gone_.exchange(true, std::memory_order_acq_rel)) return;
  // The entry of a hold that is not confirmed is still in the queue. On a quorum a minority may have the hold.
  if (left_in_store || !confirmed_ || core_->is_quorum()) {
    const auto gone_by = later(clock::now(), grant_.lease);
    const auto op = std::make_shared<release_op>(core_, lock_, grant_.token, gone_by, grant_.unanswered);
    op->may_last(left_until());
    op->rest_until(rests_until());
    op->start(nullptr);
  }
  loss_reported_ || released() ? count_loss() : report_loss();
}

// A pushed grant's entry is in the queue until it is confirmed. If this process or the server stands still, a request
// that lengthens the lease may be answered much later than its limit: the server carries it out just as late then.
clock::time_point hold_state::left_until() const {
  auto until = grant_.may_last_until;
  if (!confirmed_) until = std::max(until, later(clock::now(), longest_in_queue));
  return grant_.longest_asked.count() == 0 ? until : std::max(until, core_->may_last(grant_.longest_asked));
}

void hold_state::report_loss() {
  count_loss();
  notify(event::kind::lost, clock::now() - tenure_.began);
  stop_holding();
}

// Ends the hold's time: it is not renewed any more, and the operations that wait for its loss complete.
void hold_state::stop_holding() {
  loss_reported_ = true;
  leave();
  complete_waiters(error_code());
}

void hold_state::leave() {
  unset();
  caller::unlink();
  renew_at_ = check_at_ = listen_at_ = clock::time_point::max();
  if (std::exchange(listens_, false)) core_->unsubscribe_slot(lock_->slot);
  if (!std::exchange(tenure_.is_counted, false)) return;
  if (grant_.joint) --grant_.joint->holds;
  tenure_.lasted = clock::now() - tenure_.began;
  core_->count().count(lock_->its_class.get(), &lock_figures::held, -1);
  core_->count().record(lock_->its_class.get(), &lock_figures::hold_time, tenure_.lasted);
}

void hold_state::complete_waiters(error_code ec) {
  auto waiters = std::move(waiters_);
  waiters_.clear();
  for (auto& w : waiters) w->complete(ec);
}

void hold_state::wait_for_loss(std::shared_ptr<loss_listener> op) {
  if (loss_reported_) return op->complete(error_code());
  if (released()) return op->complete(error::not_held);
  if (core_->stopped()) return op->complete(error_code());
  waiters_.push_back(std::move(op));
}

void hold_state::forget(loss_listener& op) {
  std::erase_if(waiters_, [&op](const auto& w) { return w.get() == &op; });
}

bool hold_state::is_recorded(std::uint64_t fence) {
  if (core_->releases_leftovers()) return true;  // This store never grants a token twice.
  if (downgraded_) return fence == this->fence();
  cohort_tenure* const t = grant_.tenure.get();
  const auto recorded = t != nullptr ? t->recorded_fence : grant_.fence;
  if (fence <= recorded) return fence == recorded;
  if (t != nullptr && (t->refreshing || t->unanswered.exists)) {
    t->recorded_fence = fence;
    // Each refresh gives the record one fence.
    if (!t->refreshing && --t->number_unanswered == 0) t->unanswered = {};
    return true;
  }
  if (may_be_reader()) become_reader(fence);
  return downgraded_;
}

void hold_state::become_reader(std::uint64_t fence) {
  may_be_reader_ = 0;
  downgraded_ = true;
  fence_.store(fence, std::memory_order_release);
}

void hold_state::abandon() {
  const auto self = shared_from_this();  // The handlers may own the hold.
  auto waiters = std::move(waiters_);
  waiters_.clear();
  for (auto& w : waiters) w->abandon();
  unset();
  handle_.reset();
}

}  // namespace leasehold::detail
