// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/leader_watch.hpp"

#include <algorithm>
#include <chrono>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

// Messages can be lost.
constexpr milliseconds now_and_then{5000};

// Not more often, however short the lease is, and how often the server cannot answer.
constexpr milliseconds shortest_pause{50};

}  // namespace

void leader_watch::wait(std::shared_ptr<next_op> op) {
  waiting_.push_back(std::move(op));
  if (!std::exchange(begun_, true)) {
    core_->add(*this);
    registry::of(*core_).watch(*this);
  }
  // Nothing was asked while no operation waited.
  ask();
}

void leader_watch::forget(const next_op& op) {
  std::erase_if(waiting_, [&op](const auto& w) { return w.get() == &op; });
  if (waiting_.empty()) unset();
}

void leader_watch::end() {
  if (std::exchange(begun_, false)) registry::of(*core_).unwatch(*this);
  unset();
  caller::unlink();
  activity::unlink();
  handle_.reset();
}

void leader_watch::ask() {
  // If a message arrives while a question is on its way, the question runs after the change that the message announces:
  // replies and messages of one connection keep their order.
  if (waiting_.empty() || asking_) return;
  unset();
  asking_ = core_->send(shared_from_this(), 0);
  if (asking_) return;
  if (core_->refused()) return fail(error::refused);
  core_->when_up(*this);
}

request leader_watch::request_of(std::uint32_t) const {
  request r = lock_->request_for(verb::leader);
  r.of_kind = &scripts::election;
  return r;
}

void leader_watch::answered(std::uint32_t, const answer& a) {
  core_->note_answer(a);
  asking_ = false;
  if (waiting_.empty()) return;
  if (a.from_store == nullptr) return ask();
  const outcome& o = *a.from_store;
  if (o.refused) {
    switch (*o.refused) {
      case refusal::try_again:
      case refusal::moving_slot:
      case refusal::no_majority: return core_->set(*this, later(a.received, shortest_pause));
      case refusal::wrong_type: return fail(error::wrong_type);
      case refusal::no: core_->note_refusal(o.words); return fail(error::refused);
    }
  }
  leader_reply told(*o.scalars);
  if (!told.understood) return core_->set(*this, later(a.received, shortest_pause));
  core_->note_understood(a);
  // When the leader's lease ends, or that of a holder that has no value yet. (A lease that was renewed ends later.)
  const auto pause = told.left < milliseconds(0) ? now_and_then : told.left + milliseconds(1);
  view_.take(std::move(told));
  core_->set(*this, later(a.received, std::clamp(pause, shortest_pause, now_and_then)));
  report();
}

void leader_watch::report() {
  if (waiting_.empty() || !view_.has_news()) return;
  const auto op = std::move(waiting_.front());
  waiting_.pop_front();
  if (waiting_.empty()) unset();
  op->report(view_.report());
}

void leader_watch::fail(error_code ec) {
  unset();
  // Posted: the core may be going through its activities, of which only the present one may end.
  core_->post([failed = std::exchange(waiting_, {}), ec] {
    for (const auto& op : failed) op->fail(ec);
  });
}

void leader_watch::abandon() {
  auto waiting = std::move(waiting_);
  waiting_.clear();
  begun_ = false;
  const auto handle = std::move(handle_);
}

void next_op::begin() {
  auto& watch = *handle_->watch;
  if (watch.bad()) return end(watch.bad());
  if (!core_->open()) return end(error::closed);
  core_->add(*this);
  watch.wait(self_);
}

void next_op::leave(error_code why) {
  handle_->watch->forget(*this);
  end(why);
}

}  // namespace leasehold::detail
