// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/acquire_all.hpp"

#include "client/options.hpp"
#include "lock/cohort.hpp"
#include "lock/hold_state.hpp"
#include "lock/joint_cohort.hpp"
#include "protocol/lease_reply.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/query.hpp>

#include <algorithm>
#include <numeric>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

// One client starts operations in another: these must not outlive that client's execution context.
bool share_a_context(const client_core& a, const client_core& b) {
  const auto one = a.executor(), other = b.executor();
  return &a == &b ||
         (one && other && &asio::query(one, asio::execution::context) == &asio::query(other, asio::execution::context));
}

}  // namespace

asio::any_io_executor executor_of(const std::shared_ptr<lock_group>& group) noexcept {
  return group->members.empty() ? asio::any_io_executor(asio::system_executor()) : executor_of(group->members.front());
}

acquire_all_op::acquire_all_op(std::shared_ptr<lock_group> locks, const acquire_options& options,
                               handler::handler_type h)
    : operation(locks->members.front()->handle->core, std::move(h)), locks_(std::move(locks)), options_(options) {}

void acquire_all_op::start(const std::shared_ptr<lock_group>& locks, const acquire_options& options,
                           handler::handler_type h) {
  std::make_shared<acquire_all_op>(locks, options, std::move(h))->launch(any_type);
}

error_code acquire_all_op::check() const {
  for (const auto& l : locks_->members) {
    if (!share_a_context(*core_, *l->handle->core)) return error::invalid_option;
  }
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const auto& lock = *locks_->members[order_[i]];
    if (lock.bad) return lock.bad;
    if (i != 0 && locks_->members[order_[i - 1]]->identity->record == lock.identity->record) {
      return error::invalid_option;
    }
  }
  return detail::check(options_);
}

void acquire_all_op::begin() {
  began_ = clock::now();
  core_->add(*this);
  const auto& locks = locks_->members;
  order_.resize(locks.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::sort(order_.begin(), order_.end(),
            [&](std::size_t a, std::size_t b) { return locks[a]->identity->record < locks[b]->identity->record; });
  if (const error_code ec = check()) return complete(ec);
  if (!core_->open()) return complete(error::closed);
  one_server_ = !core_->is_quorum();
  one_slot_ = true;
  for (const auto& l : locks) {
    one_server_ = one_server_ && l->handle->core == core_;
    one_slot_ = one_slot_ && l->identity->slot == locks.front()->identity->slot;
  }
  if (options_.wait != forever) {
    deadline_ = later(began_, options_.wait == milliseconds(0) ? core_->options().command_timeout : options_.wait);
  }
  begin_again();
}

std::vector<std::string> acquire_all_op::asks() const {
  std::vector<std::string> all;
  for (const auto& l : locks_->members) all.push_back(l->identity->ask_text());
  return all;
}

void acquire_all_op::begin_again() {
  release_holds();  // What is left of an attempt.
  holds_.resize(order_.size());
  next_ = 0;
  const bool fits_in_one_script = one_server_ && (one_slot_ || !core_->has_slots());
  if (!fits_in_one_script || options_.replicas != 0 || !core_->up()) return acquire_next();
  tokens_.clear();
  for (std::size_t i = 0; i < order_.size(); ++i) tokens_.push_back(core_->identity().next_token());
  asks_ = asks();
  members_.clear();
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const auto& lock = *locks_->members[i]->identity;
    members_.push_back({lock.keys(), lock.kind.code->name, tokens_[i], asks_[i]});
  }
  // The script would find them busy.
  for (const auto& l : locks_->members) registry::of(*core_).stop_idle(*l->identity);
  attempt_.forget_unanswered();
  attempt_.begin(clock::now(), core_->epoch(), first_lease(options_));
  asking_ = core_->send(self_, 0);
  if (!asking_) return acquire_next();
  core_->begin_work();
  core_->set(*this, deadline_);
}

bool acquire_all_op::wants(std::uint32_t) const { return !leaving_ && !is_over(); }

request acquire_all_op::request_of(std::uint32_t) const {
  request r;
  r.verb = verb::acquire_all;
  r.of_kind = &scripts::all;
  r.keys.record = locks_->members.front()->identity->record;
  r.lease = first_lease(options_);
  r.run_within = core_->options().command_timeout;
  r.repairs = core_->options().repair_missing_expiry;
  r.members = members_;
  return r;
}

void acquire_all_op::sent(std::uint32_t, const sending& s) { attempt_.sent(s); }

void acquire_all_op::answered(std::uint32_t, const answer& a) {
  core_->note_answer(a);
  take(a);
  // Posted, so that it runs after the releases of what the answer has granted: these are posted to the strand, too.
  core_->post([core = core_] { core->end_work(); });
}

void acquire_all_op::take(const answer& a) {
  asking_ = false;
  if (!self_ && !is_over()) return;
  if (!leaving_) unset();  // Otherwise the limit of the withdrawal stays set.
  if (a.from_store == nullptr && attempt_.is_sent()) attempt_.note_unanswered(first_lease(options_));
  const auto& unanswered = attempt_.unanswered();
  const bool granted = a.from_store != nullptr && a.from_store->granted_all(tokens_.size());
  if (granted) {
    take_all(a);
  } else if (unanswered.exists) {
    // Whether the script ran is unknown: release whatever it may have granted.
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      std::make_shared<release_op>(core_, locks_->members[i]->identity, tokens_[i], unanswered.gone_by, unanswered)
          ->start(nullptr);
    }
  }
  if (is_over()) return holds_.clear();
  if (leaving_) return release_all(outcome_);
  // The process was suspended, and the timer has not rung yet.
  if (granted && a.received >= deadline_) return release_all(error::unreachable);
  if (granted) {
    next_ = order_.size();
    return acquire_next();
  }
  if (a.from_store != nullptr && a.from_store->refused) {
    switch (*a.from_store->refused) {
      case refusal::wrong_type: return release_all(error::wrong_type);
      case refusal::no:
        // The server has granted nothing, and from now on the keys are tagged: one lock after the other.
        if (wants_tagged_keys(a.from_store->words) && core_->has_slots()) break;
        core_->note_refusal(a.from_store->words);
        return release_all(error::refused);
      case refusal::try_again:
      case refusal::moving_slot:
      case refusal::no_majority: break;
    }
  } else if (a.from_store != nullptr) {
    const lease_reply& why = a.from_store->lease;
    if (why.understood) core_->observe_time(why.server_time, a);
    // Unless one of the locks was resized meanwhile.
    if (why.status == status::other_limit && asks_ == asks()) return release_all(error::wrong_limit);
    if (options_.wait == milliseconds(0) && why.status == status::not_held) return release_all(error::timed_out);
  }
  acquire_next();
}

void acquire_all_op::take_all(const answer& a) {
  holds_.resize(tokens_.size());
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const auto& lock = locks_->members[i];
    const lease_reply lease = a.from_store->lease_of(i);
    core_->observe_time(lease.server_time, a);
    hold_state::grant g{};
    g.token = tokens_[i];
    g.fence = lease.fence;
    g.depth = lease.depth;
    g.asked_at = began_;
    g.lease = options_.lease;
    g.renew = options_.renew;
    g.margin = options_.margin;
    g.at_least = options_.at_least;
    g.confirmed_at = a.sent;
    if (!lock->identity->kind.shares_fence) g.cohort_since = a.sent;
    g.next = &cohort();
    join(registry::of(*core_).joint_of(*lock->identity), g);
    g.deadline = local_deadline(a.sent, first_lease(options_), lease.left, core_->drift());
    auto state = std::make_shared<hold_state>(lock->handle, lock->identity, std::move(g));
    state->start(/*confirmed=*/true);
    state->forgo_rest();
    holds_[i] = access::make_hold(std::move(state));
  }
}

void acquire_all_op::acquire_next() {
  const auto now = clock::now();
  if (next_ == order_.size()) {
    // A loss that is reported early, because of the margin, does not count here: with a long margin the loop would
    // never end. A hold that client::close has released does.
    const bool all_there =
        std::all_of(holds_.begin(), holds_.end(), [](const hold& h) { return !access::state(h)->outlived(); });
    // A lease that is shorter than the drift allowance is never valid: trying again would go on forever.
    if (all_there || core_->drift().of(options_.lease) >= options_.lease) return complete(error_code());
    if (now >= deadline_ || options_.wait == std::chrono::milliseconds(0)) return release_all(error::timed_out);
    return begin_again();
  }
  if (next_ != 0 && now >= deadline_) return release_all(error::timed_out);
  acquire_options options = options_;
  options.linger = milliseconds(0);
  acquiring_ = true;
  core_->set(*this, deadline_);
  auto then = [self = shared_from_this()](error_code ec, hold h) { self->acquired(ec, std::move(h)); };
  auto on_strand =
      asio::bind_executor(core_->strand(), asio::bind_cancellation_slot(stop_next_.slot(), std::move(then)));
  const auto& lock = locks_->members[order_[next_]];
  const auto op = std::make_shared<acquire_op>(
      lock, options, acquire_op::wait_handler(std::move(on_strand), core_->fallback()), deadline_);
  // Until all are there, none of them has been held: if the operation fails from here on, nothing stays busy.
  op->forgo_rest();
  acquire_op::start(op);
}

void acquire_all_op::acquired(error_code ec, hold h) {
  acquiring_ = false;
  if (is_over()) return;
  if (!ec) holds_[order_[next_++]] = std::move(h);
  if (leaving_) return release_all(outcome_);
  if (ec) return release_all(ec);
  acquire_next();
}

void acquire_all_op::ring(clock::time_point now) {
  if (leaving_) return complete(outcome_);
  // The acquire that is under way has the same deadline, and withdraws by itself.
  if (acquiring_) {
    leave_by_ = later(now, leaving_limit);
    return;
  }
  // The single script was not answered in time.
  core_->note_silence();
  leave(error::unreachable);
}

void acquire_all_op::limit_leaving() { core_->set(*this, std::min(leave_by_, later(clock::now(), leaving_limit))); }

void acquire_all_op::leave(error_code why) {
  if (is_over() || leaving_) return;
  if (!self_) return complete(why);
  leaving_ = true;
  outcome_ = why;
  limit_leaving();
  if (acquiring_) return stop_next_.emit(asio::cancellation_type::terminal);
  if (!asking_) release_all(why);
}

// Completes when the store has answered the releases, or at the limit.
void acquire_all_op::release_all(error_code outcome) {
  if (std::exchange(releasing_, true)) return;
  if (!std::exchange(leaving_, true)) limit_leaving();
  outcome_ = outcome;
  release_holds();
  if (releases_under_way_ == 0) complete(outcome_);
}

void acquire_all_op::release_holds() {
  for (const hold& h : std::exchange(holds_, {})) {
    const auto state = access::state(h);
    if (!state) continue;
    ++releases_under_way_;
    start_release(state, [self = shared_from_this()](error_code) { self->core_->post([self] { self->released(); }); });
  }
}

void acquire_all_op::released() {
  if (--releases_under_way_ == 0 && releasing_) complete(outcome_);
}

void acquire_all_op::complete(error_code ec) {
  if (is_over()) return;
  if (ec) holds_.clear();
  for (const hold& h : holds_) access::state(h)->keep_rest();
  end(ec, std::exchange(holds_, {}));
}

void acquire_all_op::abandon() {
  holds_.clear();
  operation::abandon();
}

void start_acquire_all(const std::shared_ptr<lock_group>& locks,
                       asio::any_completion_handler<void(error_code, std::vector<hold>)> h, acquire_options options) {
  acquire_all_op::start(locks, options, std::move(h));
}

}  // namespace leasehold::detail
