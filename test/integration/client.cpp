// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Clients and what only real servers and networks do. The others: test/simulation/locks/client.cpp.
#include "support/notes.hpp"
#include "support/with_redis.hpp"

#include <string>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(clients, with_redis)

BOOST_AUTO_TEST_CASE(ready_says_that_the_store_answers) {
  run([&]() -> awaitable<void> {
    for (const std::string& url : {redis.url(), redis.tcp_url(), redis.tcp_url() + "/3", redis.url() + "?db=3"}) {
      notes n;
      client_options o;
      o.observer = n.observer();
      client c(co_await asio::this_coro::executor, url, o);
      co_await c.ready();
      co_await c.ready();
      BOOST_TEST(n.count(event::kind::connected) == 1U);
      BOOST_TEST(n.text(event::kind::connected).find('.') != std::string::npos);
      BOOST_TEST(c.stats().connects == 1U);
      BOOST_TEST(c.stats().reconnects == 0U);
      co_await c.close();
    }
  });
}

BOOST_AUTO_TEST_CASE(the_database_is_that_of_the_url) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.tcp_url() + "/5");
    hold h = co_await mutex(c, "n").acquire();
    BOOST_TEST(!redis.get("n"));
    redis.command("SELECT", "5");
    BOOST_TEST(redis.get("n").has_value());
  });
}

BOOST_AUTO_TEST_CASE(ready_gives_up_after_the_connect_timeout) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.connect_timeout = 1s;  // Enough for an attempt on a busy machine.
    client c(co_await asio::this_coro::executor, "redis://127.0.0.1:" + std::to_string(free_port()), o);
    auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::unreachable);
    BOOST_TEST(c.last_failure() == "Connection refused");
    client d(co_await asio::this_coro::executor, "unix:///nonexistent/redis.sock", o);
    auto [ec2] = co_await d.ready(as_tuple);
    BOOST_TEST(ec2 == error::unreachable);
    BOOST_TEST(d.last_failure() == "No such file or directory");
    BOOST_TEST(d.server() == "unix:///nonexistent/redis.sock");
    BOOST_TEST(d.explain(ec2) == "unreachable: unix:///nonexistent/redis.sock: No such file or directory");
    BOOST_TEST(mutex(d, "n").explain(ec2) ==
               "unreachable: lock 'n' at unix:///nonexistent/redis.sock: No such file or directory");
    BOOST_TEST(d.explain({}) == "");
  });
}

BOOST_AUTO_TEST_CASE(an_unknown_host_is_unreachable) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.connect_timeout = 100ms;
    client c(co_await asio::this_coro::executor, "redis://no-such-host.invalid", o);
    auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::unreachable);
    co_await c.close();
  });
}

// A10: eviction can take locks away; an operator is told.
BOOST_AUTO_TEST_CASE(a_policy_that_evicts_is_told) {
  run([&]() -> awaitable<void> {
    notes n;
    client_options o;
    o.observer = n.observer();
    {
      client c(co_await asio::this_coro::executor, redis.url(), o);
      co_await c.ready();
      BOOST_TEST(n.count(event::kind::evicting) == 0U);
    }
    redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    client c(co_await asio::this_coro::executor, redis.url(), o);
    co_await c.ready();
    BOOST_TEST(n.count(event::kind::evicting) == 1U);
    BOOST_TEST(n.text(event::kind::evicting) == "allkeys-lru");
  });
}

// There are many attempts, and one reason.
BOOST_AUTO_TEST_CASE(why_the_store_is_not_reached_is_told_once) {
  run([&]() -> awaitable<void> {
    notes n;
    client_options o;
    o.observer = n.observer();
    o.reconnect = {.first = 1ms, .max = 5ms};
    client c(co_await asio::this_coro::executor, redis.url(), o);
    co_await c.ready();
    BOOST_TEST(c.last_failure() == "");
    redis.kill();
    co_await eventually("it is told", [&] { return n.count(event::kind::unreachable) != 0; });
    BOOST_TEST(n.text(event::kind::unreachable) == "Connection refused");
    BOOST_TEST(c.last_failure() == "Connection refused");
    co_await pause(100ms);
    BOOST_TEST(n.count(event::kind::unreachable) == 1U);
    BOOST_TEST(n.count(event::kind::disconnected) == 1U);
    redis.start();
    co_await c.ready();
    BOOST_TEST(c.last_failure() == "");
  });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(clients_with_a_password)

BOOST_AUTO_TEST_CASE(the_right_password_is_accepted_and_a_wrong_one_refused) {
  redis_server redis({"requirepass s3:cr@t"});
  redis.command("AUTH", "s3:cr@t");
  run([&]() -> awaitable<void> {
    const std::string at = "@127.0.0.1:" + std::to_string(redis.port());
    client good(co_await asio::this_coro::executor, "redis://:s3%3Acr%40t" + at);
    co_await good.ready();
    hold h = co_await mutex(good, "n").acquire();
    client socket(co_await asio::this_coro::executor, "unix://default:s3%3Acr%40t@" + redis.socket_path());
    co_await socket.ready();
    for (const std::string& url : {"redis://:wrong" + at, "redis://nobody:s3%3Acr%40t" + at, redis.tcp_url()}) {
      notes n;
      client_options o;
      o.observer = n.observer();
      client c(co_await asio::this_coro::executor, url, o);
      auto [ec] = co_await c.ready(as_tuple);
      BOOST_TEST(ec == error::refused);
      const std::string words = c.last_refusal();
      BOOST_TEST((words.starts_with("WRONGPASS") || words.starts_with("NOAUTH")), words);
      BOOST_TEST(n.count(event::kind::refused) >= 1U);
      BOOST_TEST(c.stats().refused >= 1U);
      // At once, not after the wait: it would never get better.
      auto [ec2, none] = co_await mutex(c, "n").acquire(as_tuple);
      BOOST_TEST(ec2 == error::refused);
      auto [ec3, none2] = co_await mutex(c, "n").try_acquire(as_tuple);
      BOOST_TEST(ec3 == error::refused);
      auto [ec4, none3] = co_await mutex(c, "n").inspect(as_tuple);
      BOOST_TEST(ec4 == error::refused);
      co_await c.close();
    }
  });
}

BOOST_AUTO_TEST_CASE(a_client_gets_in_once_the_password_is_right) {
  redis_server redis({"requirepass secret"});
  redis.command("AUTH", "secret");
  run([&]() -> awaitable<void> {
    notes n;
    client_options o;
    o.observer = n.observer();
    o.reconnect = {.first = 200ms, .max = 200ms, .factor = 1.0, .jitter = 0.0};
    client c(co_await asio::this_coro::executor, redis.url(), o);
    auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::refused);
    redis.command("CONFIG", "SET", "requirepass", "");
    co_await eventually("it is connected", [&] { return c.stats().connects == 1; });
    hold h = co_await mutex(c, "n").acquire();
    BOOST_TEST(h.valid());
    // Then the refusal is over, also while there is no connection.
    redis.command("CLIENT", "KILL", "USER", "default");
    co_await eventually("it is disconnected", [&] { return n.count(event::kind::disconnected) == 1; });
    auto [while_away, next] = co_await mutex(c, "m").acquire(as_tuple);
    BOOST_TEST(!while_away, while_away.message());
    co_await h.release();
    co_await next.release();
    // And so it is when the server that has refused is gone.
    const auto refused = n.count(event::kind::refused);
    redis.command("CONFIG", "SET", "requirepass", "secret");
    redis.command("CLIENT", "KILL", "USER", "default");
    co_await eventually("it is refused again", [&] { return n.count(event::kind::refused) > refused; });
    const auto unreachable = n.count(event::kind::unreachable);
    redis.kill();
    co_await eventually("it gets no answer", [&] { return n.count(event::kind::unreachable) > unreachable; });
    auto [while_dead, none] = co_await mutex(c, "n").acquire({.wait = 100ms}, as_tuple);
    BOOST_TEST(while_dead == error::unreachable, while_dead.message());
  });
}

BOOST_AUTO_TEST_CASE(a_refused_client_that_was_idle_asks_again) {
  redis_server redis({"requirepass secret"});
  redis.command("AUTH", "secret");
  asio::io_context context;
  client_options o;
  o.idle_timeout = 20ms;
  const client c(context, redis.url(), o);
  // The context has nothing left to do when the client has disconnected.
  run(context, [&]() -> awaitable<void> {
    auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::refused);
  });
  redis.command("CONFIG", "SET", "requirepass", "");
  run(context, [&]() -> awaitable<void> {
    auto [ec, h] = co_await mutex(c, "n").acquire(as_tuple);
    BOOST_TEST(!ec, ec.message());
    co_await h.release(as_tuple);
  });
}

BOOST_AUTO_TEST_CASE(a_user_has_its_own_password) {
  redis_server redis({"user alice on >pw ~* &* +@all"});
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, "redis://alice:pw@127.0.0.1:" + std::to_string(redis.port()));
    hold h = co_await mutex(c, "n").acquire();
    BOOST_TEST(redis.command("CLIENT", "LIST").text.find("user=alice") != std::string::npos);
  });
}

BOOST_AUTO_TEST_CASE(a_database_that_does_not_exist_is_refused) {
  redis_server redis({"databases 4"});
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.tcp_url() + "/9");
    auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(c.last_refusal() != "");
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
