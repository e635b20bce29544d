// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Grants that replicas have to acknowledge.
#include "simulation/with_memory.hpp"
#include "support/kinds.hpp"

#include "protocol/scripts.hpp"

#include <string>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(replicas)

namespace {

// A master and a replica that is in step with it.
struct with_replica : with_kinds_on<with_memory> {
  with_replica() {
    redis.server().replicas = 1;
    thaw();
  }

  void freeze() { redis.server().replicas_that_answer = 0; }
  void thaw() { redis.server().replicas_that_answer = 1; }
};

acquire_options acknowledged_by(std::uint32_t n, std::chrono::milliseconds wait = forever) {
  acquire_options o;
  o.replicas = n;
  o.wait = wait;
  return o;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(the_deadline_is_early_by_the_drift, with_replica) {
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
    // Of the lease half and a second, and the time of the question.
    BOOST_TEST(h.expires_at() - now() <= 9s);
    BOOST_TEST(h.expires_at() - now() > 9s - 20ms);
  });
}

BOOST_FIXTURE_TEST_CASE(all_kinds, with_replica) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client one(executor, redis.url());
      client two(executor, redis.url());
      asker holder{k.holder(one)};
      co_await acquired(holder, acknowledged_by(1));
      asker next{k.next(two, 2)};
      next.acquire(acknowledged_by(1));
      co_await eventually("it waits in the queue", [&] { return in_queue() == 1; });
      co_await holder.got.release();
      co_await eventually("it is granted", [&] { return next.in(); });
      BOOST_TEST(next.got.fence() > holder.got.fence());
      co_await next.got.release();
      co_await eventually("nothing is left", [&] { return redis.size() == 0; });
      co_await one.close();
      co_await two.close();
    });
  });
}

BOOST_FIXTURE_TEST_CASE(too_few_replicas, with_replica) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options options;
    options.command_timeout = 1s;
    client c(executor, redis.url(), options);
    mutex lock(c, "n");
    auto [ec, none] = co_await lock.try_acquire(acknowledged_by(2), as_tuple);
    BOOST_TEST(ec == error::no_quorum, ec.message());
    BOOST_TEST(!none.has_value());
    co_await eventually("it was released", [&] { return redis.size() == 0; });
    auto [ec2, none2] = co_await lock.acquire(acknowledged_by(2, 3s), as_tuple);
    BOOST_TEST(ec2 == error::no_quorum, ec2.message());
    co_await eventually("it was released, too", [&] { return redis.size() == 0; });
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
BOOST_FIXTURE_TEST_CASE(a_frozen_replica_holds_up_only_who_needs_it, with_replica) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    co_await c.ready();
    freeze();
    asker needs{any_lock(mutex(c, "n"))};
    needs.acquire(acknowledged_by(1));
    co_await eventually("it was granted", [&] { return redis.get("n").has_value(); });
    for (int i = 0; i < 100; ++i) {
      hold h = co_await mutex(c, "other").acquire();
      co_await h.release();
    }
    BOOST_TEST(!needs.ended());
    // Long enough for a grant or two to be released.
    co_await eventually("a grant was released", [&] { return c.stats().withdrawn > 0; });
    BOOST_TEST(!needs.ended());
    thaw();
    co_await eventually("the replica has it", [&] { return needs.in(); });
    co_await needs.got.release();
    co_await eventually("nothing is left", [&] { return redis.size() == 0; });
    co_await c.close();
  });
}

// A release that is sent twice, and the second time late, must not take the next grant.
BOOST_FIXTURE_TEST_CASE(a_token_that_was_not_acknowledged_is_not_used_again, with_replica) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options options;
    options.command_timeout = 1s;
    client c(executor, redis.url(), options);
    co_await c.ready();
    freeze();
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
    const auto late = redis.command("EVAL", detail::scripts::mutex.text, "4", "n", "leasehold:{0}:fence", the_queue,
                                    "leasehold:{0}:entries:n", "release", token);
    BOOST_TEST(!late.is_error(), late.text);
    BOOST_TEST(late.integer != 1);
    BOOST_TEST(!a.ended());
    thaw();
    co_await eventually("the replica has it", [&] { return a.in(); });
    co_await a.got.release();
    co_await c.close();
  });
}

// The message of a hand-off is not enough.
BOOST_FIXTURE_TEST_CASE(a_hand_off_is_acknowledged_before_it_counts, with_replica) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, redis.url());
    client two(executor, redis.url());
    mutex lock(one, "n");
    hold h = co_await lock.acquire();
    asker next{any_lock(mutex(two, "n"))};
    next.acquire(acknowledged_by(1));
    co_await eventually("it waits in the queue", [&] { return in_queue() == 1; });
    freeze();
    const auto before = two.stats().handed_off;
    co_await h.release();
    co_await eventually("it was told", [&] { return two.stats().handed_off > before; });
    co_await pause(1s);
    BOOST_TEST(!next.ended());
    thaw();
    co_await eventually("the replica has it", [&] { return next.in(); });
    co_await next.got.release();
    co_await one.close();
    co_await two.close();
  });
}

// Local waiters: nobody is granted by a pass that no replica knows of.
BOOST_FIXTURE_TEST_CASE(a_cohort_does_not_pass_on_what_has_to_be_acknowledged, with_replica) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    hold h = co_await mutex(c, "n").acquire(acknowledged_by(1));
    asker next{any_lock(mutex(c, "n"))};
    next.acquire(acknowledged_by(1));
    co_await eventually("it waits in the queue", [&] { return in_queue() == 1; });
    co_await h.release();
    co_await eventually("it is granted", [&] { return next.in(); });
    BOOST_TEST(c.stats().passed == 0U);
    BOOST_TEST(next.got.token() != h.token());
    co_await next.got.release();
    co_await c.close();
  });
}

BOOST_FIXTURE_TEST_CASE(cancellation_at_any_time_leaves_nothing, with_replica) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    co_await c.ready();
    for (int i = 0; i < 60; ++i) {
      asker a{any_lock(mutex(c, "n"))};
      a.acquire(acknowledged_by(1));
      co_await pause(100us * i);
      a.signal.emit(asio::cancellation_type::total);
      co_await eventually("it has ended", [&] { return a.ended(); });
      if (!*a.ec) co_await a.got.release();
      co_await eventually("nothing is left", [&] { return redis.size() == 0; });
    }
    co_await c.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
