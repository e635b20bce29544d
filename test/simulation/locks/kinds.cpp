// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What all kinds of locks do alike, through the public interface. kinds_with_slots.cpp runs the same on a server that
// checks slots.
#include "support/kinds.hpp"
#include "simulation/with_memory.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::test {

#ifndef LEASEHOLD_KINDS_ON
#define LEASEHOLD_KINDS_ON kinds, with_kinds_on<with_memory>
#endif
BOOST_FIXTURE_TEST_SUITE(LEASEHOLD_KINDS_ON)

BOOST_AUTO_TEST_CASE(who_waits_is_served_in_the_order_of_coming) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      asker first(k.holder(client(executor, redis.url())));
      co_await acquired(first);
      std::deque<asker> all;
      for (int i = 0; i < 5; ++i) {
        all.emplace_back(k.next(client(executor, redis.url()), i)).acquire();
        co_await wait_in_queue(i + 1);
      }
      const lock_info info = co_await inspected(first.lock);
      BOOST_TEST(info.held);
      BOOST_TEST(info.holders == 1U);
      BOOST_TEST(info.waiters == 5U);
      BOOST_TEST(info.token == first.got.token());
      BOOST_TEST(info.fence == first.got.fence());
      BOOST_TEST(info.ttl.has_value());
      auto fence = first.got.fence();
      co_await first.got.release();
      for (std::size_t i = 0; i < all.size(); ++i) {
        co_await eventually("the next is in", [&] { return all[i].in(); });
        if (k.together && i > 0) {
          BOOST_TEST(all[i].got.fence() == fence);
          continue;
        }
        BOOST_TEST(all[i].got.fence() > fence);
        fence = all[i].got.fence();
        if (k.together) continue;
        for (std::size_t j = i + 1; j < all.size(); ++j) BOOST_TEST(!all[j].ended());
        co_await all[i].got.release();
      }
      if (k.together) {
        for (auto& a : all) co_await a.got.release();
      }
      co_await nothing_left();
    });
  });
}

BOOST_AUTO_TEST_CASE(a_free_lock_of_each_kind_and_its_release_are_two_scripts) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      client c(co_await asio::this_coro::executor, redis.url());
      asker a(k.holder(c));
      // The first time the client may learn that keys are tagged.
      co_await acquired(a);
      co_await a.got.release();
      const auto before = redis.scripts();
      for (int pairs = 1; pairs <= 5; ++pairs) {
        co_await acquired(a);
        co_await pause(50ms);  // A grant by an answer needs no confirmation.
        BOOST_TEST(redis.scripts() == before + 2 * pairs - 1);
        co_await a.got.release();
        BOOST_TEST(redis.scripts() == before + 2 * pairs);
      }
    });
  });
}

BOOST_AUTO_TEST_CASE(many_of_one_client_are_served_and_are_one_entry) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      asker first(k.holder(client(executor, redis.url())));
      co_await acquired(first);
      client c(executor, redis.url());
      std::deque<asker> all;
      int served = 0;
      // Of each of two owners.
      const bool owners = k.name == std::string("recursive_mutex");
      std::array<int, 2> inside{};
      const auto one = [&](asker& a, std::size_t owner) -> awaitable<void> {
        // No waiter polls again and again: two hundred would take the processor for themselves.
        auto acquiring = std::visit([](const auto& l) { return l.acquire(asio::use_awaitable); }, a.lock);
        hold h = co_await std::move(acquiring);
        ++inside[owner];
        BOOST_TEST((k.together || inside[1 - owner] == 0));
        BOOST_TEST((k.together || owners || inside[owner] == 1));
        co_await pause(100us);
        --inside[owner];
        co_await h.release();
        ++served;
      };
      for (int i = 0; i < 200; ++i) all.emplace_back(k.next(c, i % 2));
      all.front().acquire();
      co_await wait_in_queue(1);
      all.front().signal.emit(asio::cancellation_type::total);
      co_await wait_in_queue(0);
      for (std::size_t i = 0; i < all.size(); ++i) asio::co_spawn(executor, one(all[i], i % 2), asio::detached);
      // Two owners are two entries.
      co_await eventually("all wait", [&] { return c.stats().waiting == 200; });
      co_await wait_in_queue(owners ? 2 : 1);
      co_await first.got.release();
      co_await eventually("all were served", [&] { return served == 200; });
      co_await nothing_left();
    });
  });
}

BOOST_AUTO_TEST_CASE(try_acquire_neither_joins_a_queue_nor_overtakes_it) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      asker first(k.holder(client(executor, redis.url())));
      co_await acquired(first);
      asker waiting(k.next(client(executor, redis.url()), 0));
      waiting.acquire();
      co_await wait_in_queue(1);
      // The one who would like to be next to the holder, and the one who stands behind who waits.
      asker late(k.next(client(executor, redis.url()), 1));
      asker like_first(k.holder(client(executor, redis.url())));
      const bool reenters = k.name == std::string("recursive_mutex");
      BOOST_TEST(!(co_await tried(late)));
      BOOST_TEST((co_await tried(like_first)) == reenters);
      like_first.got = hold();
      co_await eventually("that is released", [&] { return redis.command("HLEN", "n").integer <= 3; });
      late.acquire({.wait = 0ms});
      co_await eventually("it ends", [&] { return late.ended(); });
      BOOST_TEST(*late.ec == error::timed_out);
      BOOST_TEST(in_queue() == 1);
      // Free, by hand: the head gets in, not who asks.
      redis.command("DEL", "n");
      const bool beside = co_await tried(late);
      BOOST_TEST(beside == k.together);
      co_await eventually("the first waiter in the queue is in", [&] { return waiting.in(); });
      co_await waiting.got.release();
      if (beside) co_await late.got.release();
      BOOST_TEST((co_await tried(late)));
      co_await late.got.release();
      auto [gone] = co_await first.got.release(as_tuple);
      BOOST_TEST(gone == error::lost);
      co_await nothing_left();
    });
  });
}

BOOST_AUTO_TEST_CASE(who_runs_into_a_deadline_leaves_the_queue) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      asker first(k.holder(client(executor, redis.url())));
      co_await acquired(first);
      asker patient(k.next(client(executor, redis.url()), 0));
      patient.acquire();
      co_await wait_in_queue(1);
      client c(executor, redis.url());
      asker a(k.next(c, 1));
      for (int i = 0; i < 3; ++i) {
        const auto start = now();
        a.acquire({.wait = 50ms});
        co_await eventually("it ends", [&] { return a.ended(); });
        BOOST_TEST(*a.ec == error::timed_out);
        BOOST_TEST((now() - start >= 50ms && now() - start <= 151ms));
        co_await wait_in_queue(1);
      }
      BOOST_TEST(c.stats().timed_out == 3U);
      BOOST_TEST(c.stats().waiting == 0U);
      co_await first.got.release();
      co_await eventually("the other is in", [&] { return patient.in(); });
      co_await patient.got.release();
      co_await nothing_left();
    });
  });
}

BOOST_AUTO_TEST_CASE(who_is_cancelled_leaves_the_queue_to_those_behind) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      asker first(k.holder(client(executor, redis.url())));
      co_await acquired(first);
      std::deque<asker> all;
      for (int i = 0; i < 4; ++i) {
        all.emplace_back(k.next(client(executor, redis.url()), i)).acquire();
        co_await wait_in_queue(i + 1);
      }
      for (const std::size_t i : {0U, 2U}) {
        all[i].signal.emit(i == 0 ? asio::cancellation_type::total : asio::cancellation_type::terminal);
        co_await eventually("it ends", [&] { return all[i].ended(); });
        BOOST_TEST(*all[i].ec == asio::error::operation_aborted);
      }
      co_await wait_in_queue(2);
      co_await first.got.release();
      co_await eventually("the next is in", [&] { return all[1].in(); });
      BOOST_TEST((k.together || !all[3].ended()));
      co_await all[1].got.release();
      co_await eventually("and the last", [&] { return all[3].in(); });
      co_await all[3].got.release();
      co_await nothing_left();
    });
  });
}

BOOST_AUTO_TEST_CASE(a_lease_is_renewed_as_often_as_was_asked_for) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client c(executor, redis.url());
      asker always(k.holder(c));
      co_await acquired(always, {.lease = 600ms});
      co_await eventually("it lives on", [&] { return c.stats().renewed >= 5; });
      BOOST_TEST(always.got.valid());
      BOOST_TEST(c.stats().lost == 0U);
      const auto token = always.got.token();
      co_await always.got.release();
      asker once(k.next(c, 1));
      const auto before = c.stats().renewed;
      co_await acquired(once, {.lease = 600ms, .renew = renewal::at_most(1)});
      once.watch();
      const auto start = now();
      BOOST_TEST(once.got.token() != token);
      co_await eventually("it is lost", [&] { return once.lost.ended(); });
      BOOST_TEST((now() - start > 600ms && now() - start < 1200ms));
      BOOST_TEST(!*once.lost.ec);
      BOOST_TEST(c.stats().renewed == before + 1);
      asker never(k.next(c, 2));
      co_await acquired(never, {.lease = 300ms, .renew = renewal::none});
      never.watch();
      co_await eventually("it is lost", [&] { return never.lost.ended(); });
      BOOST_TEST(c.stats().renewed == before + 1);
      BOOST_TEST(!never.got.valid());
      co_await nothing_left();
    });
  });
}

// A3, A8.
BOOST_AUTO_TEST_CASE(extend_lengthens_and_never_shortens) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      asker a(k.holder(client(executor, redis.url())));
      co_await acquired(a, {.lease = 5s, .renew = renewal::none});
      const auto before = now();
      co_await a.got.extend(60s);
      BOOST_TEST(a.got.expires_at() > before + 50s);
      BOOST_TEST(a.got.expires_at() < now() + 60s);
      BOOST_TEST(redis.ttl("n") > 50000);
      const auto end = a.got.expires_at();
      co_await a.got.extend(1ms);
      BOOST_TEST(a.got.expires_at() >= end - 1ms);
      BOOST_TEST(redis.ttl("n") > 50000);
      auto [bad] = co_await a.got.extend(0ms, as_tuple);
      BOOST_TEST(bad == error::invalid_option);
      co_await a.got.release();
      auto [gone] = co_await a.got.extend(5s, as_tuple);
      BOOST_TEST(gone == error::not_held);
      co_await nothing_left();
    });
  });
}

// Promise 4.
BOOST_AUTO_TEST_CASE(what_is_lost_stays_lost_and_is_told) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client c(executor, redis.url());
      asker a(k.holder(c));
      co_await acquired(a);
      a.watch();
      redis.command("DEL", "n");
      auto [extended] = co_await a.got.extend(10s, as_tuple);
      BOOST_TEST(extended == error::lost);
      co_await eventually("the loss is reported", [&] { return a.lost.ended(); });
      BOOST_TEST(!*a.lost.ec);
      BOOST_TEST(!a.got.valid());
      auto [released] = co_await a.got.release(as_tuple);
      BOOST_TEST(released == error::lost);
      // Found out by a renewal, and by the release.
      asker b(k.holder(c));
      co_await acquired(b, {.lease = 600ms});
      b.watch();
      redis.command("DEL", "n");
      co_await eventually("the loss is reported", [&] { return b.lost.ended(); });
      asker d(k.holder(c));
      co_await acquired(d);
      redis.command("DEL", "n");
      auto [late] = co_await d.got.release(as_tuple);
      BOOST_TEST(late == error::lost);
      auto [again] = co_await d.got.release(as_tuple);
      BOOST_TEST(again == error::not_held);
      BOOST_TEST(redis.size() == 0U);
      BOOST_TEST(c.stats().lost == 3U);
    });
  });
}

BOOST_AUTO_TEST_CASE(closing_fails_who_waits_and_releases_what_is_held) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client c(executor, redis.url());
      asker a(k.holder(c));
      co_await acquired(a);
      a.watch();
      std::deque<asker> all;
      for (int i = 0; i < 20; ++i) all.emplace_back(k.next(c, i % 3)).acquire();
      co_await eventually("they wait", [&] { return in_queue() >= 1 && c.stats().waiting == 20; });
      co_await c.close();
      co_await eventually("all have ended", [&] {
        return a.lost.ended() && std::all_of(all.begin(), all.end(), [](const asker& w) { return w.ended(); });
      });
      BOOST_TEST(!*a.lost.ec);
      for (auto& w : all) BOOST_TEST(*w.ec == error::closed);
      BOOST_TEST(!a.got.valid());
      BOOST_TEST(redis.size() == 0U);
      asker late(k.holder(c));
      late.acquire();
      co_await eventually("it ends", [&] { return late.ended(); });
      BOOST_TEST(*late.ec == error::closed);
    });
  });
}

BOOST_AUTO_TEST_CASE(with_lock_takes_every_kind) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client c(executor, redis.url());
      const any_lock lock = k.next(c, 1);
      int ran = 0;
      const auto body = [&](hold& h) -> awaitable<void> {
        ++ran;
        BOOST_TEST(h.valid());
        BOOST_TEST(redis.size() == 1U);
        co_await turn();
      };
      const auto with = [&](const auto& l) -> awaitable<void> {
        co_await with_lock(l, body);
        co_await with_lock(l, {.lease = 5s}, body);
      };
      co_await std::visit(with, lock);
      BOOST_TEST(ran == 2);
      BOOST_TEST(redis.size() == 0U);
      // The loss stops the work.
      bool stopped = false;
      const auto slow = [&](hold&) -> awaitable<void> {
        redis.command("DEL", "n");
        asio::steady_timer timer(executor, 1h);
        auto [ec] = co_await timer.async_wait(as_tuple);
        stopped = ec == asio::error::operation_aborted;
        throw system_error(asio::error::operation_aborted);
      };
      const auto lose = [&](const auto& l) -> awaitable<void> { co_await with_lock(l, {.lease = 600ms}, slow); };
      error_code ec;
      try {
        co_await std::visit(lose, lock);
      } catch (const system_error& e) {
        ec = e.code();
      }
      BOOST_TEST(ec == error::lost);
      BOOST_TEST(stopped);
    });
  });
}

// B10.
BOOST_AUTO_TEST_CASE(a_name_that_another_kind_uses_is_refused) {
  const std::vector<std::size_t> different{0, 1, 2, 5};
  for (const std::size_t one : different) {
    for (const std::size_t other : different) {
      if (one == other) continue;
      const kind& k = all_kinds[one];
      const kind& l = all_kinds[other];
      BOOST_TEST_CONTEXT(l.name << " where there is a " << k.name) {
        run([&]() -> awaitable<void> {
          const auto executor = co_await asio::this_coro::executor;
          client c(executor, redis.url());
          asker a(k.holder(c));
          co_await acquired(a);
          // Those of a mutex are strings, which a mutex waits for whoever's they are, and of no other type.
          asker b(l.next(client(executor, redis.url()), 1));
          b.acquire();
          co_await eventually("it ends", [&] { return b.ended(); });
          BOOST_TEST(*b.ec == error::wrong_type);
          // Free, and somebody waits for the other kind.
          asker waiting(k.next(c, 2));
          waiting.acquire();
          co_await wait_in_queue(1);
          redis.command("DEL", "n");
          b.acquire();
          co_await eventually("it ends", [&] { return b.ended(); });
          BOOST_TEST(*b.ec == error::wrong_type);
          b.try_acquire();
          co_await eventually("it ends", [&] { return b.ended(); });
          BOOST_TEST(*b.ec == error::wrong_type);
          co_await eventually("it gets in", [&] { return waiting.in(); });
          co_await waiting.got.release();
          auto [gone] = co_await a.got.release(as_tuple);
          BOOST_TEST(gone == error::lost);
          co_await nothing_left();
        });
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_key_that_holds_something_else_is_refused) {
  for_each_kind(redis, [&](const kind& k) {
    for (const std::string what : {"list", "hash", "our field"}) {
      BOOST_TEST_CONTEXT(what) {
        redis.command("DEL", "n");
        if (what == "list") redis.command("RPUSH", "n", "x");
        if (what == "hash") redis.command("HSET", "n", "a", "b", "c", "1");
        if (what == "our field") redis.command("HSET", "n", "leasehold", "something new 7");
        const auto dump = [&] {
          redis.command("DEL", "leasehold:{0}:fence");  // A client with tagged keys writes its mark all the same.
          return redis.server().data().dump();
        };
        const std::string before = dump();
        run([&]() -> awaitable<void> {
          asker a(k.holder(client(co_await asio::this_coro::executor, redis.url())));
          a.acquire();
          co_await eventually("it ends", [&] { return a.ended(); });
          BOOST_TEST(*a.ec == error::wrong_type);
        });
        BOOST_TEST(dump() == before);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(options_and_names_are_checked) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    for (const std::string& name : {std::string(), std::string(65537, 'x'), std::string("leasehold:x")}) {
      std::deque<asker> all;
      all.emplace_back(mutex(c, name));
      all.emplace_back(recursive_mutex(c, name, "owner"));
      all.emplace_back(shared_mutex(c, name));
      all.emplace_back(shared_mutex(c, name).shared());
      all.emplace_back(counting_semaphore(c, name, 1));
      for (auto& a : all) {
        a.acquire();
        co_await eventually("it ends", [&] { return a.ended(); });
        BOOST_TEST(*a.ec == error::invalid_name);
        a.try_acquire();
        co_await eventually("it ends", [&] { return a.ended(); });
        BOOST_TEST(*a.ec == error::invalid_name);
      }
    }
    for (const kind& k : all_kinds) {
      asker a(k.holder(c));
      a.acquire({.lease = 0ms});
      co_await eventually("it ends", [&] { return a.ended(); });
      BOOST_TEST(*a.ec == error::invalid_option);
    }
    BOOST_TEST(c.stats().commands == 0U);
  });
}

// A context that ends first: nothing is done any more, and nothing is touched that has gone.
BOOST_AUTO_TEST_CASE(everything_may_outlive_the_context) {
  for_each_kind(redis, [&](const kind& k) {
    auto context = std::make_unique<asio::io_context>();
    std::optional<client> c(std::in_place, *context, redis.url());
    asker a(k.holder(*c));
    std::deque<asker> all;
    for (int i = 0; i < 10; ++i) all.emplace_back(k.next(*c, i % 3));
    a.acquire();
    const auto run_until = [&](const auto& condition) {
      auto& world = redis.world();
      BOOST_REQUIRE(world.run(world.now() + limit, condition, [&] { context->poll(); }));
    };
    run_until([&] { return a.ended(); });
    a.watch();
    for (auto& w : all) w.acquire();
    run_until([&] { return in_queue() >= 1 && c->stats().waiting == 10; });
    context.reset();
    BOOST_TEST(!a.lost.ended());
    for (auto& w : all) BOOST_TEST(!w.ended());
    a.got.release([](error_code) { BOOST_ERROR("a completion after the context's end"); });
    for (auto& w : all) w.acquire();
    BOOST_TEST(a.got.name() == "n");
    a.got = hold();
    c.reset();
    all.clear();
    BOOST_TEST(redis.command("EXISTS", "n").integer == 1);
  });
}

BOOST_AUTO_TEST_CASE(destruction_of_a_hold_hands_the_lock_on) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      asker a(k.holder(client(executor, redis.url())));
      co_await acquired(a);
      a.watch();
      asker b(k.next(client(executor, redis.url()), 1));
      b.acquire();
      co_await wait_in_queue(1);
      a.got = hold();
      co_await eventually("the next is in", [&] { return b.in() && a.lost.ended(); });
      BOOST_TEST(*a.lost.ec == error::not_held);
      b.got = hold();
      co_await nothing_left();
    });
  });
}

BOOST_AUTO_TEST_CASE(downgrade_is_for_writers_only) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      asker a(k.holder(client(executor, redis.url())));
      co_await acquired(a);
      auto [ec] = co_await a.got.downgrade(as_tuple);
      const bool writer = std::holds_alternative<shared_mutex>(a.lock);
      BOOST_TEST(ec == (writer ? error_code() : make_error_code(error::not_supported)));
      BOOST_TEST(a.got.valid());
      co_await a.got.release();
      auto [gone] = co_await a.got.downgrade(as_tuple);
      BOOST_TEST(gone == error::not_held);
      co_await nothing_left();
    });
  });
  run([&]() -> awaitable<void> {
    hold none;
    auto [ec] = co_await none.downgrade(as_tuple);
    BOOST_TEST(ec == error::not_held);
  });
}

BOOST_AUTO_TEST_CASE(names_and_owners_may_be_views) {
  asio::io_context context;
  const client c(context, redis.url());
  const std::string_view name = "name", owner = "owner";
  const std::string text = "name";
  BOOST_TEST(mutex(c, name).name() == "name");
  BOOST_TEST(mutex(c, "name").name() == "name");
  BOOST_TEST(mutex(c, text).name() == "name");
  BOOST_TEST(recursive_mutex(c, name, owner).name() == "name");
  BOOST_TEST(recursive_mutex(c, name, "owner").name() == "name");
  BOOST_TEST(recursive_mutex(c, text, owner).name() == "name");
  BOOST_TEST(shared_mutex(c, name).name() == "name");
  BOOST_TEST(shared_mutex(c, name, owner).name() == "name");
  BOOST_TEST(shared_mutex(c, "name", owner).shared().name() == "name");
  BOOST_TEST(counting_semaphore(c, name, 3).name() == "name");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test

#undef LEASEHOLD_KINDS_ON
