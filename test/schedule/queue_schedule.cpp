// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "schedule/queue_schedule.hpp"

#include "support/unit_test.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

namespace leasehold::test {
namespace {

const std::string record = "record";
const std::string counter = "leasehold:{0}:fence";
const std::string queue = "leasehold:{0}:queue:record";
const std::string entries = "leasehold:{0}:entries:record";
const std::string channels = "leasehold:{0}:";

std::string text_of(const reply& r) {
  std::string all = r.text;
  for (const auto& item : r.items) all += (all.empty() ? "" : ",") + text_of(item);
  return all;
}

// A hash: as record_model::stored() tells it.
std::string hash_of(const reply& r) {
  if (r.type != '*') return r.text;
  std::map<std::string, std::string> fields;
  for (std::size_t i = 0; i + 1 < r.items.size(); i += 2) fields[r.items[i].text] = r.items[i + 1].text;
  std::string all;
  for (const auto& [name, value] : fields) all += name + "=" + value + ";";
  return all;
}

// What inspect answers: its holds come in any order.
std::string inspection_of(const reply& r) {
  if (r.type != '*') return r.text;
  std::string all;
  std::map<std::string, std::string> holds;
  for (std::size_t i = 0; i < r.items.size(); ++i) {
    const std::string text = (i == 0 ? "" : ",") + r.items[i].text;
    (i < 5 ? all : holds[r.items[5 + (i - 5) / 3 * 3].text]) += text;
  }
  for (const auto& [token, text] : holds) all += text;
  return all;
}

// Of a reply or a message: its longest number; a stamp or a time is never as long.
std::uint64_t fence_of(const std::string& text) {
  std::istringstream in(text);
  std::uint64_t most = 0;
  for (std::string word; in >> word;) {
    if (word.size() > 17 && word.find('.') == word.npos) most = std::max<std::uint64_t>(most, std::stoull(word));
  }
  return most;
}

}  // namespace

std::uint64_t chosen_seed() {
  const char* text = std::getenv("LEASEHOLD_SEED");
  const std::uint64_t seed = text ? std::strtoull(text, nullptr, 10) : std::random_device()();
  BOOST_TEST_MESSAGE("LEASEHOLD_SEED=" << seed);
  return seed;
}

const detail::script& script_of(lock_kind kind) {
  switch (kind) {
    case lock_kind::recursive_mutex: return detail::scripts::recursive_mutex;
    case lock_kind::shared_mutex: return detail::scripts::shared_mutex;
    case lock_kind::counting_semaphore: return detail::scripts::counting_semaphore;
    default: return detail::scripts::mutex;
  }
}

queue_schedule::queue_schedule(lock_kind k, std::uint64_t seed, script_host& host)
    : kind(k), engine_(seed), host_(host) {
  host_.load(script_of(kind).text);
  m.lock.now = 1800000000000000;
  set_clock();
}

std::string queue_schedule::any_owner() {
  static const std::string owners[] = {"owner", " two\nlines", std::string("a\0b", 3)};
  return owners[random(3)];
}

std::string queue_schedule::any_limit() { return std::to_string(2 + random(4)); }

std::string queue_schedule::any_ask() {
  switch (kind) {
    case lock_kind::recursive_mutex: return any_owner();
    case lock_kind::shared_mutex: return (one_in(3) ? "w" : "r") + (one_in(2) ? any_owner() : "");
    case lock_kind::counting_semaphore: return one_in(20) ? any_limit() : m.lock.members.empty() ? "3" : m.lock.about;
    default: return "";
  }
}

void queue_schedule::pass(std::int64_t microseconds) {
  flush();
  m.lock.now += microseconds;
  set_clock();
  m.tick();
}

void queue_schedule::step_back(std::int64_t microseconds) {
  if (m.lock.last_fence == 0) return;  // All is lost, and only the clock keeps fences from going back.
  check();                             // What has expired is gone, and stays so.
  flush();
  if (!rules_.forget_ended(m.lock.now)) return;
  latest_ = std::max(latest_, m.lock.now);
  pass(-microseconds);
}

void queue_schedule::let_all_expire() { pass(std::max(latest_, m.lock.now) - m.lock.now + 601000000); }

std::string queue_schedule::acquire(const std::string& token, std::int64_t lease, bool joins, const std::string& ask,
                                    bool late, bool repair) {
  const std::string stamp = joins ? std::to_string(++stamps_) : "";
  const bool endless = m.lock.occupied() && m.lock.expires < 0;
  const auto expected = m.acquire(token, lease, stamp, ask, late, repair);
  script(true, {m.lock.now, "acquire", token, ask, lease, expected},
         {std::to_string(lease), late ? "1" : "9007199254740991", stamp, ask, repair ? "1" : ""});
  if (endless && m.lock.expires >= 0 && m.lock.foreign > 0) {
    // Repaired: it ends some time.
    sent_.back().event = [now = m.lock.now, about = m.lock.about, until = m.lock.now + lease * 1000](queue_rules& r) {
      r.foreign(now, about, until);
    };
  }
  return expected;
}

std::string queue_schedule::confirm(const std::string& token, std::int64_t lease) {
  return script(true, {m.lock.now, "confirm", token, "", lease, m.extend(token, lease, true)}, {std::to_string(lease)});
}

void queue_schedule::renew(const std::string& token, std::int64_t lease) {
  script(false, {m.lock.now, "renew", token, "", lease, m.extend(token, lease, false)}, {std::to_string(lease)});
}

void queue_schedule::release(const std::string& token) {
  script(true, {m.lock.now, "release", token, "", 0, m.release(token)}, {});
}

void queue_schedule::keep(const std::string& token, std::int64_t lease, const std::string& ask) {
  script(true, {m.lock.now, "release", token, ask, lease, m.keep(token, lease, ask)}, {std::to_string(lease), ask});
}

void queue_schedule::refresh(const std::string& token, std::int64_t lease, const std::string& ask, bool late) {
  script(true, {m.lock.now, "refresh", token, ask, lease, m.refresh(token, lease, ask, late)},
         {std::to_string(lease), ask, late ? "1" : "9007199254740991"});
}

void queue_schedule::downgrade(const std::string& token) {
  script(true, {m.lock.now, "downgrade", token, "", 0, m.downgrade(token)}, {"0"});
}

void queue_schedule::resize(const std::string& to, bool late) {
  script(true, {m.lock.now, "resize", to, "", 0, m.resize(to, late)}, {late ? "1" : "9007199254740991"});
}

// SET NX PX, or the usual script of reentrant locks: whose owner is in enters again, and its expiry is the key's from
// then on. A negative lease is none.
void queue_schedule::foreign_enter(std::int64_t lease) {
  const auto until = lease < 0 ? -1 : m.lock.now + lease * 1000;
  const bool is_free = !m.lock.exists();
  if (kind == lock_kind::mutex) {
    std::vector<std::string> words = {"SET", record, "somebody", "NX"};
    if (lease >= 0) words.insert(words.end(), {"PX", std::to_string(lease)});
    if (!is_free) return command(words, "");
    command(words, "OK", [now = m.lock.now, until](queue_rules& r) { r.foreign(now, "", until); });
  } else if (kind == lock_kind::recursive_mutex) {
    const std::string owner = is_free ? any_owner() : m.lock.about;
    // Who has no expiry himself leaves that of others alone.
    const auto ends = lease < 0 && !is_free && m.lock.expires >= 0 ? m.lock.now + m.lock.key_left() * 1000 : until;
    if (is_free) m.lock.about = owner;
    command({"HINCRBY", record, owner, "1"}, std::to_string(m.lock.count() + 1),
            [now = m.lock.now, owner, ends](queue_rules& r) { r.foreign(now, owner, ends); });
    if (lease >= 0) command({"PEXPIRE", record, std::to_string(lease)}, "1");
  } else {
    return;
  }
  ++m.lock.foreign;
  if (is_free || lease >= 0) m.lock.expires = lease < 0 ? -1 : m.lock.ms() + lease;
}

void queue_schedule::foreign_leave() {
  if (m.lock.foreign == 0) return;
  if (kind == lock_kind::mutex) return foreign_delete();
  --m.lock.foreign;
  const bool is_last = m.lock.foreign == 0;
  command({"HINCRBY", record, m.lock.about, "-1"}, std::to_string(m.lock.count()), [is_last](queue_rules& r) {
    if (is_last) r.foreign_left();
  });
  if (m.lock.occupied()) return;
  command({"DEL", record}, "1", [](queue_rules& r) { r.all_is_lost(); });
  m.lock.clear();
}

void queue_schedule::foreign_delete() {
  command({"DEL", record}, m.lock.exists() ? "1" : "0", [](queue_rules& r) { r.all_is_lost(); });
  m.lock.clear();
}

void queue_schedule::forget_everything() {
  command({"FLUSHALL"}, "OK", [](queue_rules& r) { r.all_is_lost(); });
  m.lock.clear();
  m.forget_queue();
  // The clock is the fences' floor: it must not be behind the last one, which a clock that was stepped back can be.
  const auto last = std::exchange(m.lock.last_fence, 0);
  pass(std::max({latest_, m.lock.now, last}) - m.lock.now + 1000);
}

void queue_schedule::check() {
  std::string order;
  for (const auto& e : m.waiting) order += (order.empty() ? "" : ",") + e.token;
  command({"ZRANGE", queue, "0", "-1"}, order);
  command({"HLEN", entries}, std::to_string(m.waiting.empty() ? 0 : m.waiting.size() + 2));
  if (!m.waiting.empty()) {
    command({"HGET", entries, "#ran"}, m.stored_runs());
    const auto& e = m.waiting[random(m.waiting.size())];
    command({"HGET", entries, e.token},
            e.stamp + " " + std::to_string(e.lease) + " " + std::to_string(e.due) + (e.ask.empty() ? "" : " " + e.ask));
    command({"PTTL", queue}, std::to_string(m.queue_expires - m.lock.ms()));
    command({"PTTL", entries}, std::to_string(m.queue_expires - m.lock.ms()));
  }
  command({kind == lock_kind::mutex ? "GET" : "HGETALL", record}, m.lock.stored(), nullptr, hash_of);
  command({"PTTL", record}, std::to_string(m.lock.exists() ? m.lock.key_left() : -2));
  if (m.lock.members.size() > 95) return;  // inspect shows the first ones only.
  command({"EVALSHA", std::string(script_of(kind).sha1), "4", record, counter, queue, entries, "inspect"}, m.inspect(),
          nullptr, inspection_of);
}

void queue_schedule::flush() {
  if (sent_.empty()) return;
  std::deque<call> calls;
  calls.swap(sent_);
  for (const auto& c : calls) {
    const std::string got = c.read(host_.receive());
    log_.push_back(c.shown + " -> " + got);
    if (log_.size() > 40) log_.pop_front();
    if (got != c.expected) BOOST_FAIL(what_was_done() << "and not " << c.expected);
  }
  const auto messages = host_.messages();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& [channel, text] = messages[i];
    if (i >= m.sent.size()) BOOST_FAIL(what_was_done() << "a message too many: " << text);
    if (text != m.sent[i].text) BOOST_FAIL(what_was_done() << "sent " << text << " and not " << m.sent[i].text);
    BOOST_REQUIRE(channel == channels + m.sent[i].client);
  }
  if (messages.size() < m.sent.size()) {
    BOOST_FAIL(what_was_done() << "not sent: " << m.sent[messages.size()].text);
  }
  try {
    keep_rules(calls);
  } catch (...) {
    BOOST_TEST_MESSAGE(what_was_done());
    throw;
  }
  delivered.insert(delivered.end(), m.sent.begin(), m.sent.end());
  m.sent.clear();
}

void queue_schedule::keep_rules(const std::deque<call>& calls) {
  std::size_t next = 0;
  for (const auto& c : calls) {
    // In the order of their fences: an acquire may grant others before the asker, or after it.
    bool is_due = !c.seen.what.empty();
    for (; next < c.messages; ++next) {
      if (is_due && (c.seen.what != "acquire" || fence_of(c.seen.reply) < fence_of(m.sent[next].text))) {
        rules_.saw(c.seen);
        is_due = false;
      }
      rules_.saw(c.seen.now, m.sent[next].text, m.sent[next].ask);
    }
    if (is_due) rules_.saw(c.seen);
    if (c.event) c.event(rules_);
  }
}

std::vector<std::string> queue_schedule::keys() {
  flush();
  std::vector<std::string> all;
  for (const auto& key : host_.command({"KEYS", "*"}).items) {
    if (key.text != counter) all.push_back(key.text);
  }
  return all;
}

std::string queue_schedule::what_was_done() const {
  std::string all = "Up to step " + std::to_string(steps) + ":\n";
  for (const auto& l : log_) all += l + "\n";
  return all;
}

std::string queue_schedule::script(bool all_keys, queue_rules::call seen, std::vector<std::string> arguments) {
  std::vector<std::string> words = {"EVALSHA", std::string(script_of(kind).sha1)};
  if (all_keys) {
    words.insert(words.end(), {"4", record, counter, queue, entries});
  } else {
    words.insert(words.end(), {"1", record});
  }
  arguments.insert(arguments.begin(), {seen.what, seen.token});
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::string shown = std::to_string(m.lock.now);
  for (const auto& a : arguments) shown += " " + a;
  host_.send(words);
  const std::string expected = seen.reply;
  sent_.push_back({shown, expected, text_of, std::move(seen), nullptr, m.sent.size()});
  ++steps;
  return expected;
}

void queue_schedule::command(const std::vector<std::string>& words, const std::string& expected,
                             std::function<void(queue_rules&)> event, reader read) {
  host_.send(words);
  queue_rules::call none;
  none.now = m.lock.now;
  sent_.push_back({std::to_string(m.lock.now) + " " + words[0] + " " + words.back(), expected, read ? read : text_of,
                   none, std::move(event), m.sent.size()});
}

// ---- The crowd

std::int64_t queue_crowd::any_lease() {
  static constexpr std::int64_t leases[] = {1, 50, 900, 1500, 2000, 2001, 5000, 30000, 30000, 600000};
  return leases[s.random(10)];
}

queue_crowd::waiter queue_crowd::newcomer() {
  const std::string token = std::to_string(s.random(5)) + "." + std::to_string(++tokens);
  return {token, s.any_ask(), any_lease()};
}

void queue_crowd::replace(waiter& w) {
  old.push_back(w);
  if (old.size() > 20) old.erase(old.begin());
  w = newcomer();
}

// Any of those who are in and alive.
queue_crowd::waiter* queue_crowd::holder() {
  std::vector<waiter*> in;
  for (auto& w : all) {
    if (!w.frozen && s.m.lock.is_in(w.token)) in.push_back(&w);
  }
  return in.empty() ? nullptr : in[s.random(in.size())];
}

void queue_crowd::act_late(const waiter& w) {
  switch (s.random(5)) {
    case 0: return s.release(w.token);
    case 1: return void(s.confirm(w.token, 30000));
    case 2: return s.renew(w.token, 30000);
    case 3: return void(s.acquire(w.token, 1000, s.one_in(2), w.ask, s.one_in(2)));
    default:
      if (s.kind == lock_kind::shared_mutex) return s.downgrade(w.token);
  }
}

void queue_crowd::act_from_outside() {
  if (s.one_in(20)) s.foreign_delete();
  if (s.one_in(s.kind == lock_kind::mutex ? 20 : 5)) s.foreign_enter(s.one_in(10) ? -1 : any_lease());
  if (s.one_in(4)) s.foreign_leave();
  if (s.m.lock.expires < 0 && s.one_in(10)) s.foreign_delete();
  if (s.one_in(400)) s.forget_everything();
  if (s.m.lock.is_in("0.try") && s.one_in(2)) s.release("0.try");
  if (s.kind == lock_kind::counting_semaphore && s.one_in(10)) s.resize(s.any_limit(), s.one_in(10));
}

void queue_crowd::let_time_pass() {
  switch (s.random(12)) {
    case 0: return s.pass(1 + static_cast<std::int64_t>(s.random(3)));
    case 1: return s.pass(600000 + static_cast<std::int64_t>(s.random(1200000)));
    case 2: return s.pass(static_cast<std::int64_t>(s.random(13000000)));
    case 3:
      if (s.one_in(40)) s.pass(59990000 + static_cast<std::int64_t>(s.random(20000)));
      if (s.one_in(40)) s.step_back(1 + static_cast<std::int64_t>(s.random(s.one_in(2) ? 8000000 : 3600000000)));
      return;
    default: return s.pass(static_cast<std::int64_t>(s.random(200000)));
  }
}

void queue_crowd::step() {
  while (all.size() < many) all.push_back(newcomer());
  waiter& w = somebody();
  if (s.one_in(freezing)) {
    w.frozen = !w.frozen;
    return;
  }
  waiter* const h = holder();
  switch (s.random(24)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
      if (!w.frozen && s.acquire(w.token, w.lease, true, w.ask, false, s.one_in(10)).starts_with("-2")) replace(w);
      break;
    case 6:
      // One that polls: late bytes, another lease.
      s.acquire(w.token, s.one_in(2) ? w.lease : any_lease(), true, w.ask, s.one_in(3));
      break;
    case 7:
      s.acquire("0.try", any_lease(), false, s.any_ask());
      if (s.m.lock.is_in("0.try") && s.one_in(2)) s.release("0.try");
      break;
    case 8:
    case 9:
      if (h) s.confirm(h->token, h->lease);
      break;
    case 10:
      if (h) s.renew(h->token, s.one_in(3) ? 0 : s.one_in(3) ? any_lease() : h->lease);
      break;
    case 11:
    case 12:
    case 13:
      if (h) {
        s.release(h->token);
        replace(*h);
      }
      break;
    case 14:
      if (s.one_in(3)) {
        s.release(w.token);  // Cancelled.
        replace(w);
      }
      break;
    case 15:
      if (s.one_in(4)) replace(w);  // Crashed.
      break;
    case 16:
      if (!old.empty()) act_late(old[s.random(old.size())]);
      break;
    case 17: act_from_outside(); break;
    case 18:
      if (s.one_in(10)) s.check();
      break;
    case 19: let_time_pass(); break;
    case 20:
    case 22:
    case 23:
      // A cohort: of the mutex, and of writers.
      if (!h || (s.kind != lock_kind::mutex && h->ask[0] != 'w')) break;
      if (s.one_in(2)) {
        s.keep(h->token, any_lease(), h->ask);
      } else {
        s.refresh(h->token, any_lease(), h->ask, s.one_in(8));
      }
      break;
    case 21:
      if (h && s.kind == lock_kind::shared_mutex && s.one_in(3)) {
        s.downgrade(h->token);
        if (s.m.lock.is_in(h->token)) h->ask[0] = 'r';
      }
      break;
  }
}

void queue_crowd::polls() {
  for (auto& w : all) {
    const auto e = s.m.find(w.token);
    if (!w.frozen && e != s.m.waiting.end() && e->due <= s.m.lock.now) s.acquire(w.token, w.lease, true, w.ask);
  }
}

// ---- Clients like the library's

void virtual_clients::got(one& c) {
  ++tenures;
  idle_since_ = s.m.lock.now;
  c.what = doing::holding;
  c.next = s.m.lock.now + up_to(s.one_in(10) ? 1900000 : 30000);
  if (s.one_in(30) && c.lease == 2000) {
    ++deaths;
    c.what = doing::dead;
    c.next = s.m.lock.now + 30000000;
  }
}

void virtual_clients::poll(one& c) {
  const std::string answer = s.acquire(c.token, c.lease, true, c.ask);
  if (answer.starts_with("-2")) {
    c.what = doing::absent;
    c.next = s.m.lock.now + 100000;
    return;
  }
  const std::int64_t left = answer[0] == '1' ? 0 : std::stoll(answer.substr(4)) * 1000 + 1000;
  if (answer[0] == '1') return got(c);
  c.what = doing::waiting;
  c.next = s.m.lock.now + (answer[0] == '2' ? std::min<std::int64_t>(667000, left)
                                            : std::min<std::int64_t>(5000000, std::max<std::int64_t>(left, 2000000)));
}

void virtual_clients::act(one& c) {
  if (faults && c.what != doing::dead && s.one_in(60)) {
    c.thaws = s.m.lock.now + up_to(20000000);
    return;
  }
  switch (c.what) {
    case doing::absent:
    case doing::dead:
      c.token = std::to_string(s.random(5)) + "." + std::to_string(++tokens);
      c.ask = s.any_ask();
      c.lease = s.one_in(2) ? 2000 : 30000;
      return poll(c);
    case doing::waiting:
      if (!faults || !s.one_in(20)) return poll(c);
      [[fallthrough]];  // It has had enough.
    case doing::holding:
      s.release(c.token);
      c.what = doing::absent;
      c.next = s.m.lock.now + 1 + up_to(50000);
      return;
  }
}

void virtual_clients::deliver() {
  s.flush();
  std::vector<queue_message> messages;
  messages.swap(s.delivered);
  for (const auto& m : messages) {
    const auto token_at = m.text.find(' ') + 1;
    const auto token = m.text.substr(token_at, m.text.find(' ', token_at) - token_at);
    for (auto& c : all_) {
      if (c.token != token || c.what != doing::waiting || c.thaws > s.m.lock.now || (faults && s.one_in(30))) continue;
      if (m.text[0] == 'w') {
        c.next = std::min(c.next, s.m.lock.now + 667000);
      } else if (s.confirm(c.token, c.lease)[0] == '1') {
        got(c);
      }
    }
  }
}

void virtual_clients::watch_the_time() {
  const auto now = s.m.lock.now;
  const bool has_limit = s.kind == lock_kind::counting_semaphore && !s.m.lock.members.empty();
  const std::size_t places = has_limit ? std::stoul(s.m.lock.about) : 1;
  std::size_t in = 0;
  bool waits = false;
  for (const auto& c : all_) {
    in += c.what == doing::holding && s.m.lock.is_in(c.token);
    waits = waits || (c.what == doing::waiting && c.thaws <= now);
  }
  if (!waits || in >= places) idle_since_ = now;
  longest_idle = std::max(longest_idle, now - idle_since_);
}

void virtual_clients::run(std::size_t steps) {
  idle_since_ = s.m.lock.now;
  for (auto& c : all_) c.next = s.m.lock.now + up_to(1000000);
  for (const auto until = s.steps + steps; s.steps < until;) {
    const auto when = [](const one& c) { return std::max(c.next, c.thaws); };
    one& c = *std::min_element(all_.begin(), all_.end(), [&](const one& a, const one& b) { return when(a) < when(b); });
    if (when(c) > s.m.lock.now) s.pass(when(c) - s.m.lock.now);
    watch_the_time();
    act(c);
    do deliver();
    while (!s.m.sent.empty());
  }
}

// ---- Whole runs

void random_schedules_agree_with_the_model(script_host& host, lock_kind kind, std::size_t steps) {
  const auto seed = chosen_seed();
  BOOST_TEST_CONTEXT("LEASEHOLD_SEED=" << seed) {
    queue_schedule s(kind, seed, host);
    for (int episode = 0; s.steps < steps; ++episode) {
      static constexpr std::size_t sizes[] = {5, 12, 60, 150};
      queue_crowd c{s, sizes[episode % 4], s.one_in(2) ? 30U : 400U};
      const auto until = s.steps + 2000;
      const bool attentive = s.one_in(2);
      for (int i = 0; s.steps < until; ++i) {
        c.step();
        if (attentive && i % 20 == 0) c.polls();
      }
      s.check();
      if (s.m.lock.expires < 0) s.foreign_delete();
      if (s.one_in(2)) {
        // All leave.
        while (s.m.lock.foreign > 0) s.foreign_leave();
        for (const auto& w : c.old) s.release(w.token);
        for (const auto& w : c.all) s.release(w.token);
        while (!s.m.waiting.empty()) s.release(std::string(s.m.waiting.front().token));
        while (!s.m.lock.members.empty()) s.release(std::string(s.m.lock.members.front().token));
      } else {
        // All die.
        s.let_all_expire();
      }
      s.check();
      for (const auto& left : s.keys()) BOOST_FAIL("left: " << left);
    }
    BOOST_TEST(s.m.handed_off > steps / 200);
    BOOST_TEST(s.m.passed_over > steps / 200);
    BOOST_TEST(s.m.taken_out > steps / 1000);
    const bool has_cohorts = kind == lock_kind::mutex || kind == lock_kind::shared_mutex;
    BOOST_TEST((s.m.kept > 0) == has_cohorts);
    const bool has_owners = kind == lock_kind::recursive_mutex || kind == lock_kind::shared_mutex;
    BOOST_TEST((s.m.entered_again > steps / 400) == has_owners);
    BOOST_TEST_MESSAGE(s.m.handed_off << " handed off, " << s.m.passed_over << " passed over, " << s.m.taken_out
                                      << " taken out, " << s.m.kept << " kept, " << s.m.entered_again
                                      << " entered again");
  }
}

void waiting_clients_are_granted_soon(script_host& host, lock_kind kind, std::size_t steps) {
  const auto seed = chosen_seed();
  BOOST_TEST_CONTEXT("LEASEHOLD_SEED=" << seed) {
    queue_schedule s(kind, seed, host);
    virtual_clients dying(s, false);
    dying.run(steps);
    BOOST_TEST(dying.tenures > steps / 10);
    BOOST_TEST(dying.deaths > steps / 1000);
    // A lease of two seconds, and the next poll of those in front.
    BOOST_TEST(dying.longest_idle <= 2000000 + 667000 + 2000);
    s.pass(100000000);
    virtual_clients failing(s, true);
    failing.run(steps);
    BOOST_TEST(failing.tenures > steps / 10);
    // Some frozen ones after another, two to three seconds each.
    BOOST_TEST(failing.longest_idle <= 15000000);
    BOOST_TEST_MESSAGE("idle for " << dying.longest_idle << " and " << failing.longest_idle << " us at the most");
  }
}

}  // namespace leasehold::test
