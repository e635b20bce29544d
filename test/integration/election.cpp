// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Elections on real servers: one, a Sentinel group, a cluster.
#include "protocol/slots.hpp"
#include "support/cluster_servers.hpp"
#include "support/sentinel_group.hpp"
#include "support/with_redis.hpp"

#include <leasehold/election.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

// What one observer is told of.
class told_of_leaders {
 public:
  explicit told_of_leaders(const client& c) : seen_(std::make_shared<log>(c)) { ask(seen_); }

  std::string last() const { return seen_->all.empty() ? "" : seen_->all.back() ? seen_->all.back()->value : "-"; }
  std::chrono::steady_clock::time_point at() const { return seen_->at; }
  bool in_order() const {
    std::uint64_t largest = 0;
    for (const auto& found : seen_->all) {
      if (found && found->fence < largest) return false;
      if (found) largest = found->fence;
    }
    return true;
  }

 private:
  struct log {
    explicit log(const client& c) : observer(election(c, "n").observe()) {}
    leader_observer observer;
    std::vector<std::optional<leader_info>> all;
    std::chrono::steady_clock::time_point at;
  };
  static void ask(const std::shared_ptr<log>& s) {
    s->observer.next([s](error_code ec, std::optional<leader_info> found) {
      if (ec) return;
      s->all.push_back(std::move(found));
      s->at = std::chrono::steady_clock::now();
      ask(s);
    });
  }
  const std::shared_ptr<log> seen_;
};

awaitable<void> seen(const told_of_leaders& f, std::string value) {
  co_await eventually("the observer is told", [&f, &value] { return f.last() == value; });
}

// One candidate after the other leads, and the observer is told of each.
awaitable<void> take_turns(const client& a, const client& b, const told_of_leaders& f, const std::string& what) {
  leadership first = co_await election(a, "n").campaign(what + " 1");
  co_await seen(f, what + " 1");
  std::optional<leadership> second;
  election(b, "n").campaign(what + " 2", [&](error_code ec, leadership l) {
    BOOST_TEST(!ec);
    second = std::move(l);
  });
  co_await first.proclaim(what + " 1a");
  co_await seen(f, what + " 1a");
  co_await first.resign();
  co_await seen(f, what + " 2");
  co_await eventually("the second knows it", [&] { return second.has_value(); });
  BOOST_TEST(second->term() > first.term());
  co_await second->resign();
  co_await seen(f, "-");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(elections)

BOOST_FIXTURE_TEST_CASE(an_observer_learns_of_a_leader_by_a_message, with_redis) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    client a(e, redis.url()), b(e, redis.url()), other(e, redis.url());
    const told_of_leaders f(other);
    co_await seen(f, "-");
    leadership led = co_await election(a, "n").campaign("0");
    co_await seen(f, "0");
    // 2 ms on an idle machine. The polls of an observer are seconds apart, so more than that would be no message.
    double median = 1000;
    for (int round = 0; round < 10 && median >= 2; ++round) {
      std::vector<double> took;
      for (int i = 1; i <= 100; ++i) {
        const client& next = i % 2 == 0 ? a : b;
        const std::string value = std::to_string(round) + "." + std::to_string(i);
        std::optional<leadership> got;
        const auto contended = next.stats().contended;
        election(next, "n").campaign(value, [&](error_code ec, leadership l) {
          BOOST_TEST(!ec);
          got = std::move(l);
        });
        co_await eventually("it waits", [&] { return next.stats().contended > contended; });
        // The release grants the lock to it.
        const auto began = std::chrono::steady_clock::now();
        led.resign([](error_code ec) { BOOST_TEST(!ec); });
        while (f.last() != value || !got) co_await asio::post(asio::deferred);
        took.push_back(std::chrono::duration<double, std::milli>(f.at() - began).count());
        led = std::move(*got);
      }
      std::sort(took.begin(), took.end());
      median = took[took.size() / 2];
      BOOST_TEST_MESSAGE("an observer learns of a new leader after " << median << " ms (median)");
    }
    BOOST_TEST(median < 250);
    BOOST_TEST(f.in_order());
    co_await led.resign();
    co_await eventually("nothing is left", [&] { return redis.size() == 0; });
    for (const client& c : {a, b, other}) co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(behind_sentinels_a_leader_outlives_a_failover_and_observers_never_go_back) {
  sentinel_group group;
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    client a(e, group.url()), b(e, group.url()), other(e, group.url());
    const told_of_leaders f(other);
    co_await take_turns(a, b, f, "before");
    leadership led = co_await election(a, "n").campaign("stays", {.lease = 60s});
    co_await seen(f, "stays");
    group.replicate();
    group.fail_over();
    co_await led.proclaim("stays on");
    co_await seen(f, "stays on");
    BOOST_TEST(led.valid());
    // The next master has not heard of the newest leader.
    group.replicate();
    group.cut_replication();
    co_await led.resign();
    leadership newest = co_await election(b, "n").campaign("newest", {.lease = 60s});
    co_await seen(f, "newest");
    const auto old = group.master_index();
    group.server(old).kill();
    group.wait_for_another_master(old);
    co_await newest.lost();
    co_await seen(f, "-");
    BOOST_TEST(f.in_order());
    for (const client& c : {a, b, other}) co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(in_a_cluster_observers_follow_a_slot_that_moves) {
  cluster_servers cluster;
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    client a(e, cluster.url()), b(e, cluster.url()), other(e, cluster.url());
    const told_of_leaders f(other);
    co_await take_turns(a, b, f, "before");
    const int slot = cluster_servers::slot_of("n");
    const std::size_t from = cluster.master_of(slot), to = (from + 1) % 3;
    leadership led = co_await election(a, "n").campaign("stays", {.lease = 60s});
    co_await seen(f, "stays");
    const std::string value =
        "leasehold:{" + std::string(detail::tag_of_slot(static_cast<std::uint16_t>(slot))) + "}:leader:n";
    BOOST_TEST(cluster.node(from).get(value).has_value());
    BOOST_TEST(cluster.node(from).command("PUBSUB", "SHARDNUMSUB", value).items.at(1).integer == 1);
    cluster.move_slot(slot, from, to);
    co_await eventually("the observer listens there", [&] {
      return cluster.node(to).command("PUBSUB", "SHARDNUMSUB", value).items.at(1).integer == 1;
    });
    co_await led.proclaim("stays on");
    const auto began = std::chrono::steady_clock::now();
    co_await seen(f, "stays on");
    BOOST_TEST(std::chrono::steady_clock::now() - began < 10s);
    co_await led.resign();
    co_await seen(f, "-");
    co_await take_turns(a, b, f, "after");
    BOOST_TEST(f.in_order());
    for (const client& c : {a, b, other}) co_await c.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
