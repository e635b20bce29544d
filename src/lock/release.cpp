// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/release.hpp"

#include "protocol/refusal.hpp"

#include <algorithm>

namespace leasehold::detail {
namespace {

constexpr std::chrono::milliseconds quick{1000};

// The pause between two requests to a server that cannot answer yet.
constexpr std::chrono::milliseconds pause{50};

// The same for one that refuses for now.
constexpr std::chrono::milliseconds pause_after_refusal{1000};

}  // namespace

void release_op::start(listener l) {
  self_ = shared_from_this();
  listener_ = std::move(l);
  core_->add(*this);
  core_->begin_work();
  const auto now = clock::now();
  report_by_ = lease_end_ > now ? lease_end_ : later(now, std::min(quick, core_->options().command_timeout));
  send();
}

void release_op::send() {
  if (!self_) return;
  unset();
  const auto now = clock::now();
  asking_ = core_->send(self_, 0);
  if (asking_) {
    if (listener_) core_->set(*this, report_by_);
    return;
  }
  const bool is_due = !listener_ || now >= report_by_;
  if (core_->stopped() || (is_due && now >= pointless())) return end(error::unreachable);
  if (is_due) report(error::unreachable);
  core_->when_up(*this);
  core_->set(*this, listener_ ? report_by_ : pointless());
}

clock::time_point release_op::pointless() const {
  auto gone_by = std::max(lease_end_, may_last_until_);
  if (unanswered_.exists) gone_by = std::max(gone_by, unanswered_.gone_by);
  return in_queue_until_ ? std::max(gone_by, *in_queue_until_) : gone_by;
}

request release_op::request_of(std::uint32_t) const {
  const bool rests = clock::now() < rests_until_;
  request r = lock_->request_for(rests ? verb::rest : verb::release, token_);
  r.rests_until = rests_until_;
  r.record_only = record_only_;
  r.publishes_first = waiter_expected_;
  if (lock_->notifies_redisson) r.channel = lock_->unlock_channel;
  return r;
}

void release_op::answered(std::uint32_t, const answer& a) {
  core_->note_answer(a);
  if (!self_) return;
  asking_ = false;
  if (a.from_store == nullptr) {
    repeated_ = repeated_ || sent_;
    return send();
  }
  const outcome& o = *a.from_store;
  if (o.refused) {
    switch (*o.refused) {
      case refusal::moving_slot:
        // The server may have the record but not the queue.
        if (!in_queue_until_ && !std::exchange(record_only_, true)) return send();
        [[fallthrough]];
      case refusal::try_again:
      case refusal::no_majority:
        record_only_ = false;
        if (a.received >= lease_end_) report(error::unreachable);
        if (in_queue_until_ && a.received >= *in_queue_until_) return end(error_code());
        if (a.received >= pointless()) return end(error::unreachable);
        return core_->set(*this, later(a.received, pause));
      case refusal::wrong_type: return settle(error::lost, a);  // The record was overwritten.
      case refusal::no:
        core_->note_refusal(o.words);
        if (!may_pass(o.words) || a.received >= pointless()) return end(error::refused);
        report(error::refused);
        // A quorum asks again by itself. It may have released the token before the next request.
        if (core_->is_quorum()) of_a_hold_ = false;
        return core_->set(*this, later(a.received, pause_after_refusal));
    }
  }
  if (o.released) {
    core_->count().released.fetch_add(1, std::memory_order_relaxed);
    return settle(error_code(), a);
  }
  // The server says "not yours" to a repeat: the first request has released the hold, provided that the lease has not
  // ended meanwhile.
  settle(repeated_ && a.received < lease_end_ ? error_code() : make_error_code(error::lost), a);
}

// The server does not have the token now. If an attempt may still run, another release follows to make sure that
// nothing is left of it.
void release_op::settle(error_code ec, const answer& a) {
  // Only the first answer is about the hold.
  const bool of_a_hold = std::exchange(of_a_hold_, false);
  if (of_a_hold && ec == error::lost) core_->count().count(lock_->its_class.get(), &lock_figures::lost);
  report(ec);
  // The next waiter finds out by its poll that the lock is free. An entry of the token itself would be in the waiter's
  // way.
  if (std::exchange(record_only_, false)) {
    in_queue_until_ = later(a.received, longest_in_queue);
    return core_->set(*this, later(a.received, pause));
  }
  if (!unanswered_.may_run_after(a.sent, *core_)) return end(ec);
  core_->set(*this, unanswered_.may_run_until);
}

void release_op::ring(clock::time_point) {
  if (asking_) return report(error::unreachable);  // The lease has ended, but the answer may still come.
  send();
}

void release_op::store_refuses(error_code) { core_->when_up(*this); }

void release_op::report(error_code ec) {
  if (const auto l = std::exchange(listener_, nullptr)) l->on_released(ec);
}

void release_op::end(error_code ec) {
  if (!self_) return;
  const auto self = std::move(self_);
  unset();
  caller::unlink();
  activity::unlink();
  report(ec);
  core_->end_work();
}

void release_op::abandon() {
  const auto self = std::move(self_);
  listener_ = nullptr;
}

}  // namespace leasehold::detail
