// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "acquire.hpp"

#include "hold_state.hpp"
#include "options.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

// How long an operation that was cancelled or has run into its deadline waits for the store to confirm that nothing is
// left of it. Short enough to be no delay, long enough for any store that works.
constexpr milliseconds leaving_limit{100};

}  // namespace

acquire_op::acquire_op(const std::shared_ptr<lock_state>& lock, const acquire_options& options, wait_handler handler)
    : lock_(lock),
      core_(lock->handle->core),
      options_(options),
      once_(false),
      handler_(std::move(handler)),
      pauses_(options.retry) {}

acquire_op::acquire_op(const std::shared_ptr<lock_state>& lock, const acquire_options& options, try_handler handler)
    : lock_(lock),
      core_(lock->handle->core),
      options_(options),
      once_(true),
      handler_(std::move(handler)),
      pauses_(options.retry) {}

void acquire_op::start(std::shared_ptr<acquire_op> op) {
  std::visit(
      [&op](auto& handler) {
        handler.connect_cancellation(op, any_type, [](const std::shared_ptr<acquire_op>& o) {
          o->core_->post([o] { o->cancel(); });
        });
      },
      op->handler_);
  auto& core = *op->core_;
  core.post([op = std::move(op)] { op->begin(); });
}

void acquire_op::begin() {
  if (state_ == state::over) return;  // Cancelled before it began.
  self_ = shared_from_this();
  core_->count().waiting.fetch_add(1, std::memory_order_relaxed);
  core_->add(*this);
  if (lock_->bad_name) return end(lock_->bad_name);
  if (const error_code ec = check(options_)) return end(ec);
  if (!core_->open()) return end(error::closed);
  token_ = core_->next_token();
  const bool single = once_ || options_.wait == milliseconds(0);
  const milliseconds limit = core_->options().command_timeout;
  const milliseconds wait = !single                             ? options_.wait
                            : options_.wait == milliseconds(0) ? limit
                                                               : std::min(options_.wait, limit);
  if (wait != forever) deadline_ = later(clock::now(), wait);
  ask();
}

void acquire_op::ask() {
  const auto now = clock::now();
  // Asked for before the sending, so that it lies in the past of the script.
  const bool up = core_->up();
  if (up) std::tie(not_after_, attempt_may_run_until_) = core_->not_after(now);
  if (!up || !core_->send(*lock_->identity->kind, self_, ++attempt_)) return go_offline();
  attempt_epoch_ = core_->epoch();
  answered_ = false;
  state_ = state::asking;
  core_->set(*this, deadline_);
}

void acquire_op::go_offline() {
  if (core_->refused()) return end(error::refused);
  answered_ = false;
  state_ = state::offline;
  core_->when_up(self_);
  core_->set(*this, deadline_);
}

void acquire_op::pause(clock::time_point until) {
  state_ = state::pausing;
  core_->set(*this, std::min(until, deadline_));
}

void acquire_op::write(std::uint32_t, arguments& a) {
  a.key(lock_->identity->record);
  a.key(fence_key);
  a.arg("acquire");
  a.arg(token_);
  a.arg(options_.lease.count());
  a.arg(not_after_);
}

void acquire_op::answered(std::uint32_t attempt, const answer& a) {
  if (a.from_store == nullptr) unanswered_.merge(attempt_epoch_, attempt_may_run_until_, options_.lease);
  if (state_ == state::leaving) {
    if (a.from_store != nullptr && outcome_ == error::unreachable && !once_) outcome_ = error::timed_out;
    return;
  }
  if (state_ != state::asking || attempt != attempt_) return;
  if (a.from_store == nullptr) return ask();
  const reply& r = *a.from_store;
  if (r.is_error()) return on_error(r.text(0), a.received);
  answered_ = true;
  const lease_reply lease(r.text(0));
  core_->observe_time(lease.server_time, a);
  switch (lease.status) {
    case 1: return on_grant(lease, a);
    case 0: return on_busy(lease.left, a.received);
    default: return ask();  // Too late: the server's clock is known better now.
  }
}

void acquire_op::on_busy(milliseconds left, clock::time_point now) {
  if (!std::exchange(contended_, true)) core_->count().contended.fetch_add(1, std::memory_order_relaxed);
  if (once_) {
    state_ = state::over;
    return complete(error_code(), hold());
  }
  if (now >= deadline_ || options_.wait == milliseconds(0)) return end(error::timed_out);
  auto until = later(now, pauses_.next(core_->random()));
  // Never past the end of the lease in the way. (Negative: it has none.)
  if (left >= milliseconds(0)) until = std::min(until, later(now, left + milliseconds(1)));
  pause(until);
}

void acquire_op::on_error(std::string_view words, clock::time_point now) {
  switch (classify(words)) {
    case refusal::wrong_type: return end(error::wrong_type);
    case refusal::no: core_->note_refusal(words); return end(error::refused);
    case refusal::try_again: break;
  }
  if (now >= deadline_) return end(error::unreachable);
  pause(later(now, pauses_.next(core_->random())));
}

void acquire_op::on_grant(const lease_reply& lease, const answer& a) {
  if (a.received >= deadline_) return leave(error::timed_out);  // Too late: given back.
  const auto until = local_deadline(a.sent, options_.lease, lease.left, core_->drift());
  if (clock::now() >= until && !std::exchange(asked_again_, true)) {
    // The answer took longer than the lease. A repeat lengthens it.
    return ask();
  }
  auto granted = make_recycled<hold_state>(
      lock_->handle, lock_->identity,
      hold_state::grant{std::move(token_), lease.fence, until, options_.lease, options_.renew,
                        options_.margin, unanswered_});
  state_ = state::over;
  granted->start();
  complete(error_code(), access::make_hold(std::move(granted)));
}

void acquire_op::store_is_up() {
  if (state_ == state::offline) ask();
}

void acquire_op::store_refuses(error_code ec) {
  if (state_ == state::offline) end(ec);
}

void acquire_op::ring(clock::time_point now) {
  if (state_ == state::leaving) {
    state_ = state::over;
    return complete(outcome_, hold());
  }
  if (now >= deadline_) return on_deadline();
  ask();
}

void acquire_op::on_deadline() {
  if (state_ == state::pausing && answered_) return end(error::timed_out);
  if (state_ == state::asking) return leave(error::unreachable);
  end(error::unreachable);
}

void acquire_op::cancel() {
  if (state_ == state::over || state_ == state::leaving) return;
  core_->count().cancelled.fetch_add(1, std::memory_order_relaxed);
  if (state_ == state::idle) {
    state_ = state::over;
    return complete(asio::error::operation_aborted, hold());
  }
  state_ == state::asking ? leave(asio::error::operation_aborted) : end(asio::error::operation_aborted);
}

void acquire_op::on_close() {
  if (state_ == state::leaving) return;
  state_ == state::asking ? leave(error::closed) : end(error::closed);
}

void acquire_op::on_stopped() {
  state_ = state::over;
  complete(error::closed, hold());
}

void acquire_op::leave(error_code ec) {
  state_ = state::leaving;
  outcome_ = ec;
  core_->count().given_back.fetch_add(1, std::memory_order_relaxed);
  core_->set(*this, later(clock::now(), leaving_limit));
  // On the connection of the attempt the release runs after it. If that connection is lost first, the attempt may run
  // until its not-after.
  auto unanswered = unanswered_;
  unanswered.merge(attempt_epoch_, attempt_may_run_until_, options_.lease);
  auto op = make_recycled<release_op>(core_, lock_->identity, token_, unanswered.gone_by, unanswered);
  op->start([weak = weak_from_this()](error_code) {
    const auto self = weak.lock();
    if (!self || self->state_ != state::leaving) return;
    self->state_ = state::over;
    self->complete(self->outcome_, hold());
  });
}

void acquire_op::end(error_code ec) {
  // What an earlier connection may still bring is given back in the background.
  if (unanswered_.exists) {
    core_->count().given_back.fetch_add(1, std::memory_order_relaxed);
    auto op = make_recycled<release_op>(core_, lock_->identity, token_, unanswered_.gone_by, unanswered_);
    op->start(nullptr);
  }
  state_ = state::over;
  complete(ec, hold());
}

void acquire_op::complete(error_code ec, hold h) {
  const auto self = std::move(self_);
  unset();
  member::unlink();
  // `self` is empty if it was cancelled before it began.
  if (self) core_->count().waiting.fetch_sub(1, std::memory_order_relaxed);
  if (ec == error::timed_out) core_->count().timed_out.fetch_add(1, std::memory_order_relaxed);
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
  state_ = state::over;
  std::visit([](auto& handler) { handler.drop(); }, handler_);
}

}  // namespace leasehold::detail
