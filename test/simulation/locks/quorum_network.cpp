// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Networks between a client and the servers of a quorum: connections that break one by one, fall silent and deliver
// late.
#include "simulation/with_memory.hpp"
#include "support/kinds.hpp"

#include <deque>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(quorum_network)

namespace {

// A network of its own to each server.
struct networks {
  explicit networks(memory_quorum& all) {
    for (auto& s : all.servers) to.emplace_back(*s);
  }
  gate& operator[](std::size_t i) { return to.at(i); }
  std::vector<std::string> urls() const {
    std::vector<std::string> found;
    for (const auto& p : to) found.push_back(p.url());
    return found;
  }
  // From now on nothing arrives on either side, and nobody is told; nor on connections to come.
  void silence(std::size_t i) {
    to.at(i).hold_requests();
    to.at(i).hold_replies();
  }
  std::deque<gate> to;
};

awaitable<void> all_up(const client& c) {
  co_await eventually("all are up", [&] { return c.stats().connects - c.stats().reconnects == 3; });
}

awaitable<void> renewed_again(const client& c) {
  const auto before = c.stats().renewed;
  co_await eventually("it is renewed", [&] { return c.stats().renewed > before || c.stats().lost != 0; });
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_connection_is_cut_while_one_holds_and_one_waits) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    networks network(all);
    client one(executor, network.urls(), forgiving());
    client two(executor, network.urls(), forgiving());
    co_await all_up(one);
    co_await all_up(two);
    hold h = co_await mutex(one, "n").acquire({.lease = 6s});
    asker next{any_lock(mutex(two, "n"))};
    next.acquire();
    for (std::uint64_t i = 0; i < 6; ++i) {
      network[i % 3].cut();
      co_await eventually("both are connected again",
                          [&] { return one.stats().reconnects > i && two.stats().reconnects > i; });
      co_await h.extend(6s + std::chrono::seconds(i));
      BOOST_TEST(h.valid());
      BOOST_TEST(!next.ended());
    }
    // And all at a time.
    for (auto& p : network.to) p.cut();
    co_await eventually("all are connected again", [&] { return one.stats().reconnects >= 9; });
    co_await h.extend(20s);
    BOOST_TEST(!next.ended());
    BOOST_TEST(one.stats().lost == 0U);
    network[1].cut();
    co_await h.release();
    co_await eventually("it is granted", [&] { return next.in(); });
    BOOST_TEST(next.got.fence() > h.fence());
    co_await next.got.release();
    co_await all.nothing_left();
    co_await one.close();
    co_await two.close();
  });
}

// In the middle of the attempt, of the fence that is written back, or of the release.
BOOST_AUTO_TEST_CASE(one_connection_is_cut_after_any_message) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    networks network(all);
    client c(executor, network.urls(), forgiving());
    co_await all_up(c);
    mutex lock(c, "n");
    std::uint64_t last = 0;
    for (const bool requests : {true, false}) {
      for (std::size_t i = 0; i < 12; ++i) {
        BOOST_TEST_CONTEXT("server " << i % 3 << ", after " << i / 3 << (requests ? " requests" : " replies")) {
          requests ? network[i % 3].cut_after_requests(i / 3) : network[i % 3].cut_after_replies(i / 3);
          const auto before = c.stats().reconnects;
          while (c.stats().reconnects == before) {
            hold h = co_await lock.acquire();
            BOOST_TEST(h.valid());
            BOOST_TEST(h.fence() > last);
            last = h.fence();
            auto [released] = co_await h.release(as_tuple);
            BOOST_TEST(!released, released.message());
            co_await all.nothing_left();
          }
        }
      }
    }
    BOOST_TEST(c.stats().reconnects == 24U);
    BOOST_TEST(c.stats().lost == 0U);
    co_await c.close();
  });
}

// The connection is there, and nothing comes: whoever waited for it would wait for a minute.
BOOST_AUTO_TEST_CASE(a_silent_server_slows_nobody_and_loses_nothing) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    networks network(all);
    client_options o = forgiving();
    o.command_timeout = 60s;
    o.connect_timeout = 60s;
    client c(executor, network.urls(), o);
    co_await all_up(c);
    mutex lock(c, "n");
    hold kept = co_await mutex(c, "kept").acquire({.lease = 1500ms});
    for (std::size_t silent = 0; silent < 3; ++silent) {
      network.silence(silent);
      const auto start = now();
      std::uint64_t last = 0;
      for (int i = 0; i < 5; ++i) {
        hold h = co_await lock.acquire();
        BOOST_TEST(h.fence() > last);
        last = h.fence();
        auto none = co_await lock.try_acquire();
        BOOST_TEST(!none.has_value());
        co_await h.release();
      }
      BOOST_TEST(now() - start < 200ms);
      co_await renewed_again(c);
      BOOST_TEST(kept.valid());
      network[silent].pass();
    }
    BOOST_TEST(c.stats().lost == 0U);
    BOOST_TEST(c.stats().reconnects == 0U);
    co_await kept.release();
    co_await all.nothing_left();
    co_await c.close();
  });
}

// The same with time-outs: the silent connection is given up, and so are those that follow it.
BOOST_AUTO_TEST_CASE(a_connection_that_has_fallen_silent_is_given_up) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    networks network(all);
    client_options o = forgiving();
    o.command_timeout = 200ms;
    o.connect_timeout = 200ms;
    client c(executor, network.urls(), o);
    co_await all_up(c);
    hold h = co_await mutex(c, "n").acquire({.lease = 2s});
    network[0].swallow();
    network.silence(0);
    co_await eventually("it tries again and again", [&] { return network[0].accepted() >= 3; });
    co_await renewed_again(c);
    BOOST_TEST(h.valid());
    network[0].pass();
    co_await eventually("it is connected again", [&] { return c.stats().reconnects >= 1; });
    // Now the majority needs it.
    network[1].swallow();
    network.silence(1);
    co_await eventually("it is given up", [&] { return network[1].accepted() >= 2; });
    hold other = co_await mutex(c, "m").acquire();
    BOOST_TEST(other.valid());
    co_await other.release();
    network[1].pass();
    co_await h.release();
    co_await all.nothing_left();
    co_await c.close();
  });
}

// A13: a server has said yes and lost the record before it was told the fence. It may have let others in since: its
// vote is gone.
BOOST_AUTO_TEST_CASE(a_server_that_lost_the_record_before_the_write_back_does_not_count) {
  memory_quorum all(3);
  all[1].clock().offset = 30min;  // The larger fence is its.
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    networks network(all);
    client_options o = forgiving();
    o.command_timeout = limit;
    client c(executor, network.urls(), o);
    co_await all_up(c);
    {
      // The scripts become known.
      hold first = co_await mutex(c, "n").acquire();
      co_await first.release();
      co_await all.nothing_left();
    }
    all[2].kill();
    co_await pause(1ms);  // The client knows.
    network[0].forget();
    network[1].hold_replies();
    hold got;
    outcome ended;
    mutex(c, "n").acquire({.lease = std::chrono::hours(1), .wait = 5s}, [&](error_code ec, hold h) {
      got = std::move(h);
      ended.ec = ec;
    });
    co_await eventually("both have granted", [&] { return network[0].replies() != 0 && all.with("n") == 2; });
    network[0].hold_requests();
    network[0].forget();
    network[1].pass();
    co_await eventually("the fence is being written back", [&] { return network[0].requests() != 0; });
    all[0].command("SET", "n", "somebody's");
    network[0].pass();
    co_await eventually("it ends", [&] { return ended.ended(); });
    BOOST_TEST(!got.valid());
    BOOST_TEST((*ended.ec == error::no_quorum || *ended.ec == error::timed_out), ended.ec->message());
    BOOST_TEST(all[0].get("n").value() == "somebody's");
    co_await eventually("it is released", [&] { return !all[1].get("n"); });
  });
}

// A13: the second client has an old grant on c alone, with a small fence; the first one gets a larger fence on a and c.
// By c's old fence and b's clock, which is behind, the second one would be granted the lock with the smaller of the
// two.
BOOST_AUTO_TEST_CASE(an_old_partial_grant_makes_no_small_fence) {
  enum : std::size_t { a, b, c };
  memory_quorum all(3);
  all[b].clock().offset = -30min;
  all[c].clock().offset = -60min;
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    networks of_one(all);
    networks of_two(all);
    client_options o = forgiving();
    o.command_timeout = limit;
    client one(executor, of_one.urls(), o);
    client two(executor, of_two.urls(), o);
    co_await all_up(one);
    co_await all_up(two);
    // The scripts become known.
    for (const auto& n : {one, two}) {
      hold h = co_await mutex(n, "warm").acquire();
      co_await h.release();
      co_await all.nothing_left();
    }
    all[b].command("SET", "n", "somebody's");
    of_one[c].forget();
    of_one[a].hold_replies();
    hold first;
    outcome first_ended;
    mutex(one, "n").acquire({.lease = 1h, .wait = 2s}, [&](error_code ec, hold h) {
      first = std::move(h);
      first_ended.ec = ec;
    });
    co_await eventually("c has granted it to the first",
                        [&] { return of_one[c].replies() != 0 && all.with("n") == 3; });
    // a grants it as well, and c has lost the record before it is told the fence of a.
    of_one[c].hold_requests();
    of_one[c].forget();
    of_one[a].pass();
    co_await eventually("the fence is being written back",
                        [&] { return of_one[c].requests() != 0 || first_ended.ended(); });
    all[c].command("DEL", "n");
    // The second client reaches c alone.
    of_two[a].hold_requests();
    of_two[b].hold_requests();
    hold second;
    mutex(two, "n").acquire({.lease = 1h}, [&](error_code, hold h) { second = std::move(h); });
    co_await eventually("c has granted it to the second", [&] { return all[c].get("n").has_value(); });
    of_one[c].pass();
    co_await eventually("the first has its answer", [&] { return first_ended.ended(); });
    BOOST_TEST(!first.valid());
    const auto larger = first.fence();
    if (first.valid()) co_await first.release();
    all[b].command("DEL", "n");
    of_two[b].pass();
    co_await eventually("the second has it", [&] { return second.valid(); });
    BOOST_TEST(second.fence() > larger);
    // Its clocks are behind: what comes next by a has a larger one.
    of_two[a].pass();
    const auto smaller = second.fence();
    co_await second.release();
    co_await all.nothing_left();
    hold last = co_await mutex(one, "n").acquire();
    BOOST_TEST(last.fence() > smaller);
    co_await last.release();
    co_await one.close();
    co_await two.close();
  });
}

// What writes a hold again arrives late, behind the release, on a connection that is gone.
BOOST_AUTO_TEST_CASE(a_hold_that_is_written_again_too_late_leaves_nothing) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    networks network(all);
    client one(executor, network.urls(), forgiving());
    client two(executor, all.urls(), forgiving());
    co_await all_up(one);
    co_await all_up(two);
    const std::chrono::minutes lease(60);
    {
      // The scripts become known.
      hold h = co_await mutex(one, "warm").acquire();
      co_await h.extend(lease);
      co_await h.release();
      co_await all.nothing_left();
    }
    std::uint64_t reconnects = 0;
    for (const auto late : {0ms, 400ms}) {
      for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST_CONTEXT("server " << i << ", late by " << late.count() << " ms") {
          hold h = co_await mutex(one, "n").acquire({.lease = lease, .renew = renewal::none});
          co_await eventually("every server has it", [&] { return all.with("n") == 3; });
          co_await pause(20ms);
          network[i].forget();
          co_await h.extend(lease);
          co_await eventually("it has renewed", [&] { return network[i].replies() != 0; });
          const auto messages = network[i].requests();
          all[i].command("FLUSHALL");
          network[i].forget();
          network[i].hold_requests(messages);
          co_await h.extend(lease);
          co_await eventually("it is written again", [&] { return network[i].requests() > messages; });
          network[i].cut_clients();
          BOOST_REQUIRE(network[i].kept() == 1U);
          network[i].pass_connected();
          ++reconnects;
          co_await eventually("it is connected again", [&] { return one.stats().reconnects == reconnects; });
          co_await h.release();
          hold next = co_await mutex(two, "n").acquire({.lease = lease});
          BOOST_TEST(next.fence() > h.fence());
          co_await next.release();
          co_await pause(late);
          BOOST_REQUIRE(network[i].kept() == 1U);
          network[i].pass();
          co_await pause(1ms);  // It has arrived.
          co_await all.nothing_left();
        }
      }
    }
    co_await one.close();
    co_await two.close();
  });
}

// What could not be reached is done when it is back, and not at the next renewal or at the end of the lease: there is
// none, and that is far.
BOOST_AUTO_TEST_CASE(a_server_that_was_cut_off_gets_what_it_lacks_and_is_released) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    networks network(all);
    client c(executor, network.urls(), forgiving());
    co_await all_up(c);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto cut_off = [&] {
        network[i].refuse();
        network[i].cut();
      };
      cut_off();
      co_await pause(1ms);  // The client knows.
      hold h = co_await mutex(c, "n").acquire({.lease = 1min, .renew = renewal::none});
      BOOST_TEST(!all[i].get("n"));
      network[i].refuse(false);
      co_await eventually("it has the hold", [&] { return all[i].get("n").has_value(); });
      cut_off();
      co_await pause(1ms);  // The client knows.
      co_await h.release();
      BOOST_TEST(all[i].get("n").has_value());
      co_await pause(1500ms);
      network[i].refuse(false);
      co_await all.nothing_left();
    }
    co_await c.close();
  });
}

// A server says that it lacks the hold when that is being released.
BOOST_AUTO_TEST_CASE(what_was_released_is_not_written_again) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    networks network(all);
    client_options o = forgiving();
    o.command_timeout = limit;
    client c(executor, network.urls(), o);
    co_await all_up(c);
    for (std::size_t i = 0; i < 3; ++i) {
      hold h = co_await mutex(c, "n").acquire({.lease = std::chrono::minutes(60), .renew = renewal::none});
      co_await eventually("every server has it", [&] { return all.with("n") == 3; });
      network[i].forget();
      network[i].hold_replies();
      all[i].command("FLUSHALL");
      co_await h.extend(std::chrono::minutes(60));
      co_await eventually("it has said so", [&] { return network[i].replies() != 0; });
      co_await h.release();
      const auto before = all[i].scripts();
      network[i].pass();
      co_await c.ready();
      co_await pause(50ms);
      hold other = co_await mutex(c, "m").acquire();
      co_await eventually("every server has the other", [&] { return all.with("m") == 3; });
      BOOST_TEST(all.with("n") == 0U);
      BOOST_TEST(all[i].scripts() <= before + 3);
      co_await other.release();
      co_await all.nothing_left();
    }
    co_await c.close();
  });
}

// The deadline counts from the sending of the fence, and what is left is that of the server with less: the other one
// was reached later.
BOOST_AUTO_TEST_CASE(a_deadline_is_early_on_slow_networks) {
  memory_quorum all(3);
  all[2].kill();
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    networks network(all);
    client_options o = forgiving();
    o.command_timeout = limit;
    o.connect_timeout = limit;
    o.drift = 0;
    o.drift_floor = 0ms;
    client c(executor, network.urls(), o);
    co_await eventually("two are up", [&] { return c.stats().connects == 2; });
    const auto is_early = [&](const hold& h) {
      const auto left = h.expires_at() - now();
      return left <= std::chrono::milliseconds(all[0].ttl("n") + 1) &&
             left <= std::chrono::milliseconds(all[1].ttl("n") + 1);
    };
    for (std::size_t i = 0; i < 2; ++i) {
      network[i].hold_requests();
      std::optional<hold> got;
      mutex(c, "n").acquire({.lease = 1h, .renew = renewal::none}, [&](error_code, hold h) { got = std::move(h); });
      co_await eventually("the other one has granted it", [&] { return all[1 - i].get("n").has_value(); });
      co_await pause(500ms);
      network[i].pass();
      co_await eventually("it is acquired", [&] { return got.has_value(); });
      BOOST_TEST(got->valid());
      BOOST_TEST(is_early(*got));
      co_await got->release();
      network[i].slow(300ms);
      hold h = co_await mutex(c, "n").acquire({.lease = 1h, .renew = renewal::none});
      BOOST_TEST(is_early(h));
      co_await h.extend(2h);
      BOOST_TEST(is_early(h));
      network[i].slow(0ms);
      network[i].pass();
      co_await h.release();
      co_await all.nothing_left();
    }
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(when_all_are_silent_the_hold_is_lost_at_its_deadline) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    networks network(all);
    client_options o = forgiving();
    o.command_timeout = 60s;
    client c(executor, network.urls(), o);
    co_await all_up(c);
    hold h = co_await mutex(c, "n").acquire({.lease = 800ms});
    outcome lost;
    std::optional<std::chrono::steady_clock::time_point> told;
    h.lost([&](error_code ec) {
      lost.ec = ec;
      told = now();
    });
    for (std::size_t i = 0; i < 3; ++i) network.silence(i);
    asker waiting{any_lock(mutex(c, "m"))};
    waiting.acquire({.wait = 100ms});
    const auto deadline = h.expires_at();
    co_await eventually("the loss is reported", [&] { return lost.ended(); });
    BOOST_TEST(!*lost.ec);
    BOOST_TEST(!h.valid());
    BOOST_TEST(*told == deadline);
    BOOST_TEST(c.stats().lost == 1U);
    co_await eventually("it is told", [&] { return waiting.ended(); });
    BOOST_TEST(*waiting.ec == error::unreachable, waiting.ec->message());
    auto [extended] = co_await h.extend(5s, as_tuple);
    BOOST_TEST(extended == error::lost, extended.message());
    for (auto& p : network.to) p.pass();
    hold next = co_await mutex(c, "n").acquire();
    BOOST_TEST(next.fence() > h.fence());
    co_await next.release();
    co_await all.nothing_left();
    co_await c.close();
  });
}

// Each server at its own pace, and another pace for each client.
BOOST_AUTO_TEST_CASE(nobody_is_beside_another_on_slow_networks) {
  memory_quorum all(3);
  int inside = 0;
  int entries = 0;
  std::uint64_t last = 0;
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    networks first(all);
    networks second(all);
    first[0].slow(8ms);
    first[1].slow(1ms);
    second[1].slow(6ms);
    second[2].slow(3ms);
    client_options o = forgiving();
    o.command_timeout = 5s;
    client one(executor, first.urls(), o);
    client two(executor, second.urls(), o);
    int running = 2;
    const auto work = [&](client c) -> awaitable<void> {
      mutex lock(c, "n");
      for (int i = 0; i < 10; ++i) {
        hold h = co_await lock.acquire();
        BOOST_TEST(++inside == 1);
        BOOST_TEST(h.fence() > last);
        last = h.fence();
        ++entries;
        co_await pause(1ms);
        --inside;
        co_await h.release();
      }
      --running;
    };
    const auto rethrow = [](std::exception_ptr e) {
      if (e) std::rethrow_exception(e);
    };
    asio::co_spawn(executor, work(one), rethrow);
    asio::co_spawn(executor, work(two), rethrow);
    co_await eventually("both have had their turns", [&] { return running == 0; });
    BOOST_TEST(entries == 20);
    co_await one.close();
    co_await two.close();
    co_await all.nothing_left();
  });
}

// What one server is sent arrives when others have long had it, and somebody else is in.
BOOST_AUTO_TEST_CASE(an_attempt_that_arrives_late_at_one_server_is_in_nobodys_way) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    networks network(all);
    client_options o = forgiving();
    o.command_timeout = 60s;
    client one(executor, network.urls(), o);
    client two(executor, all.urls(), forgiving());
    co_await all_up(one);
    co_await all_up(two);
    std::uint64_t last = 0;
    for (std::size_t late = 0; late < 3; ++late) {
      for (const bool released : {true, false}) {
        BOOST_TEST_CONTEXT("server " << late << (released ? ", behind the release" : ", while it is held")) {
          network[late].hold_requests();
          hold h = co_await mutex(one, "n").acquire();
          BOOST_TEST(h.fence() > last);
          BOOST_TEST(!all[late].get("n"));
          if (released) {
            co_await h.release();
            hold next = co_await mutex(two, "n").acquire();
            BOOST_TEST(next.fence() > h.fence());
            network[late].pass();
            co_await one.ready();
            co_await pause(10ms);
            BOOST_TEST(next.valid());
            BOOST_TEST(all.with("n") >= 2U);
            co_await next.extend(60s);
            last = next.fence();
            co_await next.release();
          } else {
            network[late].pass();
            co_await eventually("it arrives", [&] { return all.with("n") == 3; });
            mutex lock(two, "n");
            auto none = co_await lock.try_acquire();
            BOOST_TEST(!none.has_value());
            last = h.fence();
            co_await h.release();
          }
          co_await all.nothing_left();
        }
      }
    }
    co_await one.close();
    co_await two.close();
  });
}

// The same on a connection that was lost meanwhile: the release has overtaken the attempt. What the attempt leaves must
// not last for its lease of an hour, whether it runs before its not-after or behind it.
BOOST_AUTO_TEST_CASE(late_bytes_of_a_broken_connection_leave_nothing) {
  memory_quorum all(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    networks network(all);
    client one(executor, network.urls(), forgiving());
    client two(executor, all.urls(), forgiving());
    co_await all_up(one);
    co_await all_up(two);
    std::uint64_t reconnects = 0;
    for (const auto late : {0ms, 400ms}) {
      for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST_CONTEXT("server " << i << ", late by " << late.count() << " ms") {
          network[i].forget();
          network[i].hold_requests();
          hold h = co_await mutex(one, "n").acquire({.lease = std::chrono::minutes(60)});
          co_await eventually("the attempt was sent", [&] { return network[i].requests() != 0; });
          network[i].cut_clients();
          BOOST_REQUIRE(network[i].kept() == 1U);
          network[i].pass_connected();
          ++reconnects;
          co_await eventually("it is connected again", [&] { return one.stats().reconnects == reconnects; });
          co_await h.release();
          hold next = co_await mutex(two, "n").acquire({.lease = std::chrono::minutes(60)});
          BOOST_TEST(next.fence() > h.fence());
          co_await next.release();
          co_await pause(late);
          BOOST_REQUIRE(network[i].kept() == 1U);
          network[i].pass();
          co_await pause(1ms);  // It has arrived.
          co_await all.nothing_left();
          hold again = co_await mutex(two, "n").acquire();
          BOOST_TEST(again.fence() > next.fence());
          co_await again.release();
          co_await all.nothing_left();
        }
      }
    }
    co_await one.close();
    co_await two.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
