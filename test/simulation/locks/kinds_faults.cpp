// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What may happen to locks of every kind.
#include "simulation/with_memory.hpp"
#include "support/child.hpp"
#include "support/kinds.hpp"
#include "support/rarer.hpp"

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(faults_of_kinds, with_kinds_on<with_memory>)

namespace {

// What a dead waiter costs the queue: its grant lasts 2 s, and the next waiter in the queue polls within 667 ms.
constexpr auto soon = 2700ms;

client_options brisk() {
  client_options o;
  o.command_timeout = 500ms;
  o.connect_timeout = 1s;
  o.reconnect = {.first = 1ms, .max = 5ms, .factor = 2.0, .jitter = 0.5};
  return o;
}

constexpr std::array<unsigned, 3> seeds{1, 2, 3};

// The next messages that are lost together with the connection, each after so many others.
struct cuts {
  std::optional<std::size_t> request, reply;

  void make(gate& network) const {
    if (request) network.cut_after_requests(*request);
    if (reply) network.cut_after_replies(*reply);
  }
};

// The request; its reply; both, one after the other; the request and, behind the reply of the handshake, the second
// reply.
const std::array<cuts, 4> all_cuts{{{0, {}}, {{}, 0}, {0, 0}, {0, 1}}};

}  // namespace

// Promise 5: never twice, however often it was asked.
BOOST_AUTO_TEST_CASE(acquire_whose_reply_is_cut_anywhere_is_one_hold) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      gate network(redis);
      client c(executor, network.url(), brisk());
      asker a(k.holder(c));
      co_await acquired(a);
      co_await a.got.release();
      std::uint64_t last = a.got.fence();
      for (const cuts& all : all_cuts) {
        const auto reconnects = c.stats().reconnects;
        all.make(network);
        co_await acquired(a);
        BOOST_TEST(c.stats().reconnects > reconnects);
        BOOST_TEST(a.got.valid());
        BOOST_TEST(a.got.fence() > last);
        BOOST_TEST(a.got.depth() == 1U);
        last = a.got.fence();
        const lock_info info = co_await inspected(a.lock);
        BOOST_TEST(info.holders == 1U);
        BOOST_TEST(info.token == a.got.token());
        auto [ec] = co_await a.got.release(as_tuple);
        BOOST_TEST(!ec, ec.message());
        BOOST_TEST(redis.size() == 0U);
      }
    });
  });
}

// B4, also for a hold beside others, whose record stays.
BOOST_AUTO_TEST_CASE(release_whose_reply_is_cut_anywhere_is_one_release) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      gate network(redis);
      client c(executor, network.url(), brisk());
      asker a(k.holder(c));
      // Of those kinds of whom several may be in.
      std::optional<asker> beside;
      client d(executor, redis.url());
      if (k.name == std::string("recursive_mutex")) beside.emplace(recursive_mutex(d, "n", "the holder"));
      if (k.name == std::string("writer behind reader")) beside.emplace(shared_mutex(d, "n").shared());
      if (beside) co_await acquired(*beside);
      for (const cuts& all : all_cuts) {
        co_await acquired(a);
        const auto reconnects = c.stats().reconnects;
        all.make(network);
        auto [ec] = co_await a.got.release(as_tuple);
        BOOST_TEST(!ec, ec.message());
        BOOST_TEST(c.stats().reconnects > reconnects);
        const lock_info info = co_await inspected(a.lock);
        BOOST_TEST(info.holders == (beside ? 1U : 0U));
      }
      if (beside) co_await beside->got.release();
      co_await nothing_left();
    });
  });
}

BOOST_AUTO_TEST_CASE(renewal_and_extend_whose_replies_are_cut_lose_nothing) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      gate network(redis);
      client c(executor, network.url(), brisk());
      asker a(k.holder(c));
      co_await acquired(a, {.lease = 3s});
      auto lease = 3s;
      for (const cuts& all : all_cuts) {
        all.make(network);
        auto [ec] = co_await a.got.extend(++lease, as_tuple);
        BOOST_TEST(!ec, ec.message());
        const auto reconnects = c.stats().reconnects;
        const auto renewed = c.stats().renewed;
        all.make(network);
        co_await eventually("it is renewed", [&] { return c.stats().renewed > renewed; });
        BOOST_TEST(c.stats().reconnects > reconnects);
      }
      BOOST_TEST(c.stats().lost == 0U);
      BOOST_TEST(a.got.valid());
      BOOST_TEST((co_await inspected(a.lock)).holders == 1U);
      co_await a.got.release();
      co_await nothing_left();
    });
  });
}

// The hold stays what it is: valid, and released later.
BOOST_AUTO_TEST_CASE(downgrade_whose_reply_is_cut_anywhere_makes_a_reader) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    gate network(redis);
    client c(executor, network.url(), brisk());
    shared_mutex lock(c, "n");
    shared_mutex elsewhere(client(executor, redis.url()), "n");
    for (const cuts& all : all_cuts) {
      hold h = co_await lock.acquire({.lease = 3s});
      const auto fence = h.fence();
      const auto reconnects = c.stats().reconnects;
      all.make(network);
      auto [ec] = co_await h.downgrade(as_tuple);
      BOOST_TEST(!ec, ec.message());
      BOOST_TEST(c.stats().reconnects > reconnects);
      BOOST_TEST(h.valid());
      BOOST_TEST(h.fence() > fence);
      auto beside = co_await elsewhere.try_acquire_shared();
      BOOST_REQUIRE(beside.has_value());
      BOOST_TEST(beside->fence() == h.fence());
      co_await h.extend(5s);
      co_await beside->release();
      auto [released] = co_await h.release(as_tuple);
      BOOST_TEST(!released, released.message());
      BOOST_TEST(redis.size() == 0U);
    }
  });
}

// Nobody has waited for the answer: the hold learns from its renewal that it is a reader's.
BOOST_AUTO_TEST_CASE(a_downgrade_that_was_given_up_and_happened_is_found_out) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    gate network(redis);
    client c(executor, network.url(), brisk());
    shared_mutex lock(c, "n");
    asker a(lock);
    co_await acquired(a, {.lease = 4s});
    a.watch();
    const auto fence = a.got.fence();
    network.hold_replies();
    asio::cancellation_signal signal;
    outcome downgraded;
    a.got.downgrade(asio::bind_cancellation_slot(signal.slot(), downgraded.handler()));
    co_await eventually("it has happened",
                        [&] { return redis.command("HGET", "n", "leasehold").text.ends_with(" r"); });
    signal.emit(asio::cancellation_type::terminal);
    co_await eventually("it ends", [&] { return downgraded.ended(); });
    BOOST_TEST(*downgraded.ec == asio::error::operation_aborted);
    network.cut();
    network.pass();
    const auto renewed = c.stats().renewed;
    co_await eventually("it is renewed", [&] { return c.stats().renewed > renewed || a.lost.ended(); });
    BOOST_TEST(a.got.valid());
    BOOST_TEST(a.got.fence() > fence);
    BOOST_TEST((co_await lock.try_acquire_shared()).has_value());
    auto [released] = co_await a.got.release(as_tuple);
    BOOST_TEST(!released, released.message());
    co_await nothing_left();
  });
}

// B5.
BOOST_AUTO_TEST_CASE(a_waiter_that_reconnects_keeps_its_place) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      asker first(k.holder(client(executor, redis.url())));
      co_await acquired(first);
      gate network(redis);
      client c(executor, network.url(), brisk());
      asker a(k.next(c, 0));
      a.acquire();
      co_await wait_in_queue(1);
      asker b(k.next(client(executor, redis.url()), 1));
      b.acquire();
      co_await wait_in_queue(2);
      const auto token = redis.command("ZRANGE", the_queue, "0", "0").items.at(0).text;
      for (std::uint64_t i = 1; i <= 5; ++i) {
        network.cut();
        co_await eventually("it is back", [&] { return c.stats().reconnects == i; });
      }
      BOOST_TEST(in_queue() == 2);
      BOOST_TEST(redis.command("ZRANGE", the_queue, "0", "0").items.at(0).text == token);
      co_await first.got.release();
      co_await eventually("it is in", [&] { return a.in(); });
      BOOST_TEST(a.got.token() == token);
      BOOST_TEST((k.together || !b.ended()));
      co_await a.got.release();
      co_await eventually("the other is in", [&] { return b.in(); });
      co_await b.got.release();
      co_await nothing_left();
    });
  });
}

BOOST_AUTO_TEST_CASE(a_lost_push_loses_nothing) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      for (const std::size_t after : {0U, 1U, 2U, 3U}) {
        BOOST_TEST_CONTEXT("after " << after << " messages") {
          asker first(k.holder(client(executor, redis.url())));
          co_await acquired(first, {.lease = 10min});
          gate network(redis);
          asker a(k.next(client(executor, network.url(), brisk()), 1));
          a.acquire({.lease = 10min});
          co_await wait_in_queue(1);
          network.cut_after_replies(after);
          co_await first.got.release();
          const auto start = now();
          co_await eventually("it is in all the same", [&] { return a.in(); });
          BOOST_TEST(now() - start < soon);
          network.pass();
          const lock_info info = co_await inspected(first.lock);
          BOOST_TEST(info.holders == 1U);
          auto [ec] = co_await a.got.release(as_tuple);
          BOOST_TEST(!ec, ec.message());
          co_await nothing_left();
        }
      }
    });
  });
}

// A10.
BOOST_AUTO_TEST_CASE(a_server_that_forgets_everything_loses_the_holds_and_lets_in_who_waits) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      asker first(k.holder(client(executor, redis.url(), brisk())));
      // Far from its next renewal: told because another server answers.
      co_await acquired(first, {.lease = std::chrono::minutes(10)});
      first.watch();
      asker next(k.next(client(executor, redis.url(), brisk()), 1));
      next.acquire();
      co_await wait_in_queue(1);
      redis.kill();
      redis.start();
      co_await eventually("the loss is reported", [&] { return first.lost.ended(); });
      BOOST_TEST(!*first.lost.ec);
      BOOST_TEST(!first.got.valid());
      co_await eventually("the next is in", [&] { return next.in(); });
      BOOST_TEST(next.got.fence() > first.got.fence());
      auto [ec] = co_await first.got.release(as_tuple);
      BOOST_TEST(ec == error::lost);
      BOOST_TEST((co_await inspected(next.lock)).holders == 1U);
      co_await next.got.release();
      co_await nothing_left();
    });
  });
}

BOOST_AUTO_TEST_CASE(who_is_killed_or_frozen_loses_the_lock_when_its_lease_ends) {
  for (const bool killed : {true, false}) {
    for_each_kind(redis, [&](const kind& k) {
      BOOST_TEST_CONTEXT((killed ? "killed" : "frozen")) {
        run([&]() -> awaitable<void> {
          const auto executor = co_await asio::this_coro::executor;
          other_program other(redis);
          const any_lock lock = k.holder(other.client());
          const auto keep = [&](const auto& l) { return other.keep(l, {.lease = 1200ms}); };
          const hold* const its = co_await std::visit(keep, lock);
          const auto fence = its->fence();
          outcome lost;
          its->lost(lost.handler());
          asker next(k.next(client(executor, redis.url()), 1));
          next.acquire();
          co_await wait_in_queue(1);
          killed ? other.die() : other.stop();
          const auto since = now();
          co_await eventually("the next is in", [&] { return next.in(); });
          BOOST_TEST(now() - since < 2s);
          BOOST_TEST(next.got.fence() > fence);
          if (!killed) {
            BOOST_TEST(!lost.ended());
            BOOST_TEST(!its->valid());
            other.go_on();
            co_await eventually("the loss is reported", [&] { return lost.ended(); });
            BOOST_TEST(!*lost.ec);
            BOOST_TEST(next.got.valid());
            BOOST_TEST((co_await inspected(next.lock)).token == next.got.token());
          }
          co_await next.got.release();
          other.die();
          co_await nothing_left();
        });
      }
    });
  }
}

// A4: taking is refused; keeping, handing on and releasing work.
BOOST_AUTO_TEST_CASE(without_memory_holds_live_on_and_are_handed_on) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client c(executor, redis.url());
      asker first(k.holder(c));
      co_await acquired(first, {.lease = 900ms});
      asker next(k.next(client(executor, redis.url()), 1));
      next.acquire();
      co_await wait_in_queue(1);
      redis.command("CONFIG", "SET", "maxmemory", "1");
      const auto renewed = c.stats().renewed;
      co_await eventually("it is renewed", [&] { return c.stats().renewed > renewed + 2; });
      BOOST_TEST(first.got.valid());
      BOOST_TEST(c.stats().renewal_failed == 0U);
      auto [extended] = co_await first.got.extend(5s, as_tuple);
      BOOST_TEST(!extended, extended.message());
      asker late(k.next(client(executor, redis.url()), 2));
      late.acquire({.wait = 500ms});
      co_await eventually("it ends", [&] { return late.ended(); });
      // In the queue there is nothing to refuse for who stands there; who comes is refused, or kept out by the others.
      BOOST_TEST((*late.ec == error::refused || *late.ec == error::timed_out), late.ec->message());
      if (std::holds_alternative<shared_mutex>(first.lock)) {
        auto [down] = co_await first.got.downgrade(as_tuple);
        BOOST_TEST(!down, down.message());
        BOOST_TEST(first.got.valid());
      }
      auto [released] = co_await first.got.release(as_tuple);
      BOOST_TEST(!released, released.message());
      co_await eventually("the next is in", [&] { return next.in(); });
      co_await eventually("it is confirmed", [&] { return in_queue() == 0; });
      auto [ec] = co_await next.got.release(as_tuple);
      BOOST_TEST(!ec, ec.message());
      asker none(k.holder(c));
      none.acquire();
      co_await eventually("it ends", [&] { return none.ended(); });
      BOOST_TEST(*none.ec == error::refused);
      redis.command("CONFIG", "SET", "maxmemory", "0");
      co_await nothing_left();
    });
    redis.command("CONFIG", "SET", "maxmemory", "0");
  });
}

// Only two kinds respect what other programs make.
BOOST_AUTO_TEST_CASE(a_foreign_record_without_expiry_is_repaired_if_wanted) {
  for (const bool recursive : {false, true}) {
    BOOST_TEST_CONTEXT((recursive ? "recursive_mutex" : "mutex")) {
      const auto foreign = [&] {
        recursive ? redis.command("HSET", "n", "somebody", "1") : redis.command("SET", "n", "somebody's");
      };
      const auto lock_of = [&](const client& c) -> any_lock {
        if (recursive) return recursive_mutex(c, "n", "me");
        return mutex(c, "n");
      };
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        foreign();
        asker a(lock_of(client(executor, redis.url())));
        a.acquire({.wait = 1s});
        co_await eventually("it ends", [&] { return a.ended(); });
        BOOST_TEST(*a.ec == error::timed_out);
        BOOST_TEST(redis.ttl("n") == -1);
        client_options o;
        o.repair_missing_expiry = true;
        asker b(lock_of(client(executor, redis.url(), o)));
        BOOST_TEST(!(co_await tried(b, {.lease = 60s})));
        BOOST_TEST(redis.ttl("n") > 50000);
        redis.command("PERSIST", "n");
        b.acquire({.lease = 1s});
        co_await eventually("it gets in", [&] { return b.in(); });
        co_await b.got.release();
        co_await nothing_left();
      });
    }
  }
}

// At each point at which the operation may be suspended.
BOOST_AUTO_TEST_CASE(cancellation_leaves_nothing) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      gate network(redis);
      network.hold_replies();
      client c(executor, network.url(), patient());
      const auto cancel = [&](asker& a) -> awaitable<void> {
        a.signal.emit(asio::cancellation_type::total);
        co_await eventually("it ends", [&] { return a.ended(); });
        BOOST_TEST(*a.ec == asio::error::operation_aborted);
      };
      asker a(k.holder(c));
      // The server knows the script.
      asker first(k.holder(client(executor, redis.url())));
      co_await acquired(first);
      co_await first.got.release();
      // While it connects.
      for (const bool once : {false, true}) {
        once ? a.try_acquire() : a.acquire();
        co_await turn();
        co_await cancel(a);
      }
      network.pass();
      co_await c.ready();
      // The reply with the grant is on its way.
      for (const bool once : {false, true}) {
        network.hold_replies();
        once ? a.try_acquire() : a.acquire();
        co_await eventually("the server has granted it", [&] { return redis.command("EXISTS", "n").integer == 1; });
        co_await cancel(a);
        network.pass();
        co_await nothing_left();
      }
      // In the queue: the reply that it is busy on its way, waiting, and with the push on its way.
      co_await acquired(first);
      asker b(k.next(c, 1));
      network.hold_replies();
      b.acquire();
      co_await wait_in_queue(1);
      co_await cancel(b);
      network.pass();
      co_await wait_in_queue(0);
      b.acquire();
      co_await wait_in_queue(1);
      co_await pause(10ms);
      co_await cancel(b);
      co_await wait_in_queue(0);
      b.acquire();
      co_await wait_in_queue(1);
      network.hold_replies();
      co_await first.got.release();
      co_await eventually("it is granted", [&] { return redis.command("EXISTS", "n").integer == 1; });
      co_await cancel(b);
      network.pass();
      co_await nothing_left();
      BOOST_TEST(c.stats().waiting == 0U);
      BOOST_TEST(c.stats().held == 0U);
    });
  });
}

// Cancelled at any instant of a hand-off: nothing is lost, nothing stays, and never are two in who exclude each other.
BOOST_AUTO_TEST_CASE(cancellation_races_the_grant) {
  for (const unsigned seed : seeds) {
    BOOST_TEST_CONTEXT("seed " << seed)
    for_each_kind(redis, [&](const kind& k) {
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        std::mt19937_64 engine(seed);
        unsigned rounds = 0;
        int inside = 0;
        unsigned granted = 0;
        unsigned cancelled = 0;
        int ended = 0;
        std::uint64_t fence = 0;
        const auto one = [&](asker& a) -> awaitable<void> {
          while (++rounds <= 1000 / rarer) {
            a.acquire();
            const auto sooner_or_later = std::chrono::microseconds(engine() % 10000);
            co_await pause(sooner_or_later);
            a.signal.emit(engine() % 2 == 0 ? asio::cancellation_type::total : asio::cancellation_type::terminal);
            co_await eventually("it ends", [&] { return a.ended(); });
            if (*a.ec) {
              BOOST_TEST(*a.ec == asio::error::operation_aborted);
              ++cancelled;
              continue;
            }
            ++granted;
            BOOST_TEST(a.got.valid());
            BOOST_TEST((++inside == 1 || k.together));
            BOOST_TEST((k.together ? a.got.fence() >= fence : a.got.fence() > fence));
            fence = a.got.fence();
            const auto stay = std::chrono::microseconds(engine() % 3000);
            co_await pause(stay);
            --inside;
            co_await a.got.release();
          }
          co_await acquired(a);
          co_await a.got.release();
          ++ended;
        };
        std::deque<asker> all;
        std::deque<client> clients;
        for (int i = 0; i < 4; ++i) clients.emplace_back(executor, redis.url());
        for (int i = 0; i < 8; ++i) {
          auto& a = all.emplace_back(k.next(clients[static_cast<std::size_t>(i) % 4], i));
          asio::co_spawn(executor, one(a), asio::detached);
        }
        co_await eventually("all have ended", [&] { return ended == 8; });
        BOOST_TEST(granted > 100 / rarer);
        BOOST_TEST(cancelled > 100 / rarer);
        co_await nothing_left();
        for (auto& c : clients) {
          BOOST_TEST(c.stats().waiting == 0U);
          BOOST_TEST(c.stats().held == 0U);
        }
      });
    });
  }
}

// Connections break at any instant of joining, granting, confirming and releasing.
BOOST_AUTO_TEST_CASE(cuts_lose_nothing) {
  for (const unsigned seed : seeds) {
    BOOST_TEST_CONTEXT("seed " << seed)
    for_each_kind(redis, [&](const kind& k) {
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        std::mt19937_64 engine(seed);
        int inside = 0;
        int ended = 0;
        std::uint64_t fence = 0;
        const auto one = [&](asker& a) -> awaitable<void> {
          for (int i = 0; i < 25; ++i) {
            co_await acquired(a);
            BOOST_TEST(a.got.valid());
            BOOST_TEST((++inside == 1 || k.together));
            BOOST_TEST((k.together ? a.got.fence() >= fence : a.got.fence() > fence));
            fence = a.got.fence();
            const auto stay = std::chrono::microseconds(engine() % 3000);
            co_await pause(stay);
            --inside;
            auto [ec] = co_await a.got.release(as_tuple);
            BOOST_TEST(!ec, ec.message());
          }
          ++ended;
        };
        std::deque<gate> networks;
        std::deque<asker> all;
        for (int i = 0; i < 4; ++i) {
          networks.emplace_back(redis);
          const client c(executor, networks.back().url(), brisk());
          for (int j = 0; j < 2; ++j)
            asio::co_spawn(executor, one(all.emplace_back(k.next(c, 2 * i + j))), asio::detached);
        }
        while (ended < 8) {
          co_await pause(std::chrono::milliseconds(engine() % 20));
          networks[engine() % 4].cut();
        }
        co_await nothing_left();
      });
    });
  }
}

// Several programs, of which some die and are replaced at any instant. An owner's tenure has one fence, and a smaller
// one never comes behind a larger one.
BOOST_AUTO_TEST_CASE(two_owners_are_never_in_together_though_processes_die) {
  for (const unsigned seed : seeds) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937_64 engine(seed);
      const std::string owners = "aabbc";
      std::vector<std::unique_ptr<other_program>> programs(owners.size());
      std::set<char> seen;
      std::uint64_t fence = 0;
      char inside = 0;
      int tenures = 0;
      // What a program notes while it is inside.
      const auto note = [&](char owner, const hold& h) {
        if (!h.valid()) return;
        seen.insert(owner);
        BOOST_TEST(h.fence() >= fence);
        if (h.fence() == fence) {
          BOOST_TEST(owner == inside);
        } else {
          ++tenures;
        }
        fence = h.fence();
        inside = owner;
      };
      const auto enter_and_leave = [&](client c, char owner) -> awaitable<void> {
        const recursive_mutex lock(std::move(c), "n", std::string(1, owner));
        for (;;) {
          std::vector<hold> holds;
          const auto depth = 1 + engine() % 3;
          for (std::size_t i = 0; i < depth; ++i) {
            hold h = co_await lock.acquire({.lease = 1500ms});
            note(owner, h);
            holds.push_back(std::move(h));
            const auto stay = std::chrono::microseconds(engine() % 20000);
            co_await pause(stay);
          }
          while (!holds.empty()) {
            const auto at = static_cast<std::ptrdiff_t>(engine() % holds.size());
            note(owner, holds[static_cast<std::size_t>(at)]);
            co_await holds[static_cast<std::size_t>(at)].release(as_tuple);
            holds.erase(holds.begin() + at);
          }
        }
      };
      const auto replace = [&](std::size_t i) {
        programs[i] = std::make_unique<other_program>(redis);
        other_program& p = *programs[i];
        p.start(enter_and_leave(p.client(), owners[i]));
      };
      for (std::size_t i = 0; i < owners.size(); ++i) replace(i);
      run([&]() -> awaitable<void> {
        for (unsigned i = 0; i < 20 / rarer; ++i) {
          // The queue goes on after each death, and comes to everybody.
          seen.clear();
          co_await eventually("every owner has been in", [&] { return seen.size() == 3; });
          const auto sooner_or_later = std::chrono::microseconds(engine() % 10000);
          co_await pause(sooner_or_later);
          replace(engine() % owners.size());
        }
      });
      programs.clear();
      BOOST_TEST(tenures > 20 / static_cast<int>(rarer));
      redis.command("FLUSHALL");
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
