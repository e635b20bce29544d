// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/leader_term.hpp"

#include "protocol/leader_reply.hpp"
#include "protocol/refusal.hpp"

#include <algorithm>

namespace leasehold::detail {
namespace {

// The pause between two requests to a server that cannot answer yet.
constexpr std::chrono::milliseconds repeats_soon{50};

// The same for one that refuses.
constexpr std::chrono::milliseconds repeats_refused{1000};

// The server forgets the value an hour after the record (lua/election.lua).
constexpr std::chrono::minutes repeat_after{20};

// Without the record no observer believes the value, and each looks every 5 s.
constexpr std::chrono::seconds withdrawn_within{5};

}  // namespace

void leader_term::begin() {
  core_->add(*this);
  if (const auto hold = hold_.lock()) {
    hold->wait_for_loss(shared_from_this());
  } else {
    end(error::not_held);
  }
}

void leader_term::propose(shared_text value, std::shared_ptr<proclaim_listener> listener) {
  // (It is over before the operation that waits for the hold's end was notified.)
  if (over_) {
    const auto hold = hold_.lock();
    const bool lost = hold && !hold->released();
    return listener->proclaimed(lost ? error::lost : error::not_held);
  }
  latest_ = value;
  was_refused_ = false;
  proposals_.push_back({++revision_, std::move(value), std::move(listener)});
  send();
}

std::string leader_term::value() const {
  const std::lock_guard lock(mutex_);
  return proclaimed_ ? *proclaimed_ : std::string();
}

void leader_term::send() {
  if (over_ || asking_ || !latest_) return;
  unset();
  asking_ = core_->send(shared_from_this(), proclaiming);
  if (asking_) return;
  if (core_->refused()) fail(error::refused);
  core_->when_up(*this);
}

void leader_term::store_refuses(error_code ec) {
  if (over_) return stop_withdrawing();
  fail(ec);
  core_->when_up(*this);
}

request leader_term::request_of(std::uint32_t tag) const {
  request r = lock_->request_for(tag == proclaiming ? verb::proclaim : verb::withdraw, token_);
  r.of_kind = &scripts::election;
  r.fence = fence_;
  r.record_stays = record_stays_;
  if (tag == proclaiming) {
    r.revision = revision_;
    r.value = *latest_;
  }
  return r;
}

// The latest value was written now. A later one is sent when this one was answered.
void leader_term::sent(std::uint32_t tag, const sending&) {
  if (tag != proclaiming) return;
  sent_revision_ = revision_;
  sent_ = latest_;
  was_tagged_ = core_->has_slots();
}

void leader_term::answered(std::uint32_t tag, const answer& a) {
  core_->note_answer(a);
  if (tag == withdrawing) return withdrawn(a);
  if (over_) return;
  asking_ = false;
  if (a.from_store == nullptr) return send();
  const outcome& o = *a.from_store;
  const auto hold = hold_.lock();
  if (o.refused) {
    if (is_temporary(*o.refused)) return retry(a.received);
    if (!std::exchange(was_refused_, true)) core_->note_refusal(o.words);
    // wrong_type: another program has overwritten the record, or the value. The hold's next renewal tells which.
    fail(*o.refused == refusal::wrong_type ? error::wrong_type : error::refused);
    // A value that it has lost is sent again: the server may lack memory, or a replica, only for a while.
    return core_->set(*this, later(a.received, repeats_refused));
  }
  const proclaim_reply told(*o.scalars);
  if (!told.understood) return retry(a.received);
  core_->note_understood(a);
  was_refused_ = false;
  if (!told.held) {
    // The record is another's.
    if (hold) hold->lose();
    return;
  }
  proclaimed(sent_revision_);
  if (over_) return;
  if (sent_revision_ != revision_ || was_tagged_ != core_->has_slots()) return send();
  core_->set(*this, later(a.received, repeat_after));
}

void leader_term::retry(clock::time_point now) { core_->set(*this, later(now, repeats_soon)); }

// The server has this value, or a later one.
void leader_term::proclaimed(std::uint64_t revision) {
  const auto self = shared_from_this();
  const auto rest = std::find_if(proposals_.begin(), proposals_.end(),
                                 [revision](const proposal& p) { return p.revision > revision; });
  std::vector<proposal> known(std::make_move_iterator(proposals_.begin()), std::make_move_iterator(rest));
  proposals_.erase(proposals_.begin(), rest);
  {
    const std::lock_guard lock(mutex_);
    proclaimed_ = sent_;
  }
  before_ = nullptr;
  for (const auto& p : known) p.listener->proclaimed(error_code());
}

void leader_term::fail(error_code ec) {
  // What was refused is not proclaimed later: the value before it stays, or is sent once more. That is one that others
  // may have seen.
  for (const auto& p : proposals_) {
    if (p.listener->is_left()) before_ = p.value;
  }
  if (!proposals_.empty() && !proposals_.back().listener->is_left()) {
    latest_ = before_ ? before_ : proclaimed_;
    ++revision_;
  }
  // Posted: the core may be going through its activities, of which only the present one may end.
  core_->post([failed = std::exchange(proposals_, {}), ec] {
    for (const auto& p : failed) p.listener->proclaimed(ec);
  });
}

void leader_term::complete(error_code ec) {
  if (over_) return;
  if (sent_revision_ != 0) withdrawing_ = shared_from_this();
  const auto hold = hold_.lock();
  record_stays_ = core_->open() && hold && (!hold->released() || hold->detached());
  end(!core_->open() ? make_error_code(error::closed) : ec ? ec : make_error_code(error::lost));
  if (!withdrawing_) return;
  core_->begin_work();
  withdraws_until_ = later(clock::now(), withdrawn_within);
  asking_ = false;  // A proclamation that is on its way counts no more.
  // It goes out before the release of the hold.
  withdraw();
}

void leader_term::withdraw() {
  if (!withdrawing_) return;
  if (clock::now() >= withdraws_until_) return stop_withdrawing();
  core_->set(*this, withdraws_until_);
  if (asking_) return;
  asking_ = core_->send(withdrawing_, withdrawing);
  if (asking_) return;
  core_->open() ? core_->when_up(*this) : stop_withdrawing();
}

void leader_term::withdrawn(const answer& a) {
  asking_ = false;
  if (a.from_store == nullptr) return withdraw();
  const auto& why = a.from_store->refused;
  // For example: its slot is being moved, or there are too few replicas.
  const bool passes = why && (is_temporary(*why) || may_pass(a.from_store->words));
  if (!withdrawing_ || !core_->open() || !passes) return stop_withdrawing();
  core_->set(*this, std::min(withdraws_until_, later(a.received, repeats_soon)));
}

void leader_term::stop_withdrawing() {
  const auto self = std::exchange(withdrawing_, nullptr);
  if (!self) return;
  unset();
  caller::unlink();
  core_->post([self] { self->activity::unlink(); });
  core_->end_work();
}

void leader_term::end(error_code ec) {
  if (std::exchange(over_, true)) return;
  unset();
  caller::unlink();
  fail(ec);
  if (!withdrawing_) core_->post([self = shared_from_this()] { self->activity::unlink(); });
}

void leader_term::abandon() {
  const auto self = std::exchange(withdrawing_, nullptr);
  over_ = true;
  unset();
  auto dropped = std::move(proposals_);
  proposals_.clear();
}

}  // namespace leasehold::detail
