// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Servers of a quorum that are down, freeze, forget, and whose clocks are stepped.
#include "simulation/with_memory.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(quorums)

namespace {

struct watch {
  explicit watch(const hold& h) {
    h.lost([this](error_code e) { ec = e; });
  }
  watch(const watch&) = delete;
  std::optional<error_code> ec;
  bool notified() const { return ec.has_value(); }
};

}  // namespace

// Not slowed: an attempt that waited for the dead would take longer than this each time.
BOOST_AUTO_TEST_CASE(a_minority_that_is_down_or_frozen_slows_nobody) {
  memory_quorum all(5);
  all[4].kill();
  run([&]() -> awaitable<void> {
    client_options o = forgiving();
    o.command_timeout = 60s;
    client c(co_await asio::this_coro::executor, all.urls(), o);
    mutex lock(c, "n");
    std::uint64_t last = 0;
    for (int i = 0; i < 30; ++i) {
      if (i == 10) all[3].stop();
      const auto start = now();
      hold h = co_await lock.acquire({.lease = std::chrono::minutes(60)});
      BOOST_TEST(now() - start < 50ms);
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

// What a frozen server is sent would pile up in the client: it gets no more attempts, and is released of those it got.
BOOST_AUTO_TEST_CASE(what_waits_for_a_frozen_minority_is_bounded) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client_options o = forgiving();
    o.command_timeout = 10min;
    gate third(all[2]);
    client c(executor, {all[0].url(), all[1].url(), third.url()}, o);
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    {
      // The scripts become known.
      hold h = co_await mutex(c, "n").acquire();
      co_await h.release();
      co_await all.nothing_left();
    }
    const auto before = third.requests();
    all[2].stop();
    constexpr int pairs = 3000;
    int ended = 0;
    const auto work = [&](int i) -> awaitable<void> {
      mutex lock(c, std::to_string(i));
      for (int k = 0; k < pairs / 30; ++k) {
        hold h = co_await lock.acquire({.lease = 10min});
        co_await h.release();
        ++ended;
      }
    };
    const auto rethrow = [](std::exception_ptr e) {
      if (e) std::rethrow_exception(e);
    };
    for (int i = 0; i < 30; ++i) asio::co_spawn(executor, work(i), rethrow);
    co_await eventually("all have had their turns", [&] { return ended == pairs; });
    all[2].go_on();
    co_await all.nothing_left();
    hold last = co_await mutex(c, "n").acquire();
    co_await eventually("it gets attempts again", [&] { return all.with("n") == 3; });
    co_await last.release();
    BOOST_TEST(third.requests() - before < pairs);
    co_await all.nothing_left();
  });
}

// However many wait to be asked for, what keeps a hold is sent at once.
BOOST_AUTO_TEST_CASE(an_extension_does_not_wait_behind_attempts) {
  memory_quorum all(3);
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
    BOOST_TEST(all[0].scripts() < 200);
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
  memory_quorum all(5);
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
        co_await pause(1ms * (i % 4));
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
  memory_quorum all(3);
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

// Half of them is no majority: the other half may have granted it to another client.
BOOST_AUTO_TEST_CASE(one_half_of_the_servers_grants_nothing) {
  for (const std::size_t n : {2U, 4U}) {
    BOOST_TEST_CONTEXT(n << " servers") {
      memory_quorum all(n);
      run([&]() -> awaitable<void> {
        client c(co_await asio::this_coro::executor, all.urls(), forgiving());
        co_await eventually("all are up", [&] { return c.stats().connects == n; });
        hold kept = co_await mutex(c, "kept").acquire({.lease = 2s});
        for (std::size_t i = n / 2; i < n; ++i) all[i].kill();
        mutex lock(c, "n");
        auto [ec, none] = co_await lock.acquire({.wait = 300ms}, as_tuple);
        BOOST_TEST(ec == error::no_quorum, ec.message());
        auto [once, nothing] = co_await lock.try_acquire(as_tuple);
        BOOST_TEST(once == error::no_quorum, once.message());
        auto [inspected, info] = co_await lock.inspect(as_tuple);
        BOOST_TEST(inspected == error::no_quorum, inspected.message());
        auto [extended] = co_await kept.extend(60s, as_tuple);
        BOOST_REQUIRE(extended.failed());  // Otherwise it is never lost.
        auto [lost] = co_await kept.lost(as_tuple);
        BOOST_TEST(!lost);
        BOOST_TEST(!kept.valid());
        kept = hold();
        co_await eventually("nothing is left", [&] { return all.size() == 0; });
        // Where one half says that it is another's, as well.
        for (std::size_t i = n / 2; i < n; ++i) all[i].start();
        for (std::size_t i = n / 2; i < n; ++i) all[i].command("SET", "n", "another's");
        co_await eventually("all are up again", [&] { return c.stats().reconnects == n / 2; });
        auto [busy, nobody] = co_await lock.acquire({.wait = 300ms}, as_tuple);
        BOOST_TEST(busy == error::timed_out, busy.message());
      });
    }
  }
}

// What an extension and a downgrade end with while a minority answers, and what is told and counted of it.
BOOST_AUTO_TEST_CASE(a_hold_whose_majority_is_frozen_or_forgets) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    std::vector<std::string> down;
    std::size_t lost = 0;
    client_options o = forgiving();
    o.observer = [&](const event& e) {
      if (e.what == event::kind::disconnected) down.emplace_back(e.text);
      if (e.what == event::kind::lost) lost += e.name == "n" ? 1 : 100;
    };
    client c(co_await asio::this_coro::executor, all.urls(), o);
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    shared_mutex lock(c, "n");
    hold h = co_await lock.acquire({.lease = 10min, .renew = renewal::none});
    co_await eventually("every server has it", [&] { return all.with("n") == 3; });
    const auto expires = h.expires_at();
    all[0].stop();
    all[1].stop();
    auto [extended] = co_await h.extend(20min, as_tuple);
    BOOST_TEST(extended == error::unreachable, extended.message());
    auto [downgraded] = co_await h.downgrade(as_tuple);
    BOOST_TEST(downgraded == error::unreachable, downgraded.message());
    BOOST_TEST(h.valid());
    BOOST_TEST((h.expires_at() <= expires));
    // Each by its name.
    for (std::size_t i : {0U, 1U}) {
      co_await eventually("it is told", [&] {
        return std::any_of(down.begin(), down.end(), [&](const auto& text) {
          return text.starts_with("s" + std::to_string(all[i].number()) + ": ");
        });
      });
    }
    BOOST_TEST(down.size() == 2U);
    all[0].go_on();
    all[1].go_on();
    co_await eventually("all are up again", [&] { return c.stats().reconnects == 2; });
    BOOST_TEST(c.stats().connects == 5U);
    co_await h.downgrade();
    co_await h.extend(20min);
    BOOST_TEST((h.expires_at() > expires + 5min));
    BOOST_TEST(lost == 0U);
    all[0].command("FLUSHALL");
    all[1].command("FLUSHALL");
    auto [gone] = co_await h.extend(30min, as_tuple);
    BOOST_TEST(gone == error::lost, gone.message());
    BOOST_TEST(lost == 1U);
    BOOST_TEST(c.stats().lost == 1U);
    auto [released] = co_await h.release(as_tuple);
    BOOST_TEST(released == error::lost, released.message());
    // A writer that is lost is not downgraded.
    co_await all.nothing_left();
    hold writer = co_await lock.acquire({.lease = 10min, .renew = renewal::none});
    co_await eventually("every server has it", [&] { return all.with("n") == 3; });
    all[1].command("FLUSHALL");
    all[2].command("FLUSHALL");
    auto [no_writer] = co_await writer.downgrade(as_tuple);
    BOOST_TEST(no_writer == error::lost, no_writer.message());
    BOOST_TEST(!writer.valid());
    BOOST_TEST(lost == 2U);
    writer = hold();
    co_await all.nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_majority_that_is_frozen_grants_nothing) {
  memory_quorum all(3);
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
  memory_quorum all(3);
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
  memory_quorum all(3);
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
    BOOST_TEST(all.with("n") == 3U);
    all[0].kill();
    renewed = c.stats().renewed;
    co_await eventually("it is renewed", [&] { return c.stats().renewed >= renewed + 4; });
    BOOST_TEST(h.valid());
    BOOST_TEST(!w.notified());
    all[1].command("FLUSHALL");
    co_await eventually("the loss is reported", [&] { return w.notified(); });
    BOOST_TEST(!h.valid());
    h = hold();
    co_await all.nothing_left();
  });
}

// A hold that one server never had, and another one has lost: no other client gets in by the two.
BOOST_AUTO_TEST_CASE(a_bare_majority_does_not_stay_bare) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    std::size_t given_up = 0;
    client_options o = forgiving();
    o.observer = [&](const event& e) { given_up += e.what == event::kind::disconnected ? 1 : 0; };
    client one(executor, all.urls(), o);
    client two(executor, all.urls(), forgiving());
    co_await eventually("all are up", [&] { return one.stats().connects == 3 && two.stats().connects == 3; });
    const auto everywhere = [&](const hold& h) {
      const std::string record = "leasehold:" + h.token() + ":" + std::to_string(h.fence());
      return std::all_of(all.servers.begin(), all.servers.end(), [&](const auto& s) { return s->get("n") == record; });
    };
    std::uint64_t last = 0;
    for (std::size_t frozen = 0; frozen < 3; ++frozen) {
      all[frozen].stop();
      hold h = co_await mutex(one, "n").acquire({.lease = 2s});
      BOOST_TEST(h.fence() > last);
      // What it was sent is too late by then.
      const auto renewed = one.stats().renewed;
      co_await eventually("its connection is given up",
                          [&] { return given_up > frozen && one.stats().renewed > renewed; });
      all[frozen].go_on();
      co_await eventually("it has the hold", [&] { return everywhere(h); });
      for (std::size_t i = 0; i < 3; ++i) {
        all[i].command("FLUSHALL");
        auto none = co_await mutex(two, "n").try_acquire();
        BOOST_TEST(!none.has_value());
        co_await eventually("it has the hold again", [&] { return everywhere(h); });
      }
      BOOST_TEST(h.valid());
      last = h.fence();
      co_await h.release();
      co_await all.nothing_left();
      hold next = co_await mutex(two, "n").acquire();
      BOOST_TEST(next.fence() > last);
      last = next.fence();
      co_await next.release();
      co_await all.nothing_left();
    }
    BOOST_TEST(one.stats().lost == 0U);
  });
}

// The same for the other kinds. What is written again says what the hold is: how often its owner is in, a writer or a
// reader.
BOOST_AUTO_TEST_CASE(a_bare_majority_of_other_kinds_does_not_stay_bare) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, all.urls(), forgiving());
    client two(executor, all.urls(), forgiving());
    co_await eventually("all are up", [&] { return one.stats().connects == 3 && two.stats().connects == 3; });
    const auto of_member = [&](std::size_t i, const hold& h) {
      return all[i].command("HGET", "n", "leasehold:" + h.token()).text;
    };
    const auto is_everywhere = [&](const hold& h, const std::string& ask) {
      const std::string end = " " + ask;
      return of_member(0, h).ends_with(end) && of_member(1, h).ends_with(end) && of_member(2, h).ends_with(end);
    };
    const auto is_again_on = [&](std::size_t i, const hold& h, const std::string& ask) {
      return of_member(i, h).ends_with(" " + std::to_string(h.fence()) + " " + ask);
    };
    const auto count_is = [&](const std::string& n) {
      return std::all_of(all.servers.begin(), all.servers.end(),
                         [&](const auto& s) { return s->command("HGET", "n", "o").text == n; });
    };
    for (std::size_t i = 0; i < 3; ++i) {
      hold outer = co_await recursive_mutex(one, "n", "o").acquire({.lease = 2s});
      hold inner = co_await recursive_mutex(one, "n", "o").acquire({.lease = 2s});
      co_await eventually("every server has both",
                          [&] { return is_everywhere(outer, "o") && is_everywhere(inner, "o"); });
      all[i].command("FLUSHALL");
      recursive_mutex others(two, "n", "p");
      auto none = co_await others.try_acquire();
      BOOST_TEST(!none.has_value());
      co_await eventually("it has both again",
                          [&] { return is_again_on(i, outer, "o") && is_again_on(i, inner, "o"); });
      BOOST_TEST(count_is("2"));
      co_await inner.release();
      co_await eventually("its owner is in once", [&] { return count_is("1"); });
      BOOST_TEST(outer.valid());
      co_await outer.release();
      co_await all.nothing_left();
    }
    shared_mutex mine(one, "n");
    shared_mutex theirs(two, "n");
    for (std::size_t i = 0; i < 3; ++i) {
      hold h = co_await mine.acquire({.lease = 2s});
      co_await eventually("every server has it", [&] { return is_everywhere(h, "w"); });
      all[i].command("FLUSHALL");
      auto none = co_await theirs.try_acquire_shared();
      BOOST_TEST(!none.has_value());
      co_await eventually("it has the writer again", [&] { return is_again_on(i, h, "w"); });
      co_await h.downgrade();
      co_await eventually("every server has the reader", [&] { return is_everywhere(h, "r"); });
      all[i].command("FLUSHALL");
      none = co_await theirs.try_acquire();
      BOOST_TEST(!none.has_value());
      co_await eventually("it has the reader again", [&] { return is_again_on(i, h, "r"); });
      hold reader = co_await theirs.acquire_shared({.lease = 2s});
      co_await eventually("every server has both", [&] { return is_everywhere(reader, "r"); });
      all[i].command("FLUSHALL");
      co_await eventually("it has both again", [&] { return is_everywhere(reader, "r") && is_everywhere(h, "r"); });
      BOOST_TEST(h.valid());
      BOOST_TEST(reader.valid());
      co_await h.release();
      co_await reader.release();
      co_await all.nothing_left();
    }
    BOOST_TEST(one.stats().lost == 0U);
    BOOST_TEST(two.stats().lost == 0U);
  });
}

// A server that says yes late is told the fence as well.
BOOST_AUTO_TEST_CASE(a_server_that_grants_late_has_the_fence_of_the_others) {
  memory_quorum all(3);
  all[0].clock().offset = -30min;
  run([&]() -> awaitable<void> {
    client_options o = forgiving();
    o.command_timeout = 10min;
    client c(co_await asio::this_coro::executor, all.urls(), o);
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    all[0].stop();
    hold h = co_await mutex(c, "n").acquire({.lease = 1h, .renew = renewal::none});
    all[0].go_on();
    const std::string record = "leasehold:" + h.token() + ":" + std::to_string(h.fence());
    co_await eventually("it has that fence", [&] { return all[0].get("n") == record; });
    BOOST_TEST(std::stoull(all[0].get("leasehold:{0}:fence").value()) >= h.fence() / 2048);
    co_await h.release();
    co_await all.nothing_left();
  });
}

// Where the fence was not written back the record does not count before it is: else what comes next there could have a
// smaller one.
BOOST_AUTO_TEST_CASE(a_renewal_writes_the_fence_where_it_is_missing) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, all.urls(), forgiving());
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    hold h = co_await mutex(c, "n").acquire({.lease = 1h, .renew = renewal::none});
    co_await eventually("every server has it", [&] { return all.with("n") == 3; });
    co_await pause(20ms);
    const std::string record = "leasehold:" + h.token() + ":";
    all[0].command("SET", "n", record + "2048", "KEEPTTL");
    all[0].command("DEL", "leasehold:{0}:fence");
    // A majority needs it.
    all[2].kill();
    co_await h.extend(2h);
    BOOST_TEST(all[0].get("n").value() == record + std::to_string(h.fence()));
    BOOST_TEST(std::stoull(all[0].get("leasehold:{0}:fence").value()) >= h.fence() / 2048);
    BOOST_TEST(h.valid());
    co_await h.release();
  });
}

// Where another client has it meanwhile it stays so, and the fence of that one is the larger.
BOOST_AUTO_TEST_CASE(a_hold_is_not_written_over_another) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, all.urls(), forgiving());
    client two(executor, all.urls(), forgiving());
    co_await eventually("all are up", [&] { return one.stats().connects == 3 && two.stats().connects == 3; });
    hold h = co_await mutex(one, "n").acquire({.lease = 1min, .renew = renewal::none});
    co_await eventually("every server has it", [&] { return all.with("n") == 3; });
    all[1].command("SET", "n", "another's");
    const auto calls = all[1].scripts();
    co_await h.extend(2min);
    co_await h.extend(3min);
    // Each time the renewal, and then what would write the hold there.
    co_await eventually("the server has answered all", [&] { return all[1].scripts() >= calls + 4; });
    BOOST_TEST(all[1].get("n").value() == "another's");
    all[1].command("DEL", "n");
    // A majority forgets before the hold is asked for: another client is granted, and the hold is lost for good.
    all[1].command("FLUSHALL");
    all[2].command("FLUSHALL");
    hold next = co_await mutex(two, "n").acquire({.lease = 1min, .renew = renewal::none});
    auto [extended] = co_await h.extend(4min, as_tuple);
    BOOST_TEST(extended == error::lost, extended.message());
    BOOST_TEST(next.fence() > h.fence());
    h = hold();
    co_await next.extend(2min);
    const std::string record = "leasehold:" + next.token() + ":" + std::to_string(next.fence());
    co_await eventually("every server has the other one", [&] {
      return std::all_of(all.servers.begin(), all.servers.end(), [&](const auto& s) { return s->get("n") == record; });
    });
    co_await next.release();
    co_await all.nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_majority_that_forgets_loses_the_hold) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, all.urls(), forgiving());
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    hold h = co_await mutex(c, "n").acquire({.lease = std::chrono::minutes(10), .renew = renewal::none});
    watch w(h);
    // A server that was started anew has every hold asked for at once, and gets what it has lost.
    for (std::uint64_t i : {0U, 1U, 2U}) {
      all[i].kill();
      all[i].start();
      co_await eventually("it is back", [&] { return c.stats().reconnects == i + 1; });
      co_await eventually("it has the hold again", [&] { return all.with("n") == 3; });
      BOOST_TEST(!w.notified());
    }
    all[0].kill();
    all[1].kill();
    all[0].start();
    all[1].start();
    co_await eventually("the loss is reported", [&] { return w.notified(); });
    BOOST_TEST(!h.valid());
    co_await all.nothing_left();
  });
}

// Redlock's own counter-example: a has forgotten, b is away, and a and c were a majority for a second holder.
BOOST_AUTO_TEST_CASE(a_server_that_has_forgotten_does_not_count) {
  for (const bool counts : {false, true}) {
    memory_quorum all(3);
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client_options o = forgiving();
      o.idle_timeout = forever;
      client a(executor, all.urls(), o);
      if (!counts) o.restart_delay = 30s;
      client knows(executor, all.urls(), o);
      co_await eventually("all are up", [&] { return a.stats().connects == 3 && knows.stats().connects == 3; });
      all[2].stop();
      hold h = co_await mutex(a, "n").acquire({.renew = renewal::none});
      BOOST_TEST(h.valid());
      co_await pause(1s);  // What the frozen server was sent is too late when it goes on.
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

// It gets back what it has lost all the same: a hold that a majority has is no other client's there.
BOOST_AUTO_TEST_CASE(a_server_that_has_forgotten_gets_back_the_hold_of_a_majority) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    client_options o = forgiving();
    o.restart_delay = 10min;
    client c(co_await asio::this_coro::executor, all.urls(), o);
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    hold h = co_await mutex(c, "n").acquire({.lease = 1min, .renew = renewal::none});
    co_await eventually("every server has it", [&] { return all.with("n") == 3; });
    all[0].kill();
    all[0].start();
    co_await eventually("it has the hold again", [&] { return all.with("n") == 3; });
    hold other = co_await mutex(c, "m").acquire({.renew = renewal::none});
    BOOST_TEST(!all[0].get("m"));
    co_await other.release();
    // The hold lives on what it was given back.
    all[1].kill();
    co_await h.extend(2min);
    BOOST_TEST(h.valid());
    co_await h.release();
    BOOST_TEST(all.size() == 0U);
  });
}

// A server that comes back does count after a while, and a deployment that has just been started at once.
BOOST_AUTO_TEST_CASE(a_server_that_was_restarted_counts_after_the_delay) {
  memory_quorum all(3);
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
    BOOST_TEST(all[0].server().uptime() >= 2s);
    BOOST_TEST(all.with("n") == 2U);
  });
}

// It may have forgotten any of the holds that this client knows to be possible.
BOOST_AUTO_TEST_CASE(a_server_that_was_restarted_counts_after_the_longest_lease) {
  memory_quorum all(3);
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
  memory_quorum all(3);
  all[0].clock().offset = std::chrono::minutes(30);
  all[2].clock().offset = -std::chrono::minutes(30);
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
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, all.urls(), forgiving());
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    hold h = co_await mutex(c, "n").acquire({.lease = std::chrono::minutes(10), .renew = renewal::none});
    co_await eventually("every server has it", [&] { return all.with("n") == 3; });
    watch w(h);
    all[0].clock().offset = std::chrono::hours(1);
    mutex other(c, "m");
    co_await eventually("the step is seen", [&] {
      if (c.stats().acquired == 1) other.acquire([](error_code, hold) {});
      return c.stats().clock_jumps == 1;
    });
    co_await pause(50ms);
    BOOST_TEST(!w.notified());
    BOOST_TEST(h.valid());
    // It gets back what it has lost by that. The two together are a majority.
    co_await eventually("it has the hold again", [&] { return all.with("n") == 3; });
    all[0].clock().offset = std::chrono::hours(2);
    all[1].clock().offset = std::chrono::hours(2);
    co_await eventually("the loss is reported", [&] {
      if (!w.notified()) other.try_acquire([](error_code, std::optional<hold>) {});
      return w.notified();
    });
    BOOST_TEST(!h.valid());
  });
}

// By less than the lease: it is not lost, and ends sooner. What is left after the steps counts.
BOOST_AUTO_TEST_CASE(steps_of_a_majority_of_clocks_shorten_the_deadline) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, all.urls(), forgiving());
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    hold h = co_await mutex(c, "n").acquire({.lease = 30min, .renew = renewal::none});
    co_await eventually("every server has it", [&] { return all.with("n") == 3; });
    const auto granted = h.expires_at();
    const auto see = [&](std::uint64_t steps) {
      mutex(c, "m").try_acquire([](error_code, std::optional<hold>) {});
      return c.stats().clock_jumps >= steps;
    };
    all[1].clock().offset = 10min;
    co_await eventually("the first step is seen", [&] { return see(1); });
    // The other two have it for as long as before.
    BOOST_TEST((h.expires_at() <= granted));
    BOOST_TEST((h.expires_at() > granted - 1min));
    all[0].clock().offset = 4min;
    co_await eventually("the second step is seen", [&] { return see(2); });
    // What is subtracted for drift is less of a shorter time.
    BOOST_TEST((h.expires_at() <= granted - 3min));
    BOOST_TEST((h.expires_at() > granted - 5min));
    all[2].clock().offset = 20min;
    co_await eventually("the third step is seen", [&] { return see(3); });
    BOOST_TEST((h.expires_at() <= granted - 9min));
    BOOST_TEST((h.expires_at() > granted - 11min));
    // Earlier than the second of them by 1 % of what is left there, twenty minutes.
    BOOST_TEST((h.expires_at() - now() < std::chrono::milliseconds(all[1].ttl("n")) - 11s));
    BOOST_TEST(h.valid());
    // Renewals and extensions count from the clocks as they are now.
    co_await h.extend(30min);
    BOOST_TEST((h.expires_at() > granted - 1min));
    co_await h.release();
  });
}

// A server that has said that it lacks the hold does not make up for one whose clock was stepped.
BOOST_AUTO_TEST_CASE(a_step_of_one_of_a_bare_majority_shortens_the_deadline) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, all.urls(), forgiving());
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    hold h = co_await mutex(c, "n").acquire({.lease = 30min, .renew = renewal::none});
    co_await eventually("every server has it", [&] { return all.with("n") == 3; });
    all[1].command("SET", "n", "another's");
    co_await h.extend(30min);
    {
      // The second server answers in the order of what it was asked, and is needed for this.
      all[0].command("SET", "m", "another's");
      hold needed = co_await mutex(c, "m").acquire();
      co_await needed.release();
      all[0].command("DEL", "m");
    }
    const auto before = h.expires_at();
    all[0].clock().offset = 10min;
    co_await eventually("the step is seen", [&] {
      mutex(c, "m").try_acquire([](error_code, std::optional<hold>) {});
      return c.stats().clock_jumps == 1;
    });
    BOOST_TEST((h.expires_at() <= before - 9min));
    BOOST_TEST(h.valid());
    co_await h.release();
  });
}

// Not promised: a step forward of one of a bare majority is as that of a single server. The fence tells them apart.
BOOST_AUTO_TEST_CASE(a_step_of_one_clock_lets_another_in_beside_a_bare_majority) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, all.urls(), forgiving());
    client d(executor, all.urls(), forgiving());
    co_await eventually("all are up", [&] { return c.stats().connects == 3 && d.stats().connects == 3; });
    all[2].command("SET", "n", "somebody's");
    hold h = co_await mutex(c, "n").acquire({.lease = std::chrono::minutes(10), .renew = renewal::none});
    all[2].command("DEL", "n");
    all[0].clock().offset = std::chrono::hours(1);
    hold g = co_await mutex(d, "n").acquire();
    BOOST_TEST(g.valid());
    BOOST_TEST(h.valid());
    BOOST_TEST(g.fence() > h.fence());
  });
}

BOOST_AUTO_TEST_CASE(a_deadline_is_early_on_a_quorum) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, all.urls(), forgiving());
    for (int i = 0; i < 20; ++i) {
      hold h = co_await mutex(c, "n").acquire({.lease = 20s, .renew = renewal::none});
      const auto left = h.expires_at() - now();
      // When it says so, a majority has it for longer.
      std::size_t longer = 0;
      for (auto& s : all.servers) longer += std::chrono::milliseconds(s->ttl("n")) > h.expires_at() - now();
      BOOST_TEST(longer >= 2U);
      BOOST_TEST(left < 20s - 200ms);
      co_await h.release();
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
