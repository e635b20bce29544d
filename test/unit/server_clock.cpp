// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "time/server_clock.hpp"

#include "support/unit_test.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <random>

using namespace std::chrono_literals;
using leasehold::clock;
using leasehold::detail::server_clock;

BOOST_AUTO_TEST_SUITE(clock_of_the_server)

namespace {

const clock::time_point t0(1000s);
constexpr clock::duration none{0};

// What a server shows whose clock is ahead of ours by the offset.
std::int64_t shows(clock::time_point local, clock::duration offset) {
  return std::chrono::duration_cast<std::chrono::microseconds>(local.time_since_epoch() + offset).count();
}

clock::duration observe(server_clock& c, clock::time_point sent, clock::duration round_trip, clock::duration offset) {
  return c.observe(shows(sent + round_trip / 2, offset), sent, sent + round_trip);
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_known_before_the_first_reply_and_after_reset) {
  server_clock c(0.01);
  BOOST_TEST(!c.known());
  BOOST_TEST(observe(c, t0, 1ms, 5s) == none);
  BOOST_TEST(c.known());
  c.reset();
  BOOST_TEST(!c.known());
  // Another server with quite another clock: no jump.
  BOOST_TEST(observe(c, t0 + 1s, 1ms, 500s) == none);
}

BOOST_AUTO_TEST_CASE(latest_is_ahead_of_the_server_by_little) {
  server_clock c(0.01);
  observe(c, t0, 10ms, 3h);
  const auto now = t0 + 20ms;
  BOOST_TEST(c.latest(now) >= shows(now, 3h));
  BOOST_TEST(c.latest(now) <= shows(now, 3h) + 12000);
  BOOST_TEST(c.uncertainty(now) >= clock::duration(10ms));
  BOOST_TEST(c.uncertainty(now) <= clock::duration(15ms));
}

BOOST_AUTO_TEST_CASE(a_server_whose_clock_is_behind_is_understood) {
  server_clock c(0.01);
  observe(c, t0, 2ms, -900s);
  BOOST_TEST(c.latest(t0 + 1s) >= shows(t0 + 1s, -900s));
  BOOST_TEST(c.latest(t0 + 1s) <= shows(t0 + 1s, -900s) + 13000);
}

BOOST_AUTO_TEST_CASE(replies_narrow_what_is_known) {
  server_clock c(0.0);
  observe(c, t0, 1s, 5s);
  const auto wide = c.uncertainty(t0 + 1s);
  observe(c, t0 + 1s, 2ms, 5s);
  BOOST_TEST(c.uncertainty(t0 + 1002ms) < wide);
  BOOST_TEST(c.uncertainty(t0 + 1002ms) <= clock::duration(5ms));
}

BOOST_AUTO_TEST_CASE(a_slow_reply_is_no_jump_and_loses_no_precision) {
  server_clock c(0.01);
  observe(c, t0, 1ms, 5s);
  // Ten seconds on the way out, or on the way back.
  BOOST_TEST(c.observe(shows(t0 + 11s, 5s), t0 + 1s, t0 + 11s + 1ms) == none);
  BOOST_TEST(c.observe(shows(t0 + 12s, 5s), t0 + 12s, t0 + 22s) == none);
  BOOST_TEST(c.uncertainty(t0 + 22s) < clock::duration(1s));
}

// A9: a forward step is noticed, with at least its amount.
BOOST_AUTO_TEST_CASE(a_step_forward_is_noticed_with_its_amount) {
  server_clock c(0.01);
  observe(c, t0, 1ms, 5s);
  const auto jump = observe(c, t0 + 100ms, 1ms, 5s + 20s);
  BOOST_TEST(jump >= clock::duration(20s));
  BOOST_TEST(jump <= clock::duration(20s + 10ms));
  // It is told once.
  BOOST_TEST(observe(c, t0 + 200ms, 1ms, 5s + 20s) == none);
  BOOST_TEST(c.latest(t0 + 300ms) >= shows(t0 + 300ms, 25s));
}

BOOST_AUTO_TEST_CASE(a_step_within_a_slow_reply_is_noticed_with_at_least_its_amount) {
  server_clock c(0.0);
  c.observe(shows(t0, 0s), t0, t0 + 1s);  // The offset is somewhere between -1 s and 0.
  const auto jump = c.observe(shows(t0 + 2s, 10s), t0 + 2s, t0 + 3s);
  BOOST_TEST(jump >= clock::duration(10s));
  BOOST_TEST(jump <= clock::duration(12s));
}

// When a client believes that an attempt can no longer run, the server's clock has passed its not-after, however slow
// it is within the drift.
BOOST_AUTO_TEST_CASE(a_not_after_has_passed_on_a_slow_server_too) {
  for (const int percent : {0, 1, 10, 50}) {
    for (const auto limit : {2s, 100s, 2592000s}) {
      server_clock c(percent / 100.0);
      observe(c, t0, 1ms, 5s);
      const auto now = t0 + 1ms;
      const auto [not_after, passed] = c.not_after(now, limit);
      BOOST_TEST(not_after >= shows(now + limit, 5s));
      BOOST_TEST(shows(passed, 5s - (passed - now) / 100 * percent) >= not_after);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_step_back_is_followed_and_harmless) {
  server_clock c(0.01);
  observe(c, t0, 1ms, 50s);
  BOOST_TEST(observe(c, t0 + 100ms, 1ms, 10s) == none);
  BOOST_TEST(c.latest(t0 + 200ms) >= shows(t0 + 200ms, 10s));
  BOOST_TEST(c.latest(t0 + 200ms) <= shows(t0 + 200ms, 10s) + 20000);
  // Forward again to where it was: a step like any other.
  BOOST_TEST(observe(c, t0 + 300ms, 1ms, 50s) >= clock::duration(40s));
}

BOOST_AUTO_TEST_CASE(a_clock_that_runs_faster_within_the_drift_is_no_jump) {
  server_clock c(0.01);
  clock::duration offset = 0s;
  for (int i = 0; i < 1000; ++i) {
    BOOST_REQUIRE(observe(c, t0 + i * 1s, 1ms, offset) == none);
    offset += 9ms;  // 0.9 % fast
  }
}

BOOST_AUTO_TEST_CASE(a_clock_that_runs_slower_within_the_drift_is_followed) {
  server_clock c(0.01);
  clock::duration offset = 0s;
  for (int i = 0; i < 1000; ++i) {
    BOOST_REQUIRE(observe(c, t0 + i * 1s, 1ms, offset) == none);
    BOOST_REQUIRE(c.latest(t0 + i * 1s) >= shows(t0 + i * 1s, offset));
    offset -= 9ms;
  }
  BOOST_TEST(c.uncertainty(t0 + 1000s) < clock::duration(50ms));
}

// Slewing by chrony's maximum, 8.3 %, beats the drift that leases allow for, so it has to be told.
BOOST_AUTO_TEST_CASE(a_clock_that_runs_faster_than_the_drift_adds_up_to_jumps) {
  server_clock c(0.01);
  clock::duration offset = 0s;
  clock::duration told = 0s;
  for (int i = 0; i < 100; ++i) {
    told += observe(c, t0 + i * 1s, 1ms, offset);
    offset += 83ms;
  }
  BOOST_TEST(told > clock::duration(7s));
}

// A simulated server with random round trips, rates within the drift, steps and silence: latest() is never behind it,
// and never further ahead than uncertainty() says.
BOOST_AUTO_TEST_CASE(latest_never_falls_short_of_a_simulated_server) {
  const auto seed = std::random_device()();
  BOOST_TEST_CONTEXT("seed " << seed) {
    std::mt19937_64 engine(seed);
    const auto random = [&](double from, double to) {
      return std::uniform_real_distribution<double>(from, to)(engine);
    };
    const auto seconds = [](double s) {
      return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(s));
    };
    constexpr double drift = 0.01;
    server_clock c(drift);
    clock::time_point now = t0;
    clock::duration offset = seconds(1.7e9 + random(-1e6, 1e6));  // No server shows a time before 1970.
    const auto pass = [&](double s) {
      now += seconds(s);
      offset += seconds(s * random(-drift * 0.99, drift * 0.99));
    };
    clock::duration known_offset = offset;
    for (int i = 0; i < 50000; ++i) {
      pass(random(0.0, 1.0) < 0.9 ? random(0.0, 0.5) : random(0.0, 20.0));
      if (c.known()) {
        BOOST_REQUIRE(c.latest(now) >= shows(now, offset));
        BOOST_REQUIRE(c.latest(now) <= shows(now, offset) + c.uncertainty(now) / 1us + 2);
      }
      clock::duration step{0};
      if (random(0.0, 1.0) < 0.02) step = seconds(random(0.0, 1.0) < 0.5 ? random(5.0, 30.0) : random(-30.0, -5.0));
      offset += step;
      const auto sent = now;
      pass(random(0.0, 1.0) < 0.9 ? random(0.0, 0.002) : random(0.0, 0.5));
      const auto shown = shows(now, offset);
      const auto offset_shown = offset;
      pass(random(0.0, 1.0) < 0.9 ? random(0.0, 0.002) : random(0.0, 0.5));
      const auto jump = c.observe(shown, sent, now);
      if (i > 0 && step > none) BOOST_REQUIRE(jump >= offset_shown - known_offset - 1us);
      if (step <= none) BOOST_REQUIRE(jump == none);
      known_offset = offset_shown;
    }
  }
}

BOOST_AUTO_TEST_CASE(a_time_that_cannot_be_is_passed_over) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  server_clock c(0.01);
  for (const std::int64_t bad : {most, -most, std::int64_t{0}, std::int64_t{-1}, most / 1000}) {
    BOOST_TEST(c.observe(bad, t0, t0 + 1ms) == none);
    BOOST_TEST(!c.known());
  }
}

BOOST_AUTO_TEST_CASE(the_longest_step_can_be_subtracted_again_and_again) {
  constexpr std::int64_t latest = (std::int64_t{1} << 32) * 1000000;
  server_clock c(0.01);
  for (int i = 0; i < 100; ++i) {
    c.observe(1, t0, t0 + 1ms);
    BOOST_TEST(c.observe(latest, t0, t0 + 1ms) == clock::duration(std::chrono::hours(24 * 365)));
  }
  BOOST_TEST(c.latest(t0 + 1h) > latest);
}

BOOST_AUTO_TEST_SUITE_END()
