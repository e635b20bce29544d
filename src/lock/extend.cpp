// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/extend.hpp"

#include "client/options.hpp"
#include "protocol/lease_reply.hpp"

#include <algorithm>

namespace leasehold::detail {

using std::chrono::milliseconds;

extend_op::extend_op(std::shared_ptr<hold_state> hold, hold_handler h, std::optional<milliseconds> lease)
    : operation(hold->core(), std::move(h)), hold_(std::move(hold)), lease_(lease) {}

void extend_op::start(const std::shared_ptr<hold_state>& hold, hold_handler h, std::optional<milliseconds> lease) {
  std::make_shared<extend_op>(hold, std::move(h), lease)->launch(stops_waiting);
}

error_code extend_op::bad() const {
  if (lease_) return check_lease(*lease_);
  return hold_->released() || hold_->is_writer() ? error_code() : make_error_code(error::not_supported);
}

void extend_op::begin() {
  if (const error_code ec = bad()) return end(ec);
  if (hold_->released()) return end(error::not_held);
  if (hold_->loss_reported() || hold_->gone()) return end(error::lost);
  if (!core_->open()) return end(error::closed);
  core_->add(*this);
  give_up_at_ = later(clock::now(), core_->options().command_timeout);
  core_->set(*this, std::min(give_up_at_, hold_->deadline()));
  send();
}

void extend_op::send() {
  if (has_ended()) return;
  if (hold_->released()) return end(error::not_held);
  if (hold_->loss_reported()) return end(error::lost);
  asking_ = core_->send(self_, 0);
  if (asking_) return;
  if (core_->refused()) return end(error::refused);
  core_->when_up(*this);
}

request extend_op::request_of(std::uint32_t) const {
  request r = hold_->lock().request_for(lease_ ? verb::renew : verb::downgrade, hold_->token());
  r.lease = lease_.value_or(milliseconds(0));
  return r;
}

void extend_op::sent(std::uint32_t, const sending&) {
  if (lease_) return hold_->lengthens(*lease_);
  if (!std::exchange(is_expected_, true)) hold_->expect_reader();
}

// A release that is under way does not know about a longer lease, and a lost hold stays lost.
bool extend_op::wants(std::uint32_t) const { return !hold_->loss_reported() && !hold_->released(); }

void extend_op::answered(std::uint32_t, const answer& a) {
  core_->note_answer(a);
  asking_ = false;
  const auto hold = hold_;
  may_have_run_ = may_have_run_ || a.from_store == nullptr || a.from_store->refused != refusal::no;
  if (a.from_store == nullptr) return send();
  if (lease_) hold->is_lengthened();
  const outcome& o = *a.from_store;
  if (o.refused) {
    switch (*o.refused) {
      case refusal::try_again:
      case refusal::moving_slot:
      case refusal::no_majority:
        if (!has_ended()) core_->set(*this, std::min(later(clock::now(), milliseconds(50)), give_up_at_));
        return;
      case refusal::wrong_type:
        if (hold->released()) return end_released(a);
        hold->lose();
        return end(error::lost);
      case refusal::no:
        // On a quorum some of the servers may have done it.
        if (is_expected_ && !may_have_run_ && !core_->is_quorum()) hold->expect_no_reader();
        core_->note_refusal(o.words);
        return end(error::refused);
    }
  }
  const lease_reply& lease = o.lease;
  if (!lease.understood) {
    if (!has_ended()) core_->set(*this, std::min(later(clock::now(), milliseconds(50)), give_up_at_));
    return;
  }
  core_->observe_time(lease.server_time, a);
  if (hold->released()) return end_released(a);
  if (lease.status != status::held || (lease_ && !hold->is_recorded(lease.fence))) {
    hold->lose(/*left_in_store=*/lease.status == status::held);
  }
  if (hold->loss_reported()) return end(error::lost);
  if (!lease_) {
    // Even if no caller waits for the result any more.
    hold->become_reader(lease.fence);
    return end(error_code());
  }
  // The hold takes this over even if no caller waits any more: the lease has that length now.
  hold->raise(a, *lease_, lease.left);
  end(error_code());
}

void extend_op::end_released(const answer& a) {
  hold_->note_for_release(a, lease_.value_or(milliseconds(0)));
  end(error::not_held);
}

void extend_op::ring(clock::time_point now) {
  if (hold_->released()) return end(error::not_held);
  if (hold_->loss_reported() || hold_->gone()) return end(error::lost);
  if (now >= give_up_at_) {
    core_->note_silence();
    return end(error::unreachable);
  }
  // A renewal may have moved the deadline meanwhile.
  core_->set(*this, std::min(give_up_at_, hold_->deadline()));
  if (!asking_) send();
}

}  // namespace leasehold::detail
