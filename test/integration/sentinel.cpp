// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A Sentinel group as the store, with nothing that fails but Sentinels.
#include "support/certificates.hpp"
#include "support/sentinel_group.hpp"
#include "support/with_redis.hpp"

namespace leasehold::test {

namespace {

sentinel_group::settings small() {
  sentinel_group::settings s;
  s.replicas = 1;
  return s;
}

std::string refusal_of(const client& c) { return c.last_refusal(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(sentinel)

BOOST_AUTO_TEST_CASE(locks_are_taken_waited_for_and_released) {
  sentinel_group group(small());
  run([&]() -> awaitable<void> {
    client a(co_await asio::this_coro::executor, group.url());
    client b(co_await asio::this_coro::executor, group.url() + "/0");
    co_await a.ready();
    co_await b.ready();
    hold h = co_await mutex(a, "n").acquire();
    BOOST_TEST(group.master().get("n").value().find(h.token()) != std::string::npos);
    std::optional<hold> next;
    mutex(b, "n").acquire([&](error_code ec, hold got) {
      BOOST_TEST(!ec);
      next = std::move(got);
    });
    co_await eventually("the other one waits", [&] { return b.stats().contended == 1; });
    co_await h.release();
    co_await eventually("it gets the lock", [&] { return next.has_value(); });
    BOOST_TEST(next->fence() > h.fence());
    BOOST_TEST(b.stats().handed_off == 1U);
    co_await next->release();
    BOOST_TEST(group.master().size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(sentinels_that_are_dead_or_frozen_are_passed_over) {
  sentinel_group group(small());
  client_options o;
  o.connect_timeout = 30s;  // What is waited for is not a time-out.
  group.sentinel(0).stop();
  group.sentinel(1).kill();
  run([&]() -> awaitable<void> {
    const auto start = std::chrono::steady_clock::now();
    client c(co_await asio::this_coro::executor, group.url(), o);
    co_await c.ready();
    BOOST_TEST(std::chrono::steady_clock::now() - start < 15s);
    hold h = co_await mutex(c, "n").acquire();
    BOOST_TEST(h.valid());
  });
  group.sentinel(0).go_on();
}

BOOST_AUTO_TEST_CASE(a_master_that_no_sentinel_knows_is_refused) {
  sentinel_group group(small());
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, "redis+sentinel://" + group.hosts() + "/nobody");
    auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(refusal_of(c).find("knows no master 'nobody'") != std::string::npos, refusal_of(c));
    auto [ec2, none] = co_await mutex(c, "n").acquire(as_tuple);
    BOOST_TEST(ec2 == error::refused);
    auto [ec3] = co_await c.close(as_tuple);
    BOOST_TEST(!ec3);
  });
}

// Two of the three are most of them. The limit is not what is waited for.
BOOST_AUTO_TEST_CASE(a_master_that_most_sentinels_do_not_know_is_refused_while_one_is_frozen) {
  sentinel_group group(small());
  client_options o;
  o.connect_timeout = 10s;
  group.sentinel(0).stop();
  run([&]() -> awaitable<void> {
    const auto start = std::chrono::steady_clock::now();
    client c(co_await asio::this_coro::executor, "redis+sentinel://" + group.hosts() + "/nobody", o);
    auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(refusal_of(c).find("knows no master 'nobody'") != std::string::npos, refusal_of(c));
    auto [ec2, none] = co_await mutex(c, "n").acquire(as_tuple);
    BOOST_TEST(ec2 == error::refused);
    BOOST_TEST(std::chrono::steady_clock::now() - start < 18s);
  });
  group.sentinel(0).go_on();
}

BOOST_AUTO_TEST_CASE(no_sentinel_at_all_is_unreachable) {
  const std::string port = std::to_string(free_port());
  redis_server frozen({}, {}, {.arguments = {"--sentinel"}});
  frozen.stop();
  run([&]() -> awaitable<void> {
    client_options o;
    o.connect_timeout = 300ms;
    client c(co_await asio::this_coro::executor,
             "redis+sentinel://127.0.0.1:" + port + ",127.0.0.1:" + std::to_string(frozen.port()) + "/m", o);
    auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::unreachable);
    auto [ec2, none] = co_await mutex(c, "n").acquire({.wait = 50ms}, as_tuple);
    BOOST_TEST(ec2 == error::unreachable);
    auto [ec3] = co_await c.close(as_tuple);
    BOOST_TEST(!ec3);
  });
  // Nor does a client that is dropped in the middle of it keep the context busy.
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, "redis+sentinel://127.0.0.1:" + std::to_string(frozen.port()) + "/m");
    co_await turn();
  });
  {
    asio::io_context context;
    client c(context, "redis+sentinel://127.0.0.1:" + std::to_string(frozen.port()) + "/m");
    context.run_for(20ms);
  }
  frozen.go_on();
}

BOOST_AUTO_TEST_CASE(servers_and_sentinels_have_passwords_of_their_own) {
  auto s = small();
  s.server_password = "of-servers";
  s.sentinel_password = "of+sentinels";
  s.configuration = {"user alice on >her-own ~* &* +@all -role -info"};
  sentinel_group group(s);
  run([&]() -> awaitable<void> {
    const auto ready = [](std::string url, std::string& words) -> awaitable<error_code> {
      client c(co_await asio::this_coro::executor, url);
      auto [ec] = co_await c.ready(as_tuple);
      words = c.last_refusal();
      if (!ec) {
        hold h = co_await mutex(c, "n").acquire();
        BOOST_TEST(h.valid());
        co_await h.release();
      }
      co_return ec;
    };
    const std::string key = "?sentinel_password=of%2Bsentinels";
    std::string words;
    error_code ec = co_await ready(group.url(":of-servers") + key, words);
    BOOST_TEST(!ec);
    ec = co_await ready(group.url("alice:her-own") + key + "&sentinel_user=default", words);
    BOOST_TEST(!ec);
    ec = co_await ready(group.url(":of-servers"), words);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(words.find("NOAUTH") != std::string::npos, words);
    BOOST_TEST(words.find("Sentinel 127.0.0.1:") != std::string::npos, words);
    ec = co_await ready(group.url(":of-servers") + "?sentinel_password=wrong", words);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(words.find("WRONGPASS") != std::string::npos, words);
    ec = co_await ready(group.url(":wrong") + key, words);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(words.find("WRONGPASS") != std::string::npos, words);
  });
}

// docs/operations.md names these rights. Without that to subscribe everything works, only that the client is not told.
BOOST_AUTO_TEST_CASE(a_user_of_the_sentinels_needs_few_rights) {
  auto s = small();
  s.sentinels = 1;
  const std::string rights = " on >pw -@all +hello +ping +sentinel|get-master-addr-by-name +sentinel|sentinels";
  s.of_sentinels = {"user listens" + rights + " +subscribe &+switch-master", "user does-not-listen" + rights};
  sentinel_group group(s);
  run([&]() -> awaitable<void> {
    for (const std::string user : {"listens", "does-not-listen"}) {
      client c(co_await asio::this_coro::executor, group.url() + "?sentinel_password=pw&sentinel_user=" + user);
      hold h = co_await mutex(c, "n").acquire();
      BOOST_TEST(h.valid());
      // Its connection to the Sentinel goes on.
      const std::string clients = group.sentinel(0).command("CLIENT", "LIST").text;
      const auto at = clients.find("user=" + user);
      BOOST_REQUIRE(at != clients.npos);
      const std::string line = clients.substr(0, clients.find('\n', at)).substr(clients.rfind('\n', at) + 1);
      BOOST_TEST((line.find(" sub=1") != line.npos) == (user == "listens"), line);
      co_await h.release();
    }
  });
}

// Sentinels name servers by their addresses, so these stand in the certificate. The URL names the Sentinels.
BOOST_AUTO_TEST_CASE(servers_and_sentinels_are_verified) {
  certificates issued;
  issued.issue("address", "IP:127.0.0.1");
  issued.issue("name", "DNS:localhost");
  auto s = small();
  s.sentinels = 1;
  s.tls = issued.configuration("address");
  sentinel_group group(s);
  s.tls = issued.configuration("name");
  sentinel_group of_another_name(s);
  run([&]() -> awaitable<void> {
    const auto ready = [](std::string url, std::chrono::milliseconds patience = 1500ms) -> awaitable<error_code> {
      client_options o;
      o.connect_timeout = patience;
      client c(co_await asio::this_coro::executor, url, o);
      auto [ec] = co_await c.ready(as_tuple);
      if (!ec) {
        hold h = co_await mutex(c, "n").acquire();
        BOOST_TEST(h.valid());
        co_await h.release();
      }
      co_return ec;
    };
    const std::string ca = "?ca=" + issued.authority();
    BOOST_TEST(group.url().starts_with("rediss+sentinel://"));
    error_code ec = co_await ready(group.url() + ca, limit);
    BOOST_TEST(!ec);
    ec = co_await ready(group.url());
    BOOST_TEST(ec == error::unreachable);
    ec = co_await ready(group.url() + "?insecure=1", limit);
    BOOST_TEST(!ec);
    // By its name the Sentinel is verified, but the master is an address.
    const std::string port = std::to_string(of_another_name.sentinel(0).second_port());
    ec = co_await ready("rediss+sentinel://localhost:" + port + "/mymaster" + ca);
    BOOST_TEST(ec == error::unreachable);
    // Unless the URL says which name both of them have.
    ec = co_await ready("rediss+sentinel://127.0.0.1:" + port + "/mymaster" + ca + "&tls_server_name=localhost", limit);
    BOOST_TEST(!ec);
    ec = co_await ready("rediss+sentinel://localhost:" + port + "/mymaster?insecure=1", limit);
    BOOST_TEST(!ec);
    ec = co_await ready("redis+sentinel://localhost:" + port + "/mymaster");
    BOOST_TEST(ec == error::unreachable);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
