// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Elections: what observers are told, and when.
#include "simulation/with_election.hpp"
#include "support/notes.hpp"
#include "support/rarer.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(elections, with_election)

BOOST_AUTO_TEST_CASE(an_observer_is_told_of_each_change_at_once) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url()), b(e, redis.url());
    const follower f(e, redis.url());
    co_await seen(f, "-");
    auto began = now();
    const auto told_in = [&](const std::string& value) -> awaitable<void> {
      co_await seen(f, value);
      // By a message: a poll comes after seconds.
      BOOST_TEST(now() - began < 50ms);
    };
    a.campaign("a", {.lease = 30s});
    co_await told_in("a");
    BOOST_TEST(a.leads());
    b.campaign("b", {.lease = 30s});
    co_await eventually("it waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    co_await pause(1s);
    began = now();
    a.led.proclaim("a2", [](error_code ec) { BOOST_TEST(!ec); });
    co_await told_in("a2");
    co_await pause(1s);
    began = now();
    a.led.resign([](error_code ec) { BOOST_TEST(!ec); });
    co_await told_in("b");
    const auto term = b.led.term();
    co_await pause(1s);
    began = now();
    b.led = leadership();
    co_await told_in("-");
    BOOST_TEST(f.last_term() == term);
  });
}

// Each time. Nothing else of the client talks to the server.
BOOST_AUTO_TEST_CASE(a_client_that_only_observes_tells_that_the_server_is_busy) {
  run([&]() -> awaitable<void> {
    notes n;
    client_options o;
    o.observer = n.observer();
    client c(co_await asio::this_coro::executor, redis.url(), o);
    leader_observer observer = election(c, "n").observe();
    const std::string at_first = co_await change_of(observer);
    BOOST_TEST(at_first == "-");
    std::optional<error_code> ended;
    observer.next([&ended](error_code ec, std::optional<leader_info>) { ended = ec; });
    for (std::size_t times = 1; times <= 2; ++times) {
      redis.server().is_busy = true;
      co_await eventually("it is told", [&] { return n.count(event::kind::unreachable) == times; });
      BOOST_TEST(c.last_failure().starts_with("BUSY"));
      redis.server().is_busy = false;
      co_await eventually("the server is not busy", [&] { return c.last_failure().empty(); });
    }
    BOOST_TEST(!ended.has_value());
    co_await c.close();
    co_await turn();
    BOOST_TEST(ended.value() == error::closed);
  });
}

// It would be above every later fence, and the observer would take each later leader for an older one.
BOOST_AUTO_TEST_CASE(an_answer_with_an_impossible_fence_says_nothing) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url()), b(e, redis.url());
    const follower f(e, redis.url());
    a.campaign("a", {.lease = 30s});
    co_await seen(f, "a");
    const std::string fence = "18446744073709551615";
    redis.command("SET", the_value, "x.1 " + fence + " 1 1 forged");
    redis.command("SET", "n", "leasehold:x.1:" + fence);
    client_options o;
    o.command_timeout = 300ms;
    client c(e, redis.url(), o);
    const auto [ec, nobody] = co_await election(c, "n").leader(as_tuple);
    BOOST_TEST(ec == error::unreachable, ec.message());
    co_await pause(10s);
    BOOST_TEST(f.last() == "a");
    redis.command("DEL", "n", the_value);
    co_await seen(f, "-");
    b.campaign("b", {.lease = 30s});
    co_await seen(f, "b");
  });
}

// Without the parameter the first answer tags the keys, when the observer listens on the plain channel already.
BOOST_FIXTURE_TEST_CASE(on_one_address_with_slots_behind_it_an_observer_is_told_at_once_too, with_tagged_election) {
  for (const std::string parameter : {"", "?keys=tagged"}) {
    run([&]() -> awaitable<void> {
      const auto e = co_await asio::this_coro::executor;
      candidate a(e, redis.url() + parameter), b(e, redis.url() + parameter);
      const follower f(e, redis.url() + parameter);
      co_await seen(f, "-");
      auto began = now();
      const auto told_in = [&](const std::string& value) -> awaitable<void> {
        co_await seen(f, value);
        BOOST_TEST(now() - began < 50ms);
      };
      a.campaign("a", {.lease = 30s});
      co_await told_in("a");
      BOOST_TEST(redis.get("leasehold:{" + tag + "}:leader:n").has_value());
      b.campaign("b", {.lease = 30s});
      co_await eventually("it waits",
                          [&] { return redis.command("ZCARD", "leasehold:{" + tag + "}:queue:n").integer == 1; });
      co_await pause(1s);
      began = now();
      a.led.resign([](error_code ec) { BOOST_TEST(!ec); });
      co_await told_in("b");
      co_await pause(1s);
      began = now();
      b.led = leadership();
      co_await told_in("-");
      co_await nothing_left();
    });
  }
}

// Nothing but the question who leads tells such a client of the other layout.
BOOST_AUTO_TEST_CASE(an_observer_with_plain_keys_sees_a_leader_with_tagged_keys) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    follower early(e, redis.url());
    co_await seen(early, "-");
    candidate a(e, redis.url() + "?keys=tagged");
    a.campaign("a", {.lease = 1min});
    co_await eventually("it leads", [&] { return a.leads(); });
    const auto began = now();
    const follower late(e, redis.url());
    co_await seen(late, "a");
    BOOST_TEST(now() - began < 1s);
    const election place(client(e, redis.url()), "n");
    const auto found = co_await led_by(place);
    BOOST_TEST(found == "a");
    co_await seen(early, "a");  // It looks every 5 s.
    co_await a.led.resign();
    co_await seen(early, "-");
  });
}

// The client has disconnected because it was idle, or is about to.
BOOST_AUTO_TEST_CASE(an_observer_that_wakes_its_client_is_told_of_each_change_at_once) {
  for (auto idle = 0ms; idle <= 40ms; idle += 1ms) {
    run([&]() -> awaitable<void> {
      const auto e = co_await asio::this_coro::executor;
      candidate a(e, redis.url());
      a.campaign("a", {.lease = 30s});
      co_await eventually("it leads", [&] { return a.leads(); });
      client_options brief;
      brief.idle_timeout = 20ms;
      client c(e, redis.url(), brief);
      BOOST_TEST(co_await led_by(election(c, "n")) == "a");
      co_await pause(idle);
      auto observer = election(c, "n").observe();
      BOOST_TEST(co_await change_of(observer) == "a");
      co_await pause(10ms);
      std::optional<std::string> seen;
      std::chrono::steady_clock::time_point at;
      observer.next([&](error_code ec, std::optional<leader_info> found) {
        BOOST_TEST(!ec);
        seen = found ? found->value : "-";
        at = now();
      });
      co_await pause(10ms);
      const auto began = now();
      co_await a.led.resign();
      co_await eventually("it is told", [&] { return seen.has_value(); });
      BOOST_TEST(*seen == "-");
      BOOST_TEST(at - began < 50ms, "idle for " << idle.count() << " ms");
    });
  }
}

// Nobody says so: the observer asks when the lease ends.
BOOST_AUTO_TEST_CASE(an_observer_learns_of_a_dead_leader_when_its_lease_ends) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    other_program dead(redis);
    const follower f(e, redis.url());
    dead.start([&]() -> awaitable<void> {
      leadership led = co_await election(dead.client(), "n").campaign("dead", {.lease = 2s});
      co_await led.lost();
    });
    co_await seen(f, "dead");
    co_await pause(5s);
    BOOST_TEST(f.last() == "dead");
    dead.die();
    const auto began = now();
    co_await seen(f, "-");
    BOOST_TEST(now() - began < 2100ms);
    BOOST_TEST(redis.get(the_value).has_value());
    // The value goes an hour later.
    co_await pause(61min);
    BOOST_TEST(redis.size() == 0U);
  });
}

// The lease is longer than the hour for which a value stays after it.
BOOST_AUTO_TEST_CASE(a_leader_that_was_cut_off_leads_to_the_end_of_a_long_lease) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    other_program dead(redis);
    dead.start([&]() -> awaitable<void> {
      leadership led = co_await election(dead.client(), "n").campaign("dead", {.lease = 5h});
      co_await led.lost();
    });
    co_await eventually("it leads", [&] { return redis.get(the_value).has_value(); });
    dead.die();
    co_await pause(2h);
    client c(e, redis.url());
    const std::string after_two_hours = co_await led_by(election(c, "n"));
    BOOST_TEST(after_two_hours == "dead");
    BOOST_TEST(redis.ttl(the_value) > redis.ttl("n"));
    co_await pause(5h);
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(an_observer_that_the_server_refuses_tells_its_words) {
  redis.server().data().deny_in_scripts("PTTL");
  run([&]() -> awaitable<void> {
    notes n;
    client_options o;
    o.observer = n.observer();
    client c(co_await asio::this_coro::executor, redis.url(), o);
    leader_observer observer = election(c, "n").observe();
    const auto [ec, nobody] = co_await observer.next(as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(c.stats().refused == 1U);
    BOOST_TEST(c.last_refusal().starts_with("NOPERM"));
    BOOST_TEST(n.count(event::kind::refused) == 1U);
  });
}

// etcd#18163: an observer must not show what a failover has brought back.
BOOST_AUTO_TEST_CASE(an_observer_never_goes_back_to_a_leader_whose_term_is_over) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url(), impatient()), b(e, redis.url(), impatient());
    const follower f(e, redis.url(), impatient());
    a.campaign("a", {.lease = 30s});
    co_await seen(f, "a");
    const auto old = redis.server().data();
    co_await a.led.resign();
    b.campaign("b", {.lease = 30s});
    co_await seen(f, "b");
    redis.server().start(old);
    client asks(e, redis.url(), impatient());
    co_await eventually("the server shows the older one", [&] { return redis.get("n").value_or("").size() != 0; });
    const std::string on_the_old_copy = co_await led_by(election(asks, "n"));
    BOOST_TEST(on_the_old_copy == "a");
    co_await seen(f, "-");
    BOOST_TEST(f.size() >= 3U);
    BOOST_TEST(f.last_term() == b.led.term());
    b.campaign("b again", {.lease = 30s});
    co_await seen(f, "b again");
    co_await b.led.resign();
  });
}

// The server has an older copy, with which the term goes on.
BOOST_AUTO_TEST_CASE(an_observer_never_goes_back_to_a_value_that_was_replaced) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    gate way(redis);
    candidate a(e, redis.url());
    const follower f(e, way.url(), impatient());
    a.campaign("first", {.lease = 30s});
    co_await seen(f, "first");
    const std::string older = redis.get(the_value).value();
    co_await a.led.proclaim("second");
    co_await seen(f, "second");
    const auto told = f.size();
    redis.command("SET", the_value, older);
    way.cut();
    co_await pause(1s);  // The observer asks again after its reconnect.
    BOOST_TEST(way.accepted() == 2U);
    const std::string on_the_older_copy = co_await led_by(election(client(e, redis.url()), "n"));
    BOOST_TEST(on_the_older_copy == "first");
    BOOST_TEST(f.size() == told);
    co_await a.led.resign();
    co_await seen(f, "-");
  });
}

BOOST_AUTO_TEST_CASE(a_cancelled_next_loses_no_change) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url());
    client other(e, redis.url());
    leader_observer observer = election(other, "n").observe();
    const std::string at_first = co_await change_of(observer);
    BOOST_TEST(at_first == "-");
    for (int i = 0; i < 50; ++i) {
      const std::string value = std::to_string(i);
      std::optional<error_code> ec;
      std::optional<leader_info> found;
      asio::cancellation_signal signal;
      observer.next(asio::bind_cancellation_slot(signal.slot(), [&](error_code got, std::optional<leader_info> l) {
        ec = got;
        found = std::move(l);
      }));
      if (i == 0) {
        a.campaign(value);
      } else {
        a.led.proclaim(value, [](error_code) {});
      }
      // At each moment of the way of the message and of the question.
      co_await pause(std::chrono::microseconds(200 * i));
      signal.emit(asio::cancellation_type::total);
      co_await eventually("it has ended", [&] { return ec.has_value(); });
      if (*ec) {
        BOOST_TEST(*ec == asio::error::operation_aborted);
        found = co_await observer.next();
      }
      BOOST_REQUIRE(found.has_value());
      BOOST_TEST(found->value == value);
      co_await eventually("the leader knows it, too", [&] { return a.led.value() == value; });
    }
    co_await a.led.resign();
  });
}

BOOST_AUTO_TEST_CASE(several_operations_of_one_observer_each_yield_a_change) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    candidate a(e, redis.url());
    client other(e, redis.url());
    std::string told;
    {
      leader_observer observer = election(other, "n").observe();
      for (int i = 0; i < 3; ++i) {
        observer.next([&told](error_code ec, std::optional<leader_info> l) {
          BOOST_TEST(!ec);
          told += l ? l->value : "-";
        });
      }
    }  // The operations go on.
    co_await eventually("one is told", [&] { return told == "-"; });
    a.campaign("a");
    co_await eventually("the next is told", [&] { return told == "-a"; });
    co_await a.led.proclaim("b");
    co_await eventually("the last is told", [&] { return told == "-ab"; });
    co_await a.led.resign();
  });
}

// etcd#10297, and whatever else can be missed: the observer asks again.
BOOST_AUTO_TEST_CASE(an_observer_learns_what_it_has_missed) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    gate way(redis);
    candidate a(e, redis.url());
    const follower f(e, way.url(), impatient());
    co_await seen(f, "-");
    way.refuse();
    way.cut();
    a.campaign("a", {.lease = 1h});
    co_await eventually("it leads", [&] { return a.leads(); });
    co_await pause(1s);
    BOOST_TEST(f.last() == "-");
    way.refuse(false);
    const auto connected = now();
    co_await seen(f, "a");
    BOOST_TEST(now() - connected < 1s);
    // A value that no message announces.
    const std::string text = redis.get(the_value).value();
    redis.command("SET", the_value, text.substr(0, text.size() - 1) + "b");
    const auto began = now();
    co_await seen(f, "b");
    BOOST_TEST(now() - began <= 5s + 50ms);
    co_await a.led.resign();
  });
}

BOOST_AUTO_TEST_CASE(an_observer_keeps_its_client_connected_and_nothing_after_it_does) {
  run([&]() -> awaitable<void> {
    const auto e = co_await asio::this_coro::executor;
    client c(e, redis.url());
    {
      leader_observer observer = election(c, "n").observe();
      const std::string at_first = co_await change_of(observer);
      BOOST_TEST(at_first == "-");
      co_await pause(10s);
      BOOST_TEST(redis.connections() == 1U);
      BOOST_TEST(redis.command("PUBSUB", "NUMSUB", the_value).items.at(1).integer == 1);
    }
    co_await eventually("the client disconnects", [&] { return redis.connections() == 0; });
    BOOST_TEST(c.stats().reconnects == 0U);
  });
}

BOOST_AUTO_TEST_CASE(an_observer_that_has_gone_leaves_its_channel) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url());
    const hold keeps_connected = co_await mutex(c, "m").acquire();
    const auto listening = [&] { return redis.command("PUBSUB", "NUMSUB", the_value).items.at(1).integer; };
    {
      leader_observer observer = election(c, "n").observe();
      const std::string at_first = co_await change_of(observer);
      BOOST_TEST(at_first == "-");
      BOOST_TEST(listening() == 1);
    }
    co_await eventually("nothing listens", [&] { return listening() == 0; });
    BOOST_TEST(redis.connections() == 1U);
  });
}

namespace {

// The rounds of random faults: every candidate leads again and again, and whatever an observer is told is judged.
struct random_election {
  explicit random_election(memory_server& s, std::uint64_t seed) : redis(s), random(seed) {}

  memory_server& redis;
  std::mt19937_64 random;
  std::map<std::uint64_t, std::string> values;  // By term: the value that its leader campaigned with.
  std::size_t terms = 0, changes = 0;
  bool over = false;

  std::int64_t up_to(std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); }

  awaitable<void> lead(client c, int who) {
    const election place(c, "n");
    for (int i = 0; !over; ++i) {
      const std::string value = std::to_string(who) + "." + std::to_string(i);
      acquire_options o{.lease = std::chrono::milliseconds(300 + up_to(1500))};
      auto [ec, led] = co_await place.campaign(value, o, as_tuple);
      if (ec) continue;
      ++terms;
      values[led.term()] = value;
      co_await pause(std::chrono::milliseconds(up_to(20)));
      for (auto further = up_to(3); further > 0; --further) {
        auto [proclaimed] = co_await led.proclaim(value + "+" + std::to_string(further), as_tuple);
        if (proclaimed) break;
      }
      if (up_to(4) == 0) continue;  // By its destructor.
      co_await led.resign(as_tuple);
    }
  }

  awaitable<void> observe(client c) {
    leader_observer observer = election(c, "n").observe();
    std::uint64_t largest = 0;
    std::string last = "?";
    while (!over) {
      auto [ec, found] = co_await observer.next(as_tuple);
      if (ec == error::closed) co_return;
      BOOST_TEST_REQUIRE(!ec);
      const std::string text = found ? std::to_string(found->fence) + " " + found->value : "-";
      if (text == last) BOOST_TEST(false, "told twice of " << text);
      last = text;
      if (!found) continue;
      ++changes;
      if (found->fence < largest) BOOST_TEST(false, "told of " << found->fence << " after " << largest);
      largest = found->fence;
      // A value of another term, or one that nobody proclaimed. (A leader whose campaign has failed is not known.)
      const auto known = values.find(found->fence);
      if (known != values.end() && !found->value.starts_with(known->second)) {
        BOOST_TEST(false, found->value << " is not of the term of " << known->second);
      }
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(no_observer_is_told_of_an_older_term_in_ten_thousand_changes_with_cuts_and_failovers) {
  std::size_t changes = 0, terms = 0;
  for (std::uint64_t seed = 1; changes < 10000 / rarer && seed <= 200; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      memory_server server;
      random_election all(server, seed);
      run([&]() -> awaitable<void> {
        const auto e = co_await asio::this_coro::executor;
        std::deque<gate> ways;
        std::deque<client> clients;
        const auto another = [&] {
          ways.emplace_back(server);
          clients.emplace_back(e, ways.back().url(), impatient());
          return clients.back();
        };
        for (int i = 0; i < 3; ++i) asio::co_spawn(e, all.lead(another(), i), asio::detached);
        for (int i = 0; i < 3; ++i) asio::co_spawn(e, all.observe(another()), asio::detached);
        auto old = server.server().data();
        for (int round = 0; round < 60; ++round) {
          co_await pause(std::chrono::milliseconds(all.up_to(200)));
          auto& way = ways[static_cast<std::size_t>(all.up_to(6))];
          switch (all.up_to(6)) {
            case 0: way.cut(); break;
            case 1: way.cut_clients(); break;
            case 2: way.swallow(); break;
            case 3: old = server.server().data(); break;
            case 4: server.server().start(old); break;  // A failover to a copy that lags.
            case 5:
              server.kill();
              server.server().start(old);
              break;
          }
        }
        all.over = true;
        for (auto& c : clients) {
          co_await c.close(as_tuple);
        }
      });
      terms += all.terms;
      changes += all.changes;
    }
  }
  BOOST_TEST(changes >= 10000U / rarer);
  BOOST_TEST(terms >= 1000U / rarer);
  BOOST_TEST_MESSAGE(changes << " changes in " << terms << " terms");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
