// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/detach.hpp"

#include "protocol/lease_reply.hpp"
#include "protocol/ticket_text.hpp"

#include <leasehold/hold.hpp>

#include <algorithm>
#include <utility>

namespace leasehold::detail {
namespace {

// The pause between two requests to a server that cannot answer yet, or while an earlier attempt may still run.
constexpr std::chrono::milliseconds pause_of_detach{50};

}  // namespace

std::shared_ptr<const ticket_fields> hold_state::detach(const lease_reply& reply, const answer& a) {
  const asker its = read_ask(lock_->kind.ask, lock_->ask);
  ticket_fields f;
  f.kind_name = lock_->kind.code->name;
  f.kind = kind_of(f.kind_name, its.role == role::reader || downgraded_);
  f.name = lock_->name;
  f.owner = its.owner;
  f.limit = lock_->limit.load(std::memory_order_relaxed);
  f.token = grant_.token;
  f.fence = fence();
  f.recorded = core_->is_quorum() ? fence() : reply.fence;  // A quorum does not say which fence its servers have.
  f.lease = grant_.lease;
  f.depth = grant_.depth;
  if (a.sent < rests_until()) {
    // The next holder makes the allowance for what is left.
    const auto counted = core_->drift().of(std::chrono::floor<std::chrono::milliseconds>(a.sent - tenure_.began));
    const auto until = later(tenure_.began, grant_.at_least) + counted;
    f.rest = std::chrono::ceil<std::chrono::milliseconds>(until - a.sent);
    f.rest_from = reply.server_time;
  }
  core_->let_go(grant_.token);
  flags_.fetch_or(is_detached, std::memory_order_acq_rel);
  activity::unlink();
  leave();
  complete_waiters(error::not_held);
  if (grant_.lingering) grant_.lingering->end();
  notify(event::kind::released, tenure_.lasted);
  handle_.reset();
  let_close_end();
  return std::make_shared<const ticket_fields>(std::move(f));
}

detach_op::detach_op(std::shared_ptr<hold_state> hold, handler::handler_type h)
    : operation(hold->core(), std::move(h)), hold_(std::move(hold)) {}

void detach_op::start(const std::shared_ptr<hold_state>& hold, handler::handler_type h) {
  std::make_shared<detach_op>(hold, std::move(h))->launch(stops_waiting);
}

error_code detach_op::gone() const {
  if (hold_->released()) return error::not_held;
  if (hold_->loss_reported() || hold_->gone()) return error::lost;
  return {};
}

void detach_op::begin() {
  if (const error_code ec = gone()) return end(ec);
  if (!core_->open()) return end(error::closed);
  core_->add(*this);
  give_up_at_ = later(clock::now(), core_->options().command_timeout);
  send();
}

void detach_op::send() {
  if (is_over()) return;
  if (const error_code ec = gone()) return end(ec);
  core_->set(*this, std::min(give_up_at_, hold_->deadline()));
  asking_ = core_->send(self_, hold_->may_be_reader() ? downgrading : renewing);
  if (asking_) return;
  if (core_->refused()) return end(error::refused);
  core_->when_up(*this);
}

void detach_op::try_again() {
  if (!is_over()) core_->set(*this, std::min(later(clock::now(), pause_of_detach), give_up_at_));
}

request detach_op::request_of(std::uint32_t tag) const {
  if (tag == downgrading) return hold_->lock().request_for(verb::downgrade, hold_->token());
  request r = hold_->lock().request_for(hold_->confirmed() ? verb::renew : verb::confirm, hold_->token());
  r.lease = hold_->lease();
  return r;
}

void detach_op::answered(std::uint32_t tag, const answer& a) {
  core_->note_answer(a);
  asking_ = false;
  if (a.from_store == nullptr) return send();
  if (tag == renewing) hold_->is_lengthened();
  const outcome& o = *a.from_store;
  if (o.refused) {
    switch (*o.refused) {
      case refusal::try_again:
      case refusal::moving_slot:
      case refusal::no_majority: return try_again();
      case refusal::wrong_type:
        if (hold_->released()) return end_released(tag, a);
        hold_->lose();
        return end(error::lost);
      case refusal::no: core_->note_refusal(o.words); return end(error::refused);
    }
  }
  const lease_reply& lease = o.lease;
  if (!lease.understood) return try_again();
  core_->observe_time(lease.server_time, a);
  if (hold_->released()) return end_released(tag, a);
  if (hold_->loss_reported()) return end(error::lost);
  if (lease.status != status::held || (tag == renewing && !hold_->is_recorded(lease.fence))) {
    hold_->lose(/*left_in_store=*/lease.status == status::held);
    return end(error::lost);
  }
  if (tag == downgrading) {
    hold_->become_reader(lease.fence);
    return send();
  }
  // The lease has that length now, even if no caller waits for the ticket any more: then the hold goes on.
  hold_->raise(a, hold_->lease(), lease.left);
  if (is_over()) return;
  // A downgrade was begun meanwhile, and the ticket has to be that of a reader.
  if (hold_->may_be_reader()) return send();
  // The ticket has the fence in the record, which would be another one then.
  if (hold_->is_refreshing()) {
    return core_->set(*this, std::min({give_up_at_, hold_->deadline(), later(a.received, pause_of_detach)}));
  }
  // What an earlier attempt with the token acquires late, no holder of the ticket would release. And a late refresh
  // gives the record another fence.
  for (const auto* const late : {&hold_->unanswered(), &hold_->unanswered_refresh()}) {
    if (!late->may_run_after(a.sent, *core_)) continue;
    const auto until = late->may_run_until;
    give_up_at_ = std::max(give_up_at_, later(until, core_->options().command_timeout));
    // Nothing else may renew the hold.
    return core_->set(*this, std::min(until, later(a.received, pause_of_detach)));
  }
  if (!hold_->begin_release()) return end(error::not_held);
  end(error_code(), access::make_ticket(hold_->detach(lease, a)));
}

void detach_op::end_released(std::uint32_t tag, const answer& a) {
  hold_->note_for_release(a, tag == renewing ? hold_->lease() : std::chrono::milliseconds(0));
  end(error::not_held);
}

void detach_op::ring(clock::time_point now) {
  if (const error_code ec = gone()) return end(ec);
  if (now >= give_up_at_) {
    core_->note_silence();
    return end(error::unreachable);
  }
  // A renewal may have moved the deadline meanwhile.
  core_->set(*this, std::min(give_up_at_, hold_->deadline()));
  if (!asking_) send();
}

}  // namespace leasehold::detail
