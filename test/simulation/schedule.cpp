// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/schedule.hpp"

#include "simulation/one_schedule.hpp"

#include "lock/hold_state.hpp"

#include <leasehold/acquire_all.hpp>
#include <leasehold/election.hpp>
#include <leasehold/ticket.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace leasehold::simulation {

using namespace std::chrono_literals;

namespace {

// While one user of a process wants a lock or has it.
class need {
 public:
  need(judge& j, process& p) : judge_(j), process_(p) { judge_.begins(process_); }
  ~need() { judge_.ends(process_); }
  need(const need&) = delete;
  need& operator=(const need&) = delete;

 private:
  judge& judge_;
  process& process_;
};

std::string text_of(const error_code& ec) { return ec ? ec.message() : "done"; }

}  // namespace

void schedule::make_process(std::size_t i) {
  processes_.resize(std::max(processes_.size(), i + 1));
  at_work_in_.resize(processes_.size());
  processes_[i] = std::make_shared<process>(world_, fmt::format("p{}", i), clocks_[i], client_options_[i]);
  if (!elections_) return;
  for (const auto& name : names_) {
    if ((seed_ / 16 + i) % 3 != 0) elections_->follow(*processes_[i], name);
  }
}

void schedule::start_workers(std::size_t i) {
  for (std::size_t w = 0; w < workers_each_; ++w) {
    ++at_work_;
    ++at_work_in_[i];
    asio::co_spawn(processes_[i]->executor(), work(i, w, processes_[i]), [this, i](const std::exception_ptr& e) {
      --at_work_;
      --at_work_in_[i];
      if (e && !failure_) failure_ = e;
    });
  }
}

any_lock schedule::lock_of(process& p, const std::string& name, bool reader, const std::string& owner) const {
  switch (rules_.of) {
    case kind::mutex: return mutex(p.client(), name);
    case kind::recursive_mutex: return recursive_mutex(p.client(), name, owner);
    case kind::counting_semaphore: return counting_semaphore(p.client(), name, rules_.limit);
    case kind::shared_mutex: break;
  }
  const shared_mutex both(p.client(), name);
  if (reader) return both.shared();
  return both;
}

acquire_options schedule::options(dice& d, std::size_t process) const {
  acquire_options o;
  o.lease = milliseconds(d.between(shortest_lease_.count(), longest_lease_.count()));
  o.wait = d.chance(0.3) ? forever : milliseconds(d.between(1, 3000));
  o.renew = d.chance(0.7) ? renewal::automatic : d.chance(0.5) ? renewal::none : renewal::at_most(2);
  if (d.chance(0.2)) o.margin = o.lease / 5;
  if (deployment_ == deployment::failover && d.chance(0.5)) o.replicas = 1;
  if (longest_rest_ != 0ms && d.chance(0.5)) o.at_least = milliseconds(d.between(1, longest_rest_.count()));
  o.linger = lingers_[process];
  return o;
}

asio::awaitable<void> schedule::work(std::size_t i, std::size_t worker, std::shared_ptr<process> p) {
  dice d(seed_, 16 + 16 * i + worker), own(seed_, 1024 + 16 * i + worker);
  const std::string who = fmt::format("p{}.{}", i, worker);
  const bool is_left_out =
      std::find(without_.workers.begin(), without_.workers.end(), i * 16 + worker) != without_.workers.end();
  while (!is_over() && !is_left_out) {
    const auto pause = d.between(clock::duration(0), i == 0 ? longest_pause_ : longest_pause_of_others_);
    co_await p->sleep(pause);
    if (is_over()) break;
    const need needed(*judge_, *p);
    if (!parked_.empty() && own.chance(0.6)) {
      auto going_on = resume(d, own, *p, who);
      co_await std::move(going_on);
      continue;
    }
    if (names_.size() > 1 && d.chance(0.1)) {
      auto using_all = use_all(d, *p, i, who);
      co_await std::move(using_all);
      continue;
    }
    const std::string name = names_[static_cast<std::size_t>(d.between(0, std::int64_t(names_.size()) - 1))];
    const bool reader = rules_.of == kind::shared_mutex && d.chance(0.6);
    const std::string owner = fmt::format("o{}", d.between(0, 1));
    const auto one_of_them = lock_of(*p, name, reader, owner);
    const basic_lock& lock = std::visit([](const basic_lock& l) -> const basic_lock& { return l; }, one_of_them);
    const auto o = options(d, i);
    const bool once = d.chance(0.15);
    const bool campaigns = elections_ && !once;
    // After the grant the value has to be proclaimed.
    const auto longer = campaigns ? client_options_[i].command_timeout : 0ms;
    if (elections_ && own.chance(0.3)) {
      const auto known = elections_->known(name);
      auto asking = election(p->client(), name).leader(as_tuple);
      const auto [e, found] = co_await std::move(asking);
      if (!e) elections_->answered(name, known, found);
    }
    const auto began = world_.now(), began_there = p->now();
    const auto frozen = p->frozen();
    const auto stop = std::make_shared<asio::cancellation_signal>();
    const bool cancels = d.chance(0.1);
    const auto cancel_after = d.between(clock::duration(0), clock::duration(1s));
    auto stopped_at = std::make_shared<std::optional<std::pair<clock::time_point, clock::duration>>>();
    if (cancels) {
      p->after(cancel_after, [this, stop, stopped_at, p = p.get()] {
        *stopped_at = std::pair(world_.now(), p->frozen());
        stop->emit(asio::cancellation_type::terminal);
      });
    }
    if (with_history_) note(who, fmt::format("{} {}{}", once ? "tries" : "wants", name, reader ? " to read" : ""));
    const auto limit = once ? std::min(o.wait, client_options_[i].command_timeout) : o.wait;
    error_code ec;
    leadership led;  // Or only its hold.
    std::string value;
    if (campaigns) {
      value = elections_->value_of(who);
      auto token = asio::bind_cancellation_slot(stop->slot(), as_tuple);
      auto waiting = election(p->client(), name).campaign(value, o, token);
      auto [e, found] = co_await std::move(waiting);
      ec = e;
      led = std::move(found);
    } else if (once) {
      auto token = asio::bind_cancellation_slot(stop->slot(), as_tuple);
      auto [e, found] = co_await lock.try_acquire(o, token);
      ec = e;
      // What is granted may be over before its replicas have acknowledged it.
      if (e) judge_->granted_nothing(*p, "try_acquire", began_there, o.replicas == 0 ? limit : 0ms, e);
      if (found) led.hold() = std::move(*found);
      if (!ec && !found) ec = make_error_code(error::timed_out);
    } else {
      auto token = asio::bind_cancellation_slot(stop->slot(), as_tuple);
      auto [e, found] = co_await lock.acquire(o, token);
      ec = e;
      if (e) judge_->granted_nothing(*p, "acquire", began_there, limit, e);
      led.hold() = std::move(found);
    }
    count(fmt::format("{} {}", campaigns ? "campaign" : once ? "try_acquire" : "acquire", text_of(ec)));
    auto& results = seen_[p.get()];
    leaves_values_ = leaves_values_ || (campaigns && ec);
    results.all = results.all || campaigns;  // Its client counts what was granted, and not proclaimed.
    if (!ec) ++results.acquired;
    if (!once && ec == error::timed_out) ++results.timed_out;
    if (ec == asio::error::operation_aborted && !campaigns) ++results.cancelled;
    if (with_history_) note(who, fmt::format("{}: {}", name, ec ? ec.message() : fmt::format("fence {}", led.fence())));
    if (*stopped_at) {
      judge_->ended(*p, "a cancelled acquire", (*stopped_at)->first, (*stopped_at)->second, 0ms);
    } else if (once) {
      judge_->ended(*p, "try_acquire", began, frozen, std::min(o.wait, client_options_[i].command_timeout));
    } else if (o.wait != forever) {
      judge_->ended(*p, "acquire", began, frozen, o.wait + longer);
    }
    if (ec) continue;
    // A campaign may go on when its process has stood still: what counts is when the server had the value.
    if (!campaigns) judge_->granted_in_time(*p, "an acquire", began_there, limit);
    held one{.by = p.get(), .worker = who, .name = name, .owner = owner, .reader = reader, .options = o};
    one.called = began;
    one.led = std::move(led);
    one.fence = one.led.fence();
    const auto kept = judge_->granted(std::move(one));
    if (campaigns) elections_->proclaimed(kept, value);
    // It may replace itself.
    if (const auto strike = at_grant_) strike(kept, p);
    asio::co_spawn(p->executor(), watch(kept), asio::detached);
    co_await use(d, own, *p, who, kept, rules_.of == kind::shared_mutex && !reader);
  }
}

asio::awaitable<void> schedule::use_all(dice& d, process& p, std::size_t i, const std::string& who) {
  const auto o = options(d, i);
  const bool reader = rules_.of == kind::shared_mutex && d.chance(0.5);
  const std::string owner = fmt::format("o{}", d.between(0, 1));
  const auto group = std::make_shared<detail::lock_group>();
  auto names = names_;
  if (d.chance(0.5)) std::reverse(names.begin(), names.end());
  for (const auto& name : names) {
    const auto lock = lock_of(p, name, reader, owner);
    group->members.push_back(std::visit([](const auto& l) { return detail::access::lock(l); }, lock));
  }
  const auto began = world_.now(), began_there = p.now();
  const auto frozen = p.frozen();
  seen_[&p].all = true;
  note(who, "wants all");
  judge_->wants_all(p);
  auto waiting = detail::acquire_group<0>(group, o, as_tuple);
  auto [ec, all] = co_await std::move(waiting);
  judge_->has_all_or_none(p);
  count("acquire_all " + text_of(ec));
  note(who, "all: " + text_of(ec));
  if (o.wait != forever) judge_->ended(p, "acquire_all", began, frozen, o.wait);
  if (ec) {
    judge_->granted_nothing(p, "acquire_all", began_there, o.wait, ec);
    co_return;
  }
  judge_->granted_in_time(p, "an acquire_all", began_there, o.wait);
  std::vector<std::shared_ptr<held>> kept;
  for (std::size_t n = 0; n < all.size(); ++n) {
    held one{.by = &p, .worker = who, .name = names[n], .owner = owner, .reader = reader, .options = o};
    one.waited_for_others = true;
    one.called = began;
    one.fence = all[n].fence();
    one.led.hold() = std::move(all[n]);
    kept.push_back(judge_->granted(std::move(one)));
    asio::co_spawn(p.executor(), watch(kept.back()), asio::detached);
  }
  const auto work = d.between(clock::duration(0), longest_work_);
  co_await p.sleep(work);
  note(who, "releases all");
  for (const auto& h : kept) {
    judge_->given_up(*h);
    h->is_being_released = true;
    auto ending = h->held_by_user().release(as_tuple);
    const auto [why] = co_await std::move(ending);
    h->is_being_released = false;
    if (why == error::lost) judge_->found_lost(*h);
    count("release " + text_of(why));
  }
}

asio::awaitable<void> schedule::watch(std::shared_ptr<held> h) {
  auto waiting = h->held_by_user().lost(as_tuple);
  const auto [ec] = co_await std::move(waiting);
  if (ec) co_return;
  judge_->told(*h);
  leaves_values_ = leaves_values_ || !h->led.value().empty();
  ++seen_[h->by].lost;
  count("hold lost");
  if (with_history_) note(h->worker, "is told of the loss of " + h->name);
}

asio::awaitable<void> schedule::wait_for_others(process& p, std::shared_ptr<held> h, clock::duration longest) {
  const auto stop = std::make_shared<asio::cancellation_signal>();
  p.after(longest, [stop] { stop->emit(asio::cancellation_type::terminal); });
  judge_->wants_to_know(h);
  auto token = asio::bind_cancellation_slot(stop->slot(), as_tuple);
  auto waiting = h->held_by_user().wanted(token);
  const auto [ec] = co_await std::move(waiting);
  judge_->knows(h);
  count("wanted " + text_of(ec));
  if (with_history_) note(h->worker, fmt::format("{} is wanted: {}", h->name, text_of(ec)));
}

asio::awaitable<void> schedule::proclaim(std::shared_ptr<held> h) {
  const auto value = elections_->value_of(h->worker);
  if (with_history_) note(h->worker, fmt::format("proclaims \"{}\"", value));
  auto waiting = h->led.proclaim(value, as_tuple);
  const auto [ec] = co_await std::move(waiting);
  count("proclaim " + text_of(ec));
  if (with_history_) note(h->worker, fmt::format("has proclaimed \"{}\": {}", value, text_of(ec)));
  if (!ec) elections_->proclaimed(h, value);
  if (ec == error::refused) elections_->refused(value);
}

asio::awaitable<bool> schedule::detach(dice& own, std::shared_ptr<held> h) {
  const auto began = world_.now();
  const auto frozen = h->by->frozen();
  auto waiting = h->held_by_user().detach(as_tuple);
  const auto [ec, found] = co_await std::move(waiting);
  // It may have to wait until an earlier request can no longer run, by the server's clock, which the client knows as
  // well as its longest round trip allows.
  const auto longest_round_trip = frozen + 2 * slow_network;
  judge_->ended(*h->by, "detach", began, frozen, 2 * h->by->core().options().command_timeout + 2 * longest_round_trip);
  count("detach " + text_of(ec));
  if (with_history_) note(h->worker, fmt::format("detaches {}: {}", h->name, text_of(ec)));
  if (ec) co_return false;
  judge_->given_up(*h);
  judge_->detached(*h, began, found.lease());
  parked one{h, found.to_string(), found.fence(), found.lease()};
  if (own.chance(0.5)) {
    parked_.push_back(std::move(one));
  } else {
    parked_.push_front(std::move(one));
  }
  co_return true;
}

asio::awaitable<void> schedule::resume(dice& d, dice& own, process& p, const std::string& who) {
  const auto one = parked_.front();
  parked_.pop_front();
  const auto& before = *one.before;
  resume_options o;
  o.renew = own.chance(0.7) ? renewal::automatic : renewal::none;
  if (own.chance(0.2)) o.margin = one.lease / 5;
  const auto began = world_.now();
  const auto frozen = p.frozen();
  if (with_history_) note(who, fmt::format("resumes {} of {}", before.name, before.worker));
  auto waiting = p.client().resume(ticket::parse(one.ticket), o, as_tuple);
  auto [ec, h] = co_await std::move(waiting);
  judge_->ended(p, "resume", began, frozen, p.core().options().command_timeout);
  count("resume " + text_of(ec));
  if (with_history_) note(who, fmt::format("has resumed {} of {}: {}", before.name, before.worker, text_of(ec)));
  if (ec == error::lost) judge_->not_resumed(before);
  if (ec && ec != error::lost) parked_.push_back(one);
  if (ec) co_return;
  seen_[&p].all = true;
  held next{.by = &p, .worker = who, .name = before.name, .owner = before.owner, .reader = before.reader};
  next.becomes_reader = before.becomes_reader;
  next.options.lease = one.lease;
  next.options.renew = o.renew;
  next.options.margin = o.margin;
  next.called = began;
  next.ticket = one.ticket;
  next.led.hold() = std::move(h);
  next.fence = next.led.fence();
  const auto kept = judge_->resumed(std::move(next), before, one.fence);
  asio::co_spawn(p.executor(), watch(kept), asio::detached);
  co_await use(d, own, p, who, kept, rules_.of == kind::shared_mutex && !kept->reader && !kept->becomes_reader);
}

asio::awaitable<void> schedule::use(dice& d, dice& own, process& p, const std::string& who, std::shared_ptr<held> h,
                                    bool writer) {
  const auto work = d.between(clock::duration(0), longest_work_);
  // Only the client that has acquired it is told who waits.
  if (asks_ && h->ticket.empty() && own.chance(0.5)) {
    co_await wait_for_others(p, h, work);
  } else {
    co_await p.sleep(work);
  }
  const bool leads = !h->led.value().empty();
  while (leads && own.chance(0.4)) {
    co_await proclaim(h);
    const auto pause = own.between(clock::duration(0), longest_work_);
    co_await p.sleep(pause);
  }
  if (d.chance(0.15)) {
    const auto lease = milliseconds(d.between(shortest_lease_.count(), 2 * longest_lease_.count()));
    const auto began = world_.now(), began_there = p.now();
    const auto frozen = p.frozen();
    auto waiting = h->held_by_user().extend(lease, as_tuple);
    const auto [ec] = co_await std::move(waiting);
    judge_->ended(p, "extend", began, frozen, p.core().options().command_timeout);
    if (!ec) judge_->extended(*h, began, began_there, lease);
    count("extend " + text_of(ec));
    if (with_history_) note(who, fmt::format("extends {} to {} ms: {}", h->name, lease.count(), text_of(ec)));
  }
  if (writer && d.chance(0.3)) {
    judge_->downgrades(*h);
    const auto began = world_.now();
    const auto frozen = p.frozen();
    auto waiting = h->held_by_user().downgrade(as_tuple);
    const auto [ec] = co_await std::move(waiting);
    judge_->ended(p, "downgrade", began, frozen, p.core().options().command_timeout);
    if (!ec) judge_->downgraded(*h);
    count("downgrade " + text_of(ec));
    if (with_history_) note(who, fmt::format("downgrades {}: {}", h->name, text_of(ec)));
    const auto more = d.between(clock::duration(0), longest_work_);
    co_await p.sleep(more);
  }
  if (detaches_ && !leads && own.chance(0.5)) {
    auto detaching = detach(own, h);
    if (co_await std::move(detaching)) co_return;
  }
  judge_->given_up(*h);
  seen_[h->by].has_led = seen_[h->by].has_led || leads;
  if (d.chance(0.1)) {
    if (with_history_) note(who, "drops " + h->name);
    leaves_values_ = leaves_values_ || (leads && !h->led.valid());
    h->led = leadership();
    co_return;
  }
  if (with_history_) note(who, "releases " + h->name);
  const auto began = world_.now();
  const auto frozen = p.frozen();
  // No later than the lease ends, of which an answer of this instant may tell. If it has ended, which the client may
  // find out in this instant, a quick answer counts.
  const auto state = detail::access::state(h->held_by_user());
  const auto now = p.now();
  const auto lasts = state->deadline();
  h->is_being_released = true;
  auto waiting = h->held_by_user().release(as_tuple);
  const auto [ec] = co_await std::move(waiting);
  h->is_being_released = false;
  if (ec == error::lost) judge_->found_lost(*h);
  const clock::duration quick = std::min(milliseconds(1s), p.core().options().command_timeout);
  judge_->ended(p, "release", began, frozen, std::max({lasts - now, state->deadline() - now, quick}));
  count("release " + text_of(ec));
  if (!ec) judge_->released(*h);
  if (!ec && leads) elections_->resigned(*h);
  leaves_values_ = leaves_values_ || (ec && leads);
  if (with_history_) note(who, fmt::format("released {}: {}", h->name, text_of(ec)));
  if (ec || h->ticket.empty()) co_return;
  judge_->ticket_is_used_up(h->ticket);
  if (own.chance(0.5)) parked_.push_back({h, h->ticket, h->fence, h->options.lease});
}

void schedule::note(std::string_view who, const std::string& what) {
  if (!with_history_) return;
  const auto since = std::chrono::duration<double, std::milli>(world_.now().time_since_epoch() - 100h).count();
  history_.push_back(fmt::format("{:12.3f} ms  {:<10} {}", since, who, what));
}

// The words and the reply of each request that a call has carried out.
void schedule::each_request(
    const detail::script& s, const std::vector<std::string_view>& arguments, const detail::memory::reply& r,
    const std::function<void(const std::vector<std::string_view>&, const detail::memory::reply&)>& f) {
  if (s.name != "bundle" || r.is_error()) return f(arguments, r);
  constexpr std::size_t in_front = 4;
  const std::size_t all = arguments.size() - in_front;
  const auto releases = static_cast<std::size_t>(std::stoul(std::string(arguments[0])));
  for (std::size_t i = 0; i < all; ++i) {
    const bool is_release = i < releases;
    const std::size_t which = r.items.size() == all ? i : is_release || releases == 0 ? 0 : 1;
    detail::memory::reply one = r.items[which];
    if (one.text.starts_with('!')) one = detail::memory::error(one.text.substr(1));
    f({is_release ? "release" : "acquire", arguments[in_front + i]}, one);
  }
}

void schedule::note_call(std::size_t server, const std::vector<std::string_view>& arguments,
                         const detail::memory::reply& r) {
  if (arguments.size() < 2 || r.is_error()) return;
  // Their replies have no time.
  for (const std::string_view silent : {"release", "rest", "proclaim", "withdraw"}) {
    if (arguments.front() == silent) return;
  }
  // WAIT holds the reply to such a confirmation back.
  if (arguments.front() != "confirm" || world_.server(server).replicas_that_answer == world_.server(server).replicas) {
    judge_->note_answer(server, arguments[1]);
  }
  if (!r.text.starts_with('1')) return;
  if (arguments.front() == "acquire" && deployment_ == deployment::quorum)
    judge_->note_grant(server, arguments[1], std::stoull(r.text.substr(2)));
  if (arguments.front() != "raise") return;
  if (const auto strike = at_raise_) strike(server);
}

void schedule::count_calls(const detail::script& s, const std::vector<std::string_view>& arguments,
                           const detail::memory::reply& r) {
  const std::string_view verb = arguments.empty() || s.name == "all" ? std::string_view() : arguments.front();
  const bool is_number = r.type == detail::memory::reply::kind::integer;
  const auto status = is_number      ? std::to_string(r.integer)
                      : r.is_error() ? r.text.substr(0, r.text.find(' '))
                                     : r.text.substr(0, r.text.find(' '));
  count(fmt::format("{} {} -> {}", s.name, verb, status));
}

// What its client says of itself.
void schedule::count_client(process& p) {
  const auto s = p.client().stats();
  const auto add = [this](std::string_view what, std::uint64_t n) {
    if (n != 0) reached_[std::string(what)] += n;
  };
  add("client: granted by the one before", s.handed_off);
  add("client: passed on in the client", s.passed);
  add("client: found busy", s.contended);
  add("client: acquired from what lingered", s.lingered);
  add("client: wanted by another", s.wanted);
  add("client: renewed", s.renewed);
  add("client: renewal without an answer", s.renewal_failed);
  add("client: attempt withdrawn", s.withdrawn);
  add("client: hold lost", s.lost);
  add("client: connected again", s.reconnects);
}

void schedule::check_statistics(process& p) const {
  const auto s = p.client().stats();
  const auto found = seen_.find(&p);
  const seen user = found == seen_.end() ? seen() : found->second;
  const auto compare = [&p](std::string_view what, std::uint64_t counted, std::uint64_t right, bool more = false) {
    if (counted == right || (more && counted > right)) return;
    throw broken(fmt::format("{}: its client has counted {} {}, and it has seen {}", p.name(), counted, what, right));
  };
  compare("holds", s.held, 0);
  compare("operations that wait", s.waiting, 0);
  compare("acquisitions", s.acquired, user.acquired, user.all);
  compare("acquisitions that timed out", s.timed_out, user.timed_out, user.all);
  compare("cancelled operations", s.cancelled, user.cancelled, user.all);
  compare("losses", s.lost, user.lost, /*more=*/true);
}

void schedule::stop_faults() {
  for (const auto& f : faults_) {
    if (f.end) f.end();
  }
  if (cluster_) cluster_->stop();
  world_.slowest = 2ms;
  note("faults", "end");
}

outcome schedule::run() {
  outcome result;
  result.faults = faults_.size();
  result.workers = client_options_.size() * workers_each_;
  try {
    for (std::size_t i = 0; i < client_options_.size(); ++i) make_process(i);
    for (std::size_t i = 0; i < processes_.size(); ++i) start_workers(i);
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      if (std::find(without_.faults.begin(), without_.faults.end(), i) != without_.faults.end()) continue;
      world_.after(faults_[i].when, [this, i] {
        if (is_over()) return;
        note("fault", faults_[i].what);
        count("a fault");
        faults_[i].strike();
      });
    }
    world_.at(ends_, [this] { stop_faults(); });
    const auto look = [this] {
      judge_->look();
      if (elections_) elections_->look();
    };
    const auto done = [this] {
      return failure_ || (is_over() && at_work_ == 0 && (!elections_ || elections_->is_quiet()));
    };
    // A server that was ended last is back after three seconds; an entry of a dead client blocks for eleven at most.
    const auto bound = ends_ + 3s + 2 * longest_lease_ + 30s + 10 * longest_rest_;
    if (!world_.run(bound, done, look)) {
      throw broken(at_work_ != 0 ? "an operation still waits long after the faults have stopped"
                                 : "an observer still sees a leader long after the last one has gone");
    }
    if (failure_) std::rethrow_exception(failure_);
    judge_->judge_histories();
    std::size_t closing = processes_.size();
    bool all_closed = true;
    for (const auto& p : processes_) {
      // A client that is closed withdraws nothing later.
      leaves_values_ = leaves_values_ || (seen_[p.get()].has_led && !p->core().up());
      p->client().close(asio::bind_executor(p->executor(), [this, &closing, &all_closed](error_code ec) {
        --closing;
        all_closed = all_closed && !ec;
        count("close " + text_of(ec));
      }));
    }
    if (!world_.run(
            world_.now() + 10s, [&closing] { return closing == 0; }, look))
      throw broken("a client does not close");
    // What could not be released ends with its lease, which is a little longer for the server.
    // Tickets that nobody has resumed, of holds that were extended, perhaps by what came late.
    const auto late = std::chrono::ceil<milliseconds>(world_.latest);
    const auto longest = std::max(longest_rest_, parked_.empty() ? 0ms : 2 * longest_lease_ + late);
    world_.run(world_.now() + 150ms + longest + longest / 50, [] { return false; });
    if (all_closed && dead_.empty() && rules_.one_server && !judge_->has_lost_data() && !was_set_back_) {
      judge_->nothing_is_left(/*values_may_be=*/leaves_values_);
    }
    for (const auto& p : processes_) {
      count_client(*p);
      check_statistics(*p);
      p->die();
    }
    world_.run(world_.now() + 80s, [] { return false; });
    judge_->nothing_is_left(/*values_may_be=*/true);
  } catch (const std::exception& e) {
    result.complaint = e.what();
    note("judge", result.complaint);
  }
  for (const auto& p : processes_) {
    if (p) p->die();
  }
  result.steps = world_.steps();
  result.grants = judge_->grants();
  result.history = std::move(history_);
  return result;
}

std::string_view name_of(deployment d) {
  switch (d) {
    case deployment::single: return "single";
    case deployment::failover: return "failover";
    case deployment::quorum: return "quorum";
    case deployment::cluster: return "cluster";
    case deployment::slots: return "slots";
  }
  return "?";
}

outcome run_schedule(deployment d, std::uint64_t seed, reach& reached, bool with_history, const cut_down& without) {
  return schedule(d, seed, reached, with_history, without).run();
}

}  // namespace leasehold::simulation
