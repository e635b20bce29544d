// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/acquire.hpp"

#include "client/options.hpp"
#include "lock/registry.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

}  // namespace

acquire_op::acquire_op(const std::shared_ptr<lock_state>& lock, const acquire_options& options, bool once,
                       std::variant<wait_handler, try_handler> handler)
    : lock_(lock), core_(lock->handle->core), options_(options), once_(once), handler_(std::move(handler)) {}

void acquire_op::start(std::shared_ptr<acquire_op> op) {
  std::visit(
      [&op](auto& handler) {
        handler.connect_cancellation(
            op, any_type, [](const std::shared_ptr<acquire_op>& o) { o->core_->post([o] { o->cancel(); }); });
      },
      op->handler_);
  auto& core = *op->core_;
  core.enter([op = std::move(op)] { op->begin(); });
}

void acquire_op::begin() {
  if (over_) return;  // Cancelled before it began.
  self_ = shared_from_this();
  began_ = clock::now();
  core_->count().count(lock_->identity->its_class.get(), &lock_figures::waiting);
  core_->add(*this);
  if (lock_->bad) return complete(lock_->bad);
  if (const error_code ec = check(options_)) return complete(ec);
  if (options_.replicas != 0 && core_->is_quorum()) return complete(error::not_supported);
  if (!core_->open()) return complete(error::closed);
  if (registry::of(*core_).take_idle(*lock_->identity, *this)) return;
  const bool single = makes_one_attempt();
  const milliseconds limit = core_->options().command_timeout;
  const milliseconds wait = !single                            ? options_.wait
                            : options_.wait == milliseconds(0) ? limit
                                                               : std::min(options_.wait, limit);
  if (wait != forever) deadline_ = std::min(deadline_, later(began_, wait));
  core_->set(*this, deadline_);
  if (single) return std::make_shared<queue_entry>(core_, lock_->identity, queue_entry::role::once)->add(*this);
  auto& registered = registry::of(*core_).entry_of(*lock_->identity);
  if (!registered) registered = std::make_shared<queue_entry>(core_, lock_->identity, queue_entry::role::local_queue);
  // Safe: this client's registry holds only entries made here.
  std::static_pointer_cast<queue_entry>(registered)->add(*this);
}

void acquire_op::note_contention() {
  if (std::exchange(contended_, true)) return;
  core_->count().count(lock_->identity->its_class.get(), &lock_figures::contended);
  const milliseconds slow = core_->options().slow_wait;
  if (slow == forever || makes_one_attempt()) return;
  slow_at_ = later(began_, slow);
  core_->set(*this, std::min(slow_at_, deadline_));
}

void acquire_op::complete_busy() { once_ ? complete(error_code()) : complete(error::timed_out); }

void acquire_op::ring(clock::time_point now) {
  if (leaving_) return complete(outcome_);
  if (now < deadline_) return wait_slowly();
  if (entry_->lacks_replicas()) return leave(error::no_quorum);
  // try_acquire got no answer in time. For a waiter it depends on whether the server has reported the lock as busy.
  leave(!once_ && entry_->known_busy(now) ? make_error_code(error::timed_out) : entry_->no_answer());
}

// The operation goes on. Without an observer there is nothing that the store has to be asked for.
void acquire_op::wait_slowly() {
  slow_at_ = clock::time_point::max();
  core_->set(*this, deadline_);
  core_->count().count(lock_->identity->its_class.get(), &lock_figures::slow_waits);
  if (!core_->options().observer) return;
  holder_query::ask(core_, lock_->identity, [weak = weak_from_this()](const lock_holder& h) {
    if (const auto op = weak.lock(); op && !op->over_ && !op->leaving_) op->notify(h);
  });
}

void acquire_op::notify(event::kind what) const {
  if (!core_->options().observer) return;
  // It may have been cancelled before it began.
  const auto waited = began_ == clock::time_point() ? clock::duration(0) : clock::now() - began_;
  core_->notify({.what = what,
                 .name = lock_->identity->name,
                 .duration = std::chrono::duration_cast<std::chrono::microseconds>(waited),
                 .label = lock_->identity->label()});
}

void acquire_op::notify(const lock_holder& h) const {
  core_->notify({.what = event::kind::slow_wait,
                 .name = lock_->identity->name,
                 .text = h.text,
                 .token = h.token,
                 .fence = h.fence,
                 .duration = std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - began_),
                 .label = lock_->identity->label(),
                 .holder = h.label,
                 .since = h.since});
}

void acquire_op::cancel() {
  if (over_ || leaving_) return;
  core_->count().count(lock_->identity->its_class.get(), &lock_figures::cancelled);
  notify(event::kind::cancelled);
  leave(asio::error::operation_aborted);
}

void acquire_op::leave(error_code why) {
  if (over_ || leaving_) return;
  const auto self = shared_from_this();
  const auto entry = entry_;
  entry ? entry->leave(self, why) : complete(why);
}

void acquire_op::wait_for_leave(error_code outcome) {
  leaving_ = true;
  outcome_ = outcome;
  core_->set(*this, later(clock::now(), leaving_limit));
}

void acquire_op::left() {
  if (leaving_) complete(outcome_);
}

void acquire_op::note_busy() {
  if (leaving_ && !once_ && outcome_ == error::unreachable) outcome_ = error::timed_out;
}

void acquire_op::complete(error_code ec, hold h) {
  if (std::exchange(over_, true)) return;
  const auto self = std::move(self_);
  leaving_ = false;
  entry_.reset();
  unset();
  activity::unlink();
  auto* const its_class = lock_->identity->its_class.get();
  auto& counted = core_->count();
  // `self` is empty if it was cancelled before it began.
  if (self) counted.count(its_class, &lock_figures::waiting, -1);
  // Only now: a late answer may have turned the outcome into timed_out, see note_busy.
  if (ec == error::unreachable) core_->note_silence();
  if (ec == error::timed_out) {
    counted.count(its_class, &lock_figures::timed_out);
    notify(event::kind::timed_out);
  }
  if (access::state(h)) counted.record(its_class, &lock_figures::waiting_time, clock::now() - began_);
  if (auto* waiting = std::get_if<wait_handler>(&handler_)) {
    core_->complete(*waiting, ec, std::move(h));
  } else {
    std::optional<hold> result;
    if (access::state(h)) result.emplace(std::move(h));
    core_->complete(std::get<try_handler>(handler_), ec, std::move(result));
  }
}

void acquire_op::abandon() {
  const auto self = std::move(self_);
  over_ = true;
  waiter::unlink();
  entry_.reset();
  std::visit([](auto& handler) { handler.drop(); }, handler_);
}

}  // namespace leasehold::detail
