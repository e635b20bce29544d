// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/quorum/quorum.hpp"

#include "protocol/keys.hpp"
#include "store/quorum/ballot.hpp"
#include "store/quorum/claim.hpp"
#include "store/quorum/majority.hpp"
#include "store/quorum/quorum_store.hpp"
#include "store/quorum/voter.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

// Servers whose ages differ by less than this may have been started together.
constexpr std::chrono::seconds same_age{2};

// Further attempts wait while this many are open: no more than the servers can answer within the patience. Attempts
// that are answered too late would all release what they were granted and ask again, forever. Nothing else waits: a
// renewal must not queue behind attempts.
constexpr std::size_t most_attempts = 64;

// How long stop waits for releases to reach the servers that answer.
constexpr milliseconds stopping_limit{200};

}  // namespace

// Of the renewals that the quorum makes itself.
class quorum_store::asker final : public caller {
 public:
  explicit asker(quorum_store& q) : quorum_(q.weak_from_this()) {}

 private:
  request request_of(std::uint32_t) const override { return {}; }
  void answered(std::uint32_t, const answer& a) override {
    const auto quorum = quorum_.lock();
    if (!quorum || quorum->events_ == nullptr || a.from_store == nullptr || a.from_store->refused) return;
    // A majority does not know the hold: its holder asks for itself.
    const lease_reply& lease = a.from_store->lease;
    if (lease.understood && lease.status == status::not_held) quorum->events_->on_rerouted();
  }

  const std::weak_ptr<quorum_store> quorum_;
};

quorum_store::quorum_store(server_maker servers, const std::vector<address>& where, store::events& owner)
    : servers_(std::move(servers)),
      majority_(majority_of(where.size())),
      drift_{servers_.options().drift, servers_.options().drift_floor},
      events_(&owner),
      alarms_(servers_.strand()) {
  for (const auto& w : where) voters_.push_back(std::make_shared<voter>(*this, voters_.size(), w, servers_));
  stopped_.assign(voters_.size(), false);
}

void quorum_store::start(std::shared_ptr<void> keep_alive) {
  keep_alive_ = std::move(keep_alive);
  for (const auto& v : voters_) {
    // The server's coroutines keep the voter alive, and with it the quorum and the client.
    using kept = std::pair<std::shared_ptr<voter>, std::shared_ptr<quorum_store>>;
    v->server->start(std::make_shared<kept>(v, shared_from_this()));
  }
}

void quorum_store::stop() {
  const auto now = clock::now();
  if (std::exchange(stopping_, true)) {
    if (stop_.is_set()) set(stop_, now);
    return;
  }
  const auto late = late_until();
  const bool waits = releases_ != 0 || now < late;
  set(stop_, waits ? later(std::max(now, late), stopping_limit) : now);
}

// As claim::late_until, for all claims.
clock::time_point quorum_store::late_until() const {
  auto last = clock::time_point::min();
  for (const auto& [token, c] : claims_) last = std::max(last, c->late_until());
  return last;
}

store::memory quorum_store::known() const {
  memory m;
  for (const auto& v : voters_) m.servers.push_back(v->known());
  m.longest_lease = longest_lease_;
  return m;
}

void quorum_store::assume(const memory& m) {
  for (std::size_t i = 0; i < m.servers.size() && i < voters_.size(); ++i) voters_[i]->assume(m.servers[i]);
  longest_lease_ = m.longest_lease;
}

bool quorum_store::quiet() const {
  return open_.empty() && waiting_.empty() &&
         std::all_of(claims_.begin(), claims_.end(), [](const auto& c) { return c.second->is_quiet(); });
}

bool quorum_store::up() const {
  const auto up = std::count_if(voters_.begin(), voters_.end(), [](const auto& v) { return v->up(); });
  return static_cast<std::size_t>(up) >= majority_;
}

bool quorum_store::too_few_answer() const {
  const auto now = clock::now();
  return std::any_of(voters_.begin(), voters_.end(), [now](const auto& v) { return v->up() && !v->overdue(now); });
}

bool quorum_store::run(std::shared_ptr<caller> the_caller, std::uint32_t tag) {
  if (stopping_) return false;
  kept_request r(the_caller->request_of(tag));
  const bool releases = r.verb == verb::release || r.verb == verb::rest;
  if (!releases && !up()) return false;
  const auto now = clock::now();
  the_caller->sent(tag, {now, nowhere_.not_after(now, r.run_within).second});
  if (releases) {
    const auto c = claim_of(r);
    c->release(std::move(r), std::move(the_caller), tag);
    return true;
  }
  const auto b = std::make_shared<ballot>(*this, std::move(r), std::move(the_caller), tag);
  if (b->is_attempt() && attempts_ == most_attempts) {
    waiting_.push_back(b);
  } else {
    open(b);
    b->start();
  }
  return true;
}

clock::time_point quorum_store::after_jump(const std::string& token, clock::time_point deadline,
                                           clock::duration) const {
  const auto found = find_claim(token);
  // Long ago, and not min(): margins are subtracted from it.
  return found ? std::min(deadline, found->until()) : clock::time_point();
}

void quorum_store::let_go(const std::string& token) {
  if (const auto c = find_claim(token)) c->let_go();
}

void quorum_store::listen(const std::string& channel) {
  for (const auto& v : voters_) v->server->listen(channel);
}

void quorum_store::ignore(const std::string& channel) {
  for (const auto& v : voters_) v->server->ignore(channel);
}

// --- What claims and ballots ask for ---

milliseconds quorum_store::patience(milliseconds lease) const {
  return std::min(std::max(lease / 100, voter::least_patience), command_timeout());
}

std::shared_ptr<claim> quorum_store::find_claim(const std::string& token) const {
  const auto found = claims_.find(token);
  return found == claims_.end() ? nullptr : found->second;
}

std::shared_ptr<claim> quorum_store::claim_of(const kept_request& r) {
  auto& c = claims_[r.token];
  if (!c) c = std::make_shared<claim>(*this, r);
  return c;
}

// After the end of one, a late answer ends it once more; the token may have another by then.
void quorum_store::forget(const claim& c) {
  const auto found = claims_.find(c.token());
  if (found != claims_.end() && found->second.get() == &c) claims_.erase(found);
}

void quorum_store::forget(const std::shared_ptr<ballot>& b) {
  if (open_.erase(b) != 0 && b->is_attempt()) --attempts_;
  if (waiting_.empty() || attempts_ == most_attempts) return;
  const auto next = std::move(waiting_.front());
  waiting_.pop_front();
  open(next);
  next->start_late();
}

void quorum_store::open(const std::shared_ptr<ballot>& b) {
  open_.insert(b);
  if (b->is_attempt()) ++attempts_;
}

void quorum_store::announce(std::string_view record) {
  const auto channel = hint_channel(record);
  const auto now = clock::now();
  for (const auto& v : voters_) {
    if (!v->is_full(now)) v->server->publish(channel, "0");
  }
}

void quorum_store::note_lease(milliseconds lease) { longest_lease_ = std::max(longest_lease_, lease); }

// All servers may be young, if they were deployed together. A restart is known if any other server is older. A server
// that was never reached may be older. (A majority need not be older: others may have been restarted at the same time.)
bool quorum_store::may_have_forgotten(const voter& v, clock::time_point now) const {
  const auto delay = servers_.options().restart_delay;
  const auto enough = std::max(delay, longest_lease_);
  const auto may_be_old = [now, enough](const voter& w) { return !w.started() || now - *w.started() >= enough; };
  if (delay == milliseconds(0) || may_be_old(v)) return false;
  if (v.replaced()) return true;
  if (std::any_of(voters_.begin(), voters_.end(), [&may_be_old](const auto& w) { return may_be_old(*w); })) return true;
  return std::any_of(voters_.begin(), voters_.end(),
                     [&v](const auto& w) { return *w->started() + same_age <= *v.started(); });
}

bool quorum_store::is_connecting() const {
  return std::any_of(voters_.begin(), voters_.end(), [](const auto& v) { return v->is_new(); });
}

// --- Events of the voters ---

// The one that was up first keeps the server while its own connection is lost: it may have holds there. (A voter that
// has had a server itself may have changed places with another one.)
const voter* quorum_store::find_same(const voter& v, const std::string& run_id) const {
  const bool is_new = !v.known().was_up;
  const auto has_it = [&](const auto& w) {
    return w.get() != &v && w->known().run_id == run_id && (w->up() || is_new);
  };
  const auto found = run_id.empty() ? voters_.end() : std::find_if(voters_.begin(), voters_.end(), has_it);
  return found == voters_.end() ? nullptr : found->get();
}

void quorum_store::on_voter_up(voter& v, const store::server& s) {
  std::vector<std::shared_ptr<claim>> all;
  std::vector<std::pair<std::shared_ptr<claim>, clock::time_point>> missing;
  const auto now = clock::now();
  for (const auto& [token, c] : claims_) {
    if (c->is_releasing()) {
      all.push_back(c);
      continue;
    }
    // As far as was known. Another server may have lost the hold, or its latest extension.
    const auto until = c->until();
    if (s.another) c->lacks(v);
    // Perhaps v is the one without which there was no majority to write it on a server that came up before.
    const bool is_missing = std::any_of(voters_.begin(), voters_.end(), [&, &hold = *c](const auto& w) {
      return w->up() && hold.is_missing_on(*w, now, until);
    });
    if (is_missing) missing.emplace_back(c, until);
  }
  for (const auto& c : all) c->on_voter_up(v);
  for (const auto& [c, until] : missing) ask_for(*c, until);
  if (events_ != nullptr) events_->on_up(s);
}

// Makes a renewal for what is left: if a majority confirms the hold, it is written on the servers that lack it.
void quorum_store::ask_for(const claim& c, clock::time_point until) {
  if (stopping_) return;
  kept_request renewal(c.attempt());
  renewal.verb = verb::renew;
  renewal.lease = std::max(std::chrono::floor<milliseconds>(until - clock::now()), milliseconds(0));
  const auto b = std::make_shared<ballot>(*this, std::move(renewal), std::make_shared<asker>(*this), 0);
  open(b);
  b->start();
}

void quorum_store::on_voter_down(const voter& v, std::string_view why) {
  if (events_ != nullptr) events_->on_down(v.name + ": " + std::string(why));
}

void quorum_store::on_voter_no_answer(const voter& v, std::string_view why) {
  if (!up() && events_ != nullptr) events_->on_no_answer(v.name + ": " + std::string(why));
}

void quorum_store::on_voter_refused(const voter& v, std::string_view words) {
  if (events_ == nullptr) return;
  const auto refusing = std::count_if(voters_.begin(), voters_.end(), [](const auto& w) { return w->refuses(); });
  if (can_prevent(static_cast<std::size_t>(refusing))) return events_->on_refused(words);
  events_->on_down(v.name + ": " + std::string(words));
}

void quorum_store::on_voter_credentials(const voter& v, std::string_view why) {
  if (events_ != nullptr) events_->on_credentials(v.name + ": " + std::string(why));
}

void quorum_store::on_voter_stopped(const voter& v) {
  stopped_[v.number] = true;
  if (std::find(stopped_.begin(), stopped_.end(), false) != stopped_.end() || events_ == nullptr) return;
  alarms_.clear();
  const auto keep = std::move(keep_alive_);
  std::exchange(events_, nullptr)->on_stopped();
}

void quorum_store::on_channel(std::string_view channel) {
  if (events_ != nullptr) events_->on_channel(channel);
}

void quorum_store::on_clock_jump(const voter& v, clock::duration jump) {
  for (const auto& [token, c] : claims_) c->on_clock_jump(v, jump);
  if (events_ != nullptr) events_->on_clock_jump(jump);
}

// --- Time ---

void quorum_store::set(alarm& a, clock::time_point due) {
  due = std::max(due, clock::time_point());  // A sum may have put it before this: it is due already.
  alarms_.set(a, due, *this);
}

void quorum_store::stop_if_idle() {
  if (!stopping_ || !stop_.is_set()) return;
  const auto now = clock::now();
  const auto late = late_until();
  if (now < late) {
    set(stop_, later(late, stopping_limit));
  } else if (releases_ == 0) {
    set(stop_, now);
  }
}

void quorum_store::stop_voters() {
  alarms_.clear();
  waiting_.clear();
  for (const auto& v : voters_) v->server->stop();
}

std::shared_ptr<store> make_quorum(server_maker servers, std::vector<address> where, store::events& events) {
  return std::make_shared<quorum_store>(std::move(servers), where, events);
}

}  // namespace leasehold::detail
