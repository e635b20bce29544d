// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A user with the rights that docs/operations.md names, and users with one less.
#include "support/with_redis.hpp"

#include <leasehold/admin.hpp>

#include <algorithm>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

using words = std::vector<std::string>;

// The line of docs/operations.md that creates this user.
words documented(const std::string& user) {
  std::ifstream file(LEASEHOLD_SOURCE_DIR "/docs/operations.md");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("ACL SETUSER " + user + " ")) continue;
    words all;
    std::istringstream in(line);
    for (std::string word; in >> word;) all.push_back(word);
    return all;
  }
  throw std::runtime_error("docs/operations.md does not create the user " + user);
}

// What somebody with these rights has met with.
struct report {
  words failures;
  bool refused = false;
  void note(const std::string& what, error_code ec) {
    if (!ec) return;
    refused = refused || ec == error::refused;
    failures.push_back(what + ": " + ec.message());
  }
};

struct with_users : with_redis {
  redis_connection admin{redis.socket_path()};

  void create(words line) {
    const reply r = admin.command(line);
    BOOST_REQUIRE_MESSAGE(!r.is_error(), r.text);
  }

  const std::function<void(const std::string&)> foreign = [this](const std::string& record) {
    admin.command({"HSET", record, "bob", "1"});
  };

  std::string url(const std::string& user) {
    return "redis://" + user + ":secret@127.0.0.1:" + std::to_string(redis.port());
  }
};

// A machine that stands still for three seconds loses none of them.
constexpr acquire_options quick{.lease = 6s, .wait = 8s};

// Acquires, renews, waits in vain, waits and is handed the lock, extends, releases. The second one waits for the first.
// (Others may use the clients at the same time.) `what`: the name of the lock.
template <class First, class Second>
awaitable<void> use(client a, client b, First first, Second second, report& r, std::string what) {
  const auto failed = a.stats().renewal_failed;
  auto [acquired, granted] = co_await first.acquire(quick, as_tuple);
  hold& h = granted;
  r.note(what + " acquire", acquired);
  if (acquired) co_return;
  const auto end = h.expires_at();
  auto [inspected, info] = co_await first.inspect(as_tuple);
  r.note(what + " inspect", inspected);
  auto [tried, busy] = co_await second.try_acquire(quick, as_tuple);
  r.note(what + " try_acquire", tried);
  // A busy machine may not answer in that time.
  error_code waited = error::unreachable;
  for (int i = 0; i < 100 && waited == error::unreachable; ++i) {
    auto [ec, none] = co_await second.acquire({.lease = 300ms, .wait = 100ms}, as_tuple);
    waited = ec;
  }
  if (waited != error::timed_out) r.note(what + " waiting in vain", waited);
  co_await eventually("it is renewed",
                      [&] { return h.expires_at() > end || a.stats().renewal_failed > failed || !h.valid(); });
  if (a.stats().renewal_failed > failed) r.note(what + " renewal", error::refused);
  const auto contended = [&] { return b.stats_by_class().at(what).contended; };
  const auto before = contended();
  std::optional<error_code> ended;
  hold next;
  second.acquire(quick, [&](error_code ec, hold got) {
    next = std::move(got);
    ended = ec;
  });
  co_await eventually("it waits", [&] { return ended || contended() > before; });
  auto [extended] = co_await h.extend(4s, as_tuple);
  r.note(what + " extend", extended);
  auto [released] = co_await h.release(as_tuple);
  r.note(what + " release", released);
  co_await eventually("the second one's end", [&] { return ended.has_value(); });
  r.note(what + " hand-off", *ended);
  if (!next.valid()) co_return;
  auto [extended_too] = co_await next.extend(4s, as_tuple);
  r.note(what + " extend after a hand-off", extended_too);
  auto [released_too] = co_await next.release(as_tuple);
  r.note(what + " release after a hand-off", released_too);
}

// Twice in, in both ways.
awaitable<void> enter_twice(recursive_mutex lock, report& r) {
  auto [one, outer] = co_await lock.acquire(quick, as_tuple);
  r.note("entry", one);
  auto [two, inner] = co_await lock.acquire(quick, as_tuple);
  r.note("entry again", two);
  if (!two) BOOST_TEST(inner.depth() == 2U);
  if (inner.valid()) r.note("leaving", std::get<0>(co_await inner.release(as_tuple)));
  if (outer.valid()) r.note("leaving at last", std::get<0>(co_await outer.release(as_tuple)));
}

awaitable<void> downgrade(shared_mutex lock, shared_mutex other, report& r) {
  auto [one, writer] = co_await lock.acquire(quick, as_tuple);
  r.note("writer", one);
  if (one) co_return;
  std::optional<error_code> ended;
  hold reader;
  other.acquire_shared(quick, [&](error_code ec, hold got) {
    reader = std::move(got);
    ended = ec;
  });
  auto [down] = co_await writer.downgrade(as_tuple);
  r.note("downgrade", down);
  co_await eventually("the reader's end", [&] { return ended.has_value(); });
  r.note("reader beside", *ended);
  if (reader.valid()) r.note("reader's release", std::get<0>(co_await reader.release(as_tuple)));
  if (writer.valid()) r.note("release after downgrade", std::get<0>(co_await writer.release(as_tuple)));
}

// Of two readers who wait as one entry, the second one follows the first past a writer.
awaitable<void> follow(client a, client b, report& r) {
  shared_mutex lock(a, "w");
  shared_mutex others(b, "w");
  auto [one, writer] = co_await lock.acquire(quick, as_tuple);  // (A client passes its hold on to its own writers.)
  r.note("writer in front", one);
  if (one) co_return;
  struct outcome {
    std::optional<error_code> ended;
    hold got;
  };
  outcome first, second, behind;
  const auto keep = [](outcome& o) {
    return [&o](error_code ec, hold got) {
      o.got = std::move(got);
      o.ended = ec;
    };
  };
  const auto readers = a.stats().contended;
  lock.acquire_shared(quick, keep(first));
  lock.acquire_shared(quick, keep(second));
  co_await eventually("the readers wait", [&] { return first.ended || a.stats().contended > readers + 1; });
  const auto writers = b.stats().contended;
  others.acquire(quick, keep(behind));
  co_await eventually("the writer waits", [&] { return behind.ended || b.stats().contended > writers; });
  r.note("writer's release", std::get<0>(co_await writer.release(as_tuple)));
  for (outcome* o : {&first, &second}) {
    co_await eventually("the reader's end", [&] { return o->ended.has_value(); });
    r.note("reader that follows", *o->ended);
  }
  for (outcome* o : {&first, &second}) {
    if (o->got.valid()) r.note("reader's release", std::get<0>(co_await o->got.release(as_tuple)));
  }
  co_await eventually("the writer's end", [&] { return behind.ended.has_value(); });
  r.note("writer behind", *behind.ended);
  if (behind.got.valid()) r.note("writer's release", std::get<0>(co_await behind.got.release(as_tuple)));
}

awaitable<void> resize(client c, report& r) {
  counting_semaphore lock(c, "d", 1);
  auto [one, first] = co_await lock.acquire(quick, as_tuple);
  r.note("permit", one);
  auto [resized] = co_await lock.resize(2, as_tuple);
  r.note("resize", resized);
  auto [two, second] = co_await lock.acquire(quick, as_tuple);
  r.note("second permit", two);
  if (second.valid()) r.note("second permit's release", std::get<0>(co_await second.release(as_tuple)));
  if (first.valid()) r.note("permit's release", std::get<0>(co_await first.release(as_tuple)));
}

awaitable<void> use_several(client c, report& r) {
  mutex a(c, "all a");
  counting_semaphore b(c, "all b", 3);
  shared_mutex d(c, "all d");
  auto several = acquire_all(quick, a, b, d);
  auto [ec, all] = co_await std::move(several)(as_tuple);
  r.note("acquire_all", ec);
  if (!ec) r.note("release of all", std::get<0>(co_await all.release(as_tuple)));
}

awaitable<void> elect(client a, client b, report& r) {
  auto [campaigned, led] = co_await election(a, "e").campaign("value", quick, as_tuple);
  r.note("campaign", campaigned);
  if (campaigned) co_return;
  auto [proclaimed] = co_await led.proclaim("another", as_tuple);
  r.note("proclaim", proclaimed);
  auto [asked, found] = co_await election(b, "e").leader(as_tuple);
  r.note("leader", asked);
  auto [resigned] = co_await led.resign(as_tuple);
  r.note("resign", resigned);
}

// Everything that a program does with locks. After the first refusal it goes no further. `set` makes the record of
// another program's lock.
awaitable<void> use_everything(std::string url, std::string prefix, report& r, std::string& last_words,
                               const std::function<void(const std::string& record)>& set) {
  const auto executor = co_await asio::this_coro::executor;
  client_options o;
  o.prefix = prefix;
  o.classify = [](std::string_view name) { return std::string(name); };
  client a(executor, url, o);
  client b(executor, url, o);
  for (const client& c : {std::ref(a), std::ref(b)}) r.note("ready", std::get<0>(co_await c.ready(as_tuple)));
  // Side by side: each of them waits for a renewal.
  std::size_t running = 0;
  const auto begin = [&](awaitable<void> one) {
    ++running;
    asio::co_spawn(executor, std::move(one), [&running](std::exception_ptr e) {
      --running;
      if (e) std::rethrow_exception(e);
    });
  };
  if (!r.refused) {
    const std::string m = "mutex", v = "recursive mutex", w = "writers", t = "writer and reader",
                      u = "reader and writer", s = "semaphore";
    begin(use(a, b, mutex(a, m), mutex(b, m), r, m));
    begin(use(a, b, recursive_mutex(a, v, "alice"), recursive_mutex(b, v, "bob"), r, v));
    begin(use(a, b, shared_mutex(a, w), shared_mutex(b, w), r, w));
    begin(use(a, b, shared_mutex(a, t), shared_mutex(b, t).shared(), r, t));
    begin(use(a, b, shared_mutex(a, u).shared(), shared_mutex(b, u), r, u));
    begin(use(a, b, counting_semaphore(a, s, 1), counting_semaphore(b, s, 1), r, s));
    co_await eventually("all kinds have been used", [&] { return running == 0; });
  }
  if (!r.refused) co_await enter_twice(recursive_mutex(a, "rr", "alice"), r);
  set(prefix + "foreign");
  if (!r.refused) {
    auto [ec, busy] = co_await recursive_mutex(a, "foreign", "alice").try_acquire(quick, as_tuple);
    r.note("another program's lock", ec);
  }
  if (!r.refused) co_await follow(a, b, r);
  if (!r.refused) co_await downgrade(shared_mutex(a, "v"), shared_mutex(b, "v"), r);
  if (!r.refused) co_await resize(a, r);
  if (!r.refused) co_await use_several(a, r);
  if (!r.refused) co_await elect(a, b, r);
  last_words = a.last_refusal() + b.last_refusal();
  for (const client& c : {std::ref(a), std::ref(b)}) r.note("close", std::get<0>(co_await c.close(as_tuple)));
}

std::string listed(const words& all) {
  std::string text;
  for (const auto& w : all) text += (text.empty() ? "" : "; ") + w;
  return text;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(rights, with_users)

BOOST_AUTO_TEST_CASE(what_the_documentation_names_suffices) {
  create(documented("billing"));
  report r;
  std::string last_words;
  run([&]() -> awaitable<void> { co_await use_everything(url("billing"), "billing:", r, last_words, foreign); });
  BOOST_TEST(r.failures.empty(), listed(r.failures));
  BOOST_TEST(last_words == "");
  BOOST_TEST(admin.command({"ACL", "LOG"}).items.empty());
}

BOOST_AUTO_TEST_CASE(an_observer_of_an_election_needs_what_the_documentation_names) {
  words line = documented("billing");
  line.push_back("+unsubscribe");
  create(line);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options o;
    o.prefix = "billing:";
    client c(executor, url("billing"), o);
    const election place(c, "n");
    {
      leader_observer observer = place.observe();
      const auto nobody = co_await observer.next();
      BOOST_TEST(!nobody.has_value());
      leadership led = co_await place.campaign("value");
      const auto leader = co_await observer.next();
      BOOST_REQUIRE(leader.has_value());
      BOOST_TEST(leader->value == "value");
      co_await led.resign();
    }
    co_await c.ready();
    BOOST_TEST(c.stats().reconnects == 0U);
    co_await c.close();
  });
  BOOST_TEST(admin.command({"ACL", "LOG"}).items.empty());
}

// The log names what the words of Redis 7.0 about a command of a script do not.
BOOST_AUTO_TEST_CASE(each_right_that_is_missing_is_told) {
  struct trial {
    std::string missing;
    words line;
    report seen;
    std::string last_words;
    bool ended = false;
  };
  std::vector<std::unique_ptr<trial>> trials;
  const words line = documented("billing");
  const auto add = [&](const std::string& missing, const words& more) {
    auto t = std::make_unique<trial>();
    t->missing = missing;
    t->line = line;
    t->line[2] = "without-" + std::to_string(trials.size());
    t->line.insert(t->line.end(), more.begin(), more.end());
    create(t->line);
    trials.push_back(std::move(t));
  };
  add("eval", {"-eval"});  // First: once the scripts are known nobody needs it.
  for (const auto& word : line) {
    const std::string command = word.substr(1);
    const bool is_missed = command != "info" && command != "mget";
    if (word[0] == '+' && is_missed && command != "eval") add(command, {"-" + command});
  }
  add("name", {"resetkeys", "~leasehold:*"});
  add("queue", {"resetkeys", "~billing:*"});
  add("channel", {"resetchannels"});
  run([&]() -> awaitable<void> {
    const auto work = [&](trial& one) -> awaitable<void> {
      co_await use_everything(url(one.line[2]), "billing:" + one.missing + ":", one.seen, one.last_words, foreign);
      one.ended = true;
    };
    for (auto& t : trials) {
      if (t->missing == "eval") {
        co_await work(*t);
      } else {
        asio::co_spawn(co_await asio::this_coro::executor, work(*t), [](std::exception_ptr e) {
          if (e) std::rethrow_exception(e);
        });
      }
    }
    co_await eventually("all end",
                        [&] { return std::all_of(trials.begin(), trials.end(), [](auto& t) { return t->ended; }); });
  });
  const auto log = admin.command({"ACL", "LOG", "1000"}).items;
  for (const auto& t : trials) {
    // What a client tells others fails in the background.
    const bool in_background = t->missing == "publish";
    BOOST_TEST(t->seen.refused == !in_background, "without " << t->missing << ": " << listed(t->seen.failures));
    if (in_background) BOOST_TEST(t->seen.failures.empty(), listed(t->seen.failures));
    const auto says = [&](const char* some) { return t->last_words.find(some) != std::string::npos; };
    // Of a command in a script Redis 7.0 says the last, Valkey 8 the second.
    const bool says_no = says("NOPERM") || says("has no permissions") || says("can't run this command");
    BOOST_TEST(says_no, "without " << t->missing << ": " << t->last_words);
    BOOST_TEST_MESSAGE("without " << t->missing << ": " << listed(t->seen.failures) << ": " << t->last_words);
    const bool logged = std::any_of(log.begin(), log.end(), [&](const reply& entry) {
      return std::any_of(entry.items.begin(), entry.items.end(), [&](const reply& i) { return i.text == t->line[2]; });
    });
    BOOST_TEST(logged, "without " << t->missing);
  }
}

BOOST_AUTO_TEST_CASE(an_operator_needs_what_the_documentation_names) {
  create(documented("operator"));
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options o;
    o.prefix = "billing:";
    client holder(executor, redis.url(), o);
    client waiting(executor, redis.url(), o);
    client c(executor, url("operator"), o);
    co_await c.ready();
    const auto look_and_break = [&](auto lock, auto other) -> awaitable<void> {
      hold h = co_await lock.acquire();
      hold next;
      bool ended = false;
      const auto contended = waiting.stats().contended;
      other.acquire([&](error_code ec, hold got) {
        BOOST_TEST(!ec);
        next = std::move(got);
        ended = true;
      });
      co_await eventually("it waits", [&] { return waiting.stats().contended > contended; });
      const auto all = co_await list(c);
      BOOST_TEST(std::any_of(all.begin(), all.end(), [&](auto& l) { return l.name == lock.name(); }));
      const lock_status status = co_await show(c, lock.name());
      BOOST_TEST(status.queue.size() == 1U);
      co_await break_lock(c, lock.name());
      co_await eventually("it is handed over", [&] { return ended; });
      // Nobody waits for the second one.
      co_await break_lock(c, lock.name());
    };
    co_await look_and_break(mutex(holder, "m"), mutex(waiting, "m"));
    co_await look_and_break(recursive_mutex(holder, "r", "alice"), recursive_mutex(waiting, "r", "bob"));
    co_await look_and_break(shared_mutex(holder, "s"), shared_mutex(waiting, "s"));
    co_await look_and_break(shared_mutex(holder, "t").shared(), shared_mutex(waiting, "t"));
    co_await look_and_break(counting_semaphore(holder, "c", 1), counting_semaphore(waiting, "c", 1));
    redis.command("SET", "billing:other", "another program's", "PX", "60000");
    co_await show(c, "other");
    co_await break_lock(c, "other", true);
  });
  BOOST_TEST(admin.command({"ACL", "LOG"}).items.empty());
}

BOOST_AUTO_TEST_CASE(locks_are_released_together_without_the_right_to_mget) {
  words line = documented("billing");
  line.push_back("-mget");
  create(line);
  run([&]() -> awaitable<void> {
    client_options o;
    o.prefix = "billing:";
    client c(co_await asio::this_coro::executor, url("billing"), o);
    std::vector<hold> holds;
    for (const std::string name : {"a", "b", "c", "d", "e", "f"}) holds.push_back(co_await mutex(c, name).acquire());
    std::size_t released = 0;
    for (auto& h : holds) {
      h.release([&](error_code ec) {
        BOOST_TEST(!ec);
        ++released;
      });
    }
    co_await eventually("all are released", [&] { return released == holds.size(); });
    BOOST_TEST(c.last_refusal() == "");
    co_await c.close();
  });
  BOOST_TEST(admin.command({"KEYS", "billing:*"}).items.empty());
  // The server has refused the bundle.
  BOOST_TEST(!admin.command({"ACL", "LOG"}).items.empty());
}

BOOST_AUTO_TEST_CASE(who_only_looks_needs_less) {
  words line = documented("operator");
  for (const auto* right : {"-get", "-hmget", "-set", "-pexpire", "-pexpireat", "-del", "-zrem", "-hset", "-hdel",
                            "-hincrby", "-publish"}) {
    line.push_back(right);
  }
  create(line);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options o;
    o.prefix = "billing:";
    client holder(executor, redis.url(), o);
    client c(executor, url("operator"), o);
    hold m = co_await mutex(holder, "m").acquire();
    hold r = co_await recursive_mutex(holder, "r", "alice").acquire();
    hold s = co_await shared_mutex(holder, "s").acquire_shared();
    hold d = co_await counting_semaphore(holder, "c", 2).acquire();
    const auto all = co_await list(c);
    BOOST_TEST(all.size() == 4U);
    for (const std::string name : {"m", "r", "s", "c"}) co_await show(c, name);
    auto [ec, none] = co_await break_lock(c, "m", as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(m.valid());
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
