// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Cancellation at every point at which an operation may be suspended: it ends promptly with operation_aborted and
// leaves no lock.
#include "simulation/with_memory.hpp"

#include <string>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(cancellation, with_memory)

namespace {

constexpr asio::cancellation_type all_types[] = {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                                                 asio::cancellation_type::total};

// An operation under way that can be cancelled.
struct cancellable {
  asio::cancellation_signal signal;
  std::optional<error_code> ec;
  std::optional<hold> got;

  bool ended() const { return ec.has_value(); }
  void acquire(const mutex& lock, acquire_options o = {}) {
    lock.acquire(o, asio::bind_cancellation_slot(signal.slot(), [this](error_code e, hold h) {
                   ec = e;
                   if (h.valid()) got = std::move(h);
                 }));
  }
  void try_acquire(const mutex& lock, acquire_options o = {}) {
    lock.try_acquire(o, asio::bind_cancellation_slot(signal.slot(), [this](error_code e, std::optional<hold> h) {
                       ec = e;
                       got = std::move(h);
                     }));
  }
  auto handler() {
    return asio::bind_cancellation_slot(signal.slot(), [this](error_code e) { ec = e; });
  }
  awaitable<void> cancel(asio::cancellation_type type) {
    signal.emit(type);
    const auto start = now();
    co_await eventually("the cancelled operation ends", [this] { return ended(); });
    BOOST_TEST(*ec == asio::error::operation_aborted);
    // Promptly: well before any time-out of the client's.
    BOOST_TEST(now() - start < 20s);
    BOOST_TEST(!got.has_value());
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_cancelled_acquire_does_not_wait_for_a_server_that_hangs) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    co_await c.ready();
    for (int i = 0; i < 5; ++i) {
      mutex lock(c, "n" + std::to_string(i));
      redis.stop();
      cancellable a;
      a.acquire(lock);
      co_await turn();
      const auto start = now();
      co_await a.cancel(asio::cancellation_type::total);
      BOOST_TEST(now() - start <= 101ms);
      redis.go_on();
    }
    co_await eventually("nothing is left", [&] { return redis.size() == 0; });
  });
}

BOOST_AUTO_TEST_CASE(while_connecting) {
  run([&]() -> awaitable<void> {
    gate network(redis);
    network.hold_replies();
    client c(co_await asio::this_coro::executor, network.url(), patient());
    mutex lock(c, "n");
    for (const auto type : all_types) {
      cancellable a;
      a.acquire(lock);
      cancellable t;
      t.try_acquire(lock);
      cancellable r;
      c.ready(r.handler());
      cancellable i;
      lock.inspect(asio::bind_cancellation_slot(i.signal.slot(), [&](error_code ec, lock_info) { i.ec = ec; }));
      co_await turn();
      BOOST_TEST(!a.ended());
      BOOST_TEST(!r.ended());
      co_await a.cancel(type);
      co_await t.cancel(type);
      co_await r.cancel(type);
      co_await i.cancel(type);
    }
    BOOST_TEST(c.stats().waiting == 0U);
    BOOST_TEST(c.stats().cancelled == 6U);
    network.pass();
    co_await c.ready();
    BOOST_TEST(redis.size() == 0U);
    BOOST_TEST(c.stats().commands == 0U);
  });
}

BOOST_AUTO_TEST_CASE(while_the_store_is_down) {
  redis.kill();
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    mutex lock(c, "n");
    for (const auto type : all_types) {
      cancellable a;
      a.acquire(lock);
      cancellable t;
      t.try_acquire(lock);
      co_await pause(10ms);
      BOOST_TEST(!a.ended());
      BOOST_TEST(!t.ended());
      co_await a.cancel(type);
      co_await t.cancel(type);
    }
    BOOST_TEST(c.stats().waiting == 0U);
  });
}

BOOST_AUTO_TEST_CASE(at_once_after_the_start) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    co_await c.ready();
    mutex lock(c, "n");
    for (const auto type : all_types) {
      cancellable a;
      a.acquire(lock);
      co_await a.cancel(type);
      cancellable t;
      t.try_acquire(lock);
      co_await t.cancel(type);
    }
    BOOST_TEST(c.stats().waiting == 0U);
    auto free = co_await lock.try_acquire();
    BOOST_TEST(free.has_value());
  });
}

// The request has gone out, the server has granted the lock, and the reply is on its way.
BOOST_AUTO_TEST_CASE(while_the_reply_with_the_grant_is_on_its_way) {
  run([&]() -> awaitable<void> {
    gate network(redis);
    client c(co_await asio::this_coro::executor, network.url(), patient());
    mutex lock(c, "n");
    co_await c.ready();
    for (const auto type : all_types) {
      for (const bool once : {false, true}) {
        const auto replies = network.replies();
        network.hold_replies();
        cancellable a;
        once ? a.try_acquire(lock) : a.acquire(lock);
        co_await eventually("the server has granted it",
                            [&] { return redis.get("n").has_value() || network.replies() > replies; });
        co_await a.cancel(type);
        network.pass();
        co_await eventually("it is free", [&] { return !redis.get("n"); });
        auto free = co_await lock.try_acquire();
        BOOST_TEST(free.has_value());
      }
    }
    co_await eventually("nothing is held", [&] { return c.stats().held == 0; });
    BOOST_TEST(c.stats().withdrawn >= 6U);
  });
}

// As long as the store answers, the lock is free again when the cancelled operation completes.
BOOST_AUTO_TEST_CASE(a_grant_under_way_has_been_released_when_the_operation_completes) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    co_await c.ready();
    mutex lock(c, "n");
    for (int i = 0; i < 50; ++i) {
      cancellable a;
      a.acquire(lock);
      // Sooner or later on its way.
      co_await pause(i * 100us);
      if (a.ended()) {
        a.got.reset();
        co_await eventually("it is free", [&] { return !redis.get("n"); });
        continue;
      }
      a.signal.emit(asio::cancellation_type::total);
      co_await eventually("it ends", [&] { return a.ended(); });
      if (*a.ec) {
        BOOST_TEST(*a.ec == asio::error::operation_aborted);
        BOOST_TEST(!redis.get("n"));
      } else {
        a.got.reset();
        co_await eventually("it is free", [&] { return !redis.get("n"); });
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(while_it_pauses_between_attempts) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    redis.command("SET", "n", "somebody's");
    std::uint64_t contended = 0;
    for (const auto type : all_types) {
      cancellable a;
      a.acquire(lock, {.retry = {.first = 1h, .max = 1h, .factor = 1.0, .jitter = 0.0}});
      ++contended;
      co_await eventually("it pauses", [&] { return c.stats().contended == contended; });
      co_await turn();
      co_await a.cancel(type);
    }
    BOOST_TEST(redis.get("n").value() == "somebody's");
    BOOST_TEST(c.stats().waiting == 0U);
    lock_info info = co_await lock.inspect();
    BOOST_TEST(info.waiters == 0U);
  });
}

// Cancellation and grant race; whoever wins, nothing is left.
BOOST_AUTO_TEST_CASE(in_a_race_with_the_grant_nothing_is_left) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    co_await c.ready();
    mutex lock(c, "n");
    int granted = 0;
    for (int i = 0; i < 300; ++i) {
      cancellable a;
      a.acquire(lock);
      co_await pause(std::chrono::microseconds(20 * i));
      a.signal.emit(asio::cancellation_type::terminal);
      co_await eventually("it ends", [&] { return a.ended(); });
      if (!*a.ec) {
        ++granted;
        BOOST_TEST(a.got->valid());
        co_await a.got->release();
      } else {
        BOOST_TEST(*a.ec == asio::error::operation_aborted);
        BOOST_TEST(!a.got.has_value());
      }
      BOOST_TEST(!redis.get("n"));
    }
    BOOST_TEST(granted > 50);
    BOOST_TEST(granted < 250);
    BOOST_TEST(c.stats().cancelled == static_cast<std::uint64_t>(300 - granted));
  });
}

// A cancelled acquire whose connection breaks before anything is known.
BOOST_AUTO_TEST_CASE(with_a_connection_that_breaks_nothing_is_left) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.reconnect = {.first = 1ms, .max = 5ms, .factor = 2.0, .jitter = 0.5};
    gate network(redis);
    client c(co_await asio::this_coro::executor, network.url(), o);
    mutex lock(c, "n");
    co_await c.ready();
    for (const auto type : all_types) {
      const auto replies = network.replies();
      network.hold_replies();
      cancellable a;
      a.acquire(lock);
      co_await eventually("the server has answered", [&] { return network.replies() > replies; });
      co_await a.cancel(type);
      const auto reconnects = c.stats().reconnects;
      network.cut();
      co_await eventually("it is connected again", [&] { return c.stats().reconnects > reconnects; });
      co_await eventually("it is free", [&] { return !redis.get("n"); });
    }
    BOOST_TEST(c.stats().held == 0U);
  });
}

// It waited in the queue, and its polls could not be sent any more.
BOOST_AUTO_TEST_CASE(who_is_cancelled_out_of_reach_does_not_stay_in_the_queue) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client first(executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    client_options o;
    o.reconnect = {.first = 1ms, .max = 5ms, .factor = 2.0, .jitter = 0.5};
    gate network(redis);
    client c(executor, network.url(), o);
    const mutex lock(c, "n");
    for (const bool by_deadline : {false, true}) {
      cancellable a;
      a.acquire(lock, {.wait = by_deadline ? 3s : 1h});
      co_await eventually("it waits in the queue", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
      network.refuse();
      network.cut();
      // The first in the queue polls every 667 ms.
      co_await pause(1500ms);
      if (by_deadline) {
        co_await eventually("the wait ends", [&] { return a.ended(); });
        BOOST_TEST(*a.ec == error::unreachable);
      } else {
        co_await a.cancel(asio::cancellation_type::terminal);
      }
      network.refuse(false);
      co_await eventually("it has left the queue", [&] { return redis.command("ZCARD", the_queue).integer == 0; });
    }
    BOOST_TEST(c.stats().withdrawn == 2U);
    co_await h.release();
  });
}

// What cannot be withdrawn keeps the client no longer than closing may take.
BOOST_AUTO_TEST_CASE(with_a_store_that_is_gone_the_client_still_ends) {
  const auto start = now();
  run([&]() -> awaitable<void> {
    client_options o;
    o.connect_timeout = 500ms;
    gate network(redis);
    client c(co_await asio::this_coro::executor, network.url(), o);
    co_await c.ready();
    network.hold_replies();
    cancellable a;
    a.acquire(mutex(c, "n"), {.lease = std::chrono::minutes(10)});
    co_await pause(5ms);
    co_await a.cancel(asio::cancellation_type::terminal);
    redis.kill();
  });
  BOOST_TEST(now() - start < 20s);
}

// For release, extend and close cancellation only stops the waiting.
BOOST_AUTO_TEST_CASE(a_release_that_is_cancelled_goes_on) {
  run([&]() -> awaitable<void> {
    gate network(redis);
    client c(co_await asio::this_coro::executor, network.url(), patient());
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial}) {
      hold h = co_await mutex(c, "n").acquire();
      network.hold_requests();
      cancellable r;
      h.release(r.handler());
      co_await pause(10ms);
      co_await r.cancel(type);
      BOOST_TEST(!h.valid());
      BOOST_TEST(redis.get("n").has_value());
      network.pass();
      co_await eventually("it is free", [&] { return !redis.get("n"); });
    }
  });
}

BOOST_AUTO_TEST_CASE(a_release_of_several_that_is_cancelled_goes_on) {
  run([&]() -> awaitable<void> {
    gate network(redis);
    client c(co_await asio::this_coro::executor, network.url(), patient());
    const mutex a(c, "a"), b(c, "b");
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial}) {
      auto both = co_await acquire_all(a, b);
      network.hold_requests();
      cancellable r;
      both.release(r.handler());
      co_await pause(10ms);
      BOOST_TEST(!r.ended());
      co_await r.cancel(type);
      BOOST_TEST(!both.valid());
      BOOST_TEST(redis.size() == 2U);
      network.pass();
      co_await eventually("both are free", [&] { return redis.size() == 0; });
    }
  });
}

BOOST_AUTO_TEST_CASE(an_extension_that_is_cancelled_goes_on) {
  run([&]() -> awaitable<void> {
    gate network(redis);
    client c(co_await asio::this_coro::executor, network.url(), patient());
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial}) {
      hold h = co_await mutex(c, "n").acquire({.lease = 30s});
      network.hold_requests();
      cancellable x;
      h.extend(std::chrono::minutes(10), x.handler());
      co_await pause(10ms);
      co_await x.cancel(type);
      BOOST_TEST(h.valid());
      network.pass();
      co_await eventually("it is extended", [&] { return redis.ttl("n") > 500000; });
      co_await eventually("and known to be", [&] { return h.expires_at() > now() + 500s; });
      co_await h.release();
    }
  });
}

// As a release: what was sent, or had to wait for a connection, is repeated though no caller waits for it any more.
BOOST_AUTO_TEST_CASE(an_extension_and_a_downgrade_that_are_cancelled_are_repeated_after_a_cut) {
  run([&]() -> awaitable<void> {
    gate network(redis);
    client c(co_await asio::this_coro::executor, network.url(), patient());
    for (const bool is_on_its_way : {false, true}) {
      hold h = co_await shared_mutex(c, "n").acquire({.lease = 30s, .renew = renewal::none});
      if (is_on_its_way) network.hold_requests();
      network.refuse();
      if (!is_on_its_way) network.cut();
      co_await pause(10ms);
      cancellable longer, reader;
      h.extend(std::chrono::minutes(10), longer.handler());
      h.downgrade(reader.handler());
      co_await pause(10ms);
      co_await longer.cancel(asio::cancellation_type::terminal);
      co_await reader.cancel(asio::cancellation_type::partial);
      if (is_on_its_way) network.cut();
      co_await pause(1s);
      network.refuse(false);
      co_await eventually("it is extended", [&] { return h.expires_at() > now() + 500s; });
      hold beside = co_await shared_mutex(c, "n").acquire_shared({.wait = 1s});
      BOOST_TEST(beside.valid());
      co_await beside.release();
      co_await h.release();
    }
  });
}

BOOST_AUTO_TEST_CASE(an_extension_and_a_downgrade_that_are_cancelled_are_given_up_after_the_command_timeout) {
  run([&]() -> awaitable<void> {
    gate network(redis);
    client_options o;
    o.command_timeout = 2s;
    client c(co_await asio::this_coro::executor, network.url(), o);
    hold h = co_await shared_mutex(c, "n").acquire({.lease = 30s, .renew = renewal::none});
    network.refuse();
    network.cut();
    co_await pause(10ms);
    cancellable longer, reader;
    h.extend(std::chrono::minutes(10), longer.handler());
    h.downgrade(reader.handler());
    co_await pause(10ms);
    co_await longer.cancel(asio::cancellation_type::terminal);
    co_await reader.cancel(asio::cancellation_type::terminal);
    co_await pause(2s);
    network.refuse(false);
    co_await eventually("it is connected again", [&] { return c.stats().reconnects == 1U; });
    co_await pause(5s);
    BOOST_TEST(redis.ttl("n") < 30000);
    BOOST_TEST(h.expires_at() < now() + 30s);
    const auto [ec, beside] = co_await shared_mutex(c, "n").try_acquire_shared(as_tuple);
    BOOST_TEST(!ec);
    BOOST_TEST(!beside.has_value());
    co_await h.release();
  });
}

BOOST_AUTO_TEST_CASE(an_extension_that_is_cancelled_is_repeated_while_the_server_is_busy) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    hold h = co_await mutex(c, "n").acquire({.lease = 30s, .renew = renewal::none});
    redis.server().is_busy = true;
    cancellable x;
    h.extend(std::chrono::minutes(10), x.handler());
    co_await pause(10ms);
    co_await x.cancel(asio::cancellation_type::terminal);
    co_await pause(200ms);
    redis.server().is_busy = false;
    co_await eventually("it is extended", [&] { return h.expires_at() > now() + 500s; });
    co_await h.release();
  });
}

// Total cancellation promises that nothing has happened, which these cannot.
BOOST_AUTO_TEST_CASE(release_and_extend_do_not_obey_total_cancellation) {
  run([&]() -> awaitable<void> {
    gate network(redis);
    client c(co_await asio::this_coro::executor, network.url(), patient());
    hold h = co_await mutex(c, "n").acquire();
    network.hold_requests();
    cancellable x;
    h.extend(60s, x.handler());
    co_await pause(10ms);
    x.signal.emit(asio::cancellation_type::total);
    cancellable r;
    co_await pause(10ms);
    BOOST_TEST(!x.ended());
    network.pass();
    co_await eventually("it ends", [&] { return x.ended(); });
    BOOST_TEST(!*x.ec);
    network.hold_requests();
    h.release(r.handler());
    co_await pause(10ms);
    r.signal.emit(asio::cancellation_type::total);
    co_await pause(10ms);
    BOOST_TEST(!r.ended());
    network.pass();
    co_await eventually("it ends", [&] { return r.ended(); });
    BOOST_TEST(!*r.ec);
  });
}

BOOST_AUTO_TEST_CASE(a_release_of_several_does_not_obey_total_cancellation) {
  run([&]() -> awaitable<void> {
    gate network(redis);
    client c(co_await asio::this_coro::executor, network.url(), patient());
    const mutex a(c, "a"), b(c, "b");
    auto both = co_await acquire_all(a, b);
    network.hold_requests();
    cancellable r;
    both.release(r.handler());
    co_await pause(10ms);
    r.signal.emit(asio::cancellation_type::total);
    co_await pause(10ms);
    BOOST_TEST(!r.ended());
    network.pass();
    co_await eventually("it ends", [&] { return r.ended(); });
    BOOST_TEST(!*r.ec);
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(while_inspecting) {
  run([&]() -> awaitable<void> {
    gate network(redis);
    client c(co_await asio::this_coro::executor, network.url(), patient());
    co_await c.ready();
    network.hold_replies();
    for (const auto type : all_types) {
      cancellable i;
      mutex(c, "n").inspect(
          asio::bind_cancellation_slot(i.signal.slot(), [&](error_code ec, lock_info) { i.ec = ec; }));
      co_await pause(5ms);
      co_await i.cancel(type);
    }
    network.pass();
    lock_info info = co_await mutex(c, "n").inspect();
    BOOST_TEST(!info.held);
  });
}

// A signal that is emitted when all is over touches nothing that has gone.
BOOST_AUTO_TEST_CASE(after_the_end_it_does_nothing) {
  run([&]() -> awaitable<void> {
    cancellable a;
    cancellable r;
    {
      client c(co_await asio::this_coro::executor, redis.url());
      a.acquire(mutex(c, "n"));
      co_await eventually("it is acquired", [&] { return a.ended(); });
      a.signal.emit(asio::cancellation_type::all);
      BOOST_TEST(a.got->valid());
      a.got->release(r.handler());
      co_await eventually("it is released", [&] { return r.ended(); });
      BOOST_TEST(!*r.ec);
      a.got.reset();
    }
    a.signal.emit(asio::cancellation_type::all);
    r.signal.emit(asio::cancellation_type::all);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
