// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Holds that outlive their process or change hands: hold::detach, client::resume.
#include "protocol/ticket_text.hpp"
#include "simulation/with_memory.hpp"
#include "support/kinds.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(tickets, with_kinds_on<with_memory>)

namespace {

awaitable<std::pair<error_code, hold>> resumed(client c, ticket t, resume_options o = {}) {
  auto operation = c.resume(t, o, as_tuple);
  auto [ec, h] = co_await std::move(operation);
  co_return std::pair(ec, std::move(h));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_hold_goes_on_elsewhere_with_its_token_and_its_fence) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client worker(executor, redis.url());
      asker first(k.holder(client(executor, redis.url()))), waiting(k.next(client(executor, redis.url()), 0));
      co_await acquired(first, {.lease = 10s});
      outcome told;
      first.got.lost(told.handler());
      const auto token = first.got.token();
      const auto fence = first.got.fence();
      co_await pause(2s);
      const ticket t = co_await first.got.detach();
      BOOST_TEST(redis.ttl("n") > 9900);
      BOOST_TEST(t.name() == "n");
      BOOST_TEST(t.token() == token);
      BOOST_TEST(t.fence() == fence);
      BOOST_TEST((t.lease() == 10s));
      // As after a release, and nobody renews it.
      BOOST_TEST(!first.got.valid());
      BOOST_TEST(first.got.token() == token);
      const auto [again] = co_await first.got.release(as_tuple);
      BOOST_TEST(again == error::not_held);
      co_await eventually("who waits for the loss is told", [&] { return told.ended(); });
      BOOST_TEST(*told.ec == error::not_held);
      co_await pause(8s);
      BOOST_TEST(redis.ttl("n") < 2100);

      waiting.acquire();
      co_await wait_in_queue(1);
      const ticket read = ticket::parse(t.to_string());
      BOOST_TEST((read == t));
      hold h = co_await worker.resume(read);
      BOOST_TEST(h.valid());
      BOOST_TEST(h.name() == "n");
      BOOST_TEST(h.token() == token);
      BOOST_TEST(h.fence() == fence);
      BOOST_TEST(h.depth() == 1U);
      BOOST_TEST(redis.ttl("n") > 9900);
      // It is renewed again.
      co_await pause(30s);
      BOOST_TEST(h.valid());
      BOOST_TEST(!waiting.ended());
      co_await h.release();
      co_await eventually("the next is in", [&] { return waiting.in(); });
      BOOST_TEST(waiting.got.fence() > fence);
      // The ticket is of a hold that has ended.
      const auto [ec, none] = co_await resumed(worker, t);
      BOOST_TEST(ec == error::lost);
      BOOST_TEST(waiting.got.valid());
    });
  });
}

BOOST_AUTO_TEST_CASE(a_ticket_whose_lease_has_ended_is_lost) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client worker(executor, redis.url());
      asker first(k.holder(client(executor, redis.url()))), next(k.next(client(executor, redis.url()), 0));
      co_await acquired(first, {.lease = 1s});
      const ticket t = co_await first.got.detach();
      co_await pause(1100ms);
      const auto [free, none] = co_await resumed(worker, t);
      BOOST_TEST(free == error::lost);
      BOOST_TEST(redis.size() == 0U);
      co_await acquired(next);
      const auto ttl = redis.ttl("n");
      const auto [held, neither] = co_await resumed(worker, t, {.lease = 1h});
      BOOST_TEST(held == error::lost);
      BOOST_TEST(redis.ttl("n") <= ttl);
    });
  });
}

BOOST_AUTO_TEST_CASE(a_ticket_of_another_kind_or_name_or_prefix_is_lost) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    const ticket t = co_await h.detach();
    client_options o;
    o.prefix = "other:";
    const auto [elsewhere, none] = co_await resumed(client(executor, redis.url(), o), t);
    BOOST_TEST(elsewhere == error::lost);
    redis.command("FLUSHALL");
    hold reader = co_await shared_mutex(c, "n").acquire_shared();
    const auto [other_kind, neither] = co_await resumed(c, t);
    BOOST_TEST(other_kind == error::lost);
    const auto [empty, nothing] = co_await resumed(c, ticket());
    BOOST_TEST(empty == error::invalid_ticket);
  });
}

BOOST_AUTO_TEST_CASE(a_record_with_another_fence_is_not_touched) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    const ticket t = co_await h.detach();
    redis.command("SET", "n", "leasehold:" + t.token() + ":4096", "PX", "5000");
    const auto [ec, none] = co_await resumed(c, t);
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(redis.ttl("n") <= 5000);
    redis.command("DEL", "n");
  });
}

BOOST_AUTO_TEST_CASE(a_hold_that_was_passed_on_keeps_its_own_fence) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url()), worker(executor, redis.url());
    mutex lock(c, "n");
    hold first = co_await lock.acquire();
    asker second{any_lock(lock)}, third{any_lock(lock)};
    second.acquire();
    third.acquire();
    co_await wait_in_queue(1);
    first = hold();
    co_await eventually("the second is in", [&] { return second.in(); });
    BOOST_TEST(c.stats().passed == 1U);
    const ticket t = co_await second.got.detach();
    BOOST_TEST(t.fence() % 2048 == 1U);
    BOOST_TEST((t == ticket::parse(t.to_string())));
    // It is not passed on to the third.
    co_await pause(1s);
    BOOST_TEST(!third.ended());
    hold h = co_await worker.resume(t);
    BOOST_TEST(h.fence() == t.fence());
    co_await pause(1min);
    BOOST_TEST(h.valid());
    co_await h.release();
    co_await eventually("the third is in", [&] { return third.in(); });
    BOOST_TEST(third.got.fence() > t.fence());
  });
}

BOOST_AUTO_TEST_CASE(a_resumed_hold_is_not_passed_on_so_that_a_ticket_is_of_one_hold) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    hold first = co_await lock.acquire();
    const ticket t = co_await first.detach();
    hold h = co_await c.resume(t);
    asker next{any_lock(lock)};
    next.acquire();
    co_await wait_in_queue(1);
    co_await h.release();
    co_await eventually("the next is in", [&] { return next.in(); });
    BOOST_TEST(c.stats().passed == 0U);
    const auto [ec, none] = co_await resumed(c, t);
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(next.got.valid());
  });
}

BOOST_AUTO_TEST_CASE(two_that_resume_one_ticket_have_the_same_hold) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url()), d(executor, redis.url());
    hold first = co_await mutex(c, "n").acquire({.lease = 3s});
    const ticket t = co_await first.detach();
    hold one = co_await c.resume(t);
    hold other = co_await d.resume(t);
    BOOST_TEST(one.fence() == other.fence());
    co_await one.release();
    co_await other.lost();
    const auto [ec] = co_await other.release(as_tuple);
    BOOST_TEST(ec == error::lost);
  });
}

BOOST_AUTO_TEST_CASE(a_grant_that_is_not_confirmed_yet_is_confirmed) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    hold first = co_await mutex(client(executor, redis.url()), "n").acquire();
    client c(executor, redis.url());
    std::optional<ticket> t;
    mutex(c, "n").acquire({.lease = 20s}, [&](error_code ec, hold h) {
      BOOST_REQUIRE(!ec);
      const auto kept = std::make_shared<hold>(std::move(h));
      kept->detach([&t, kept](error_code failed, ticket made) {
        BOOST_TEST(!failed);
        t = made;
      });
    });
    co_await wait_in_queue(1);
    co_await first.release();
    co_await eventually("there is a ticket", [&] { return t.has_value(); });
    BOOST_TEST(redis.ttl("n") > 19000);
    BOOST_TEST(in_queue() == 0);
    hold h = co_await c.resume(*t);
    BOOST_TEST(h.valid());
  });
}

BOOST_AUTO_TEST_CASE(a_resumed_hold_counts_its_lease_from_the_question) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    gate through(redis);
    client c(executor, redis.url()), worker(executor, through.url());
    hold first = co_await mutex(c, "n").acquire({.lease = 10s});
    const ticket t = co_await first.detach();
    co_await worker.ready();
    through.slow(300ms);
    const auto asked = now();
    hold h = co_await worker.resume(t);
    BOOST_TEST((now() - asked >= 600ms));
    BOOST_TEST((h.expires_at() <= asked + 10s));
    BOOST_TEST((h.expires_at() >= asked + 9800ms));
    co_await h.release();
  });
}

BOOST_AUTO_TEST_CASE(a_release_after_a_short_resumed_lease_reaches_the_server_that_has_a_longer_one) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    gate through(redis);
    client c(executor, redis.url()), worker(executor, through.url());
    hold first = co_await mutex(c, "n").acquire({.lease = 25s});
    const ticket t = co_await first.detach();
    hold h = co_await worker.resume(t, {.lease = 2s});
    through.refuse();
    through.cut();
    const auto [ec] = co_await h.release(as_tuple);
    BOOST_TEST(ec == error::unreachable);
    co_await pause(8s);
    BOOST_TEST(redis.ttl("n") > 10000);
    through.refuse(false);
    const auto since = now();
    co_await eventually("the lock is free", [&] { return redis.size() == 0; });
    BOOST_TEST((now() - since < 5s));
  });
}

// Its checksum is right, so only Redis can tell.
BOOST_AUTO_TEST_CASE(a_forged_ticket_is_lost_and_changes_nothing) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client worker(executor, redis.url());
      asker first(k.holder(client(executor, redis.url())));
      co_await acquired(first, {.lease = 10s});
      const ticket t = co_await first.got.detach();
      const auto good = detail::read_ticket(t.to_string()).fields;
      co_await pause(1s);
      auto other_token = good, other_fence = good;
      other_token.token.front() = good.token.front() == 'A' ? 'B' : 'A';
      other_fence.fence += 2048;
      other_fence.recorded += 2048;
      for (const auto& forged : {other_token, other_fence}) {
        const auto [ec, none] = co_await resumed(worker, ticket::parse(detail::ticket_text(forged)), {.lease = 1h});
        BOOST_TEST(ec == error::lost);
        BOOST_TEST(redis.ttl("n") <= 9000);
      }
      hold h = co_await worker.resume(t);
      BOOST_TEST(h.valid());
      co_await h.release();
      co_await nothing_left();
    });
  });
}

BOOST_AUTO_TEST_CASE(a_downgraded_writer_is_resumed_as_a_reader) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    shared_mutex lock(c, "n", "owner");
    hold h = co_await lock.acquire();
    co_await h.downgrade();
    const ticket t = co_await h.detach();
    BOOST_TEST(t.is_reader());
    BOOST_TEST(t.owner() == "owner");
    hold reader = co_await c.resume(t);
    const auto [ec] = co_await reader.downgrade(as_tuple);
    BOOST_TEST(ec == error::not_supported);
    BOOST_TEST((co_await lock.try_acquire_shared()).has_value());
  });
}

BOOST_AUTO_TEST_CASE(a_resumed_writer_can_be_downgraded) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await shared_mutex(c, "n").acquire();
    const ticket t = co_await h.detach();
    hold writer = co_await c.resume(t);
    co_await writer.downgrade();
    BOOST_TEST((co_await shared_mutex(c, "n").try_acquire_shared()).has_value());
  });
}

BOOST_AUTO_TEST_CASE(at_least_outlives_the_detached_hold) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url()), d(executor, redis.url());
    const auto since = now();
    hold h = co_await mutex(c, "n").acquire({.lease = 1s, .at_least = 5s});
    co_await pause(1s);
    const ticket t = co_await h.detach();
    co_await pause(1s);
    hold resumed = co_await d.resume(t);
    co_await resumed.release();
    hold next = co_await mutex(c, "n").acquire();
    BOOST_TEST((now() - since >= 5s));
    BOOST_TEST((now() - since <= 5100ms));
  });
}

BOOST_AUTO_TEST_CASE(the_options_of_a_resumption_hold_from_then_on) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 2s});
    const ticket t = co_await h.detach();
    const auto since = now();
    hold once = co_await c.resume(t, {.lease = 4s, .renew = renewal::none, .margin = 1s});
    BOOST_TEST(redis.ttl("n") > 3900);
    co_await once.lost();
    BOOST_TEST((now() - since > 2900ms));
    BOOST_TEST((now() - since < 3000ms));
    for (const resume_options wrong : {resume_options{.lease = -1ms}, resume_options{.lease = 24h * 30 + 1ms},
                                       resume_options{.margin = 2s}, resume_options{.margin = -1ms}}) {
      const auto [ec, none] = co_await resumed(c, t, wrong);
      BOOST_TEST(ec == error::invalid_option);
    }
  });
}

BOOST_AUTO_TEST_CASE(who_stops_waiting_for_a_ticket_keeps_the_hold) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    gate through(redis);
    client c(executor, through.url(), patient());
    hold h = co_await mutex(c, "n").acquire({.lease = 10s});
    through.hold_replies();
    asio::cancellation_signal stop;
    std::optional<error_code> ended;
    h.detach(asio::bind_cancellation_slot(stop.slot(), [&](error_code ec, const ticket&) { ended = ec; }));
    co_await pause(1s);
    stop.emit(asio::cancellation_type::terminal);
    co_await eventually("it ends", [&] { return ended.has_value(); });
    BOOST_TEST(*ended == asio::error::operation_aborted);
    through.pass();
    co_await pause(1min);
    BOOST_TEST(h.valid());
    co_await h.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(who_stops_waiting_for_a_resumption_has_a_ticket_still) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    gate through(redis);
    client c(executor, through.url(), patient());
    hold first = co_await mutex(c, "n").acquire({.lease = 10s});
    const ticket t = co_await first.detach();
    through.hold_replies();
    asio::cancellation_signal stop;
    std::optional<error_code> ended;
    c.resume(t, asio::bind_cancellation_slot(stop.slot(), [&](error_code ec, const hold&) { ended = ec; }));
    co_await pause(1s);
    stop.emit(asio::cancellation_type::total);
    co_await eventually("it ends", [&] { return ended.has_value(); });
    BOOST_TEST(*ended == asio::error::operation_aborted);
    through.pass();
    co_await pause(1s);
    hold h = co_await c.resume(t);
    BOOST_TEST(h.valid());
  });
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_answer_leaves_hold_and_ticket_as_they_are) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 1min});
    redis.stop();
    const auto [ec, none] = co_await h.detach(as_tuple);
    BOOST_TEST(ec == error::unreachable);
    BOOST_TEST(c.last_failure() == "no answer");
    BOOST_TEST(!none);
    BOOST_TEST(h.valid());
    redis.go_on();
    const ticket t = co_await h.detach();
    redis.stop();
    const auto [not_yet, neither] = co_await resumed(c, t);
    BOOST_TEST(not_yet == error::unreachable);
    redis.go_on();
    hold resumed = co_await c.resume(t);
    BOOST_TEST(resumed.valid());
  });
}

BOOST_AUTO_TEST_CASE(the_body_of_with_lock_may_detach_its_hold) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    ticket t;
    auto body = [&t](hold& h) -> awaitable<int> {
      t = co_await h.detach();
      co_await pause(1s);
      co_return 42;
    };
    const int answer = co_await with_lock(mutex(c, "n"), body);
    BOOST_TEST(answer == 42);
    hold resumed = co_await c.resume(t);
    BOOST_TEST(resumed.valid());
  });
}

BOOST_AUTO_TEST_CASE(what_is_no_hold_any_more_cannot_be_detached) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold empty;
    const auto [none, no_ticket] = co_await empty.detach(as_tuple);
    BOOST_TEST(none == error::not_held);
    hold h = co_await mutex(c, "n").acquire();
    co_await h.release();
    const auto [released, neither] = co_await h.detach(as_tuple);
    BOOST_TEST(released == error::not_held);
    h = co_await mutex(c, "n").acquire();
    redis.command("DEL", "n");
    const auto [lost, nothing] = co_await h.detach(as_tuple);
    BOOST_TEST(lost == error::lost);
  });
}

BOOST_AUTO_TEST_CASE(a_resumed_hold_keeps_its_depth) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    const recursive_mutex lock(c, "n", "me");
    hold outer = co_await lock.acquire();
    hold inner = co_await lock.acquire();
    const ticket t = co_await inner.detach();
    hold h = co_await c.resume(t);
    BOOST_TEST(h.depth() == 2U);
    const ticket again = co_await h.detach();
    BOOST_TEST((again == t));
  });
}

// The client's other holds depend on the same clock.
BOOST_AUTO_TEST_CASE(the_answer_to_a_resumption_shows_a_step_of_the_server_s_clock) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, redis.url()), other(executor, redis.url());
    hold h = co_await mutex(c, "m").acquire({.lease = 60s, .renew = renewal::none});
    hold first = co_await mutex(other, "n").acquire();
    const ticket t = co_await first.detach();
    const auto before = h.expires_at();
    redis.clock().offset = 3s;
    hold resumed = co_await c.resume(t);
    BOOST_TEST(c.stats().clock_jumps == 1U);
    BOOST_TEST((h.expires_at() <= before - 3s + 5ms));
    BOOST_TEST(resumed.valid());
  });
}

namespace {

// What a client does while the server's clock is stepped by 3 s, so that only one answer can show the step. Its
// command_timeout is longer, or the server would take requests for late ones.
struct stepping_operation {
  const char* name;
  awaitable<void> (*run)(memory_server&, const client&);
};

const std::array<stepping_operation, 6> stepping_operations{{
    {"detach",
     [](memory_server& s, const client& c) -> awaitable<void> {
       hold h = co_await mutex(c, "n").acquire();
       s.clock().offset = 3s;
       const ticket t = co_await h.detach();
     }},
    {"wanted",
     [](memory_server& s, const client& c) -> awaitable<void> {
       hold h = co_await mutex(c, "n").acquire();
       s.clock().offset = 3s;
       h.wanted([](error_code) {});
       co_await pause(50ms);
     }},
    {"the refresh of a lock that lingers",
     [](memory_server& s, const client& c) -> awaitable<void> {
       hold h = co_await mutex(c, "n").acquire({.linger = 2s});
       co_await pause(1500ms);  // From half of `linger` on the next fence is asked for.
       s.clock().offset = 3s;
       co_await h.release();
       co_await pause(50ms);
     }},
    {"the next fence of a cohort",
     [](memory_server& s, const client& c) -> awaitable<void> {
       hold h = co_await mutex(c, "n").acquire();
       asker next{any_lock(mutex(c, "n"))};
       next.acquire();
       co_await pause(600ms);  // More than half of the cohort's time, and before the next poll.
       s.clock().offset = 3s;
       co_await h.release();
       co_await pause(50ms);
       BOOST_TEST(next.in());
       BOOST_TEST(c.stats().passed == 1U);
     }},
    {"a grant that replicas acknowledge",
     [](memory_server& s, const client& c) -> awaitable<void> {
       s.server().replicas = s.server().replicas_that_answer = 1;
       // The answer to the acquire is older than the step.
       s.server().on_run = [&s](const auto&, const auto& arguments, const auto&) {
         if (arguments[0] == "acquire") s.clock().offset = 3s;
       };
       hold h = co_await mutex(c, "n").acquire({.replicas = 1});
       s.server().on_run = nullptr;
       BOOST_TEST(h.valid());
     }},
    {"acquire_all of a busy lock",
     [](memory_server& s, const client& c) -> awaitable<void> {
       client other(co_await asio::this_coro::executor, s.url());
       hold busy = co_await mutex(other, "b").acquire();
       s.clock().offset = 3s;
       acquire_options once;
       once.wait = 0ms;
       const mutex a(c, "a"), b(c, "b");
       const auto [ec, none] = co_await acquire_all(once, a, b)(asio::as_tuple(asio::use_awaitable));
       BOOST_TEST(ec == error::timed_out);
     }},
}};

}  // namespace

// The same for other operations.
BOOST_AUTO_TEST_CASE(each_answer_with_a_time_shows_a_step_of_the_server_s_clock) {
  for (const auto& operation : stepping_operations) {
    BOOST_TEST_CONTEXT(operation.name) {
      memory_server own;
      run([&]() -> awaitable<void> {
        client_options o = patient();
        o.cohort = 1s;
        client c(co_await asio::this_coro::executor, own.url(), o);
        hold h = co_await mutex(c, "m").acquire({.lease = 60s, .renew = renewal::none});
        const auto before = h.expires_at();
        co_await operation.run(own, c);
        BOOST_TEST(c.stats().clock_jumps == 1U);
        BOOST_TEST((h.expires_at() <= before - 3s + 5ms));
      });
    }
  }
}

// And releases what its token has then.
BOOST_AUTO_TEST_CASE(a_detach_that_finds_the_hold_gone_tells_the_loss_at_once) {
  for (const bool is_granted_anew : {false, true}) {
    outcome told;
    run([&]() -> awaitable<void> {
      client c(co_await asio::this_coro::executor, redis.url());
      hold h = co_await mutex(c, "n").acquire({.lease = 10min});
      h.lost(told.handler());
      redis.command("DEL", "n");
      if (is_granted_anew) redis.command("SET", "n", "leasehold:" + h.token() + ":4096", "PX", "600000");
      const auto [ec, none] = co_await h.detach(as_tuple);
      BOOST_TEST(ec == error::lost);
      BOOST_TEST(!h.valid());
      co_await turn();
      BOOST_TEST(told.ended());
      BOOST_TEST(c.stats().lost == 1U);
      co_await nothing_left();
    });
  }
}

BOOST_AUTO_TEST_CASE(a_detached_hold_is_an_event_as_a_released_one) {
  std::vector<std::pair<std::string, std::chrono::microseconds>> told;
  run([&]() -> awaitable<void> {
    client_options o;
    o.observer = [&told](const event& e) {
      if (e.what == event::kind::released) told.emplace_back(e.token, e.duration);
    };
    client c(co_await asio::this_coro::executor, redis.url(), o);
    hold h = co_await mutex(c, "n").acquire({.lease = 10s});
    co_await pause(2s);
    const ticket t = co_await h.detach();
    BOOST_REQUIRE(told.size() == 1U);
    BOOST_TEST(told.front().first == t.token());
    BOOST_TEST((told.front().second >= 2s));
    BOOST_TEST((told.front().second < 2100ms));
  });
}

// The allowance for clocks is made once for the whole time, and not anew for the rest of it.
BOOST_AUTO_TEST_CASE(at_least_does_not_grow_with_each_resumption) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), patient());
    const auto since = now();
    hold h = co_await mutex(c, "n").acquire({.lease = 1min, .at_least = 1h});
    for (int i = 0; i < 50; ++i) {
      const ticket t = co_await h.detach();
      h = co_await c.resume(t);
    }
    co_await h.release();
    hold next = co_await mutex(c, "n").acquire();
    BOOST_TEST((now() - since >= 1h));
    BOOST_TEST((now() - since <= 1h + 40s));
  });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(tickets_of_a_quorum, with_quorum)

// The time counts from the grant, however often the hold changes hands.
BOOST_AUTO_TEST_CASE(at_least_does_not_begin_anew_with_each_resumption_on_a_quorum) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, all.urls(), forgiving()), d(executor, all.urls(), forgiving());
    const auto since = now();
    hold h = co_await mutex(c, "n").acquire({.lease = 20s, .at_least = 8s});
    for (int i = 0; i < 3; ++i) {
      co_await pause(1s);
      const ticket t = co_await h.detach();
      co_await pause(1s);
      h = co_await d.resume(t);
    }
    co_await h.release();
    hold next = co_await mutex(c, "n").acquire();
    BOOST_TEST((now() - since >= 8s));
    BOOST_TEST((now() - since <= 9s));
  });
}

// The two majorities have one server in common: the time that has passed is never more than by its clock.
BOOST_AUTO_TEST_CASE(at_least_is_as_long_if_servers_whose_clocks_differ_are_away_at_the_detach_and_the_resumption) {
  enum : std::size_t { behind, middle, ahead };
  const struct {
    std::size_t at_detach, at_resumption;
    std::chrono::milliseconds between;
  } rows[] = {
      {ahead, behind, 2s},  // By the clock in the middle.
      {ahead, middle, 0s},  // The latest clock of the resumption is 5 s ahead of those of the detach.
      {middle, behind, 0s}  // The earliest clock of the detach is 5 s behind those of the resumption.
  };
  for (const auto& away : rows) {
    BOOST_TEST_CONTEXT("away: server " << away.at_detach << ", then server " << away.at_resumption) {
      memory_quorum all(3);
      all[middle].clock().offset = 5s;
      all[ahead].clock().offset = 10s;
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client c(executor, all.urls(), forgiving()), d(executor, all.urls(), forgiving());
        co_await eventually("all are up", [&] { return c.stats().connects == 3U && d.stats().connects == 3U; });
        const auto since = now();
        hold h = co_await mutex(c, "n").acquire({.lease = 20s, .at_least = 8s});
        co_await pause(1s);
        BOOST_TEST(all.with("n") == 3U);
        all[away.at_detach].stop();
        const ticket t = co_await h.detach();
        all[away.at_detach].go_on();
        co_await pause(away.between);
        all[away.at_resumption].stop();
        hold resumed = co_await d.resume(t);
        all[away.at_resumption].go_on();
        co_await resumed.release();
        hold next = co_await mutex(c, "n").acquire();
        BOOST_TEST((now() - since >= 8s));
        BOOST_TEST((now() - since <= 9s));
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(are_resumed_on_a_majority_and_released_everywhere) {
  for (const bool one_is_away : {false, true}) {
    memory_quorum all(3);
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client c(executor, all.urls(), forgiving()), worker(executor, all.urls(), forgiving());
      hold h = co_await mutex(c, "n").acquire({.lease = 20s});
      co_await eventually("every server has it", [&] { return all.with("n") == 3; });
      const auto fence = h.fence();
      const ticket t = co_await h.detach();
      BOOST_TEST(t.fence() == fence);
      if (one_is_away) all[0].kill();
      hold resumed = co_await worker.resume(t);
      BOOST_TEST(resumed.fence() == fence);
      co_await pause(1min);
      BOOST_TEST(resumed.valid());
      BOOST_TEST(!(co_await mutex(c, "n").try_acquire()).has_value());
      if (one_is_away) {
        // It is written there again, as any other hold.
        all[0].start();
        co_await eventually("every server has it", [&] { return all.with("n") == 3; });
      }
      const auto [ec] = co_await resumed.release(as_tuple);
      BOOST_TEST(!ec);
      co_await all.nothing_left();
      const auto [late, none] = co_await worker.resume(t, as_tuple);
      BOOST_TEST(late == error::lost);
      hold next = co_await mutex(c, "n").acquire();
      BOOST_TEST(next.fence() > fence);
      const auto [again, neither] = co_await worker.resume(t, as_tuple);
      BOOST_TEST(again == error::lost);
      BOOST_TEST(next.valid());
    });
  }
}

// As a renewal of the hold would find.
BOOST_AUTO_TEST_CASE(are_lost_if_one_server_has_forgotten_the_hold_and_another_program_has_overwritten_it_on_one) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, all.urls(), forgiving());
    hold h = co_await shared_mutex(c, "n").acquire({.lease = 20s});
    co_await pause(100ms);
    const ticket t = co_await h.detach();
    all[0].command("SET", "n", "another program's");
    all[1].command("DEL", "n");
    auto [ec, none] = co_await c.resume(t, as_tuple);
    BOOST_TEST(ec == error::lost, ec.message());
  });
}

BOOST_AUTO_TEST_CASE(are_resumed_though_a_server_has_a_larger_fence_and_not_if_none_has_theirs) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, urls(), forgiving());
    hold h = co_await mutex(c, "n").acquire({.lease = 20s});
    co_await eventually("every server has it", [&] { return with("n") == 3; });
    const ticket t = co_await h.detach();
    const auto put = [&](std::size_t i, std::uint64_t fence) {
      (*this)[i].command("SET", "n", "leasehold:" + t.token() + ":" + std::to_string(fence), "PX", "20000");
    };
    put(0, t.fence() + 2048);
    {
      client worker(executor, urls(), forgiving());
      hold resumed = co_await worker.resume(t);
      BOOST_TEST(resumed.valid());
      const ticket again = co_await resumed.detach();
      BOOST_TEST((again == t));
    }
    for (const auto other : {t.fence() + 2048, t.fence() - 2048}) {
      for (std::size_t i = 0; i < 3; ++i) put(i, other);
      client worker(executor, urls(), forgiving());
      const auto [ec, none] = co_await worker.resume(t, as_tuple);
      BOOST_TEST(ec == error::lost);
      BOOST_TEST(with("n") == 3U);
    }
    for (std::size_t i = 0; i < 3; ++i) (*this)[i].command("DEL", "n");
  });
}

BOOST_AUTO_TEST_CASE(of_a_semaphore_are_refused) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, (*this)[0].url()), all(executor, urls(), forgiving());
    hold h = co_await counting_semaphore(one, "n", 2).acquire({.lease = 20s});
    const ticket t = co_await h.detach();
    const auto [ec, none] = co_await all.resume(t, as_tuple);
    BOOST_TEST(ec == error::not_supported);
  });
}

BOOST_AUTO_TEST_CASE(need_a_majority_and_stay_good_without_one) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client c(executor, urls(), forgiving()), worker(executor, urls(), forgiving());
    hold h = co_await mutex(c, "n").acquire({.lease = 20s});
    co_await eventually("every server has it", [&] { return with("n") == 3; });
    const ticket t = co_await h.detach();
    co_await worker.ready();
    (*this)[0].stop();
    (*this)[1].stop();
    const auto [ec, none] = co_await worker.resume(t, as_tuple);
    BOOST_TEST(ec == error::no_quorum);
    (*this)[0].go_on();
    (*this)[1].go_on();
    hold resumed = co_await worker.resume(t);
    BOOST_TEST(resumed.valid());
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
