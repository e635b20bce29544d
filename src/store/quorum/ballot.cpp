// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/quorum/ballot.hpp"

#include "protocol/lease_reply.hpp"
#include "store/quorum/claim.hpp"
#include "store/quorum/majority.hpp"
#include "store/quorum/quorum_store.hpp"
#include "store/quorum/voter.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace leasehold::detail {

using std::chrono::milliseconds;

namespace {

// The pause between two checks while servers are connected to for the first time.
constexpr milliseconds between_looks{5};

}  // namespace

ballot::kind ballot::kind_of(const kept_request& r) {
  switch (r.verb) {
    case verb::acquire: return kind::acquire;
    case verb::downgrade: return kind::downgrade;
    case verb::inspect: return kind::inspect;
    default: return r.fence_text.empty() ? kind::renew : kind::resume;
  }
}

ballot::ballot(quorum_store& q, kept_request r, std::shared_ptr<caller> the_caller, std::uint32_t tag)
    : quorum_(q),
      request_(std::move(r)),
      kind_(kind_of(request_)),
      caller_(std::move(the_caller)),
      tag_(tag),
      patience_(caller_->patience_of(tag)),
      voices_(q.voters().size()) {}

void ballot::start_late() {
  // The servers are not asked for a token that was released meanwhile.
  if (caller_->wants(tag_)) return start();
  sent_ = clock::now();
  quorum_.set(*this, sent_);
}

void ballot::start() {
  sent_ = clock::now();
  quorum_.note_lease(request_.lease);
  if (kind_ == kind::acquire) {
    claim_ = quorum_.claim_of(request_);
  } else if (kind_ == kind::resume) {
    claim_ = quorum_.resumed_claim(request_);
  } else if (kind_ != kind::inspect) {
    claim_ = quorum_.find_claim(request_.token);
    if (claim_ && kind_ == kind::downgrade) claim_->is_being_downgraded();
  }
  std::vector<voter*> to;
  for (const auto& v : quorum_.voters()) {
    if (v->up() && (kind_ != kind::acquire || !quorum_.may_have_forgotten(*v, sent_))) to.push_back(v.get());
  }
  if (kind_ == kind::acquire || kind_ == kind::inspect) {
    const auto full = [this](const voter* v) { return v->is_full(sent_); };
    const auto rest = to.size() - static_cast<std::size_t>(std::count_if(to.begin(), to.end(), full));
    if (rest >= quorum_.majority()) std::erase_if(to, full);
  }
  const auto patience = longest_round();
  if (kind_ == kind::acquire && to.size() < quorum_.majority()) {
    // Fewer servers than a majority would only have to release what they granted.
    to.clear();
    // Servers that were deployed together can be distinguished from restarted ones only when all of them have been
    // reached.
    if (!starts_by_) starts_by_ = later(sent_, patience);
    if (quorum_.is_connecting() && sent_ < *starts_by_) return quorum_.set(*this, later(sent_, between_looks));
  }
  starts_by_.reset();
  for (voter* const v : to) {
    if (kind_ == kind::acquire) claim_->asked(*v);
    if (ask(*v, asking)) voices_[v->number].said = answer_is::pending;
  }
  if ((kind_ == kind::renew || kind_ == kind::resume) && claim_ && request_.lease > milliseconds(0)) {
    claim_->lasts(later(sent_, quorum_.command_timeout()), request_.lease);
  }
  quorum_.set(*this, to.empty() ? sent_ : later(sent_, patience));
}

milliseconds ballot::longest_round() const {
  // An inspection has no lease. If it fails, there is time for another one.
  if (kind_ == kind::inspect) return quorum_.command_timeout() / 2;
  return claim_ ? claim_->patience(request_.lease) : quorum_.patience(request_.lease);
}

bool ballot::ask(voter& v, std::uint32_t phase) {
  return v.run(shared_from_this(), static_cast<std::uint32_t>(v.number) * phases + phase);
}

request ballot::request_of(std::uint32_t tag) const {
  const auto now = clock::now();
  switch (tag % phases) {
    case restoring: {
      // Repeats the attempt for the time that is left of the hold. It must not run later than that.
      request r(claim_->attempt());
      r.lease = left_at(now);
      r.run_within = std::min(r.lease, quorum_.command_timeout());
      return r;
    }
    case raising: {
      request r(request_);
      r.verb = verb::raise;
      r.fence = fence_;
      r.exact = voices_[tag / phases].asked_to_restore || lowers_fences();
      return r;
    }
    case downgrading: {
      request r(request_);
      r.verb = verb::downgrade;
      r.lease = milliseconds(0);
      return r;
    }
    default: {
      request r(request_);
      r.fence_text = {};  // A server may have a larger fence.
      // It may have waited for room on its connection.
      if (kind_ == kind::acquire) {
        const auto left = std::max(later(sent_, quorum_.command_timeout()) - now, clock::duration(0));
        r.run_within = std::chrono::ceil<milliseconds>(left);
      }
      return r;
    }
  }
}

void ballot::sent(std::uint32_t tag, const sending& s) {
  const auto& v = *quorum_.voters()[tag / phases];
  if (tag % phases == restoring) {
    voices_[tag / phases].restored_as_writer = !claim_->was_writer();
    claim_->may_run(v, s.may_run_until, left_at(s.at));
  } else if (tag % phases == asking && kind_ == kind::acquire) {
    claim_->may_run(v, s.may_run_until, request_.lease);
  }
}

bool ballot::wants(std::uint32_t tag) const {
  if (kind_ == kind::inspect) return caller_ != nullptr;
  // A hold that was let go is not written again.
  const bool writes = kind_ == kind::renew && tag % phases != asking;
  return !is_releasing() && (!writes || claim_->fence() != 0);
}

void ballot::answered(std::uint32_t tag, const answer& a) {
  const auto self = shared_from_this();
  auto& v = *quorum_.voters()[tag / phases];
  const auto phase = tag % phases;
  v.on_answer(a.received);
  auto& its = voices_[v.number];
  auto& said = said_in(its, phase);
  said = answer_is::missing;
  if (a.from_store != nullptr) {
    const outcome& o = *a.from_store;
    if (phase == restoring || (phase == asking && kind_ == kind::acquire)) claim_->answered_by(v);
    if (o.refused) {
      // A program that has overwritten the record has taken the lock.
      const bool is_taken = o.refused == refusal::wrong_type && (kind_ == kind::renew || kind_ == kind::resume);
      said = is_taken ? answer_is::no : answer_is::error;
      if (is_taken && claim_ && !is_releasing()) claim_->lacks(v);
      its.refused = o.refused;
      its.words = o.words;
    } else if (kind_ == kind::inspect) {
      said = answer_is::yes;
      its.inspected = o.inspected;
    } else {
      take(v, its, phase, said, a);
    }
  }
  kind_ == kind::renew ? restore_where_missing() : late_grant(v);
  decide(/*late=*/false);
}

void ballot::take(voter& v, voice& its, std::uint32_t phase, answer_is& said, const answer& a) {
  const lease_reply& lease = a.from_store->lease;
  if (!lease.understood) return;
  if (lease.server_time > 0) {
    const auto jump = a.server->observe(lease.server_time, a.sent, a.received);
    if (jump != clock::duration(0)) quorum_.on_clock_jump(v, jump);
  }
  // The server's clock is known better now.
  if (lease.status == status::too_late || lease.status == status::other_limit) return;
  said = lease.status == status::held ? answer_is::yes : answer_is::no;
  its.left = lease.left;
  if (said == answer_is::no) {
    if (claim_) claim_->lacks(v);
    return;
  }
  if (phase == raising && kind_ != kind::renew && (lease.fence != fence_ || its.fence > fence_)) {
    // The server has given a larger fence: that of an earlier holder there may be above this majority's.
    said = answer_is::no;
    larger_ = true;
  }
  its.fence = lease.fence;
  its.depth = lease.depth;
  its.server_time = lease.server_time;
  if (claim_) claim_->holds(v, a.sent, lease.left);
  if (kind_ != kind::renew || !claim_ || claim_->fence() == 0) return;
  if (phase == downgrading) claim_->reads_on(v);
  const bool missed_downgrade = phase == restoring && its.restored_as_writer && claim_->was_writer();
  if (missed_downgrade || (phase == asking && claim_->may_write_on(v, lease.fence))) {
    said = ask(v, downgrading) ? answer_is::pending : answer_is::missing;
  } else if (lease.fence < claim_->fence() ||
             (lease.fence > claim_->fence() && (phase == restoring || (phase == asking && lowers_fences())))) {
    fence_ = claim_->fence();
    said = answer_is::missing;
    raise(v);
  }
}

void ballot::late_grant(voter& v) {
  const auto& its = voices_[v.number];
  if (fence_ == 0 || its.said != answer_is::yes || its.asked_to_raise || is_releasing()) return;
  if (its.fence > fence_ && !lowers_fences()) return;
  raise(v);
}

void ballot::raise(voter& v) {
  auto& its = voices_[v.number];
  its.asked_to_raise = true;
  if (ask(v, raising)) said_in(its, raising) = answer_is::pending;
}

void ballot::ring(clock::time_point) {
  const auto self = shared_from_this();
  // The servers are not asked for a token that was released meanwhile.
  if (starts_by_ && caller_ && caller_->wants(tag_)) return start();
  starts_by_.reset();
  decide(/*late=*/true);
}

std::size_t ballot::count(answer_is a, answer_is voice::*which) const {
  return static_cast<std::size_t>(
      std::count_if(voices_.begin(), voices_.end(), [&](const voice& v) { return v.*which == a; }));
}

bool ballot::busy(std::size_t yes) const {
  const auto no = count(answer_is::no);
  return quorum_.can_prevent(no) || (no != 0 && yes + no >= quorum_.majority());
}

bool ballot::is_writer() const { return request_.of_kind == &scripts::shared_mutex && request_.ask.starts_with('w'); }

bool ballot::lowers_fences() const {
  return (kind_ == kind::acquire && is_writer()) || (kind_ == kind::renew && claim_ && claim_->is_writer());
}

bool ballot::is_releasing() const { return claim_ && claim_->is_releasing(); }

void ballot::decide(bool late) {
  if (!caller_) return;
  switch (kind_) {
    case kind::acquire:
    case kind::downgrade: return fence_ == 0 ? decide_grant(late) : decide_raise(late);
    case kind::renew: return decide_renewal(late);
    case kind::resume: return decide_resumption(late);
    case kind::inspect: return decide_inspection(late);
  }
}

void ballot::decide_grant(bool late) {
  const auto yes = count(answer_is::yes);
  const auto pending = late ? 0 : count(answer_is::pending);
  if (yes >= quorum_.majority() && !is_releasing()) {
    const auto fence = choose_fence(pending == 0);
    if (!fence) return;
    fence_ = claim_ && kind_ == kind::downgrade ? claim_->fence_to_read_with(*fence) : *fence;
    raise_sent_ = clock::now();
    for (const auto& v : quorum_.voters()) {
      if (voices_[v->number].said == answer_is::yes) raise(*v);
    }
    return quorum_.set(*this, later(raise_sent_, longest_round()));
  }
  if (is_releasing()) return refuse(yes);
  // The ballot waits for the other servers until it knows why it fails.
  if (yes + pending < quorum_.majority() && (pending == 0 || busy(yes))) refuse(yes);
}

std::optional<std::uint64_t> ballot::choose_fence(bool all) const {
  std::map<std::uint64_t, std::size_t> fences;
  bool again = false;
  for (const auto& v : voices_) {
    if (v.said != answer_is::yes) continue;
    if (++fences[v.fence] >= quorum_.majority()) return v.fence;
    again = again || v.depth > 1;
  }
  if (again && !all) return std::nullopt;
  return fences.rbegin()->first;
}

void ballot::decide_raise(bool late) {
  const auto raised = count(answer_is::yes, &voice::raised);
  if (raised >= quorum_.majority()) return grant();
  const auto pending = late ? 0 : std::count_if(voices_.begin(), voices_.end(), [](const voice& v) {
    return v.said == answer_is::pending || v.raised == answer_is::pending;
  });
  if (raised + static_cast<std::size_t>(pending) < quorum_.majority()) refuse(raised);
}

void ballot::grant() {
  std::vector<milliseconds> lefts;
  std::vector<std::uint32_t> depths;
  for (const auto& v : voices_) {
    if (v.raised != answer_is::yes) continue;
    lefts.push_back(comparable(v.left));
    depths.push_back(v.depth);
  }
  sent_ = raise_sent_;
  if (claim_) kind_ == kind::downgrade ? claim_->downgraded(fence_) : claim_->granted(fence_);
  if (kind_ == kind::downgrade) quorum_.announce(request_.keys.record);
  end_with(status::held, fence_, nth_largest(lefts, quorum_.majority()), nth_largest(depths, quorum_.majority()));
}

void ballot::refuse(std::size_t yes) {
  if (kind_ == kind::acquire && claim_) claim_->release();
  const auto no = count(answer_is::no);
  if (end_with_error()) return;
  if (kind_ == kind::downgrade) {
    return quorum_.can_prevent(no) ? end_with(status::not_held, 0, milliseconds(0)) : end_undecided();
  }
  if (fence_ != 0) return larger_ || no != 0 ? end_with(status::not_held, 0, milliseconds(0)) : end_undecided();
  if (!busy(yes)) return end_undecided();
  // The lock may be free once enough of the servers that said no are free to make a majority with the others.
  std::vector<milliseconds> lefts;
  for (const auto& v : voices_) {
    if (v.said == answer_is::no) lefts.push_back(comparable(v.left));
  }
  const auto others = std::min(voices_.size() - no, quorum_.majority() - 1);
  const auto enough = std::min(lefts.size(), std::max<std::size_t>(1, quorum_.majority() - others));
  end_with(status::not_held, 0, nth_largest(lefts, lefts.size() + 1 - enough));
}

void ballot::decide_renewal(bool late) {
  const auto yes = count(answer_is::yes);
  if (yes >= quorum_.majority()) {
    std::vector<milliseconds> lefts;
    std::int64_t latest = 0;
    for (const auto& v : voices_) {
      if (v.said != answer_is::yes) continue;
      lefts.push_back(comparable(v.left));
      latest = std::max(latest, v.server_time);
    }
    return end_with(status::held, 0, nth_largest(lefts, quorum_.majority()), 1, latest);
  }
  const auto no = count(answer_is::no);
  if (quorum_.can_prevent(no)) return end_with(status::not_held, 0, milliseconds(0));
  if (!late && count(answer_is::pending) != 0) return;
  if (!end_with_error()) end_undecided();
}

bool ballot::end_with_error() {
  // wrong_type is a loss to some callers: it takes as many servers by itself.
  const voice* first[] = {nullptr, nullptr};
  std::size_t number[] = {0, 0};
  for (const auto& v : voices_) {
    const bool here = v.said == answer_is::error || v.raised == answer_is::error;
    if (!here || is_temporary(*v.refused)) continue;
    const bool is_refusal = v.refused != refusal::wrong_type;
    if (++number[is_refusal] == 1) first[is_refusal] = &v;
  }
  if (!quorum_.can_prevent(number[0] + number[1])) return false;
  const voice& told = *first[number[1] != 0 && !quorum_.can_prevent(number[0])];
  const std::string words = told.words;
  end(refused(*told.refused, words));
  return true;
}

void ballot::end_undecided() { end(refused(refusal::no_majority, {})); }

void ballot::end_with(status s, std::uint64_t fence, milliseconds left, std::uint32_t depth, std::int64_t server_time) {
  outcome o;
  o.lease.understood = true;
  o.lease.status = s;
  o.lease.fence = fence;
  o.lease.left = left == milliseconds::max() ? milliseconds(-1) : left;
  o.lease.depth = depth;
  o.lease.server_time = server_time;
  end(o);
}

void ballot::end(const outcome& o) {
  unset();
  quorum_.forget(shared_from_this());
  const auto the_caller = std::move(caller_);
  the_caller->answered(tag_, answer{&o, sent_, clock::now(), nullptr});
}

}  // namespace leasehold::detail
