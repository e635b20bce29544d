// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The waiters' queue in Lua, on the store in memory: what happens when a server stands still, its clock is stepped,
// waiters die or a key is evicted.
#include "protocol/scripts.hpp"
#include "schedule/memory_host.hpp"
#include "schedule/queue_schedule.hpp"
#include "support/unit_test.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(queue)

namespace {

using leasehold::test::lock_kind;
using leasehold::test::memory_host;
using leasehold::test::reply;
using leasehold::test::script_of;

const std::string record = "record";
const std::string counter = "leasehold:{0}:fence";
const std::string queue = "leasehold:{0}:queue:record";
const std::string entries = "leasehold:{0}:entries:record";

const lock_kind all_kinds[] = {lock_kind::mutex, lock_kind::recursive_mutex, lock_kind::shared_mutex,
                               lock_kind::counting_semaphore};

// One lock whose server's clock the test moves. The ask is an exclusive one, and another for each token of a recursive
// mutex.
struct stepped_queue {
  explicit stepped_queue(lock_kind k) : kind(k) {
    host.load(script_of(kind).text);
    pass(0);
  }

  const lock_kind kind;
  std::int64_t now = 1800000000000000;
  memory_host host;

  void pass(std::int64_t milliseconds) {
    now += milliseconds * 1000;
    host.set_time(now);
  }
  void begin_anew() {
    host.command({"FLUSHALL"});
    pass(1);
  }
  std::string ask_of(const std::string& token) const {
    if (kind == lock_kind::recursive_mutex) return token;
    return kind == lock_kind::shared_mutex ? "w" : kind == lock_kind::counting_semaphore ? "1" : "";
  }
  reply call(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"EVALSHA", std::string(script_of(kind).sha1), "4", record, counter, queue, entries});
    return host.command(arguments);
  }
  // The status: 1 granted, 0 busy, 2 or 3 in the queue.
  char acquire(const std::string& token, bool joins, std::int64_t lease = 60000) {
    const reply r =
        call({"acquire", token, std::to_string(lease), "9007199254740991", joins ? "7" : "", ask_of(token)});
    BOOST_REQUIRE_MESSAGE(r.type == '$', r.text);
    return r.text[0];
  }
  char poll(const std::string& token) { return acquire(token, true); }
  char try_to(const std::string& token) { return acquire(token, false); }
  void release(const std::string& token) { BOOST_TEST(call({"release", token}).integer == 1); }
  std::string holder() {
    const reply r = call({"inspect"});
    return r.items.at(0).integer == 0 ? "" : r.items.at(5).text;
  }
  // But for the fence counter.
  bool is_empty() { return host.command({"EXISTS", record, queue, entries}).integer == 0; }
  std::string waiting() {
    std::string all;
    for (const auto& t : host.command({"ZRANGE", queue, "0", "-1"}).items) all += t.text + " ";
    return all;
  }
};

}  // namespace

// While the server stood still nobody could poll. Whatever runs first when it goes on: nobody is overtaken or removed.
BOOST_AUTO_TEST_CASE(a_server_that_stood_still_has_not_made_its_waiters_silent) {
  for (const auto kind : all_kinds) {
    stepped_queue l(kind);
    for (const std::int64_t pause : {1100, 2400, 12000, 50000}) {
      std::string order = "npr";
      do {
        BOOST_TEST_CONTEXT(script_of(kind).name << ", " << pause << " ms, " << order) {
          l.begin_anew();
          BOOST_TEST(l.try_to("a.1") == '1');
          for (const char* token : {"b.1", "c.1", "d.1", "e.1"}) l.poll(token);
          l.pass(600);
          l.poll("b.1");
          l.poll("c.1");
          l.pass(pause);
          for (const char what : order) {
            if (what == 'n') BOOST_TEST(l.try_to("n.1") == '0');
            if (what == 'p') l.poll("b.1");
            if (what == 'r') l.release("a.1");
          }
          BOOST_TEST(l.holder() == "b.1");
          BOOST_TEST(l.poll("b.1") == '1');
          BOOST_TEST(l.waiting() == "c.1 d.1 e.1 ");
          l.release("b.1");
          BOOST_TEST(l.holder() == "c.1");
        }
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
}

// Leases have ended meanwhile.
BOOST_AUTO_TEST_CASE(a_lease_that_ended_while_the_server_stood_still_is_the_next_ones) {
  for (const auto kind : all_kinds) {
    stepped_queue l(kind);
    l.acquire("a.1", false, 2000);
    l.poll("b.1");
    l.poll("c.1");
    l.pass(600);
    l.poll("b.1");
    l.poll("c.1");
    l.pass(2400);
    BOOST_TEST(l.try_to("n.1") == '0');
    BOOST_TEST(l.holder() == "b.1");
    BOOST_TEST(l.poll("c.1") == '2');
  }
}

// Of a dead entry no script can tell. It is forgiven once, and costs what it costs when its turn comes.
BOOST_AUTO_TEST_CASE(a_dead_entry_is_forgiven_one_pause) {
  for (const auto kind : all_kinds) {
    stepped_queue l(kind);
    l.try_to("a.1");
    l.poll("b.1");
    l.poll("c.1");
    l.pass(5000);
    l.release("a.1");
    BOOST_TEST(l.holder() == "b.1");
    l.pass(1500);
    BOOST_TEST(l.try_to("n.1") == '0');
    l.pass(501);
    BOOST_TEST(l.try_to("n.1") == '1');
    l.release("n.1");
    // Another pause is no excuse for it.
    l.pass(3000);
    BOOST_TEST(l.try_to("n.2") == '1');
    BOOST_TEST(l.waiting() == "b.1 c.1 ");
  }
}

// Attempts that do not join are runs, too: while they come there is no pause, and silence is what it always was.
BOOST_AUTO_TEST_CASE(a_dead_entry_is_silent_in_time_while_others_ask) {
  for (const auto kind : all_kinds) {
    stepped_queue l(kind);
    l.try_to("a.1");
    l.poll("b.1");
    for (int i = 0; i < 17; ++i) {
      l.pass(100);
      BOOST_TEST(l.try_to("n.1") == '0');
    }
    l.release("a.1");
    BOOST_TEST(l.try_to("n.1") == '1');
  }
}

// Polls as a client does whose messages are lost, until it is granted; returns how long after the release that is.
std::int64_t served_after(stepped_queue& l, const std::string& token, bool in_front, std::int64_t released_at) {
  std::int64_t at = 0;
  std::int64_t next = in_front ? 667 : 5000;
  const auto go_on_to = [&](std::int64_t to) {
    l.pass(to - at);
    at = to;
  };
  for (bool released = false; at < 100000;) {
    if (!released && released_at <= next) {
      go_on_to(released_at);
      l.release("a.1");
      released = true;
    }
    go_on_to(next);
    const reply r = l.call({"acquire", token, "60000", "9007199254740991", "7", l.ask_of(token)});
    if (r.text.at(0) == '1') break;
    in_front = r.text[0] == '2';
    const std::int64_t left = std::stoll(r.text.substr(4)) + 1;
    next = at + (in_front ? std::min<std::int64_t>(667, left) : std::clamp<std::int64_t>(left, 2000, 5000));
  }
  return at - released_at;
}

// Many die at once while one lives behind them, and the server stands still or its clock is stepped.
BOOST_AUTO_TEST_CASE(behind_many_dead_entries_a_living_one_is_served_in_bounded_time) {
  for (const auto kind : all_kinds) {
    stepped_queue l(kind);
    for (const std::int64_t step : {0, 3000, 3600000, -300, -3000, -3600000}) {
      for (const std::int64_t released_at : {0, 900, 2500, 4900, 5500}) {
        BOOST_TEST_CONTEXT(script_of(kind).name << ", " << step << " ms, released at " << released_at) {
          l.begin_anew();
          l.acquire("a.1", false, 7200000);
          for (int i = 1; i <= 30; ++i) l.poll("dead." + std::to_string(i));
          l.pass(1);
          const bool in_front = l.poll("z.1") == '2';
          l.pass(step);
          // What is due by a clock that was stepped back by less than that is due later.
          const std::int64_t longer = step < 0 && step > -5000 ? -step : 0;
          BOOST_TEST(served_after(l, "z.1", in_front, released_at) <= 8000 + longer);
        }
      }
    }
  }
}

// Its holders' leases have ended, and others wait for it.
BOOST_AUTO_TEST_CASE(a_semaphore_that_is_not_held_has_the_limit_of_the_first_living_entry) {
  stepped_queue l(lock_kind::counting_semaphore);
  const auto ask = [&](const std::string& token, const std::string& limit, bool joins, std::int64_t lease = 60000) {
    return l.call({"acquire", token, std::to_string(lease), "9007199254740991", joins ? "7" : "", limit}).text;
  };
  for (const char* token : {"a.1", "a.2", "a.3"}) ask(token, "3", false, 1500);
  BOOST_TEST(ask("b.1", "3", true)[0] == '2');
  for (int i = 0; i < 2; ++i) {
    l.pass(600);
    BOOST_TEST(ask("b.1", "3", true)[0] == '2');
  }
  l.pass(301);
  BOOST_TEST(ask("n.1", "1", false).starts_with("-2 0 3 "));
  BOOST_TEST(ask("n.1", "4", true).starts_with("-2 0 3 "));
  BOOST_TEST(ask("n.2", "3", false, 1)[0] == '1');
  BOOST_TEST(l.holder() != "");
  // The entry has been granted; it never confirms, and falls silent.
  for (const std::int64_t pause : {800, 800}) {
    l.pass(pause);
    BOOST_TEST(ask("n.2", "3", false, 1)[0] == '1');
  }
  l.pass(401);
  BOOST_TEST(ask("n.3", "1", false)[0] == '1');
  BOOST_TEST(l.waiting() == "b.1 ");
  // When it is back it is told the limit that there is now.
  BOOST_TEST(ask("b.1", "3", true).starts_with("-2 0 1 "));
  BOOST_TEST(ask("b.1", "1", true)[0] == '2');
}

// One of three locks is busy: the two that were granted before it are free again.
BOOST_AUTO_TEST_CASE(several_locks_are_granted_all_or_none) {
  memory_host host;
  host.set_time(1800000000000000);
  host.load(leasehold::detail::scripts::all.text);
  host.command({"SET", "third", "another program's"});
  std::vector<std::string> words{"EVALSHA", std::string(leasehold::detail::scripts::all.sha1), "12"};
  for (const std::string name : {"first", "second", "third"}) {
    words.insert(words.end(), {name, counter, "leasehold:{0}:queue:" + name, "leasehold:{0}:entries:" + name});
  }
  words.insert(words.end(), {"60000", "9007199254740991", ""});
  for (const char* token : {"a.1", "a.2", "a.3"}) words.insert(words.end(), {"mutex", token, ""});
  BOOST_TEST(host.command(words).items.at(0).text.starts_with("0 0 -1 "));
  BOOST_TEST(host.command({"EXISTS", "first", "second"}).integer == 0);
  host.command({"DEL", "third"});
  BOOST_TEST(host.command(words).items.size() == 3u);
  BOOST_TEST(host.command({"EXISTS", "first", "second", "third"}).integer == 3);
}

// A slot moves with times to live: the new node's clock is ahead, and its key ends later than its longest member.
BOOST_AUTO_TEST_CASE(members_that_come_from_a_node_with_another_clock_keep_what_was_left) {
  for (const auto kind : {lock_kind::shared_mutex, lock_kind::counting_semaphore}) {
    stepped_queue l(kind);
    BOOST_TEST(l.acquire("a.1", false, 5000) == '1');
    l.pass(3000);
    BOOST_TEST(l.host.command({"PEXPIRE", record, "5000"}).integer == 1);
    l.pass(2500);
    BOOST_TEST(l.try_to("n.1") == '0');
    BOOST_TEST(l.holder() == "a.1");
    l.pass(2501);
    BOOST_TEST(l.try_to("n.1") == '1');
  }
}

// One of the two keys was evicted, or deleted by hand.
BOOST_AUTO_TEST_CASE(a_queue_without_entries_belongs_to_no_kind) {
  for (const auto kind : all_kinds) {
    stepped_queue l(kind);
    for (const auto waited : all_kinds) {
      BOOST_TEST_CONTEXT(script_of(waited).name << " and " << script_of(kind).name) {
        l.host.command({"ZADD", queue, "1", "b.1", "2", "c.1"});
        BOOST_TEST(l.try_to("x.1") == '1');
        BOOST_TEST(l.waiting() == "");
        l.release("x.1");
        BOOST_TEST(l.is_empty());
        // The holder's own release finds it.
        l.try_to("x.2");
        l.host.command({"ZADD", queue, "1", "b.1", "2", "c.1"});
        l.release("x.2");
        BOOST_TEST(l.is_empty());
        // Another one waits.
        l.try_to("x.3");
        l.host.command({"ZADD", queue, "1", "b.1", "2", "c.1"});
        BOOST_TEST(l.poll("y.1") == '2');
        BOOST_TEST(l.waiting() == "y.1 ");
        // Entries without a queue.
        l.host.command({"DEL", queue});
        const std::string other(script_of(waited).name);
        l.host.command({"HSET", entries, "#" + other, "5", "b.1", "7 5000 1 "});
        BOOST_TEST(l.poll("y.2") == '2');
        BOOST_TEST(l.waiting() == "y.2 ");
        BOOST_TEST(l.host.command({"HLEN", entries}).integer == 3);
        BOOST_TEST(l.host.command({"PTTL", entries}).integer == 60000);
        BOOST_TEST(l.host.command({"PTTL", queue}).integer == 60000);
        l.release("x.3");
        BOOST_TEST(l.holder() == "y.2");
        BOOST_TEST(l.poll("y.2") == '1');
        l.release("y.2");
        BOOST_TEST(l.is_empty());
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
