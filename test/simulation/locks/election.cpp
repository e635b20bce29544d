// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Elections: candidates, and the value of the leader.
#include "simulation/with_election.hpp"
#include "support/notes.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(elections, with_election)

BOOST_AUTO_TEST_CASE(others_see_the_value_and_the_term_of_the_leader) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    client a(e, redis.url()), b(e, redis.url());
    const election place(a, "n"), seen_from(b, "n");
    const std::string at_first = co_await led_by(seen_from);
    BOOST_TEST(at_first == "-");
    const auto before = redis.server().time();
    const std::string bytes("10.0.0.7:8000 \0 and \n what else", 31);
    leadership led = co_await place.campaign(bytes, {.lease = 10s});
    const auto after = redis.server().time();
    BOOST_TEST(led.valid());
    BOOST_TEST(led.name() == "n");
    BOOST_TEST(led.value() == bytes);
    BOOST_TEST(led.term() == led.fence());
    BOOST_TEST(led.fence() == led.hold().fence());
    BOOST_TEST((led.expires_at() == led.hold().expires_at()));
    const auto found = co_await seen_from.leader();
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(found->value == bytes);
    BOOST_TEST(found->fence == led.term());
    BOOST_TEST((found->since.time_since_epoch() >= before));
    BOOST_TEST((found->since.time_since_epoch() <= after));
    co_await led.proclaim("another");
    BOOST_TEST(led.value() == "another");
    const auto later = co_await seen_from.leader();
    BOOST_REQUIRE(later.has_value());
    BOOST_TEST(later->value == "another");
    BOOST_TEST((later->since == found->since));
    co_await led.resign();
    BOOST_TEST(!led.valid());
    BOOST_TEST(led.value() == "another");
    BOOST_TEST(led.term() == found->fence);
    const std::string in_the_end = co_await led_by(seen_from);
    BOOST_TEST(in_the_end == "-");
    co_await nothing_left();
  });
}

// The beginning follows from the fence, which grows all the same.
BOOST_AUTO_TEST_CASE(a_term_after_a_step_back_of_the_clock_seems_to_begin_later) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    client c(e, redis.url());
    const election place(c, "n");
    leadership first = co_await place.campaign("first");
    const auto before = co_await place.leader();
    co_await first.resign();
    redis.clock().offset = -1h;
    leadership second = co_await place.campaign("second");
    const auto after = co_await place.leader();
    BOOST_REQUIRE((before && after));
    BOOST_TEST((after->since > before->since));
    BOOST_TEST((after->since.time_since_epoch() > redis.server().time() + 50min));
    co_await second.resign();
    redis.clock().offset = 0s;
  });
}

// The value has another key then.
BOOST_AUTO_TEST_CASE(a_leader_whose_client_changes_to_tagged_keys_proclaims_again) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url());
    a.campaign("a", {.lease = 1min});
    co_await eventually("it leads", [&] { return a.leads(); });
    client tagged(e, redis.url() + "?keys=tagged");
    const hold other = co_await mutex(tagged, "x").acquire();
    const follower f(e, redis.url() + "?keys=tagged");
    const hold switches = co_await mutex(a.c, "y").acquire();
    const auto began = now();
    co_await seen(f, "a");
    BOOST_TEST(now() - began < 6s);  // An observer of the other layout asks every 5 s.
    co_await a.led.resign();
  });
}

// Its proclamation alone tells it of the other layout: a renewal has no key that could.
BOOST_AUTO_TEST_CASE(a_leader_with_plain_keys_that_proclaims_is_seen_with_tagged_ones) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url());
    a.campaign("a", {.lease = 1min});
    co_await eventually("it leads", [&] { return a.leads(); });
    const follower f(e, redis.url() + "?keys=tagged");
    co_await seen(f, "-");
    const auto began = now();
    co_await a.led.proclaim("b");
    co_await seen(f, "b");
    BOOST_TEST(now() - began < 1s);
    co_await a.led.resign();
  });
}

// hold::wanted puts a mark into the record, which lingering would do, too.
BOOST_AUTO_TEST_CASE(a_leader_may_ask_whether_others_wait_and_does_not_linger) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    client a(e, redis.url()), b(e, redis.url());
    leadership led = co_await election(a, "n").campaign("first", {.lease = 30s, .linger = 20s});
    std::optional<error_code> told;
    led.hold().wanted([&](error_code ec) { told = ec; });
    co_await eventually("the mark is there",
                        [&] { return redis.get("n").value_or("").find(":0") != std::string::npos; });
    const std::string before = co_await led_by(election(b, "n"));
    BOOST_TEST(before == "first");
    co_await led.proclaim("second");
    const std::string after = co_await led_by(election(b, "n"));
    BOOST_TEST(after == "second");
    co_await led.resign();
    BOOST_TEST(!redis.get("n").has_value());
    co_await nothing_left();
    BOOST_TEST(told.has_value());
  });
}

BOOST_AUTO_TEST_CASE(a_candidate_follows_a_dead_leader_and_observers_are_told_within_the_lease) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    other_program dead(redis);
    const follower f(e, redis.url());
    candidate next(e, redis.url());
    dead.start([&]() -> awaitable<void> {
      leadership led = co_await election(dead.client(), "n").campaign("dead", {.lease = 2s});
      co_await led.lost();
    });
    co_await seen(f, "dead");
    next.campaign("next", {.lease = 2s});
    co_await pause(3s);
    dead.die();
    const auto began = now();
    co_await seen(f, "next");
    BOOST_TEST(now() - began < 2100ms);
    co_await next.led.resign();
  });
}

// Each has a value, so the lock does not go from one to the other without Redis.
BOOST_AUTO_TEST_CASE(candidates_of_one_client_each_have_a_term_and_a_value_that_others_see) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    client_options o;
    o.cohort = 1s;
    client c(e, redis.url(), o), other(e, redis.url());
    const election place(c, "n");
    leadership first = co_await place.campaign("first");
    std::deque<leadership> next;
    for (int i = 0; i < 3; ++i) {
      place.campaign("next " + std::to_string(i), [&](error_code ec, leadership l) {
        BOOST_TEST(!ec);
        next.push_back(std::move(l));
      });
    }
    co_await eventually("they wait", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    auto fence = first.fence();
    co_await first.resign();
    for (std::size_t i = 0; i < 3; ++i) {
      co_await eventually("the next leads", [&] { return next.size() == i + 1; });
      const auto found = co_await election(other, "n").leader();
      BOOST_REQUIRE(found.has_value());
      BOOST_TEST(found->value == "next " + std::to_string(i));
      BOOST_TEST(found->fence == next[i].fence());
      BOOST_TEST(found->fence > fence);
      fence = found->fence;
      co_await next[i].resign();
    }
    BOOST_TEST(c.stats().passed == 0U);
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_mutex_of_the_same_name_excludes_the_leader_and_is_none) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    client_options o;
    o.cohort = 1s;
    client c(e, redis.url(), o);
    candidate a(e, redis.url());
    const election place(c, "n");
    hold h = co_await mutex(c, "n").acquire();
    const std::string beside_the_mutex = co_await led_by(place);
    BOOST_TEST(beside_the_mutex == "-");
    std::optional<leadership> own;
    place.campaign("own", [&](error_code ec, leadership l) {
      BOOST_TEST(!ec);
      own = std::move(l);
    });
    co_await eventually("it waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    a.campaign("a");
    co_await eventually("both wait", [&] { return redis.command("ZCARD", the_queue).integer == 2; });
    co_await h.release();
    co_await eventually("the first leads", [&] { return own.has_value(); });
    const std::string after_the_mutex = co_await led_by(place);
    BOOST_TEST(after_the_mutex == "own");
    BOOST_TEST(c.stats().passed == 0U);
    co_await own->resign();
    co_await eventually("the second leads", [&] { return a.leads(); });
    co_await a.led.resign();
  });
}

BOOST_AUTO_TEST_CASE(what_proclaim_refuses) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    client c(e, redis.url());
    const election place(c, "n");
    auto [long_one, none] = co_await place.campaign(std::string(longest_value + 1, 'x'), as_tuple);
    BOOST_TEST(long_one == error::invalid_option);
    BOOST_TEST(!none.valid());
    leadership led = co_await place.campaign(std::string(longest_value, 'x'));
    const std::string longest = co_await led_by(place);
    BOOST_TEST(longest.size() == longest_value);
    auto [longer] = co_await led.proclaim(std::string(longest_value + 1, 'x'), as_tuple);
    BOOST_TEST(longer == error::invalid_option);
    redis.command("DEL", "n");
    auto [lost] = co_await led.proclaim("late", as_tuple);
    BOOST_TEST(lost == error::lost);
    BOOST_TEST(!led.valid());
    auto [again] = co_await led.proclaim("late", as_tuple);
    BOOST_TEST(again == error::lost);
    leadership next = co_await place.campaign("next");
    co_await next.resign();
    auto [resigned] = co_await next.proclaim("late", as_tuple);
    BOOST_TEST(resigned == error::not_held);
    leadership empty;
    auto [nothing] = co_await empty.proclaim("late", as_tuple);
    BOOST_TEST(nothing == error::not_held);
    BOOST_TEST(empty.value() == "");
    BOOST_TEST(empty.term() == 0U);
    BOOST_TEST(empty.healthy(0ms));
    led = leadership();
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_cancelled_campaign_leaves_nothing) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    gate way(redis);
    candidate a(e, redis.url()), b(e, way.url());
    a.campaign("a");
    co_await eventually("it leads", [&] { return a.leads(); });
    // While it waits,
    b.campaign("b");
    co_await eventually("it waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    b.signal.emit(asio::cancellation_type::total);
    co_await eventually("it has ended", [&] { return b.ec.has_value(); });
    BOOST_TEST(*b.ec == asio::error::operation_aborted);
    BOOST_TEST(redis.command("ZCARD", the_queue).integer == 0);
    co_await a.led.resign();
    // and while it proclaims.
    way.hold_requests(1);
    b.campaign("b");
    co_await eventually("it has the lock", [&] { return redis.get("n") && way.kept() != 0; });
    BOOST_TEST(!b.ec);
    b.signal.emit(asio::cancellation_type::terminal);
    const auto began = now();
    co_await eventually("it has ended", [&] { return b.ec.has_value(); });
    BOOST_TEST(*b.ec == asio::error::operation_aborted);
    BOOST_TEST(now() - began <= 101ms);
    way.pass();
    co_await nothing_left();
    // Before it begins.
    b.campaign("b");
    b.signal.emit(asio::cancellation_type::terminal);
    co_await eventually("it has ended", [&] { return b.ec.has_value(); });
    BOOST_TEST(*b.ec == asio::error::operation_aborted);
    co_await nothing_left();
  });
}

// It has not led, so the place does not stay taken for at_least.
BOOST_FIXTURE_TEST_CASE(a_campaign_that_fails_keeps_nothing_busy, with_held_value) {
  enum : std::uint8_t { cancelled, timed_out, closed };
  for (const auto end : {cancelled, timed_out, closed}) {
    run([&]() -> awaitable<void> {
      candidate a(co_await asio::this_coro::executor, way.url(), impatient());
      co_await lead_once(a);
      co_await campaign(a, {.lease = 2min, .at_least = 1min});
      if (end == cancelled) a.signal.emit(asio::cancellation_type::terminal);
      if (end == closed) {
        a.c.close([](error_code ec) { BOOST_TEST(!ec); });
        co_await pause(10ms);
        way.pass();
      }
      co_await eventually("it has ended", [&] { return a.ec.has_value(); });
      const error_code why[] = {asio::error::operation_aborted, error::unreachable, error::closed};
      BOOST_TEST(*a.ec == why[end]);
      way.pass();
      const auto began = now();
      co_await eventually("the place is free", [&] { return !redis.get("n"); });
      BOOST_TEST(now() - began < 5s);
    });
  }
}

// The client closes before the campaign knows of its grant.
BOOST_AUTO_TEST_CASE(a_campaign_whose_client_closes_at_its_grant_keeps_nothing_busy) {
  run([&]() -> awaitable<void> {
    std::optional<client> c;
    client_options o;
    o.observer = [&c](const event& e) {
      if (e.what == event::kind::acquired) c->close([](error_code) {});
    };
    c.emplace(co_await asio::this_coro::executor, redis.url(), o);
    auto asking = election(*c, "n").campaign("a", {.lease = 10s, .at_least = 1min}, as_tuple);
    auto [ec, led] = co_await std::move(asking);
    BOOST_TEST(ec == error::closed);
    const auto began = now();
    co_await eventually("the place is free", [&] { return !redis.get("n"); });
    BOOST_TEST(now() - began < 5s);
  });
}

BOOST_AUTO_TEST_CASE(the_place_of_a_leader_that_resigns_stays_taken_for_at_least) {
  run([&]() -> awaitable<void> {
    candidate a(co_await asio::this_coro::executor, redis.url());
    a.campaign("a", {.lease = 1s, .at_least = 5s});
    co_await eventually("it leads", [&] { return a.leads(); });
    const auto began = now();
    co_await a.led.resign();
    co_await pause(4s);
    BOOST_TEST(redis.get("n").has_value());
    co_await eventually("the place is free", [&] { return !redis.get("n"); });
    BOOST_TEST(now() - began >= 4900ms);
  });
}

BOOST_FIXTURE_TEST_CASE(a_value_that_is_not_proclaimed_in_time_ends_the_campaign, with_held_value) {
  run([&]() -> awaitable<void> {
    notes n;
    client_options o = impatient();
    o.observer = n.observer();
    candidate a(co_await asio::this_coro::executor, way.url(), o);
    co_await lead_once(a);
    const auto began = now();
    co_await campaign(a);
    co_await eventually("it has ended", [&] { return a.ec.has_value(); });
    BOOST_TEST(*a.ec == error::unreachable);
    BOOST_TEST(n.text(event::kind::unreachable) == "no answer");
    BOOST_TEST(now() - began < 500ms);
    BOOST_TEST(!a.led.valid());
    way.pass();
    co_await nothing_left();
  });
}

BOOST_FIXTURE_TEST_CASE(a_value_is_withdrawn_though_the_connection_breaks, with_held_value) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, way.url());
    follower f(e, redis.url());
    a.campaign("a");
    co_await eventually("it leads", [&] { return a.leads() && f.last() == "a"; });
    way.hold_requests();
    const auto began = now();
    outcome resigned;
    a.led.resign(resigned.handler());
    co_await eventually("it resigns", [&] { return way.kept() != 0; });
    way.cut();
    co_await eventually("it is seen", [&] { return f.last() == "-"; });
    BOOST_TEST(f.since() - began < 1s);  // And not when the observer looks again.
    co_await eventually("it has resigned", [&] { return resigned.ended(); });
    BOOST_TEST(!*resigned.ec);
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_value_is_withdrawn_though_the_server_is_busy) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url());
    follower f(e, redis.url());
    a.campaign("a");
    co_await eventually("it leads", [&] { return a.leads() && f.last() == "a"; });
    redis.server().is_busy = true;
    outcome resigned;
    a.led.resign(resigned.handler());
    co_await pause(200ms);
    redis.server().is_busy = false;
    const auto free = now();
    co_await eventually("it is seen", [&] { return f.last() == "-"; });
    BOOST_TEST(f.since() - free < 1s);  // And not when the observer looks again.
    co_await eventually("it has resigned", [&] { return resigned.ended(); });
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_value_is_withdrawn_once_there_are_enough_replicas_again) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url());
    follower f(e, redis.url());
    a.campaign("a");
    co_await eventually("it leads", [&] { return a.leads() && f.last() == "a"; });
    redis.server().data().set_refusal_of_writes("NOREPLICAS Not enough good replicas to write.");
    outcome resigned;
    a.led.resign(resigned.handler());
    co_await pause(1s);
    redis.server().data().set_refusal_of_writes("");
    const auto free = now();
    co_await eventually("it is seen", [&] { return f.last() == "-"; });
    BOOST_TEST(f.since() - free < 1s);  // And not when the observer looks again.
    co_await eventually("it has resigned", [&] { return resigned.ended(); });
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_value_is_withdrawn_though_another_program_has_overwritten_the_record) {
  run([&]() -> awaitable<void> {
    candidate a(co_await asio::this_coro::executor, redis.url());
    a.campaign("a", {.lease = 3s});
    co_await eventually("it leads", [&] { return a.leads(); });
    redis.command("DEL", "n");
    redis.command("HSET", "n", "another", "program");
    co_await eventually("it is lost", [&] { return !a.led.valid(); });
    co_await eventually("the value is gone", [&] { return !redis.get(the_value); });
    redis.command("DEL", "n");
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_value_that_a_busy_server_has_kept_is_withdrawn_when_the_client_is_closed) {
  run([&]() -> awaitable<void> {
    candidate a(co_await asio::this_coro::executor, redis.url());
    a.campaign("a");
    co_await eventually("it leads", [&] { return a.leads(); });
    redis.server().is_busy = true;
    outcome resigned;
    a.led.resign(resigned.handler());
    co_await pause(10ms);
    redis.server().is_busy = false;
    co_await a.c.close();
    co_await nothing_left();
  });
}

// The record is gone, and no value is believed without it.
BOOST_FIXTURE_TEST_CASE(a_value_is_withdrawn_for_five_seconds, with_held_value) {
  for (const auto after : {3s, 10s}) {
    run([&]() -> awaitable<void> {
      candidate a(co_await asio::this_coro::executor, way.url(), impatient());
      a.campaign("a", {.lease = 1s});
      co_await eventually("it leads", [&] { return a.leads(); });
      way.refuse();
      way.cut();
      co_await eventually("it is lost", [&] { return !a.led.valid(); });
      co_await pause(after);
      BOOST_TEST(!redis.get("n").has_value());
      way.refuse(false);
      co_await a.c.ready();
      co_await pause(100ms);
      BOOST_TEST(redis.get(the_value).has_value() == (after == 10s));
    });
  }
}

BOOST_FIXTURE_TEST_CASE(a_client_that_closes_does_not_wait_for_a_withdrawal, with_held_value) {
  run([&]() -> awaitable<void> {
    candidate a(co_await asio::this_coro::executor, way.url());
    a.campaign("a", {.lease = 1s});
    co_await eventually("it leads", [&] { return a.leads(); });
    way.refuse();
    way.cut();
    co_await eventually("it is lost", [&] { return !a.led.valid(); });
    const auto began = now();
    co_await a.c.close();
    BOOST_TEST(now() - began < 100ms);
    BOOST_TEST(redis.get(the_value).has_value());
  });
}

// It still believes that it leads, and one of its proclamations is on its way when it stands still.
BOOST_AUTO_TEST_CASE(a_leader_that_stood_still_past_its_lease_does_not_replace_the_value_of_the_next) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    other_program old(redis);
    const follower f(e, redis.url());
    candidate next(e, redis.url());
    std::optional<error_code> proclaimed;
    std::optional<bool> valid;
    old.start([&]() -> awaitable<void> {
      leadership led = co_await election(old.client(), "n").campaign("old", {.lease = 2s});
      for (int i = 0; !proclaimed; ++i) {
        auto [ec] = co_await led.proclaim("old " + std::to_string(i), as_tuple);
        if (!ec) continue;
        valid = led.valid();
        proclaimed = ec;
      }
    });
    co_await eventually("it leads", [&] { return f.last().starts_with("old"); });
    next.campaign("next", {.lease = 2s});
    co_await eventually("it waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    old.stop();
    co_await seen(f, "next");
    co_await pause(10s);
    const auto changes = f.size();
    old.go_on();
    co_await eventually("it is told", [&] { return proclaimed.has_value(); });
    // Whichever it notices first: that there was no answer for so long, or the answer.
    BOOST_TEST((*proclaimed == error::unreachable || *proclaimed == error::lost));
    BOOST_TEST(!valid.value());
    co_await pause(10s);
    BOOST_TEST(f.size() == changes);
    BOOST_TEST(f.last() == "next");
    BOOST_TEST(next.leads());
    co_await next.led.resign();
  });
}

// The value of the leader may not have come as far as the grant.
BOOST_AUTO_TEST_CASE(a_leader_proclaims_again_to_a_server_that_lacks_its_value) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url(), impatient());
    const follower f(e, redis.url(), impatient());
    a.campaign("a1", {.lease = 30s});
    co_await seen(f, "a1");
    const auto since = f.all().back()->since;
    const auto old = redis.server().data();
    co_await a.led.proclaim("a2");
    co_await seen(f, "a2");
    redis.server().start(old);
    co_await eventually("it is proclaimed again", [&] { return redis.get(the_value).value_or("").ends_with(" a2"); });
    // Not even for a moment did the observer show the first value again.
    BOOST_TEST(std::count_if(f.all().begin(), f.all().end(), [](const auto& l) { return l && l->value == "a1"; }) == 1);
    BOOST_TEST(a.led.valid());
    auto without = redis.server().data();
    without.execute({"DEL", the_value});
    redis.server().start(without);
    co_await eventually("it is proclaimed again", [&] { return redis.get(the_value).has_value(); });
    co_await pause(100ms);
    co_await seen(f, "a2");
    BOOST_TEST((f.all().back()->since == since));
    co_await a.led.resign();
    co_await seen(f, "-");
  });
}

// The server that lacks it refuses it at first.
BOOST_AUTO_TEST_CASE(a_leader_proclaims_again_once_a_server_that_lacks_its_value_takes_it) {
  for (const bool by_memory : {true, false}) {
    BOOST_TEST_CONTEXT("by memory: " << by_memory) {
      run([&]() -> awaitable<void> {
        const auto e = co_await asio::this_coro::executor;
        candidate a(e, redis.url(), impatient());
        const follower f(e, redis.url(), impatient());
        a.campaign("a", {.lease = 30s});
        co_await seen(f, "a");
        const auto set_refusal = [&](bool on) {
          if (by_memory) return redis.server().data().set_out_of_memory(on);
          redis.server().data().set_refusal_of_writes(on ? "NOREPLICAS Not enough good replicas to write." : "");
        };
        auto without = redis.server().data();
        without.execute({"DEL", the_value});
        redis.server().start(without);
        set_refusal(true);
        co_await eventually("it is refused", [&] { return a.c.stats().refused != 0; });
        co_await pause(2s);
        BOOST_TEST(!redis.get(the_value).has_value());
        // However often it is repeated. (Without replicas renewals are refused, too.)
        if (by_memory) BOOST_TEST(a.c.stats().refused == 1U);
        set_refusal(false);
        const auto began = now();
        co_await eventually("it is proclaimed again", [&] { return redis.get(the_value).has_value(); });
        BOOST_TEST(now() - began < 3s);
        BOOST_TEST(a.led.valid());
        BOOST_TEST(a.led.value() == "a");
        co_await a.led.resign();
        co_await seen(f, "-");
        co_await nothing_left();
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(a_value_that_was_refused_is_not_proclaimed_later) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url(), impatient());
    const follower f(e, redis.url(), impatient());
    a.campaign("first", {.lease = 30s});
    co_await seen(f, "first");
    redis.command("CONFIG", "SET", "maxmemory", "1");
    auto [refused] = co_await a.led.proclaim("second", as_tuple);
    BOOST_TEST(refused == error::refused);
    BOOST_TEST(a.led.value() == "first");
    // Neither when there is memory again, nor after a reconnect, nor to another server.
    redis.command("CONFIG", "SET", "maxmemory", "0");
    co_await pause(5s);
    redis.command("CLIENT", "KILL");
    co_await pause(5s);
    const auto same = redis.server().data();
    redis.server().start(same);
    co_await pause(5s);
    BOOST_TEST(a.led.value() == "first");
    BOOST_TEST(f.last() == "first");
    co_await a.led.proclaim("third");
    co_await seen(f, "third");
    BOOST_TEST(a.led.value() == "third");
    BOOST_TEST(std::none_of(f.all().begin(), f.all().end(), [](const auto& l) { return l && l->value == "second"; }));
    co_await a.led.resign();
    co_await seen(f, "-");
    co_await nothing_left();
  });
}

// Its proclaim has ended by then, so the client goes on trying.
BOOST_AUTO_TEST_CASE(a_value_that_comes_late_is_the_one_that_a_refused_one_leaves) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url(), impatient());
    const follower f(e, redis.url(), impatient());
    const auto refuse = [&](bool on) {
      redis.server().data().set_refusal_of_writes(on ? "NOREPLICAS Not enough good replicas to write." : "");
    };
    a.campaign("A", {.lease = 30s});
    co_await seen(f, "A");
    co_await eventually("it leads", [&] { return a.leads(); });
    redis.stop();
    auto [not_yet] = co_await a.led.proclaim("B", as_tuple);
    BOOST_TEST(not_yet == error::unreachable);
    refuse(true);
    redis.go_on();
    co_await eventually("it is refused once", [&] { return a.c.stats().refused != 0; });
    BOOST_TEST(a.led.value() == "A");
    refuse(false);
    const auto began = now();
    co_await seen(f, "B");
    BOOST_TEST(now() - began < 2s);
    co_await eventually("the leader knows it, too", [&] { return a.led.value() == "B"; });
    const auto changes = f.size();
    refuse(true);
    auto [refused] = co_await a.led.proclaim("C", as_tuple);
    BOOST_TEST(refused == error::refused);
    refuse(false);
    co_await pause(5s);
    BOOST_TEST(f.size() == changes);
    BOOST_TEST(f.last() == "B");
    BOOST_TEST(a.led.value() == "B");
    co_await a.led.resign();
    co_await seen(f, "-");
    co_await nothing_left();
  });
}

// Others have seen it, and its caller knows that the client goes on trying.
BOOST_AUTO_TEST_CASE(a_refused_value_leaves_the_one_before_though_its_answer_was_lost) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    gate way(redis);
    candidate a(e, way.url(), impatient());
    const follower f(e, redis.url(), impatient());
    const auto refuse = [&](bool on) {
      redis.server().data().set_refusal_of_writes(on ? "NOREPLICAS Not enough good replicas to write." : "");
    };
    a.campaign("A", {.lease = 30s});
    co_await seen(f, "A");
    co_await eventually("it leads", [&] { return a.leads(); });
    way.hold_replies();
    auto [not_yet] = co_await a.led.proclaim("B", as_tuple);
    BOOST_TEST(not_yet == error::unreachable);
    co_await seen(f, "B");
    refuse(true);
    way.cut();
    for (const std::string value : {"C", "D"}) {
      auto [refused] = co_await a.led.proclaim(value, as_tuple);
      BOOST_TEST(refused == error::refused);
      BOOST_TEST(a.led.value() == "A");
    }
    const auto changes = f.size();
    refuse(false);
    co_await eventually("it is known", [&] { return a.led.value() == "B"; });
    co_await pause(10s);
    BOOST_TEST(f.size() == changes);
    BOOST_TEST(f.last() == "B");
    co_await a.led.resign();
    co_await seen(f, "-");
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(the_value_of_a_long_term_does_not_expire) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url());
    client other(e, redis.url());
    a.campaign("a", {.lease = 30s});
    co_await eventually("it leads", [&] { return a.leads(); });
    const auto before = redis.scripts();
    for (int hours = 0; hours < 12; ++hours) {
      co_await pause(30min);
      const std::string after_hours = co_await led_by(election(other, "n"));
      BOOST_TEST(after_hours == "a");
      BOOST_TEST(redis.ttl(the_value) > 30 * 60 * 1000);
    }
    BOOST_TEST(redis.scripts() > before);
    // An operator's mistake is mended, too.
    redis.command("DEL", the_value);
    co_await pause(21min);
    const std::string after_the_mistake = co_await led_by(election(other, "n"));
    BOOST_TEST(after_the_mistake == "a");
    co_await a.led.resign();
  });
}

// Bytes of a broken connection arrive when a later value is known, and when the term is over.
BOOST_AUTO_TEST_CASE(a_late_request_undoes_no_later_value) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    gate way(redis);
    candidate a(e, way.url(), impatient());
    client other(e, redis.url());
    a.campaign("first", {.lease = 30s});
    co_await eventually("it leads", [&] { return a.leads(); });
    way.hold_requests();
    std::optional<error_code> second, third;
    a.led.proclaim("second", [&](error_code ec) { second = ec; });
    co_await eventually("it is on its way", [&] { return way.kept() != 0; });
    way.cut_clients();
    way.pass_connected();
    co_await eventually("it was sent again", [&] { return second.has_value(); });
    BOOST_TEST(!*second);
    a.led.proclaim("third", [&](error_code ec) { third = ec; });
    co_await eventually("the next one is known", [&] { return third.has_value(); });
    BOOST_TEST(!*third);
    way.pass();
    co_await pause(100ms);
    const std::string after_the_late_one = co_await led_by(election(other, "n"));
    BOOST_TEST(after_the_late_one == "third");
    co_await a.led.resign();
    co_await nothing_left();
  });
}

// The record is still there: the hold was lost for its client alone, or a ticket's holder goes on with it.
BOOST_AUTO_TEST_CASE(a_late_request_does_not_begin_a_term_again) {
  for (const bool is_detached : {true, false}) {
    for (const bool lacks_memory : {false, true}) {
      BOOST_TEST_CONTEXT("detached: " << is_detached << ", lacks memory: " << lacks_memory) {
        run([&]() -> awaitable<void> {
          const auto e = co_await asio::this_coro::executor;
          gate way(redis);
          candidate a(e, way.url(), impatient());
          const follower f(e, redis.url());
          a.campaign("first", {.lease = 30s});
          co_await seen(f, "first");
          co_await eventually("it leads", [&] { return a.leads(); });
          way.hold_requests();
          a.led.proclaim("second", [](error_code) {});
          co_await eventually("it is on its way", [&] { return way.kept() != 0; });
          way.cut_clients();
          if (is_detached) {
            way.pass_connected();
            co_await seen(f, "second");
            if (lacks_memory) redis.command("CONFIG", "SET", "maxmemory", "1");
            co_await a.led.hold().detach();
          } else {
            way.refuse();
            redis.clock().offset = -1min;
            co_await eventually("it is lost", [&] { return !a.led.valid(); });
            if (lacks_memory) redis.command("CONFIG", "SET", "maxmemory", "1");
            way.refuse(false);
            way.pass_connected();
          }
          co_await seen(f, "-");
          const auto changes = f.size();
          redis.command("CONFIG", "SET", "maxmemory", "0");
          const auto mark = redis.get(the_value);
          BOOST_TEST(mark.value_or("").ends_with(" over"));
          way.pass();
          co_await pause(1s);
          BOOST_TEST(redis.get("n").has_value());
          BOOST_TEST((redis.get(the_value) == mark));
          BOOST_TEST(f.size() == changes);
          // The next leader replaces the mark, and leaves nothing.
          a.led = leadership();
          redis.command("DEL", "n");
          a.campaign("next", {.lease = 30s});
          co_await seen(f, "next");
          co_await eventually("it leads", [&] { return a.leads(); });
          co_await a.led.resign();
          co_await nothing_left();
          redis.clock().offset = 0s;
        });
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(values_that_are_proclaimed_at_once_are_known_in_their_order) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url());
    client other(e, redis.url());
    a.campaign("0");
    co_await eventually("it leads", [&] { return a.leads(); });
    int known = 0;
    for (int i = 1; i <= 20; ++i) {
      a.led.proclaim(std::to_string(i), [&](error_code ec) {
        BOOST_TEST(!ec);
        ++known;
      });
    }
    co_await eventually("all are known", [&] { return known == 20; });
    BOOST_TEST(a.led.value() == "20");
    const std::string last_of_all = co_await led_by(election(other, "n"));
    BOOST_TEST(last_of_all == "20");
    co_await a.led.resign();
  });
}

BOOST_AUTO_TEST_CASE(a_client_that_is_closed_ends_its_elections) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url()), b(e, redis.url());
    const follower f(e, redis.url());
    a.campaign("a");
    co_await seen(f, "a");
    b.campaign("b");
    co_await eventually("it waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    leader_observer of_a = a.place.observe();
    co_await of_a.next();
    std::optional<error_code> lost, next;
    a.led.lost([&](error_code ec) { lost = ec; });
    of_a.next([&](error_code ec, std::optional<leader_info>) { next = ec; });
    co_await turn();
    co_await b.c.close();
    BOOST_TEST(*b.ec == error::closed);
    co_await a.c.close();
    co_await turn();
    BOOST_TEST(!lost.value());
    BOOST_TEST(next.value() == error::closed);
    co_await seen(f, "-");
    auto [campaign, none] = co_await a.place.campaign("late", as_tuple);
    BOOST_TEST(campaign == error::closed);
    auto [leader, nobody] = co_await a.place.leader(as_tuple);
    BOOST_TEST(leader == error::closed);
    auto [proclaim] = co_await a.led.proclaim("late", as_tuple);
    BOOST_TEST((proclaim == error::not_held || proclaim == error::lost));
    auto [again, still] = co_await of_a.next(as_tuple);
    BOOST_TEST(again == error::closed);
    co_await nothing_left();
  });
}

BOOST_AUTO_TEST_CASE(a_health_check_fails_when_the_lease_has_been_over_for_too_long) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url(), impatient());
    a.campaign("a", {.lease = 2s});
    co_await eventually("it leads", [&] { return a.leads(); });
    BOOST_TEST(a.led.healthy(0ms));
    redis.stop();
    co_await a.led.lost();
    const auto ended = a.led.expires_at();
    BOOST_TEST(a.led.healthy(1s));
    BOOST_TEST(!a.led.healthy(0ms));
    BOOST_TEST(!a.led.healthy(-1s));
    BOOST_TEST(a.led.healthy(forever));
    stand_still(ended + 999ms - now());
    BOOST_TEST(a.led.healthy(1s));
    stand_still(1ms);
    BOOST_TEST(!a.led.healthy(1s));
    redis.go_on();
    a.led = leadership();
    BOOST_TEST(a.led.healthy(0ms));
    a.campaign("a");
    co_await eventually("it leads", [&] { return a.leads(); });
    co_await a.led.resign();
    co_await pause(1h);
    BOOST_TEST(a.led.healthy(0ms));
    // The client is closed, and the program goes on.
    a.campaign("a");
    co_await eventually("it leads", [&] { return a.leads(); });
    const auto until = a.led.expires_at();
    co_await a.c.close();
    BOOST_TEST(a.led.healthy(1h));
    stand_still(until - now());
    BOOST_TEST(!a.led.healthy(0ms));
  });
}

BOOST_AUTO_TEST_CASE(a_key_that_is_no_mutex_has_no_leader) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    client c(e, redis.url());
    const election place(c, "n");
    leader_observer observer = place.observe();
    redis.command("SET", "n", "somebody's");
    const std::string of_a_foreign_record = co_await led_by(place);
    BOOST_TEST(of_a_foreign_record == "-");
    const std::string told_of_it = co_await change_of(observer);
    BOOST_TEST(told_of_it == "-");
    redis.command("DEL", "n");
    redis.command("HSET", "n", "a", "1");
    auto [asked, none] = co_await place.leader(as_tuple);
    BOOST_TEST(asked == error::wrong_type);
    auto [observed, nobody] = co_await observer.next(as_tuple);
    BOOST_TEST(observed == error::wrong_type);
    auto [campaigned, nothing] = co_await place.campaign("a", as_tuple);
    BOOST_TEST(campaigned == error::wrong_type);
    redis.command("DEL", "n");
    leadership led = co_await place.campaign("a");
    const std::string told_of_the_leader = co_await change_of(observer);
    BOOST_TEST(told_of_the_leader == "a");
    // What is no leader's value is not believed.
    const std::string text = redis.get(the_value).value();
    for (const auto& other : {std::string("x"), "x" + text, text.substr(0, text.find(' ')) + " 1 1 1 a",
                              text + std::string(longest_value, 'x')}) {
      redis.command("SET", the_value, other);
      const std::string of_a_foreign_value = co_await led_by(place);
      BOOST_TEST(of_a_foreign_value == "-");
    }
    // Nor is a value believed, or replaced, that is of another type.
    redis.command("DEL", the_value);
    redis.command("HSET", the_value, "a", "1");
    auto [not_proclaimed] = co_await led.proclaim("b", as_tuple);
    BOOST_TEST(not_proclaimed == error::wrong_type);
    BOOST_TEST(led.valid());
    auto [not_read, unread] = co_await place.leader(as_tuple);
    BOOST_TEST(not_read == error::wrong_type);
    redis.command("DEL", the_value);
    const election bad(c, "");
    auto [no_name, no] = co_await bad.campaign("a", as_tuple);
    BOOST_TEST(no_name == error::invalid_name);
    auto bad_observer = bad.observe();
    auto [none_observed, no_one] = co_await bad_observer.next(as_tuple);
    BOOST_TEST(none_observed == error::invalid_name);
    BOOST_TEST(bad.explain(none_observed).starts_with("invalid name"));
    co_await led.resign();
  });
}

BOOST_FIXTURE_TEST_CASE(a_quorum_has_no_elections, with_quorum) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    client c(e, urls());
    const election place(c, "n");
    auto [campaigned, none] = co_await place.campaign("a", as_tuple);
    BOOST_TEST(campaigned == error::not_supported);
    auto [asked, nobody] = co_await place.leader(as_tuple);
    BOOST_TEST(asked == error::not_supported);
    auto observer = place.observe();
    auto [observed, nothing] = co_await observer.next(as_tuple);
    BOOST_TEST(observed == error::not_supported);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
