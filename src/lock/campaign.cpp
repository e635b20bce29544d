// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/campaign.hpp"

#include "lock/acquire.hpp"
#include "protocol/leader_reply.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>

#include <utility>

namespace leasehold::detail {

campaign_op::campaign_op(std::shared_ptr<lock_state> lock, handler::handler_type h, const acquire_options& options,
                         shared_text value)
    : operation(lock->handle->core, std::move(h)),
      lock_(std::move(lock)),
      options_(options),
      value_(std::move(value)) {}

void campaign_op::start(const std::shared_ptr<lock_state>& lock, handler::handler_type h,
                        const acquire_options& options, shared_text value) {
  std::make_shared<campaign_op>(lock, std::move(h), options, std::move(value))->launch(any_type);
}

void campaign_op::begin() {
  core_->add(*this);
  if (value_->size() > longest_value) return end(error::invalid_option);
  acquiring_ = true;
  const auto self = shared_from_this();
  auto acquired = [self](error_code ec, hold h) { self->acquired(ec, std::move(h)); };
  auto on_strand =
      asio::bind_executor(core_->strand(), asio::bind_cancellation_slot(stop_acquiring_.slot(), std::move(acquired)));
  const auto op =
      std::make_shared<acquire_op>(lock_, options_, acquire_op::wait_handler(std::move(on_strand), core_->fallback()));
  // Without a value it has not led: if the operation fails from here on, nothing stays busy.
  op->forgo_rest();
  acquire_op::start(op);
}

void campaign_op::acquired(error_code ec, hold h) {
  acquiring_ = false;
  if (is_over()) return;
  hold_ = std::move(h);
  if (resigning_ && access::state(hold_)) return resign(outcome_);
  if (resigning_) return end(outcome_);
  if (ec) return end(ec);
  core_->set(*this, later(clock::now(), core_->options().command_timeout));
  const auto& state = access::state(hold_);
  term_ = std::make_shared<leader_term>(state);
  term_->begin();
  term_->propose(value_, self_);
}

void campaign_op::proclaimed(error_code ec) {
  if (is_over() || resigning_) return;
  if (ec) return resign(ec);
  access::state(hold_)->keep_rest();
  leadership led(std::move(hold_), std::move(term_));
  end(error_code(), std::move(led));
}

void campaign_op::ring(clock::time_point) {
  if (resigning_) return end(outcome_);
  core_->note_silence();
  resign(error::unreachable);
}

void campaign_op::leave(error_code why) {
  if (is_over() || resigning_) return;
  if (!acquiring_) return self_ ? resign(why) : end(why);
  // What acquire leaves takes 100 ms at most. A client that closes ends it by itself.
  resigning_ = true;
  outcome_ = why;
  stop_acquiring_.emit(asio::cancellation_type::terminal);
}

// Completes when the store has answered the release, or after 100 ms.
void campaign_op::resign(error_code outcome) {
  resigning_ = true;
  outcome_ = outcome;
  core_->set(*this, later(clock::now(), leaving_limit));
  const auto state = access::state(hold_);
  // A client that is closed waits for it.
  core_->begin_work();
  start_release(state, [self = shared_from_this()](error_code) {
    self->core_->post([self] {
      if (!self->is_over()) self->end(self->outcome_);
      self->core_->end_work();
    });
  });
}

void campaign_op::abandon() {
  hold_ = hold();
  term_.reset();
  operation::abandon();
}

void proclaim_op::begin() {
  core_->add(*this);
  if (value_->size() > longest_value) return end(error::invalid_option);
  if (hold_->released()) return end(error::not_held);
  if (hold_->loss_reported() || hold_->gone()) return end(error::lost);
  if (!core_->open()) return end(error::closed);
  core_->set(*this, later(clock::now(), core_->options().command_timeout));
  term_->propose(value_, self_);
}

void proclaim_op::ring(clock::time_point) {
  core_->note_silence();
  end(error::unreachable);
}

request leader_op::request_of(std::uint32_t) const {
  request r = lock_->request_for(verb::leader);
  r.of_kind = &scripts::election;
  return r;
}

void leader_op::take(const outcome& o, const answer& a) {
  leader_reply told(*o.scalars);
  if (!told.understood) return ask_later(a);
  end(error_code(), std::move(told.leader));
}

}  // namespace leasehold::detail
