// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// Grants that replicas have to acknowledge.
#include "protocol/scripts.hpp"
#include "support/cluster_servers.hpp"
#include "support/kinds.hpp"
#include "support/on_valkey.hpp"
#include "support/proxy.hpp"

#include <string>

namespace leasehold::test {

namespace {

// A master and a replica that is in step with it.
struct with_replica {
  redis_server redis{{"repl-diskless-sync-delay 0"}};
  redis_server replica{{"replicaof 127.0.0.1 " + std::to_string(redis.port())}};

  with_replica() {
    wait_until("the replica is in step",
               [this] { return redis.command("INFO", "replication").text.find("state=online") != std::string::npos; });
  }

  std::int64_t in_line() { return redis.command("ZCARD", the_line).integer; }
};

acquire_options acknowledged_by(std::uint32_t n, std::chrono::milliseconds wait = forever) {
  acquire_options o;
  o.replicas = n;
  o.wait = wait;
  return o;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(replicas, with_replica)

BOOST_AUTO_TEST_CASE(a_grant_that_counts_is_on_the_replica) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    for (int i = 0; i < 100; ++i) {
      mutex lock(c, "n");
      hold h = co_await lock.acquire(acknowledged_by(1));
      BOOST_REQUIRE(replica.get("n").value().starts_with("leasehold:" + h.token()));
      BOOST_TEST(h.expires_at() > std::chrono::steady_clock::now() + 20s);
      co_await h.release();
    }
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(the_deadline_is_early_by_the_drift) {
  run([&]() -> awaitable<void> {
    client_options drifting;
    drifting.drift = 0.5;
    drifting.drift_floor = 1s;
    client c(co_await asio::this_coro::executor, redis.url(), drifting);
    acquire_options o = acknowledged_by(1);
    o.lease = 20s;
    o.renew = renewal::none;
    hold h = co_await mutex(c, "n").acquire(o);
    BOOST_TEST(h.valid());
    BOOST_TEST(h.expires_at() - std::chrono::steady_clock::now() <= 9s);
  });
}

BOOST_AUTO_TEST_CASE(all_kinds) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client one(executor, redis.url());
      client two(executor, redis.url());
      asker holder{k.holder(one)};
      co_await acquired(holder, acknowledged_by(1));
      asker next{k.next(two, 2)};
      next.acquire(acknowledged_by(1));
      co_await eventually("it stands in line", [&] { return in_line() == 1; });
      co_await holder.got.release();
      co_await eventually("it is let in", [&] { return next.in(); });
      BOOST_TEST(next.got.fence() > holder.got.fence());
      co_await next.got.release();
      co_await eventually("nothing is left", [&] { return redis.size() == 0; });
      co_await one.close();
      co_await two.close();
    });
  });
}

// The confirmation takes a connection of its own, and that cannot be made: the grant is given back all the same.
BOOST_AUTO_TEST_CASE(without_the_second_connection_the_lock_does_not_stay_taken) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    proxy network(executor, redis);
    client_options options;
    options.command_timeout = 300ms;
    options.connect_timeout = 1s;
    client c(executor, network.url(), options);
    client other(executor, redis.url());
    co_await c.ready();
    network.refuse();
    auto how = acknowledged_by(1);
    how.lease = 1h;
    outcome acquired;
    hold got;
    mutex(c, "n").acquire(how, [&](error_code ec, hold h) {
      acquired.ec = ec;
      got = std::move(h);
    });
    co_await eventually("it was granted", [&] { return redis.get("n").has_value(); });
    hold next = co_await mutex(other, "n").acquire();
    BOOST_TEST(!acquired.ended());
    network.refuse(false);
    co_await next.release();
    co_await eventually("it is acquired", [&] { return acquired.ended(); });
    BOOST_TEST(!*acquired.ec, acquired.ec->message());
    BOOST_TEST(got.valid());
    co_await got.release();
    co_await eventually("nothing is left", [&] { return redis.size() == 0; });
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(too_few_replicas) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options options;
    options.command_timeout = 1s;
    client c(executor, redis.url(), options);
    mutex lock(c, "n");
    auto [ec, none] = co_await lock.try_acquire(acknowledged_by(2), as_tuple);
    BOOST_TEST(ec == error::no_quorum, ec.message());
    BOOST_TEST(!none.has_value());
    co_await eventually("it was given back", [&] { return redis.size() == 0; });
    auto [ec2, none2] = co_await lock.acquire(acknowledged_by(2, 3s), as_tuple);
    BOOST_TEST(ec2 == error::no_quorum, ec2.message());
    co_await eventually("it was given back, too", [&] { return redis.size() == 0; });
    // A busy lock is one, whoever would have to acknowledge.
    hold h = co_await lock.acquire();
    client other(executor, redis.url());
    auto [ec3, none3] = co_await mutex(other, "n").acquire(acknowledged_by(2, 100ms), as_tuple);
    BOOST_TEST(ec3 == error::timed_out, ec3.message());
    co_await h.release();
    co_await other.close();
    co_await c.close();
  });
}

// While somebody waits for a frozen replica, others who do not need it are served.
BOOST_AUTO_TEST_CASE(a_frozen_replica_holds_up_only_who_needs_it) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    co_await c.ready();
    replica.stop();
    asker needs{any_lock(mutex(c, "n"))};
    needs.acquire(acknowledged_by(1));
    co_await eventually("it was granted", [&] { return redis.get("n").has_value(); });
    for (int i = 0; i < 100; ++i) {
      hold h = co_await mutex(c, "other").acquire();
      co_await h.release();
    }
    BOOST_TEST(!needs.ended());
    // Long enough for a grant or two to be given back.
    co_await eventually("a grant was given back", [&] { return c.stats().given_back > 0; });
    BOOST_TEST(!needs.ended());
    replica.go_on();
    co_await eventually("the replica has it", [&] { return needs.in(); });
    co_await needs.got.release();
    co_await eventually("nothing is left", [&] { return redis.size() == 0; });
    co_await c.close();
  });
}

// A confirmation in the millisecond of the grant has to be acknowledged, too. A client's first lock is slower: the
// connection for WAIT is made for it.
BOOST_AUTO_TEST_CASE(a_frozen_replica_acknowledges_nothing) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    replica.stop();
    const acquire_options how{.lease = 100ms, .renew = renewal::none, .replicas = 1};
    for (int i = 0; i < 20; ++i) {
      client c(executor, redis.url());
      for (const std::string name : {"first", "second"}) {
        auto [ec, none] = co_await mutex(c, name).try_acquire(how, as_tuple);
        BOOST_TEST(ec.failed());
        BOOST_TEST(!none.has_value());
      }
      co_await c.close();
    }
  });
}

// A release that is sent twice, and the second time late, must not take the next grant.
BOOST_AUTO_TEST_CASE(a_token_that_was_not_acknowledged_is_not_used_again) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options options;
    options.command_timeout = 1s;
    client c(executor, redis.url(), options);
    co_await c.ready();
    replica.stop();
    asker a{any_lock(mutex(c, "n"))};
    a.acquire(acknowledged_by(1));
    std::string first;
    std::string second;
    co_await eventually("it was granted", [&] {
      first = redis.get("n").value_or("");
      return !first.empty();
    });
    co_await eventually("it was granted again", [&] {
      second = redis.get("n").value_or(first);
      return second != first;
    });
    // leasehold:<token>:<fence>
    const std::string token = first.substr(10, first.rfind(':') - 10);
    BOOST_TEST(second.substr(10, second.rfind(':') - 10) != token);
    const auto late = redis.command("EVALSHA", detail::scripts::mutex.sha1, "4", "n", "leasehold:{0}:fence", the_line,
                                    "leasehold:{0}:entries:n", "release", token);
    BOOST_TEST(late.type == ':');
    BOOST_TEST(late.integer != 1);
    BOOST_TEST(!a.ended());
    replica.go_on();
    co_await eventually("the replica has it", [&] { return a.in(); });
    co_await a.got.release();
    co_await c.close();
  });
}

// The message of a hand-off is not enough.
BOOST_AUTO_TEST_CASE(a_hand_off_is_acknowledged_before_it_counts) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, redis.url());
    client two(executor, redis.url());
    mutex lock(one, "n");
    hold h = co_await lock.acquire();
    asker next{any_lock(mutex(two, "n"))};
    next.acquire(acknowledged_by(1));
    co_await eventually("it stands in line", [&] { return in_line() == 1; });
    replica.stop();
    const auto before = two.stats().handed_off;
    co_await h.release();
    co_await eventually("it was told", [&] { return two.stats().handed_off > before; });
    co_await turn(100);
    BOOST_TEST(!next.ended());
    replica.go_on();
    co_await eventually("the replica has it", [&] { return next.in(); });
    BOOST_TEST(replica.get("n").value().starts_with("leasehold:" + next.got.token()));
    co_await next.got.release();
    co_await one.close();
    co_await two.close();
  });
}

// Local waiters: nobody is let in by a pass that no replica knows of.
BOOST_AUTO_TEST_CASE(a_cohort_does_not_pass_on_what_has_to_be_acknowledged) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    hold h = co_await mutex(c, "n").acquire(acknowledged_by(1));
    asker next{any_lock(mutex(c, "n"))};
    next.acquire(acknowledged_by(1));
    co_await eventually("it stands in line", [&] { return in_line() == 1; });
    co_await h.release();
    co_await eventually("it is let in", [&] { return next.in(); });
    BOOST_TEST(c.stats().passed == 0U);
    BOOST_TEST(next.got.token() != h.token());
    co_await next.got.release();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(cancellation_at_any_time_leaves_nothing) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    co_await c.ready();
    for (int turns = 0; turns < 60; ++turns) {
      asker a{any_lock(mutex(c, "n"))};
      a.acquire(acknowledged_by(1));
      co_await turn(turns);
      a.signal.emit(asio::cancellation_type::total);
      co_await eventually("it has ended", [&] { return a.ended(); });
      if (!*a.ec) co_await a.got.release();
      co_await eventually("nothing is left", [&] { return redis.size() == 0; });
    }
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(several_locks_are_acknowledged_one_by_one) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    mutex a(c, "a");
    mutex b(c, "b");
    auto both = co_await acquire_all(acknowledged_by(1), a, b);
    BOOST_TEST(replica.get("a").has_value());
    BOOST_TEST(replica.get("b").has_value());
    co_await both.release();
    co_await c.close();
  });
}

// Many at once share a WAIT.
BOOST_AUTO_TEST_CASE(many_at_once) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    std::deque<asker> all;
    for (int i = 0; i < 200; ++i)
      all.emplace_back(any_lock(mutex(c, "n" + std::to_string(i)))).acquire(acknowledged_by(1));
    for (asker& a : all) {
      co_await eventually("it is let in", [&] { return a.in(); });
      BOOST_TEST(replica.get(std::get<mutex>(a.lock).name()).has_value());
    }
    BOOST_TEST(redis.calls("wait") > 0);
    BOOST_TEST(redis.calls("wait") < 200);
    for (asker& a : all) co_await a.got.release();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(replicas_in_a_cluster) {
  cluster_servers cluster(3, 1);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, cluster.url());
    for (int i = 0; i < 10; ++i) {
      mutex lock(c, "n" + std::to_string(i));
      hold h = co_await lock.acquire(acknowledged_by(1));
      BOOST_TEST(h.valid());
      co_await h.release();
    }
    auto [ec, none] = co_await mutex(c, "n").try_acquire(acknowledged_by(2), as_tuple);
    BOOST_TEST(ec == error::no_quorum, ec.message());
    co_await c.close();
  });
}

namespace {

// Since Redis 7.2, as in Valkey, WAIT answers at once on a connection whose commands have propagated nothing.
const on_valkey replicas_again("replicas");
const on_valkey cluster_again("replicas_in_a_cluster");

}  // namespace

}  // namespace leasehold::test
