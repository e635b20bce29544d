// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A client without a hold, an operation or a release under way disconnects, so that io_context::run() can return, and
// connects again for the next operation. What does not depend on connections: test/simulation/locks/idle.cpp.
#include "support/cluster_servers.hpp"
#include "support/quorum_servers.hpp"
#include "support/sentinel_group.hpp"
#include "support/with_redis.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

client_options soon() {
  client_options o;
  o.idle_timeout = 20ms;
  return o;
}

// The client is used, run() returns though it is still there, and it is used again: three times.
void use_and_rest(asio::io_context& context, const client& c, const std::function<bool()>& connected = nullptr) {
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const auto connects = c.stats().connects;
    run(context, [&]() -> awaitable<void> {
      hold h = co_await mutex(c, "n").acquire();
      BOOST_TEST(h.valid());
      if (connected) BOOST_TEST(connected());
      co_await h.release();
    });
    BOOST_TEST(c.stats().connects > connects);
    BOOST_TEST(c.stats().reconnects == 0U);
    BOOST_TEST(c.stats().acquired == i);
    if (connected) wait_until("the server has seen its end", [&] { return !connected(); });
  }
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(idle_clients, with_redis)

BOOST_AUTO_TEST_CASE(an_idle_client_does_not_keep_run) {
  asio::io_context context;
  std::vector<event::kind> seen;
  client_options o = soon();
  o.observer = [&seen](const event& e) { seen.push_back(e.what); };
  const client c(context, redis.url(), o);
  use_and_rest(context, c, [&] { return redis.info("connected_clients") == 2; });
  // A quiet client is no news to an operator.
  BOOST_TEST(std::count(seen.begin(), seen.end(), event::kind::connected) == 3);
  BOOST_TEST(std::count(seen.begin(), seen.end(), event::kind::disconnected) == 0);
  BOOST_TEST(std::count(seen.begin(), seen.end(), event::kind::unreachable) == 0);
  BOOST_TEST(c.last_failure() == "");
  // Every operation connects again.
  run(context, [&]() -> awaitable<void> { co_await c.ready(); });
  run(context, [&]() -> awaitable<void> {
    const lock_info info = co_await mutex(c, "n").inspect();
    BOOST_TEST(!info.held);
  });
  run(context, [&]() -> awaitable<void> {
    const auto all = co_await list(c);
    BOOST_TEST(all.empty());
  });
  run(context, [&]() -> awaitable<void> {
    const mutex a(c, "a"), b(c, "b");
    holds<2> both = co_await acquire_all(a, b);
    BOOST_TEST(both.valid());
    co_await both.release();
  });
  BOOST_TEST(c.stats().connects == 7U);
}

// One that was never used, and one that cannot connect.
BOOST_AUTO_TEST_CASE(a_client_with_nothing_to_do_does_not_keep_run) {
  asio::io_context context;
  const client unused(context, redis.url(), soon());
  const client nowhere(context, "redis://127.0.0.1:" + std::to_string(free_port()), soon());
  run_to_end(context);
  redis.stop();
  const client silent(context, redis.url(), soon());
  run_to_end(context);
  redis.go_on();
  run(context, [&]() -> awaitable<void> {
    hold h = co_await mutex(silent, "n").acquire();
    BOOST_TEST(h.valid());
  });
  BOOST_TEST(!redis.get("n"));
}

// Operations that begin while it disconnects, and in every other moment.
BOOST_AUTO_TEST_CASE(operations_at_any_moment_find_a_connection) {
  client_options o;
  o.idle_timeout = 1ms;
  run([&]() -> awaitable<void> {
    const client c(co_await asio::this_coro::executor, redis.url(), o);
    const mutex lock(c, "n");
    std::uint64_t last = 0, acquired = 0;
    // Until it has disconnected: on a machine that stands still for long, the next operation comes first.
    for (int i = 0; i < 150 || c.stats().connects == 1; ++i) {
      hold h = co_await lock.acquire();
      ++acquired;
      BOOST_TEST(h.valid());
      BOOST_TEST(h.fence() > last);
      last = h.fence();
      co_await h.release();
      asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::microseconds(i * 10));
      co_await timer.async_wait(asio::deferred);
    }
    BOOST_TEST(c.stats().lost == 0U);
    BOOST_TEST(c.stats().acquired == acquired);
  });
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(an_idle_client_of_a_quorum) {
  quorum_servers servers(3);
  asio::io_context context;
  const client c(context, servers.urls(), soon());
  use_and_rest(context, c, [&] { return servers[0].info("connected_clients") == 2; });
  // What it has known of its servers it still knows: one that was started anew has forgotten.
  client_options strict = soon();
  strict.restart_delay = 10min;
  const client careful(context, servers.urls(), strict);
  use_and_rest(context, careful, [&] { return servers[0].info("connected_clients") == 2; });
  for (std::size_t i : {0U, 1U}) {
    servers[i].kill();
    servers[i].start();
  }
  run(context, [&]() -> awaitable<void> {
    auto [ec, h] = co_await mutex(careful, "n").acquire({.wait = 0ms}, as_tuple);
    BOOST_TEST(ec.failed());
  });
}

BOOST_AUTO_TEST_CASE(an_idle_client_of_a_cluster_and_of_a_sentinel_group) {
  {
    cluster_servers cluster;
    asio::io_context context;
    const client c(context, cluster.url(), soon());
    use_and_rest(context, c);
  }
  {
    sentinel_group group;
    asio::io_context context;
    const client c(context, group.url(), soon());
    use_and_rest(context, c);
    // It still knows the Sentinels that the URL does not name.
    const std::string first = "127.0.0.1:" + std::to_string(group.sentinel(0).port());
    const client d(context, "redis+sentinel://" + first + "/" + sentinel_group::name, soon());
    use_and_rest(context, d);
    group.sentinel(0).kill();
    run(context, [&]() -> awaitable<void> {
      const acquire_options options{.wait = limit / 2};
      auto [ec, h] = co_await mutex(d, "n").acquire(options, as_tuple);
      BOOST_TEST(!ec, ec.message());
      co_await h.release(as_tuple);
    });
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
