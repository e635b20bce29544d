// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// The line in Lua, on a real server whose clock the test moves, driven by random schedules of five clients against a
// model. LEASEHOLD_SEED repeats a run.
#include "scripts.hpp"
#include "support/redis_server.hpp"
#include "support/stepped_clock.hpp"
#include "support/unit_test.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

using leasehold::test::redis_connection;
using leasehold::test::redis_server;
using leasehold::test::reply;
using leasehold::test::stepped_clock;

namespace {

const std::string record = "record";
const std::string counter = "leasehold:{0}:fence";
const std::string line = "leasehold:{0}:line:record";
const std::string entries = "leasehold:{0}:entries:record";
const std::string channels = "leasehold:{0}:";

struct message {
  std::string client;
  std::string text;
};

// What the line is to do, said once more. Times are the server's, in microseconds.
struct model {
  struct entry {
    std::string token;
    std::uint64_t place;
    std::string stamp;
    std::int64_t lease;
    std::int64_t due;
  };
  struct lock_record {
    std::string token;  // "": a foreign client's
    std::uint64_t fence = 0;
    std::int64_t expires = 0;  // In milliseconds, and there until then; -1: no expiry
  };

  std::int64_t now = 0;
  std::optional<lock_record> held;
  std::deque<entry> waiting;
  std::uint64_t last_place = 0;
  std::int64_t line_expires = 0;
  std::int64_t last_fence = 0;
  std::vector<message> sent;
  std::size_t handed_off = 0;
  std::size_t kept = 0;
  std::size_t passed_over = 0;
  std::size_t taken_out = 0;

  std::int64_t ms() const { return now / 1000; }
  std::string clock() const { return " " + std::to_string(now / 1000000) + " " + std::to_string(now % 1000000); }
  bool living(const entry& e) const { return now <= e.due + 1000000; }
  bool gone(const entry& e) const { return now > e.due + 11000000; }
  bool is_mine(const std::string& token) const { return held && held->token == token; }
  std::int64_t left() const { return held->expires < 0 ? -1 : held->expires - ms(); }

  void tick() {
    if (held && held->expires >= 0 && ms() > held->expires) held.reset();
    if (!waiting.empty() && ms() > line_expires) waiting.clear();
    if (waiting.empty()) last_place = 0;
  }

  std::deque<entry>::iterator find(const std::string& token) {
    return std::find_if(waiting.begin(), waiting.end(), [&](const entry& e) { return e.token == token; });
  }

  bool leave(const std::string& token) {
    const auto e = find(token);
    if (e == waiting.end()) return false;
    waiting.erase(e);
    if (waiting.empty()) last_place = 0;
    return true;
  }

  // One call's way along the line: how many entries it has left where they are, how many were silent.
  struct walk {
    std::size_t at = 0;
    std::size_t silent = 0;
  };
  // The token of the next living entry that has not been let in, "" if there is none.
  std::string next_waiting(walk& w) {
    while (w.silent < 32 && w.at < waiting.size()) {
      const entry& e = waiting[w.at];
      if (gone(e)) {
        ++w.silent;
        ++taken_out;
        leave(std::string(e.token));
        continue;
      }
      ++w.at;
      if (!living(e)) {
        ++w.silent;
        ++passed_over;
      } else if (!is_mine(e.token)) {
        return e.token;
      }
    }
    return "";
  }

  void tell(const std::string& token, const std::string& text) {
    sent.push_back({token.substr(0, token.find('.')), text});
  }

  void watch(const std::string& token) {
    const auto e = find(token);
    if (e == waiting.end() || e->due <= now + 767000) return;
    e->due = now + 667000;
    tell(e->token, "watch " + e->token);
  }

  void write(const std::string& token, std::int64_t lease) {
    last_fence = std::max(last_fence + 1, now);
    held = lock_record{token, static_cast<std::uint64_t>(last_fence) * 2048, ms() + lease};
  }

  struct front {
    bool asker_is_in = false;
    std::string first, second;
  };

  front advance(const std::string& asker) {
    walk w;
    front f;
    f.first = next_waiting(w);
    while (!f.first.empty() && !held) {
      const auto e = find(f.first);
      // First come, first served: whoever came before was silent.
      for (auto before = waiting.begin(); before != e; ++before) BOOST_REQUIRE(!living(*before));
      if (f.first == asker) {
        write(e->token, e->lease);
        leave(asker);
        --w.at;
        f.asker_is_in = true;
      } else {
        const auto lease = std::min<std::int64_t>(e->lease, 2000);
        write(e->token, lease);
        e->due = std::min(e->due, now + 667000);
        tell(e->token,
             "granted " + e->token + " " + std::to_string(held->fence) + " " + e->stamp + " " + std::to_string(lease));
        ++handed_off;
      }
      f.first = next_waiting(w);
    }
    if (!f.first.empty()) f.second = next_waiting(w);
    watch(f.first);
    watch(f.second);
    return f;
  }

  std::string granted(std::int64_t lease) {
    return "1 " + std::to_string(held->fence) + " " + std::to_string(lease) + clock();
  }

  std::string lengthen(const std::string& token, std::int64_t lease, bool may_leave) {
    if (lease > 0 && left() < lease) held->expires = ms() + lease;
    if (may_leave && leave(token)) advance("");
    return granted(left());
  }

  std::string acquire(const std::string& token, std::int64_t lease, const std::string& stamp, bool late) {
    if (is_mine(token)) return lengthen(token, lease, true);
    if (late) return "-1 0 0" + clock();
    if (!held && waiting.empty()) {
      write(token, lease);
      return granted(lease);
    }
    line_expires = ms() + 60000;
    if (!stamp.empty()) {
      auto e = find(token);
      if (e == waiting.end()) {
        waiting.push_back({token, ++last_place, {}, 0, 0});
        e = std::prev(waiting.end());
      }
      e->stamp = stamp;
      e->lease = lease;
      e->due = now + 667000;
    }
    const front f = advance(stamp.empty() ? "" : token);
    if (f.asker_is_in) return granted(lease);
    if (!held) {  // Nobody alive is in front.
      leave(token);
      write(token, lease);
      return granted(lease);
    }
    const std::string busy = " 0 " + std::to_string(left()) + clock();
    if (stamp.empty()) return "0" + busy;
    // In front, or nobody alive is known to be.
    if (f.second.empty() || f.first == token || f.second == token) return "2" + busy;
    find(token)->due = now + 5000000;
    return "3" + busy;
  }

  std::string extend(const std::string& token, std::int64_t lease, bool confirm) {
    return is_mine(token) ? lengthen(token, lease, confirm) : "0 0 0" + clock();
  }

  std::string release(const std::string& token) {
    const bool was_mine = is_mine(token);
    if (was_mine) held.reset();
    const bool others = held.has_value();
    leave(token);
    advance("");
    return was_mine ? "1" : others ? "0" : "-1";
  }

  bool others_wait(const std::string& token) {
    walk w;
    const auto client = token.substr(0, token.find('.') + 1);
    const auto first = next_waiting(w);
    const auto second = first.empty() ? first : next_waiting(w);
    return (!first.empty() && !first.starts_with(client)) || (!second.empty() && !second.starts_with(client));
  }

  std::string keep(const std::string& token, std::int64_t lease, bool refresh) {
    if (!is_mine(token)) return refresh ? "0 0 0" + clock() : release(token);
    if (others_wait(token)) return refresh ? "2 0 0" + clock() : release(token);
    ++kept;
    write(token, std::max(left(), lease));
    return granted(left());
  }
};

std::string text_of(const reply& r) {
  if (r.type == '*') {
    std::string all;
    for (const auto& item : r.items) all += (all.empty() ? "" : ",") + text_of(item);
    return all;
  }
  return r.text;
}

class schedule {
 public:
  explicit schedule(std::uint64_t seed) : engine(seed) {
    for (std::size_t i = 0; i < 5; ++i) {
      subscriber.command({"SUBSCRIBE", channels + std::to_string(i)});
    }
    subscriber.command({"SUBSCRIBE", "end"});
    connection.command({"SCRIPT", "LOAD", std::string(leasehold::detail::scripts::mutex.text)});
    m.now = 1800000000000000;
    set_clock();
  }

  std::size_t steps = 0;
  model m;

  std::uint64_t random(std::uint64_t below) { return engine() % below; }
  bool one_in(std::uint64_t n) { return random(n) == 0; }

  void pass(std::int64_t microseconds) {
    flush();
    m.now += microseconds;
    set_clock();
    m.tick();
  }

  std::string acquire(const std::string& token, std::int64_t lease, bool joins, bool late = false) {
    m.tick();
    const std::string stamp = joins ? std::to_string(++stamps) : "";
    std::vector<std::string> words = {"acquire", token, std::to_string(lease), late ? "1" : "9007199254740991"};
    if (joins) words.push_back(stamp);
    const auto expected = m.acquire(token, lease, stamp, late);
    script(true, std::move(words), expected);
    return expected;
  }
  std::string confirm(const std::string& token, std::int64_t lease) {
    const auto expected = m.extend(token, lease, true);
    script(true, {"confirm", token, std::to_string(lease)}, expected);
    return expected;
  }
  void renew(const std::string& token, std::int64_t lease) {
    const auto expected = m.extend(token, lease, false);
    script(false, {"renew", token, std::to_string(lease)}, expected);
  }
  void release(const std::string& token) {
    const auto expected = m.release(token);
    script(true, {"release", token}, expected);
  }
  // For a cohort.
  void keep(const std::string& token, std::int64_t lease, bool refresh) {
    const auto expected = m.keep(token, lease, refresh);
    script(true, {refresh ? "refresh" : "release", token, std::to_string(lease)}, expected);
  }
  // A client in another language, or somebody's hand.
  void foreign_set(std::int64_t lease) {
    const bool taken = !m.held;
    if (taken) m.held = model::lock_record{"", 0, lease < 0 ? -1 : m.ms() + lease};
    if (lease < 0) {
      command({"SET", record, "somebody", "NX"}, taken ? "OK" : "");
    } else {
      command({"SET", record, "somebody", "NX", "PX", std::to_string(lease)}, taken ? "OK" : "");
    }
  }
  void foreign_delete() {
    command({"DEL", record}, m.held ? "1" : "0");
    m.held.reset();
  }
  void forget_everything() {
    command({"FLUSHALL"}, "OK");
    m.held.reset();
    m.waiting.clear();
    m.last_place = 0;
    m.last_fence = 0;
    pass(1000);  // The clock is the fences' floor, and it has moved on after a real one.
  }
  // The whole state, as it is and as it should be.
  void check() {
    std::string order;
    for (const auto& e : m.waiting) order += (order.empty() ? "" : ",") + e.token;
    command({"ZRANGE", line, "0", "-1"}, order);
    command({"HLEN", entries}, std::to_string(m.waiting.empty() ? 0 : m.waiting.size() + 1));
    if (!m.waiting.empty()) {
      const auto& e = m.waiting[random(m.waiting.size())];
      command({"HGET", entries, e.token}, e.stamp + " " + std::to_string(e.lease) + " " + std::to_string(e.due));
      command({"PTTL", line}, std::to_string(m.line_expires - m.ms()));
      command({"PTTL", entries}, std::to_string(m.line_expires - m.ms()));
    }
    const std::string waiters = std::to_string(m.waiting.size());
    const std::string left = m.held ? std::to_string(m.left()) : "";
    std::string expected = "0,0,0," + waiters + ",";
    if (m.held) {
      const std::string token = m.held->token.empty() ? "somebody" : m.held->token;
      expected = "1," + std::to_string(m.held->fence) + "," + left + "," + waiters + ",," + token + "," + left + ",";
    }
    command({"EVALSHA", std::string(leasehold::detail::scripts::mutex.sha1), "4", record, counter, line, entries,
             "inspect"},
            expected);
  }

  void flush() {
    if (sent.empty()) return;
    connection.send({"PUBLISH", "end", "."});
    std::deque<call> calls;
    calls.swap(sent);
    for (const auto& c : calls) {
      const std::string got = text_of(connection.receive());
      if (got != c.expected) {
        BOOST_FAIL(what_was_done() << c.words << "\ngave " << got << " and not " << c.expected);
      }
      log.push_back(c.words + " -> " + got);
      if (log.size() > 40) log.pop_front();
    }
    connection.receive();
    std::size_t next = 0;
    for (;;) {
      const reply r = subscriber.receive();
      const std::string channel = r.items.at(1).text;
      if (channel == "end") break;
      BOOST_REQUIRE_MESSAGE(next < m.sent.size(), what_was_done() << "a message too many: " << r.items.at(2).text);
      BOOST_REQUIRE_MESSAGE(r.items.at(2).text == m.sent[next].text,
                            what_was_done() << "told " << r.items.at(2).text << " and not " << m.sent[next].text);
      BOOST_REQUIRE(channel == channels + m.sent[next].client);
      ++next;
    }
    if (next < m.sent.size()) BOOST_FAIL(what_was_done() << "nobody was told: " << m.sent[next].text);
    delivered.insert(delivered.end(), m.sent.begin(), m.sent.end());
    m.sent.clear();
  }
  // Messages for whoever likes to act on them.
  std::vector<message> delivered;

  std::vector<std::string> keys() {
    flush();
    std::vector<std::string> all;
    for (const auto& key : connection.command({"KEYS", "*"}).items) {
      if (key.text != counter) all.push_back(key.text);
    }
    return all;
  }

 private:
  struct call {
    std::string words;
    std::string expected;
  };

  std::string what_was_done() const {
    std::string all = "Up to step " + std::to_string(steps) + ":\n";
    for (const auto& l : log) all += l + "\n";
    return all;
  }

  void script(bool all_keys, std::vector<std::string> arguments, const std::string& expected) {
    std::vector<std::string> words = {"EVALSHA", std::string(leasehold::detail::scripts::mutex.sha1)};
    if (all_keys) {
      words.insert(words.end(), {"4", record, counter, line, entries});
    } else {
      words.insert(words.end(), {"1", record});
    }
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::string shown = std::to_string(m.now);
    for (const auto& a : arguments) shown += " " + a;
    connection.send(words);
    sent.push_back({shown, expected});
    ++steps;
  }
  void command(const std::vector<std::string>& words, const std::string& expected) {
    connection.send(words);
    sent.push_back({std::to_string(m.now) + " " + words[0] + " " + words[1 % words.size()], expected});
  }
  void set_clock() { clock.stop_at(m.now); }

  std::mt19937_64 engine;
  stepped_clock clock;
  redis_server redis{{}, clock.environment()};
  redis_connection connection{redis.socket_path()};
  redis_connection subscriber{redis.socket_path()};
  std::deque<call> sent;
  std::deque<std::string> log;
  std::uint64_t stamps = 0;
};

std::uint64_t chosen_seed() {
  const char* text = std::getenv("LEASEHOLD_SEED");
  return text ? std::strtoull(text, nullptr, 10) : std::random_device()();
}

// Some time for the clients of `schedule`; what they do depends on what they are.
struct crowd {
  struct waiter {
    std::string token;
    std::int64_t lease;
    bool frozen = false;
  };
  schedule& s;
  std::size_t many;         // Waiters at a time
  std::uint64_t freezing;   // One in so many steps freezes or thaws somebody
  std::vector<waiter> all;
  std::vector<std::string> old;
  std::uint64_t tokens = 0;

  waiter& somebody() { return all[s.random(all.size())]; }
  std::int64_t any_lease() {
    static constexpr std::int64_t leases[] = {1, 50, 900, 1500, 2000, 2001, 5000, 30000, 30000, 600000};
    return leases[s.random(10)];
  }
  void renew_cast() {
    while (all.size() < many) {
      all.push_back({std::to_string(s.random(5)) + "." + std::to_string(++tokens), any_lease()});
    }
  }
  void replace(waiter& w) {
    old.push_back(w.token);
    if (old.size() > 20) old.erase(old.begin());
    w = {std::to_string(s.random(5)) + "." + std::to_string(++tokens), any_lease()};
  }
  waiter* holder() {
    for (auto& w : all) {
      if (s.m.is_mine(w.token)) return &w;
    }
    return nullptr;
  }

  void step() {
    renew_cast();
    waiter& w = somebody();
    if (s.one_in(freezing)) {
      w.frozen = !w.frozen;
      return;
    }
    switch (s.random(21)) {
      case 20:
        if (waiter* h = holder(); h && !h->frozen) s.keep(h->token, any_lease(), s.one_in(2));
        break;
      case 0: case 1: case 2: case 3: case 4: case 5:
        if (!w.frozen) s.acquire(w.token, w.lease, true);
        break;
      case 6:
        // One that looks: late bytes, another lease.
        s.acquire(w.token, s.one_in(2) ? w.lease : any_lease(), true, s.one_in(3));
        break;
      case 7:
        s.acquire("0.try", any_lease(), false);
        if (s.m.is_mine("0.try") && s.one_in(2)) s.release("0.try");
        break;
      case 8: case 9:
        if (waiter* h = holder(); h && !h->frozen) s.confirm(h->token, h->lease);
        break;
      case 10:
        if (waiter* h = holder(); h && !h->frozen) s.renew(h->token, s.one_in(3) ? 0 : h->lease);
        break;
      case 11: case 12: case 13:
        if (waiter* h = holder(); h && !h->frozen) {
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
        if (!old.empty()) {
          const auto token = old[s.random(old.size())];
          switch (s.random(4)) {
            case 0: s.one_in(2) ? s.release(token) : s.keep(token, 30000, s.one_in(2)); break;
            case 1: s.confirm(token, 30000); break;
            case 2: s.renew(token, 30000); break;
            case 3: s.acquire(token, 1000, s.one_in(2), s.one_in(2)); break;
          }
        }
        break;
      case 17:
        if (s.one_in(20)) s.foreign_delete();
        if (s.one_in(20)) s.foreign_set(s.one_in(10) ? -1 : any_lease());
        if (s.m.held && s.m.held->expires < 0 && s.one_in(10)) s.foreign_delete();
        if (s.one_in(400)) s.forget_everything();
        if (s.m.is_mine("0.try") && s.one_in(2)) s.release("0.try");
        break;
      case 18:
        if (s.one_in(10)) s.check();
        break;
      case 19:
        switch (s.random(12)) {
          case 0: s.pass(1 + static_cast<std::int64_t>(s.random(3))); break;
          case 1: s.pass(600000 + static_cast<std::int64_t>(s.random(1200000))); break;
          case 2: s.pass(static_cast<std::int64_t>(s.random(13000000))); break;
          case 3:
            if (s.one_in(40)) s.pass(59990000 + static_cast<std::int64_t>(s.random(20000)));
            break;
          default: s.pass(static_cast<std::int64_t>(s.random(200000))); break;
        }
        break;
    }
  }

  // All that living clients would do: they look when it is time. So nobody is silent who is not frozen.
  void looks() {
    for (auto& w : all) {
      const auto e = s.m.find(w.token);
      if (!w.frozen && e != s.m.waiting.end() && e->due <= s.m.now) s.acquire(w.token, w.lease, true);
    }
  }
};

// Clients that do what the library's do, in the server's time: they look when it is due or when they are told, hold the
// lock for a while and give it back. Some die while they hold it, and, if there are to be worse faults, freeze, give up,
// or miss messages.
struct virtual_clients {
  enum class doing { absent, waiting, holding, dead };
  struct one {
    doing what = doing::absent;
    std::string token;
    std::int64_t lease = 0;
    std::int64_t next = 0;  // When it does something.
    std::int64_t thaws = 0;
  };

  schedule& s;
  bool faults;
  std::vector<one> all = std::vector<one>(12);
  std::uint64_t tokens = 0;
  std::size_t tenures = 0;
  std::size_t deaths = 0;
  std::int64_t idle_since = 0;
  std::int64_t longest_idle = 0;

  std::int64_t up_to(std::int64_t most) { return static_cast<std::int64_t>(s.random(static_cast<std::uint64_t>(most))); }

  void got(one& c) {
    ++tenures;
    idle_since = s.m.now;
    c.what = doing::holding;
    c.next = s.m.now + up_to(s.one_in(10) ? 1900000 : 30000);
    if (s.one_in(30) && c.lease == 2000) {
      ++deaths;
      c.what = doing::dead;
      c.next = s.m.now + 30000000;
    }
  }

  void look(one& c) {
    const std::string answer = s.acquire(c.token, c.lease, true);
    const std::int64_t left = answer[0] == '1' ? 0 : std::stoll(answer.substr(4)) * 1000 + 1000;
    if (answer[0] == '1') return got(c);
    c.what = doing::waiting;
    c.next = s.m.now + (answer[0] == '2' ? std::min<std::int64_t>(667000, left)
                                         : std::min<std::int64_t>(5000000, std::max<std::int64_t>(left, 2000000)));
  }

  void act(one& c) {
    if (faults && c.what != doing::dead && s.one_in(60)) {
      c.thaws = s.m.now + up_to(20000000);
      return;
    }
    switch (c.what) {
      case doing::absent:
      case doing::dead:
        c.token = std::to_string(s.random(5)) + "." + std::to_string(++tokens);
        c.lease = s.one_in(2) ? 2000 : 30000;
        return look(c);
      case doing::waiting:
        if (!faults || !s.one_in(20)) return look(c);
        [[fallthrough]];  // It has had enough.
      case doing::holding:
        s.release(c.token);
        c.what = doing::absent;
        c.next = s.m.now + 1 + up_to(50000);
        return;
    }
  }

  void deliver() {
    s.flush();
    std::vector<message> messages;
    messages.swap(s.delivered);
    for (const auto& m : messages) {
      const auto token_at = m.text.find(' ') + 1;
      const auto token = m.text.substr(token_at, m.text.find(' ', token_at) - token_at);
      for (auto& c : all) {
        if (c.token != token || c.what != doing::waiting || c.thaws > s.m.now || (faults && s.one_in(30))) continue;
        if (m.text[0] == 'w') {
          c.next = std::min(c.next, s.m.now + 667000);
        } else if (s.confirm(c.token, c.lease)[0] == '1') {
          got(c);
        }
      }
    }
  }

  // How long at a time nobody who could has had it though somebody alive waits.
  void watch_the_time() {
    bool waits = false;
    for (const auto& c : all) {
      if (c.what == doing::holding && s.m.is_mine(c.token)) return void(idle_since = s.m.now);
      waits = waits || (c.what == doing::waiting && c.thaws <= s.m.now);
    }
    if (!waits) idle_since = s.m.now;
    longest_idle = std::max(longest_idle, s.m.now - idle_since);
  }

  void run(std::size_t steps) {
    idle_since = s.m.now;
    for (auto& c : all) c.next = s.m.now + up_to(1000000);
    for (const auto until = s.steps + steps; s.steps < until;) {
      const auto when = [](const one& c) { return std::max(c.next, c.thaws); };
      one& c = *std::min_element(all.begin(), all.end(), [&](const one& a, const one& b) { return when(a) < when(b); });
      if (when(c) > s.m.now) s.pass(when(c) - s.m.now);
      watch_the_time();
      act(c);
      do deliver();
      while (!s.m.sent.empty());
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(line_script)

BOOST_AUTO_TEST_CASE(random_schedules_agree_with_a_model) {
  const auto seed = chosen_seed();
  BOOST_TEST_MESSAGE("LEASEHOLD_SEED=" << seed);
  BOOST_TEST_CONTEXT("LEASEHOLD_SEED=" << seed) {
    schedule s(seed);
    for (int episode = 0; s.steps < 100000; ++episode) {
      static constexpr std::size_t sizes[] = {5, 12, 60, 150};
      crowd c{s, sizes[episode % 4], s.one_in(2) ? 30U : 400U, {}, {}, 0};
      const auto until = s.steps + 2000;
      const bool attentive = s.one_in(2);
      for (int i = 0; s.steps < until; ++i) {
        c.step();
        if (attentive && i % 20 == 0) c.looks();
      }
      s.check();
      if (s.one_in(2)) {
        // All leave.
        for (const auto& token : c.old) s.release(token);
        for (const auto& w : c.all) s.release(w.token);
        for (const auto& e : std::deque<model::entry>(s.m.waiting)) s.release(e.token);
        if (s.m.held && !s.m.held->token.empty()) s.release(s.m.held->token);
        s.foreign_delete();
      } else {
        // All die.
        if (s.m.held && s.m.held->expires < 0) s.foreign_delete();
        s.pass(601000000);
      }
      s.check();
      for (const auto& left : s.keys()) BOOST_FAIL("left: " << left);
    }
    BOOST_TEST(s.m.handed_off > 500U);
    BOOST_TEST(s.m.passed_over > 500U);
    BOOST_TEST(s.m.taken_out > 100U);
    BOOST_TEST(s.m.kept > 100U);
  }
}

// Nobody is forgotten: whoever may go in is told, or finds out soon.
BOOST_AUTO_TEST_CASE(clients_that_look_when_they_should_get_in_soon) {
  const auto seed = chosen_seed();
  BOOST_TEST_MESSAGE("LEASEHOLD_SEED=" << seed);
  BOOST_TEST_CONTEXT("LEASEHOLD_SEED=" << seed) {
    schedule s(seed);
    virtual_clients dying{s, false};
    dying.run(10000);
    BOOST_TEST(dying.tenures > 1000U);
    BOOST_TEST(dying.deaths > 10U);
    // A lease of two seconds, and the next look of those in front.
    BOOST_TEST(dying.longest_idle <= 2000000 + 667000 + 2000);
    s.pass(100000000);
    virtual_clients failing{s, true};
    failing.run(10000);
    BOOST_TEST(failing.tenures > 1000U);
    // Some frozen ones after another, two to three seconds each.
    BOOST_TEST(failing.longest_idle <= 15000000);
    BOOST_TEST_MESSAGE("idle for " << dying.longest_idle << " and " << failing.longest_idle << " us at the most");
  }
}

// A4: nothing is half-done when memory is short, and whatever frees or hands on works.
BOOST_AUTO_TEST_CASE(without_memory_nobody_begins_a_line_and_a_line_moves_on) {
  redis_server redis;
  redis_connection connection(redis.socket_path());
  const auto call = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"EVAL", std::string(leasehold::detail::scripts::mutex.text), "4", record, counter,
                                         line, entries});
    return text_of(connection.command(arguments));
  };
  const auto acquire = [&](const std::string& token) {
    return call({"acquire", token, "30000", "9007199254740991", "1"});
  };
  const auto holds = [&](const std::string& token) {
    return redis.get(record).value_or("").starts_with("leasehold:" + token + ":");
  };
  BOOST_TEST(acquire("x.1")[0] == '1');
  redis.command("CONFIG", "SET", "maxmemory", "1");
  BOOST_TEST(acquire("y.1").starts_with("OOM"));
  BOOST_TEST(redis.size() == 1U);
  redis.command("CONFIG", "SET", "maxmemory", "0");
  for (const char* token : {"y.1", "z.1", "v.1", "w.1"}) acquire(token);
  redis.command("CONFIG", "SET", "maxmemory", "1");
  BOOST_TEST(call({"release", "x.1"}) == "1");
  BOOST_TEST(holds("y.1"));
  BOOST_TEST(call({"confirm", "y.1", "30000"})[0] == '1');
  BOOST_TEST(redis.ttl(record) > 20000);
  BOOST_TEST(acquire("v.1")[0] == '2');
  BOOST_TEST(call({"release", "z.1"}) == "0");
  redis.command("DEL", record);
  // Asked by another one, the head is granted.
  BOOST_TEST(acquire("w.1")[0] == '2');
  BOOST_TEST(holds("v.1"));
  redis.command("DEL", record);
  BOOST_TEST(acquire("v.1")[0] == '1');
  BOOST_TEST(holds("v.1"));
  BOOST_TEST(call({"release", "v.1"}) == "1");
  BOOST_TEST(holds("w.1"));
  BOOST_TEST(call({"release", "w.1"}) == "1");
  BOOST_TEST(redis.size() == 0U);
}

// A4: who may not publish hands the lock on all the same; whoever is in front finds out when he looks.
BOOST_AUTO_TEST_CASE(without_the_right_to_publish_a_line_moves_on) {
  redis_server redis;
  redis.command("ACL", "SETUSER", "mute", "on", ">pw", "~*", "resetchannels", "+@all");
  redis_connection connection(redis.socket_path());
  connection.command({"AUTH", "mute", "pw"});
  const auto call = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"EVAL", std::string(leasehold::detail::scripts::mutex.text), "4", record, counter,
                                         line, entries});
    return text_of(connection.command(arguments));
  };
  for (const char* token : {"x.1", "y.1", "z.1"}) call({"acquire", token, "30000", "9007199254740991", "1"});
  BOOST_TEST(call({"release", "x.1"}) == "1");
  BOOST_TEST(redis.get(record).value_or("").starts_with("leasehold:y.1:"));
  BOOST_TEST(call({"acquire", "y.1", "30000", "9007199254740991", "1"})[0] == '1');
  BOOST_TEST(call({"release", "y.1"}) == "1");
  BOOST_TEST(redis.get(record).value_or("").starts_with("leasehold:z.1:"));
  BOOST_TEST(call({"release", "z.1"}) == "1");
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
