// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/joint_cohort.hpp"

#include "lock/registry.hpp"
#include "protocol/lease_reply.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace leasehold::detail {
namespace {

// Asks whether other clients wait, while the holders still pass the lock on. It changes neither lease nor fence.
class inquiry_op final : public caller {
 public:
  inquiry_op(std::shared_ptr<client_core> core, std::shared_ptr<const lock_identity> lock, const hold_state::grant& g)
      : core_(std::move(core)), lock_(std::move(lock)), token_(g.token), joint_(g.joint) {}

 private:
  request request_of(std::uint32_t) const override {
    request r = lock_->request_for(verb::refresh, token_);
    r.run_within = core_->options().command_timeout;
    return r;
  }

  turn turn_of(std::uint32_t) const override { return turn::keeps; }

  void answered(std::uint32_t, const answer& a) override {
    core_->note_answer(a);
    joint_->answered(a, core_->options().cohort);
    if (a.from_store == nullptr || !a.from_store->lease.understood) return;
    const lease_reply& reply = a.from_store->lease;
    core_->observe_time(reply.server_time, a);
    if (reply.status == status::waits_in_front) return registry::of(*core_).note_wanted(token_);
    if (reply.status != status::held) core_->note_broken(token_);
  }

  const std::shared_ptr<client_core> core_;
  const std::shared_ptr<const lock_identity> lock_;
  const std::string token_;
  const std::shared_ptr<joint_cohort> joint_;
};

}  // namespace

void inquire(const std::shared_ptr<client_core>& core, const std::shared_ptr<const lock_identity>& lock,
             const hold_state::grant& g, clock::time_point now) {
  joint_cohort& joint = *g.joint;
  if (joint.asking || now < joint.ask_again_at || now < later(joint.word, core->options().cohort / 2)) return;
  joint.asking = core->send(make_recycled<inquiry_op>(core, lock, g), 0);
}

std::shared_ptr<registered_entry> next_entry(client_core& core, const lock_identity& lock, joint_cohort* joint,
                                             clock::time_point now) {
  auto in_queue = registry::of(core).find(lock);
  const waiter* const first = in_queue ? in_queue->first(now) : nullptr;
  if (first == nullptr) in_queue = nullptr;
  const auto limit = lock.limit.load(std::memory_order_relaxed);
  while (joint != nullptr && !joint->beside.empty()) {
    const auto entry = joint->beside.front().lock();
    const waiter* const other = entry ? entry->first(now) : nullptr;
    // One that believes in another limit is in no other's place.
    if (other != nullptr && entry->first_limit() != limit) break;
    if (other != nullptr) return first != nullptr && first->began() <= other->began() ? in_queue : entry;
    // (It may have left by itself.)
    if (!joint->beside.empty() && joint->beside.front().lock() == entry) joint->beside.pop_front();
  }
  return in_queue;
}

void joint_cohort::forget(const registered_entry& e) {
  std::erase_if(beside, [&e](const auto& weak) {
    const auto entry = weak.lock();
    return !entry || entry.get() == &e;
  });
}

void joint_cohort::answered(const answer& a, clock::duration bound) {
  asking = false;
  const bool alone =
      a.from_store != nullptr && a.from_store->lease.understood && a.from_store->lease.status == status::held;
  if (alone) word = std::max(word, a.sent);
  ask_again_at = alone ? clock::time_point() : later(clock::now(), bound / 2);
}

}  // namespace leasehold::detail
