// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "schedule/queue_model.hpp"

#include "support/unit_test.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::test {

// ---- What differs between the kinds

bool record_model::admits(const std::string& ask, bool from_queue) const {
  switch (kind) {
    case lock_kind::mutex: return !occupied();
    case lock_kind::recursive_mutex: return !occupied() || about == ask;
    case lock_kind::shared_mutex: return members.empty() || (about == "r" && ask[0] == 'r');
    case lock_kind::counting_semaphore:
      return members.empty() || (members.size() < std::stoul(about) && (from_queue || ask == about));
  }
  return false;
}

bool record_model::reenters(const std::string& ask) const {
  switch (kind) {
    case lock_kind::recursive_mutex: return occupied() && about == ask;
    case lock_kind::shared_mutex:
      return ask.size() > 1 && ask[0] == 'r' &&
             std::any_of(members.begin(), members.end(), [&](const member& m) { return m.ask == ask; });
    default: return false;
  }
}

std::string record_model::about_for(const std::string& ask) const {
  return kind == lock_kind::shared_mutex ? ask.substr(0, 1) : ask;
}

std::int64_t record_model::left_for() const {
  const std::int64_t soon = (soonest - now + 999) / 1000;
  if (kind == lock_kind::counting_semaphore) return std::max<std::int64_t>(0, soon);
  const bool endless = kind != lock_kind::mutex && expires < 0 && !members.empty();
  return endless ? soon : key_left();
}

std::string record_model::depth() const {
  return kind == lock_kind::recursive_mutex ? " " + std::to_string(count()) : "";
}

// ---- What does not

const record_model::member* record_model::find(const std::string& token) const {
  const auto m = std::find_if(members.begin(), members.end(), [&](const member& x) { return x.token == token; });
  return m == members.end() ? nullptr : &*m;
}

record_model::member* record_model::find(const std::string& token) {
  return const_cast<member*>(std::as_const(*this).find(token));
}

void record_model::clear() {
  members.clear();
  foreign = 0;
  has_header = false;
  latest = 0;
  soonest = 0;
  about.clear();
}

void record_model::tick() {
  if (exists() && expires >= 0 && ms() > expires) clear();
}

void record_model::take_out() {
  if (kind == lock_kind::mutex || members.empty() || now < soonest) return;
  std::erase_if(members, [&](const member& m) { return m.deadline <= now; });
  soonest = now;
  for (const auto& m : members) soonest = soonest == now ? m.deadline : std::min(soonest, m.deadline);
}

std::uint64_t record_model::next_fence() {
  last_fence = std::max(last_fence + 1, now);
  return static_cast<std::uint64_t>(last_fence) * 2048;
}

std::uint64_t record_model::enter(const std::string& token, const std::string& ask, std::int64_t lease) {
  const std::int64_t deadline = now + lease * 1000;
  if (!occupied() || (expires >= 0 && key_left() < lease)) expires = ms() + lease;
  latest = shares_fence() && !members.empty() ? latest : next_fence();
  soonest = members.empty() ? deadline : std::min(soonest, deadline);
  if (members.empty()) about = about_for(ask);
  members.push_back({token, deadline, latest, ask});
  has_header = true;
  return latest;
}

void record_model::shorten(std::int64_t deadline) {
  const std::int64_t ends = now + key_left() * 1000;
  if (expires >= 0 && (deadline + 110000 < ends || ends - soonest <= 100000)) return;
  std::int64_t longest = 0;
  soonest = members.front().deadline;
  for (const auto& m : members) {
    longest = std::max(longest, m.deadline);
    soonest = std::min(soonest, m.deadline);
  }
  expires = std::max((longest + 999) / 1000, ms() + 1);
}

void record_model::leave(const std::string& token) {
  const std::int64_t deadline = find(token)->deadline;
  std::erase_if(members, [&](const member& m) { return m.token == token; });
  if (!members.empty() && only_members()) shorten(deadline);
}

void record_model::finish() {
  if (!occupied()) clear();
}

std::int64_t record_model::lengthen(const std::string& token, std::int64_t lease) {
  member& m = *find(token);
  if (kind == lock_kind::mutex) {
    if (key_left() < lease) expires = ms() + lease;
    return key_left();
  }
  if (expires >= 0 && key_left() < lease) expires = ms() + lease;
  if (lease > 0) m.deadline = std::max(m.deadline, now + lease * 1000);
  const std::int64_t rest = (m.deadline - now) / 1000;
  if (expires < 0) {
    if (only_members()) shorten(m.deadline);
    return rest;
  }
  return std::min(key_left(), rest);
}

std::uint64_t record_model::refresh(const std::string& token) {
  latest = next_fence();
  find(token)->fence = latest;
  return latest;
}

std::string record_model::stored() const {
  if (kind == lock_kind::mutex) {
    if (foreign > 0) return "somebody";
    return members.empty() ? "" : "leasehold:" + members[0].token + ":" + std::to_string(members[0].fence);
  }
  std::map<std::string, std::string> fields;
  if (kind == lock_kind::recursive_mutex && occupied()) fields[about] = std::to_string(count());
  if (has_header) {
    static const char* const names[] = {"mutex", "recursive_mutex", "shared_mutex", "counting_semaphore"};
    fields["leasehold"] = std::string(names[static_cast<int>(kind)]) + " " + std::to_string(latest) + " " +
                          std::to_string(members.size()) + " " + std::to_string(soonest) + " " + about;
  }
  for (const auto& m : members) {
    fields["leasehold:" + m.token] = std::to_string(m.deadline) + " " + std::to_string(m.fence) + " " + m.ask;
  }
  std::string all;
  for (const auto& [name, value] : fields) all += name + "=" + value + ";";
  return all;
}

// ---- The queue

void queue_model::tick() {
  lock.tick();
  if (!waiting.empty() && lock.ms() > queue_expires) forget_queue();
}

void queue_model::forget_queue() {
  waiting.clear();
  ran = {};
}

std::string queue_model::stored_runs() const {
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  return text(ran.last) +
         (ran.resumed > 0 ? " " + text(ran.before) + " " + text(ran.resumed) + " " + text(ran.back) : "");
}

// No script ran for longer than polls in front are apart, or the clock was stepped back.
void queue_model::begin_script() {
  lock.take_out();
  now_ = ran;
  runs_are_old_ = false;
  if (waiting.empty()) return;
  const auto since = lock.now - ran.last;
  if (lock.now > ran.resumed + 16000000) now_ = {ran.last};
  if (since < 0) {
    now_ = {ran.last, lock.now, lock.now, -since};
  } else if (since > 900000) {
    now_.before = ran.last;
    now_.resumed = lock.now;
  }
  runs_are_old_ = since > 250000 || since < 0;
}

void queue_model::note_run() {
  ran = {lock.now, now_.before, now_.resumed, now_.back};
  runs_are_old_ = false;
}

std::int64_t queue_model::due_of(const entry& e) const {
  const bool too_far = e.due > lock.now + 5100000;
  const auto due = too_far ? std::min(e.due - now_.back, now_.resumed + 5000000) : e.due;
  const bool was_living = due + 1000000 > now_.before;
  return was_living ? std::max(due, now_.resumed) : due;
}

std::string queue_model::clock() const {
  return " " + std::to_string(lock.now / 1000000) + " " + std::to_string(lock.now % 1000000);
}

std::deque<queue_model::entry>::iterator queue_model::find(const std::string& token) {
  return std::find_if(waiting.begin(), waiting.end(), [&](const entry& e) { return e.token == token; });
}

bool queue_model::leave_queue(const std::string& token) {
  const auto e = find(token);
  if (e == waiting.end()) return false;
  waiting.erase(e);
  if (waiting.empty()) ran = {};
  return true;
}

// The token of the next living entry that has not been granted, "" if there is none.
std::string queue_model::next_waiting(walk& w) {
  while (w.silent < 32 && w.at < 256 && w.at < waiting.size()) {
    const entry& e = waiting[w.at];
    if (gone(e)) {
      ++w.silent;
      ++taken_out;
      leave_queue(std::string(e.token));
      continue;
    }
    ++w.at;
    forgiven += living(e) && lock.now > e.due + 1000000;
    if (!living(e)) {
      ++w.silent;
      ++passed_over;
    } else if (!lock.is_in(e.token)) {
      return e.token;
    }
  }
  return "";
}

void queue_model::tell(const std::string& token, const std::string& text) {
  sent.push_back({token.substr(0, token.find('.')), text, find(token)->ask});
}

void queue_model::watch(const std::string& token) {
  const auto e = find(token);
  if (e == waiting.end() || due_of(*e) <= lock.now + 767000) return;
  e->due = lock.now + 667000;
  tell(e->token, "watch " + e->token);
}

// First come, first served: whoever came before is in, or was silent.
void queue_model::require_order(const std::string& token) const {
  for (const auto& e : waiting) {
    if (e.token == token) return;
    BOOST_REQUIRE_MESSAGE(!living(e) || lock.is_in(e.token), token + " overtakes " + e.token);
  }
}

queue_model::front queue_model::advance(const std::string& asker, std::int64_t asked) {
  front f;
  f.first = next_waiting(f.w);
  if (f.w.at > 0 && runs_are_old_) note_run();
  for (int i = 0; i < 32 && !f.first.empty(); ++i) {
    const auto e = find(f.first);
    if (!lock.admits(e->ask, true) && !lock.reenters(e->ask)) break;
    require_order(f.first);
    if (f.first == asker) {
      lock.enter(e->token, e->ask, asked);
      leave_queue(asker);
      --f.w.at;
      f.asker_is_in = true;
    } else {
      const auto lease = std::min<std::int64_t>(e->lease, 2000);
      const auto fence = lock.enter(e->token, e->ask, lease);
      if (due_of(*e) > lock.now + 667000) e->due = lock.now + 667000;
      tell(e->token, "granted " + e->token + " " + std::to_string(fence) + " " + e->stamp + " " +
                         std::to_string(lease) + lock.depth());
      ++handed_off;
    }
    f.first = next_waiting(f.w);
  }
  if (!f.first.empty()) f.second = next_waiting(f.w);
  watch(f.first);
  watch(f.second);
  return f;
}

std::string queue_model::answer(int status, std::uint64_t fence, std::int64_t left) {
  lock.finish();
  return std::to_string(status) + " " + std::to_string(fence) + " " + std::to_string(left) + clock() +
         (status == 1 ? lock.depth() : "");
}

std::string queue_model::lengthen(const std::string& token, std::int64_t lease, bool may_leave, bool made_room) {
  const auto left = lock.lengthen(token, lease);
  const auto fence = lock.find(token)->fence;
  if (may_leave && (leave_queue(token) || (made_room && !waiting.empty()))) advance("");
  return answer(1, fence, left);
}

// The limit of a semaphore: the record's while it is held, else that of the first living entry, or of the asker's own.
std::string queue_model::limit_for(const std::string& token, const std::string& ask) {
  if (!lock.members.empty()) return lock.about;
  walk w;
  const auto first = next_waiting(w);
  const auto e = find(first.empty() ? token : first);
  return e == waiting.end() ? ask : e->ask;
}

std::string queue_model::acquire(const std::string& token, std::int64_t lease, const std::string& stamp,
                                 const std::string& ask, bool late, bool repair) {
  begin_script();
  if (lock.kind == lock_kind::counting_semaphore && !lock.is_in(token)) {
    const std::string limit = limit_for(token, ask);
    if (ask != limit) return answer(-2, 0, std::stoll(limit));
  }
  if (lock.is_in(token)) return lengthen(token, late ? 0 : lease, true);
  if (late) return answer(-1, 0, 0);
  const bool again = lock.reenters(ask);
  if (again || (waiting.empty() && lock.admits(ask, false))) {
    entered_again += again;
    if (!again) require_order(token);
    leave_queue(token);
    return answer(1, lock.enter(token, ask, lease), lease);
  }
  const bool waited_for = !waiting.empty();
  if (!stamp.empty() || waited_for) queue_expires = lock.ms() + 60000;
  if (!stamp.empty()) {
    auto e = find(token);
    if (e == waiting.end()) {
      waiting.push_back({token, {}, 0, 0, {}});
      e = std::prev(waiting.end());
    }
    *e = {token, stamp, lease, lock.now + 667000, ask};
    note_run();
  }
  front f = advance(token, lease);
  if (!f.asker_is_in && f.first.empty() && f.w.at < 256 && lock.admits(ask, waited_for)) {
    if (f.w.silent < 32) require_order(token);
    leave_queue(token);
    lock.enter(token, ask, lease);
    f.asker_is_in = true;
  }
  if (f.asker_is_in) return answer(1, lock.find(token)->fence, lease);
  std::int64_t left = lock.left_for();
  if (left == -1 && repair) {
    lock.expires = lock.ms() + lease;
    left = lease;
  }
  if (stamp.empty()) return answer(0, 0, left);
  // In front, or no living entry is known to be.
  if (f.second.empty() || f.first == token || f.second == token || overdue(*find(f.first)) ||
      overdue(*find(f.second))) {
    return answer(2, 0, left);
  }
  find(token)->due = lock.now + 5000000;
  return answer(3, 0, left);
}

std::string queue_model::extend(const std::string& token, std::int64_t lease, bool confirm) {
  begin_script();
  return lock.is_in(token) ? lengthen(token, lease, confirm) : answer(0, 0, 0);
}

std::string queue_model::release(const std::string& token) {
  // Of the last one to leave, without a queue, the deadline is not checked.
  const auto* const m = lock.find(token);
  const bool is_late = m != nullptr && lock.count() > 1 && m->deadline <= lock.now;
  if (!waiting.empty() || m == nullptr || is_late) begin_script();
  const bool mine = lock.is_in(token);
  if (mine) lock.leave(token);
  const bool others = lock.occupied();
  if (!waiting.empty()) {
    leave_queue(token);
    advance("");
  }
  lock.finish();
  return mine ? "1" : others ? "0" : "-1";
}

bool queue_model::others_wait(const std::string& token, const std::string& ask) {
  walk w;
  const auto client = token.substr(0, token.find('.') + 1);
  auto one = next_waiting(w);
  for (int looked_at = 0; looked_at < 32; ++looked_at) {
    if (one.empty()) return false;
    if (!one.starts_with(client) || find(one)->ask != ask) return true;
    one = next_waiting(w);
  }
  return !one.empty();
}

std::string queue_model::keep(const std::string& token, std::int64_t lease, const std::string& ask) {
  begin_script();
  if (!lock.is_in(token) || others_wait(token, ask)) return release(token);
  return renewed(token, lease);
}

std::string queue_model::refresh(const std::string& token, std::int64_t lease, const std::string& ask, bool late) {
  begin_script();
  if (!lock.is_in(token)) return answer(0, 0, 0);
  if (late) return answer(-1, 0, 0);
  if (others_wait(token, ask)) return answer(2, 0, 0);
  return renewed(token, lease);
}

std::string queue_model::renewed(const std::string& token, std::int64_t lease) {
  ++kept;
  const auto left = lock.lengthen(token, lease);
  return answer(1, lock.refresh(token), left);
}

std::string queue_model::downgrade(const std::string& token) {
  begin_script();
  record_model::member* m = lock.find(token);
  if (m == nullptr) return answer(0, 0, 0);
  const bool was_writer = lock.about == "w";
  if (was_writer) {
    lock.about = "r";
    m->ask[0] = 'r';
    lock.refresh(token);
  }
  return lengthen(token, 0, true, was_writer);
}

std::string queue_model::resize(const std::string& limit, bool late) {
  begin_script();
  if (late) return answer(-1, 0, 0);
  if (!lock.members.empty()) lock.about = limit;
  for (auto& e : waiting) e.ask = limit;
  if (!waiting.empty()) advance("");
  return answer(1, 0, 0);
}

std::string queue_model::inspect() {
  begin_script();
  const std::string waiters = std::to_string(waiting.size());
  lock.finish();
  if (!lock.exists()) return "0,0,0," + waiters + ",";
  const bool is_mutex = lock.kind == lock_kind::mutex;
  std::string all = std::to_string(lock.count()) + "," + std::to_string(lock.latest) + "," +
                    std::to_string(lock.key_left()) + "," + waiters + "," + (is_mutex ? "" : lock.about);
  if (is_mutex && lock.foreign > 0) return all + ",somebody," + std::to_string(lock.key_left()) + ",";
  std::map<std::string, std::string> sorted;
  const auto key_left = lock.key_left();
  for (const auto& m : lock.members) {
    const auto own = (m.deadline - lock.now) / 1000;
    // A hold ends with its key at the latest.
    const auto left = is_mutex || (key_left >= 0 && key_left < own) ? key_left : own;
    sorted[m.token] = "," + m.token + "," + std::to_string(left) + "," + m.ask;
  }
  for (const auto& [token, text] : sorted) all += text;
  return all;
}

}  // namespace leasehold::test
