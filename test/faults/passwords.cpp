// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Servers whose password changes again and again while locks are held and waited for: nothing is lost, and nothing is
// refused. LEASEHOLD_PASSWORDS_SECONDS and LEASEHOLD_PASSWORDS_HOLDS make it longer than the tests can wait.
#include "support/cluster_servers.hpp"
#include "support/quorum_servers.hpp"
#include "support/sentinel_group.hpp"
#include "support/with_redis.hpp"

#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(passwords)

namespace {

std::size_t setting(const char* name, std::size_t value) {
  const char* const given = std::getenv(name);
  return given == nullptr ? value : std::stoul(given);
}

// The user of all these servers has a new password every period. Its earlier one is removed a while later. All of its
// connections are closed every four periods.
class changing_password {
 public:
  changing_password(std::vector<redis_server*> servers, std::chrono::milliseconds period)
      : servers_(std::move(servers)), period_(period) {
    change();
  }

  awaitable<void> keep_changing(const bool& ended) {
    asio::steady_timer next(co_await asio::this_coro::executor);
    for (int i = 1; !ended; ++i) {
      next.expires_after(period_ * 4 / 5);
      co_await next.async_wait();
      const std::string earlier = present_;
      change();
      next.expires_after(period_ / 5);
      co_await next.async_wait();
      for (auto* s : servers_) s->command("ACL", "SETUSER", "locker", "<" + earlier);
      if (i % 4 != 0) continue;
      for (auto* s : servers_) s->command("CLIENT", "KILL", "USER", "locker");
      ++closed_;
    }
  }

  // It takes a while, and fails now and then.
  awaitable<credentials> give() {
    ++asked_;
    asio::steady_timer work(co_await asio::this_coro::executor);
    work.expires_after(std::chrono::milliseconds(random_() % 20));
    co_await work.async_wait();
    if (random_() % 5 == 0) throw std::runtime_error("the vault is busy");
    credentials given("locker", present_, changed_ + period_);
    co_return given;
  }

  int changes() const { return changes_; }
  int closed() const { return closed_; }
  int asked() const { return asked_; }

 private:
  void change() {
    present_ = "password-" + std::to_string(++changes_);
    changed_ = std::chrono::steady_clock::now();
    for (auto* s : servers_) {
      const reply r = s->command("ACL", "SETUSER", "locker", "on", ">" + present_, "~*", "&*", "+@all");
      if (r.is_error()) throw std::runtime_error(r.text);
    }
  }

  const std::vector<redis_server*> servers_;
  const std::chrono::milliseconds period_;
  std::string present_;
  std::chrono::steady_clock::time_point changed_;
  int changes_ = 0;
  int closed_ = 0;
  int asked_ = 0;
  std::minstd_rand random_{1};
};

awaitable<void> take_turns(client c, int name, std::chrono::milliseconds length, const bool& ended, std::size_t& turns,
                           std::size_t& excused) {
  const mutex lock(c, "turn" + std::to_string(name));
  const acquire_options options{.lease = 10s};
  asio::steady_timer work(co_await asio::this_coro::executor);
  while (!ended) {
    auto [ec, h] = co_await lock.acquire(options, as_tuple);
    BOOST_TEST_REQUIRE(!ec, lock.explain(ec));
    const auto since = now();
    work.expires_after(length);
    co_await work.async_wait();
    const auto [failed] = co_await h.release(as_tuple);
    // Until it is confirmed a grant has two seconds, and is lost on a machine that stands still for longer.
    const bool is_excused = failed == error::lost && now() - since > 1500ms;
    if (is_excused) ++excused;
    // A release whose answer is lost with the connection is no failure.
    BOOST_TEST((!failed || failed == error::unreachable || is_excused), lock.explain(failed));
    ++turns;
  }
}

// As run(), for a test that may take longer than others.
void run_so_long(std::chrono::seconds time, const coroutine& body) {
  asio::io_context context;
  std::optional<std::exception_ptr> end;
  asio::co_spawn(context, body(), [&end](std::exception_ptr failure) { end = failure; });
  // A thousand holds are not acquired in no time.
  context.run_for(2 * time + limit);
  BOOST_TEST_REQUIRE(end.has_value());
  if (*end) std::rethrow_exception(*end);
}

void outlives_its_passwords(const std::vector<std::string>& urls, std::vector<redis_server*> servers) {
  const auto seconds = setting("LEASEHOLD_PASSWORDS_SECONDS", 10);
  const auto number = setting("LEASEHOLD_PASSWORDS_HOLDS", 100);
  changing_password password(std::move(servers), seconds > 60 ? 5000ms : 1500ms);
  run_so_long(std::chrono::seconds(seconds), [&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options o;
    o.credentials = credentials_from([&](credentials_request) { return password.give(); });
    o.idle_timeout = forever;
    bool ended = false;
    std::size_t turns = 0;
    std::size_t excused = 0;
    std::size_t running = 0;
    const auto spawn = [&](awaitable<void> work) {
      ++running;
      asio::co_spawn(executor, std::move(work), [&running](std::exception_ptr e) {
        --running;
        if (e) std::rethrow_exception(e);
      });
    };
    spawn(password.keep_changing(ended));
    client a(executor, urls, o);
    client b(executor, urls, o);
    std::vector<hold> holds;
    // They are renewed in the test's time, by a machine that stands still for three seconds, too.
    const acquire_options twenty_seconds{.lease = 20s};
    for (std::size_t i = 0; i < number; ++i) {
      hold h = co_await mutex(i % 2 == 0 ? a : b, "held" + std::to_string(i)).acquire(twenty_seconds);
      holds.push_back(std::move(h));
    }
    for (int i = 0; i < 20; ++i) {
      spawn(take_turns(i % 2 == 0 ? a : b, i % 4, seconds > 60 ? 50ms : 5ms, ended, turns, excused));
    }
    if (seconds > 60) std::cout << holds.size() << " holds, turns begin" << std::endl;
    asio::steady_timer work(executor, std::chrono::seconds(seconds));
    co_await work.async_wait();
    ended = true;
    if (seconds > 60) std::cout << "the time is over" << std::endl;
    for (const hold& h : holds) BOOST_TEST(h.valid());
    co_await eventually("all have ended", [&] { return running == 0; });
    BOOST_TEST(a.stats().lost + b.stats().lost <= excused);
    for (const client& c : {a, b}) {
      BOOST_TEST(c.stats().refused == 0U);
      BOOST_TEST(c.stats().timed_out == 0U);
      if (seconds > 60) {
        std::cout << "renewed " << c.stats().renewed << ", failed " << c.stats().renewal_failed << ", connects "
                  << c.stats().connects << "\n";
      }
    }
    BOOST_TEST(turns > 20U);
    BOOST_TEST(password.changes() > 3);
    BOOST_TEST(password.closed() > 0);
    if (seconds > 60) {
      std::cout << "turns " << turns << ", passwords " << password.changes() << ", asked " << password.asked()
                << ", closed " << password.closed() << "\n";
    }
    holds.clear();
    co_await a.close(as_tuple);
    co_await b.close(as_tuple);
  });
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(nothing_is_lost_while_the_password_of_a_server_changes, with_redis) {
  outlives_its_passwords({redis.tcp_url()}, {&redis});
}

BOOST_AUTO_TEST_CASE(nor_while_those_of_a_sentinel_group_and_its_sentinels_change) {
  sentinel_group::settings s;
  s.replicas = 1;
  sentinel_group group(s);
  std::vector<redis_server*> servers;
  for (std::size_t i = 0; i < group.size(); ++i) servers.push_back(&group.server(i));
  for (std::size_t i = 0; i < group.sentinels(); ++i) servers.push_back(&group.sentinel(i));
  outlives_its_passwords({group.url()}, servers);
}

BOOST_AUTO_TEST_CASE(nor_while_those_of_a_cluster_change) {
  cluster_servers cluster;
  std::vector<redis_server*> servers;
  for (std::size_t i = 0; i < cluster.size(); ++i) servers.push_back(&cluster.node(i));
  outlives_its_passwords({cluster.url()}, servers);
}

BOOST_AUTO_TEST_CASE(nor_while_those_of_a_quorum_change) {
  quorum_servers quorum(3);
  std::vector<redis_server*> servers;
  std::vector<std::string> urls;
  for (const auto& s : quorum.servers) {
    servers.push_back(s.get());
    urls.push_back(s->tcp_url());
  }
  outlives_its_passwords(urls, servers);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
