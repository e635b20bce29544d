// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/cohort.hpp"

#include "lock/joint_cohort.hpp"
#include "lock/registry.hpp"
#include "lock/release.hpp"
#include "lock/waiter.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

// What the lease must leave the next holder. A grant that is still to be confirmed needs only the time for that.
// Else it is half of what the next one asks for. (While renewals are answered, two thirds are left.) With less, its
// first renewal may come too late, and a hold that is not renewed would be a short one.
clock::duration least_left(bool confirmed, const acquire_options& next, const drift_allowance& drift) {
  if (!confirmed) return least_head_start;
  return (next.lease - drift.of(next.lease) - next.margin) / 2;
}

// Whether the lease leaves no more time than the next holder asked for: that holder may die, or may have limited its
// renewals.
bool is_brief_enough(const hold_state::grant& g, const acquire_options& next, clock::time_point now) {
  return g.deadline <= later(now, next.lease) && g.lengthening <= next.lease &&
         (!g.tenure || g.tenure->lengthening <= next.lease);
}

// Replicas acknowledge only what Redis grants. And a hold that is passed on does not bring a lease that covers
// at_least.
bool needs_grant(const acquire_options& next) { return next.replicas != 0 || next.at_least.count() != 0; }

// The client's waiter that has waited longest, and its entry. Null: there is none that this hold may be passed to.
struct waiting {
  std::shared_ptr<registered_entry> entry;
  const waiter* first = nullptr;
};
waiting next_in(client_core& core, const lock_identity& lock, joint_cohort* joint, clock::time_point now) {
  // After a resize, waiters that believe in the earlier limit may have come first: Redis decides.
  const auto limit = lock.limit.load(std::memory_order_relaxed);
  if (joint != nullptr &&
      std::any_of(joint->limits.begin(), joint->limits.end(), [limit](auto l) { return l != limit; }))
    return {};
  const auto with_first = [now](std::shared_ptr<registered_entry> entry) {
    const waiter* const first = entry ? entry->first(now) : nullptr;
    return first != nullptr ? waiting{std::move(entry), first} : waiting{};
  };
  auto queued = with_first(registry::of(core).find(lock));
  while (joint != nullptr && !joint->beside.empty()) {
    const auto entry = joint->beside.front().lock();
    auto other = with_first(entry);
    // If one has left there, more of the queue may ask beside it now.
    queued = with_first(std::move(queued.entry));
    if (other.first != nullptr) {
      const bool is_next = queued.first == nullptr || other.first->began() < queued.first->began();
      return is_next ? other : queued;
    }
    // (It may have left by itself.)
    if (!joint->beside.empty() && joint->beside.front().lock() == entry) joint->beside.pop_front();
  }
  return queued;
}

// The release of a hold that stays within the client if no other client waits: one round trip, which brings a new
// fence. If the release is refused or not answered, it becomes an ordinary release.
class keep_op final : public caller, public activity, public alarm, public std::enable_shared_from_this<keep_op> {
 public:
  keep_op(std::shared_ptr<client_core> core, std::shared_ptr<const lock_identity> lock, hold_state::grant g,
          milliseconds lease, release_op::listener l)
      : core_(std::move(core)), lock_(std::move(lock)), grant_(std::move(g)), lease_(lease), listener_(std::move(l)) {}

  bool start() {
    if (!core_->send(shared_from_this(), 0)) return false;
    if (grant_.joint) joint_of(grant_.joint)->keeping = true;
    self_ = shared_from_this();
    core_->add(*this);
    core_->begin_work();
    if (listener_) core_->set(*this, grant_.deadline);
    return true;
  }

 private:
  request request_of(std::uint32_t) const override {
    request r = lock_->request_for(verb::keep, grant_.token);
    r.lease = lease_;
    r.limit = lock_->limit.load(std::memory_order_relaxed);
    r.publishes_first = grant_.contended;  // Another client that waits is notified.
    return r;
  }
  void sent(std::uint32_t, const sending&) override {
    is_sent_ = true;
    grant_.may_last_until = std::max(grant_.may_last_until, core_->may_last(lease_));
  }

  turn turn_of(std::uint32_t) const override { return turn::releases; }

  void answered(std::uint32_t, const answer& a) override {
    core_->note_answer(a);
    if (!self_) return;
    const auto self = std::move(self_);
    if (grant_.joint) joint_of(grant_.joint)->keeping = false;
    activity::unlink();
    unset();
    if (a.from_store == nullptr) {
      is_sent_ ? to_release_hold()->start_again(std::move(listener_)) : to_release_hold()->start(std::move(listener_));
    } else if (a.from_store->refused) {
      to_release_hold()->start(std::move(listener_));
    } else if (const lease_reply& kept = a.from_store->lease; kept.understood) {
      core_->observe_time(kept.server_time, a);
      report(error_code());
      grant_.fence = kept.fence;
      grant_.own_fence = 0;
      grant_.depth = kept.depth;
      grant_.passes = 0;
      grant_.contended = false;
      grant_.lengthening = milliseconds(0);
      if (grant_.tenure) {
        grant_.tenure->recorded_fence = kept.fence;
        grant_.tenure->asked = grant_.tenure->refreshing;
        grant_.tenure->next_fence = 0;
        grant_.tenure->lengthening = milliseconds(0);
      }
      grant_.confirmed_at = grant_.cohort_since = a.sent;
      // The deadline follows from what Redis says is left: the lease was not shortened, and Redis's clock may have been
      // stepped since.
      grant_.deadline = local_deadline(a.sent, kept.left, kept.left, core_->drift());
      const auto now = clock::now();
      const auto [entry, next] = next_in(*core_, *lock_, joint_of(grant_.joint), now);
      // Meanwhile the waiter may have left, and one with other options may have come.
      if (next != nullptr && !needs_grant(next->options()) && next->options().lease <= lease_ &&
          is_brief_enough(grant_, next->options(), now) && grant_.deadline - next->options().margin > now) {
        entry->grant_locally(std::move(grant_));
      } else {
        to_release()->start(nullptr);
      }
    } else {
      const bool released = a.from_store->released;
      if (released) {
        core_->count().released.fetch_add(1, std::memory_order_relaxed);
      } else {
        core_->count().count(lock_->its_class.get(), &lock_figures::lost);
      }
      report(released ? error_code() : make_error_code(error::lost));
      if (grant_.unanswered.may_run_after(a.sent, *core_)) to_release()->start(nullptr);
    }
    core_->end_work();
  }

  std::shared_ptr<release_op> to_release() const {
    auto op = std::make_shared<release_op>(core_, lock_, grant_.token, grant_.deadline, grant_.unanswered);
    op->may_last(std::max(grant_.may_last_until, core_->may_last(std::max(lease_, grant_.longest_asked))));
    return op;
  }

  // As long as its release was not reported.
  std::shared_ptr<release_op> to_release_hold() const {
    auto op = to_release();
    op->of_a_hold();
    return op;
  }

  // The lease has ended, but the answer may still come.
  void ring(clock::time_point) override { report(error::unreachable); }

  void on_close() override {}
  void on_stopped() override {
    const auto self = std::move(self_);
    activity::unlink();
    unset();
    report(error::unreachable);
  }
  void abandon() override {
    const auto self = std::move(self_);
    listener_ = nullptr;
  }

  void report(error_code ec) {
    if (const auto l = std::exchange(listener_, nullptr)) l->on_released(ec);
  }

  const std::shared_ptr<client_core> core_;
  const std::shared_ptr<const lock_identity> lock_;
  hold_state::grant grant_;
  const milliseconds lease_;
  release_op::listener listener_;
  bool is_sent_ = false;
  std::shared_ptr<keep_op> self_;  // Until it is answered.
};

// Asks for the next fence while the holders still pass the lock on, so that they need not stop for it.
class prefetch_op final : public caller {
 public:
  prefetch_op(std::shared_ptr<client_core> core, std::shared_ptr<const lock_identity> lock, const hold_state::grant& g)
      : core_(std::move(core)),
        lock_(std::move(lock)),
        token_(g.token),
        lease_(g.lease),
        tenure_(g.tenure),
        joint_(std::static_pointer_cast<joint_cohort>(g.joint)),
        epoch_(core_->epoch()) {}

 private:
  request request_of(std::uint32_t) const override {
    request r = lock_->request_for(verb::refresh, token_);
    r.lease = lease_;
    r.limit = lock_->limit.load(std::memory_order_relaxed);
    r.run_within = core_->options().command_timeout;
    return r;
  }

  void sent(std::uint32_t, const sending& s) override { may_run_until_ = std::max(may_run_until_, s.may_run_until); }

  turn turn_of(std::uint32_t) const override { return turn::keeps; }

  void answered(std::uint32_t, const answer& a) override {
    core_->note_answer(a);
    tenure_->refreshing = false;
    if (joint_) --joint_->asking;
    if (a.from_store == nullptr) return tenure_->note_unanswered(epoch_, may_run_until_);
    tenure_->lengthening = milliseconds(0);
    const lease_reply& fresh = a.from_store->lease;
    if (!fresh.understood) return;  // For example an error: the cohort goes on with the fence that it has.
    core_->observe_time(fresh.server_time, a);
    // Other clients wait, or the hold is gone (or the refresh was too late): no more fences.
    if (fresh.status == status::waits_in_front) return registry::of(*core_).note_wanted(token_);
    if (fresh.status != status::held) return core_->note_broken(token_);
    if (joint_) joint_->latest_fence = std::max(joint_->latest_fence, fresh.fence);
    keep_next_fence(*tenure_, fresh, a, lease_, *core_, lock_->kind.shares_fence);
  }

  const std::shared_ptr<client_core> core_;
  const std::shared_ptr<const lock_identity> lock_;
  const std::string token_;
  const milliseconds lease_;
  const std::shared_ptr<cohort_tenure> tenure_;
  const std::shared_ptr<joint_cohort> joint_;
  const std::uint64_t epoch_;
  clock::time_point may_run_until_ = clock::time_point::min();
};

// There may be as many readers and owners' entries as coroutines: those that cannot ask in time are released, so that
// no more are passed on than Redis is asked for.
constexpr std::uint32_t most_at_once(const detail::kind& k) { return k.shares_fence ? 1 : 16; }

// How many of the passes that one fence allows are used up.
std::uint32_t used_passes(const detail::kind& k, const hold_state::grant& g) {
  if (k.shares_fence) return 0;
  return g.joint ? static_cast<std::uint32_t>(joint_of(g.joint)->latest_fence % (most_passes + 1)) : g.passes;
}

// Fetches the next fence once half of the passes, or half of the time, that one fence allows is used up.
void prefetch(const std::shared_ptr<client_core>& core, const std::shared_ptr<const lock_identity>& lock,
              hold_state::grant& g, clock::time_point now) {
  if (!g.tenure) {
    g.tenure = std::make_shared<cohort_tenure>();
    g.tenure->recorded_fence = g.fence;
  }
  joint_cohort* const joint = joint_of(g.joint);
  if (g.tenure->asked || (joint != nullptr && joint->asking >= most_at_once(lock->kind))) return;
  if (used_passes(lock->kind, g) < most_passes / 2 && now - g.cohort_since < core->options().cohort / 2) return;
  g.tenure->asked = core->send(std::make_shared<prefetch_op>(core, lock, g), 0);
  if (!g.tenure->asked) return;
  g.tenure->refreshing = true;
  if (joint != nullptr) ++joint->asking;
  g.tenure->lengthening = g.lease;
  g.may_last_until = std::max(g.may_last_until, core->may_last(g.lease));
  g.longest_asked = std::max(g.longest_asked, g.lease);
}

class local_successors final : public successors {
 public:
  bool pass_on(hold_state& h, release_op::listener& listener) override {
    const auto& core = h.core();
    const auto cohort = core->options().cohort;
    // Without a queue the store cannot say whether other clients wait.
    if (!core->has_queue()) return false;
    if (!core->open() || !passes_on(h.lock())) return false;
    const auto now = clock::now();
    const auto [entry, next] = next_in(*core, h.lock(), joint_of(h.joint()), now);
    if (next == nullptr || needs_grant(next->options())) return false;
    const detail::kind& kind = h.lock().kind;
    // Readers and owners do not wait for what their client has, but behind others.
    if (kind.shares_fence && (!h.confirmed() || entry->waits())) return false;
    auto g = h.as_granted();
    take_next_fence(g);
    if (!is_brief_enough(g, next->options(), now)) return false;
    const bool confirmed = g.confirmed_at != clock::time_point::min();
    const auto lease = next->options().lease;
    const auto left = least_left(confirmed, next->options(), core->drift());
    const bool fits = lease <= g.lease && g.deadline - next->options().margin > now + left;
    const bool known = now <= later(g.cohort_since, cohort) && g.cohort_since > core->other_server_since();
    if (cohort != cohort.zero() && fits && known && give_fence(kind, g)) {
      core->count().passed.fetch_add(1, std::memory_order_relaxed);
      g.lease = lease;
      if (g.joint) {
        joint_of(g.joint)->passed_at = now;
        if (kind.ask == ask_is::owner) g.depth = static_cast<std::uint32_t>(joint_of(g.joint)->holds) + 1;
      }
      if (confirmed) {
        prefetch(core, h.shared_lock(), g, now);
      } else {
        g.longest_asked = std::max(g.longest_asked, g.tenure->lengthening);
      }
      entry->grant_locally(std::move(g));
      if (listener) listener->on_released(error_code());
      return true;
    }
    // Its entry is still in the queue, and others wait there: they are next.
    if (!confirmed) return false;
    if (g.joint) {
      // (A single waiter whose request is on its way is answered sooner.)
      if (joint_of(g.joint)->keeping || !entry->waits_for_long()) return false;
      if (kind.shares_fence && cohort == cohort.zero()) return false;
      entry->expect_passes();
    }
    if (const auto its = std::exchange(g.lingering, nullptr); its && its->end()) g.contended = true;
    auto op = std::make_shared<keep_op>(core, h.shared_lock(), std::move(g), lease, listener);
    return op->start();
  }
};

}  // namespace

bool give_fence(const detail::kind& k, hold_state::grant& g) {
  if (k.shares_fence) {
    g.own_fence = g.fence;
    return true;
  }
  if (g.joint) {
    auto& latest = joint_of(g.joint)->latest_fence;  // No smaller than the fence of any of them.
    if (latest % (most_passes + 1) == most_passes) return false;
    g.own_fence = ++latest;
    return true;
  }
  if (g.passes == most_passes) return false;
  g.own_fence = g.fence + ++g.passes;
  return true;
}

void keep_next_fence(cohort_tenure& t, const lease_reply& fresh, const answer& a, milliseconds lease,
                     const client_core& core, bool is_shared) {
  // An answer that was late, of the node that had the slot before.
  if (fresh.fence < t.recorded_fence || (fresh.fence == t.recorded_fence && !is_shared)) return;
  t.recorded_fence = t.next_fence = fresh.fence;
  t.confirmed_at = a.sent;
  t.deadline = local_deadline(a.sent, lease, fresh.left, core.drift());
}

void take_next_fence(hold_state::grant& g) {
  if (!g.tenure || g.tenure->next_fence == 0) return;
  cohort_tenure& t = *g.tenure;
  g.fence = std::exchange(t.next_fence, 0);
  g.own_fence = 0;
  g.passes = 0;
  g.confirmed_at = g.cohort_since = t.confirmed_at;
  g.deadline = std::max(g.deadline, t.deadline);
  t.asked = false;
}

// Redisson's waiters are in no queue, so Redis cannot say whether they wait.
bool passes_on(const lock_identity& lock) { return !lock.kind.is_election && !lock.notifies_redisson; }

successors& cohort() {
  static local_successors all;
  return all;
}

}  // namespace leasehold::detail
