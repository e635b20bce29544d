// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Clients without a hold, an operation or a release under way, in virtual time; with real connections:
// test/integration/idle.cpp.
#include "simulation/with_memory.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(idle_clients, with_memory)

namespace {

client_options soon() {
  client_options o;
  o.idle_timeout = 20ms;
  return o;
}

client_options rests_late(std::chrono::milliseconds restart_delay) {
  client_options o;
  o.idle_timeout = 5s;
  o.restart_delay = restart_delay;
  return o;
}

// While their only client is connected. They are empty then.
awaitable<void> restart_all_and_let_rest(memory_quorum& servers) {
  const auto each_has = [&servers](std::size_t connections) {
    return std::all_of(servers.servers.begin(), servers.servers.end(),
                       [connections](const auto& s) { return s->connections() == connections; });
  };
  co_await eventually("the client is connected", [&] { return each_has(1); });
  co_await pause(100ms);
  for (const auto& s : servers.servers) {
    s->kill();
    s->start();
  }
  co_await eventually("it is connected again", [&] { return each_has(1); });
  co_await eventually("it rests", [&] { return each_has(0); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_held_or_waited_for_keeps_the_connection) {
  asio::io_context context;
  const client c(context, redis.url(), soon());
  std::optional<hold> held, next;
  mutex(c, "n").acquire([&](error_code, hold h) { held = std::move(h); });
  run_for(context, 5min);
  BOOST_TEST(!context.stopped());
  BOOST_REQUIRE(held.has_value());
  const client other(context, redis.url(), soon());
  mutex(other, "n").acquire([&](error_code, hold h) { next = std::move(h); });
  run_for(context, 5min);
  BOOST_TEST(!context.stopped());
  BOOST_TEST(!next.has_value());
  BOOST_TEST(c.stats().connects == 1U);
  BOOST_TEST(other.stats().connects == 1U);
  held.reset();
  run_for(context, 5min);
  BOOST_TEST(next.has_value());
  BOOST_TEST(!context.stopped());
  next.reset();
  run_to_end(context);
  BOOST_TEST(!redis.get("n"));
  BOOST_TEST(c.stats().connects == 1U);
  BOOST_TEST(other.stats().connects == 1U);
}

BOOST_AUTO_TEST_CASE(forever_keeps_the_connection) {
  asio::io_context context;
  client_options o;
  o.idle_timeout = forever;
  std::optional<client> c(std::in_place, context, redis.url(), o);
  run_for(context, 5min);
  BOOST_TEST(!context.stopped());
  BOOST_TEST(redis.connections() == 1U);
  c.reset();
  run_to_end(context);
}

// The bounds of client_options::idle_timeout.
BOOST_AUTO_TEST_CASE(the_shortest_limit_disturbs_nothing_that_is_under_way) {
  asio::io_context context;
  client_options o;
  o.idle_timeout = 1ms;
  const client c(context, redis.url(), o);
  redis.world().fastest = redis.world().slowest = 20ms;
  std::optional<hold> held;
  error_code ec;
  mutex(c, "n").acquire({.lease = 3s}, [&](error_code e, hold h) {
    ec = e;
    held = std::move(h);
  });
  run_for(context, 2min);
  BOOST_TEST(!ec);
  BOOST_REQUIRE(held.has_value());
  BOOST_TEST(held->valid());
  BOOST_TEST(c.stats().renewed > 50U);
  outcome released;
  held->release(released.handler());
  run_to_end(context);
  BOOST_REQUIRE(released.ended());
  BOOST_TEST(!*released.ec);
  BOOST_TEST(redis.connections() == 0U);
  BOOST_TEST(!redis.get("n"));
}

BOOST_AUTO_TEST_CASE(the_longest_limit_is_a_month) {
  asio::io_context context;
  client_options o;
  o.idle_timeout = 30 * 24h;
  const client c(context, redis.url(), o);
  run_for(context, 30 * 24h - 1s);
  BOOST_TEST(!context.stopped());
  BOOST_TEST(redis.connections() == 1U);
  run_for(context, 30 * 24h + 2s);
  BOOST_TEST(context.stopped());
  BOOST_TEST(redis.connections() == 0U);
  BOOST_TEST(c.stats().connects == 1U);
}

BOOST_AUTO_TEST_CASE(an_idle_client_closes_at_once_and_may_be_destroyed_in_every_order) {
  for (const bool in_between : {false, true}) {
    asio::io_context context;
    client c(context, redis.url(), soon());
    if (in_between) {
      run_to_end(context);
    } else {
      run_for(context, 25ms);
    }
    outcome closed;
    c.close(closed.handler());
    run_to_end(context);
    BOOST_REQUIRE(closed.ended());
    BOOST_TEST(!*closed.ec);
    error_code ec;
    mutex(c, "n").acquire([&ec](error_code e, hold) { ec = e; });
    run_to_end(context);
    BOOST_TEST(ec == error::closed);
  }
  auto context = std::make_unique<asio::io_context>();
  std::optional<client> first(std::in_place, *context, redis.url(), soon());
  std::optional<client> second(std::in_place, *context, redis.url(), soon());
  run_to_end(*context);
  first.reset();
  context.reset();
  BOOST_TEST(!second->get_executor());
  second.reset();
}

// It ends by its deadline, and Redis is not asked any more.
BOOST_AUTO_TEST_CASE(a_client_rests_while_the_program_keeps_a_lost_hold) {
  asio::io_context context;
  const client c(context, redis.url(), soon());
  std::optional<hold> held;
  mutex(c, "n").acquire({.lease = 100ms, .renew = renewal::none}, [&](error_code, hold h) { held = std::move(h); });
  run_to_end(context);
  BOOST_REQUIRE(held.has_value());
  BOOST_TEST(!held->valid());
  BOOST_TEST(redis.connections() == 0U);
}

// A hold that was lost while the program kept it.
BOOST_AUTO_TEST_CASE(a_lost_hold_is_released_as_ever) {
  asio::io_context context;
  const client c(context, redis.url(), soon());
  std::optional<hold> held;
  mutex(c, "n").acquire({.lease = 100ms, .renew = renewal::none}, [&](error_code, hold h) { held = std::move(h); });
  run(context, []() -> awaitable<void> { co_await pause(5min); });
  BOOST_REQUIRE(held.has_value());
  BOOST_TEST(!held->valid());
  outcome released;
  held->release(released.handler());
  run_to_end(context);
  BOOST_REQUIRE(released.ended());
  BOOST_TEST(*released.ec == error::lost);
}

// What it has known of its servers it still knows: one that was started anew has forgotten.
BOOST_AUTO_TEST_CASE(an_idle_client_remembers_the_servers_of_its_quorum) {
  memory_quorum servers(3);
  asio::io_context context;
  client_options strict = soon();
  strict.restart_delay = 10min;
  const client careful(context, servers.urls(), strict);
  run(context, [&]() -> awaitable<void> {
    hold h = co_await mutex(careful, "n").acquire();
    BOOST_TEST(h.valid());
    co_await h.release();
  });
  BOOST_TEST(servers[0].connections() == 0U);
  for (const auto& s : servers.servers) {
    s->kill();
    s->start();
  }
  run(context, [&]() -> awaitable<void> {
    auto [ec, h] = co_await mutex(careful, "n").acquire({.wait = 0ms}, as_tuple);
    BOOST_TEST(ec.failed());
    // Servers that are all new are a new deployment to a client that has not known them before.
    const client fresh(co_await asio::this_coro::executor, servers.urls(), strict);
    auto [fresh_ec, fresh_hold] = co_await mutex(fresh, "m").acquire({.wait = 0ms}, as_tuple);
    BOOST_TEST(!fresh_ec);
  });
}

// It has known the servers that were replaced, though not when it rests.
BOOST_AUTO_TEST_CASE(a_client_that_has_rested_knows_that_all_servers_of_its_quorum_were_restarted) {
  memory_quorum servers(3);
  run([&]() -> awaitable<void> {
    const client c(co_await asio::this_coro::executor, servers.urls(), rests_late(10min));
    co_await restart_all_and_let_rest(servers);
    auto [ec, none] = co_await mutex(c, "n").acquire({.wait = 0ms}, as_tuple);
    BOOST_TEST(ec.failed());
    co_await pause(10min);
    auto [later_ec, h] = co_await mutex(c, "n").acquire({.wait = 0ms}, as_tuple);
    BOOST_TEST(!later_ec, later_ec.message());
  });
}

// A server that was restarted has forgotten it for as long.
BOOST_AUTO_TEST_CASE(a_client_that_has_rested_knows_the_longest_lease_that_it_has_asked_for) {
  memory_quorum servers(3);
  run([&]() -> awaitable<void> {
    const client c(co_await asio::this_coro::executor, servers.urls(), rests_late(1min));
    {
      hold h = co_await mutex(c, "n").acquire({.lease = 10min});
      const ticket t = co_await h.detach();
      BOOST_TEST(!t.to_string().empty());
    }
    co_await restart_all_and_let_rest(servers);
    co_await pause(2min);
    auto [ec, none] = co_await mutex(c, "n").acquire({.lease = 5s, .wait = 0ms}, as_tuple);
    BOOST_TEST(ec.failed());
    co_await pause(10min);
    auto [later_ec, h] = co_await mutex(c, "n").acquire({.lease = 5s, .wait = 0ms}, as_tuple);
    BOOST_TEST(!later_ec, later_ec.message());
  });
}

// A ticket does not need the client that has made it.
BOOST_AUTO_TEST_CASE(a_client_of_a_quorum_rests_while_its_tickets_last) {
  memory_quorum servers(3);
  asio::io_context context;
  const client c(context, servers.urls(), soon());
  const coroutine detaches = [&]() -> awaitable<void> {
    const mutex m(c, "n");
    hold h = co_await m.acquire({.lease = 10min});
    const ticket t = co_await h.detach();
    BOOST_TEST(!t.to_string().empty());
  };
  asio::co_spawn(context, detaches, asio::detached);
  run_for(context, 10s);
  BOOST_TEST(context.stopped());
  for (const auto& s : servers.servers) BOOST_TEST(s->connections() == 0U);
}

// Nothing of a hold is left once every server has answered its release, long before its lease would have ended. The
// same for attempts in vain.
BOOST_AUTO_TEST_CASE(short_holds_on_a_quorum_leave_nothing_that_keeps_a_client_from_resting) {
  memory_quorum servers(3);
  for (const auto& s : servers.servers) s->command("SET", "busy", "another program", "PX", "3600000");
  asio::io_context context;
  const client c(context, servers.urls(), soon());
  bool is_done = false;
  const coroutine holds = [&]() -> awaitable<void> {
    const mutex m(c, "n"), busy(c, "busy");
    for (int i = 0; i < 100; ++i) {
      hold h = co_await m.acquire({.lease = 10min});
      const auto none = co_await busy.try_acquire({.lease = 10min});
      BOOST_TEST(!none.has_value());
      co_await h.release();
    }
    is_done = true;
  };
  asio::co_spawn(context, holds, asio::detached);
  run_for(context, 10s);
  BOOST_TEST(is_done);
  BOOST_TEST(context.stopped());
  for (const auto& s : servers.servers) BOOST_TEST(s->connections() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
