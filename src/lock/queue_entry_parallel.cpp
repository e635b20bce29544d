// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a queue entry does where several holds exist at a time: waiters that ask beside the local queue, and one that
// waits for a hold of its client before it asks.
#include "lock/joint_cohort.hpp"
#include "lock/queue_entry.hpp"

#include <algorithm>

namespace leasehold::detail {
namespace {

// If a hold is passed on all the time, the next pass comes sooner. A request that is overtaken by it costs Redis two.
constexpr std::chrono::microseconds pass_comes_within{200};

}  // namespace

// Only while no attempt was answered that the lock is busy: the client must have a single entry in the queue.
void queue_entry::ask_in_parallel() {
  if (lock_->kind.mode != hold_mode::shared || role_ != role::local_queue || answered_ || state_ != state::asking)
    return;
  while (parallel_.has_room() && std::next(waiters_.begin()) != waiters_.end()) {
    auto& op = *std::next(waiters_.begin());
    op.unlink();
    const auto entry = std::make_shared<queue_entry>(core_, lock_, role::parallel);
    entry->local_queue_ = weak_from_this();
    entry->limit_ = limit_;
    entry->follows_ = predecessor_of(op);
    entry->found_busy_ = found_busy_;
    entry->waited_ = waited_;
    parallel_.on_begin();
    joint_->beside.push_back(entry);
    entry->add(op);
  }
}

std::string queue_entry::predecessor_of(const waiter& w) const {
  return w.may_follow() ? parallel_.last_reader() : std::string();
}

void queue_entry::on_parallel_outcome(bool granted) {
  const auto queue = local_queue_.lock();
  local_queue_.reset();
  if (!queue) return;
  queue->parallel_.on_end(granted, token_);
  queue->ask_in_parallel();
}

void queue_entry::expect_passes() {
  const auto queue = local_queue_.lock();
  (queue ? queue->parallel_ : parallel_).on_pass();
}

// (One that follows a reader has to come before that reader has left.)
bool queue_entry::await_pass() {
  const auto now = clock::now();
  if (role_ != role::local_queue || !joint_ || !joint_->is_hot(now) || !follows_.empty()) return false;
  next_attempt();  // A poll of the token before may be on its way.
  go_to(state::pausing, later(now, std::min<clock::duration>(pass_comes_within, (front().deadline() - now) / 2)));
  return true;
}

}  // namespace leasehold::detail
