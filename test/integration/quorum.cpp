// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a quorum does with connections of real servers; test/simulation/locks/quorum.cpp has the rest.
#include "support/quorum_servers.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

struct three : quorum_servers {
  three() : quorum_servers(3) {}
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(quorum, three)

// More than the servers answer in the time that an attempt waits for them.
BOOST_AUTO_TEST_CASE(very_many_at_once_all_get_in) {
  run([&]() -> awaitable<void> {
    constexpr std::size_t all = 6000;
    client_options o;
    o.connect_timeout = limit;  // Of close.
    client c(co_await asio::this_coro::executor, urls(), o);
    co_await c.ready();
    std::vector<hold> held;
    std::size_t failed = 0;
    for (std::size_t i = 0; i < all; ++i) {
      mutex(c, std::to_string(i)).acquire({.lease = 20s, .renew = renewal::none}, [&](error_code ec, hold h) {
        failed += ec ? 1 : 0;
        held.push_back(std::move(h));
      });
    }
    co_await eventually("all have asked", [&] { return held.size() == all; });
    BOOST_TEST(failed == 0U);
    BOOST_TEST(c.stats().reconnects == 0U);
    co_await c.close();
    co_await nothing_left();
  });
}

// One that was mended does not count as refusing any more: a second one is no majority with it.
BOOST_AUTO_TEST_CASE(a_server_that_refuses_the_client_is_named_until_it_is_mended) {
  auto where = urls();
  where[0] = servers[0]->tcp_url();
  const auto want_password = [this](std::size_t i, const char* password) {
    const reply r = servers[i]->command("CONFIG", "SET", "requirepass", password);
    BOOST_REQUIRE_MESSAGE(r.text == "OK", r.text);
  };
  want_password(0, "secret");
  run([&]() -> awaitable<void> {
    std::vector<std::string> told;
    const auto is_told = [&told](const std::string& words) {
      return std::any_of(told.begin(), told.end(), [&words](const auto& t) { return t.starts_with(words); });
    };
    client_options o;
    o.reconnect = {.first = 5ms, .max = 50ms};
    o.idle_timeout = forever;
    o.observer = [&told](const event& e) {
      if (e.what == event::kind::disconnected) told.emplace_back(e.text);
    };
    client c(co_await asio::this_coro::executor, where, o);
    const std::string first = "127.0.0.1:" + std::to_string(servers[0]->port()) + ": NOAUTH";
    co_await eventually("the first one is named", [&] { return is_told(first); });
    want_password(0, "");
    co_await eventually("all are up", [&] { return c.stats().connects - c.stats().reconnects == 3; });

    want_password(1, "secret");
    servers[1]->command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    const std::string second = servers[1]->socket_path() + ": NOAUTH";
    co_await eventually("the second one is named", [&] { return is_told(second); });
    BOOST_TEST(c.stats().refused == 0U);
    BOOST_TEST(c.last_refusal() == "");
    co_await c.close();
  });
}

// It would make a majority with one other server. URLs that are alike are refused before; these name it differently.
BOOST_AUTO_TEST_CASE(a_server_that_two_urls_name_counts_once) {
  auto where = urls();
  where[1] = servers[0]->tcp_url();
  run([&]() -> awaitable<void> {
    std::vector<std::string> told;
    client_options o;
    o.idle_timeout = forever;
    o.restart_delay = 0ms;  // The servers have just been started.
    o.observer = [&told](const event& e) {
      if (e.what == event::kind::disconnected) told.emplace_back(e.text);
    };
    client c(co_await asio::this_coro::executor, where, o);
    const std::string socket = servers[0]->socket_path();
    const std::string tcp = "127.0.0.1:" + std::to_string(servers[0]->port());
    co_await eventually("it is named", [&] {
      return std::find(told.begin(), told.end(), tcp + ": " + socket + " is the same server") != told.end() ||
             std::find(told.begin(), told.end(), socket + ": " + tcp + " is the same server") != told.end();
    });
    const mutex lock(c, "n");
    auto asking = lock.acquire({.lease = 10s, .wait = limit}, as_tuple);
    auto [failed, first] = co_await std::move(asking);
    BOOST_REQUIRE(!failed);
    co_await first.release();
    servers[2]->kill();
    auto waiting = lock.acquire({.lease = 10s, .wait = 300ms}, as_tuple);
    const auto [ec, second] = co_await std::move(waiting);
    BOOST_TEST(ec == error::no_quorum);
    co_await c.close();
  });
}

// Whatever is left of a client when the context ends, and what outlives it, does nothing.
BOOST_AUTO_TEST_CASE(the_context_may_end_first) {
  for (int turns = 0; turns < 40; ++turns) {
    hold h;
    std::optional<client> c;
    std::optional<mutex> lock;
    {
      asio::io_context context;
      c.emplace(context, urls());
      lock.emplace(*c, "n");
      for (const char* name : {"n", "m"}) {
        mutex(*c, name).acquire({.lease = 300ms}, [&h](error_code, hold got) { h = std::move(got); });
      }
      for (int i = 0; i < turns; ++i) context.run_one_for(20ms);
      if (turns % 3 == 0) c->close([](error_code) {});
      if (turns % 4 == 1) h = hold();
      for (int i = 0; i < turns % 7; ++i) context.run_one_for(1ms);
    }
    lock->try_acquire([](error_code, std::optional<hold>) {});
  }
  wait_until("the leases have ended", [this] { return size() == 0; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
