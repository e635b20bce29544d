// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/quorum/claim.hpp"

#include "protocol/kind.hpp"
#include "protocol/refusal.hpp"
#include "store/quorum/majority.hpp"
#include "store/quorum/quorum_store.hpp"
#include "store/quorum/voter.hpp"

#include "time/lease.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

// The pause before servers that could not carry out a release are asked again. It doubles: there may be thousands of
// claims.
constexpr milliseconds first_pause{50};
constexpr milliseconds longest_pause{1000};

}  // namespace

claim::claim(quorum_store& q, const kept_request& attempt) : quorum_(q), attempt_(attempt), places_(q.voters().size()) {
  release_.verb = verb::release;
  release_.of_kind = attempt.of_kind;
  release_.keys = attempt.keys;
  release_.token = attempt.token;
}

clock::time_point claim::until() const {
  std::vector<clock::time_point> all;
  for (const auto& p : places_) all.push_back(p.until);
  return nth_largest(std::move(all), quorum_.majority());
}

milliseconds claim::patience(milliseconds lease) const {
  const auto least = quorum_.patience(lease);
  const auto now = clock::now();
  const auto all = until();
  if (all <= now) return least;
  const auto tenth = std::chrono::duration_cast<milliseconds>(all - now) / 10;
  return std::max(least, std::min(quorum_.patience(lease_), tenth));
}

void claim::asked(const voter& v) {
  auto& p = places_[v.number];
  p.asked = true;
  // An attempt may still run on an earlier connection: keep its epoch when another attempt follows.
  if (p.unanswered++ == 0) p.epoch = v.server->epoch();
  p.found = release_is::unknown;
}

void claim::answered_by(const voter& v) { --places_[v.number].unanswered; }

void claim::may_run(const voter& v, clock::time_point until, milliseconds lease) {
  auto& its = places_[v.number].may_run_until;
  its = std::max(its, until);
  lasts(until, lease);
}

void claim::lasts(clock::time_point from, milliseconds lease) {
  lease_ = std::max(lease_, lease);
  gone_by_ = std::max(gone_by_, later(from, lease) + quorum_.drift().of(lease));
  schedule();
}

void claim::holds(const voter& v, clock::time_point sent, milliseconds left) {
  auto& p = places_[v.number];
  p.granted = p.asked = true;  // A renewal may have found the hold there.
  p.until = std::max(p.until, local_deadline(sent, lease_, left, quorum_.drift()));
  // A hold that is resumed may have more left than the client asks for.
  const auto gone = later(clock::now(), left) + quorum_.drift().of(left);
  if (gone <= gone_by_) return;
  gone_by_ = gone;
  schedule();
}

void claim::lacks(const voter& v) {
  auto& p = places_[v.number];
  p.until = std::min(p.until, clock::time_point());  // Long ago: margins and steps are subtracted from it.
  p.reads = false;
}

void claim::downgraded(std::uint64_t fence) {
  if (fence_ != 0) fence_ = fence;
  ask_to_read(attempt_.ask);
  was_writer_ = true;
}

bool claim::is_writer() const {
  return attempt_.of_kind == &scripts::shared_mutex && attempt_.ask.starts_with('w') && !may_read_ && !was_writer_;
}

bool claim::may_write_on(const voter& v, std::uint64_t fence) const {
  return was_writer_ && fence != fence_ && !places_[v.number].reads;
}

void claim::reads_on(const voter& v) { places_[v.number].reads = true; }

bool claim::is_missing_on(const voter& v, clock::time_point now, clock::time_point all) const {
  if (fence_ == 0 || releasing_ || now >= all) return false;
  const auto its = places_[v.number].until;
  return its <= now || later(its, lease_ / 2) < all;
}

void claim::release() {
  releasing_ = true;
  began_ = clock::now();
  woken_ = clock::time_point::min();
  pause_ = first_pause;
  send_everywhere();
  schedule();
}

void claim::release(kept_request r, std::shared_ptr<caller> the_caller, std::uint32_t tag) {
  release_ = std::move(r);
  callers_.push_back({std::move(the_caller), tag});
  release();
}

clock::time_point claim::late_until() const {
  auto last = clock::time_point::min();
  for (const auto& v : quorum_.voters()) {
    if (releasing_ && is_late(*v)) last = std::max(last, places_[v->number].may_run_until);
  }
  return last;
}

bool claim::is_late(const voter& v) const {
  const auto& p = places_[v.number];
  const bool is_gone = !v.up() || p.epoch != v.server->epoch();
  return p.once_more || (p.open() && p.unanswered != 0 && is_gone);
}

void claim::on_voter_up(voter& v) {
  if (releasing_) send(v);
}

void claim::on_clock_jump(const voter& v, clock::duration jump) {
  auto& p = places_[v.number];
  if (p.until != clock::time_point::min()) p.until -= jump;
}

void claim::send_everywhere() {
  for (const auto& v : quorum_.voters()) send(*v);
}

void claim::send(voter& v) {
  auto& p = places_[v.number];
  if (!p.due(clock::now()) || p.asking) return;
  if (!v.run(shared_from_this(), static_cast<std::uint32_t>(v.number))) return;
  p.asking = true;
  quorum_.begin_release();
}

void claim::answered(std::uint32_t number, const answer& a) {
  auto& v = *quorum_.voters()[number];
  v.on_answer(a.received);
  auto& p = places_[number];
  p.asking = false;
  quorum_.end_release();
  const outcome* const o = a.from_store;
  if (o == nullptr) p.repeated = p.repeated || p.sent;
  p.sent = false;
  const bool is_others = o != nullptr && o->refused == refusal::wrong_type;  // Another program's, for now.
  if (o != nullptr && (!o->refused || is_others)) {
    // If it does not have the token any more, it was released by an earlier one.
    const bool done = !is_others && (o->released || (p.repeated && p.granted && a.received < p.until));
    if (p.found == release_is::unknown || p.refuses) p.found = done ? release_is::done : release_is::absent;
    p.refuses = false;
    // On one connection everything runs in order, so the release ran after the attempt.
    p.once_more = p.unanswered != 0 && p.epoch != v.server->epoch() && a.sent < p.may_run_until;
    // Its not-after may have passed meanwhile.
    if (p.once_more) send(v);
  } else if (o != nullptr && o->refused == refusal::no && p.open()) {
    p.found = release_is::refused;
    p.refuses = may_pass(o->words);
    words_ = o->words;
  }
  if (o != nullptr && p.due(a.received) && again_at_ == clock::time_point::max()) {
    again_at_ = later(a.received, pause_);
    pause_ = std::min(2 * pause_, longest_pause);
  }
  settle(a.received);
  quorum_.stop_if_idle();
}

void claim::settle(clock::time_point now) {
  const auto self = shared_from_this();
  if (!callers_.empty()) conclude(now);
  const bool over =
      std::none_of(places_.begin(), places_.end(), [](const place& p) { return p.open() || p.once_more || p.asking; });
  if ((over && callers_.empty() && releasing_) || now >= gone_by_) return end();
  schedule();
}

void claim::conclude(clock::time_point now) {
  const auto released = number_of(release_is::done);
  const auto refused = number_of(release_is::refused);
  const auto open = number_of(release_is::unknown);
  const auto majority = quorum_.majority();
  if (waits(now)) return;
  if (released >= majority) return report(true);
  const auto lost = std::count_if(places_.begin(), places_.end(),
                                  [](const place& p) { return p.found == release_is::absent && p.granted; });
  const bool is_lost = quorum_.can_prevent(static_cast<std::size_t>(lost));
  if (quorum_.can_prevent(refused) && !is_lost) return report(detail::refused(refusal::no, words_));
  // Some servers that granted the token are not reachable, or refuse the release, and no other server has lost it. If
  // the lock is free on a majority, these servers are released later.
  const auto never_asked = std::count_if(places_.begin(), places_.end(), [](const place& p) { return !p.asked; });
  const auto free = released + number_of(release_is::absent) + static_cast<std::size_t>(never_asked);
  if (lost == 0 && released != 0 && free >= majority) return report(true);
  if (released + open < majority || now >= gone_by_) report(false);
}

void claim::report(bool released) {
  // If the lock rests, waiters learn when that ends.
  if (released) quorum_.announce(release_.keys.record);
  outcome o;
  o.released = released;
  report(o);
}

void claim::report(const outcome& o) {
  for (const auto& c : std::exchange(callers_, {})) {
    c.the_caller->answered(c.tag, answer{&o, began_, clock::now(), nullptr});
  }
}

void claim::end() {
  const auto self = shared_from_this();
  unset();
  if (!callers_.empty()) report(false);
  quorum_.forget(*this);
}

std::size_t claim::number_of(release_is what) const {
  return static_cast<std::size_t>(
      std::count_if(places_.begin(), places_.end(), [what](const place& p) { return p.asked && p.found == what; }));
}

bool claim::waits(clock::time_point now) const {
  if (now >= patience_ends()) return false;
  return std::any_of(quorum_.voters().begin(), quorum_.voters().end(),
                     [&](const auto& v) { return places_[v->number].asking && !v->overdue(now); });
}

clock::time_point claim::patience_ends() const { return later(began_, quorum_.patience(milliseconds(0))); }

void claim::schedule() {
  auto due = std::min(gone_by_, again_at_);
  if (releasing_) {
    for (const auto& v : quorum_.voters()) {
      const auto& p = places_[v->number];
      if (is_late(*v) && clock::now() < p.may_run_until) due = std::min(due, p.may_run_until);
    }
    if (!callers_.empty()) due = std::min(due, std::max(patience_ends(), woken_));
    const bool nothing =
        std::none_of(places_.begin(), places_.end(), [](const place& p) { return p.open() || p.once_more; });
    if (nothing) due = clock::time_point::min();
  }
  quorum_.set(*this, due);
}

void claim::ring(clock::time_point now) {
  // The end of the patience rings only once.
  if (now >= patience_ends()) woken_ = clock::time_point::max();
  if (now >= again_at_) again_at_ = clock::time_point::max();
  if (releasing_) send_everywhere();
  settle(now);
}

}  // namespace leasehold::detail
