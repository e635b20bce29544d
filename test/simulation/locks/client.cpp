// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/with_memory.hpp"
#include "support/notes.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(clients, with_memory)

namespace {

template <class F>
error_code code_of(F f, std::string* text = nullptr) {
  try {
    f();
  } catch (const system_error& e) {
    if (text) *text = e.what();
    return e.code();
  }
  return {};
}

// The sums are exact, and so lie within what the buckets tell.
void check_sums(const statistics& s) {
  for (const histogram& h : {s.waiting_time, s.hold_time, s.round_trip}) {
    histogram::duration least{}, most{};
    for (std::size_t i = 0; i + 1 < histogram::buckets; ++i) {
      const auto n = static_cast<std::int64_t>(h.count_in(i));
      least += n * histogram::lower_end(i);
      most += n * histogram::lower_end(i + 1);
    }
    BOOST_TEST(h.count() > 0U);
    BOOST_TEST((least <= h.sum() && h.sum() < most));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_store_may_come_up_later) {
  redis.kill();
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    std::optional<hold> got;
    mutex(c, "n").acquire([&](error_code ec, hold h) {
      BOOST_TEST(!ec);
      got = std::move(h);
    });
    outcome ready;
    c.ready(ready.handler());
    co_await pause(50ms);
    redis.start();
    co_await eventually("it is up", [&] { return ready.ended() && got.has_value(); });
    BOOST_TEST(!*ready.ec);
    BOOST_TEST(got->valid());
  });
}

BOOST_AUTO_TEST_CASE(bad_urls_throw_and_do_not_show_their_password) {
  asio::io_context context;
  for (const char* url :
       {"", "nonsense", "http://h", "redis://", "redis://u:secret@h:x", "redis://h:99999", "unix://x"}) {
    std::string text;
    BOOST_TEST(code_of([&] { client c(context, url); }, &text) == error::invalid_url);
    BOOST_TEST(text.find("secret") == text.npos);
  }
  BOOST_TEST(code_of([&] { client c(context, std::vector<std::string>()); }) == error::invalid_url);
  run_to_end(context);
}

BOOST_AUTO_TEST_CASE(invalid_options_throw) {
  asio::io_context context;
  client_options o;
  o.drift = 2.0;
  std::string text;
  BOOST_TEST(code_of([&] { client c(context, redis.url(), o); }, &text) == error::invalid_option);
  BOOST_TEST(text == "invalid option: client_options::drift");
  run_to_end(context);
}

BOOST_AUTO_TEST_CASE(a_url_with_a_password_takes_no_credentials) {
  asio::io_context context;
  client_options o;
  o.credentials = [](const credentials_request&, const credentials_handler& then) { then(leasehold::credentials()); };
  for (const char* const url : {"redis://:secret@h", "redis://user:secret@h"}) {
    std::string text;
    BOOST_TEST(code_of([&] { client c(context, url, o); }, &text) == error::invalid_option, url);
    BOOST_TEST(text.starts_with("invalid option: client_options::credentials: "), text);
    BOOST_TEST(text.find("secret") == text.npos, text);
  }
}

// Its exception leaves run(), and everything that is due later happens when that is called again.
BOOST_AUTO_TEST_CASE(an_observer_that_throws_stops_nothing) {
  struct observers_own {};
  asio::io_context context;
  client_options o;
  o.observer = [](const event& e) {
    if (e.what == event::kind::connected || e.what == event::kind::lost) throw observers_own();
  };
  client c(context, redis.url(), o);
  std::vector<hold> kept;
  outcome lost[2], closed;
  for (outcome& l : lost) {
    mutex(c, std::to_string(&l - lost)).acquire({.lease = 300ms, .renew = renewal::none}, [&](error_code ec, hold h) {
      BOOST_TEST(!ec);
      h.lost(l.handler());
      kept.push_back(std::move(h));
    });
  }
  mutex(c, "renewed").acquire({.lease = 3s}, [&](error_code ec, hold h) {
    BOOST_TEST(!ec);
    kept.push_back(std::move(h));
  });
  int thrown = 0;
  const auto run_until = [&](auto condition) {
    while (!condition()) {
      try {
        test::run_until(context, condition);
      } catch (const observers_own&) {
        ++thrown;
      }
    }
  };
  run_until([&] { return lost[0].ended() && lost[1].ended() && thrown == 3 && c.stats().renewed != 0; });
  for (const outcome& l : lost) BOOST_TEST((l.ended() && !*l.ec));
  BOOST_TEST(c.stats().lost == 2U);
  c.close(closed.handler());
  run_until([&] { return closed.ended(); });
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(copies_share_one_connection) {
  run([&]() -> awaitable<void> {
    std::optional<client> a(std::in_place, co_await asio::this_coro::executor, redis.url());
    client b = *a;
    client d = b;
    mutex lock(*a, "n");
    a.reset();
    hold h = co_await lock.acquire();
    d = b;
    BOOST_TEST(b.stats().acquired == 1U);
    BOOST_TEST(d.stats().held == 1U);
    BOOST_TEST(redis.connections() == 1U);
  });
}

BOOST_AUTO_TEST_CASE(close_gives_everything_back) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    std::vector<hold> holds;
    for (int i = 0; i < 10; ++i) holds.push_back(co_await mutex(c, std::to_string(i)).acquire());
    std::vector<outcome> waiters(5);
    for (auto& w : waiters) mutex(c, "0").acquire([&w](error_code ec, hold) { w.ec = ec; });
    outcome lost;
    holds[0].lost(lost.handler());
    co_await eventually("they wait", [&] { return c.stats().contended == 5; });
    auto [ec] = co_await c.close(as_tuple);
    BOOST_TEST(!ec);
    BOOST_TEST(redis.size() == 0U);
    co_await eventually("all are notified", [&] {
      return lost.ended() && std::all_of(waiters.begin(), waiters.end(), [](auto& w) { return w.ended(); });
    });
    for (const auto& w : waiters) BOOST_TEST(*w.ec == error::closed);
    BOOST_TEST(!*lost.ec);
    for (const auto& h : holds) BOOST_TEST(!h.valid());
    BOOST_TEST(c.stats().held == 0U);
    BOOST_TEST(c.stats().waiting == 0U);
    BOOST_TEST(c.stats().released >= 10U);
    check_sums(c.stats());
    co_await eventually("the connection is gone", [&] { return redis.connections() == 0; });
  });
}

BOOST_AUTO_TEST_CASE(close_is_idempotent_and_everything_says_closed_after_it) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    outcome first;
    outcome second;
    c.close(first.handler());
    c.close(second.handler());
    co_await eventually("both end", [&] { return first.ended() && second.ended(); });
    BOOST_TEST(!*first.ec);
    BOOST_TEST(!*second.ec);
    co_await c.close();
    auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::closed);
    auto [ec2, h] = co_await lock.acquire(as_tuple);
    BOOST_TEST(ec2 == error::closed);
    auto [ec3, t] = co_await lock.try_acquire(as_tuple);
    BOOST_TEST(ec3 == error::closed);
    auto [ec4, i] = co_await lock.inspect(as_tuple);
    BOOST_TEST(ec4 == error::closed);
    auto [ec5, n] = co_await mutex(c, "another").acquire(as_tuple);
    BOOST_TEST(ec5 == error::closed);
  });
}

BOOST_AUTO_TEST_CASE(run_returns_after_close_though_handles_live_on) {
  asio::io_context context;
  client c(context, redis.url());
  mutex lock(c, "n");
  hold held;
  lock.acquire([&](error_code, hold h) {
    held = std::move(h);
    c.close([](error_code) {});
  });
  run_to_end(context);
  BOOST_TEST(!redis.get("n"));
  BOOST_TEST(held.name() == "n");
}

BOOST_AUTO_TEST_CASE(ready_waits_for_connect_timeout_and_no_longer) {
  redis.stop();
  run([&]() -> awaitable<void> {
    client_options o;
    o.connect_timeout = 300ms;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    const auto start = now();
    const auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::unreachable);
    BOOST_TEST(now() - start == 300ms);
  });
  redis.go_on();
}

BOOST_AUTO_TEST_CASE(close_of_a_client_that_never_connected_is_bounded) {
  redis.stop();
  run([&]() -> awaitable<void> {
    client_options o;
    o.connect_timeout = 100ms;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    outcome waiter;
    mutex(c, "n").acquire([&](error_code ec, hold) { waiter.ec = ec; });
    outcome ready;
    c.ready(ready.handler());
    co_await turn();
    auto [ec] = co_await c.close(as_tuple);
    BOOST_TEST((!ec || ec == error::unreachable));
    co_await eventually("all are notified", [&] { return waiter.ended() && ready.ended(); });
    BOOST_TEST(*waiter.ec == error::closed);
    BOOST_TEST(*ready.ec == error::closed);
  });
  redis.go_on();
}

// It is sent when the strand has the turn, which is after that of close.
BOOST_AUTO_TEST_CASE(close_waits_for_releases_that_have_begun) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold dropped = co_await mutex(c, "dropped").acquire();
    hold released = co_await mutex(c, "released").acquire();
    outcome closed, ended;
    c.close(closed.handler());
    dropped = hold();
    released.release(ended.handler());
    co_await eventually("it is closed", [&] { return closed.ended() && ended.ended(); });
    BOOST_TEST(!*closed.ec);
    BOOST_TEST(!*ended.ec);
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(close_says_what_could_not_be_released) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.connect_timeout = 200ms;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    hold h = co_await mutex(c, "n").acquire();
    redis.stop();
    auto [ec] = co_await c.close(as_tuple);
    BOOST_TEST(ec == error::unreachable);
    BOOST_TEST(!h.valid());
    redis.go_on();
  });
}

BOOST_AUTO_TEST_CASE(cancelling_close_only_stops_the_waiting) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    gate network(redis);
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial}) {
      client c(executor, network.url());
      hold h = co_await mutex(c, "n").acquire();
      network.hold_requests();
      asio::cancellation_signal signal;
      outcome closed;
      c.close(asio::bind_cancellation_slot(signal.slot(), closed.handler()));
      co_await pause(10ms);
      BOOST_TEST(!closed.ended());
      signal.emit(type);
      co_await eventually("it ends", [&] { return closed.ended(); });
      BOOST_TEST(*closed.ec == asio::error::operation_aborted);
      BOOST_TEST(redis.get("n").has_value());
      network.pass();
      co_await eventually("closing went on", [&] { return !redis.get("n"); });
    }
  });
}

// It would promise that nothing has happened.
BOOST_AUTO_TEST_CASE(close_does_not_obey_total_cancellation) {
  run([&]() -> awaitable<void> {
    gate network(redis);
    client c(co_await asio::this_coro::executor, network.url());
    hold h = co_await mutex(c, "n").acquire();
    network.hold_requests();
    asio::cancellation_signal signal;
    outcome closed;
    c.close(asio::bind_cancellation_slot(signal.slot(), closed.handler()));
    co_await pause(10ms);
    signal.emit(asio::cancellation_type::total);
    co_await pause(10ms);
    BOOST_TEST(!closed.ended());
    network.pass();
    co_await eventually("it ends", [&] { return closed.ended(); });
    BOOST_TEST(!*closed.ec);
    BOOST_TEST(!redis.get("n"));
  });
}

BOOST_AUTO_TEST_CASE(statistics_count) {
  run([&]() -> awaitable<void> {
    notes n;
    client_options o;
    o.observer = n.observer();
    o.prefix = "app:";
    client c(co_await asio::this_coro::executor, redis.url(), o);
    mutex lock(c, "n");
    BOOST_TEST(c.stats().acquired == 0U);
    hold h = co_await lock.acquire();
    auto busy = co_await lock.try_acquire();
    auto [timed_out, none] = co_await lock.acquire({.wait = 1ms}, as_tuple);
    cancel_timer soon(co_await asio::this_coro::executor, 1ms);
    auto [ec, nothing] = co_await lock.acquire(soon.bind(as_tuple));
    BOOST_TEST(ec == asio::error::operation_aborted);
    statistics s = c.stats();
    BOOST_TEST(s.held == 1U);
    BOOST_TEST(s.waiting == 0U);
    BOOST_TEST(s.acquired == 1U);
    BOOST_TEST(s.timed_out == 1U);
    BOOST_TEST(s.cancelled == 1U);
    BOOST_TEST(s.lost == 0U);
    BOOST_TEST(s.refused == 0U);
    BOOST_TEST(s.commands >= 3U);
    BOOST_TEST(s.connects == 1U);
    co_await h.release();
    BOOST_TEST(c.stats().held == 0U);
    BOOST_TEST(c.stats().released == 1U);
    const std::vector<event::kind> expected{event::kind::acquired, event::kind::timed_out, event::kind::cancelled,
                                            event::kind::released};
    std::vector<event::kind> told;
    for (const auto& [what, text] : n.all) {
      if (what != event::kind::connected) told.push_back(what);
    }
    BOOST_TEST((told == expected));
    BOOST_TEST((*n.names == std::vector<std::string>(expected.size(), "n")));
  });
}

// Of each of them Redis is asked once.
BOOST_AUTO_TEST_CASE(the_waiting_time_is_that_of_the_waiting) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    client d(executor, redis.url());
    const auto before = now();
    hold first = co_await mutex(c, "n").acquire();
    std::optional<hold> second;
    const auto start = now();
    mutex(d, "n").acquire([&](error_code, hold h) { second = std::move(h); });
    co_await eventually("it waits", [&] { return d.stats().waiting == 1; });
    const auto waits = now();
    co_await pause(300ms);
    const auto waited = now() - waits;
    co_await first.release();
    co_await eventually("it is in", [&] { return second.has_value(); });
    const histogram h = d.stats().waiting_time;
    BOOST_TEST(h.count() == 1U);
    BOOST_TEST((h.sum() >= waited));
    BOOST_TEST((h.sum() <= now() - start));
    BOOST_TEST((c.stats().waiting_time.sum() < waited));
    // The first held it meanwhile.
    BOOST_TEST(c.stats().hold_time.count() == 1U);
    BOOST_TEST((c.stats().hold_time.sum() >= waited));
    BOOST_TEST((c.stats().hold_time.sum() <= now() - before));
  });
}

BOOST_AUTO_TEST_CASE(a_free_lock_and_its_release_are_two_scripts) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    co_await c.ready();
    for (std::uint64_t pairs = 1; pairs <= 20; ++pairs) {
      hold h = co_await lock.acquire();
      BOOST_TEST(c.stats().commands == 2 * pairs - 1);
      co_await h.release();
      BOOST_TEST(c.stats().commands == 2 * pairs);
    }
  });
}

BOOST_AUTO_TEST_CASE(the_observer_is_told_of_connections_and_losses) {
  run([&]() -> awaitable<void> {
    notes n;
    client_options o;
    o.observer = n.observer();
    gate network(redis);
    client c(co_await asio::this_coro::executor, network.url(), o);
    hold h = co_await mutex(c, "n").acquire({.lease = 900ms});
    network.cut();
    co_await eventually("it is connected again", [&] { return n.count(event::kind::connected) == 2; });
    BOOST_TEST(n.count(event::kind::disconnected) == 1U);
    BOOST_TEST(c.stats().reconnects == 1U);
    BOOST_TEST(c.last_failure() == "");
    BOOST_TEST(n.count(event::kind::lost) == 0U);
    redis.command("DEL", "n");
    co_await h.lost();
    BOOST_TEST(n.count(event::kind::lost) == 1U);
  });
}

BOOST_AUTO_TEST_CASE(an_error_is_explained_with_the_lock_and_the_server) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    const mutex lock(c, "n");
    BOOST_TEST(lock.explain(error::timed_out) == "timed out: lock 'n' at " + redis.url());
    BOOST_TEST(c.explain(error::timed_out) == "timed out: " + redis.url());
    BOOST_TEST(lock.explain(error_code()) == "");
    BOOST_TEST(c.explain(error_code()) == "");
  });
}

// Before the attempt to connect has failed, nothing else is known.
BOOST_AUTO_TEST_CASE(what_waits_in_vain_for_a_connection_is_explained_by_no_answer) {
  redis.stop();
  run([&]() -> awaitable<void> {
    notes n;
    client_options o;
    o.observer = n.observer();
    o.command_timeout = 100ms;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    const mutex lock(c, "n");
    const auto [ec, none] = co_await lock.inspect(as_tuple);
    BOOST_TEST(ec == error::unreachable);
    BOOST_TEST(lock.explain(ec) == "unreachable: lock 'n' at " + redis.url() + ": no answer");
    BOOST_TEST(n.count(event::kind::unreachable) == 1U);
    redis.go_on();
    co_await c.ready();
    BOOST_TEST(c.last_failure() == "");
  });
}

// Each time, and until it answers.
BOOST_AUTO_TEST_CASE(a_client_that_only_inspects_tells_that_the_server_is_busy) {
  run([&]() -> awaitable<void> {
    notes n;
    client_options o;
    o.observer = n.observer();
    o.command_timeout = 200ms;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    const mutex lock(c, "n");
    co_await c.ready();  // Else the attempts to connect would tell it.
    for (std::size_t times = 1; times <= 2; ++times) {
      redis.server().is_busy = true;
      const auto [busy, none] = co_await lock.inspect(as_tuple);
      BOOST_TEST(busy == error::unreachable);
      BOOST_TEST(c.explain(busy).find("BUSY") != std::string::npos);
      BOOST_TEST(c.last_failure().starts_with("BUSY"));
      BOOST_TEST(n.count(event::kind::unreachable) == times);
      redis.server().is_busy = false;
      const auto [ec, found] = co_await lock.inspect(as_tuple);
      BOOST_TEST(!ec);
      BOOST_TEST(c.last_failure() == "");
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
