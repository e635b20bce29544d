// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/with_memory.hpp"

#include <algorithm>
#include <type_traits>

namespace leasehold::test {

static_assert(std::is_nothrow_default_constructible_v<hold> && std::is_nothrow_move_constructible_v<hold> &&
              std::is_nothrow_move_assignable_v<hold> && std::is_nothrow_destructible_v<hold>);
static_assert(!std::is_copy_constructible_v<hold> && !std::is_copy_assignable_v<hold>);

BOOST_FIXTURE_TEST_SUITE(holds, with_memory)

namespace {

// Tells the loss of a hold with the time at which it was told.
struct watch {
  explicit watch(const hold& h) {
    h.lost([this](error_code e) {
      ec = e;
      at = now();
    });
  }
  watch(const watch&) = delete;
  std::optional<error_code> ec;
  std::chrono::steady_clock::time_point at;
  bool notified() const { return ec.has_value(); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_empty_hold_answers_nothing) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold given = co_await mutex(c, "n").acquire();
    hold taken = std::move(given);
    hold empty;
    for (hold* h : {&empty, &given}) {
      BOOST_TEST(h->name() == "");
      BOOST_TEST(h->token() == "");
      BOOST_TEST(h->fence() == 0U);
      BOOST_TEST(!h->valid());
      BOOST_TEST(h->depth() == 0U);
      BOOST_TEST((h->expires_at() == std::chrono::steady_clock::time_point::min()));
      auto [released] = co_await h->release(as_tuple);
      BOOST_TEST(released == error::not_held);
      auto [extended] = co_await h->extend(1s, as_tuple);
      BOOST_TEST(extended == error::not_held);
      auto [downgraded] = co_await h->downgrade(as_tuple);
      BOOST_TEST(downgraded == error::not_held);
      auto [lost] = co_await h->lost(as_tuple);
      BOOST_TEST(lost == error::not_held);
    }
    BOOST_TEST(taken.valid());
    BOOST_TEST(redis.get("n").has_value());
  });
}

BOOST_AUTO_TEST_CASE(a_moved_hold_stays_held) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold a = co_await mutex(c, "n").acquire();
    const std::string token = a.token();
    hold b = std::move(a);
    hold& same = b;
    b = std::move(same);
    BOOST_TEST(b.valid());
    BOOST_TEST(b.token() == token);
    co_await turn();
    BOOST_TEST(redis.get("n").has_value());
    co_await b.release();
    BOOST_TEST(!redis.get("n"));
  });
}

BOOST_AUTO_TEST_CASE(assignment_releases_what_was_held) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold a = co_await mutex(c, "a").acquire();
    hold b = co_await mutex(c, "b").acquire();
    watch w(a);
    a = std::move(b);
    BOOST_TEST(a.name() == "b");
    BOOST_TEST(a.valid());
    co_await eventually("the other lock is free", [&] { return !redis.get("a"); });
    co_await eventually("the watcher is notified", [&] { return w.notified(); });
    BOOST_TEST(*w.ec == error::not_held);
    BOOST_TEST(redis.get("b").has_value());
    a = hold();
    co_await eventually("both are free", [&] { return redis.size() == 0; });
  });
}

BOOST_AUTO_TEST_CASE(the_destructor_releases_in_the_background) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    {
      hold h = co_await mutex(c, "n").acquire();
      BOOST_TEST(c.stats().held == 1U);
    }
    co_await eventually("the lock is free", [&] { return !redis.get("n"); });
    co_await eventually("the release is counted", [&] { return c.stats().released == 1; });
    BOOST_TEST(c.stats().held == 0U);
  });
}

BOOST_AUTO_TEST_CASE(a_released_hold_keeps_name_token_and_fence) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    const std::string token = h.token();
    const auto fence = h.fence();
    co_await h.release();
    BOOST_TEST(h.name() == "n");
    BOOST_TEST(h.token() == token);
    BOOST_TEST(h.fence() == fence);
    BOOST_TEST(!h.valid());
    auto [again] = co_await h.release(as_tuple);
    BOOST_TEST(again == error::not_held);
    auto [extended] = co_await h.extend(1s, as_tuple);
    BOOST_TEST(extended == error::not_held);
    auto [lost] = co_await h.lost(as_tuple);
    BOOST_TEST(lost == error::not_held);
    auto [downgraded] = co_await h.downgrade(as_tuple);
    BOOST_TEST(downgraded == error::not_held);
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(valid_is_false_from_the_start_of_the_release) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    outcome released;
    h.release(released.handler());
    BOOST_TEST(!h.valid());
    auto [again] = co_await h.release(as_tuple);
    BOOST_TEST(again == error::not_held);
    co_await eventually("the release has ended", [&] { return released.ended(); });
    BOOST_TEST(!*released.ec);
  });
}

BOOST_AUTO_TEST_CASE(a_mutex_cannot_be_downgraded) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    auto [ec] = co_await h.downgrade(as_tuple);
    BOOST_TEST(ec == error::not_supported);
    BOOST_TEST(h.valid());
  });
}

BOOST_AUTO_TEST_CASE(renewal_keeps_a_short_lease_alive) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 900ms});
    watch w(h);
    const std::string value = redis.get("n").value();
    const auto first = h.expires_at();
    co_await eventually("three leases have passed", [&] { return h.expires_at() > first + 2700ms || w.notified(); });
    BOOST_TEST(!w.notified());
    BOOST_TEST(h.valid());
    BOOST_TEST(redis.get("n").value() == value);
    BOOST_TEST(c.stats().renewed >= 4U);
    BOOST_TEST(redis.ttl("n") <= 900);
    co_await h.release();
    co_await eventually("the watcher is notified", [&] { return w.notified(); });
    BOOST_TEST(*w.ec == error::not_held);
  });
}

BOOST_AUTO_TEST_CASE(many_short_leases_are_renewed_side_by_side) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    std::vector<hold> holds;
    for (int i = 0; i < 100; ++i) {
      mutex lock(c, std::to_string(i));
      holds.push_back(co_await lock.acquire({.lease = 1500ms}));
    }
    const auto last = holds.back().expires_at();
    co_await eventually("a lease has passed", [&] { return now() > last; });
    for (const auto& h : holds) BOOST_TEST(h.valid());
    BOOST_TEST(redis.size() == 100U);
    BOOST_TEST(c.stats().lost == 0U);
  });
}

BOOST_AUTO_TEST_CASE(without_renewal_the_hold_ends_with_its_lease) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 300ms, .renew = renewal::none});
    const auto end = h.expires_at();
    watch w(h);
    co_await eventually("the loss is reported", [&] { return w.notified(); });
    BOOST_TEST(!*w.ec);
    BOOST_TEST(!h.valid());
    // Not before its time; promise 6: at the local deadline, which lies before the server's own.
    BOOST_TEST(w.at >= end - 5ms);
    BOOST_TEST(c.stats().lost == 1U);
    BOOST_TEST(c.stats().renewed == 0U);
    BOOST_TEST(c.stats().held == 0U);
    auto [late] = co_await h.lost(as_tuple);
    BOOST_TEST(!late);
    auto [extended] = co_await h.extend(10s, as_tuple);
    BOOST_TEST(extended == error::lost);
    // Redis may still have it, for the drift: then nobody else had it meanwhile, and releasing it works.
    auto [released] = co_await h.release(as_tuple);
    BOOST_TEST((!released || released == error::lost), released.message());
    co_await eventually("the lock is free", [&] { return !redis.get("n"); });
  });
}

// The immortal lock: a program that hangs with a hold keeps the others out for a limited time only.
BOOST_AUTO_TEST_CASE(at_most_n_renewals_are_at_most_n_plus_one_leases) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    const auto start = now();
    hold h = co_await mutex(c, "n").acquire({.lease = 600ms, .renew = renewal::at_most(2)});
    watch w(h);
    co_await eventually("the loss is reported", [&] { return w.notified(); });
    BOOST_TEST(!*w.ec);
    BOOST_TEST(c.stats().renewed == 2U);
    BOOST_TEST(w.at > start + 600ms);
    BOOST_TEST(h.expires_at() <= start + 3 * 600ms);
  });
}

BOOST_AUTO_TEST_CASE(margin_tells_the_loss_before_the_deadline) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 20s, .renew = renewal::none, .margin = 19700ms});
    const auto end = h.expires_at();
    watch w(h);
    co_await eventually("the loss is reported", [&] { return w.notified(); });
    BOOST_TEST(!*w.ec);
    BOOST_TEST(w.at >= end - 19700ms - 5ms);
    BOOST_TEST(w.at < end);
    BOOST_TEST(c.stats().lost == 1U);
    // What is told is that the work has to stop, and no work should begin. Nobody else can have it yet.
    BOOST_TEST(!h.valid());
    BOOST_TEST(redis.get("n").has_value());
    auto [ec] = co_await h.release(as_tuple);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(c.stats().lost == 1U);
  });
}

BOOST_AUTO_TEST_CASE(a_key_deleted_by_hand_is_told_at_the_next_renewal) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 1500ms});
    watch w(h);
    redis.command("DEL", "n");
    co_await eventually("the loss is reported", [&] { return w.notified(); });
    BOOST_TEST(!*w.ec);
    BOOST_TEST(w.at < h.expires_at());
    BOOST_TEST(!h.valid());
    // Promise 4: nothing was re-created.
    BOOST_TEST(!redis.get("n"));
    auto [ec] = co_await h.release(as_tuple);
    BOOST_TEST(ec == error::lost);
  });
}

BOOST_AUTO_TEST_CASE(a_key_overwritten_by_somebody_is_told_and_left_alone) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    for (const bool another_type : {false, true}) {
      hold h = co_await mutex(c, "n").acquire({.lease = 900ms});
      watch w(h);
      redis.command("DEL", "n");
      if (another_type) {
        redis.command("RPUSH", "n", "somebody's");
      } else {
        redis.command("SET", "n", "somebody's");
      }
      co_await eventually("the loss is reported", [&] { return w.notified(); });
      BOOST_TEST(!*w.ec);
      auto [ec] = co_await h.release(as_tuple);
      BOOST_TEST(ec == error::lost);
      auto [extended] = co_await h.extend(10s, as_tuple);
      BOOST_TEST(extended == error::not_held);
      BOOST_TEST(redis.command("TYPE", "n").text == (another_type ? "list" : "string"));
      BOOST_TEST(redis.ttl("n") == -1);
      redis.command("DEL", "n");
    }
    BOOST_TEST(c.stats().lost == 2U);
  });
}

BOOST_AUTO_TEST_CASE(release_of_a_lock_that_is_gone_says_lost) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    redis.command("SET", "n", "somebody's");
    auto [ec] = co_await h.release(as_tuple);
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(redis.get("n").value() == "somebody's");
    hold g = co_await mutex(c, "m").acquire();
    redis.command("DEL", "m");
    auto [ec2] = co_await g.release(as_tuple);
    BOOST_TEST(ec2 == error::lost);
    hold f = co_await mutex(c, "l").acquire();
    redis.command("DEL", "l");
    redis.command("RPUSH", "l", "x");
    auto [ec3] = co_await f.release(as_tuple);
    BOOST_TEST(ec3 == error::lost);
    BOOST_TEST(c.stats().lost == 3U);
  });
}

BOOST_AUTO_TEST_CASE(extend_lengthens) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 2s, .renew = renewal::none});
    const auto before = now();
    co_await h.extend(60s);
    BOOST_TEST(h.expires_at() > before + 50s);
    BOOST_TEST(h.expires_at() < now() + 60s);
    BOOST_TEST(redis.ttl("n") > 50000);
    BOOST_TEST(h.valid());
  });
}

BOOST_AUTO_TEST_CASE(every_deadline_is_early_by_the_drift_of_the_options) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.drift = 0.5;
    o.drift_floor = 1s;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    const auto ahead = [](const hold& h) { return h.expires_at() - now(); };
    hold h = co_await mutex(c, "n").acquire({.lease = 20s, .renew = renewal::none});
    BOOST_TEST(ahead(h) <= 9s);
    BOOST_TEST(ahead(h) > 0s);
    co_await h.extend(60s);
    BOOST_TEST(ahead(h) <= 29s);
    BOOST_TEST(ahead(h) > 9s);
    hold renewed = co_await mutex(c, "m").acquire({.lease = 6s});
    const auto first = renewed.expires_at();
    co_await eventually("it is renewed", [&] { return renewed.expires_at() != first || !renewed.valid(); });
    BOOST_TEST(ahead(renewed) <= 2s);
    BOOST_TEST(renewed.expires_at() > first);
    const acquire_options once{.lease = 20s, .renew = renewal::none};
    const mutex a(c, "a"), b(c, "b");
    leasehold::holds<2> both = co_await acquire_all(once, a, b);
    for (const hold& one : both) {
      BOOST_TEST(ahead(one) <= 9s);
      BOOST_TEST(ahead(one) > 0s);
    }
  });
}

// Of a hold that the client keeps for its next waiter in the answer to the release.
BOOST_AUTO_TEST_CASE(the_deadline_of_a_hold_that_is_kept_is_early_by_the_drift) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.drift = 0.5;
    o.drift_floor = 1s;
    o.cohort = 0ms;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    const mutex lock(c, "n");
    hold first = co_await lock.acquire({.lease = 20s, .renew = renewal::none});
    std::optional<hold> next;
    lock.acquire({.lease = 20s, .renew = renewal::none}, [&](error_code, hold h) { next = std::move(h); });
    co_await eventually("the other waits", [&] { return c.stats().contended == 1; });
    co_await first.release();
    co_await eventually("it is granted", [&] { return next.has_value(); });
    BOOST_TEST(c.stats().handed_off == 0U);
    BOOST_TEST(next->token() == first.token());
    BOOST_TEST(next->expires_at() - now() <= 9s);
    BOOST_TEST(next->valid());
  });
}

// Of a hold that a message has brought, before it is confirmed: it counts from the latest request of the waiter.
BOOST_AUTO_TEST_CASE(the_deadline_of_a_pushed_grant_counts_from_its_stamp_and_is_early_by_the_drift) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.drift = 0.0;
    o.drift_floor = 1s;
    client c(co_await asio::this_coro::executor, redis.url(), o);
    client other(co_await asio::this_coro::executor, redis.url());
    const mutex lock(c, "n"), theirs(other, "n");
    bool pushed = false;
    for (int i = 0; i < 20 && !pushed; ++i) {
      hold first = co_await theirs.acquire();
      std::optional<hold> next;
      std::chrono::steady_clock::time_point deadline;
      std::uint64_t commands = 0;
      const auto waiting = c.stats().contended;
      lock.acquire({.lease = 20s, .renew = renewal::none}, [&](error_code, hold h) {
        commands = c.stats().commands;
        deadline = h.expires_at();
        next = std::move(h);
      });
      co_await eventually("the other waits", [&] { return c.stats().contended > waiting; });
      const auto waits_since = now();
      const auto asked = c.stats().commands;
      co_await pause(300ms);
      co_await first.release();
      co_await eventually("it is granted", [&] { return next.has_value(); });
      // Unless it has asked meanwhile: the machine stood still.
      pushed = commands == asked;
      if (pushed) BOOST_TEST((deadline <= waits_since + 2s - 1s));
      co_await next->release();
    }
    BOOST_TEST(pushed);
  });
}

// A3: never sooner than it did, here and on the server.
BOOST_AUTO_TEST_CASE(extend_never_shortens) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 60s, .renew = renewal::none});
    const auto end = h.expires_at();
    co_await h.extend(1ms);
    co_await h.extend(1s);
    BOOST_TEST(h.expires_at() >= end);
    BOOST_TEST(redis.ttl("n") > 50000);
    BOOST_TEST(h.valid());
  });
}

// However often it is asked.
BOOST_AUTO_TEST_CASE(what_expires_at_says_does_not_waver) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 60s, .renew = renewal::none});
    const auto end = h.expires_at();
    int wavered = 0;
    for (int i = 0; i < 100000; ++i) wavered += h.expires_at() != end;
    BOOST_TEST(wavered == 0);
  });
}

BOOST_AUTO_TEST_CASE(a_renewal_does_not_shorten_what_extend_has_lengthened) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 600ms});
    co_await h.extend(60s);
    const auto end = h.expires_at();
    co_await pause(700ms);
    BOOST_TEST(h.expires_at() >= end);
    BOOST_TEST(redis.ttl("n") > 50000);
    BOOST_TEST(h.valid());
  });
}

// Nothing else would renew the hold from then on.
BOOST_AUTO_TEST_CASE(a_renewal_that_is_due_while_the_hold_is_asked_for_is_made_after_the_answer) {
  run([&]() -> awaitable<void> {
    gate through(redis);
    client c(co_await asio::this_coro::executor, through.url(), patient());
    hold h = co_await mutex(c, "n").acquire({.lease = 10s});
    co_await pause(3s);
    const auto asked = c.stats().commands;
    // The message, which may be forged, arrives, and the answer to the question that follows it does not.
    through.hold_replies(1);
    redis.command("PUBLISH", "leasehold:{0}:" + h.token().substr(0, h.token().find('.')), "broken " + h.token());
    co_await eventually("the hold is asked for", [&] { return c.stats().commands == asked + 1; });
    BOOST_TEST(c.stats().renewed == 0U);
    co_await pause(400ms);
    BOOST_TEST(c.stats().commands == asked + 1);
    through.pass();
    co_await pause(20s);
    BOOST_TEST(h.valid());
    BOOST_TEST(c.stats().renewed >= 4U);
    BOOST_TEST(c.stats().lost == 0U);
  });
}

BOOST_AUTO_TEST_CASE(extend_of_a_lost_hold_says_so_and_creates_nothing) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    watch w(h);
    redis.command("DEL", "n");
    auto [ec] = co_await h.extend(10s, as_tuple);
    BOOST_TEST(ec == error::lost);
    BOOST_TEST(!redis.get("n"));
    BOOST_TEST(!h.valid());
    co_await eventually("the loss is reported", [&] { return w.notified(); });
    BOOST_TEST(!*w.ec);
  });
}

BOOST_AUTO_TEST_CASE(extend_refuses_durations_out_of_range) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    const auto commands = c.stats().commands;
    for (const auto d : {0ms, -1ms, forever, std::chrono::milliseconds::min(),
                         std::chrono::milliseconds(std::chrono::hours(24 * 31))}) {
      auto [ec] = co_await h.extend(d, as_tuple);
      BOOST_TEST(ec == error::invalid_option);
    }
    BOOST_TEST(c.stats().commands == commands);
    co_await h.extend(std::chrono::hours(24 * 30));
    BOOST_TEST(h.expires_at() > now() + std::chrono::hours(24 * 29));
  });
}

BOOST_AUTO_TEST_CASE(the_longest_lease_works) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = std::chrono::hours(24 * 30)});
    BOOST_TEST(h.valid());
    BOOST_TEST(redis.ttl("n") > 29LL * 24 * 3600 * 1000);
  });
}

// It has ended before it can be used, which must not be taken for a hold that lives on.
BOOST_AUTO_TEST_CASE(a_lease_of_a_millisecond_is_lost_at_once_and_leaves_nothing) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    for (int i = 0; i < 20; ++i) {
      auto [ec, h] = co_await mutex(c, "n").acquire({.lease = 1ms, .wait = 10s}, as_tuple);
      BOOST_TEST(!ec);
      BOOST_TEST(!h.valid());
      auto [lost] = co_await h.lost(as_tuple);
      BOOST_TEST(!lost);
      auto [released] = co_await h.release(as_tuple);
      BOOST_TEST((!released || released == error::lost));
    }
    co_await eventually("the lock is free", [&] { return !redis.get("n"); });
  });
}

BOOST_AUTO_TEST_CASE(every_watcher_is_told) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire({.lease = 400ms, .renew = renewal::none});
    watch a(h);
    watch b(h);
    hold moved = std::move(h);
    watch d(moved);
    co_await eventually("all are notified", [&] { return a.notified() && b.notified() && d.notified(); });
    BOOST_TEST(!*a.ec);
    BOOST_TEST(!*b.ec);
    BOOST_TEST(!*d.ec);
    BOOST_TEST(c.stats().lost == 1U);
  });
}

BOOST_AUTO_TEST_CASE(destruction_tells_the_watchers_not_held) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    std::optional<hold> h = co_await mutex(c, "n").acquire();
    watch w(*h);
    h.reset();
    co_await eventually("the watcher is notified", [&] { return w.notified(); });
    BOOST_TEST(*w.ec == error::not_held);
  });
}

BOOST_AUTO_TEST_CASE(closing_the_client_tells_the_loss) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    watch w(h);
    co_await c.close();
    co_await eventually("the loss is reported", [&] { return w.notified(); });
    BOOST_TEST(!*w.ec);
    BOOST_TEST(!h.valid());
    BOOST_TEST(!redis.get("n"));
    auto [ec] = co_await h.release(as_tuple);
    BOOST_TEST((ec == error::not_held || ec == error::lost), ec.message());
  });
}

BOOST_AUTO_TEST_CASE(watching_can_be_cancelled_without_harm) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    hold h = co_await mutex(c, "n").acquire();
    for (const auto type :
         {asio::cancellation_type::terminal, asio::cancellation_type::partial, asio::cancellation_type::total}) {
      asio::cancellation_signal signal;
      outcome lost;
      h.lost(asio::bind_cancellation_slot(signal.slot(), lost.handler()));
      co_await turn();
      signal.emit(type);
      co_await eventually("the operation ends", [&] { return lost.ended(); });
      BOOST_TEST(*lost.ec == asio::error::operation_aborted);
    }
    BOOST_TEST(h.valid());
    BOOST_TEST(redis.get("n").has_value());
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
