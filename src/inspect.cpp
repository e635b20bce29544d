// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "inspect.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>

namespace leasehold::detail {

using std::chrono::milliseconds;

inspect_op::inspect_op(const std::shared_ptr<lock_state>& lock, handler::handler_type h)
    : lock_(lock), core_(lock->handle->core), handler_(std::move(h), core_->executor()) {}

void inspect_op::start(const std::shared_ptr<lock_state>& lock, handler::handler_type h) {
  auto op = make_recycled<inspect_op>(lock, std::move(h));
  op->handler_.connect_cancellation(op, any_type, [](const std::shared_ptr<inspect_op>& o) {
    o->core_->post([o] { o->end(asio::error::operation_aborted, {}); });
  });
  op->core_->post([op] { op->begin(); });
}

void inspect_op::begin() {
  if (!handler_) return;
  self_ = shared_from_this();
  if (lock_->bad) return end(lock_->bad, {});
  if (!core_->open()) return end(error::closed, {});
  core_->add(*this);
  give_up_at_ = later(clock::now(), core_->options().command_timeout);
  core_->set(*this, give_up_at_);
  send();
}

void inspect_op::send() {
  if (!self_ || core_->send(*lock_->identity->kind, self_, 0)) return;
  if (core_->refused()) return end(error::refused, {});
  core_->when_up(*this);
}

void inspect_op::write(std::uint32_t, arguments& a) {
  lock_->identity->write_keys(a);
  a.arg("inspect");
}

void inspect_op::answered(std::uint32_t, const answer& a) {
  core_->note_round_trip(a);
  if (!self_) return;
  if (a.from_store == nullptr) return send();
  const reply& r = *a.from_store;
  if (r.is_error()) {
    switch (classify(r.text(0))) {
      case refusal::try_again: return core_->set(*this, std::min(later(a.received, milliseconds(50)), give_up_at_));
      case refusal::wrong_type: return end(error::wrong_type, {});
      case refusal::no: core_->note_refusal(r.text(0)); return end(error::refused, {});
    }
  }
  lock_info info;
  info.held = r.number(0) > 0;
  info.waiters = r.number<std::size_t>(3);
  if (info.held) {
    info.fence = r.number<std::uint64_t>(1);
    if (r.number(2) >= 0) info.ttl = milliseconds(r.number(2));
    info.token = r.text(5);
  }
  end(error_code(), std::move(info));
}

void inspect_op::ring(clock::time_point now) {
  if (now >= give_up_at_) return end(error::unreachable, {});
  core_->set(*this, give_up_at_);
  send();
}

void inspect_op::end(error_code ec, lock_info info) {
  const auto self = std::move(self_);
  unset();
  caller::unlink();
  member::unlink();
  core_->complete(handler_, ec, std::move(info));
}

void inspect_op::abandon() {
  const auto self = std::move(self_);
  handler_.drop();
}

}  // namespace leasehold::detail
