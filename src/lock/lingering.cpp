// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/lingering.hpp"

#include "lock/cohort.hpp"
#include "protocol/lease_reply.hpp"
#include "protocol/scripts.hpp"
#include "protocol/token.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

// For the holds of tokens that may linger. A waiter of the same client comes first.
class lingering_successors final : public successors {
 public:
  bool pass_on(hold_state& h, release_op::listener& listener) override {
    auto& its = static_cast<lingering&>(*h.lingering());
    const auto entry = registry::of(*h.core()).find(h.lock());
    if (entry == nullptr || entry->first(clock::now()) == nullptr) return its.rest(h, listener);
    return cohort().pass_on(h, listener);
  }
};

lingering_successors& successors_of_lingering() {
  static lingering_successors all;
  return all;
}

}  // namespace

lingering::lingering(std::shared_ptr<client_core> core, std::shared_ptr<const lock_identity> lock, std::string token)
    : core_(std::move(core)), lock_(std::move(lock)), token_(std::move(token)) {}

bool lingering::may(client_core& core, const lock_identity& lock, const acquire_options& o) {
  return o.linger > milliseconds(0) && o.replicas == 0 && o.at_least == milliseconds(0) &&
         o.renew == renewal::automatic && lock.kind.code == &scripts::mutex && !lock.kind.is_election &&
         core.has_queue() && !registry::of(core).pauses().is_paused(lock.local_queue);
}

void lingering::accompany(const std::shared_ptr<client_core>& core, const std::shared_ptr<const lock_identity>& lock,
                          const acquire_options& options, hold_state::grant& g, bool confirmed) {
  auto its = std::static_pointer_cast<lingering>(std::exchange(g.lingering, nullptr));
  // A grant that had to wait does not say whether others wait now.
  if (!confirmed || g.contended || !may(*core, *lock, options) || !may_linger(g.token)) {
    if (its == nullptr) registry::of(*core).pauses().count(lock->local_queue);
    if (its != nullptr && its->end()) g.contended = true;
    return;
  }
  if (!its) its = std::make_shared<lingering>(core, lock, g.token);
  its->resume(g, options.linger);
  g.lingering = std::move(its);
  g.next = &successors_of_lingering();
}

void lingering::resume(const hold_state::grant& g, milliseconds linger) {
  linger_ = linger;
  if (g.confirmed_at > word_) {
    word_ = g.confirmed_at;
    if (word_ > gap_at_ && !core_->has_slots()) {
      told_ = true;
      epoch_ = core_->epoch();
    }
  }
  if (std::exchange(listens_, true)) return;
  registry::of(*core_).listen_for(token_, *this);
  // The messages of a slot may not reach the client yet.
  if (core_->has_slots()) {
    core_->subscribe_slot(lock_->slot);
  } else if (!g.is_repeated && g.passes == 0) {
    return;
  }
  // Or others may have waited since Redis granted it, before anything listened for the token.
  told_ = false;
  ask();
}

bool lingering::end() {
  if (std::exchange(listens_, false)) {
    registry::of(*core_).forget_listener(token_, *this);
    core_->unsubscribe_slot(lock_->slot);
  }
  return wanted_;
}

// No other client has waited since Redis's last word, or the client would have been notified.
bool lingering::is_told() const {
  return listens_ && told_ && !wanted_ && core_->up() && epoch_ == core_->epoch() &&
         word_ > core_->other_server_since();
}

// From then on a renewal of the lease would be due.
clock::time_point lingering::useful_until() const {
  const clock::duration usable = grant_.lease - grant_.margin;
  return grant_.deadline - grant_.margin - usable / 3 * 2;
}

// fits() takes nothing that is longer without a word of Redis than `linger`. The next word may be on its way.
clock::time_point lingering::idle_until() const {
  const auto until = std::min(idle_until_, useful_until());
  return question_.is_under_way ? until : std::min(until, later(word_, linger_));
}

bool lingering::rest(hold_state& h, release_op::listener& listener) {
  if (!core_->open() || !is_told()) return false;
  const auto now = clock::now();
  grant_ = h.as_granted();
  grant_.lingering.reset();
  take_next_fence(grant_);
  idle_until_ = later(now, linger_);
  if (std::min(idle_until_, useful_until()) <= now) return false;
  idle_ = true;
  core_->add(*this);
  registry::of(*core_).add_idle(*lock_, shared_from_this());
  keep_fresh(now);
  core_->set(*this, idle_until());
  if (listener) listener->on_released(error_code());
  return true;
}

// What the waiter gets is what an acquire would have brought: a lease that is not due for a renewal yet, and no more of
// it than the waiter asks for. If messages are lost, other clients are overtaken for `linger` after Redis's last word.
bool lingering::fits(const acquire_options& o, clock::time_point now) const {
  const clock::duration usable = o.lease - o.margin;
  return core_->open() && is_told() && now - word_ <= linger_ && o.replicas == 0 && o.at_least == milliseconds(0) &&
         o.renew == renewal::automatic && grant_.passes < most_passes && grant_.deadline <= later(now, o.lease) &&
         grant_.lengthening <= o.lease && (!grant_.tenure || grant_.tenure->lengthening <= o.lease) &&
         grant_.deadline - o.margin - now >= usable / 3 * 2;
}

bool lingering::take(waiter& op) {
  const auto self = shared_from_this();
  const auto now = clock::now();
  if (!fits(op.options(), now)) {
    stop();
    return false;
  }
  leave_idle();
  used_ = true;
  registry::of(*core_).pauses().forget(lock_->local_queue);
  grant_.lease = op.options().lease;
  keep_fresh(now);
  auto g = std::move(grant_);
  give_fence(lock_->kind, g);
  g.renew = op.options().renew;
  g.margin = op.options().margin;
  g.asked_at = op.began();
  g.next = &cohort();
  g.lingering = self;
  accompany(core_, lock_, op.options(), g, /*confirmed=*/true);
  core_->count().lingered.fetch_add(1, std::memory_order_relaxed);
  auto held = std::make_shared<hold_state>(op.handle(), lock_, std::move(g));
  held->start(/*confirmed=*/true);
  op.complete(access::make_hold(std::move(held)));
  return true;
}

void lingering::leave_idle() {
  idle_ = false;
  unset();
  activity::unlink();
  registry::of(*core_).remove_idle(*lock_);
}

void lingering::stop() {
  if (!idle_) return;
  const auto self = shared_from_this();
  leave_idle();
  end();
  auto op = std::make_shared<release_op>(core_, lock_, token_, grant_.deadline, grant_.unanswered);
  if (wanted_) op->expect_waiter();
  op->may_last(std::max(grant_.may_last_until, core_->may_last(grant_.longest_asked)));
  op->start(nullptr);
}

void lingering::on_wanted() {
  if (idle_ && !used_) registry::of(*core_).pauses().pause(lock_->local_queue);
  wanted_ = true;
  stop();
}

void lingering::on_gap() {
  gap_at_ = clock::now();
  told_ = false;
  question_.is_told = false;
  idle_ ? stop() : ask();
}

void lingering::on_moved(const std::unordered_set<std::uint16_t>& slots) {
  if (slots.contains(lock_->slot)) stop();
}

void lingering::on_broken(std::string_view token) {
  if (token == token_) stop();
}

void lingering::abandon() {
  const auto self = shared_from_this();
  idle_ = listens_ = false;
  unset();
}

// Asks for the next fence, and whether other clients wait, when half of the passes or of the time is used up.
void lingering::keep_fresh(clock::time_point now) {
  if (grant_.passes < most_passes / 2 && now - word_ < linger_ / 2) return;
  if (!grant_.tenure) {
    grant_.tenure = std::make_shared<cohort_tenure>();
    grant_.tenure->recorded_fence = grant_.fence;
  }
  if (grant_.tenure->asked || question_.is_under_way) return;
  question_.lease = grant_.lease;
  question_.tenure = grant_.tenure;
  grant_.tenure->asked = send(refreshing);
  if (!grant_.tenure->asked) {
    question_.tenure = nullptr;
    return;
  }
  grant_.tenure->lengthening = grant_.lease;
  grant_.tenure->refreshing = true;
  grant_.may_last_until = std::max(grant_.may_last_until, core_->may_last(grant_.lease));
  grant_.longest_asked = std::max(grant_.longest_asked, grant_.lease);
}

// After a gap an answer that is on its way may be older than the gap.
void lingering::ask() {
  question_.is_repeated = question_.is_under_way;
  if (!question_.is_under_way) send(asking);
}

bool lingering::send(std::uint32_t tag) {
  question_.is_told = true;
  question_.epoch = core_->epoch();
  question_.may_run_until = clock::time_point::min();
  question_.is_under_way = core_->send(shared_from_this(), tag);
  return question_.is_under_way;
}

request lingering::request_of(std::uint32_t tag) const {
  request r = lock_->request_for(tag == asking ? verb::want : verb::refresh, token_);
  if (tag == refreshing) {
    r.lease = question_.lease;
    r.run_within = core_->options().command_timeout;
  }
  r.joins_queue = true;
  return r;
}

void lingering::sent(std::uint32_t, const sending& s) {
  question_.is_told = question_.is_told && s.joins_queue;
  question_.may_run_until = std::max(question_.may_run_until, s.may_run_until);
}

void lingering::answered(std::uint32_t tag, const answer& a) {
  const auto self = shared_from_this();
  core_->note_answer(a);
  question_.is_under_way = false;
  if (idle_) core_->set(*this, idle_until());
  const auto tenure = std::exchange(question_.tenure, nullptr);
  if (tenure) tenure->refreshing = false;
  if (a.from_store == nullptr) {
    if (tenure) tenure->note_unanswered(question_.epoch, question_.may_run_until);
    return;
  }
  if (tenure) tenure->lengthening = milliseconds(0);
  const lease_reply& reply = a.from_store->lease;
  if (!reply.understood) return;  // For example an error: the last word gets old.
  core_->observe_time(reply.server_time, a);
  if (reply.status == status::waits_in_front) return registry::of(*core_).note_wanted(token_);
  if (reply.status != status::held) {
    core_->note_broken(token_);
    return on_wanted();  // An idle record is gone: the release finds that out.
  }
  if (question_.is_told) {
    told_ = true;
    epoch_ = question_.epoch;
    word_ = std::max(word_, a.sent);
  }
  if (std::exchange(question_.is_repeated, false) && listens_ && !told_) ask();
  if (tag != refreshing) return;
  keep_next_fence(*tenure, reply, a, question_.lease, *core_);
  if (!idle_) return;
  take_next_fence(grant_);
  core_->set(*this, idle_until());
}

}  // namespace leasehold::detail
