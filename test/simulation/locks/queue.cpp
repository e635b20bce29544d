// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Waiting in the queue, through the public interface.
#include "simulation/with_memory.hpp"
#include "time/clock.hpp"

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

struct with_queue : with_memory {
  // A client with somebody who waits.
  struct waiter {
    waiter(const asio::any_io_executor& e, const memory_server& redis) : c(e, redis.url()), lock(c, "n") {}

    client c;
    mutex lock;
    asio::cancellation_signal signal;
    std::optional<error_code> ec;
    hold got;

    bool ended() const { return ec.has_value(); }
    void acquire(acquire_options o = {}) {
      ec.reset();
      lock.acquire(o, asio::bind_cancellation_slot(signal.slot(), [this](error_code e, hold h) {
                     ec = e;
                     got = std::move(h);
                   }));
    }
  };

  std::int64_t in_queue() { return redis.command("ZCARD", the_queue).integer; }

  // Clients whose waiters have joined the queue one after the other.
  awaitable<std::deque<waiter>> queue_of(std::size_t n, acquire_options o = {}) {
    std::deque<waiter> all;
    const auto before = in_queue();
    for (std::size_t i = 0; i < n; ++i) {
      all.emplace_back(co_await asio::this_coro::executor, redis).acquire(o);
      co_await eventually("it waits in the queue",
                          [&] { return in_queue() == before + static_cast<std::int64_t>(i) + 1; });
    }
    co_return all;
  }

  awaitable<void> nothing_left() {
    co_await eventually("nothing is left", [this] { return redis.size() == 0; });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(waiting_in_queue, with_queue)

namespace {

std::int64_t stamp_of_now() { return clock::now().time_since_epoch().count(); }

client_options beside_redisson() {
  client_options o;
  o.redisson = true;
  return o;
}

// Where Redisson's waiters for "n" listen.
const std::string redissons_channel = "redisson_lock__channel:{n}";

class waiter_of_redisson final : public detail::memory::session {
 public:
  waiter_of_redisson() { channels.insert(redissons_channel); }

  void deliver(std::string_view, std::string_view message) override { heard.emplace_back(message); }
  void close() override {}
  void on_left(std::string_view) override {}

  std::vector<std::string> heard;
};

}  // namespace

BOOST_AUTO_TEST_CASE(clients_are_served_in_the_order_of_their_coming) {
  run([&]() -> awaitable<void> {
    client first(co_await asio::this_coro::executor, redis.url());
    mutex lock(first, "n");
    hold h = co_await lock.acquire();
    auto all = co_await queue_of(8);
    const lock_info info = co_await lock.inspect();
    BOOST_TEST(info.waiters == 8U);
    BOOST_TEST(info.token == h.token());
    auto fence = h.fence();
    std::uint64_t handed_off = 0;
    co_await h.release();
    for (std::size_t i = 0; i < all.size(); ++i) {
      co_await eventually("the next has it", [&] { return all[i].ended(); });
      BOOST_TEST(!*all[i].ec);
      BOOST_TEST(all[i].got.valid());
      BOOST_TEST(all[i].got.fence() > fence);
      fence = all[i].got.fence();
      for (std::size_t k = i + 1; k < all.size(); ++k) BOOST_TEST(!all[k].ended());
      co_await all[i].got.release();
      handed_off += all[i].c.stats().handed_off;
    }
    BOOST_TEST(handed_off == 8U);
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_pushed_hold_is_valid_at_once_and_is_confirmed_to_its_lease) {
  run([&]() -> awaitable<void> {
    client first(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    auto all = co_await queue_of(1, {.lease = 30s});
    co_await h.release();
    co_await eventually("the next has it", [&] { return all[0].ended(); });
    BOOST_TEST(all[0].got.valid());
    BOOST_TEST(all[0].c.stats().handed_off == 1U);
    co_await eventually("it is confirmed", [&] { return all[0].got.expires_at() > now() + 20s; });
    BOOST_TEST(redis.ttl("n") > 20000);
    BOOST_TEST(in_queue() == 0);
    BOOST_TEST(all[0].c.stats().lost == 0U);
  });
}

// A margin beyond the unconfirmed lease: the push alone is not enough to begin with.
BOOST_AUTO_TEST_CASE(a_margin_beyond_the_unconfirmed_lease_waits_for_the_confirmation) {
  run([&]() -> awaitable<void> {
    client first(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    auto all = co_await queue_of(1, {.lease = 30s, .margin = 5s});
    co_await h.release();
    co_await eventually("the next has it", [&] { return all[0].ended(); });
    BOOST_TEST(all[0].got.valid());
    BOOST_TEST((all[0].got.expires_at() > now() + 20s));
    outcome lost;
    all[0].got.lost(lost.handler());
    co_await pause(60s);
    BOOST_TEST(!lost.ended());
    co_await all[0].got.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(waiters_of_one_client_are_one_entry_and_are_served_in_order) {
  run([&]() -> awaitable<void> {
    client first(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    std::vector<int> order;
    for (int i = 0; i < 20; ++i) {
      // Now and then one with a short lease is in front of one with a long one.
      const auto lease = i % 3 == 0 ? 500ms : std::chrono::milliseconds(30s);
      lock.acquire({.lease = lease}, [&order, i](error_code ec, hold got) {
        BOOST_TEST(!ec);
        BOOST_TEST(got.valid());
        order.push_back(i);
      });
    }
    co_await eventually("they wait", [&] { return c.stats().contended == 20; });
    BOOST_TEST(in_queue() == 1);
    BOOST_TEST(c.stats().waiting == 20U);
    co_await h.release();
    co_await eventually("all had it", [&] { return order.size() == 20; });
    BOOST_TEST(std::is_sorted(order.begin(), order.end()));
    co_await nothing_left();
  });
}

// A client has one entry at a time: the next waiter of its own stands behind whoever came meanwhile. (With a cohort
// each client would have turns of several holds.)
BOOST_AUTO_TEST_CASE(clients_with_many_waiters_take_turns) {
  run([&]() -> awaitable<void> {
    client first(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    client_options options;
    options.cohort = std::chrono::microseconds(0);
    client a(co_await asio::this_coro::executor, redis.url(), options);
    client b(co_await asio::this_coro::executor, redis.url(), options);
    std::string order;
    int inside = 0;
    const auto one = [&](mutex lock, char who) -> awaitable<void> {
      hold got = co_await lock.acquire();
      BOOST_TEST(++inside == 1);
      order += who;
      co_await pause(100us);
      --inside;
      co_await got.release();
    };
    for (int i = 0; i < 10; ++i) asio::co_spawn(a.get_executor(), one(mutex(a, "n"), 'a'), asio::detached);
    co_await eventually("the first waits in the queue", [&] { return in_queue() == 1; });
    for (int i = 0; i < 10; ++i) asio::co_spawn(b.get_executor(), one(mutex(b, "n"), 'b'), asio::detached);
    co_await eventually("the second waits in the queue", [&] { return in_queue() == 2; });
    co_await h.release();
    co_await eventually("all had it", [&] { return order.size() == 20; });
    BOOST_TEST(order == "abababababababababab");
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(who_is_cancelled_leaves_the_queue_and_the_others_keep_their_order) {
  run([&]() -> awaitable<void> {
    client first(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    auto all = co_await queue_of(5);
    std::int64_t left = 5;
    for (const std::size_t gone : {2U, 0U, 4U}) {
      all[gone].signal.emit(asio::cancellation_type::total);
      co_await eventually("it ends", [&] { return all[gone].ended(); });
      BOOST_TEST(*all[gone].ec == asio::error::operation_aborted);
      --left;
      co_await eventually("its entry has gone", [&] { return in_queue() == left; });
    }
    co_await h.release();
    co_await eventually("the next has it", [&] { return all[1].ended(); });
    BOOST_TEST(all[1].got.valid());
    BOOST_TEST(!all[3].ended());
    // Alone in the queue.
    all[3].signal.emit(asio::cancellation_type::terminal);
    co_await eventually("it ends", [&] { return all[3].ended(); });
    co_await eventually("the queue has gone", [&] { return redis.size() == 1; });
    co_await all[1].got.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_local_waiter_that_is_cancelled_leaves_the_entry_to_the_others) {
  run([&]() -> awaitable<void> {
    client first(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    std::deque<asio::cancellation_signal> signals(4);
    std::string ends;
    for (std::size_t i = 0; i < 4; ++i) {
      lock.acquire({.lease = i == 0 ? 1s : 30s},
                   asio::bind_cancellation_slot(signals[i].slot(), [&ends, i](error_code ec, hold) {
                     ends += (ec ? "-" : "+") + std::to_string(i);
                   }));
    }
    co_await eventually("they wait in the queue", [&] { return in_queue() == 1; });
    const std::string token = redis.command("ZRANGE", the_queue, "0", "-1").items.at(0).text;
    signals[0].emit(asio::cancellation_type::total);
    signals[2].emit(asio::cancellation_type::total);
    co_await eventually("both have ended", [&] { return ends.size() == 4; });
    // Their place is the client's.
    BOOST_TEST(redis.command("ZRANGE", the_queue, "0", "-1").items.at(0).text == token);
    co_await h.release();
    co_await eventually("the others had it", [&] { return ends.size() == 8; });
    BOOST_TEST(ends == "-0-2+1+3");
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(who_runs_into_a_deadline_leaves_the_queue) {
  run([&]() -> awaitable<void> {
    client first(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    auto all = co_await queue_of(1);
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    for (int i = 0; i < 3; ++i) {
      auto [ec, none] = co_await lock.acquire({.wait = 50ms}, as_tuple);
      BOOST_TEST(ec == error::timed_out);
    }
    co_await eventually("its entry has gone", [&] { return in_queue() == 1; });
    BOOST_TEST(c.stats().timed_out == 3U);
    co_await h.release();
    co_await eventually("the other has it", [&] { return all[0].ended(); });
    BOOST_TEST(all[0].got.valid());
    co_await all[0].got.release();
    co_await nothing_left();
  });
}

// Nobody polls.
BOOST_AUTO_TEST_CASE(waiting_costs_few_commands) {
  run([&]() -> awaitable<void> {
    client first(co_await asio::this_coro::executor, redis.url());
    // Renewed again and again: a waiter need not poll each time.
    hold h = co_await mutex(first, "n").acquire({.lease = 300ms});
    hold far = co_await mutex(first, "m").acquire({.lease = 30s});
    auto all = co_await queue_of(6);
    client c(co_await asio::this_coro::executor, redis.url());
    std::optional<hold> got;
    mutex(c, "m").acquire([&](error_code, hold g) { got = std::move(g); });
    co_await eventually("it waits", [&] { return c.stats().contended == 1; });
    const auto start = now();
    std::vector<std::uint64_t> before;
    for (auto& w : all) before.push_back(w.c.stats().commands);
    const auto before_c = c.stats().commands;
    co_await pause(60s);
    const auto seconds = std::chrono::duration<double>(now() - start).count();
    const auto cost = [&](const client& of, std::uint64_t from) {
      return static_cast<double>(of.stats().commands - from) / seconds;
    };
    BOOST_TEST(cost(c, before_c) <= 2.0);
    for (std::size_t i = 2; i < all.size(); ++i) BOOST_TEST(cost(all[i].c, before[i]) <= 2.0);
    BOOST_TEST(h.valid());
    for (auto& w : all) BOOST_TEST(!w.ended());
    co_await h.release();
    for (auto& w : all) {
      co_await eventually("it has it", [&] { return w.ended(); });
      co_await w.got.release();
    }
    co_await far.release();
    co_await eventually("it has it", [&] { return got.has_value(); });
    co_await got->release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_foreign_holder_publishes_nothing_and_the_next_gets_in) {
  run([&]() -> awaitable<void> {
    redis.command("SET", "n", "somebody's", "PX", "400");
    auto all = co_await queue_of(3);
    co_await eventually("the first has it when the lease has ended", [&] { return all[0].ended(); });
    BOOST_TEST(all[0].got.valid());
    BOOST_TEST(!all[1].ended());
    // DEL by hand, of ours this time.
    co_await eventually("it is confirmed", [&] { return in_queue() == 2; });
    redis.command("DEL", "n");
    co_await eventually("the second has it", [&] { return all[1].ended(); });
    BOOST_TEST(all[1].got.fence() > all[0].got.fence());
    BOOST_TEST(!all[2].ended());
    co_await eventually("it is confirmed", [&] { return in_queue() == 1; });
    redis.command("SET", "n", "somebody's");
    auto [ec] = co_await all[1].got.release(as_tuple);
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(redis.get("n").value() == "somebody's");
    redis.command("DEL", "n");
    co_await eventually("the third has it", [&] { return all[2].ended(); });
    co_await all[2].got.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(redisson_is_told_when_a_recursive_mutex_is_free) {
  const auto waits = std::make_shared<waiter_of_redisson>();
  redis.server().attach(waits);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), beside_redisson());
    const recursive_mutex lock(c, "n", "owner");
    hold outer = co_await lock.acquire();
    hold inner = co_await lock.acquire();
    co_await outer.release();
    BOOST_TEST(waits->heard.empty());
    co_await inner.release();
    BOOST_TEST(waits->heard == std::vector<std::string>{"0"}, boost::test_tools::per_element());
  });
}

// It sleeps until the lease would have ended, and the lock is free earlier now.
BOOST_AUTO_TEST_CASE(redisson_is_told_of_a_release_after_which_at_least_is_not_over) {
  const auto waits = std::make_shared<waiter_of_redisson>();
  redis.server().attach(waits);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), beside_redisson());
    hold h = co_await recursive_mutex(c, "n", "owner").acquire({.lease = 30s, .at_least = 5s});
    co_await h.release();
    BOOST_TEST(waits->heard == std::vector<std::string>{"0"}, boost::test_tools::per_element());
    BOOST_TEST(redis.ttl("n") > 4000);
    BOOST_TEST(redis.ttl("n") < 6000);
  });
}

// It sleeps until the end that it has seen.
BOOST_AUTO_TEST_CASE(redisson_is_told_of_a_release_after_which_the_record_ends_earlier) {
  const auto waits = std::make_shared<waiter_of_redisson>();
  redis.server().attach(waits);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), beside_redisson());
    const recursive_mutex lock(c, "n", "owner");
    {
      // The other one's process has died.
      const hold dead = co_await lock.acquire({.lease = 2s, .renew = renewal::none});
      hold living = co_await lock.acquire({.lease = 30s});
      co_await pause(3s);
      co_await living.release();
      BOOST_TEST(waits->heard.size() == 1U);
    }
    hold rests = co_await lock.acquire({.lease = 30s, .at_least = 10s});
    hold longer = co_await lock.acquire({.lease = 30s});
    co_await rests.release();
    BOOST_TEST(waits->heard.size() == 2U);
    co_await longer.release();
    BOOST_TEST(waits->heard.size() == 3U);
    BOOST_TEST(redis.ttl("n") > 9000);
    BOOST_TEST(redis.ttl("n") <= 10100);
  });
}

BOOST_AUTO_TEST_CASE(a_waiter_behind_redisson_is_woken_by_its_unlock) {
  run([&]() -> awaitable<void> {
    // As Redisson's scripts leave it: owner -> count.
    redis.command("HSET", "n", "another", "1");
    redis.command("PEXPIRE", "n", "30000");
    client c(co_await asio::this_coro::executor, redis.url(), beside_redisson());
    hold got;
    recursive_mutex(c, "n", "owner").acquire([&](error_code, hold g) { got = std::move(g); });
    co_await eventually("it waits in the queue", [&] { return in_queue() == 1; });
    co_await pause(100ms);  // It polls once more when it listens.
    const auto unlocked = now();
    redis.command("DEL", "n");
    redis.command("PUBLISH", redissons_channel, "0");
    co_await eventually("it has it", [&] { return got.valid(); });
    BOOST_TEST((now() - unlocked < 50ms));
    co_await got.release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(try_acquire_neither_joins_a_queue_nor_overtakes_it) {
  run([&]() -> awaitable<void> {
    client first(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    auto all = co_await queue_of(2);
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    auto none = co_await lock.try_acquire();
    BOOST_TEST(!none.has_value());
    auto [late, nothing] = co_await lock.acquire({.wait = 0ms}, as_tuple);
    BOOST_TEST(late == error::timed_out);
    BOOST_TEST(in_queue() == 2);
    // Free, by hand: the head is granted and not who asks.
    redis.command("DEL", "n");
    none = co_await lock.try_acquire();
    BOOST_TEST(!none.has_value());
    co_await eventually("the first has it", [&] { return all[0].ended(); });
    BOOST_TEST(!all[1].ended());
    co_await all[0].got.release();
    none = co_await lock.try_acquire();
    BOOST_TEST(!none.has_value());
    co_await eventually("the second has it", [&] { return all[1].ended(); });
    co_await all[1].got.release();
    auto got = co_await lock.try_acquire();
    BOOST_TEST(got.has_value());
    co_await got->release();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(two_thousand_waiters_of_one_client_are_served_in_order) {
  run([&]() -> awaitable<void> {
    client first(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    client c(co_await asio::this_coro::executor, redis.url());
    mutex lock(c, "n");
    int next = 0;
    bool in_order = true;
    std::uint64_t fence = 0;
    for (int i = 0; i < 2000; ++i) {
      lock.acquire([&, i](error_code ec, hold got) {
        in_order = in_order && !ec && got.valid() && i == next && got.fence() > fence;
        fence = got.fence();
        ++next;
      });
    }
    co_await eventually("they wait", [&] { return c.stats().waiting == 2000 && in_queue() == 1; });
    const auto commands = c.stats().commands;
    BOOST_TEST(commands <= 5U);
    co_await h.release();
    co_await eventually("all had it", [&] { return next == 2000; });
    BOOST_TEST(in_order);
    co_await nothing_left();
    BOOST_TEST(c.stats().waiting == 0U);
    BOOST_TEST(c.stats().held == 0U);
  });
}

BOOST_AUTO_TEST_CASE(all_leave_the_queue_when_their_client_is_closed) {
  run([&]() -> awaitable<void> {
    client first(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    auto all = co_await queue_of(3);
    co_await all[0].c.close();
    co_await eventually("it ends", [&] { return all[0].ended(); });
    BOOST_TEST(*all[0].ec == error::closed);
    BOOST_TEST(in_queue() == 2);
    co_await h.release();
    co_await eventually("the next has it", [&] { return all[1].ended(); });
    BOOST_TEST(all[1].got.valid());
    // A hold that was handed over and not confirmed, perhaps.
    co_await all[1].c.close();
    co_await eventually("the last has it", [&] { return all[2].ended(); });
    co_await all[2].c.close();
    co_await nothing_left();
  });
}

// "You wait" and "you have it", in one piece.
BOOST_AUTO_TEST_CASE(a_grant_that_arrives_together_with_the_answer_is_not_lost) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    for (const auto margin : {std::chrono::milliseconds(0), std::chrono::milliseconds(5000)}) {
      client first(executor, redis.url());
      hold h = co_await mutex(first, "n").acquire();
      gate network(redis);
      client c(executor, network.url());
      co_await c.ready();
      network.hold_replies();
      hold got;
      mutex(c, "n").acquire({.margin = margin}, [&](error_code, hold g) { got = std::move(g); });
      co_await eventually("it waits in the queue", [&] { return in_queue() == 1; });
      const std::string token = redis.command("ZRANGE", the_queue, "0", "-1").items.at(0).text;
      co_await h.release();
      BOOST_TEST(redis.get("n").value().find(token) != std::string::npos);
      network.pass();
      co_await eventually("it has it", [&] { return got.valid(); });
      BOOST_TEST(got.token() == token);
      BOOST_TEST(c.stats().handed_off == 1U);
      co_await got.release();
      co_await nothing_left();
    }
  });
}

BOOST_AUTO_TEST_CASE(a_watch_that_arrives_together_with_the_answer_is_not_lost) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client first(executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    auto all = co_await queue_of(2);
    gate network(redis);
    client c(executor, network.url());
    co_await c.ready();
    network.hold_replies();
    hold got;
    mutex(c, "n").acquire([&](error_code, hold g) { got = std::move(g); });
    co_await eventually("it waits in the queue", [&] { return in_queue() == 3; });
    // The third is the second now.
    all[1].signal.emit(asio::cancellation_type::total);
    co_await eventually("one has left", [&] { return in_queue() == 2; });
    const auto start = now();
    network.pass();
    co_await eventually("it polls", [&] { return c.stats().commands >= 2; });
    BOOST_TEST((now() - start < 4s));
    co_await h.release();
    co_await eventually("the first has it", [&] { return all[0].ended(); });
    co_await all[0].got.release();
    co_await eventually("it has it", [&] { return got.valid(); });
    co_await got.release();
    co_await nothing_left();
  });
}

// Forged ones, for example. Here the poll is due at the end of the holder's lease.
BOOST_AUTO_TEST_CASE(watch_messages_that_are_repeated_postpone_no_poll) {
  run([&]() -> awaitable<void> {
    redis.command("SET", "n", "somebody's", "PX", "1000");
    auto all = co_await queue_of(1);
    const std::string token = redis.command("ZRANGE", the_queue, "0", "-1").items.at(0).text;
    const std::string channel = "leasehold:{0}:" + token.substr(0, token.find('.'));
    for (int i = 0; i < 12; ++i) {
      BOOST_TEST(redis.command("PUBLISH", channel, "watch " + token).integer == 1);
      co_await pause(100ms);
    }
    BOOST_TEST(all[0].ended());
    co_await eventually("it has it", [&] { return all[0].ended(); });
    co_await all[0].got.release();
    co_await nothing_left();
  });
}

// A5: a message about an earlier token says nothing to whoever waits now.
BOOST_AUTO_TEST_CASE(a_late_message_about_an_earlier_grant_is_dropped) {
  run([&]() -> awaitable<void> {
    client first(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(first, "n").acquire();
    auto all = co_await queue_of(1);
    waiter& w = all[0];
    co_await h.release();
    co_await eventually("it has it", [&] { return w.ended(); });
    hold mine = std::move(w.got);
    const std::string channel = "leasehold:{0}:" + mine.token().substr(0, mine.token().find('.'));
    w.acquire();
    co_await eventually("it waits again", [&] { return in_queue() == 1; });
    const std::string again = "granted " + mine.token() + " " + std::to_string(mine.fence() + 2048) + " " +
                              std::to_string(stamp_of_now()) + " 2000";
    for (const auto& text : {again, "watch " + mine.token(), std::string("granted"), std::string("granted x y z"),
                             std::string("watch"), std::string()}) {
      BOOST_TEST(redis.command("PUBLISH", channel, text).integer == 1);
    }
    const lock_info info = co_await w.lock.inspect();
    co_await turn(20);
    BOOST_TEST(info.token == mine.token());
    BOOST_TEST(!w.ended());
    // And another connection asks only about what waits now.
    redis.command("CLIENT", "KILL", "TYPE", "pubsub");
    co_await eventually("it is back", [&] { return w.c.stats().reconnects == 1; });
    co_await mine.release();
    co_await eventually("it has it", [&] { return w.ended(); });
    BOOST_TEST(!*w.ec);
    co_await w.got.release();
    co_await nothing_left();
  });
}

// A tenure that nobody knows of, of a token whose hold had another one: it is released, not kept for its lease.
BOOST_AUTO_TEST_CASE(a_hold_whose_token_has_another_fence_is_lost_and_released) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    for (const bool extended : {false, true}) {
      hold h = co_await mutex(c, "n").acquire({.lease = extended ? 30s : 1s});
      outcome lost;
      h.lost(lost.handler());
      redis.command("SET", "n", "leasehold:" + h.token() + ":" + std::to_string(h.fence() + 2048), "PX", "60000");
      if (extended) {
        auto [ec] = co_await h.extend(40s, as_tuple);
        BOOST_TEST(ec == error::lost);
      }
      co_await eventually("the loss is reported", [&] { return lost.ended(); });
      BOOST_TEST(!*lost.ec);
      BOOST_TEST(!h.valid());
      co_await nothing_left();
    }
  });
}

// The confirmation of a handed-over hold leaves after the new holder's first turn, if there is anything to confirm
// then.
BOOST_AUTO_TEST_CASE(a_hold_that_is_released_at_once_is_not_confirmed) {
  run([&]() -> awaitable<void> {
    client a(co_await asio::this_coro::executor, redis.url());
    client b(co_await asio::this_coro::executor, redis.url());
    co_await a.ready();
    co_await b.ready();
    constexpr int each = 200;
    int running = 2;
    const auto work = [&](client& c) -> awaitable<void> {
      mutex lock(c, "n");
      for (int i = 0; i < each; ++i) {
        hold h = co_await lock.acquire();
        co_await h.release();
      }
      --running;
    };
    asio::co_spawn(co_await asio::this_coro::executor, work(a), asio::detached);
    asio::co_spawn(co_await asio::this_coro::executor, work(b), asio::detached);
    co_await eventually("both have ended", [&] { return running == 0; });
    // An acquire, or a join, and a release of each; a confirmation would be a third.
    BOOST_TEST(a.stats().commands + b.stats().commands < 2.5 * 2 * each);
  });
}

// Whoever comes back at once stands behind those who wait, in another client as in this one.
BOOST_AUTO_TEST_CASE(who_comes_back_again_and_again_is_served_as_often_as_the_others) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    constexpr std::size_t clients = 6;
    constexpr int all = 600;
    std::vector<int> served(clients);
    int total = 0;
    std::size_t ended = 0;
    std::vector<client> each;
    for (std::size_t i = 0; i < clients; ++i) each.emplace_back(executor, redis.url());
    for (const client& c : each) co_await c.ready();
    const auto work = [&](std::size_t i) -> awaitable<void> {
      mutex lock(each[i], "n");
      while (total < all) {
        hold h = co_await lock.acquire();
        if (total++ < all) ++served[i];
        const auto stay = std::chrono::microseconds(100 * i);
        co_await pause(stay);
        co_await h.release();
      }
      ++ended;
    };
    for (std::size_t i = 0; i < clients; ++i) asio::co_spawn(executor, work(i), asio::detached);
    co_await eventually("all have ended", [&] { return ended == clients; });
    const auto [fewest, most] = std::minmax_element(served.begin(), served.end());
    BOOST_TEST(*fewest >= 0.9 * *most);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
