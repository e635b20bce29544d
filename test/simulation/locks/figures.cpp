// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Figures for each class of locks, what events say of a lock, and waits that are reported while they last.
#include "simulation/with_memory.hpp"

#include <leasehold/prometheus.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(figures, with_memory)

namespace {

using std::chrono::microseconds;

// An event that is kept.
struct noted {
  event::kind what;
  std::string name, text, token, label, holder;
  std::uint64_t fence;
  microseconds duration;
  std::optional<std::chrono::system_clock::time_point> since;
};

// The observer outlives a test that fails.
struct observed {
  std::shared_ptr<std::vector<noted>> all = std::make_shared<std::vector<noted>>();
  std::function<void(const event&)> observer() {
    return [all = all](const event& e) {
      all->push_back({e.what, std::string(e.name), std::string(e.text), std::string(e.token), std::string(e.label),
                      std::string(e.holder), e.fence, e.duration, e.since});
    };
  }
  std::vector<noted> of(event::kind what) const {
    std::vector<noted> found;
    std::copy_if(all->begin(), all->end(), std::back_inserter(found), [&](const noted& n) { return n.what == what; });
    return found;
  }
  // The only one.
  noted one(event::kind what) const {
    const auto found = of(what);
    BOOST_REQUIRE_EQUAL(found.size(), 1U);
    return found.front();
  }
};

std::string first_word(std::string_view name) { return std::string(name.substr(0, name.find(':'))); }

client_options by_first_word() {
  client_options o;
  o.classify = first_word;
  return o;
}

// Virtual messages take up to 2 ms each.
void is_about(microseconds found, microseconds expected) {
  BOOST_TEST((found >= expected && found <= expected + 20ms), found.count() << " us instead of " << expected.count());
}

std::size_t classes_of(const client& c) { return c.stats_by_class().size(); }

// The server's clock.
std::chrono::system_clock::time_point time_of(memory_server& redis) {
  const auto now = redis.command("TIME");
  return std::chrono::system_clock::time_point(std::chrono::seconds(std::stoll(now.items.at(0).text)) +
                                               microseconds(std::stoll(now.items.at(1).text)));
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_class_has_figures_of_its_own) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), by_first_word());
    const mutex seat(c, "seat:1"), user(c, "user:1"), job(c, "job:1");
    hold first = co_await seat.acquire();
    hold second;
    seat.acquire([&](error_code ec, hold h) {
      BOOST_TEST(!ec);
      second = std::move(h);
    });
    const auto [late, none] = co_await seat.acquire({.wait = 100ms}, as_tuple);
    BOOST_TEST(late == error::timed_out);
    co_await pause(200ms);
    auto seats = c.stats_by_class().at("seat");
    BOOST_TEST(seats.held == 1U);
    BOOST_TEST(seats.waiting == 1U);
    BOOST_TEST(seats.acquired == 1U);
    BOOST_TEST(seats.contended == 2U);
    BOOST_TEST(seats.timed_out == 1U);
    co_await first.release();
    co_await eventually("the other one has it", [&] { return second.valid(); });
    co_await pause(50ms);
    co_await second.release();
    seats = c.stats_by_class().at("seat");
    BOOST_TEST(seats.held == 0U);
    BOOST_TEST(seats.waiting == 0U);
    BOOST_TEST(seats.acquired == 2U);
    BOOST_TEST(seats.waiting_time.count() == 2U);
    is_about(seats.waiting_time.sum(), 300ms);
    BOOST_TEST(seats.hold_time.count() == 2U);
    is_about(seats.hold_time.sum(), 350ms);
    BOOST_TEST((seats.cancelled == 0U && seats.lost == 0U));

    hold mine = co_await user.acquire();
    {
      cancel_timer timer(co_await asio::this_coro::executor, 100ms);
      const auto token = timer.bind(as_tuple);
      const auto [ec, nothing] = co_await user.acquire({}, token);
      BOOST_TEST(ec == asio::error::operation_aborted);
    }
    hold brief = co_await job.acquire({.lease = 200ms, .renew = renewal::none});
    co_await brief.lost();
    // A loss that only the release finds out.
    hold broken = co_await job.acquire();
    redis.command("DEL", "job:1");
    const auto [gone] = co_await broken.release(as_tuple);
    BOOST_TEST(gone == error::lost);
    const auto all = c.stats_by_class();
    BOOST_TEST(all.size() == 3U);
    BOOST_TEST(all.at("user").cancelled == 1U);
    BOOST_TEST(all.at("user").held == 1U);
    BOOST_TEST(all.at("job").lost == 2U);
    BOOST_TEST(all.at("job").held == 0U);
    const auto sum = [&](auto member) {
      std::uint64_t n = 0;
      for (const auto& [label, its] : all) n += its.*member;
      return n;
    };
    const auto total = c.stats();
    BOOST_TEST(sum(&class_statistics::acquired) == total.acquired);
    BOOST_TEST(sum(&class_statistics::contended) == total.contended);
    BOOST_TEST(sum(&class_statistics::timed_out) == total.timed_out);
    BOOST_TEST(sum(&class_statistics::cancelled) == total.cancelled);
    BOOST_TEST(sum(&class_statistics::lost) == total.lost);
    BOOST_TEST(sum(&class_statistics::held) == total.held);
    BOOST_TEST(sum(&class_statistics::waiting) == total.waiting);
    BOOST_TEST(total.acquired == 5U);
  });
}

BOOST_AUTO_TEST_CASE(a_busy_try_acquire_is_contended_and_neither_timed_out_nor_cancelled) {
  run([&]() -> awaitable<void> {
    observed seen;
    auto o = by_first_word();
    o.observer = seen.observer();
    client c(co_await asio::this_coro::executor, redis.url(), o);
    client other(co_await asio::this_coro::executor, redis.url());
    hold theirs = co_await mutex(other, "seat:1").acquire();
    const auto [ec, none] = co_await mutex(c, "seat:1").try_acquire(as_tuple);
    BOOST_TEST(!ec);
    BOOST_TEST(!none.has_value());
    const auto all = c.stats();
    const auto seats = c.stats_by_class().at("seat");
    BOOST_TEST((all.contended == 1U && seats.contended == 1U));
    BOOST_TEST((all.timed_out == 0U && seats.timed_out == 0U));
    BOOST_TEST((all.cancelled == 0U && seats.cancelled == 0U));
    BOOST_TEST((all.waiting == 0U && seats.waiting == 0U));
    BOOST_TEST(all.waiting_time.count() == 0U);
    for (const noted& e : *seen.all) BOOST_TEST(e.name == "", to_string(e.what));
  });
}

BOOST_AUTO_TEST_CASE(a_loss_that_close_finds_out_is_counted_and_none_is_counted_twice) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    client finds_out(e, redis.url(), by_first_word()), knows(e, redis.url(), by_first_word());
    hold broken = co_await mutex(finds_out, "seat:1").acquire();
    redis.command("DEL", "seat:1");
    co_await finds_out.close();
    BOOST_TEST(finds_out.stats().lost == 1U);
    BOOST_TEST(finds_out.stats_by_class().at("seat").lost == 1U);
    // Their losses were reported before: that of one that the program releases, and that of another one.
    hold brief = co_await mutex(knows, "seat:2").acquire({.lease = 200ms, .renew = renewal::none});
    hold other = co_await mutex(knows, "seat:3").acquire({.lease = 200ms, .renew = renewal::none});
    co_await brief.lost();
    co_await other.lost();
    redis.command("DEL", "seat:2");
    const auto [gone] = co_await brief.release(as_tuple);
    BOOST_TEST(gone == error::lost);
    BOOST_TEST(knows.stats().lost == 2U);
    co_await knows.close();
    BOOST_TEST(knows.stats().lost == 2U);
    BOOST_TEST(knows.stats_by_class().at("seat").lost == 2U);
  });
}

BOOST_AUTO_TEST_CASE(every_kind_and_acquire_all_are_counted) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), by_first_word());
    hold a = co_await recursive_mutex(c, "a:1", "owner").acquire();
    hold b = co_await shared_mutex(c, "b:1").acquire();
    hold d = co_await shared_mutex(c, "d:1").acquire_shared();
    hold e = co_await counting_semaphore(c, "e:1", 3).acquire();
    const mutex f(c, "f:1"), g(c, "g:1");
    auto both = co_await acquire_all(f, g);
    const auto all = c.stats_by_class();
    for (const char* label : {"a", "b", "d", "e", "f", "g"}) {
      BOOST_TEST(all.at(label).acquired == 1U, label);
      BOOST_TEST(all.at(label).held == 1U, label);
    }
    BOOST_TEST(all.size() == 6U);
  });
}

BOOST_AUTO_TEST_CASE(a_lock_without_a_label_is_in_no_class) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.classify = [](std::string_view) { return std::string(); };
    client c(co_await asio::this_coro::executor, redis.url(), o);
    client without(co_await asio::this_coro::executor, redis.url());
    hold a = co_await mutex(c, "a").acquire();
    hold b = co_await mutex(without, "b").acquire();
    BOOST_TEST(classes_of(c) == 0U);
    BOOST_TEST(classes_of(without) == 0U);
    BOOST_TEST(c.stats().acquired == 1U);
  });
}

// A mistake: every name is a class.
BOOST_AUTO_TEST_CASE(a_client_keeps_64_classes_and_other) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.classify = [](std::string_view name) { return std::string(name); };
    client c(co_await asio::this_coro::executor, redis.url(), o);
    client second(co_await asio::this_coro::executor, redis.url(), o);
    // A label that is called so takes no place.
    const mutex called_other(second, "other");
    for (int i = 0; i < 64; ++i) {
      const mutex lock(c, "n" + std::to_string(i)), same(second, "n" + std::to_string(i));
    }
    BOOST_TEST(classes_of(c) == 64U);
    BOOST_TEST(classes_of(second) == 65U);
    for (int i = 64; i < 1000; ++i) const mutex lock(c, "n" + std::to_string(i));
    BOOST_TEST(classes_of(c) == 65U);
    hold one = co_await mutex(c, "n63").acquire();
    hold two = co_await mutex(c, "n64").acquire();
    BOOST_TEST(c.stats_by_class().at("n63").acquired == 1U);
    BOOST_TEST(c.stats_by_class().at("other").acquired == 1U);
  });
}

BOOST_AUTO_TEST_CASE(a_label_that_is_too_long_or_not_utf8_is_other) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.classify = [](std::string_view name) { return std::string(name); };
    client c(co_await asio::this_coro::executor, redis.url(), o);
    const mutex longest(c, std::string(128, 'a'));
    BOOST_TEST(c.stats_by_class().contains(std::string(128, 'a')));
    BOOST_TEST(classes_of(c) == 1U);
    const mutex too_long(c, std::string(129, 'a')), no_utf8(c, "b\xff");
    BOOST_TEST(classes_of(c) == 2U);
    BOOST_TEST(c.stats_by_class().contains("other"));
    BOOST_TEST(to_prometheus(c).find("leasehold_class_held{class=\"other\"} 0\n") != std::string::npos);
  });
}

BOOST_AUTO_TEST_CASE(classify_is_asked_once_for_each_lock_that_is_constructed) {
  run([&]() -> awaitable<void> {
    const auto asked = std::make_shared<std::vector<std::string>>();
    client_options o;
    o.prefix = "app:";
    o.classify = [asked](std::string_view name) {
      asked->emplace_back(name);
      return std::string("x");
    };
    client c(co_await asio::this_coro::executor, redis.url(), o);
    const mutex lock(c, "n");
    const mutex copy = lock;
    for (int i = 0; i < 3; ++i) {
      hold h = co_await copy.acquire();
      co_await h.release();
    }
    BOOST_TEST(*asked == std::vector<std::string>{"n"}, boost::test_tools::per_element());
    BOOST_TEST(c.stats_by_class().at("x").acquired == 3U);
  });
}

BOOST_AUTO_TEST_CASE(what_classify_throws_leaves_the_constructor) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.classify = [](std::string_view name) -> std::string {
      if (name == "bad") throw std::runtime_error("no class for bad");
      return "good";
    };
    client c(co_await asio::this_coro::executor, redis.url(), o);
    BOOST_CHECK_EXCEPTION(mutex(c, "bad"), std::runtime_error,
                          [](const auto& e) { return e.what() == std::string("no class for bad"); });
    hold h = co_await mutex(c, "n").acquire();
    BOOST_TEST(c.stats_by_class().at("good").held == 1U);
  });
}

// It would end the coroutine that asks, without a word.
BOOST_AUTO_TEST_CASE(what_classify_throws_for_a_ticket_leaves_run) {
  ticket given;
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "bad").acquire();
    given = co_await h.detach();
  });
  asio::io_context context;
  client_options o;
  o.classify = [](std::string_view) -> std::string { throw std::runtime_error("no class"); };
  const client c(context, redis.url(), o);
  std::optional<error_code> ended;
  c.resume(given, [&ended](error_code ec, const hold&) { ended = ec; });
  int thrown = 0;
  for (int i = 0; i < 3; ++i) {
    try {
      run_until(context, [&ended] { return ended.has_value(); });
    } catch (const std::runtime_error& e) {
      BOOST_REQUIRE(e.what() == std::string("no class"));
      ++thrown;
    }
  }
  BOOST_TEST(*ended == error::invalid_option);
  BOOST_TEST(thrown == 1);
}

BOOST_AUTO_TEST_CASE(events_name_the_hold_its_class_and_how_long) {
  run([&]() -> awaitable<void> {
    observed seen;
    auto o = by_first_word();
    o.observer = seen.observer();
    client c(co_await asio::this_coro::executor, redis.url(), o);
    client other(co_await asio::this_coro::executor, redis.url());
    const mutex lock(c, "seat:1");
    hold theirs = co_await mutex(other, "seat:1").acquire();
    const auto [late, none] = co_await lock.acquire({.wait = 100ms}, as_tuple);
    BOOST_TEST(late == error::timed_out);
    is_about(seen.one(event::kind::timed_out).duration, 100ms);
    BOOST_TEST(seen.one(event::kind::timed_out).label == "seat");
    {
      cancel_timer timer(co_await asio::this_coro::executor, 150ms);
      const auto token = timer.bind(as_tuple);
      co_await lock.acquire({}, token);
    }
    is_about(seen.one(event::kind::cancelled).duration, 150ms);
    BOOST_TEST(seen.one(event::kind::cancelled).label == "seat");
    hold mine;
    lock.acquire({.lease = 2s, .renew = renewal::none}, [&](error_code, hold h) { mine = std::move(h); });
    co_await pause(300ms);
    co_await theirs.release();
    co_await eventually("it has the lock", [&] { return mine.valid(); });
    const auto acquired = seen.one(event::kind::acquired);
    is_about(acquired.duration, 300ms);
    BOOST_TEST(acquired.name == "seat:1");
    BOOST_TEST(acquired.label == "seat");
    BOOST_TEST(acquired.token == mine.token());
    BOOST_TEST(acquired.fence == mine.fence());
    BOOST_TEST(acquired.holder == "");
    BOOST_TEST(!acquired.since);
    co_await mine.lost();
    const auto lost = seen.one(event::kind::lost);
    BOOST_TEST((lost.duration > 1900ms && lost.duration < 2s));
    BOOST_TEST(lost.token == mine.token());
    BOOST_TEST(lost.fence == mine.fence());
    BOOST_TEST(lost.label == "seat");
    // It was held until the loss, and not until the release.
    co_await pause(500ms);
    co_await mine.release(as_tuple);
    BOOST_TEST(seen.one(event::kind::released).duration == lost.duration);
    BOOST_TEST(seen.one(event::kind::released).token == mine.token());
  });
}

BOOST_AUTO_TEST_CASE(acquire_all_says_how_long_it_took) {
  run([&]() -> awaitable<void> {
    observed seen;
    client_options o;
    o.observer = seen.observer();
    client c(co_await asio::this_coro::executor, redis.url(), o);
    co_await c.ready();
    const mutex a(c, "a"), b(c, "b");
    auto both = co_await acquire_all(a, b);
    const auto acquired = seen.of(event::kind::acquired);
    BOOST_REQUIRE(acquired.size() == 2U);
    for (const auto& e : acquired) BOOST_TEST((e.duration > 0us && e.duration < 20ms));
    BOOST_TEST(acquired[0].fence == both[0].fence());
    BOOST_TEST(acquired[1].fence == both[1].fence());
  });
}

BOOST_AUTO_TEST_CASE(a_slow_wait_names_the_client_in_the_way) {
  run([&]() -> awaitable<void> {
    observed seen;
    auto o = by_first_word();
    o.slow_wait = 1s;
    o.observer = seen.observer();
    client c(co_await asio::this_coro::executor, redis.url(), o);
    client_options named;
    named.label = "web1-4711";
    client other(co_await asio::this_coro::executor, redis.url(), named);
    const auto before = time_of(redis);
    hold theirs = co_await mutex(other, "seat:1").acquire();
    const auto after = time_of(redis);
    hold mine;
    mutex(c, "seat:1").acquire([&](error_code, hold h) { mine = std::move(h); });
    co_await pause(999ms);
    BOOST_TEST(seen.of(event::kind::slow_wait).empty());
    BOOST_TEST(c.stats().slow_waits == 0U);
    co_await pause(10ms);
    const auto slow = seen.one(event::kind::slow_wait);
    BOOST_TEST(slow.name == "seat:1");
    BOOST_TEST(slow.label == "seat");
    BOOST_TEST(slow.token == theirs.token());
    BOOST_TEST(slow.fence == theirs.fence());
    BOOST_TEST(slow.holder == "web1-4711");
    is_about(slow.duration, 1s);
    BOOST_REQUIRE(slow.since.has_value());
    BOOST_TEST((*slow.since >= before && *slow.since <= after));
    BOOST_TEST(slow.text.starts_with("held by web1-4711 since "), slow.text);
    BOOST_TEST(slow.text.ends_with("Z, 1 in the queue"), slow.text);
    // Once, however long it still takes.
    co_await pause(10s);
    BOOST_TEST(seen.of(event::kind::slow_wait).size() == 1U);
    BOOST_TEST(seen.of(event::kind::acquired).empty());
    co_await theirs.release();
    co_await eventually("it has the lock", [&] { return mine.valid(); });
    is_about(seen.one(event::kind::acquired).duration, 11009ms);
    BOOST_TEST(c.stats().slow_waits == 1U);
    BOOST_TEST(c.stats_by_class().at("seat").slow_waits == 1U);
  });
}

BOOST_AUTO_TEST_CASE(no_event_follows_a_slow_wait_that_close_ends) {
  run([&]() -> awaitable<void> {
    observed seen;
    client_options o;
    o.slow_wait = 1s;
    o.observer = seen.observer();
    client c(co_await asio::this_coro::executor, redis.url(), o);
    client other(co_await asio::this_coro::executor, redis.url());
    hold theirs = co_await mutex(other, "n").acquire();
    outcome waits;
    mutex(c, "n").acquire([&waits](error_code ec, hold) { waits.ec = ec; });
    co_await pause(1100ms);
    BOOST_TEST(seen.one(event::kind::slow_wait).name == "n");
    co_await c.close();
    co_await eventually("it ends", [&] { return waits.ended(); });
    BOOST_TEST(*waits.ec == error::closed);
    for (const auto what : {event::kind::acquired, event::kind::timed_out, event::kind::cancelled}) {
      BOOST_TEST(seen.of(what).empty(), to_string(what));
    }
    BOOST_TEST(seen.of(event::kind::slow_wait).size() == 1U);
    BOOST_TEST(c.stats().contended == 1U);
    BOOST_TEST((c.stats().timed_out == 0U && c.stats().cancelled == 0U));
  });
}

BOOST_AUTO_TEST_CASE(a_slow_wait_for_a_lock_that_rests_names_the_client_that_had_it) {
  run([&]() -> awaitable<void> {
    observed seen;
    client_options o;
    o.slow_wait = 1s;
    o.observer = seen.observer();
    client c(co_await asio::this_coro::executor, redis.url(), o);
    client_options named;
    named.label = "web1-4711";
    client other(co_await asio::this_coro::executor, redis.url(), named);
    const auto before = time_of(redis);
    hold theirs = co_await mutex(other, "n").acquire({.at_least = 1min});
    const auto after = time_of(redis);
    const auto token = theirs.token();
    const auto fence = theirs.fence();
    co_await theirs.release();
    outcome waits;
    mutex(c, "n").acquire([&waits](error_code ec, hold) { waits.ec = ec; });
    co_await pause(1100ms);
    const auto slow = seen.one(event::kind::slow_wait);
    BOOST_TEST(!waits.ended());
    BOOST_TEST(slow.token == "~" + token);
    BOOST_TEST(slow.holder == "web1-4711");
    BOOST_TEST(slow.fence == fence);
    BOOST_REQUIRE(slow.since.has_value());
    BOOST_TEST((*slow.since >= before && *slow.since <= after));
    BOOST_TEST(slow.text.starts_with("held by web1-4711 since "), slow.text);
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(waits_that_become_slow_together_ask_once) {
  const auto scripts_of = [&](std::chrono::milliseconds slow, observed& seen) {
    std::int64_t scripts = 0;
    run([&]() -> awaitable<void> {
      client_options o;
      o.slow_wait = slow;
      o.observer = seen.observer();
      client c(co_await asio::this_coro::executor, redis.url(), o);
      client other(co_await asio::this_coro::executor, redis.url());
      hold theirs = co_await mutex(other, "n").acquire();
      std::vector<hold> got;
      for (int i = 0; i < 50; ++i) mutex(c, "n").acquire([&](error_code, hold h) { got.push_back(std::move(h)); });
      co_await pause(900ms);
      const auto before = redis.scripts();
      co_await pause(200ms);
      scripts = redis.scripts() - before;
      co_await c.close();
    });
    return scripts;
  };
  observed seen, quiet;
  BOOST_TEST(scripts_of(forever, quiet) == 0);
  BOOST_TEST(quiet.of(event::kind::slow_wait).empty());
  BOOST_TEST(scripts_of(1s, seen) == 1);
  BOOST_TEST(seen.of(event::kind::slow_wait).size() == 50U);
}

BOOST_AUTO_TEST_CASE(without_an_observer_slow_waits_are_only_counted) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.slow_wait = 1s;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    client other(co_await asio::this_coro::executor, redis.url());
    hold theirs = co_await mutex(other, "n").acquire();
    hold got;
    mutex(c, "n").acquire([&](error_code, hold h) { got = std::move(h); });
    co_await pause(900ms);
    const auto before = redis.scripts();
    co_await pause(200ms);
    BOOST_TEST(redis.scripts() == before);
    BOOST_TEST(c.stats().slow_waits == 1U);
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(waits_that_end_in_time_are_not_reported) {
  run([&]() -> awaitable<void> {
    observed seen;
    client_options o;
    o.slow_wait = 1s;
    o.observer = seen.observer();
    client c(co_await asio::this_coro::executor, redis.url(), o);
    client other(co_await asio::this_coro::executor, redis.url());
    // A free lock costs what it costs without the option.
    hold h = co_await mutex(c, "free").acquire();
    co_await h.release();
    BOOST_TEST(c.stats().commands == 2U);
    hold theirs = co_await mutex(other, "n").acquire();
    const mutex lock(c, "n");
    const auto [late, none] = co_await lock.acquire({.wait = 1s}, as_tuple);
    BOOST_TEST(late == error::timed_out);
    const auto busy = co_await lock.try_acquire();
    BOOST_TEST(!busy);
    hold got;
    lock.acquire([&](error_code, hold g) { got = std::move(g); });
    co_await pause(900ms);
    co_await theirs.release();
    co_await eventually("it has the lock", [&] { return got.valid(); });
    co_await pause(5s);
    BOOST_TEST(c.stats().slow_waits == 0U);
    BOOST_TEST(seen.of(event::kind::slow_wait).empty());
  });
}

BOOST_AUTO_TEST_CASE(another_programs_lock_is_reported_without_a_client) {
  run([&]() -> awaitable<void> {
    observed seen;
    client_options o;
    o.slow_wait = 300ms;
    o.observer = seen.observer();
    client c(co_await asio::this_coro::executor, redis.url(), o);
    redis.command("SET", "n", "theirs\x1b[2J", "PX", "1000");
    hold h = co_await mutex(c, "n").acquire();
    const auto slow = seen.one(event::kind::slow_wait);
    BOOST_TEST(slow.token == "theirs\x1b[2J");
    BOOST_TEST(slow.holder == "");
    BOOST_TEST(slow.fence == 0U);
    BOOST_TEST(!slow.since);
    BOOST_TEST(slow.text == "held by another program, 1 in the queue");
    is_about(slow.duration, 300ms);
  });
}

BOOST_AUTO_TEST_CASE(a_slow_wait_of_every_kind_is_reported) {
  run([&]() -> awaitable<void> {
    observed seen;
    client_options o;
    o.slow_wait = 500ms;
    o.observer = seen.observer();
    client c(co_await asio::this_coro::executor, redis.url(), o);
    client_options named;
    named.label = "web1";
    client other(co_await asio::this_coro::executor, redis.url(), named);
    std::vector<hold> theirs, got;
    const auto wait_for = [&](const auto& lock) {
      lock.acquire([&](error_code, hold h) { got.push_back(std::move(h)); });
    };
    theirs.push_back(co_await recursive_mutex(other, "a", "their owner").acquire());
    theirs.push_back(co_await shared_mutex(other, "b").acquire_shared());
    theirs.push_back(co_await shared_mutex(other, "b").acquire_shared());
    theirs.push_back(co_await counting_semaphore(other, "d", 2).acquire());
    theirs.push_back(co_await counting_semaphore(other, "d", 2).acquire());
    wait_for(recursive_mutex(c, "a", "my owner"));
    wait_for(shared_mutex(c, "b"));
    wait_for(counting_semaphore(c, "d", 2));
    co_await pause(600ms);
    auto slow = seen.of(event::kind::slow_wait);
    BOOST_REQUIRE(slow.size() == 3U);
    std::sort(slow.begin(), slow.end(), [](const noted& x, const noted& y) { return x.name < y.name; });
    BOOST_TEST(slow[0].fence == theirs[0].fence());
    BOOST_TEST(slow[0].token == theirs[0].token());
    BOOST_TEST(slow[1].fence == theirs[1].fence());
    BOOST_TEST(slow[1].text.starts_with("held by web1 and another hold since "), slow[1].text);
    BOOST_TEST(slow[2].fence == 0U);
    BOOST_TEST(slow[2].text == "held by web1 and another hold, 1 in the queue");
    for (const auto& e : slow) BOOST_TEST(e.holder == "web1", e.name);
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(a_slow_wait_on_a_quorum_is_reported) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    observed seen;
    client_options o;
    o.slow_wait = 500ms;
    o.observer = seen.observer();
    client c(co_await asio::this_coro::executor, all.urls(), o);
    client_options named;
    named.label = "web1";
    client other(co_await asio::this_coro::executor, all.urls(), named);
    hold theirs = co_await mutex(other, "n").acquire();
    hold got;
    mutex(c, "n").acquire([&](error_code, hold h) { got = std::move(h); });
    co_await pause(600ms);
    const auto slow = seen.one(event::kind::slow_wait);
    BOOST_TEST(slow.holder == "web1");
    BOOST_TEST(slow.token == theirs.token());
    BOOST_TEST(slow.fence == theirs.fence());
    BOOST_TEST(slow.text.ends_with("Z"), slow.text);
    co_await theirs.release();
    co_await eventually("it has the lock", [&] { return got.valid(); });
    co_await c.close();
    co_await other.close();
  });
}

// The lock was found busy, and then the server hangs or is gone: the wait is reported, and it goes on.
BOOST_AUTO_TEST_CASE(a_store_that_does_not_answer_is_no_holder) {
  for (const bool killed : {false, true}) {
    memory_server server;
    run([&]() -> awaitable<void> {
      observed seen;
      client_options o;
      o.slow_wait = 500ms;
      o.command_timeout = 300ms;
      o.observer = seen.observer();
      client c(co_await asio::this_coro::executor, server.url(), o);
      server.command("SET", "n", "theirs", "PX", "100000");
      outcome waits;
      mutex(c, "n").acquire({.wait = 3s}, [&waits](error_code ec, hold) { waits.ec = ec; });
      co_await eventually("it waits", [&] { return c.stats().contended == 1; });
      killed ? server.kill() : server.stop();
      co_await eventually("it was reported", [&] { return !seen.of(event::kind::slow_wait).empty(); });
      const auto slow = seen.one(event::kind::slow_wait);
      BOOST_TEST(slow.text == "the store does not say which client has the lock");
      BOOST_TEST(slow.token == "");
      BOOST_TEST(!waits.ended());
      co_await eventually("it ends", [&] { return waits.ended(); });
      BOOST_TEST(*waits.ec == error::unreachable);
    });
  }
}

// Not even of the other waiters of its own client.
BOOST_AUTO_TEST_CASE(waits_for_a_store_that_was_never_there_are_no_waits_for_a_lock) {
  redis.kill();
  run([&]() -> awaitable<void> {
    observed seen;
    client_options o;
    o.slow_wait = 1s;
    o.observer = seen.observer();
    client c(co_await asio::this_coro::executor, redis.url(), o);
    outcome waits[3];
    for (outcome& one : waits) {
      mutex(c, "n").acquire({.wait = 3s}, [&one](error_code ec, hold) { one.ec = ec; });
    }
    for (outcome& one : waits) {
      co_await eventually("it ends", [&] { return one.ended(); });
      BOOST_TEST(*one.ec == error::unreachable);
    }
    BOOST_TEST(c.stats().contended == 0U);
    BOOST_TEST(c.stats().slow_waits == 0U);
    BOOST_TEST(seen.of(event::kind::slow_wait).empty());
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
