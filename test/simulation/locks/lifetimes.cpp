// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What lives longer than what it came from. Destruction in every order, with real connections:
// test/integration/lifetimes.cpp.
#include "simulation/with_memory.hpp"
#include "support/program.hpp"

#include <memory>
#include <utility>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(lifetimes, with_memory)

BOOST_AUTO_TEST_CASE(nothing_is_done_after_the_context_has_gone) {
  program w(redis);
  w.acquire();
  w.context.reset();
  BOOST_TEST(w.held->name() == "n");
  BOOST_TEST(w.held->token() != "");
  client copy = *w.c;
  mutex another(copy, "m");
  BOOST_TEST(!copy.get_executor());
  BOOST_TEST(!another.get_executor());
  BOOST_TEST(copy.stats().acquired == 1U);
  BOOST_TEST(copy.last_refusal() == "");
  hold moved = std::move(*w.held);
  BOOST_TEST(moved.expires_at() > now());
  // Operations may be started and do nothing; their handlers are destroyed.
  auto flag = std::make_shared<int>(0);
  copy.ready([flag](error_code) { *flag = 1; });
  copy.close([flag](error_code) { *flag = 1; });
  another.acquire([flag](error_code, hold) { *flag = 1; });
  another.try_acquire([flag](error_code, std::optional<hold>) { *flag = 1; });
  another.inspect([flag](error_code, lock_info) { *flag = 1; });
  moved.extend(1s, [flag](error_code) { *flag = 1; });
  moved.lost([flag](error_code) { *flag = 1; });
  moved.downgrade([flag](error_code) { *flag = 1; });
  moved.release([flag](error_code) { *flag = 1; });
  BOOST_TEST(*flag == 0);
  BOOST_TEST(flag.use_count() == 1);
  // The server still has it: it ends with its lease.
  BOOST_TEST(redis.get("n").has_value());
}

// A deferred operation may be stored, and started or destroyed, after the object it came from has gone.
BOOST_AUTO_TEST_CASE(deferred_operations_outlive_their_objects) {
  program w(redis);
  bool up = false;
  w.c->ready([&](error_code) { up = true; });
  w.run_until([&] { return up; });
  {
    // Destroyed, never started.
    auto unused = w.lock->acquire();
    auto unused_close = w.c->close();
  }
  auto acquire = w.lock->acquire();
  auto inspect = w.lock->inspect();
  auto close = w.c->close();
  w.lock.reset();
  w.c.reset();
  std::optional<hold> got;
  std::move(acquire)([&](error_code ec, hold h) {
    BOOST_TEST(!ec);
    got = std::move(h);
  });
  w.run_until([&] { return got.has_value(); });
  auto release = got->release();
  auto lost = got->lost();
  auto extend = got->extend(10s);
  auto dropped = got->lost();
  got.reset();
  outcome o[4];
  std::move(lost)(o[0].handler());
  std::move(extend)(o[1].handler());
  std::move(release)(o[2].handler());
  bool inspected = false;
  std::move(inspect)([&](error_code ec, lock_info) {
    BOOST_TEST(!ec);
    inspected = true;
  });
  w.run_until([&] { return o[0].ended() && o[1].ended() && o[2].ended() && inspected; });
  for (int i = 0; i < 3; ++i) BOOST_TEST(*o[i].ec == error::not_held);
  std::move(close)(o[3].handler());
  run_to_end(*w.context);
  BOOST_TEST(o[3].ended());
  BOOST_TEST(!redis.get("n"));
}

BOOST_AUTO_TEST_CASE(deferred_operations_may_be_started_after_the_context_has_gone) {
  program w(redis);
  w.acquire();
  auto acquire = w.lock->acquire();
  auto release = w.held->release();
  auto close = w.c->close();
  w.context.reset();
  auto flag = std::make_shared<int>(0);
  std::move(acquire)([flag](error_code, hold) { *flag = 1; });
  std::move(release)([flag](error_code) { *flag = 1; });
  std::move(close)([flag](error_code) { *flag = 1; });
  BOOST_TEST(*flag == 0);
  BOOST_TEST(flag.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_hold_alone_keeps_its_lease_alive) {
  program w(redis);
  w.acquire();
  w.lock.reset();
  w.c.reset();
  const auto first = w.held->expires_at();
  w.run_until([&] { return w.held->expires_at() > first + 1h || !w.held->valid(); });
  BOOST_TEST(w.held->valid());
  w.held.reset();
  run_to_end(*w.context);
  BOOST_TEST(!redis.get("n"));
}

BOOST_AUTO_TEST_CASE(a_waiting_operation_alone_keeps_the_client_alive) {
  program w(redis);
  redis.command("SET", "n", "somebody's", "PX", "30000");
  bool acquired = false;
  w.lock->acquire([&](error_code ec, hold h) {
    BOOST_TEST(!ec);
    acquired = h.valid();
  });
  w.lock.reset();
  w.c.reset();
  run_to_end(*w.context);
  BOOST_TEST(acquired);
  BOOST_TEST(!redis.get("n"));
}

// With the store gone a dropped hold must not keep run() for longer than its lease and the client's time-out.
BOOST_AUTO_TEST_CASE(run_returns_though_the_release_cannot_be_sent) {
  client_options o;
  o.connect_timeout = 200ms;
  program w(redis, o);
  w.acquire();
  const auto deadline = w.held->expires_at();
  redis.kill();
  w.held.reset();
  w.lock.reset();
  w.c.reset();
  run_to_end(*w.context);
  BOOST_TEST(now() <= deadline + o.connect_timeout);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
