// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "quorum.hpp"

#include "../alarms.hpp"
#include "../lease.hpp"
#include "../lock_state.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

// A server that does not answer within a hundredth of the lease, and this at least, is not waited for: what is waited for
// is taken from the lease, and a round trip that takes longer has no business in a quorum. A majority that answers is never
// kept waiting by the others.
constexpr milliseconds least_patience{50};

// Servers that were started together are as old as each other by this.
constexpr std::chrono::seconds same_age{2};

// How long stop waits for releases to reach those servers that answer.
constexpr milliseconds stopping_limit{200};

// A server that could not answer now is asked again after this.
constexpr milliseconds pause_between_releases{50};

// Keys and arguments of a call, kept for the servers that are still to be asked.
struct request {
  std::vector<std::string> keys, args;

  explicit request(const arguments& a) {
    for (std::size_t i = 0; i < a.number_of_keys(); ++i) keys.emplace_back(a.key_at(i));
    for (std::size_t i = 0; i < a.number_of_args(); ++i) args.emplace_back(a.arg_at(i));
  }
  request(std::vector<std::string> k, std::vector<std::string> a) : keys(std::move(k)), args(std::move(a)) {}

  const std::string& operation() const { return args.front(); }
  const std::string& token() const { return args.at(1); }
  milliseconds lease() const {
    std::int64_t n = 0;
    if (args.size() > 2) std::from_chars(args[2].data(), args[2].data() + args[2].size(), n);
    return milliseconds(n);
  }
  void write(arguments& a) const {
    for (const auto& k : keys) a.key(k);
    for (const auto& s : args) a.arg(s);
  }
};

// No expiry lasts longest.
milliseconds comparable(milliseconds left) { return left < milliseconds(0) ? milliseconds::max() : left; }

// Which of those that are the largest is the n-th; n is 1 or more, and there are as many.
template <class T>
T nth_largest(std::vector<T> all, std::size_t n) {
  const auto nth = all.begin() + static_cast<std::ptrdiff_t>(n - 1);
  std::nth_element(all.begin(), nth, all.end(), std::greater<>());
  return *nth;
}

std::string name_of(const address& where) {
  if (where.kind == address::scheme::unix_socket) return where.path;
  return where.hosts.front().host + ':' + where.hosts.front().port;
}

class quorum_store final : public store, public std::enable_shared_from_this<quorum_store> {
 public:
  quorum_store(server_maker servers, const std::vector<address>& where, store::events& owner)
      : servers_(std::move(servers)),
        majority_(where.size() / 2 + 1),
        drift_{servers_.options().drift, servers_.options().drift_floor},
        events_(&owner),
        timer_(servers_.strand()) {
    for (const auto& w : where) {
      voters_.push_back(std::make_shared<voter>(*this, voters_.size(), name_of(w)));
      voters_.back()->server = servers_.make(w, {}, *voters_.back(), voters_.back().get());
    }
    stopped_.assign(voters_.size(), false);
  }

  void start(std::shared_ptr<void> keep_alive) override {
    keep_alive_ = std::move(keep_alive);
    for (const auto& v : voters_) {
      // The voter is kept by its server's coroutines, and keeps the quorum and the client.
      v->server->start(std::make_shared<std::pair<std::shared_ptr<voter>, std::shared_ptr<quorum_store>>>(
          v, shared_from_this()));
    }
  }

  void stop() override {
    if (std::exchange(stopping_, true)) return;
    stop_at_ = later(clock::now(), releases_ == 0 ? milliseconds(0) : stopping_limit);
    arm();
  }

  bool up() const override { return number_up() >= majority_; }
  bool answers() const override {
    const auto now = clock::now();
    return std::any_of(voters_.begin(), voters_.end(), [now](const auto& v) { return v->server->up() && !v->overdue(now); });
  }

  // Every call is settled with each server by itself.
  std::uint64_t epoch() const override { return 0; }

  bool run(const script& s, std::string_view, std::shared_ptr<caller> who, std::uint32_t what) override {
    if (stopping_) return false;
    arguments probe({nowhere_, false});
    who->write(what, probe);
    request r(probe);
    if (r.operation() == "release") {
      give_back(s, std::move(r), std::move(who), what);
      return true;
    }
    if (!up()) return false;
    const auto b = std::make_shared<ballot>(*this, s, std::move(r), std::move(who), what);
    open_.insert(b);
    b->start();
    return true;
  }

  // Refused before it comes to that (acquire.cpp).
  bool run_acknowledged(const script&, std::string_view, std::shared_ptr<caller>, std::uint32_t, std::uint32_t,
                        milliseconds) override {
    return false;
  }

  void listen(const std::string& channel) override {
    for (const auto& v : voters_) v->server->listen(channel);
  }
  void ignore(const std::string& channel) override {
    for (const auto& v : voters_) v->server->ignore(channel);
  }

  clock::time_point lasts_until(const std::string& token) const override {
    const auto found = claims_.find(token);
    return found == claims_.end() ? clock::time_point::min() : found->second->until();
  }

 private:
  // One of the servers.
  class voter final : public store::events, public redis_server::router {
   public:
    voter(quorum_store& q, std::size_t n, std::string w) : number(n), name(std::move(w)), quorum_(&q) {}

    bool run(const script& s, const std::string& record, std::shared_ptr<caller> who, std::uint32_t what) {
      if (!server->run(s, record, std::move(who), what)) return false;
      if (unanswered_++ == 0) waiting_since_ = clock::now();
      return true;
    }
    void on_answer(clock::time_point now) {
      --unanswered_;
      waiting_since_ = now;
    }
    // It has let somebody wait for too long.
    bool overdue(clock::time_point now) const { return unanswered_ != 0 && now - waiting_since_ > least_patience; }

    const std::size_t number;
    const std::string name;
    std::shared_ptr<redis_server> server;
    std::optional<clock::time_point> started;  // What it may have granted before it may not know; none: never reached.
    bool replaced = false;                     // It was started anew since this client knows it.
    bool refuses = false;

   private:
    void on_up(const store::server& s) override {
      // Another one may be the replica that has taken over: what it knows may be as young as that.
      const auto at = s.another ? clock::now() : clock::now() - s.uptime;
      started = started && !s.another ? std::min(*started, at) : at;
      replaced = replaced || s.another;
      refuses = false;
      quorum_->on_voter_up(*this, s);
    }
    void on_down(std::string_view why) override {
      if (quorum_->events_ != nullptr) quorum_->events_->on_down(name + ": " + std::string(why));
    }
    void on_no_answer(std::string_view why) override {
      refuses = false;
      if (!quorum_->up() && quorum_->events_ != nullptr) quorum_->events_->on_no_answer(name + ": " + std::string(why));
    }
    void on_refused(std::string_view words) override {
      refuses = true;
      quorum_->on_voter_refused(*this, words);
    }
    void on_channel(std::string_view c) override {
      if (quorum_->events_ != nullptr) quorum_->events_->on_channel(c);
    }
    void on_clock_jump(clock::duration jump) override { quorum_->on_clock_jump(*this, jump); }
    void on_message(std::string_view) override {}
    void on_told(std::uint16_t) override {}
    void on_rerouted() override {}
    void on_stopped() override { quorum_->on_voter_stopped(*this); }

    bool redirect(redis_server::call&, std::string_view) override { return false; }
    bool tells(std::uint16_t) const override { return false; }
    void on_shard_channel(std::string_view, bool) override {}

    quorum_store* const quorum_;
    std::size_t unanswered_ = 0;
    clock::time_point waiting_since_{};
  };

  // What may be on the servers under one token, from the attempt until nothing can be left of it.
  class claim final : public caller, public alarm, public std::enable_shared_from_this<claim> {
   public:
    claim(quorum_store& q, const script& s, const request& r)
        : quorum_(&q), script_(s), release_(r.keys, {"release", r.token()}), places_(q.voters_.size()) {}

    const std::string& token() const { return release_.token(); }
    bool given_back() const { return given_back_; }

    // An attempt goes to this server.
    void asked(const voter& v) {
      auto& p = places_[v.number];
      p.asked = true;
      p.answered = false;
      p.epoch = v.server->epoch();
      p.found = outcome::unknown;
    }
    void answered_by(const voter& v) { places_[v.number].answered = true; }
    // The attempt may run until then, and what it leaves lasts for the lease.
    void may_run(clock::time_point until, milliseconds lease) {
      if (until == clock::time_point::min()) return;  // It could not be sent to anybody.
      may_run_until_ = std::max(may_run_until_, until);
      lasts(until, lease);
    }
    // A lease of this length may begin until then.
    void lasts(clock::time_point from, milliseconds lease) {
      lease_ = std::max(lease_, lease);
      gone_by_ = std::max(gone_by_, later(from, lease) + quorum_->drift_.of(lease));
      schedule();
    }
    // This server has said what is left.
    void holds(const voter& v, clock::time_point sent, milliseconds left) {
      auto& p = places_[v.number];
      p.until = std::max(p.until, local_deadline(sent, lease_, left, quorum_->drift_));
    }
    // Until when a majority has it.
    clock::time_point until() const {
      std::vector<clock::time_point> all;
      for (const auto& p : places_) all.push_back(p.until);
      return nth_largest(std::move(all), quorum_->majority_);
    }
    void on_clock_jump(const voter& v, clock::duration jump) {
      auto& p = places_[v.number];
      if (p.until != clock::time_point::min()) p.until -= jump;
    }

    void give_back() {
      given_back_ = true;
      began_ = clock::now();
      for (const auto& v : quorum_->voters_) send(*v);
      schedule();
    }
    // The same with its user's words, who is told what came of it.
    void give_back(request r, std::shared_ptr<caller> who, std::uint32_t what) {
      release_ = std::move(r);
      who_ = std::move(who);
      what_ = what;
      give_back();
    }
    void on_voter_up(const voter& v) {
      if (given_back_) send(*quorum_->voters_[v.number]);
    }

   private:
    // What a release has found on a server; refused: the server does not let us.
    enum class outcome { unknown, released, absent, refused };
    struct place {
      bool asked = false;     // An attempt went there,
      bool answered = false;  // and was answered.
      bool asking = false;    // A release is on its way.
      std::uint64_t epoch = 0;  // The connection of the attempt.
      outcome found = outcome::unknown;
      bool once_more = false;  // After the attempt's not-after.
      clock::time_point until = clock::time_point::min();

      bool open() const { return asked && found == outcome::unknown; }
    };

    void send(voter& v) {
      auto& p = places_[v.number];
      if (!(p.open() || (p.once_more && clock::now() >= may_run_until_)) || p.asking) return;
      if (!v.run(script_, release_.keys.front(), shared_from_this(), static_cast<std::uint32_t>(v.number))) return;
      p.asking = true;
      ++quorum_->releases_;
    }

    void write(std::uint32_t, arguments& a) override { release_.write(a); }

    void answered(std::uint32_t number, const answer& a) override {
      auto& v = *quorum_->voters_[number];
      v.on_answer(a.received);
      auto& p = places_[number];
      p.asking = false;
      --quorum_->releases_;
      const reply* const r = a.from_store;
      if (r != nullptr && !r->is_error()) {
        if (p.found == outcome::unknown) p.found = r->number(0) == 1 ? outcome::released : outcome::absent;
        // On one connection everything runs in order, so the release ran after the attempt.
        p.once_more = !p.answered && p.epoch != v.server->epoch() && a.received < may_run_until_;
      } else if (r != nullptr && classify(r->text(0)) == refusal::wrong_type) {
        p.found = outcome::absent;
      } else if (r != nullptr && classify(r->text(0)) == refusal::no) {
        p.found = outcome::refused;
        words_ = r->text(0);
      } else if (r != nullptr) {
        again_at_ = later(a.received, pause_between_releases);
      }
      settle(a.received);
      quorum_->stop_if_idle();
    }

    void settle(clock::time_point now) {
      const auto self = shared_from_this();
      if (who_) conclude(now);
      const bool over = std::none_of(places_.begin(), places_.end(), [](const place& p) { return p.open() || p.once_more || p.asking; });
      if ((over && !who_ && given_back_) || now >= gone_by_) return end(now);
      schedule();
    }

    std::size_t number_of(outcome o) const {
      return static_cast<std::size_t>(
          std::count_if(places_.begin(), places_.end(), [o](const place& p) { return p.asked && p.found == o; }));
    }

    // Servers that answer are waited for, so that nothing is left on them when the release is told.
    bool waits(clock::time_point now) const {
      if (now >= patience_ends()) return false;
      return std::any_of(quorum_->voters_.begin(), quorum_->voters_.end(), [&](const auto& v) {
        return places_[v->number].asking && !v->overdue(now);
      });
    }
    clock::time_point patience_ends() const { return later(began_, quorum_->patience(milliseconds(0))); }

    void conclude(clock::time_point now) {
      const auto released = number_of(outcome::released);
      const auto refused = number_of(outcome::refused);
      const auto open = number_of(outcome::unknown);
      if (waits(now)) return;
      if (released >= quorum_->majority_) return tell(1);
      if (refused >= quorum_->majority_) return tell(0, words_);
      if (released + open < quorum_->majority_ || now >= gone_by_) return tell(0);
      // Some that had granted it are away, and no other one has lost it: it is free on a majority, and they are told later.
      const bool lost_somewhere = std::any_of(places_.begin(), places_.end(), [](const place& p) {
        return p.found == outcome::absent && p.until != clock::time_point::min();
      });
      if (!lost_somewhere && released != 0 && released + number_of(outcome::absent) >= quorum_->majority_) tell(1);
    }

    void tell(std::int64_t number, std::string_view error = {}) {
      reply r;
      if (!error.empty()) r.set_error();
      r.add(error.empty() ? std::to_string(number) : std::string(error));
      if (number == 1) {
        const auto channel = hint_channel(release_.keys.front());
        for (const auto& v : quorum_->voters_) v->server->publish(channel, "0");
      }
      const auto who = std::move(who_);
      who->answered(what_, answer{&r, began_, clock::now(), nullptr});
    }

    void end(clock::time_point) {
      const auto self = shared_from_this();
      unset();
      if (who_) tell(0);
      quorum_->claims_.erase(token());
    }

    void schedule() {
      auto due = std::min(gone_by_, again_at_);
      if (given_back_) {
        const bool late = std::any_of(places_.begin(), places_.end(), [](const place& p) { return p.once_more; });
        if (late && clock::now() < may_run_until_) due = std::min(due, may_run_until_);
        if (who_) due = std::min(due, std::max(patience_ends(), woken_));
        const bool nothing = std::none_of(places_.begin(), places_.end(), [](const place& p) { return p.open() || p.once_more; });
        if (nothing) due = clock::time_point::min();
      }
      quorum_->set(*this, due);
    }

    void ring(clock::time_point now) override {
      // The end of the patience rings once.
      if (now >= patience_ends()) woken_ = clock::time_point::max();
      if (now >= again_at_) again_at_ = clock::time_point::max();
      if (given_back_) {
        for (const auto& v : quorum_->voters_) send(*v);
      }
      settle(now);
    }

    quorum_store* const quorum_;
    const script& script_;
    request release_;
    std::vector<place> places_;
    clock::time_point may_run_until_ = clock::time_point::min();
    clock::time_point gone_by_ = clock::time_point::min();
    clock::time_point again_at_ = clock::time_point::max();
    clock::time_point began_{};
    clock::time_point woken_ = clock::time_point::min();
    milliseconds lease_{0};
    bool given_back_ = false;
    std::string words_;  // Of a server that refuses.
    std::shared_ptr<caller> who_;  // Until he is told.
    std::uint32_t what_ = 0;
  };

  // A call that changes nothing or that is not undone: to every server, and one answer made of theirs.
  class ballot final : public caller, public alarm, public std::enable_shared_from_this<ballot> {
   public:
    ballot(quorum_store& q, const script& s, request r, std::shared_ptr<caller> who, std::uint32_t what)
        : quorum_(&q), script_(s), request_(std::move(r)), who_(std::move(who)), what_(what), voices_(q.voters_.size()) {
      const auto& operation = request_.operation();
      kind_ = operation == "acquire"     ? kind::acquire
              : operation == "downgrade" ? kind::downgrade
              : operation == "inspect"   ? kind::inspect
                                         : kind::renew;
      if (kind_ != kind::inspect && kind_ != kind::downgrade) lease_ = request_.lease();
    }

    void start() {
      sent_ = clock::now();
      quorum_->longest_lease_ = std::max(quorum_->longest_lease_, lease_);
      if (kind_ == kind::acquire) {
        claim_ = quorum_->claim_of(script_, request_);
      } else if (kind_ != kind::inspect) {
        claim_ = quorum_->find_claim(request_.token());
      }
      std::vector<voter*> to;
      for (const auto& v : quorum_->voters_) {
        if (v->server->up() && (kind_ != kind::acquire || !quorum_->may_have_forgotten(*v, sent_))) to.push_back(v.get());
      }
      auto patience = quorum_->patience(lease_);
      if (kind_ == kind::acquire && to.size() < quorum_->majority_) {
        // They would only have to give back what they have granted.
        to.clear();
      }
      for (voter* const v : to) {
        if (kind_ == kind::acquire) claim_->asked(*v);
        if (ask(*v, asking)) voices_[v->number].said = answer_is::pending;
      }
      if (kind_ == kind::acquire) claim_->may_run(may_run_until_, lease_);
      if (kind_ == kind::renew && claim_ && lease_ > milliseconds(0)) {
        claim_->lasts(later(sent_, quorum_->command_timeout()), lease_);
      }
      quorum_->set(*this, to.empty() ? sent_ : later(sent_, patience));
    }

   private:
    enum class kind { acquire, renew, downgrade, inspect };
    enum : std::uint32_t { asking = 0, raising = 1 };
    enum class answer_is { missing, pending, yes, no, error };

    // What a server has said.
    struct voice {
      answer_is said = answer_is::missing;
      std::uint64_t fence = 0;
      milliseconds left{0};
      std::uint32_t depth = 1;
      reply words;  // Of an error, and of inspect.
      answer_is raised = answer_is::missing;
    };

    bool ask(voter& v, std::uint32_t phase) {
      return v.run(script_, request_.keys.front(), shared_from_this(), static_cast<std::uint32_t>(v.number) * 2 + phase);
    }

    void write(std::uint32_t what, arguments& a) override {
      for (const auto& k : request_.keys) a.key(k);
      if (what % 2 == raising) {
        a.arg("raise");
        a.arg(request_.token());
        a.arg(static_cast<std::int64_t>(fence_));
        a.arg(static_cast<std::int64_t>(fence_ / 2048));
        return;
      }
      for (std::size_t i = 0; i < request_.args.size(); ++i) {
        if (kind_ == kind::acquire && i == 3) {
          // By this server's clock.
          may_run_until_ = std::max(may_run_until_, a.not_after(sent_, quorum_->command_timeout()));
        } else {
          a.arg(request_.args[i]);
        }
      }
    }

    // An attempt must not run behind the release that undoes it.
    bool wants(std::uint32_t) const override { return kind_ != kind::acquire || !claim_->given_back(); }

    void answered(std::uint32_t what, const answer& a) override {
      const auto self = shared_from_this();
      auto& v = *quorum_->voters_[what / 2];
      v.on_answer(a.received);
      auto& its = voices_[v.number];
      auto& said = what % 2 == raising ? its.raised : its.said;
      said = answer_is::missing;
      if (a.from_store != nullptr) {
        const reply& r = *a.from_store;
        if (what % 2 == asking && kind_ == kind::acquire) claim_->answered_by(v);
        if (r.is_error()) {
          said = answer_is::error;
          its.words = r;
        } else if (kind_ == kind::inspect) {
          said = answer_is::yes;
          its.words = r;
        } else {
          take(v, its, what % 2, said, a);
        }
      }
      late_grant(v);
      decide(/*late=*/false);
    }

    void take(voter& v, voice& its, std::uint32_t phase, answer_is& said, const answer& a) {
      const lease_reply lease(a.from_store->text(0));
      if (!lease.understood) return;
      if (lease.server_time > 0) {
        const auto jump = a.server->observe(lease.server_time, a.sent, a.received);
        if (jump != clock::duration(0)) quorum_->on_clock_jump(v, jump);
      }
      if (lease.status < 0) return;  // Too late: its clock is known better now.
      said = lease.status == 1 ? answer_is::yes : answer_is::no;
      its.left = lease.left;
      if (said == answer_is::no) return;
      if (phase == raising && lease.fence != fence_) {
        // It has a larger one: this majority does not bound what others get there.
        said = answer_is::no;
        larger_ = true;
      }
      its.fence = lease.fence;
      its.depth = lease.depth;
      if (claim_) claim_->holds(v, a.sent, lease.left);
    }

    // Who grants when the fence is known already is told of it.
    void late_grant(voter& v) {
      const auto& its = voices_[v.number];
      if (fence_ == 0 || its.said != answer_is::yes || asked_to_raise_[v.number] || its.fence > fence_ || (claim_ && claim_->given_back())) {
        return;
      }
      raise(v);
    }

    void raise(voter& v) {
      asked_to_raise_[v.number] = true;
      if (ask(v, raising)) voices_[v.number].raised = answer_is::pending;
    }

    void ring(clock::time_point) override {
      const auto self = shared_from_this();
      decide(/*late=*/true);
    }

    std::size_t count(answer_is a, answer_is voice::*which = &voice::said) const {
      return static_cast<std::size_t>(
          std::count_if(voices_.begin(), voices_.end(), [&](const voice& v) { return v.*which == a; }));
    }

    // late: nobody is waited for any more.
    void decide(bool late) {
      if (!who_) return;
      switch (kind_) {
        case kind::acquire:
        case kind::downgrade: return fence_ == 0 ? decide_grant(late) : decide_raise(late);
        case kind::renew: return decide_renewal(late);
        case kind::inspect: return decide_inspection(late);
      }
    }

    void decide_grant(bool late) {
      const auto yes = count(answer_is::yes);
      const auto pending = late ? 0 : count(answer_is::pending);
      if (yes >= quorum_->majority_ && !(claim_ && claim_->given_back())) {
        const auto fence = choose_fence(pending == 0);
        if (!fence) return;
        fence_ = *fence;
        raise_sent_ = clock::now();
        asked_to_raise_.assign(voices_.size(), false);
        for (const auto& v : quorum_->voters_) {
          if (voices_[v->number].said == answer_is::yes) raise(*v);
        }
        return quorum_->set(*this, later(raise_sent_, quorum_->patience(lease_)));
      }
      if (claim_ && claim_->given_back()) return refuse(yes);
      // The rest is waited for until it is known why.
      if (yes + pending < quorum_->majority_ && (pending == 0 || busy(yes))) refuse(yes);
    }

    // Busy servers have made a majority impossible, or a majority has answered and some were busy.
    bool busy(std::size_t yes) const {
      const auto no = count(answer_is::no);
      return no + quorum_->majority_ > voices_.size() || (no != 0 && yes + no >= quorum_->majority_);
    }

    // That of those who agree, as the servers do which an owner has entered before; else the largest. None: another answer
    // may show more agreement.
    std::optional<std::uint64_t> choose_fence(bool all) const {
      std::map<std::uint64_t, std::size_t> fences;
      bool again = false;
      for (const auto& v : voices_) {
        if (v.said != answer_is::yes) continue;
        if (++fences[v.fence] >= quorum_->majority_) return v.fence;
        again = again || v.depth > 1;
      }
      if (again && !all) return std::nullopt;
      return fences.rbegin()->first;
    }

    void decide_raise(bool late) {
      const auto raised = count(answer_is::yes, &voice::raised);
      if (raised >= quorum_->majority_) return grant();
      const auto pending =
          late ? 0
               : std::count_if(voices_.begin(), voices_.end(), [](const voice& v) {
                   return v.said == answer_is::pending || v.raised == answer_is::pending;
                 });
      if (raised + static_cast<std::size_t>(pending) < quorum_->majority_) refuse(raised);
    }

    void grant() {
      std::vector<milliseconds> lefts;
      std::vector<std::uint32_t> depths;
      for (const auto& v : voices_) {
        if (v.raised != answer_is::yes) continue;
        lefts.push_back(comparable(v.left));
        depths.push_back(v.depth);
      }
      sent_ = raise_sent_;
      end_with(1, fence_, nth_largest(lefts, quorum_->majority_), nth_largest(depths, quorum_->majority_));
    }

    // Of an attempt: what it was granted is given back everywhere.
    void refuse(std::size_t yes) {
      if (kind_ == kind::acquire) claim_->give_back();
      const auto no = count(answer_is::no);
      if (end_with_error()) return;
      if (kind_ == kind::downgrade) {
        return no + quorum_->majority_ > voices_.size() ? end_with(0, 0, milliseconds(0)) : end_undecided(yes + no);
      }
      if (fence_ != 0) return larger_ || no != 0 ? end_with(0, 0, milliseconds(0)) : end_undecided(yes + no);
      if (!busy(yes)) return end_undecided(yes + no);
      // As many of those who have said no would have to be free.
      std::vector<milliseconds> lefts;
      for (const auto& v : voices_) {
        if (v.said == answer_is::no) lefts.push_back(comparable(v.left));
      }
      const auto enough = std::min(lefts.size(), std::max<std::size_t>(1, quorum_->majority_ - std::min(voices_.size() - no, quorum_->majority_ - 1)));
      end_with(0, 0, nth_largest(lefts, lefts.size() + 1 - enough));
    }

    void decide_renewal(bool late) {
      // Whoever has overwritten the record has taken it.
      for (auto& v : voices_) {
        if (v.said == answer_is::error && classify(v.words.text(0)) == refusal::wrong_type) v.said = answer_is::no;
      }
      const auto yes = count(answer_is::yes);
      if (yes >= quorum_->majority_) {
        std::vector<milliseconds> lefts;
        for (const auto& v : voices_) {
          if (v.said == answer_is::yes) lefts.push_back(comparable(v.left));
        }
        return end_with(1, 0, nth_largest(lefts, quorum_->majority_));
      }
      const auto no = count(answer_is::no);
      if (no + quorum_->majority_ > voices_.size()) return end_with(0, 0, milliseconds(0));
      if (!late && count(answer_is::pending) != 0) return;
      if (!end_with_error()) end_undecided(yes + no);
    }

    // Holds that a majority has.
    void decide_inspection(bool late) {
      const auto answers = count(answer_is::yes);
      if (!late && count(answer_is::pending) != 0) return;
      if (answers < quorum_->majority_) {
        if (!end_with_error()) end_undecided(answers);
        return;
      }
      struct seen {
        std::vector<milliseconds> lefts;
        std::map<std::string, std::size_t> fences;
        std::string about, ask;
      };
      std::map<std::string, seen> holds;
      for (const auto& v : voices_) {
        if (v.said != answer_is::yes || v.words.number(0) == 0) continue;
        // One owner of another program may be in without a token.
        const bool no_tokens = v.words.size() < 8;
        for (std::size_t i = 5; no_tokens ? i == 5 : i + 2 < v.words.size(); i += 3) {
          auto& h = holds[no_tokens ? std::string() : std::string(v.words.text(i))];
          h.lefts.push_back(comparable(milliseconds(v.words.number(no_tokens ? 2 : i + 1))));
          ++h.fences[std::string(v.words.text(1))];
          h.about = v.words.text(4);
          h.ask = no_tokens ? std::string() : std::string(v.words.text(i + 2));
        }
      }
      std::erase_if(holds, [this](const auto& h) { return h.second.lefts.size() < quorum_->majority_; });
      reply r;
      if (holds.empty()) {
        for (const auto* s : {"0", "0", "0", "0", ""}) r.add(s);
        return end(r);
      }
      milliseconds longest{0};
      for (const auto& [token, h] : holds) longest = std::max(longest, nth_largest(h.lefts, quorum_->majority_));
      const auto text = [](milliseconds left) {
        return left == milliseconds::max() ? std::string("-1") : std::to_string(left.count());
      };
      const auto& first = holds.begin()->second;
      r.add(std::to_string(holds.size()));
      r.add(std::max_element(first.fences.begin(), first.fences.end(), [](const auto& a, const auto& b) {
              return a.second < b.second;
            })->first);
      r.add(text(longest));
      r.add("0");
      r.add(first.about);
      for (const auto& [token, h] : holds) {
        r.add(token);
        r.add(text(nth_largest(h.lefts, quorum_->majority_)));
        r.add(h.ask);
      }
      end(r);
    }

    // If a majority has failed alike.
    bool end_with_error() {
      const voice* first = nullptr;
      std::size_t failed = 0;
      for (const auto& v : voices_) {
        const bool here = v.said == answer_is::error || v.raised == answer_is::error;
        if (!here || classify(v.words.text(0)) == refusal::try_again) continue;
        if (++failed == 1) first = &v;
      }
      if (failed < quorum_->majority_) return false;
      const reply words = first->words;
      end(words);
      return true;
    }

    void end_undecided(std::size_t answers) {
      reply r;
      r.set_error();
      r.add(fmt::format("NOQUORUM {} of {} servers have answered", answers, voices_.size()));
      end(r);
    }

    void end_with(int status, std::uint64_t fence, milliseconds left, std::uint32_t depth = 1) {
      reply r;
      r.add(fmt::format("{} {} {} 0 0 {}", status, fence, left == milliseconds::max() ? -1 : left.count(), depth));
      end(r);
    }

    void end(const reply& r) {
      unset();
      quorum_->open_.erase(shared_from_this());
      const auto who = std::move(who_);
      who->answered(what_, answer{&r, sent_, clock::now(), nullptr});
    }

    quorum_store* const quorum_;
    const script& script_;
    const request request_;
    std::shared_ptr<caller> who_;  // Until he is answered.
    const std::uint32_t what_;
    kind kind_;
    milliseconds lease_{0};
    std::shared_ptr<claim> claim_;
    std::vector<voice> voices_;
    clock::time_point sent_{};
    clock::time_point may_run_until_ = clock::time_point::min();

    std::uint64_t fence_ = 0;  // That is written back; 0: not chosen yet.
    clock::time_point raise_sent_{};
    std::vector<bool> asked_to_raise_;
    bool larger_ = false;
  };

  std::size_t number_up() const {
    return static_cast<std::size_t>(
        std::count_if(voters_.begin(), voters_.end(), [](const auto& v) { return v->server->up(); }));
  }

  milliseconds command_timeout() const { return servers_.options().command_timeout; }
  milliseconds patience(milliseconds lease) const { return std::min(std::max(lease / 100, least_patience), command_timeout()); }

  // A server that was started anew has forgotten what it had granted, until every lease of that time has ended. All of
  // them may be young; what gives it away is that a majority is older, or may be.
  bool may_have_forgotten(const voter& v, clock::time_point now) const {
    const auto delay = servers_.options().restart_delay;
    if (delay == milliseconds(0) || now - *v.started >= std::max(delay, longest_lease_)) return false;
    if (v.replaced) return true;
    const auto older = std::count_if(voters_.begin(), voters_.end(), [&v](const auto& w) {
      return !w->started || *w->started + same_age <= *v.started;
    });
    return static_cast<std::size_t>(older) >= majority_;
  }

  std::shared_ptr<claim> find_claim(const std::string& token) const {
    const auto found = claims_.find(token);
    return found == claims_.end() ? nullptr : found->second;
  }

  std::shared_ptr<claim> claim_of(const script& s, const request& r) {
    auto& c = claims_[r.token()];
    if (!c) c = std::make_shared<claim>(*this, s, r);
    return c;
  }

  void give_back(const script& s, request r, std::shared_ptr<caller> who, std::uint32_t what) {
    const auto c = claim_of(s, r);
    c->give_back(std::move(r), std::move(who), what);
  }

  // --- Events of the voters ---

  void on_voter_up(voter& v, const store::server& s) {
    std::vector<std::shared_ptr<claim>> all;
    for (const auto& [token, c] : claims_) {
      if (c->given_back()) all.push_back(c);
    }
    for (const auto& c : all) c->on_voter_up(v);
    if (events_ != nullptr) events_->on_up(s);
  }

  void on_voter_refused(const voter& v, std::string_view words) {
    const auto refusing = std::count_if(voters_.begin(), voters_.end(), [](const auto& w) { return w->refuses; });
    if (events_ == nullptr) return;
    if (static_cast<std::size_t>(refusing) + majority_ > voters_.size()) return events_->on_refused(words);
    events_->on_down(v.name + ": " + std::string(words));
  }

  void on_clock_jump(const voter& v, clock::duration jump) {
    for (const auto& [token, c] : claims_) c->on_clock_jump(v, jump);
    if (events_ != nullptr) events_->on_clock_jump(jump);
  }

  void on_voter_stopped(const voter& v) {
    stopped_[v.number] = true;
    if (std::find(stopped_.begin(), stopped_.end(), false) != stopped_.end() || events_ == nullptr) return;
    timer_.cancel();
    const auto keep = std::move(keep_alive_);
    std::exchange(events_, nullptr)->on_stopped();
  }

  // --- Time ---

  void set(alarm& a, clock::time_point due) {
    due = std::max(due, clock::time_point());  // What is due already, whatever the sum was.
    alarms_.set(a, due);
    if (due < armed_for_) arm();
  }

  void arm() {
    const auto next = std::min(alarms_.next(), stop_at_);
    armed_for_ = next;
    if (next == clock::time_point::max()) return;
    timer_.expires_at(next);
    timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (!ec) self->on_timer();
    });
  }

  void on_timer() {
    armed_for_ = clock::time_point::min();  // While alarms ring, nobody arms.
    const auto now = clock::now();
    alarms_.ring(now);
    if (now >= stop_at_) return stop_voters();
    arm();
  }

  void stop_if_idle() {
    if (!stopping_ || releases_ != 0 || stop_at_ <= clock::now()) return;
    stop_at_ = clock::now();
    arm();
  }

  void stop_voters() {
    stop_at_ = clock::time_point::max();
    alarms_.clear();
    for (const auto& v : voters_) v->server->stop();
  }

  using timer = asio::basic_waitable_timer<clock, wait_traits, asio::any_io_executor>;

  const server_maker servers_;
  const std::size_t majority_;
  const drift_allowance drift_;
  const server_clock nowhere_{0.0};
  store::events* events_;
  std::shared_ptr<void> keep_alive_;
  std::vector<std::shared_ptr<voter>> voters_;
  std::vector<bool> stopped_;

  alarms alarms_;
  timer timer_;
  clock::time_point armed_for_ = clock::time_point::max();
  clock::time_point stop_at_ = clock::time_point::max();
  bool stopping_ = false;

  std::unordered_map<std::string, std::shared_ptr<claim>> claims_;  // By token.
  std::unordered_set<std::shared_ptr<ballot>> open_;                // Not answered yet.
  std::size_t releases_ = 0;                                        // On their way.
  milliseconds longest_lease_{0};
};

}  // namespace

std::string hint_channel(std::string_view record) { return "leasehold:{0}:free:" + std::string(record); }

std::shared_ptr<store> make_quorum(server_maker servers, std::vector<address> where, store::events& events) {
  return std::make_shared<quorum_store>(std::move(servers), where, events);
}

}  // namespace leasehold::detail
