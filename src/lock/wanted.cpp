// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/wanted.hpp"

#include "protocol/lease_reply.hpp"
#include "protocol/scripts.hpp"

#include <boost/asio/error.hpp>

#include <chrono>
#include <utility>

namespace leasehold::detail {
namespace {

// Before the next request to a server that cannot answer now.
constexpr std::chrono::milliseconds pause_before_asking{100};

// With plain keys: clients with tagged keys may have come (docs/protocol.md, "How clients agree"). They wait in another
// queue, and nothing else that a hold needs would show it. As often as a waiter asks that is not in front.
constexpr std::chrono::seconds asks_for_tags{5};

}  // namespace

wanted_op::wanted_op(const std::shared_ptr<hold_state>& hold, hold_handler handler)
    : core_(hold->core()),
      lock_(hold->shared_lock()),
      token_(hold->token()),
      hold_(hold),
      handler_(std::move(handler), core_->fallback()) {}

void wanted_op::start(const std::shared_ptr<hold_state>& hold, hold_handler handler) {
  auto op = std::make_shared<wanted_op>(hold, std::move(handler));
  op->handler_.connect_cancellation(op, any_type,
                                    [](const std::shared_ptr<wanted_op>& o) { o->core_->post([o] { o->cancel(); }); });
  op->core_->post([op, hold] { op->begin(hold); });
}

void wanted_op::begin(const std::shared_ptr<hold_state>& hold) {
  if (!handler_) return;  // Cancelled before it began.
  if (lock_->kind.code != &scripts::mutex || !core_->has_queue()) return end(error::not_supported);
  // The message goes to the client that the token names: a hold that was resumed may be another client's.
  if (!token_.starts_with(core_->identity().id() + '.')) return end(error::not_supported);
  if (hold->loss_reported() && !hold->released()) return end(error::lost);
  if (hold->released() || core_->stopped()) return end(error::not_held);
  hold->wait_for_loss(shared_from_this());
  auto& listeners = registry::of(*core_);
  if (listeners.is_wanted(token_)) return end(error_code());
  listens_ = true;
  listeners.listen_for(token_, *this);
  core_->subscribe_slot(lock_->slot);
  ask();
}

// After a gap an answer that is on its way may be older than the gap.
void wanted_op::ask() {
  if (!listens_) return;
  asks_again_ = asking_;
  if (!asking_) asking_ = core_->send(shared_from_this(), 0);
}

request wanted_op::request_of(std::uint32_t) const {
  request r = lock_->request_for(verb::want, token_);
  r.joins_queue = true;
  return r;
}

// In a cluster on_gap follows when the messages of the slot reach the client.
void wanted_op::answered(std::uint32_t, const answer& a) {
  core_->note_answer(a);
  asking_ = false;
  if (!listens_ || a.from_store == nullptr) return;  // on_gap follows the reconnect.
  const outcome& o = *a.from_store;
  if (o.refused == refusal::no) {
    core_->note_refusal(o.words);
    return end(error::refused);
  }
  const auto self = shared_from_this();
  if (o.refused == refusal::wrong_type) {  // Another program's record. The hold asks, too, and ends this.
    core_->set(*this, later(a.received, asks_for_tags));
    return core_->note_broken(token_);
  }
  if (o.refused || !o.lease.understood) return core_->set(*this, later(a.received, pause_before_asking));
  core_->observe_time(o.lease.server_time, a);
  if (o.lease.status == status::waits_in_front) return registry::of(*core_).note_wanted(token_);
  if (o.lease.status == status::not_held) core_->note_broken(token_);
  if (std::exchange(asks_again_, false)) return ask();
  if (!core_->has_slots()) core_->set(*this, later(a.received, asks_for_tags));
}

bool wanted_op::is_first_wanted() {
  const auto hold = hold_.lock();
  return hold && hold->is_first_wanted();
}

void wanted_op::complete(error_code ec) { end(ec ? ec : make_error_code(error::lost)); }

void wanted_op::cancel() {
  if (handler_) end(asio::error::operation_aborted);
}

void wanted_op::end(error_code ec) {
  const auto self = shared_from_this();
  unset();
  if (std::exchange(listens_, false)) {
    registry::of(*core_).forget_listener(token_, *this);
    core_->unsubscribe_slot(lock_->slot);
  }
  if (const auto hold = hold_.lock()) hold->forget(*this);
  core_->complete(handler_, ec);
}

void wanted_op::abandon() {
  listens_ = false;
  unset();
  handler_.drop();
}

}  // namespace leasehold::detail
