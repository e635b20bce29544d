// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A quorum that works: what its locks do as those of one server do, and what they cannot.
#include "simulation/with_memory.hpp"
#include "support/kinds.hpp"

#include "protocol/scripts.hpp"

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(quorum, with_quorum)

namespace {

// All servers have it: those beyond the majority come a little later.
awaitable<void> everywhere(memory_quorum& all, const std::string& key) {
  co_await eventually("every server has it", [&] { return all.with(key) == all.servers.size(); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_lock_is_on_every_server_and_then_on_none) {
  for (const std::size_t n : {2U, 3U, 4U, 5U}) {
    memory_quorum all(n);
    run([&]() -> awaitable<void> {
      client c(co_await asio::this_coro::executor, all.urls());
      co_await c.ready();
      co_await eventually("all are up", [&] { return c.stats().connects == n; });
      mutex lock(c, "n");
      const auto before = now();
      hold h = co_await lock.acquire();
      BOOST_TEST(h.valid());
      BOOST_TEST(h.fence() != 0U);
      // The lease less the drift and the time spent.
      BOOST_TEST(h.expires_at() >= before + 29697ms);
      BOOST_TEST(h.expires_at() <= now() + 29698ms);
      co_await everywhere(all, "n");
      const lock_info info = co_await lock.inspect();
      BOOST_TEST(info.held);
      BOOST_TEST(info.token == h.token());
      BOOST_TEST(info.fence == h.fence());
      BOOST_TEST(info.holders == 1U);
      BOOST_TEST((info.ttl.has_value() && *info.ttl > 29s && *info.ttl <= 30s));
      auto again = co_await lock.try_acquire();
      BOOST_TEST(!again.has_value());
      const auto fence = h.fence();
      co_await h.release();
      // All of them answer, so all of them have been waited for.
      BOOST_TEST(all.size() == 0U);
      const lock_info free = co_await lock.inspect();
      BOOST_TEST(!free.held);
      hold next = co_await lock.acquire();
      BOOST_TEST(next.fence() > fence);
      co_await next.release();
      co_await c.close();
      BOOST_TEST(all.size() == 0U);
    });
  }
}

// Two round trips until it is acquired, and three in all. (The server that answers first has the largest fence: one
// that grants a larger one later gets no raise.)
BOOST_AUTO_TEST_CASE(a_free_lock_of_each_kind_and_its_release_are_three_scripts_on_each_server) {
  auto& world = (*this)[0].world();
  world.fastest = world.slowest = 1ms;
  (*this)[0].clock().offset = 1s;
  std::vector<std::vector<std::string>> ran(servers.size());
  for (std::size_t i = 0; i < servers.size(); ++i) {
    (*this)[i].server().on_run = [&its = ran[i]](const auto&, const auto& arguments, const auto&) {
      its.emplace_back(arguments[0]);
    };
  }
  const std::vector<std::string> three{"acquire", "raise", "release"};
  for (const kind& k : all_kinds) {
    if (std::string_view(k.name) == "counting_semaphore") continue;  // A quorum has none.
    BOOST_TEST_CONTEXT("kind: " << k.name) {
      run([&]() -> awaitable<void> {
        client c(co_await asio::this_coro::executor, urls());
        co_await eventually("all are up", [&] { return c.stats().connects == 3U; });
        const any_lock lock = k.holder(c);
        // The second time every server knows the script.
        for (const bool is_first : {true, false}) {
          for (auto& its : ran) its.clear();
          const auto began = now();
          auto acquiring = std::visit([](const auto& l) { return l.acquire(asio::use_awaitable); }, lock);
          hold h = co_await std::move(acquiring);
          BOOST_TEST((is_first || now() - began == 4ms));
          co_await pause(50ms);  // A request for nothing would be on its way by now.
          co_await h.release();
          for (const auto& its : ran) BOOST_TEST(its == three, boost::test_tools::per_element());
        }
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(a_lock_is_busy_for_another_client) {
  run([&]() -> awaitable<void> {
    client a(co_await asio::this_coro::executor, urls());
    client b(co_await asio::this_coro::executor, urls());
    hold h = co_await mutex(a, "n").acquire();
    mutex lock(b, "n");
    auto busy = co_await lock.try_acquire();
    BOOST_TEST(!busy.has_value());
    auto [ec, none] = co_await lock.acquire({.wait = 100ms}, as_tuple);
    BOOST_TEST((ec == error::timed_out));
    auto [once, nothing] = co_await lock.acquire({.wait = 0ms}, as_tuple);
    BOOST_TEST((once == error::timed_out));
    BOOST_TEST(b.stats().contended == 3U);
    co_await h.release();
    hold mine = co_await lock.acquire();
    BOOST_TEST(mine.fence() > h.fence());
  });
  BOOST_TEST(size() == 0U);
}

// Who waits is told of the release: the pauses alone would be an hour.
BOOST_AUTO_TEST_CASE(a_waiter_is_woken_by_the_release) {
  run([&]() -> awaitable<void> {
    client a(co_await asio::this_coro::executor, urls());
    client b(co_await asio::this_coro::executor, urls());
    hold h = co_await mutex(a, "n").acquire({.lease = std::chrono::minutes(60)});
    std::optional<hold> got;
    mutex(b, "n").acquire({.retry = {.first = 1h, .max = 1h, .factor = 1.0, .jitter = 0.0}},
                          [&](error_code ec, hold g) {
                            BOOST_TEST(!ec);
                            got = std::move(g);
                          });
    co_await eventually("it listens", [&] {
      return (*this)[0].command("PUBSUB", "NUMSUB", "leasehold:{0}:free:n").items.at(1).integer == 1;
    });
    co_await pause(100ms);  // Once it listens, it polls, too.
    BOOST_TEST(!got.has_value());
    co_await h.release();
    co_await eventually("it is acquired", [&] { return got.has_value(); });
    BOOST_TEST(got->valid());
    // The other two may have granted it before this one has heard of that.
    co_await eventually("it listens no more", [&] {
      return (*this)[0].command("PUBSUB", "NUMSUB", "leasehold:{0}:free:n").items.at(1).integer == 0;
    });
  });
  BOOST_TEST(size() == 0U);
}

// Who has some of the servers and not enough releases them, and is not in its own way.
BOOST_AUTO_TEST_CASE(what_was_granted_in_part_is_released) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, urls());
    mutex lock(c, "n");
    for (std::size_t i = 0; i < 20; ++i) {
      (*this)[0].command("SET", "n", "somebody's");
      (*this)[1].command("SET", "n", "somebody's");
      auto none = co_await lock.try_acquire();
      BOOST_TEST(!none.has_value());
      std::optional<hold> got;
      lock.acquire([&](error_code, hold h) { got = std::move(h); });
      co_await pause(200us * i);
      (*this)[i % 2].command("DEL", "n");
      co_await eventually("it is acquired", [&] { return got.has_value(); });
      BOOST_TEST(got->valid());
      BOOST_TEST(with("n") == 3U);
      co_await got->release();
      (*this)[0].command("DEL", "n");
      (*this)[1].command("DEL", "n");
      BOOST_TEST(size() == 0U);
    }
  });
}

BOOST_AUTO_TEST_CASE(nobody_is_beside_another) {
  for (const std::size_t n : {3U, 4U, 5U}) {
    memory_quorum all(n);
    int inside = 0;
    int entries = 0;
    std::uint64_t last = 0;
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      std::vector<client> clients;
      for (int i = 0; i < 3; ++i) clients.emplace_back(executor, all.urls());
      int running = 0;
      const auto work = [&](int i) -> awaitable<void> {
        mutex lock(clients[static_cast<std::size_t>(i)], "n");
        for (int k = 0; k < 15; ++k) {
          hold h = co_await lock.acquire();
          BOOST_TEST(++inside == 1);
          BOOST_TEST(h.fence() > last);
          last = h.fence();
          ++entries;
          co_await pause(500us * ((i * 7 + k) % 5));
          --inside;
          co_await h.release();
        }
        --running;
      };
      for (int i = 0; i < 3; ++i) {
        ++running;
        asio::co_spawn(executor, work(i), [](std::exception_ptr e) {
          if (e) std::rethrow_exception(e);
        });
      }
      co_await eventually("all have had their turns", [&] { return running == 0; });
      for (auto& c : clients) co_await c.close();
    });
    BOOST_TEST(entries == 45);
    BOOST_TEST(all.size() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(an_owner_enters_a_recursive_mutex_again_with_its_fence) {
  run([&]() -> awaitable<void> {
    client a(co_await asio::this_coro::executor, urls());
    client b(co_await asio::this_coro::executor, urls());
    for (int i = 0; i < 10; ++i) {
      hold outer = co_await recursive_mutex(a, "n", "o").acquire();
      hold inner = co_await recursive_mutex(b, "n", "o").acquire();
      BOOST_TEST(outer.depth() == 1U);
      BOOST_TEST(inner.depth() == 2U);
      BOOST_TEST(inner.fence() == outer.fence());
      recursive_mutex others(b, "n", "p");
      auto none = co_await others.try_acquire();
      BOOST_TEST(!none.has_value());
      const lock_info info = co_await others.inspect();
      BOOST_TEST(info.owner == "o");
      BOOST_TEST(info.holders == 2U);
      co_await outer.release();
      none = co_await others.try_acquire();
      BOOST_TEST(!none.has_value());
      co_await inner.release();
      BOOST_TEST(size() == 0U);
      hold other = co_await others.acquire();
      BOOST_TEST(other.fence() > inner.fence());
      co_await other.release();
    }
  });
}

BOOST_AUTO_TEST_CASE(a_writer_excludes_readers_and_becomes_one) {
  run([&]() -> awaitable<void> {
    client a(co_await asio::this_coro::executor, urls());
    client b(co_await asio::this_coro::executor, urls());
    shared_mutex mine(a, "n");
    shared_mutex theirs(b, "n");
    hold writer = co_await mine.acquire();
    auto none = co_await theirs.try_acquire_shared();
    BOOST_TEST(!none.has_value());
    const auto fence = writer.fence();
    co_await writer.downgrade();
    BOOST_TEST(writer.fence() > fence);
    BOOST_TEST(writer.valid());
    hold reader = co_await theirs.acquire_shared();
    BOOST_TEST(reader.fence() >= writer.fence());
    none = co_await theirs.try_acquire();
    BOOST_TEST(!none.has_value());
    co_await writer.release();
    co_await reader.release();
    hold next = co_await theirs.acquire();
    BOOST_TEST(next.fence() > reader.fence());
    BOOST_TEST(next.fence() > writer.fence());
  });
  BOOST_TEST(size() == 0U);
}

BOOST_AUTO_TEST_CASE(many_readers_are_in_at_once) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, urls());
    shared_mutex lock(c, "n");
    std::vector<hold> readers(20);
    std::size_t in = 0;
    for (auto& r : readers) {
      lock.acquire_shared([&](error_code ec, hold h) {
        BOOST_TEST(!ec);
        r = std::move(h);
        ++in;
      });
    }
    co_await eventually("all are in", [&] { return in == readers.size(); });
    readers.clear();
    hold writer = co_await lock.acquire();
    BOOST_TEST(writer.valid());
  });
  BOOST_TEST(size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_lease_is_extended_and_renewed) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, urls());
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    hold h = co_await mutex(c, "n").acquire({.lease = 10s, .renew = renewal::none});
    const auto before = h.expires_at();
    co_await h.extend(60s);
    BOOST_TEST(h.expires_at() > before + 49s);
    co_await eventually("it is longer everywhere", [&] {
      return std::all_of(servers.begin(), servers.end(), [](const auto& s) { return s->ttl("n") > 59000; });
    });
    hold r = co_await mutex(c, "m").acquire({.lease = 300ms});
    const auto first = r.expires_at();
    co_await eventually("it is renewed", [&] { return c.stats().renewed >= 5; });
    BOOST_TEST(r.valid());
    BOOST_TEST(r.expires_at() > first);
  });
  BOOST_TEST(size() == 0U);
}

BOOST_AUTO_TEST_CASE(what_a_quorum_cannot_do_is_refused) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, urls());
    counting_semaphore permits(c, "n", 2);
    auto [ec, none] = co_await permits.acquire(as_tuple);
    BOOST_TEST((ec == error::not_supported));
    auto [again, nothing] = co_await permits.try_acquire(as_tuple);
    BOOST_TEST((again == error::not_supported));
    auto [resized] = co_await permits.resize(3, as_tuple);
    BOOST_TEST((resized == error::not_supported));
    auto [inspected, info] = co_await permits.inspect(as_tuple);
    BOOST_TEST((inspected == error::not_supported));
    hold h = co_await mutex(c, "n").acquire();
    auto [down] = co_await h.downgrade(as_tuple);
    BOOST_TEST((down == error::not_supported));
    auto group = co_await acquire_all({.lease = 5s}, mutex(c, "a"), recursive_mutex(c, "b", "o"));
    BOOST_TEST(group.size() == 2U);
    BOOST_TEST(group.valid());
    co_await group.release();
  });
  BOOST_TEST(size() == 0U);
}

BOOST_AUTO_TEST_CASE(its_urls_are_servers_of_their_own) {
  asio::io_context context;
  const auto code_of = [&](std::vector<std::string> u) {
    try {
      client c(context, std::move(u));
    } catch (const system_error& e) {
      return e.code();
    }
    return error_code();
  };
  BOOST_TEST((code_of({"redis://a", "redis://b", "redis://a"}) == error::invalid_url));
  BOOST_TEST((code_of({"redis://a", "redis+cluster://b"}) == error::not_supported));
  BOOST_TEST((code_of({"redis://a", "nonsense"}) == error::invalid_url));
}

BOOST_AUTO_TEST_CASE(closing_gives_everything_back_on_all_servers) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, urls());
    std::vector<hold> holds;
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    for (int i = 0; i < 50; ++i) holds.push_back(co_await mutex(c, "n" + std::to_string(i)).acquire());
    co_await everywhere(*this, "n49");
    co_await c.close();
    BOOST_TEST(size() == 0U);
    BOOST_TEST(!holds.front().valid());
  });
}

// A majority says what it is, whatever the rest says.
BOOST_AUTO_TEST_CASE(a_key_that_is_no_lock_is_the_wrong_type) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, urls());
    recursive_mutex lock(c, "n", "o");
    (*this)[0].command("SET", "n", "a string");
    hold h = co_await lock.acquire();
    BOOST_TEST(h.valid());
    co_await h.release();
    (*this)[1].command("LPUSH", "n", "a list");
    auto [ec, none] = co_await lock.acquire(as_tuple);
    BOOST_TEST((ec == error::wrong_type));
    co_await eventually("the rest is released", [&] { return with("n") == 2; });
    // A hold whose record was overwritten on one server and forgotten by another one is lost.
    for (const auto& s : servers) s->command("DEL", "n");
    hold next = co_await lock.acquire({.lease = 1h, .renew = renewal::none});
    co_await everywhere(*this, "n");
    (*this)[0].command("SET", "n", "a string");
    (*this)[1].command("DEL", "n");
    auto [lost] = co_await next.extend(2h, as_tuple);
    BOOST_TEST((lost == error::lost));
    BOOST_TEST(!next.valid());
  });
}

// It ends with success if a majority had the hold until then.
BOOST_AUTO_TEST_CASE(a_release_says_whether_a_majority_had_it) {
  run([&]() -> awaitable<void> {
    client_options o = forgiving();
    o.command_timeout = 10min;
    client c(co_await asio::this_coro::executor, urls(), o);
    co_await eventually("all are up", [&] { return c.stats().connects == 3; });
    mutex lock(c, "n");
    hold lost = co_await lock.acquire({.lease = 1h, .renew = renewal::none});
    co_await everywhere(*this, "n");
    (*this)[0].command("DEL", "n");
    (*this)[1].command("DEL", "n");
    auto [gone] = co_await lost.release(as_tuple);
    BOOST_TEST((gone == error::lost));
    BOOST_TEST(size() == 0U);
    // One has lost it: it depends on the server that does not answer yet.
    hold kept = co_await lock.acquire({.lease = 1h, .renew = renewal::none});
    co_await everywhere(*this, "n");
    (*this)[0].command("DEL", "n");
    (*this)[2].stop();
    outcome released;
    kept.release(released.handler());
    co_await eventually("one has released it", [&] { return !(*this)[1].get("n"); });
    co_await pause(300ms);
    BOOST_TEST(!released.ended());
    (*this)[2].go_on();
    co_await eventually("it is released", [&] { return released.ended(); });
    BOOST_TEST(!*released.ec);
    BOOST_TEST(size() == 0U);
  });
}

// Cancelled at any moment it leaves nothing.
BOOST_AUTO_TEST_CASE(a_cancelled_acquire_leaves_nothing) {
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, urls());
    client other(co_await asio::this_coro::executor, urls());
    co_await c.ready();
    co_await other.ready();
    mutex lock(c, "n");
    for (int i = 0; i < 60; ++i) {
      hold busy;
      if (i % 3 == 0) busy = co_await mutex(other, "n").acquire();
      asio::cancellation_signal signal;
      std::optional<error_code> ended;
      hold got;
      lock.acquire(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, hold h) {
        ended = ec;
        got = std::move(h);
      }));
      co_await pause(100us * i);
      signal.emit(asio::cancellation_type::total);
      co_await eventually("it ends", [&] { return ended.has_value(); });
      if (got.valid()) co_await got.release();
      if (busy.valid()) co_await busy.release();
      co_await nothing_left();
    }
    BOOST_TEST(c.stats().waiting == 0U);
    BOOST_TEST(c.stats().cancelled > 0U);
  });
}

// Most of them are still to be asked for.
BOOST_AUTO_TEST_CASE(very_many_that_are_cancelled_at_once_leave_nothing) {
  run([&]() -> awaitable<void> {
    constexpr std::size_t all = 3000;
    for (const auto later : {0us, 500us, 5000us}) {
      client c(co_await asio::this_coro::executor, urls());
      co_await c.ready();
      std::deque<asio::cancellation_signal> signals;
      std::size_t ended = 0, wrong = 0;
      std::vector<hold> held;
      for (std::size_t i = 0; i < all; ++i) {
        auto ends = [&](error_code ec, hold h) {
          ++ended;
          wrong += ec && ec != asio::error::operation_aborted ? 1 : 0;
          if (!ec) held.push_back(std::move(h));
        };
        signals.emplace_back();
        mutex(c, std::to_string(i)).acquire(asio::bind_cancellation_slot(signals.back().slot(), ends));
      }
      co_await pause(later);
      for (auto& s : signals) s.emit(asio::cancellation_type::terminal);
      co_await eventually("all have ended", [&] { return ended == all; });
      BOOST_TEST(wrong == 0U);
      held.clear();
      co_await nothing_left();
      hold h = co_await mutex(c, "0").acquire();
      co_await h.release();
      co_await c.close();
    }
  });
}

// What is written back: never smaller, only to the token's own record, and without touching its expiry.
BOOST_AUTO_TEST_CASE(a_fence_is_raised) {
  auto& redis = (*this)[0];
  const auto call = [&](const detail::script& s, const std::vector<std::string>& words) {
    const std::vector<std::string_view> keys{"n", "leasehold:{0}:fence", the_queue, "leasehold:{0}:entries:n"};
    const std::vector<std::string_view> arguments(words.begin(), words.end());
    return redis.server().eval(s.text, keys, arguments).text;
  };
  for (const auto* s : {&detail::scripts::mutex, &detail::scripts::recursive_mutex, &detail::scripts::shared_mutex}) {
    redis.command("FLUSHALL");
    const std::string granted = call(*s, {"acquire", "t.1", "60000", "9000000000000000", "", "w"});
    const std::string fence = granted.substr(2, granted.find(' ', 2) - 2);
    const std::string g = std::to_string(std::stoull(fence) / 2048 + 1000000000);
    const std::string larger = std::to_string(std::stoull(g) * 2048);
    redis.command("PEXPIRE", "n", "50000");
    BOOST_TEST(call(*s, {"raise", "t.2", larger, g}).starts_with("0 0 0 "));
    BOOST_TEST(call(*s, {"raise", "t.1", larger, g}).starts_with("1 " + larger + " "));
    BOOST_TEST(call(*s, {"raise", "t.1", larger, g}).starts_with("1 " + larger + " "));
    // One that is smaller, and one with fewer digits.
    for (const std::string& own : {fence, std::string("9999")}) {
      BOOST_TEST(call(*s, {"raise", "t.1", own, "1"}).starts_with("1 " + larger + " "));
    }
    BOOST_TEST(call(*s, {"renew", "t.1", "0"}).starts_with("1 " + larger + " "));
    BOOST_TEST(redis.ttl("n") > 40000);
    BOOST_TEST(redis.ttl("n") <= 50000);
    BOOST_TEST(redis.get("leasehold:{0}:fence").value() == g);
    // Of a hold that was written again: the fence may be smaller than its own, and the counter stays.
    BOOST_TEST(call(*s, {"raise", "t.1", fence, "1", "1"}).starts_with("1 " + fence + " "));
    BOOST_TEST(call(*s, {"renew", "t.1", "0"}).starts_with("1 " + fence + " "));
    BOOST_TEST(call(*s, {"raise", "t.1", larger, g, "1"}).starts_with("1 " + larger + " "));
    BOOST_TEST(redis.get("leasehold:{0}:fence").value() == g);
    call(*s, {"release", "t.1"});
    BOOST_TEST(redis.size() == 0U);
    BOOST_TEST(call(*s, {"raise", "t.1", larger, g}).starts_with("0 0 0 "));
    BOOST_TEST(redis.size() == 0U);
    const std::string next = call(*s, {"acquire", "t.3", "60000", "9000000000000000", "", "w"});
    BOOST_TEST(std::stoull(next.substr(2)) > std::stoull(larger));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
