// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/queue_entry.hpp"

#include "client/options.hpp"
#include "lock/hold_state.hpp"
#include "lock/joint_cohort.hpp"
#include "lock/lingering.hpp"
#include "protocol/lease_reply.hpp"

#include <algorithm>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

// When lua/shared/queue.lua expects the next poll: of the first two waiters in the queue, and of the others.
constexpr milliseconds poll_often{667};
constexpr milliseconds poll_rarely{5000};

// When a lease ends, entries further back in the queue poll no earlier than this after the answer.
constexpr milliseconds poll_at_end{2000};

// On a quorum, all waiters are notified at the same time that a lock is free. If they all asked at the same time, each
// would be granted the lock by some of the servers only.
constexpr milliseconds hint_spread{2};

// The messages of all servers about one release arrive within about this.
constexpr milliseconds hint_echo{10};

// Weakly: an operation that has completed meanwhile must not keep the client open.
class waiter_that_leaves final : public release_listener {
 public:
  explicit waiter_that_leaves(const std::shared_ptr<waiter>& w) : waiter_(w) {}
  void on_released(error_code) override {
    if (const auto w = waiter_.lock()) w->left();
  }

 private:
  const std::weak_ptr<waiter> waiter_;
};

}  // namespace

queue_entry::queue_entry(std::shared_ptr<client_core> core, std::shared_ptr<const lock_identity> lock, role r)
    : core_(std::move(core)),
      lock_(std::move(lock)),
      joint_(registry::of(*core_).joint_of(*lock_)),
      first_limit_(lock_->limit.load(std::memory_order_relaxed)),
      limit_(first_limit_),
      role_(r),
      pauses_(backoff{}) {
  if (!joint_ || role_ == role::once) return;
  joint_->add(first_limit_);
  is_counted_ = true;
}

void queue_entry::add(waiter& op) {
  const auto self = shared_from_this();
  const bool first = waiters_.empty();
  waiters_.push_back(op);
  op.belong_to(self);
  if (first) {
    begin();
  } else {
    // A lock with several holders at a time may have room for this waiter, too: that is not known yet.
    if (answered_ || (found_busy_ && lock_->kind.mode != hold_mode::shared)) op.note_contention();
    ask_in_parallel();
  }
}

// A new entry for the waiter in front: a token is never used twice.
void queue_entry::begin() {
  registry::of(*core_).forget_token(*this);
  if (role_ == role::local_queue) follows_ = predecessor_of(front());
  pauses_ = pauses(front().options().retry);
  answered_ = false;
  too_late_ = false;
  go_to(state::idle);
  take_token();
  if (!await_pass()) ask();
}

void queue_entry::take_token() {
  token_ = core_->identity().next_token(!waiters_.empty() && lingering::may(*core_, *lock_, front().options()));
  attempts_.forget_unanswered();
  asked_again_ = false;
  in_queue_ = false;
  check_ = {};
}

void queue_entry::ask() {
  attempts_.begin(clock::now(), core_->epoch(), first_lease(front().options()));
  wakes_up_again_ = false;
  if (core_->send(shared_from_this(), next_attempt())) {
    return go_to(state::asking);
  }
  if (core_->refused()) return end_all(error::refused);
  answered_ = false;
  found_busy_ = false;
  go_to(state::offline);
  core_->when_up(*this);
}

void queue_entry::go_to(state s, clock::time_point due) {
  state_ = s;
  core_->set(*this, due);
}

request queue_entry::request_of(std::uint32_t attempt) const {
  const bool proves = attempt == proof_.attempt;
  request r = lock_->request_for(proves ? verb::confirm : verb::acquire, token_);
  r.lease = attempts_.lease();
  if (proves) return r;
  r.run_within = core_->options().command_timeout;
  r.joins_queue = role_ != role::once;
  r.limit = limit_;
  r.repairs = core_->options().repair_missing_expiry;
  r.follows = follows_;
  return r;
}

void queue_entry::sent(std::uint32_t attempt, const sending& s) {
  if (attempt == proof_.attempt) return;
  attempts_.sent(s);
  if (s.joins_queue) check_.sent(s.at);
}

void queue_entry::answered(std::uint32_t attempt, const answer& a) {
  core_->note_answer(a);
  // Also what comes too late says what time it is.
  if (a.from_store != nullptr && !a.from_store->refused && a.from_store->lease.understood)
    core_->observe_time(a.from_store->lease.server_time, a);
  const bool current = attempt == attempt_;
  if (attempt == proof_.attempt) {
    if (state_ == state::proving) on_proof(a);
    return;
  }
  if (a.from_store == nullptr && current) {
    attempts_.note_unanswered(longest_trace());
    found_busy_ = false;
  }
  if (state_ == state::over) {
    const auto* const late = a.from_store != nullptr && !core_->is_quorum() ? &a.from_store->lease : nullptr;
    if (const auto op = leaving_.lock(); op && late && late->understood && is_busy(late->status)) op->note_busy();
    return;
  }
  if (state_ != state::asking || !current) return;
  if (a.from_store == nullptr) return ask();
  attempts_.answered(a.received);
  if (a.from_store->refused) return on_error(*a.from_store, a.received);
  const lease_reply& lease = a.from_store->lease;
  if (!lease.understood) {
    core_->note_excuse("the server's answer to a script is not understood");
    return pause(a.received);
  }
  switch (lease.status) {
    case status::held: return on_grant(lease, a);
    case status::too_late: return on_too_late(a.received);
    case status::other_limit: return on_wrong_limit(static_cast<std::uint32_t>(lease.left.count()));
    case status::not_held:
    case status::waits_in_front:
    case status::waits: return on_busy(lease, a);
  }
}

// Either the server's clock is known better now, and asking again helps; or the server is slow, and asking again at
// once would not help.
void queue_entry::on_too_late(clock::time_point now) {
  if (!std::exchange(too_late_, true)) return ask();
  rest(now);
}

void queue_entry::on_busy(const lease_reply& lease, const answer& a) {
  const auto now = a.received;
  if (!std::exchange(answered_, true)) {
    // add() does this for waiters that come from now on.
    for (auto& w : waiters_) w.note_contention();
  }
  found_busy_ = true;
  in_queue_ = true;
  too_late_ = false;
  lacks_replicas_ = false;
  parallel_.on_busy();
  on_parallel_outcome(false);
  if (role_ == role::once) {
    go_to(state::over);
    // An attempt on an earlier connection may still be granted.
    if (attempts_.unanswered().exists) release_token(nullptr);
    const auto op = front().shared();
    waiters_.pop_front();
    return op->complete_busy();
  }
  follows_.clear();
  if (!core_->has_queue()) {
    registry::of(*core_).listen(*this);
    const clock::duration until_free =
        lease.left < milliseconds(0) ? clock::duration::max() : lease.left + milliseconds(1);
    go_to(state::pausing, later(now, std::min<clock::duration>(pauses_.next(core_->identity().random()), until_free)));
    if (wakes_up_again_) ask_soon(now);
    return;
  }
  waited_ = true;
  pauses_.reset();
  registry::of(*core_).remember_token(*this);
  check_.busy(lease.server_time, a.sent);
  // In a cluster the first attempt does not join the queue yet: the entry polls as soon as grants in the slot are
  // pushed to this client.
  const bool in_front = lease.status != status::waits;
  if (in_front && !lock_->unlock_channel.empty()) registry::of(*core_).listen(*this);
  auto poll_after = in_front ? poll_often : poll_rarely;
  // The server runs no script when a lease ends, so the entry polls then. (Negative: the holder's lease has no end.)
  // Entries further back poll only in case no entry in front of them is alive.
  if (lease.left >= milliseconds(0)) {
    poll_after = std::min(poll_after, std::max(lease.left + milliseconds(1), in_front ? milliseconds(0) : poll_at_end));
  }
  go_to(state::waiting, later(now, poll_after));
}

// Asks again with the current limit in two cases: the entry waited in the queue when another client changed the limit,
// or this lock itself was resized while the entry asked.
void queue_entry::on_wrong_limit(std::uint32_t limit) {
  if (!waited_ && limit != lock_->limit.load(std::memory_order_relaxed)) return end_all(error::wrong_limit);
  limit_ = limit;
  ask();
}

void queue_entry::on_error(const outcome& o, clock::time_point now) {
  if (o.may_have_written) attempts_.note_unanswered(longest_trace());
  switch (*o.refused) {
    case refusal::wrong_type: return end_all(error::wrong_type);
    case refusal::no: core_->note_refusal(o.words); return end_all(error::refused);
    case refusal::try_again:
    case refusal::no_majority: break;
    case refusal::moving_slot: core_->note_excuse(o.words); break;
  }
  pause(now);
}

void queue_entry::pause(clock::time_point now) {
  answered_ = false;
  found_busy_ = false;
  rest(now);
}

void queue_entry::rest(clock::time_point now) {
  go_to(state::pausing, later(now, pauses_.next(core_->identity().random())));
  if (wakes_up_again_) ask_soon(now);
}

void queue_entry::ask_soon(clock::time_point now) {
  const auto soon = later(now, std::chrono::duration_cast<clock::duration>(hint_spread * core_->identity().random()));
  if (soon < due()) core_->set(*this, soon);
}

void queue_entry::on_watch() {
  // A message that is repeated must not postpone the next poll.
  const auto soon = later(clock::now(), poll_often);
  if (state_ == state::waiting && soon < due()) core_->set(*this, soon);
}

void queue_entry::poll_now() {
  // A pause that keeps a place in the queue ends, too: the reason for this call may be that the server answers again.
  if (state_ == state::waiting || (state_ == state::pausing && in_queue_ && core_->has_queue())) return ask();
  if (core_->has_queue()) return;
  const auto now = clock::now();
  const bool is_echo = now - woken_up_at_ < hint_echo;
  if (!is_echo) woken_up_at_ = now;
  if (state_ == state::pausing) return ask_soon(now);
  // The attempt may wait for a server that does not answer, and fail.
  if (state_ == state::asking && !is_echo) wakes_up_again_ = true;
}

bool queue_entry::drop_late(clock::time_point now) {
  if (!waiters_.empty() && now < front().deadline()) return state_ != state::over;
  const auto self = shared_from_this();
  while (!waiters_.empty() && now >= front().deadline()) {
    const auto op = front().shared();
    leave(op, found_busy() && !lacks_replicas() ? make_error_code(error::timed_out) : no_answer());
  }
  return state_ != state::over;
}

void queue_entry::leave(const std::shared_ptr<waiter>& op, error_code why) {
  const auto self = shared_from_this();
  op->unlink();
  // The last waiter takes the entry out of the queue.
  if (waiters_.empty() && withdraw(op)) {
    op->wait_for_leave(why);
  } else {
    op->complete(why);
  }
}

// The last waiter has left. True if `op` will be notified when nothing is left of the entry.
bool queue_entry::withdraw(const std::shared_ptr<waiter>& op) {
  const bool traces = is_on_its_way() || state_ == state::proving || leaves_traces();
  if (is_on_its_way()) attempts_.note_unanswered(longest_trace());
  forget();
  if (!traces) return false;
  if (!op || !core_->up()) {
    release_token(nullptr);
    return false;
  }
  leaving_ = op;
  release_token(std::make_shared<waiter_that_leaves>(op));
  return true;
}

// An attempt that waits in the client for others is never sent once it is not wanted any more.
bool queue_entry::is_on_its_way() const { return state_ == state::asking && attempts_.is_sent(); }

// For attempts that were answered, or never will be. (Asked again: the attempt before was granted.)
bool queue_entry::leaves_traces() const {
  return asked_again_ || (!core_->releases_leftovers() && (in_queue_ || attempts_.unanswered().exists));
}

// How long after an attempt has run something of it may be left: it may wait in the queue and then be granted.
milliseconds queue_entry::longest_trace() const {
  const bool may_wait = core_->has_queue() && role_ != role::once;
  return attempts_.lease() + (may_wait ? longest_in_queue : milliseconds(0));
}

// Takes the token out of the queue, or releases its grant, in the background.
void queue_entry::release_token(release_op::listener l) {
  core_->count().withdrawn.fetch_add(1, std::memory_order_relaxed);
  const auto gone_by =
      attempts_.unanswered().exists ? attempts_.unanswered().gone_by : later(clock::now(), longest_trace());
  std::make_shared<release_op>(core_, lock_, token_, gone_by, attempts_.unanswered())->start(std::move(l));
}

void queue_entry::end_all(error_code ec) {
  const auto self = shared_from_this();
  const bool traces = leaves_traces();
  forget();
  if (traces) release_token(nullptr);
  while (!waiters_.empty()) {
    const auto op = front().shared();
    waiters_.pop_front();
    op->complete(ec);
  }
}

void queue_entry::forget() {
  on_parallel_outcome(false);
  go_to(state::over);
  caller::unlink();
  registry::of(*core_).forget(*this);
  if (std::exchange(is_counted_, false)) joint_->remove(*this, first_limit_);
}

bool queue_entry::wants(std::uint32_t attempt) const {
  return attempt == attempt_ && (state_ == state::asking || (state_ == state::proving && attempt == proof_.attempt));
}

void queue_entry::store_is_up() {
  if (state_ == state::offline) ask();
}

void queue_entry::store_refuses(error_code ec) {
  if (state_ == state::offline) end_all(ec);
}

void queue_entry::ring(clock::time_point now) {
  const auto self = shared_from_this();
  if (state_ == state::proving) {
    next_attempt();  // The proof is not wanted any more.
    return on_proof(answer{nullptr, now, now});
  }
  if (core_->releases_leftovers()) take_token();
  ask();
  ask_in_parallel();
}

error_code queue_entry::no_answer() const {
  return lacks_replicas() || core_->too_few_answer() ? make_error_code(error::no_quorum)
                                                     : make_error_code(error::unreachable);
}

bool queue_entry::known_busy(clock::time_point now) const {
  // An attempt that was just sent proves nothing yet. One that waits for its answer longer than usual shows that there
  // is none.
  return found_busy() && !(is_on_its_way() && attempts_.is_late(now));
}

}  // namespace leasehold::detail
