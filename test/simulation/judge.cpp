// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/judge.hpp"

#include "lock/hold_state.hpp"
#include "protocol/keys.hpp"
#include "protocol/slots.hpp"
#include "protocol/token.hpp"
#include "time/lease.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

namespace leasehold::simulation {
namespace {

using std::chrono::milliseconds;

// What an operation may take longer than its limit: the answer that it waits for when it has ended (100 ms), and clocks
// that run at other rates.
constexpr milliseconds patience{110};

// How long a holder whom nothing hinders may do without a renewal: until it repeats one that has failed, on a network
// that takes up to `slowest` for each way.
clock::duration longest_pause(const held& h, clock::duration slowest, clock::duration reconnection) {
  return std::min(h.options.lease / 10, milliseconds(500)) + 6 * slowest + reconnection + milliseconds(40);
}

constexpr std::int64_t two_days = 172800000;

// Of a token: what all tokens of its client begin with.
std::string client_of(std::string_view token) { return std::string(token.substr(0, token.find('.'))); }

std::string at(const held& h) { return fmt::format("{} {} fence {}", h.worker, h.name, h.fence); }

}  // namespace

std::string_view name_of(kind k) {
  switch (k) {
    case kind::mutex: return "mutex";
    case kind::recursive_mutex: return "recursive_mutex";
    case kind::shared_mutex: return "shared_mutex";
    case kind::counting_semaphore: return "counting_semaphore";
  }
  return "?";
}

bool judge::is_valid(const held& h) const {
  process* const before = world_.running();
  world_.enter(h.by);
  const bool valid = h.held_by_user().valid();
  world_.enter(before);
  return valid;
}

void judge::complain(const std::string& what) const {
  // What the coroutine of a user says is thrown later than what is seen meanwhile.
  if (complaint_.empty()) complaint_ = what;
  throw broken(complaint_);
}

std::shared_ptr<held> judge::granted(held h) {
  ++grants_;
  h.since = world_.now();
  h.asked = h.since;
  if (!rules_.one_server) {
    // Clocks run at different rates.
    const auto ago = h.by->now() - detail::access::state(h.held_by_user())->as_granted().confirmed_at;
    h.asked -= ago + ago / 50;
  }
  if (rules_.of == kind::mutex && rules_.one_server) {
    const auto& state = *detail::access::state(h.held_by_user());
    const bool is_pushed = state.as_granted().confirmed_at == clock::time_point::min();
    // The fences of those to whom it is passed on follow.
    if (is_pushed && h.fence % 2048 == 0) arrivals_[h.name] = {h.fence, h.since};
  }
  h.last_trouble = h.since;
  h.field = "leasehold:" + h.held_by_user().token();
  h.client = h.by->core().identity().id();
  auto one = std::make_shared<held>(std::move(h));
  begin_note(*one);
  const bool is_there = works(*one);
  // Its reply was on its way, or waited in the client, when a server's clock was stepped past the end of its lease.
  const bool is_late = is_there && (rules_.one_server ? may_have_ended(*one) : rests_on_a_step(*one));
  rested_on_a_step_ = rested_on_a_step_ || is_late;
  if (is_there && !is_late) look_at_fence(*one);
  holds_.push_back(one);
  if (is_there) exclude(*one);
  if (is_there && !is_late) look_at_tickets(*one);
  if (is_there && !is_late) look_at_rest(*one);
  look_at_pass(*one);
  return one;
}

void judge::detached(const held& h, clock::time_point began, milliseconds lease) {
  const auto& token = h.held_by_user().token();
  // The same token is on its way from user to user in a client.
  if (const auto its = released_.find(h.name); its != released_.end() && its->second == token) released_.erase(its);
  given_out_.insert(token);
  if (leftovers_) leftovers_->is_excused(token);
  // Clocks run at other rates.
  tickets_.push_back({h.worker, h.name, h.owner, token, h.reader || h.becomes_reader, began + lease - lease / 50});
}

std::shared_ptr<held> judge::resumed(held after, const held& before, std::uint64_t fence) {
  const auto& token = after.held_by_user().token();
  if (token != before.held_by_user().token() || after.fence != fence || after.led.name() != before.name) {
    complain(fmt::format("{}: its ticket with fence {} was resumed as {} fence {}", at(before), fence, after.led.name(),
                         after.fence));
  }
  if (!is_lossy_ && used_up_.contains(after.ticket))
    complain(fmt::format("{} was resumed after its release", at(after)));
  std::erase_if(tickets_, [&token](const auto& t) { return t.token == token; });
  return granted(std::move(after));
}

void judge::not_resumed(const held& before) const {
  if (is_excused()) return;
  const auto found = std::find_if(tickets_.begin(), tickets_.end(),
                                  [&](const auto& t) { return t.token == before.held_by_user().token(); });
  if (found == tickets_.end() || world_.now() >= found->until) return;
  complain(fmt::format("{} was detached, and is lost {} ms before the end of its lease", at(before),
                       std::chrono::duration_cast<milliseconds>(found->until - world_.now()).count()));
}

// As long as a ticket's lease runs, nobody has what it could go on with.
void judge::look_at_tickets(const held& h) {
  std::erase_if(tickets_, [this](const auto& t) { return t.until <= world_.now(); });
  if (is_excused()) return;
  std::uint32_t busy = 0;
  for (const auto& t : tickets_) {
    if (t.name != h.name || t.token == h.held_by_user().token()) continue;
    ++busy;
    const bool both_read = rules_.of == kind::shared_mutex && t.reader && (h.reader || h.becomes_reader);
    const bool both_own = rules_.of == kind::recursive_mutex && t.owner == h.owner;
    if (rules_.of == kind::counting_semaphore || both_read || both_own) continue;
    complain(fmt::format("{} is granted while a ticket of {} has {} ms left", at(h), t.worker,
                         std::chrono::duration_cast<milliseconds>(t.until - world_.now()).count()));
  }
  if (rules_.of != kind::counting_semaphore || busy == 0) return;
  for (const auto& other : holds_) busy += other->name == h.name && works(*other) ? 1U : 0U;
  if (busy > rules_.limit)
    complain(fmt::format("{} is granted one of {} permits, all of which are held or of tickets", at(h), rules_.limit));
}

void judge::given_up(held& h) {
  if (h.given_up) return;
  h.given_up = true;
  end_note(h);
}

void judge::downgrades(held& h) {
  h.becomes_reader = true;
  for (auto& r : rests_) r.reader = r.reader || (r.name == h.name && r.fence == h.fence);
  h.called = world_.now();
  end_note(h);
}

void judge::downgraded(held& h) {
  if (h.given_up || h.told) return;
  h.reader = true;
  begin_note(h);
}

// An attempt on a quorum goes on for the next waiter of its client if the first one has left. An owner's entries that
// overlap may have different fences there, and it had its fence before the next one called.
clock::time_point judge::asked_first(const held& h) const {
  auto first = h.called;
  const auto votes = votes_.find(h.held_by_user().token());
  if (rules_.of != kind::recursive_mutex || votes == votes_.end()) return first;
  for (const auto& v : votes->second) first = v.given == 0 ? first : std::min(first, v.since);
  return first;
}

// Times are the world's.
void judge::begin_note(held& h) {
  const auto at = [](clock::time_point t) { return test::instant(t.time_since_epoch().count()); };
  auto& all = histories_[h.by].tenures;
  const auto id = fmt::format("{}", all.size());
  test::tenure t;
  t.id = fmt::format("{}/{}", h.worker, id);
  t.kind = name_of(rules_.of);
  t.name = h.name;
  switch (rules_.of) {
    case kind::mutex: t.who = "-"; break;
    case kind::recursive_mutex: t.who = h.owner; break;
    case kind::shared_mutex: t.who = h.reader || h.becomes_reader ? "r" : "w"; break;
    case kind::counting_semaphore: t.who = std::to_string(rules_.limit); break;
  }
  t.called = at(asked_first(h));
  t.resumed = !h.ticket.empty();
  t.granted = at(world_.now());
  t.fence = detail::access::state(h.held_by_user())->fence();
  t.at_first = t.expires = at(h.by->when(detail::access::state(h.held_by_user())->deadline()));
  t.margin = clock::duration(h.options.margin).count();
  h.noted = &all.emplace(id, std::move(t)).first->second;
}

void judge::end_note(held& h) {
  if (h.noted == nullptr) return;
  auto& t = *std::exchange(h.noted, nullptr);
  const auto now = world_.now().time_since_epoch().count();
  t.expires = h.by->when(detail::access::state(h.held_by_user())->deadline()).time_since_epoch().count();
  // Only the step of a server's clock brings a deadline forward; this judge looks at how soon that is told.
  if (t.expires < t.at_first) t.jumps.push_back(now);
  if (h.told)
    t.told = now;
  else
    t.given_up = now;
}

void judge::judge_histories() {
  constexpr auto always = test::span{0, std::numeric_limits<test::instant>::max()};
  test::excuses e;
  e.quorum = !rules_.one_server;
  // On one server this judge knows which fence was lost.
  e.unordered = is_lossy_ || rested_on_a_step_ || (e.quorum && last_loss_ != clock::time_point());
  // Nor does that one know that an owner's ticket overlaps his other entries, and which of their fences it has.
  e.unordered = e.unordered || (e.quorum && rules_.of == kind::recursive_mutex && !given_out_.empty());
  // A loss that is told before the end of its lease needs a reason, however the hold is renewed. One that is told then
  // is judged by this judge.
  if (rules_.clocks_differ) e.forgetting.push_back(always);
  if (is_excused()) e.losing.push_back(always);
  std::vector<test::process_history> all;
  for (const auto& h : holds_) end_note(*h);
  for (auto& [p, h] : histories_) {
    h.name = p->name();
    all.push_back(std::move(h));
  }
  const auto found = test::judge(all, e);
  if (!found.violations.empty()) complain(found.violations.front());
}

void judge::look_at_fence(const held& h) {
  // The grant is lost, and its reply or message was on its way.
  if (h.fence < lost_fences_below_) return;
  auto& highest = highest_fence_[h.name];
  auto& writer = highest_writer_[h.name];
  switch (rules_.of) {
    case kind::mutex:
      if (h.fence < highest + (h.ticket.empty() ? 1 : 0) && !may_have_gone_back(h, highest))
        complain(fmt::format("{}: a fence that is not above {}", at(h), highest));
      break;
    case kind::recursive_mutex:
      // All entries of an owner have one fence; on a quorum those that begin at the same time may have several.
      // An older copy brings a tenure back, and its owner joins it.
      if (!is_lossy_ && h.fence <= highest && !may_have_gone_back(h, highest) &&
          (owner_of_highest_[h.name] != h.owner || (h.fence < highest && rules_.one_server))) {
        complain(fmt::format("{}: a fence that is not above {}", at(h), highest));
      }
      break;
    case kind::shared_mutex:
      if (!h.reader && h.fence < highest + (h.ticket.empty() ? 1 : 0) && !may_have_gone_back(h, highest))
        complain(fmt::format("{}: a fence that is not above {}", at(h), highest));
      if (h.reader && h.fence < writer + (h.ticket.empty() ? 1 : 0) && !is_lossy_ && !may_have_gone_back(h, writer))
        complain(fmt::format("{}: a fence below a writer's {}", at(h), writer));
      if (!h.reader && !h.becomes_reader) writer = std::max(writer, h.fence);
      break;
    case kind::counting_semaphore: break;
  }
  if (h.fence > highest) {
    owner_of_highest_[h.name] = h.owner;
    // A server may forget it between its answer and the arrival of that.
    since_of_highest_[h.name] = h.asked;
  }
  highest = std::max(highest, h.fence);
}

// Fences of a quorum are not promised to grow when a server forgets while another that knows the last one is away. One
// that knew it when it granted the hold was not away, unless its vote came too late: the hold has the largest fence of
// those that were counted. (The counter after the grant is above every fence that the server knew.)
bool judge::may_have_gone_back(const held& h, std::uint64_t fence) const {
  if (rules_.one_server) return false;
  // A late attempt may have given a server what another one has ended by a step of its clock, and that one may have
  // granted it meanwhile (docs/how-we-test.md, "Not mended").
  if (!h.ticket.empty() && last_step_ != clock::time_point()) return true;
  if (last_loss_ < since_of_highest_.at(h.name)) return false;
  const auto votes = votes_.find(h.held_by_user().token());
  if (votes == votes_.end()) return true;
  for (std::size_t i = 0; i < world_.number_of_servers(); ++i) {
    const auto& its = votes->second[i];
    if (has(i, h) && its.given <= h.fence && its.counter > fence / 2048) return false;
  }
  return true;
}

void judge::note_grant(std::size_t server, std::string_view token, std::uint64_t fence) {
  auto& votes = votes_[std::string(token)];
  votes.resize(world_.number_of_servers());
  auto& its = votes[server];
  const auto counter = world_.server(server).data().execute({"GET", "leasehold:{0}:fence"}).text;
  // One that is there already keeps its fence.
  const bool is_late = fence == its.given ? its.is_late : world_.server(server).runs_late_bytes;
  const auto since = its.given == 0 ? world_.now() : its.since;
  if (leftovers_) leftovers_->granted(token);
  its = {counter.empty() ? 0 : std::stoull(counter), fence, is_late, since};
}

// Whether both may work at once.
void judge::exclude(const held& h) {
  if (is_lossy_ || may_have_ended(h)) return;
  std::uint32_t together = 0;
  for (const auto& other : holds_) {
    if (other->name == h.name && works(*other) && !may_have_ended(*other)) ++together;
  }
  if (together <= 1) return;
  if (rules_.of == kind::counting_semaphore) {
    if (together > rules_.limit) complain(fmt::format("{}: {} hold {} permits", at(h), together, rules_.limit));
    return;
  }
  for (const auto& other : holds_) {
    if (other.get() == &h || other->name != h.name || !works(*other) || may_have_ended(*other)) continue;
    if (rules_.of == kind::recursive_mutex && other->owner == h.owner) continue;
    const auto reads = [](const held& x) { return x.reader || x.becomes_reader; };
    if (rules_.of == kind::shared_mutex && reads(*other) && reads(h)) continue;
    if (rests_on_a_step(*other) || rests_on_a_step(h)) continue;
    complain(fmt::format("{} and {} work at the same time", at(*other), at(h)));
  }
}

// Nobody is granted what others still keep busy, whether or not they live, and have released it. On the one server the
// fences say when it made the two grants, by its clock; on a quorum, and of a grant that is passed on, it is known when
// the first one was asked for.
void judge::look_at_rest(const held& h) {
  if (!h.ticket.empty()) return;  // It goes on with what is here already.
  const bool is_judged = !is_lossy_ && !may_be_lost_ && (!rules_.one_server || world_.number_of_servers() == 1);
  for (std::size_t i = 0; i < world_.number_of_servers(); ++i) {
    if (!is_judged || world_.clock_of_server(i).offset != first_offsets_[i]) return;
  }
  const auto keeps_busy = [&](const rest& r) {
    if (r.name != h.name) return false;
    const bool is_passed_on = h.fence > r.fence && h.fence / 2048 == r.fence / 2048;
    if (!rules_.one_server || is_passed_on) return h.since < r.called + r.at_least - r.at_least / 50;
    const auto between = std::chrono::microseconds(h.fence / 2048) - std::chrono::microseconds(r.fence / 2048);
    return h.fence >= r.fence && between < r.at_least;
  };
  std::uint32_t busy = 0;
  for (const auto& r : rests_) {
    if (!keeps_busy(r)) continue;
    ++busy;
    const bool both_read = rules_.of == kind::shared_mutex && r.reader && (h.reader || h.becomes_reader);
    const bool both_own = rules_.of == kind::recursive_mutex && r.owner == h.owner;
    if (rules_.of == kind::counting_semaphore || both_read || both_own) continue;
    complain(fmt::format("{} is granted while {} with fence {} has not had it for {} ms", at(h), r.worker, r.fence,
                         r.at_least.count()));
  }
  if (rules_.of == kind::counting_semaphore && busy >= rules_.limit) {
    complain(
        fmt::format("{} is granted one of {} permits, which others have not had for long enough", at(h), rules_.limit));
  }
  if (h.options.at_least.count() == 0) return;
  rests_.push_back({h.worker, h.name, h.owner, h.reader, h.fence, h.called, h.options.at_least});
}

bool judge::has(std::size_t server, const std::string& name, const std::string& field) const {
  auto& s = world_.server(server);
  if (rules_.of == kind::mutex) {
    const auto record = s.data().text(name);
    return record.size() > field.size() && record[field.size()] == ':' && record.starts_with(field);
  }
  const auto member = s.data().text(name, field);
  std::int64_t until = 0;
  std::from_chars(member.data(), member.data() + member.size(), until);
  return until > s.time().count();
}

std::uint64_t judge::recorded_fence(std::size_t server, const held& h) const {
  const auto& data = world_.server(server).data();
  const bool is_mutex = rules_.of == kind::mutex;
  const auto text = is_mutex ? data.text(h.name) : data.text(h.name, h.field);
  const auto fence = is_mutex ? h.field.size() + 1 : text.find(' ');
  return fence < text.size() ? std::stoull(std::string(text.substr(fence))) : 0;
}

std::size_t judge::number_that_have(const held& h, bool steps) const {
  const auto counts = [&](std::size_t i) {
    if (has(i, h)) return true;
    // The step came first, perhaps, and whatever happened to the server then.
    if (may_not_know_of_step(i, h)) return steps;
    return !world_.server(i).is_up() || (!rules_.one_server && runs_[i].since > h.asked);
  };
  if (rules_.one_server) return counts(world_.server_of(h.name)) ? majority() : 0;
  std::size_t have = 0;
  for (std::size_t i = 0; i < world_.number_of_servers() && have < majority(); ++i) have += counts(i) ? 1U : 0U;
  return have;
}

bool judge::may_not_know_of_step(std::size_t server, const held& h) const {
  if (!steps_[server]) return false;
  const auto found = answers_.find(h.client);
  return found == answers_.end() || !found->second[server].has_come;
}

bool judge::may_have_ended(const held& h) const {
  if (!rules_.one_server) return false;
  const auto its = world_.server_of(h.name);
  return may_not_know_of_step(its, h) && (!has(its, h) || recorded_fence(its, h) > h.fence);
}

bool judge::rests_on_a_step(const held& h) const {
  if (last_step_ == clock::time_point()) return false;
  return number_that_have(h, false) < majority() && number_that_have(h, true) >= majority();
}

// As long as the holder believes in its hold, so many servers have it that nobody else can be granted it. What a server
// has lost that was ended meanwhile is not the library's fault.
void judge::look_at_servers(const held& h) {
  const auto have = number_that_have(h, true);
  if (have >= majority()) return;
  complain(fmt::format("{} believes in a hold that {} of {} servers have", at(h), have, world_.number_of_servers()));
}

void judge::note_step(std::size_t server) {
  steps_[server] = true;
  may_be_lost_ = true;
  last_step_ = world_.now();
  for (auto& [client, all] : answers_) all[server] = {};
}

void judge::note_answer(std::size_t server, std::string_view token) {
  if (!steps_[server]) return;
  const auto its =
      std::find_if(holds_.begin(), holds_.end(), [token](const auto& h) { return h->held_by_user().token() == token; });
  // Any client may ask with a ticket.
  if (its == holds_.end() && given_out_.contains(token)) return;
  const auto client = its != holds_.end() ? (*its)->client : client_of(token);
  auto& all = answers_[client];
  all.resize(world_.number_of_servers());
  auto& a = all[server];
  if (a.has_come || a.since != clock::time_point::max()) return;
  for (const auto& h : holds_) {
    if (h->client != client) continue;
    // It may have been sent on a connection that was cut since: that answer does not come.
    if (world_.now() < connections_[h->by].since + world_.latest + 2 * world_.slowest + world_.longest_reconnection)
      return;
    a.since = std::max(world_.now(), slow_until_) + 2 * world_.slowest + world_.longest_reconnection;
    a.connections = h->by->connections_so_far();
    return;
  }
}

void judge::note_what_was_heard() {
  if (last_step_ == clock::time_point()) return;
  for (const auto& h : holds_) {
    auto& c = connections_[h->by];
    if (c.so_far != h->by->connections_so_far() || h->by->is_cut_off()) c = {h->by->connections_so_far(), world_.now()};
    const auto found = answers_.find(h->client);
    if (found == answers_.end()) continue;
    for (auto& a : found->second) {
      if (a.has_come || a.since == clock::time_point::max()) continue;
      // An answer that has waited in the client, or came after a connection was cut, may not show the step.
      if (h->by->is_frozen() || h->by->is_cut_off() || a.connections != h->by->connections_so_far()) {
        a = {};
      } else if (world_.now() >= a.since) {
        a.has_come = true;
      }
    }
  }
}

// The lock is free for others then: a majority does not have the hold. (Late bytes of an attempt may bring its token
// back on a server, until the release is repeated after their not-after.)
void judge::released(const held& h) {
  const auto record = world_.server(world_.server_of(h.name)).data().execute({"GET", h.name}).text;
  const auto fence = record.rfind(':') + 1;
  // If its fence is later, such bytes came before the client was answered, and the record is one that they have made.
  const bool is_later =
      record.starts_with("leasehold:") && std::stoull(record.substr(fence)) > h.held_by_user().fence();
  if (!is_later) released_[h.name] = h.held_by_user().token();
  if (rules_.one_server) return;
  const auto votes = votes_.find(h.held_by_user().token());
  std::size_t have = 0;
  for (std::size_t i = 0; i < world_.number_of_servers(); ++i) {
    const bool is_late = votes != votes_.end() && votes->second[i].is_late;
    have += has(i, h) && !is_late ? 1U : 0U;
  }
  if (have + majority() > world_.number_of_servers())
    complain(fmt::format("{} was released, and {} servers have it", at(h), have));
  if (leftovers_) leftovers_->released(*h.by, h.held_by_user().token());
}

bool judge::is_to_be_compared(held& h) const {
  const auto its = world_.server_of(h.name);
  const held::comparison now{its,
                             world_.server(its).changes(),
                             runs_[its].since,
                             detail::access::state(h.held_by_user())->deadline(),
                             world_.clock_of_server(its).offset,
                             may_not_know_of_step(its, h)};
  if (h.compared == now) return false;
  h.compared = now;
  return true;
}

// The local deadline is not later than the instant at which the server ends the lease. (The key goes when its last
// millisecond has passed.)
void judge::look_at_deadline(const held& h) {
  const auto its = world_.server_of(h.name);
  auto& s = world_.server(its);
  if (!s.is_up() || may_not_know_of_step(its, h)) return;
  const auto now = s.time();
  const auto left = s.data().execute({"PTTL", h.name}).integer;
  auto ends = std::chrono::floor<milliseconds>(now) + milliseconds(left + 1) - now;
  if (rules_.of != kind::mutex) {
    const auto member = s.data().execute({"HGET", h.name, "leasehold:" + h.held_by_user().token()}).text;
    ends = std::min(ends, std::chrono::microseconds(std::stoll(member)) - now);
  }
  const auto believed = h.by->when(detail::access::state(h.held_by_user())->deadline()) - world_.now();
  const auto late = believed - world_.clock_of_server(its).takes(ends);
  if (late <= clock::duration(0)) return;
  complain(fmt::format("{}: its local deadline is {} us later than the end of its lease on the server", at(h),
                       std::chrono::ceil<std::chrono::microseconds>(late).count()));
}

// A cohort passes a hold on for client_options::cohort after the request by which it was granted or kept, or after the
// message that brought the grant: the server has run the request when the record or its expiry has changed last. (PTTL
// and TIME are a millisecond apart at times.) If the clock was set back, the lease is longer than a confirmation makes
// it, and nothing changes. Clocks run at other rates.
void judge::look_at_cohort(const held& h) {
  const auto its = world_.server_of(h.name);
  if (world_.clock_of_server(its).offset != first_offsets_[its]) return;
  auto& s = world_.server(its);
  const auto record = s.data().execute({"GET", h.name}).text;
  const auto expires = s.time().count() / 1000 + s.data().execute({"PTTL", h.name}).integer;
  auto& t = tenures_[h.name];
  if (t.record != record || std::abs(expires - t.expires) > 2) t = {record, expires, world_.now()};
  const auto& pushed = arrivals_[h.name];
  if (record.ends_with(fmt::format(":{}", pushed.fence))) t.since = std::max(t.since, pushed.at);
  if (h.waited_for_others || !h.ticket.empty() || h.since != world_.now() ||
      world_.now() - t.since <= rules_.cohort + rules_.cohort / 50 + milliseconds(3))
    return;
  // What lingers is judged by who waits for it.
  if (detail::may_linger(h.held_by_user().token())) return;
  if (record.starts_with("leasehold:" + h.held_by_user().token() + ":") &&
      !record.ends_with(fmt::format(":{}", h.fence))) {
    complain(fmt::format("{} is of a cohort that has overtaken others for {} ms", at(h),
                         std::chrono::duration_cast<milliseconds>(world_.now() - t.since).count()));
  }
}

// Others wait, and a token goes on from user to user in its client: for client_options::cohort after they have joined,
// or after Redis gave the token a fence. A client cannot tell readers' and owners' grants from such a word.
void judge::look_at_pass(const held& h) {
  if (!rules_.one_server || rules_.of == kind::mutex) return;
  auto& stop = stops_[h.by];
  if (stop.frozen != h.by->frozen()) stop = {h.by->frozen(), world_.now()};
  const auto recorded = recorded_fence(world_.server_of(h.name), h);
  const auto [word, is_new] = words_.try_emplace(h.name + ' ' + h.field);
  if (is_new || word->second.fence != recorded) {
    word->second = {recorded, world_.now()};
    return;
  }
  const auto bound = rules_.cohort + rules_.cohort / 50 + milliseconds(3);
  const bool shares = rules_.of == kind::recursive_mutex || h.reader;
  if (!h.ticket.empty() || h.waited_for_others || is_excused() || world_.now() - stop.seen < milliseconds(100)) return;
  if (!shares && world_.now() - word->second.at <= bound) return;
  const auto others_since = others_wait_since(h.name, h.client);
  if (others_since == clock::time_point::max() || world_.now() - others_since <= bound) return;
  complain(fmt::format("{} is of a cohort that has overtaken others for {} ms", at(h),
                       std::chrono::duration_cast<milliseconds>(world_.now() - others_since).count()));
}

// The record has a token that may linger, its user was told that it is released, and no other user of the client has
// it: it is idle, or on its way. (A release that ended with an error leaves the hold to its lease, and a token that was
// never a user's may be waiting for replicas.)
bool judge::is_idle(const std::string& name, const std::string& token) {
  // (A hold that is lost is released by its user, and acquire_all has holds before it has all.)
  if (!detail::may_linger(token) || lost_.contains(token)) return false;
  const auto released = released_.find(name);
  if (released == released_.end() || released->second != token) return false;
  const auto* const its = process_of(client_of(token));
  if (its == nullptr || wants_all_.contains(its)) return false;
  auto& data = world_.server(world_.server_of(name)).data();
  // It was handed over, and is not confirmed yet.
  if (!data.execute({"ZSCORE", queue_of(name), token}).text.empty()) return false;
  return std::none_of(holds_.begin(), holds_.end(),
                      [&token](const auto& h) { return !h->given_up && h->held_by_user().token() == token; });
}

// The living process with this client; null: it is dead.
process* judge::process_of(std::string_view client) const {
  for (auto* const p : world_.processes()) {
    if (!p->is_dead() && p->core().identity().id() == client) return p;
  }
  return nullptr;
}

void judge::look_for_hindrances() {
  const auto now = world_.now();
  // What was sent on a slow network may still be on its way, and what follows it on its connection, too.
  bool hindered = world_.slowest > milliseconds(2) || now < slow_until_ || now < last_slow_ + 2 * how_slow_;
  bool refuses = false;
  for (std::size_t i = 0; i < world_.number_of_servers(); ++i) {
    hindered = hindered || !world_.serves(i);
    refuses = refuses || world_.server(i).is_busy;
  }
  // Between two looks nothing happens: what was so at the last one has lasted until now.
  // What was refused is asked again after 50 ms.
  if (std::exchange(refused_, refuses) || refuses) refused_until_ = now + milliseconds(50);
  hindered = hindered || now < refused_until_;
  std::uint64_t so_far = 0;
  for (auto* const p : world_.processes()) {
    if (p->is_dead()) continue;
    so_far += p->connections_so_far();
    hindered = hindered || p->is_frozen() || p->is_cut_off() || !p->core().up();
  }
  const bool was_hindered = std::exchange(was_hindered_, hindered);
  if (std::exchange(connections_then_, so_far) != so_far || hindered || was_hindered) last_hindered_ = now;
}

std::string judge::tag_of(const std::string& name) const {
  return rules_.tagged ? std::string(detail::tag_of_slot(detail::slot_of(name))) : "0";
}

std::string judge::queue_of(const std::string& name) const { return detail::queue_key(tag_of(name), name); }

// (A dead client's entry stays until its time is over, and one whose poll is late is passed over: it waits from its
// next poll on.)
clock::time_point judge::others_wait_since(const std::string& name, std::string_view client) {
  auto since = clock::time_point::max();
  auto& s = world_.server(world_.server_of(name));
  const auto entries = detail::entries_key(tag_of(name), name);
  for (const auto& t : s.data().execute({"ZRANGE", queue_of(name), "0", "-1"}).items) {
    if (client_of(t.text) == client || process_of(client_of(t.text)) == nullptr) continue;
    const auto entry = s.data().execute({"HGET", entries, t.text}).text;
    const auto due = entry.find(' ', entry.find(' ') + 1);
    auto& its = in_queue_since_.try_emplace({name, t.text}, place{world_.now()}).first->second;
    // (A step back of the server's clock makes it count again. But nobody has asked, and so nobody is told.)
    if (due >= entry.size() || std::stoll(entry.substr(due)) + 1000000 < s.time().count()) its.ran_out = true;
    if (!its.ran_out) since = std::min(since, its.since);
  }
  return since;
}

// It may leave the queue, and join it again with the same token.
void judge::forget_what_has_left_queues() {
  std::erase_if(in_queue_since_, [this](const auto& p) {
    const auto& [name, token] = p.first;
    const auto entries = detail::entries_key(tag_of(name), name);
    return world_.server(world_.server_of(name)).data().text(entries, token).empty();
  });
}

// How long it takes until a message has led to an answer, if nothing hinders it.
clock::duration judge::messages_take() const { return 4 * world_.slowest + 2 * world_.gathering + milliseconds(5); }

// Another client that waits is served at once while messages arrive. Whatever was lost, it is served when the lock has
// lingered for its time.
void judge::look_at_lingering() {
  const auto now = world_.now();
  for (const auto& name : rules_.names) {
    auto& data = world_.server(world_.server_of(name)).data();
    const auto record = data.execute({"GET", name}).text;
    const auto end = record.rfind(':');
    const auto token = record.starts_with("leasehold:") && end > 10 ? record.substr(10, end - 10) : std::string();
    if (const auto its = released_.find(name); its != released_.end() && its->second != token) released_.erase(its);
    if (!is_idle(name, token)) {
      idle_.erase(name);
      continue;
    }
    auto& one = idle_[name];
    if (one.token != token) one = {token, now};
    const auto waits_since = others_wait_since(name, client_of(token));
    if (waits_since == clock::time_point::max()) continue;
    // A lease from before the clock was set back lasts longer than its client knows: when it reaches the server again,
    // it takes the record for gone.
    const auto server = world_.server_of(name);
    if (world_.clock_of_server(server).offset < first_offsets_[server] && last_hindered_ > one.since) continue;
    const auto messages = messages_take();
    const bool is_told = waits_since > last_hindered_ + milliseconds(1);
    const auto waited = now - std::max({one.since, waits_since, last_hindered_});
    if (waited > (is_told ? clock::duration(messages) : rules_.linger + rules_.linger / 50 + messages)) {
      complain(fmt::format("{} is idle with {}, and another client has waited for {} ms", name, token,
                           std::chrono::duration_cast<milliseconds>(waited).count()));
    }
  }
}

void judge::look_at_curious() {
  for (const auto& name : rules_.names) {
    const auto record = world_.server(world_.server_of(name)).data().execute({"GET", name}).text;
    const auto end = record.rfind(':');
    if (!record.starts_with("leasehold:") || end <= 10) continue;
    const auto token = record.substr(10, end - 10);
    for (const auto& [h, since] : curious_) {
      if (h->name != name || h->held_by_user().token() != token || h->by->is_dead() || !works(*h)) continue;
      const auto waits_since = others_wait_since(name, client_of(token));
      if (waits_since == clock::time_point::max()) continue;
      const auto waited = world_.now() - std::max({waits_since, since, last_hindered_});
      if (waited <= messages_take()) continue;
      complain(fmt::format("{} is not told that another client has waited for {} ms", at(*h),
                           std::chrono::duration_cast<milliseconds>(waited).count()));
    }
  }
}

// Servers that were all started within three seconds (INFO has whole ones) are taken for a new deployment.
bool judge::are_as_if_new() const {
  const auto [first, last] =
      std::minmax_element(runs_.begin(), runs_.end(), [](const auto& a, const auto& b) { return a.since < b.since; });
  return first->since != clock::time_point() && last->since - first->since < std::chrono::seconds(3);
}

// On a quorum: every server, or enough of those that have the hold.
bool judge::reaches_its_servers(const held& h) const {
  if (rules_.one_server) return !h.by->is_cut_off();
  const auto reaches = [&](std::size_t i) {
    const auto refused = refuses_until_.find(i);
    const bool refuses = refused != refuses_until_.end() && world_.now() < refused->second;
    return world_.serves(i) && !refuses && h.by->reaches(world_.server(i));
  };
  std::size_t reached = 0, have = 0;
  for (std::size_t i = 0; i < world_.number_of_servers(); ++i) {
    if (!reaches(i)) continue;
    ++reached;
    if (has(i, h)) ++have;
  }
  return reached == world_.number_of_servers() || have >= majority();
}

void judge::look_for_trouble() {
  bool everywhere = false;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const auto& s = world_.server(i);
    if (runs_[i].id != s.run_id()) runs_[i] = {s.run_id(), runs_[i].id.empty() ? clock::time_point() : world_.now()};
    // A client whose connection it has refused meanwhile is connected again after a pause.
    if (s.is_busy) refuses_until_[i] = world_.now() + longest_pause_between_connections;
    // (What is out of memory still renews.)
    everywhere = everywhere || (rules_.one_server && (s.is_frozen() || !s.is_up() || s.is_busy));
  }
  if (!rules_.one_server && !is_lossy_ && may_be_lost_ && are_as_if_new()) {
    data_were_lost();
    for (const auto& [name, fence] : highest_fence_) lost_fences_below_ = std::max(lost_fences_below_, fence + 1);
  }
  // What was sent on a slow network may arrive this much later, and its answer, too.
  // (Between two looks nothing happens: it has been as slow until now as at the last one.)
  const auto slowest = std::max(std::exchange(slowest_then_, world_.slowest), world_.slowest);
  if (slowest > milliseconds(50)) slow_until_ = world_.now() + 2 * slowest;
  if (slowest > milliseconds(2)) {
    last_slow_ = world_.now();
    how_slow_ = slowest;
  }
  // What is sent to the wrong node goes from one to the other, and a client is connected again after a pause.
  if (world_.cluster() != nullptr && (everywhere || !world_.cluster()->is_settled())) {
    slow_until_ = std::max(slow_until_, world_.now() + longest_pause_between_connections);
  }
  everywhere = everywhere || world_.now() < slow_until_;
  for (const auto& h : holds_) {
    const bool is_in_trouble =
        everywhere || h->by->is_dead() || h->by->is_frozen() || !h->by->core().up() || !reaches_its_servers(*h);
    // Between two looks nothing happens: what was so at the last one has lasted until now.
    if (is_in_trouble || h->was_in_trouble) h->last_trouble = world_.now();
    h->was_in_trouble = is_in_trouble;
  }
}

void judge::told(held& h) {
  if (h.told) return;
  look_for_trouble();
  h.told = world_.now();
  lost_.insert(h.held_by_user().token());
  if (leftovers_) leftovers_->is_excused(h.held_by_user().token());
  end_note(h);
  // Told by a coroutine that nobody waits for.
  if (complaint_.empty() && (!h.given_up || h.is_being_released)) complaint_ = without_reason(h);
}

void judge::found_lost(const held& h) {
  if (h.told) return;
  look_for_trouble();
  if (const auto complaint = without_reason(h); !complaint.empty()) complain(complaint);
}

// Why it may not be lost now; "": it may be.
std::string judge::without_reason(const held& h) const {
  if (is_lossy_ || h.options.renew != renewal::automatic) return {};
  // Nobody hindered the renewals, and the lease was long enough for them.
  // The renewal that was too late may have been sent when the network was slower.
  const bool was_slow = last_slow_ + h.options.lease > world_.now();
  const auto slowest = was_slow ? std::max(how_slow_, world_.slowest) : world_.slowest;
  const auto pause = longest_pause(h, slowest, world_.longest_reconnection);
  if (h.options.lease - h.options.margin < pause * 2 || world_.now() - h.last_trouble <= pause) return {};
  if (last_step_ + 4 * h.options.lease + pause > world_.now()) return {};
  if (!rules_.one_server) {
    if (last_slow_ + h.options.lease + pause > world_.now()) return {};
    for (const auto& r : runs_) {
      if (r.since + 4 * h.options.lease + pause > world_.now()) return {};  // It may have forgotten the hold.
    }
  }
  return fmt::format("{} was lost though its holder and the servers have run for {} ms", at(h),
                     std::chrono::duration_cast<milliseconds>(world_.now() - h.last_trouble).count());
}

void judge::look() {
  if (!complaint_.empty()) complain(complaint_);
  look_for_trouble();
  note_what_was_heard();
  if (rules_.linger > clock::duration(0) || rules_.messages) look_for_hindrances();
  forget_what_has_left_queues();
  if (rules_.linger > clock::duration(0) && !is_lossy_) look_at_lingering();
  if (!curious_.empty() && !is_lossy_) look_at_curious();
  if (leftovers_) {
    const auto has_token = [this](std::size_t server, const std::string& name, const std::string& token) {
      return has(server, name, "leasehold:" + token);
    };
    if (const auto complaint = leftovers_->look(has_token); !complaint.empty()) complain(complaint);
  }
  for (const auto& h : holds_) {
    if (h->given_up || h->told || h->by->is_dead()) continue;
    const bool valid = is_valid(*h);
    if (valid && !is_lossy_) {
      if (!rules_.one_server) {
        look_at_servers(*h);
      } else if (is_to_be_compared(*h)) {
        look_at_servers(*h);
        look_at_deadline(*h);
        if (rules_.of == kind::mutex) look_at_cohort(*h);
      }
    }
    const bool is_due = h->by->now() >= detail::access::state(h->held_by_user())->deadline() - h->options.margin;
    if ((!valid || is_due) && !h->by->is_frozen())
      complain(fmt::format("{} was lost, and its user was not told", at(*h)));
  }
  std::erase_if(holds_, [](const auto& h) { return h->told || (h->given_up && !h->is_being_released); });
}

void judge::extended(const held& h, clock::time_point began, clock::time_point began_there, milliseconds lease) const {
  if (h.told || !works(h) || last_step_ >= began) return;
  // A vote of a quorum may have waited for what was held back.
  if (!rules_.one_server && h.by->is_cut_off(began)) return;
  auto allowed = detail::drift_allowance{}.of(lease);
  // A vote of a quorum may rest on the write-back that followed, which found less of the lease left. (It may have
  // waited for what was sent when the network was slower.)
  const bool was_slow = last_slow_ + 2 * how_slow_ >= began;
  if (!rules_.one_server)
    allowed += 4 * (was_slow ? std::max(how_slow_, world_.slowest) : world_.slowest) + milliseconds(1);
  // What another master says of a lease counts from the sending of the question.
  const bool may_be_another = world_.cluster() != nullptr && world_.now() < slow_until_;
  if (!is_lossy_ && !may_be_another &&
      detail::access::state(h.held_by_user())->deadline() < began_there + lease - allowed) {
    complain(fmt::format("{} was extended, and believes in a shorter lease", at(h)));
  }
  if (!rules_.one_server) return;
  const auto its = world_.server_of(h.name);
  const auto& s = world_.server(its);
  if (has(its, h) || !s.is_up() || s.run_id() != runs_[its].id || lost_data_at_ >= began) return;
  complain(fmt::format("{} was extended, and the server does not have it", at(h)));
}

void judge::replica_took_over() {
  released_.clear();
  const auto lost_before = lost_data_at_;
  if (rules_.lossy) data_were_lost();
  for (const auto& h : holds_) {
    if (h->options.replicas == 0 || h->by->is_dead() || !works(*h)) continue;
    // Its answer may have come after the record was deleted.
    const auto ago = h->by->now() - detail::access::state(h->held_by_user())->as_granted().confirmed_at;
    if (world_.now() - ago - ago / 50 <= lost_before) continue;
    // Renewals are not acknowledged: the lease that was may have ended on the replica.
    const auto its = world_.server_of(h->name);
    if (ago > h->options.lease / 2 || has(its, *h) || may_not_know_of_step(its, *h)) continue;
    complain(fmt::format("{} was acknowledged by a replica that has not had it", at(*h)));
  }
}

void judge::ended(const process& p, std::string_view what, clock::time_point began, clock::duration frozen_then,
                  clock::duration limit) {
  const auto took = world_.now() - began - (p.frozen() - frozen_then);
  if (took > limit + limit / 100 + patience) {
    complain(fmt::format("{}: {} took {} ms, its limit was {} ms", p.name(), what,
                         std::chrono::duration_cast<milliseconds>(took).count(),
                         std::chrono::duration_cast<milliseconds>(limit).count()));
  }
}

void judge::granted_in_time(const process& p, std::string_view what, clock::time_point began_there,
                            milliseconds limit) const {
  const auto late = p.now() - detail::later(began_there, limit);
  if (limit == forever || late <= clock::duration(0)) return;
  complain(fmt::format("{}: {} was granted {} ms after its limit", p.name(), what,
                       std::chrono::ceil<milliseconds>(late).count()));
}

void judge::granted_nothing(const process& p, std::string_view what, clock::time_point began_there, milliseconds limit,
                            error_code ec) const {
  if (ec == boost::asio::error::operation_aborted || ec == error::refused) return;
  const bool is_late =
      (ec == error::timed_out && what != "try_acquire") || ec == error::unreachable || ec == error::no_quorum;
  if (is_late && limit != forever && p.now() >= detail::later(began_there, limit)) return;
  complain(fmt::format("{}: {} with a limit of {} ms ended after {} ms: {}", p.name(), what, limit.count(),
                       std::chrono::duration_cast<milliseconds>(p.now() - began_there).count(), ec.message()));
}

void judge::forget(const process& p) {
  for (const auto& h : holds_) {
    if (h->by == &p) end_note(*h);
  }
  std::erase_if(holds_, [&p](const auto& h) { return h->by == &p; });
  if (leftovers_) leftovers_->forget(p);
}

// It lives until two days after the server's clock has reached it.
void judge::look_at_counter(std::size_t server, const std::string& key) const {
  auto& s = world_.server(server);
  const auto text = s.data().execute({"GET", key}).text;
  const auto left = s.data().execute({"PTTL", key}).integer;
  if (text == detail::mark_of_tags) {
    if (left < 0) complain(fmt::format("the mark {} of server {} never ends", key, server));
    return;
  }
  const auto last = std::stoll(text);
  // A slot that moves takes with it what was left by the clock of another node.
  const auto exact = world_.cluster() != nullptr ? 60000 : 2;
  if (left < 0 || s.time().count() / 1000 + left + exact >= last / 1000 + two_days) return;
  complain(fmt::format("{} of server {} ends {} ms too early", key, server,
                       last / 1000 + two_days - s.time().count() / 1000 - left));
}

void judge::nothing_is_left(bool values_may_be) {
  for (std::size_t i = 0; i < world_.number_of_servers(); ++i) {
    const auto all = world_.server(i).data().dump();
    for (std::size_t from = 0; from < all.size();) {
      const auto end = std::min(all.find('\n', from), all.size());
      const auto line = all.substr(from, end - from);
      const bool is_counter = line.find(":fence\"") != std::string::npos;
      const auto key = line.substr(1, line.find('"', 1) - 1);
      const bool is_value = values_may_be && key.find(":leader:") != std::string::npos &&
                            world_.server(i).data().execute({"PTTL", key}).integer >= 0;
      if (!is_counter && !is_value) complain("left behind: " + line);
      if (is_counter) look_at_counter(i, key);
      from = end + 1;
    }
  }
}

}  // namespace leasehold::simulation
