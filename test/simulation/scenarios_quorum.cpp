// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// Attacks on the protocol of a quorum, one by one, in virtual time. What each of them must not achieve is in
// docs/guarantees.md.
#include "simulation/scene.hpp"

#include <leasehold/mutex.hpp>
#include <leasehold/recursive_mutex.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(scenarios)

// Another program has the lock on the third server of three, so that a grant has a bare majority.
void take_the_third(scene& s) { s.w.server(2).execute({"SET", "n", "another program", "PX", "60000"}); }

BOOST_AUTO_TEST_CASE(a_server_that_has_lost_a_grant_of_a_bare_majority_grants_nothing_for_its_lease) {
  scene s(3);
  process &x = s.add(), &y = s.add();
  take_the_third(s);
  std::optional<hold> held;
  take(s, x, {.lease = 20s}, held);
  x.freeze();
  s.w.server(0).start({});
  s.w.server(2).execute({"DEL", "n"});
  s.run(y, [&]() -> awaitable<void> {
    const mutex m(y.client(), "n");
    auto waiting = acquire(m, {.lease = 5s, .wait = 15s});
    const auto [ec, h] = co_await std::move(waiting);
    BOOST_TEST(ec);
  });
  BOOST_TEST(held->valid());
}

BOOST_AUTO_TEST_CASE(a_hold_of_a_bare_majority_ends_when_the_step_of_a_clock_is_seen) {
  scene s(3);
  process& p = s.add();
  take_the_third(s);
  std::optional<hold> held;
  take(s, p, {.lease = 10s, .renew = renewal::none}, held);
  s.w.clock_of_server(0).offset += 20s;
  s.run(p, [&]() -> awaitable<void> {
    const mutex other(p.client(), "other");
    auto waiting = acquire(other, {.lease = 10s});
    co_await std::move(waiting);
  });
  BOOST_TEST(!held->valid());
}

// One of its servers has a clock that runs faster, and is stepped by less than what is left.
BOOST_AUTO_TEST_CASE(a_hold_of_a_bare_majority_allows_for_drift_after_the_step_of_a_clock) {
  scene s(3);
  s.w.fastest = s.w.slowest = 100us;
  s.w.clock_of_server(0) = {0s, 8000};
  process& p = s.add();
  take_the_third(s);
  std::optional<hold> held;
  take(s, p, {.lease = 10s, .renew = renewal::none}, held);
  s.wait(1s);
  s.w.clock_of_server(0).offset += 4s;
  s.run(p, [&]() -> awaitable<void> {
    const mutex other(p.client(), "other");
    auto waiting = acquire(other, {.lease = 10s, .renew = renewal::none});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    BOOST_TEST(held->valid());
    while (held->valid()) {
      BOOST_TEST(s.get("n", 0).starts_with("leasehold:" + held->token()));
      auto pause = p.sleep(10ms);
      co_await std::move(pause);
    }
  });
}

BOOST_AUTO_TEST_CASE(a_vote_that_comes_after_the_grant_gets_its_fence) {
  scene s(3);
  s.w.clock_of_server(0).offset = 1h;
  process& p = s.add();
  s.wait(100ms);
  s.w.server(2).freeze();
  std::optional<hold> held;
  take(s, p, {.lease = 10s, .renew = renewal::none}, held);
  BOOST_TEST(s.get("n", 2).empty());
  s.w.server(2).thaw();
  s.wait(50ms);
  BOOST_TEST(s.get("n", 2) == fmt::format("leasehold:{}:{}", held->token(), held->fence()));
}

BOOST_AUTO_TEST_CASE(a_re_entry_has_its_owner_s_fence_while_a_majority_agrees) {
  scene s(3);
  s.w.clock_of_server(2).offset = 1h;
  process& p = s.add();
  take_the_third(s);
  s.wait(100ms);
  s.run(p, [&]() -> awaitable<void> {
    const recursive_mutex m(p.client(), "n", "owner");
    auto first = acquire(m, {.lease = 10s, .renew = renewal::none});
    auto [ec, one] = co_await std::move(first);
    BOOST_REQUIRE(!ec);
    s.w.server(2).execute({"DEL", "n"});
    auto second = acquire(m, {.lease = 10s, .renew = renewal::none});
    auto [why, two] = co_await std::move(second);
    BOOST_REQUIRE(!why);
    BOOST_TEST(two.fence() == one.fence());
  });
}

// Attacks B3 and B4 on several servers.
BOOST_AUTO_TEST_CASE(late_bytes_of_a_cut_connection_leave_nothing_behind_on_a_quorum) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    scene s(3, seed);
    s.w.lateness = 1.0;
    s.w.latest = 1500ms;
    s.w.slowest = 20ms;
    process& p = s.add(with_timeout(500ms));
    s.spawn(p, [&]() -> awaitable<void> {
      const mutex m(p.client(), "n");
      for (int i = 0; i < 3; ++i) {
        auto waiting = acquire(m, {.lease = 20s, .wait = 200ms});
        auto [ec, h] = co_await std::move(waiting);
        if (ec) continue;
        auto ending = release(h);
        co_await std::move(ending);
      }
    });
    for (int i = 1; i <= 10; ++i) s.w.after(i * 15ms, [&] { p.cut_connections(); });
    s.finish();
    s.wait(5s);
    for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(s.get("n", i).empty());
  }
}

BOOST_AUTO_TEST_CASE(a_server_that_was_away_during_a_release_is_released_when_it_is_back) {
  scene s(3);
  process& p = s.add();
  std::optional<hold> held;
  take(s, p, {.lease = 20s}, held);
  s.wait(100ms);
  const detail::memory::database with_its_data = s.w.server(2).data();
  s.w.server(2).kill();
  s.run(p, [&]() -> awaitable<void> {
    auto ending = release(*held);
    const auto why = co_await std::move(ending);
    BOOST_TEST(!why, why.message());
  });
  s.w.server(2).start(with_its_data);
  BOOST_TEST(!s.get("n", 2).empty());
  s.wait(2s);
  BOOST_TEST(s.get("n", 2).empty());
}

BOOST_AUTO_TEST_CASE(a_release_is_done_when_a_majority_is_free) {
  scene s(3);
  process& p = s.add();
  std::optional<hold> held;
  take(s, p, {.lease = 20s}, held);
  s.w.server(1).freeze();
  s.w.server(2).freeze();
  bool told = false;
  s.spawn(p, [&]() -> awaitable<void> {
    auto ending = release(*held);
    const auto why = co_await std::move(ending);
    BOOST_TEST(!why, why.message());
    told = true;
  });
  s.wait(200ms);
  BOOST_TEST(s.get("n", 0).empty());
  BOOST_TEST(!told);
  s.w.server(1).thaw();
  s.finish();
  BOOST_TEST(s.get("n", 1).empty());
}

// The third server was not asked, and has nothing of it.
BOOST_AUTO_TEST_CASE(a_server_that_was_never_asked_is_free_at_a_release) {
  scene s(3);
  process& p = s.add();
  s.w.server(2).kill();
  std::optional<hold> held;
  take(s, p, {.lease = 20s, .renew = renewal::none}, held);
  s.w.server(1).freeze();
  const auto before = s.w.now();
  s.run(p, [&]() -> awaitable<void> {
    auto ending = release(*held);
    const auto why = co_await std::move(ending);
    BOOST_TEST(!why, why.message());
  });
  BOOST_TEST((s.w.now() - before < 2s));
  s.w.server(1).thaw();
  s.wait(1s);
  BOOST_TEST(s.get("n", 1).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
