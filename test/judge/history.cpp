// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "judge/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <stdexcept>

namespace leasehold::test {
namespace {

constexpr instant ms = 1000000;

// Only a broken subject is ever as late.
constexpr instant bound = 3000 * ms;

// No server is stopped for longer.
constexpr instant late_bytes = 10000 * ms;

// Far longer than it takes to tell that several holds are there.
constexpr instant together_bound = 1000 * ms;

// What a loss may be told too early for the noted deadline: the notes and the library read the clock one after the
// other.
constexpr instant nearly = 20 * ms;

bool together(const tenure& a, const tenure& b) {
  if (a.kind == "recursive_mutex") return a.who == b.who;
  return a.kind == "shared_mutex" && a.who == "r" && b.who == "r";
}

// Of a semaphore.
struct limits {
  std::uint64_t most = 0;                 // That anybody knew of.
  std::vector<const operation*> resizes;  // In the order of their calls.
};

class judge_of_one {
 public:
  judge_of_one(judgement& j, const excuses& e, std::vector<const tenure*> granted, std::vector<const tenure*> in_vain,
               const limits& l)
      : j_(j), excuses_(e), granted_(std::move(granted)), in_vain_(std::move(in_vain)), limits_(l) {
    std::sort(granted_.begin(), granted_.end(), [](auto* a, auto* b) { return *a->granted < *b->granted; });
  }

  void exclusion() {
    std::vector<const tenure*> in;
    for (const tenure* b : granted_) {
      std::erase_if(in, [b](const tenure* a) { return a->claimed_until() <= *b->granted; });
      if (b->claimed_until() <= *b->granted) continue;
      if (b->kind == "counting_semaphore") {
        in.push_back(b);
        if (fits(in)) continue;
        std::vector<const tenure*> surely_in = in;
        std::erase_if(surely_in, [&](const tenure* a) { return may_have_ended(*a, *b); });
        if (surely_in.empty() || fits(surely_in)) {
          ++j_.counts["allowed: more than the limit, for the clock was stepped"];
          continue;
        }
        instant since = b->called;
        for (const tenure* a : in) since = std::min(since, a->called);
        if (lost_in(since, *b->granted))
          ++j_.counts["allowed: more than the limit"];
        else
          violated("more than the limit", *in.front(), *b);
        continue;
      }
      for (const tenure* a : in) {
        if (!together(*a, *b)) overlap(*a, *b);
      }
      in.push_back(b);
    }
  }

  void fences() {
    if (granted_.empty()) return;
    if (granted_.front()->kind == "counting_semaphore") return fences_of_permits();
    // Those whose grant had arrived before b was asked for (in virtual time much happens in one instant); those that
    // claimed nothing any more when b was granted.
    std::vector<const tenure*> by_call = granted_, by_end = granted_;
    std::sort(by_call.begin(), by_call.end(), [](auto* a, auto* b) { return a->called < b->called; });
    std::sort(by_end.begin(), by_end.end(), [](auto* a, auto* b) { return a->claimed_until() < b->claimed_until(); });
    std::map<std::string, const tenure*> most;
    auto a = granted_.begin();
    for (const tenure* b : by_call) {
      for (; a != granted_.end() && *(*a)->granted < b->called; ++a) grow(most, **a);
      compare(most, *b, false);
    }
    most.clear();
    a = by_end.begin();
    for (const tenure* b : granted_) {
      if (b->claimed_until() <= *b->granted) continue;
      for (; a != by_end.end() && (*a)->claimed_until() <= *b->granted; ++a) {
        if ((*a)->claimed_until() > *(*a)->granted) grow(most, **a);
      }
      compare(most, *b, true);
    }
  }

 private:
  bool lost_in(instant from, instant to) const {
    return std::any_of(excuses_.losing.begin(), excuses_.losing.end(),
                       [&](const span& s) { return s.from <= to && s.to >= from; });
  }

  // They are in the order of the grants, and a client gives the grant of one who has gone to one who has asked later.
  void fences_of_permits() {
    std::map<std::uint64_t, const tenure*> seen;
    for (const tenure* t : granted_) {
      const auto [at, is_new] = seen.emplace(t->fence, t);
      if (!is_new && !t->resumed && !excuses_.unordered && !lost_in(at->second->called, *t->granted))
        violated("the same fence twice", *at->second, *t);
    }
  }

  // By how much the clock was stepped forward in its time without being seen. (A jump that is seen after another step
  // need not show the first one, if that was smaller than what replies tell of a clock.)
  instant stepped(const tenure& t, instant until) const {
    instant by = 0;
    instant next = until;
    for (auto s = excuses_.steps.rbegin(); s != excuses_.steps.rend(); ++s) {
      const bool seen = std::any_of(t.jumps.begin(), t.jumps.end(),
                                    [&](instant j) { return s->when.from <= j && j < std::min(next, until); });
      if (s->when.from <= until && s->when.to >= t.called && !seen) by += s->by;
      next = s->when.from;
    }
    return by;
  }

  // By enough for its lease to have ended before the newer one's grant.
  bool may_have_ended(const tenure& older, const tenure& newer) const {
    return older.claimed_until() - stepped(older, *newer.granted) <= *newer.granted;
  }

  // All were in together, so the last one of them entered beside the others, under the limit of then.
  bool fits(const std::vector<const tenure*>& in) const {
    const auto last = std::max_element(in.begin(), in.end(), [](auto* a, auto* b) { return a->fence < b->fence; });
    return in.size() <= limit_for(**last);
  }

  // The largest limit that may have been in force when it entered. A limit is certain only since a resize, and as long
  // as the semaphore is not free: whoever comes first brings the one that he knows.
  std::uint64_t limit_for(const tenure& t) const {
    const operation* certain = nullptr;
    for (const operation* r : limits_.resizes) {
      if (r->reason == "Success" && *r->ended <= t.called) certain = r;
    }
    if (!certain || !never_free(certain->called, *t.granted)) return limits_.most;
    std::uint64_t limit = certain->resize;
    for (const operation* r : limits_.resizes) {
      // One that was not answered runs when its server goes on, if it does.
      const instant by = r->reason == "Success" ? *r->ended : r->ended.value_or(r->called) + late_bytes;
      if (r->called <= *t.granted && by >= certain->called) limit = std::max(limit, r->resize);
    }
    return limit;
  }

  bool never_free(instant from, instant to) const {
    for (const tenure* a : granted_) {
      if (*a->granted > from) return false;
      if (!lost_in(a->called, a->claimed_until())) from = std::max(from, a->claimed_until() - stepped(*a, to));
      if (from >= to) return true;
    }
    return false;
  }

  void violated(const std::string& what, const tenure& a, const tenure& b) {
    const auto text = [](const tenure& t) {
      return fmt::format("\n  {} {} called {} granted {} expires {} given up {} told {} fence {}", t.id, t.who,
                         shown(t.called), shown(*t.granted), shown(t.expires), shown(t.given_up.value_or(0)),
                         shown(t.told.value_or(0)), t.fence);
    };
    j_.violations.push_back(what + ": " + a.kind + " " + a.name + text(a) + text(b));
  }

  void overlap(const tenure& a, const tenure& b) {
    const bool in_order = a.fence < b.fence;
    const tenure& older = in_order ? a : b;
    const tenure& newer = in_order ? b : a;
    // A resource that has seen the newer one's fence refuses the older one's.
    if (a.fence == b.fence)
      violated("together with the same fence", a, b);
    else if (may_have_ended(older, newer))
      ++j_.counts["allowed: two at a time, for the clock was stepped"];
    else if (lost_in(older.called, *newer.granted))
      ++j_.counts["allowed: two at a time, told apart by the fence"];
    else
      violated("together", a, b);
  }

  static void grow(std::map<std::string, const tenure*>& most, const tenure& a) {
    const tenure*& m = most[a.who];
    if (!m || m->fence < a.fence) m = &a;
  }

  void compare(const std::map<std::string, const tenure*>& most, const tenure& b, bool excused) {
    for (const auto& [who, a] : most) {
      if (a->fence < b.fence || (a->fence == b.fence && (b.resumed || together(*a, b)))) continue;
      // Each server of a quorum lets readers into the phase that it knows.
      if (excuses_.quorum && together(*a, b) && (excused || b.kind == "shared_mutex" || joins_another(*a, b))) continue;
      if (excused && (lost_in(std::min(a->called, b.called), *b.granted) || may_have_ended(b, *a))) continue;
      if (excuses_.unordered)
        ++j_.counts["allowed: a fence that went back, for a server has forgotten it"];
      else if (found_again(b))
        ++j_.counts["allowed: an owner finds his former tenure, whose end was lost"];
      else
        violated("a fence that does not grow", *a, b);
    }
  }

  // Entries of one owner that overlap may have different fences on a quorum, and b has joined another one of them than
  // a. (One whose process has died lasts for its lease.)
  bool joins_another(const tenure& a, const tenure& b) const {
    const auto lasts_until = [](const tenure& t) { return std::max(t.claimed_until(), t.expires); };
    return std::any_of(granted_.begin(), granted_.end(), [&](const tenure* c) {
      return c->fence == b.fence && together(*c, b) && c != &b && *c->granted <= lasts_until(a) &&
             *a.granted <= lasts_until(*c);
    });
  }

  // A fail-over that loses the end of a tenure brings it back: its owner enters it again, with its fence. A resource
  // that has seen the fences in between refuses it. What its client took back before it was notified of the grant has
  // no fence in the notes: it was later than those of all grants before it was asked for.
  bool found_again(const tenure& b) const {
    const auto is_lost = [&](const tenure* c) { return c->who == b.who && lost_in(c->called, *b.granted); };
    const auto is_found = [&](const tenure* c) {
      return is_lost(c) && c->fence == b.fence && *c->granted < *b.granted;
    };
    const auto may_be_found = [&](const tenure* c) {
      return is_lost(c) && c->called < b.called && std::none_of(granted_.begin(), granted_.end(), [&](const tenure* d) {
               return *d->granted < c->called && d->fence >= b.fence;
             });
    };
    return std::any_of(granted_.begin(), granted_.end(), is_found) ||
           (b.kind == "recursive_mutex" && std::any_of(in_vain_.begin(), in_vain_.end(), may_be_found));
  }

  judgement& j_;
  const excuses& excuses_;
  std::vector<const tenure*> granted_;
  std::vector<const tenure*> in_vain_;  // Attempts without a grant that was reported.
  const limits& limits_;
};

// `reasons`: when a hold may have been lost.
// `resized`: the names of semaphores whose limit was changed.
void judge_times(judgement& j, const process_history& p, const std::vector<span>& reasons,
                 const std::set<std::string>& resized) {
  const auto violated = [&](const std::string& what, const std::string& who) {
    std::string text = what + ": " + who;
    for (const span& s : p.frozen) text += "\n  frozen from " + shown(s.from) + " to " + shown(s.to);
    j.violations.push_back(text);
  };
  // `describe` makes the text of what is judged. Most of it is not told.
  const auto ends = [&](const auto& describe, std::optional<instant> limit, std::optional<instant> ended,
                        const std::string& reason) {
    if (!ended) {
      if (!p.killed) violated("has not ended", describe());
      return;
    }
    ++j.counts["ended: " + reason];
    if (!limit) return;
    const instant by = p.late(*limit, *ended);
    if (by > j.latest_end) {
      j.latest_end = by;
      j.latest = describe() + ", " + reason;
    }
    if (by > bound) {
      violated("ended late, with " + reason, describe() + " limit " + shown(*limit) + " ended " + shown(*ended));
    }
  };
  // Other words would mean that somebody gets an error that is none of his.
  static const std::set<std::string> usual{"granted", "Success",     "busy",    "timed out",
                                           "lost",    "unreachable", "refused", "no quorum"};
  for (const auto& [id, o] : p.operations) {
    ends([&o = o] { return o.id + " " + o.what; }, o.limit, o.ended, o.what + ", " + o.reason);
    if (o.ended && !usual.contains(o.reason)) violated(o.what + " ended with " + o.reason, o.id);
  }
  const auto of_a_resized = [&](const tenure& t) { return t.kind == "counting_semaphore" && resized.contains(t.name); };
  std::set<std::string> with_a_resized;
  for (const auto& [id, t] : p.tenures) {
    if (!t.together.empty() && of_a_resized(t)) with_a_resized.insert(t.together);
  }
  for (const auto& [id, t] : p.tenures) {
    const auto who = [&t = t] { return t.id + " " + t.kind + " " + t.name + " called " + shown(t.called); };
    ++j.counts["attempts"];
    ends(who, t.limit, t.granted ? t.granted : t.ended, t.granted ? "granted" : t.reason);
    const bool may_be = (t.cancelled && t.reason == "Operation canceled") ||
                        (t.reason == "wrong limit" && (of_a_resized(t) || with_a_resized.contains(t.together)));
    if (t.ended && !usual.contains(t.reason) && !may_be) {
      violated("ended with " + t.reason, who());
    }
    if (t.ended && !t.limit && (t.reason == "timed out" || t.reason == "unreachable" || t.reason == "no quorum")) {
      violated("asked for ever and ended with " + t.reason, who());
    }
    if (!t.granted) continue;
    ++j.counts["grants"];
    ++j.counts["grants of a " + t.kind];
    if (t.told) ++j.counts["losses told"];
    std::optional<instant> end = t.given_up;
    if (t.told && (!end || *t.told < *end)) end = t.told;
    if (!end && p.killed) continue;
    const auto times = [&, &t = t] {
      return who() + " granted " + shown(*t.granted) + " expires " + shown(t.expires) + " end " +
             shown(end.value_or(0));
    };
    if (!end) {
      violated("its loss was not told", times());
      continue;
    }
    // A step of the clock is seen when the deadline that it leaves may have passed already, even before the grant is
    // told.
    const instant by = p.late(std::max({t.expires, *t.granted, t.jumps.empty() ? 0 : t.jumps.back()}), *end);
    j.latest_loss = std::max(j.latest_loss, by);
    if (by > bound) violated("its loss was told late", times());
    if (end == t.told && *end < t.expires - t.margin - nearly) {
      ++j.counts["losses told early"];
      const bool reason = std::any_of(reasons.begin(), reasons.end(), [&end, &called = t.called](const span& s) {
        return s.from <= *end && s.to >= called;
      });
      if (!reason) violated("lost without a reason", times());
    }
  }
}

// All or none.
void judge_groups(judgement& j, const process_history& p) {
  std::map<std::string, std::vector<const tenure*>> groups;
  for (const auto& [id, t] : p.tenures) {
    if (!t.together.empty()) groups[t.together].push_back(&t);
  }
  for (const auto& [together, all] : groups) {
    const auto granted = std::count_if(all.begin(), all.end(), [](auto* t) { return t->granted.has_value(); });
    const auto ended = std::count_if(all.begin(), all.end(), [](auto* t) { return t->ended.has_value(); });
    std::string who = p.name;
    for (const tenure* t : all) who += " " + t->id + " " + t->name;
    if (granted != 0) ++j.counts["grants of several at once"];
    if (granted != 0 && ended != 0) j.violations.push_back("a part of what was asked for together: " + who);
    if (granted == 0) continue;
    // The holds of all of them were valid when the last one was there.
    instant last = 0, first_end = std::numeric_limits<instant>::max();
    for (const tenure* t : all) {
      if (!t->granted) continue;
      last = std::max(last, *t->granted);
      first_end = std::min(first_end, t->at_first);
    }
    if (p.late(first_end, last) > together_bound) j.violations.push_back("not all of them at once: " + who);
  }
}

}  // namespace

instant now_noted() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string shown(instant t) { return fmt::format("{}.{:03}", t / ms, t / 1000 % 1000); }

instant tenure::claimed_until() const {
  instant end = expires;
  if (given_up) end = std::min(end, *given_up);
  if (told) end = std::min(end, *told);
  return end;
}

instant process_history::late(instant limit, instant t) const {
  instant by = t - limit;
  for (const span& s : frozen) by -= std::max<instant>(0, std::min(s.to, t) - std::max(s.from, limit));
  return by;
}

void process_history::read(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    // The last line of a process that was killed may be a part.
    if (file.eof()) break;
    std::istringstream words(line);
    std::string what, id;
    words >> what >> id;
    const auto number = [&] {
      instant n = 0;
      if (!(words >> n)) throw std::runtime_error("a note that cannot be read: " + line);
      return n;
    };
    const auto rest = [&] {
      std::string text;
      std::getline(words >> std::ws, text);
      return text;
    };
    if (what == "call") {
      tenure& t = tenures[id];
      t.id = name + "/" + id;
      words >> t.kind >> t.name >> t.who;
      t.called = number();
      if (const instant limit = number(); limit >= 0) t.limit = t.called + limit;
      t.cancelled = number() != 0;
      t.margin = number();
      words >> t.client;
    } else if (what == "together") {
      words >> tenures.at(id).together;
    } else if (what == "end") {
      tenure& t = tenures.at(id);
      t.ended = number();
      t.reason = rest();
    } else if (what == "grant") {
      tenure& t = tenures.at(id);
      t.granted = number();
      t.fence = static_cast<std::uint64_t>(number());
      t.at_first = t.expires = number();
    } else if (what == "expires") {
      tenure& t = tenures.at(id);
      t.expires = number();
    } else if (what == "give_up") {
      tenures.at(id).given_up = number();
    } else if (what == "told") {
      tenures.at(id).told = number();
    } else if (what == "resize") {
      operation& o = operations[id];
      words >> o.name;
      o.resize = static_cast<std::uint64_t>(number());
    } else if (what == "begin") {
      operation& o = operations[id];
      o.id = name + "/" + id;
      words >> o.what;
      o.called = number();
      o.limit = number();
    } else if (what == "done") {
      operation& o = operations.at(id);
      o.ended = number();
      o.reason = rest();
    } else if (what == "jump") {
      jumps.push_back(number());
      // One that is killed has no time to say what it believes then.
      if (killed) continue;
      for (auto& [other, t] : tenures) {
        if (t.client == id && !t.ended && !t.given_up) t.jumps.push_back(jumps.back());
      }
    } else if (what == "stall") {
      const instant from = number();
      frozen.push_back({from, number()});
    } else if (what == "count") {
      counts[id] += static_cast<std::uint64_t>(number());
    } else {
      throw std::runtime_error("a note that cannot be read: " + line);
    }
  }
}

judgement judge(const std::vector<process_history>& processes, const excuses& e) {
  judgement j;
  std::vector<span> reasons = e.losing;
  reasons.insert(reasons.end(), e.forgetting.begin(), e.forgetting.end());
  for (const step& s : e.steps) reasons.push_back(s.when);
  std::map<std::string, std::vector<const tenure*>> granted, in_vain;
  std::map<std::string, limits> semaphores;
  std::set<std::string> resized;
  for (const auto& p : processes) {
    for (const auto& [id, o] : p.operations) {
      if (o.resize == 0) continue;
      limits& l = semaphores[o.name];
      l.most = std::max(l.most, o.resize);
      l.resizes.push_back(&o);
      resized.insert(o.name);
    }
    for (const auto& [id, t] : p.tenures) {
      if (t.kind != "counting_semaphore") continue;
      limits& l = semaphores[t.name];
      l.most = std::max<std::uint64_t>(l.most, std::stoull(t.who));
    }
  }
  for (auto& [name, l] : semaphores) {
    std::sort(l.resizes.begin(), l.resizes.end(), [](auto* a, auto* b) { return a->called < b->called; });
  }
  for (const auto& p : processes) {
    judge_times(j, p, reasons, resized);
    judge_groups(j, p);
    if (const auto n = p.counts.find("held_by_nobody"); n != p.counts.end() && n->second != 0) {
      j.violations.push_back("holds that nobody has: " + std::to_string(n->second) + " of " + p.name);
    }
    j.counts["stalls"] += p.frozen.size();
    j.counts["steps of a clock seen"] += p.jumps.size();
    for (const instant seen : p.jumps) {
      const bool stepped =
          std::any_of(e.steps.begin(), e.steps.end(), [&](const step& s) { return s.when.from <= seen; });
      if (!stepped) j.violations.push_back("saw a step of a clock that was not stepped: " + p.name + " " + shown(seen));
    }
    for (const auto& [what, n] : p.counts) j.counts[what] += n;
    for (const auto& [id, t] : p.tenures) {
      (t.granted ? granted : in_vain)[t.name].push_back(&t);
    }
  }
  for (auto& [name, all] : granted) {
    judge_of_one one(j, e, std::move(all), std::move(in_vain[name]), semaphores[name]);
    one.exclusion();
    one.fences();
  }
  return j;
}

}  // namespace leasehold::test
