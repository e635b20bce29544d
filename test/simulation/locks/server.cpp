// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Servers that die, hang, forget, refuse, and whose clock is stepped.
#include "store/server.hpp"
#include "simulation/with_memory.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(servers, with_memory)

namespace {

client_options short_timeouts() {
  client_options o;
  o.command_timeout = 200ms;
  o.connect_timeout = 500ms;
  o.reconnect = {.first = 5ms, .max = 20ms, .factor = 2.0, .jitter = 0.5};
  return o;
}

struct watch {
  explicit watch(const hold& h) {
    h.lost([this](error_code e) {
      ec = e;
      at = now();
    });
  }
  watch(const watch&) = delete;
  std::optional<error_code> ec;
  std::chrono::steady_clock::time_point at;
  bool notified() const { return ec.has_value(); }
};

// While it lives, each client is told this of each of its servers, before it is connected to it. The servers in memory
// evict nothing, and ask for no credentials.
class before_each_server {
 public:
  using function = std::function<void(detail::store::events&, const client_options&)>;
  explicit before_each_server(function f) {
    plain_ = detail::memory_servers();
    tells_ = std::move(f);
    detail::set_memory_servers(&make);
  }
  before_each_server(const before_each_server&) = delete;
  before_each_server& operator=(const before_each_server&) = delete;
  ~before_each_server() { detail::set_memory_servers(plain_); }

 private:
  static detail::server_maker make(const asio::any_io_executor& executor, const client_options& o, std::string client) {
    const detail::server_maker plain = plain_(executor, o, std::move(client));
    const auto make_one = [plain, &o](const detail::address& where, std::string channel, detail::store::events& events,
                                      detail::redis_server::router* router) {
      asio::post(plain.strand(), [&events, &o] { tells_(events, o); });
      return plain.make(where, std::move(channel), events, router);
    };
    return {plain.strand(), o, plain.client(), make_one};
  }

  static inline detail::server_source plain_ = nullptr;
  static inline function tells_;
};

}  // namespace

// Nobody is granted by the cohort where Redis may not know the hold.
BOOST_AUTO_TEST_CASE(a_hold_is_not_passed_on_at_another_server_unasked) {
  run([&]() -> awaitable<void> {
    client_options o = short_timeouts();
    o.cohort = 1s;
    std::optional<hold> first, next;
    std::string token;
    int connected = 0;
    o.observer = [&](const event& e) {
      if (e.what != event::kind::connected || ++connected != 2) return;
      token = first->token();
      first->release([](error_code) {});
    };
    client c(co_await asio::this_coro::executor, redis.url(), o);
    mutex lock(c, "n");
    first = co_await lock.acquire();
    lock.acquire([&](error_code, hold h) { next = std::move(h); });
    co_await eventually("it waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    redis.kill();
    redis.start();
    co_await eventually("the next is in", [&] { return next.has_value(); });
    BOOST_TEST(next->token() != token);
    BOOST_TEST(c.stats().passed == 0U);
    BOOST_TEST(redis.get("n").value().starts_with("leasehold:" + next->token()));
    co_await next->release();
    co_await c.close();
  });
}

// One that comes back with an older file has the hold, and less of its lease than was confirmed.
BOOST_AUTO_TEST_CASE(a_server_that_knows_of_less_of_a_lease_is_believed) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), short_timeouts());
    hold once = co_await mutex(c, "m").acquire({.lease = 30s, .renew = renewal::none});
    hold renewed = co_await mutex(c, "n").acquire({.lease = 10s});
    const auto saved = redis.server().data();
    co_await once.extend(1h);
    co_await renewed.extend(1h);
    BOOST_TEST((once.expires_at() > now() + 50min));
    BOOST_TEST((renewed.expires_at() > now() + 50min));
    redis.server().start(saved);
    co_await eventually("it is noticed",
                        [&] { return once.expires_at() < now() + 30s && renewed.expires_at() < now() + 10s; });
    BOOST_TEST(once.valid());
    BOOST_TEST(renewed.valid());
    const auto before = c.stats().renewed;
    co_await eventually("it is renewed as often as its lease needs it", [&] { return c.stats().renewed > before; });
    BOOST_TEST(c.stats().lost == 0U);
    co_await once.release();
    co_await renewed.release();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(a_waiter_acquires_from_a_server_that_was_restarted_empty) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), short_timeouts());
    redis.command("SET", "n", "somebody's");
    std::optional<hold> got;
    mutex(c, "n").acquire([&](error_code ec, hold h) {
      BOOST_TEST(!ec);
      got = std::move(h);
    });
    co_await eventually("it waits", [&] { return c.stats().contended == 1; });
    redis.kill();
    redis.start();
    co_await eventually("it is acquired", [&] { return got.has_value(); });
    BOOST_TEST(got->valid());
  });
}

// Promise 6: told at the local deadline at the latest, though nobody answers.
BOOST_AUTO_TEST_CASE(a_server_that_hangs_past_the_deadline_loses_the_hold_in_time) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), short_timeouts());
    hold h = co_await mutex(c, "n").acquire({.lease = 1s});
    watch w(h);
    redis.stop();
    co_await eventually("the loss is reported", [&] { return w.notified(); });
    BOOST_TEST(!*w.ec);
    BOOST_TEST(w.at == h.expires_at());
    BOOST_TEST(!h.valid());
    redis.go_on();
    // Promise 4: it stays lost.
    co_await c.ready();
    hold next = co_await mutex(c, "n").acquire();
    BOOST_TEST(!h.valid());
    BOOST_TEST(next.fence() > h.fence());
  });
}

BOOST_AUTO_TEST_CASE(a_server_that_hangs_for_less_than_the_lease_loses_nothing) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), short_timeouts());
    hold h = co_await mutex(c, "n").acquire({.lease = 3s});
    redis.stop();
    const auto failed = c.stats().renewal_failed;
    co_await eventually("a renewal has failed", [&] { return c.stats().renewal_failed > failed; });
    redis.go_on();
    const auto renewed = c.stats().renewed;
    co_await eventually("it is renewed", [&] { return c.stats().renewed > renewed || !h.valid(); });
    BOOST_TEST(h.valid());
    BOOST_TEST(c.stats().lost == 0U);
  });
}

// Promise 7: deadlines hold though the server hangs, and a grant that arrives late is released.
BOOST_AUTO_TEST_CASE(acquire_ends_in_time_though_the_server_hangs_and_its_late_grant_is_released) {
  run([&]() -> awaitable<void> {
    client_options o;  // With a command time-out that is longer than the wait.
    client c(co_await asio::this_coro::executor, redis.url(), o);
    co_await c.ready();
    redis.stop();
    const auto start = now();
    auto [ec, h] = co_await mutex(c, "n").acquire({.wait = 100ms}, as_tuple);
    const auto took = now() - start;
    BOOST_TEST(ec == error::unreachable);
    BOOST_TEST(took == 200ms);  // A tenth of a second for the answer that withdraws it.
    BOOST_TEST(c.stats().withdrawn == 1U);
    redis.go_on();
    // The attempt runs now, if it was in the socket; then it is withdrawn.
    hold next = co_await mutex(c, "n").acquire({.wait = 20s});
    BOOST_TEST(next.valid());
    co_await next.release();
    BOOST_TEST(!redis.get("n"));
  });
}

BOOST_AUTO_TEST_CASE(a_late_grant_is_released_by_itself) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.command_timeout = 60s;  // The connection is kept, and the attempt on it runs.
    client c(co_await asio::this_coro::executor, redis.url(), o);
    {
      // So that the server knows the script.
      hold h = co_await mutex(c, "n").acquire();
      co_await h.release();
    }
    redis.stop();
    auto [ec, h] = co_await mutex(c, "n").acquire({.wait = 50ms}, as_tuple);
    BOOST_TEST(ec == error::unreachable);
    auto [ec2, none] = co_await mutex(c, "n").try_acquire({.wait = 50ms}, as_tuple);
    BOOST_TEST(ec2 == error::unreachable);
    redis.go_on();
    co_await eventually("both attempts were withdrawn", [&] { return c.stats().released == 3; });
    BOOST_TEST(!redis.get("n"));
    BOOST_TEST(c.stats().withdrawn == 2U);
    BOOST_TEST(c.stats().held == 0U);
  });
}

BOOST_AUTO_TEST_CASE(try_acquire_is_bounded_by_its_wait_and_by_the_command_timeout) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), short_timeouts());
    co_await c.ready();
    redis.stop();
    // Without an answer for that time the connection is looked at once more, 100 ms later.
    const std::vector<std::pair<std::chrono::milliseconds, std::chrono::milliseconds>> most{
        {forever, 300ms}, {50ms, 50ms}, {0ms, 200ms}};
    for (const auto& [wait, expected] : most) {
      const auto start = now();
      auto [ec, none] = co_await mutex(c, "n").try_acquire({.wait = wait}, as_tuple);
      BOOST_TEST(ec == error::unreachable);
      BOOST_TEST(now() - start == expected);
    }
    auto [ec, none] = co_await mutex(c, "n").acquire({.wait = 0ms}, as_tuple);
    BOOST_TEST(ec == error::unreachable);
    auto [ec2, info] = co_await mutex(c, "n").inspect(as_tuple);
    BOOST_TEST(ec2 == error::unreachable);
    redis.go_on();
  });
}

BOOST_AUTO_TEST_CASE(operations_on_a_hold_are_bounded_though_the_server_hangs) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), short_timeouts());
    hold a = co_await mutex(c, "a").acquire({.lease = 30s});
    hold b = co_await mutex(c, "b").acquire({.lease = 700ms, .renew = renewal::none});
    redis.stop();
    auto [extended] = co_await a.extend(60s, as_tuple);
    BOOST_TEST(extended == error::unreachable);
    BOOST_TEST(c.last_failure() == "no answer");
    BOOST_TEST(a.valid());
    auto [released] = co_await b.release(as_tuple);
    BOOST_TEST(released == error::unreachable);
    redis.go_on();
    auto [again] = co_await a.extend(60s, as_tuple);
    BOOST_TEST(!again);
    co_await a.release();
  });
}

BOOST_AUTO_TEST_CASE(a_proclamation_is_bounded_though_the_server_hangs) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), short_timeouts());
    leadership led = co_await election(c, "n").campaign("a", {.lease = 10s});
    redis.stop();
    const auto start = now();
    auto [ec] = co_await led.proclaim("b", as_tuple);
    BOOST_TEST(ec == error::unreachable);
    BOOST_TEST(now() - start == 200ms);
    BOOST_TEST(c.last_failure() == "no answer");
    BOOST_TEST(led.valid());
    redis.go_on();
    co_await led.resign();
  });
}

// There is nothing to wait for any more, however patient the client is with the server.
BOOST_AUTO_TEST_CASE(a_release_after_the_lease_does_not_wait_for_a_server_that_hangs) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    hold h = co_await mutex(c, "n").acquire({.lease = 300ms, .renew = renewal::none});
    redis.stop();
    co_await h.lost();
    const auto start = now();
    auto [ec] = co_await h.release(as_tuple);
    BOOST_TEST(ec == error::unreachable);
    BOOST_TEST(now() - start == 1s);  // For a quick answer.
    redis.go_on();
    co_await c.close();
  });
}

// A4: no memory. Taking is refused, keeping and releasing work.
BOOST_AUTO_TEST_CASE(without_memory_acquire_is_refused_and_holds_live_on) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 900ms});
    redis.command("CONFIG", "SET", "maxmemory", "1");
    auto [all, nothing] = co_await acquire_all(mutex(c, "m"), mutex(c, "o"), as_tuple);
    BOOST_TEST(all == error::refused);
    BOOST_TEST(c.last_refusal().find("OOM") != std::string::npos);
    BOOST_TEST(c.stats().refused == 1U);
    auto [ec, none] = co_await mutex(c, "m").acquire(as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(c.stats().refused == 2U);
    BOOST_TEST(c.last_refusal().find("OOM") != std::string::npos);
    BOOST_TEST(!redis.get("m"));
    const auto renewed = c.stats().renewed;
    co_await eventually("it is renewed", [&] { return c.stats().renewed > renewed + 2; });
    BOOST_TEST(h.valid());
    co_await h.extend(5s);
    co_await h.release();
    BOOST_TEST(redis.size() == 0U);
    redis.command("CONFIG", "SET", "maxmemory", "0");
    hold g = co_await mutex(c, "m").acquire();
    BOOST_TEST(g.valid());
  });
}

// A hold whose server was made a replica is lost at its deadline.
BOOST_AUTO_TEST_CASE(a_replica_refuses) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 900ms});
    watch w(h);
    redis.command("REPLICAOF", "127.0.0.1", "1");
    auto [ec, none] = co_await mutex(c, "m").acquire(as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(c.last_refusal().starts_with("READONLY"), c.last_refusal());
    const auto deadline = h.expires_at();
    auto [extended] = co_await h.extend(5s, as_tuple);
    BOOST_TEST(extended == error::refused);
    co_await eventually("the loss is reported", [&] { return w.notified(); });
    BOOST_TEST(!*w.ec);
    BOOST_TEST(w.at == deadline);
    BOOST_TEST(c.stats().renewal_failed > 0U);
    auto [released] = co_await h.release(as_tuple);
    BOOST_TEST(released == error::refused, released.message());
  });
}

// A renewal that is answered with an error is repeated, until the local deadline.
BOOST_AUTO_TEST_CASE(a_hold_survives_a_server_that_is_busy_when_it_is_renewed) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 12s});
    const auto first = h.expires_at();
    redis.server().is_busy = true;
    co_await eventually("renewals are refused", [&] { return c.stats().renewal_failed >= 2; });
    BOOST_TEST(c.stats().renewed == 0U);
    redis.server().is_busy = false;
    co_await eventually("it is renewed or lost", [&] { return c.stats().renewed != 0 || !h.valid(); });
    BOOST_TEST(h.valid());
    BOOST_TEST(h.expires_at() > first);
    BOOST_TEST(c.stats().reconnects == 0U);
    BOOST_TEST(c.stats().lost == 0U);
  });
}

// And so is every other question that has a time of its own.
BOOST_AUTO_TEST_CASE(what_is_asked_of_a_busy_server_is_asked_again) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.command_timeout = 30s;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    hold kept = co_await mutex(c, "kept").acquire({.lease = 10min});
    hold given = co_await mutex(c, "given").acquire({.lease = 10min});
    redis.server().is_busy = true;
    const auto asked = c.stats().commands;
    outcome extended, released, inspected;
    kept.extend(20min, extended.handler());
    given.release(released.handler());
    mutex(c, "kept").inspect([&](error_code ec, lock_info) { inspected.ec = ec; });
    co_await eventually("each has asked three times", [&] { return c.stats().commands >= asked + 9; });
    BOOST_TEST((!extended.ended() && !released.ended() && !inspected.ended()));
    redis.server().is_busy = false;
    co_await eventually("all are answered", [&] { return extended.ended() && released.ended() && inspected.ended(); });
    BOOST_TEST(!*extended.ec, extended.ec->message());
    BOOST_TEST(!*released.ec, released.ec->message());
    BOOST_TEST(!*inspected.ec, inspected.ec->message());
    BOOST_TEST(!redis.get("given"));
  });
}

// The next time it is told again, and nothing else is explained by it meanwhile.
BOOST_AUTO_TEST_CASE(what_a_busy_server_has_said_is_forgotten_when_it_answers) {
  std::size_t told = 0;
  run([&]() -> awaitable<void> {
    client_options o;
    o.observer = [&told](const event& e) { told += e.what == event::kind::unreachable ? 1U : 0U; };
    client c(co_await asio::this_coro::executor, redis.url(), o);
    const mutex lock(c, "n");
    co_await c.ready();
    for (std::size_t times = 1; times <= 2; ++times) {
      redis.server().is_busy = true;
      const auto asked = c.stats().commands;
      std::optional<hold> got;
      lock.acquire([&](error_code, hold h) { got = std::move(h); });
      co_await eventually("it asks again", [&] { return c.stats().commands >= asked + 2; });
      BOOST_TEST(told == times);
      BOOST_TEST(c.last_failure().starts_with("BUSY"), c.last_failure());
      redis.server().is_busy = false;
      co_await eventually("it is acquired", [&] { return got.has_value(); });
      BOOST_TEST(c.last_failure() == "");
      co_await got->release();
    }
  });
}

BOOST_AUTO_TEST_CASE(a_server_that_may_evict_locks_is_reported) {
  std::vector<std::string> told;
  for (const char* const policy : {"noeviction", "allkeys-lru", ""}) {
    redis.server().maxmemory_policy = policy;
    run([&]() -> awaitable<void> {
      client_options o;
      o.observer = [&told](const event& e) {
        if (e.what == event::kind::evicting) told.emplace_back(e.text);
      };
      client c(co_await asio::this_coro::executor, redis.url(), o);
      co_await c.ready();
      co_await c.close();
    });
  }
  BOOST_TEST(told == std::vector<std::string>{"allkeys-lru"}, boost::test_tools::per_element());
}

// The server repeats what it refuses.
BOOST_AUTO_TEST_CASE(credentials_that_the_program_has_given_are_not_shown) {
  const before_each_server refuses([](detail::store::events& events, const client_options& o) {
    const credentials_handler answer([&events](const std::string&, const leasehold::credentials& given) {
      events.on_refused("WRONGPASS " + given.user + " " + given.password);
    });
    o.credentials(credentials_request("host:6379", credentials_request::role::server, {}), answer);
  });
  std::string told;
  run([&]() -> awaitable<void> {
    client_options o;
    o.credentials = [](const credentials_request&, const credentials_handler& then) {
      then(leasehold::credentials("alice-the-user", "correct horse battery"));
    };
    o.observer = [&told](const event& e) {
      if (e.what == event::kind::refused) told = e.text;
    };
    client c(co_await asio::this_coro::executor, redis.url(), o);
    co_await eventually("the refusal is told", [&] { return !told.empty(); });
    BOOST_TEST(told == "WRONGPASS *** ***");
    BOOST_TEST(c.last_refusal() == "WRONGPASS *** ***");
  });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(stepped_clocks, with_memory)

// A9: the server's leases end early by the step, so the local deadlines have to.
BOOST_AUTO_TEST_CASE(a_step_forward_shortens_every_deadline) {
  run([&]() -> awaitable<void> {
    std::vector<std::string> told;
    client_options o;
    o.observer = [&](const event& e) {
      if (e.what == event::kind::clock_jump) told.emplace_back(e.text);
    };
    client c(co_await asio::this_coro::executor, redis.url(), o);
    hold a = co_await mutex(c, "a").acquire({.lease = 60s, .renew = renewal::none});
    hold b = co_await mutex(c, "b").acquire({.lease = 10s, .renew = renewal::none});
    outcome lost;
    b.lost(lost.handler());
    const auto before = a.expires_at();
    redis.clock().offset = 20s;
    BOOST_TEST(c.stats().clock_jumps == 0U);
    // Any reply tells.
    auto other = co_await mutex(c, "c").try_acquire();
    BOOST_TEST(c.stats().clock_jumps == 1U);
    BOOST_TEST(told.size() == 1U);
    BOOST_TEST(a.expires_at() <= before - 20s + 5ms);
    BOOST_TEST(a.expires_at() >= before - 20s - 5ms);
    BOOST_TEST(a.valid());
    BOOST_TEST(!b.valid());
    co_await eventually("the loss is reported", [&] { return lost.ended(); });
    BOOST_TEST(!*lost.ec);
    BOOST_TEST(!redis.get("b"));
  });
}

// Who is next in the same client has what Redis says is left, and not the deadline of the one before him.
BOOST_AUTO_TEST_CASE(a_hold_that_is_kept_for_a_local_waiter_knows_of_a_step) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.cohort = 0ms;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    mutex lock(c, "n");
    hold h = co_await lock.acquire({.lease = 60s, .renew = renewal::none});
    std::optional<hold> next;
    lock.acquire({.lease = 5s, .renew = renewal::none}, [&](error_code, hold g) { next = std::move(g); });
    co_await eventually("it waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    redis.clock().offset = 50s;
    co_await h.release();
    co_await eventually("it is granted", [&] { return next.has_value(); });
    BOOST_TEST((next->expires_at() < now() + 10s));
    // If it was granted by a message, its confirmation shows the step.
    co_await eventually("the step is noticed", [&] { return c.stats().clock_jumps == 1; });
    co_await next->release();
    co_await c.close();
  });
}

// The client's other holds depend on the same clock.
BOOST_AUTO_TEST_CASE(the_answer_to_a_renewal_of_a_hold_that_was_released_shows_a_step) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold a = co_await mutex(c, "a").acquire({.lease = 60s, .renew = renewal::none});
    hold b = co_await mutex(c, "b").acquire({.lease = 3s});
    const auto before = a.expires_at();
    const auto commands = c.stats().commands;
    redis.stop();
    co_await eventually("the renewal is under way", [&] { return c.stats().commands > commands; });
    redis.clock().offset = 20s;
    outcome released;
    b.release(released.handler());
    redis.go_on();
    co_await eventually("the release is answered", [&] { return released.ended(); });
    BOOST_TEST(c.stats().clock_jumps == 1U);
    BOOST_TEST(a.expires_at() <= before - 20s + 5ms);
    co_await c.close();
  });
}

// The next fence of a cohort is fetched ahead of time; the lease that came with it is shortened as all others.
BOOST_AUTO_TEST_CASE(a_fence_that_was_fetched_ahead_of_a_step_brings_no_old_deadline) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.cohort = 1s;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    mutex lock(c, "n");
    const acquire_options one{.lease = 60s, .renew = renewal::none};
    std::vector<hold> got;
    got.push_back(co_await lock.acquire(one));
    for (int i = 0; i < 3; ++i) lock.acquire(one, [&](error_code, hold g) { got.push_back(std::move(g)); });
    co_await eventually("all wait", [&] { return c.stats().waiting == 3; });
    co_await pause(600ms);  // From half of the bound on the next fence is asked for.
    const auto answers = c.stats().round_trip.count();
    co_await got.back().release();
    co_await eventually("the second is in, and the next fence was fetched",
                        [&] { return got.size() == 2 && c.stats().round_trip.count() > answers; });
    redis.clock().offset = 20s;
    auto other = co_await mutex(c, "other").try_acquire();  // Its reply tells.
    BOOST_TEST(c.stats().clock_jumps == 1U);
    for (std::size_t n = 3; n <= 4; ++n) {
      co_await got.back().release();
      co_await eventually("the next is in", [&] { return got.size() == n; });
      BOOST_TEST((got.back().expires_at() < now() + 40s));
    }
    co_await c.close();
  });
}

// A grant that waits for its replicas is not a hold yet, and its answer is older than the step.
BOOST_AUTO_TEST_CASE(a_step_while_replicas_are_waited_for_shortens_the_deadline) {
  redis.server().replicas = 1;
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    std::optional<hold> got;
    const acquire_options acknowledged{.lease = 60s, .renew = renewal::none, .replicas = 1};
    mutex(c, "n").acquire(acknowledged, [&](error_code, hold h) { got = std::move(h); });
    co_await eventually("the replica is waited for", [&] { return redis.get("n").has_value(); });
    const auto asked = now();  // Before this; of the lease 1 % is taken off.
    redis.clock().offset = 1s;
    auto other = co_await mutex(c, "other").try_acquire();
    BOOST_TEST(c.stats().clock_jumps == 1U);
    redis.server().replicas_that_answer = 1;
    co_await eventually("it is acquired", [&] { return got.has_value(); });
    BOOST_TEST((got->expires_at() < asked + 58900ms));
    co_await got->release();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(a_renewed_hold_survives_a_small_step) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 6s});
    redis.clock().offset = 1s;
    co_await eventually("the step is noticed", [&] { return c.stats().clock_jumps == 1; });
    const auto renewed = c.stats().renewed;
    co_await eventually("it is renewed", [&] { return c.stats().renewed > renewed || !h.valid(); });
    BOOST_TEST(h.valid());
    BOOST_TEST(c.stats().lost == 0U);
  });
}

// Its deadline comes closer than the renewal that was planned.
BOOST_AUTO_TEST_CASE(a_renewed_hold_survives_a_step_past_its_next_renewal) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 30s});
    redis.clock().offset = 21s;
    auto other = co_await mutex(c, "other").try_acquire();  // Its reply tells.
    BOOST_TEST(c.stats().clock_jumps == 1U);
    BOOST_TEST((h.expires_at() < now() + 9s));
    BOOST_TEST(c.stats().renewed == 0U);
    co_await pause(20s);
    BOOST_TEST(h.valid());
    BOOST_TEST(c.stats().lost == 0U);
  });
}

// B1: fences grow though the clock is stepped back.
BOOST_AUTO_TEST_CASE(a_step_back_harms_nothing) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 60s, .renew = renewal::none});
    const auto before = h.expires_at();
    std::uint64_t last = h.fence();
    redis.clock().offset = -3600s;
    for (int i = 0; i < 20; ++i) {
      hold g = co_await mutex(c, "m").acquire();
      BOOST_TEST(g.fence() > last);
      last = g.fence();
      co_await g.release();
    }
    BOOST_TEST(c.stats().clock_jumps == 0U);
    BOOST_TEST(h.valid());
    BOOST_TEST(h.expires_at() >= before - 5ms);
    // And attempts are not taken for late ones from then on.
    redis.clock().offset = 0s;
    auto again = co_await mutex(c, "m").try_acquire();
    BOOST_TEST(again.has_value());
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
