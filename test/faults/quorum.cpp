// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// Servers of a quorum that are down, freeze, forget, and whose clocks are stepped.
#include "support/quorum_servers.hpp"
#include "support/stepped_clock.hpp"

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(quorums)

namespace {

struct watch {
  explicit watch(const hold& h) {
    h.lost([this](error_code e) { ec = e; });
  }
  watch(const watch&) = delete;
  std::optional<error_code> ec;
  bool told() const { return ec.has_value(); }
};

using steady = std::chrono::steady_clock;

}  // namespace

// Not slowed: an attempt that waited for the dead would take longer than this each time.
BOOST_AUTO_TEST_CASE(a_minority_that_is_down_or_frozen_slows_nobody) {
  quorum_servers all(5);
  all[4].kill();
  run([&]() -> awaitable<void> {
    client_options o = forgiving();
    o.command_timeout = 60s;
    client c(co_await asio::this_coro::executor, all.urls(), o);
    mutex lock(c, "n");
    std::uint64_t last = 0;
    for (int i = 0; i < 30; ++i) {
      if (i == 10) all[3].stop();
      const auto start = steady::now();
      hold h = co_await lock.acquire({.lease = std::chrono::minutes(60)});
      BOOST_TEST(steady::now() - start < 30s);
      BOOST_TEST(h.fence() > last);
      last = h.fence();
      auto none = co_await lock.try_acquire({.lease = std::chrono::minutes(60)});
      BOOST_TEST(!none.has_value());
      co_await h.release();
    }
    co_await eventually("nothing is left where somebody answers", [&] { return all.size() == 0; });
    // Nor where nobody did, as soon as somebody does.
    all[3].go_on();
    all[4].start();
    co_await all.nothing_left();
    co_await eventually("all are up", [&] { return c.stats().connects == 5; });
    hold h = co_await lock.acquire();
    co_await eventually("every server has it", [&] { return all.with("n") == 5; });
    co_await h.release();
    co_await all.nothing_left();
  });
}

// However many wait to be asked for, what keeps a hold is sent at once.
BOOST_AUTO_TEST_CASE(an_extension_does_not_wait_behind_attempts) {
  quorum_servers all(3);
  run([&]() -> awaitable<void> {
    client_options o = forgiving();
    o.command_timeout = 60s;
    client c(co_await asio::this_coro::executor, all.urls(), o);
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    hold h = co_await mutex(c, "n").acquire({.lease = 10min});
    all[1].stop();
    all[2].stop();
    // What is asked for of these waits for six seconds, a hundredth of their lease.
    int ended = 0;
    for (int i = 0; i < 200; ++i) {
      mutex(c, std::to_string(i)).acquire({.lease = 10min}, [&](error_code, hold) { ++ended; });
    }
    outcome extended;
    h.extend(60min, extended.handler());
    co_await eventually("one has extended", [&] { return all[0].command("PTTL", "n").integer > 30 * 60 * 1000; });
    BOOST_TEST(all[0].calls("evalsha") < 200);
    BOOST_TEST(!extended.ended());
    all[1].go_on();
    all[2].go_on();
    co_await eventually("a majority has", [&] { return extended.ended(); });
    BOOST_TEST(!*extended.ec);
    co_await eventually("all have been in", [&] { return ended == 200; });
    co_await h.release();
    co_await c.close();
    co_await all.nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(two_of_five_may_be_killed_on_the_way) {
  quorum_servers all(5);
  int inside = 0;
  std::uint64_t last = 0;
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client a(executor, all.urls(), forgiving());
    client b(executor, all.urls(), forgiving());
    int running = 2;
    int entries = 0;
    const auto work = [&](client c) -> awaitable<void> {
      mutex lock(c, "n");
      for (int i = 0; i < 20; ++i) {
        hold h = co_await lock.acquire();
        BOOST_TEST(++inside == 1);
        BOOST_TEST(h.fence() > last);
        last = h.fence();
        if (++entries == 10) all[1].kill();
        if (entries == 20) all[3].kill();
        co_await turn(i % 4);
        BOOST_TEST(h.valid());
        --inside;
        co_await h.release();
      }
      --running;
    };
    const auto rethrow = [](std::exception_ptr e) {
      if (e) std::rethrow_exception(e);
    };
    asio::co_spawn(executor, work(a), rethrow);
    asio::co_spawn(executor, work(b), rethrow);
    co_await eventually("both have had their turns", [&] { return running == 0; });
    BOOST_TEST(entries == 40);
    co_await all.nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(without_a_majority_nothing_is_granted) {
  quorum_servers all(3);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, all.urls(), forgiving());
    co_await c.ready();
    mutex lock(c, "n");
    hold first = co_await lock.acquire();
    co_await first.release();
    all[0].kill();
    all[1].kill();
    auto [ec, none] = co_await lock.acquire({.wait = 400ms}, as_tuple);
    BOOST_TEST((ec == error::no_quorum));
    auto [once, nothing] = co_await lock.try_acquire(as_tuple);
    BOOST_TEST((once == error::no_quorum));
    auto [inspected, info] = co_await lock.inspect(as_tuple);
    BOOST_TEST((inspected == error::no_quorum));
    client few(co_await asio::this_coro::executor, all.urls(), forgiving());
    auto [not_ready] = co_await few.ready(as_tuple);
    BOOST_TEST((not_ready == error::unreachable));
    all[2].kill();
    co_await eventually("nobody answers", [&] { return c.stats().held == 0; });
    auto [gone, nobody] = co_await lock.acquire({.wait = 400ms}, as_tuple);
    BOOST_TEST((gone == error::unreachable));
    client late(co_await asio::this_coro::executor, all.urls(), forgiving());
    auto [ready] = co_await late.ready(as_tuple);
    BOOST_TEST((ready == error::unreachable));
    // It works again when they are back.
    for (auto& s : all.servers) s->start();
    hold h = co_await lock.acquire();
    BOOST_TEST(h.valid());
    BOOST_TEST(h.fence() > first.fence());
    co_await h.release();
    co_await all.nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_majority_that_is_frozen_grants_nothing) {
  quorum_servers all(3);
  run([&]() -> awaitable<void> {
    client_options o = forgiving();
    o.command_timeout = 60s;
    client c(co_await asio::this_coro::executor, all.urls(), o);
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    mutex lock(c, "n");
    all[0].stop();
    all[1].stop();
    auto [ec, none] = co_await lock.acquire({.wait = 600ms}, as_tuple);
    BOOST_TEST((ec == error::no_quorum));
    all[2].stop();
    auto [gone, nobody] = co_await lock.acquire({.wait = 600ms}, as_tuple);
    BOOST_TEST((gone == error::unreachable));
    for (auto& s : all.servers) s->go_on();
    hold h = co_await lock.acquire();
    BOOST_TEST(h.valid());
    co_await h.release();
    co_await all.nothing_left();
  });
}

// A release reaches a server that was away when it was sent as soon as it is there again: not at the end of the lease.
BOOST_AUTO_TEST_CASE(a_server_that_was_away_is_released_when_it_is_back) {
  quorum_servers all(3);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, all.urls(), forgiving());
    mutex lock(c, "n");
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    hold h = co_await lock.acquire({.lease = std::chrono::minutes(60)});
    co_await eventually("every server has it", [&] { return all.with("n") == 3; });
    all[2].stop();
    co_await h.release();
    BOOST_TEST(all.with("n") == 0U);
    // Longer than a command may take: the connection is given up.
    co_await eventually("it is given up", [&] { return c.stats().connects == 3 && c.stats().released == 1; });
    co_await pause(500ms);
    all[2].go_on();
    co_await all.nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_hold_lives_on_a_majority) {
  quorum_servers all(3);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, all.urls(), forgiving());
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    hold h = co_await mutex(c, "n").acquire({.lease = 3s});
    co_await eventually("every server has it", [&] { return all.with("n") == 3; });
    watch w(h);
    all[0].command("FLUSHALL");
    auto renewed = c.stats().renewed;
    co_await eventually("it is renewed", [&] { return c.stats().renewed >= renewed + 4; });
    BOOST_TEST(h.valid());
    all[0].kill();
    renewed = c.stats().renewed;
    co_await eventually("it is renewed", [&] { return c.stats().renewed >= renewed + 4; });
    BOOST_TEST(h.valid());
    BOOST_TEST(!w.told());
    all[1].command("FLUSHALL");
    co_await eventually("the loss is told", [&] { return w.told(); });
    BOOST_TEST(!h.valid());
    h = hold();
    co_await all.nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_majority_that_forgets_loses_the_hold) {
  quorum_servers all(3);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, all.urls(), forgiving());
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    hold h = co_await mutex(c, "n").acquire({.lease = std::chrono::minutes(10), .renew = renewal::none});
    watch w(h);
    // A server that was started anew has every hold asked for at once.
    all[0].kill();
    all[0].start();
    co_await eventually("it is back", [&] { return c.stats().reconnects == 1; });
    co_await pause(50ms);
    BOOST_TEST(!w.told());
    all[1].kill();
    all[1].start();
    co_await eventually("the loss is told", [&] { return w.told(); });
    BOOST_TEST(!h.valid());
    co_await all.nothing_left();
  });
}

// Redlock's own counter-example: a has forgotten, b is away, and a and c were a majority for a second holder.
BOOST_AUTO_TEST_CASE(a_server_that_has_forgotten_does_not_count) {
  for (const bool counts : {false, true}) {
    quorum_servers all(3);
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client_options o = forgiving();
      client a(executor, all.urls(), o);
      if (!counts) o.restart_delay = 30s;
      client knows(executor, all.urls(), o);
      co_await eventually("all are up", [&] { return a.stats().connects == 3 && knows.stats().connects == 3; });
      all[2].stop();
      hold h = co_await mutex(a, "n").acquire({.renew = renewal::none});
      BOOST_TEST(h.valid());
      // The others have been up for longer than it, by seconds, as clients see it.
      co_await eventually("they are older", [&] { return all[1].info("uptime_in_seconds") >= 4; });
      all[0].kill();
      all[0].start();
      all[1].stop();
      all[2].go_on();
      co_await eventually("it is back", [&] { return knows.stats().reconnects >= 1; });
      client fresh(executor, all.urls(), o);
      for (client* c : {&knows, &fresh}) {
        mutex lock(*c, "n");
        auto [ec, second] = co_await lock.acquire({.wait = 1s}, as_tuple);
        BOOST_TEST(!second.valid() != counts);
        BOOST_TEST((ec == (counts ? error_code() : make_error_code(error::no_quorum))));
      }
      all[1].go_on();
    });
  }
}

// A server that comes back does count after a while, and a deployment that has just been started at once.
BOOST_AUTO_TEST_CASE(a_server_that_was_restarted_counts_after_the_delay) {
  quorum_servers all(3);
  run([&]() -> awaitable<void> {
    client_options o = forgiving();
    o.restart_delay = 2s;
    client c(co_await asio::this_coro::executor, all.urls(), o);
    mutex lock(c, "n");
    hold h = co_await lock.acquire({.lease = 1s});
    co_await h.release();
    all[0].kill();
    all[0].start();
    all[1].kill();
    hold again = co_await lock.acquire({.lease = 1s});
    BOOST_TEST(again.valid());
    BOOST_TEST(all[0].info("uptime_in_seconds") >= 1);
    BOOST_TEST(all.with("n") == 2U);
  });
}

// It may have forgotten any of the holds that this client knows to be possible.
BOOST_AUTO_TEST_CASE(a_server_that_was_restarted_counts_after_the_longest_lease) {
  quorum_servers all(3);
  run([&]() -> awaitable<void> {
    client_options o = forgiving();
    o.restart_delay = 1ms;
    client c(co_await asio::this_coro::executor, all.urls(), o);
    mutex lock(c, "n");
    hold h = co_await lock.acquire({.lease = std::chrono::minutes(10)});
    co_await h.release();
    all[0].kill();
    all[0].start();
    co_await eventually("it is back", [&] { return c.stats().reconnects == 1; });
    all[1].kill();
    auto [ec, none] = co_await lock.acquire({.lease = 1s, .wait = 2s}, as_tuple);
    BOOST_TEST(ec == error::no_quorum);
    all[1].start();
    co_await eventually("nothing is left", [&] { return all.size() == 0; });
  });
}

// A13: another client's fence is written back to a majority whose clocks differ by much.
BOOST_AUTO_TEST_CASE(fences_grow_over_any_majority_whatever_the_clocks_say) {
  std::vector<stepped_clock> clocks(3);
  quorum_servers all(3, {clocks[0].environment(), clocks[1].environment(), clocks[2].environment()});
  clocks[0].step(std::chrono::minutes(30));
  clocks[2].step(-std::chrono::minutes(30));
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, all.urls(), forgiving());
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    mutex lock(c, "n");
    std::uint64_t last = 0;
    for (int i = 0; i < 12; ++i) {
      // One server has no vote in each turn: its key is somebody's.
      auto& away = all[static_cast<std::size_t>(i) % 3];
      away.command("SET", "n", "somebody's");
      hold h = co_await lock.acquire();
      BOOST_TEST(h.fence() > last);
      last = h.fence();
      co_await h.release();
      away.command("DEL", "n");
    }
  });
}

BOOST_AUTO_TEST_CASE(a_step_of_one_clock_takes_nothing_that_the_others_have) {
  std::vector<stepped_clock> clocks(2);
  quorum_servers all(3, {clocks[0].environment(), clocks[1].environment()});
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, all.urls(), forgiving());
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    hold h = co_await mutex(c, "n").acquire({.lease = std::chrono::minutes(10), .renew = renewal::none});
    co_await eventually("every server has it", [&] { return all.with("n") == 3; });
    watch w(h);
    clocks[0].step(std::chrono::hours(1));
    mutex other(c, "m");
    co_await eventually("the step is seen", [&] {
      if (c.stats().acquired == 1) other.acquire([](error_code, hold) {});
      return c.stats().clock_jumps == 1;
    });
    co_await pause(50ms);
    BOOST_TEST(!w.told());
    BOOST_TEST(h.valid());
    clocks[1].step(std::chrono::hours(1));
    co_await eventually("the loss is told", [&] {
      if (!w.told()) other.try_acquire([](error_code, std::optional<hold>) {});
      return w.told();
    });
    BOOST_TEST(!h.valid());
  });
}

// Not promised: a step forward of one of a bare majority is as that of a single server. The fence tells them apart.
BOOST_AUTO_TEST_CASE(a_step_of_one_clock_lets_another_in_beside_a_bare_majority) {
  stepped_clock clock;
  quorum_servers all(3, {clock.environment()});
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, all.urls(), forgiving());
    client d(executor, all.urls(), forgiving());
    co_await eventually("all are up", [&] { return c.stats().connects == 3 && d.stats().connects == 3; });
    all.servers[2]->command("SET", "n", "somebody's");
    hold h = co_await mutex(c, "n").acquire({.lease = std::chrono::minutes(10), .renew = renewal::none});
    all.servers[2]->command("DEL", "n");
    clock.step(std::chrono::hours(1));
    hold g = co_await mutex(d, "n").acquire();
    BOOST_TEST(g.valid());
    BOOST_TEST(h.valid());
    BOOST_TEST(g.fence() > h.fence());
  });
}

BOOST_AUTO_TEST_CASE(a_deadline_is_early_on_a_quorum) {
  quorum_servers all(3);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, all.urls(), forgiving());
    for (int i = 0; i < 20; ++i) {
      hold h = co_await mutex(c, "n").acquire({.lease = 20s, .renew = renewal::none});
      const auto left = h.expires_at() - steady::now();
      // When it says so, a majority has it for longer.
      std::size_t longer = 0;
      for (auto& s : all.servers) longer += std::chrono::milliseconds(s->ttl("n")) > h.expires_at() - steady::now();
      BOOST_TEST(longer >= 2U);
      BOOST_TEST(left < 20s - 200ms);
      co_await h.release();
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
