// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// One address with slots behind it (docs/protocol.md): clients notice it, agree about the keys, and follow those that
// have tagged keys already.
#include "protocol/keys.hpp"
#include "protocol/slots.hpp"
#include "simulation/with_memory.hpp"
#include "store/memory/scripting.hpp"
#include "support/kinds.hpp"

#include <leasehold/admin.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(tagged_keys)

namespace {

using strings = std::vector<std::string>;

// What clients report of their keys, and the scripts that a server refuses because of their slots.
struct notes {
  strings told;
  std::size_t refused = 0;

  client_options options() {
    client_options o;
    o.observer = [this](const event& e) {
      if (e.what == event::kind::tagged_keys) told.emplace_back(e.text);
    };
    return o;
  }
  void watch(memory_server& redis) {
    redis.server().on_run = [this](const auto&, const auto&, const detail::memory::reply& r) {
      refused += r.text.starts_with("CROSSSLOT") ? 1U : 0U;
    };
  }
};

std::string tagged(const std::string& url) { return url + "?keys=tagged"; }

constexpr const char* of_other_clients = "leasehold: the keys of this server are tagged";

}  // namespace

BOOST_FIXTURE_TEST_CASE(the_first_refusal_tags_the_keys_of_the_whole_client, with_slots) {
  notes n;
  n.watch(redis);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), n.options());
    std::vector<hold> all;
    for (const char* name : {"a", "b", "c", "d"}) all.push_back(co_await mutex(c, name).acquire());
    BOOST_REQUIRE(n.told.size() == 1U);
    BOOST_TEST(n.told.front().starts_with("CROSSSLOT"));
    BOOST_TEST(n.refused == 1U);
    BOOST_TEST(c.stats().refused == 0U);
    BOOST_TEST(c.last_refusal() == "");
    BOOST_TEST(redis.get("leasehold:{0}:fence").value_or("") == "tagged");
    for (const char* name : {"a", "b", "c", "d"}) {
      BOOST_TEST(redis.get(std::string(detail::fence_key(detail::slot_of(name)))).has_value());
    }
    // Locks that were made before, too, and every later connection.
    redis.command("CLIENT", "KILL");
    for (auto& h : all) co_await h.release();
    co_await pause(10s);
    const hold again = co_await mutex(c, "a").acquire();
    BOOST_TEST(n.refused == 1U);
    BOOST_TEST(n.told.size() == 1U);
  });
}

BOOST_FIXTURE_TEST_CASE(with_the_parameter_nothing_is_refused, with_slots) {
  notes n;
  n.watch(redis);
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, tagged(redis.url()), n.options());
    const hold a = co_await mutex(c, "a").acquire();
    const hold b = co_await shared_mutex(c, "b").acquire();
    const auto more = co_await acquire_all(mutex(c, "c"), recursive_mutex(c, "d", "o"));
    co_await list(c);
    BOOST_TEST(n.refused == 0U);
    BOOST_TEST(n.told.empty());
  });
}

// None is lost, whatever was sent before the first refusal came.
BOOST_FIXTURE_TEST_CASE(requests_that_were_sent_before_the_first_refusal_are_sent_again, with_slots) {
  notes n;
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), n.options());
    co_await c.ready();
    std::deque<asker> all;
    for (int i = 0; i < 40; ++i) all.emplace_back(mutex(c, "n" + std::to_string(i % 20))).acquire();
    asker cancelled(mutex(c, "n0"));
    cancelled.acquire();
    co_await turn();
    cancelled.signal.emit(asio::cancellation_type::terminal);
    co_await eventually("the cancelled one has ended", [&] { return cancelled.ended(); });
    BOOST_TEST(!cancelled.in());
    for (auto& a : all) {
      co_await eventually("it is in", [&] { return a.in(); });
      co_await a.got.release();
    }
    BOOST_TEST(n.told.size() == 1U);
    co_await eventually("nothing is left", [&] { return redis.size() == 0; });
  });
}

BOOST_FIXTURE_TEST_CASE(a_waiter_is_notified_of_its_grant_and_after_a_reconnect_too, with_slots) {
  for (const bool reconnects : {false, true}) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client a(executor, redis.url());
      client b(executor, redis.url());
      asker first(mutex(a, "n"));
      co_await acquired(first);
      asker next(mutex(b, "n"));
      next.acquire();
      co_await eventually("it waits", [&] { return redis.command("ZCARD", the_tagged_queue).integer == 1; });
      if (reconnects) {
        redis.command("CLIENT", "KILL");
        co_await pause(300ms);
      }
      const auto released = now();
      co_await first.got.release();
      co_await eventually("the next is in", [&] { return next.in(); });
      BOOST_TEST((now() - released < 20ms));
      BOOST_TEST(b.stats().handed_off == 1U);
      co_await next.got.release();
    });
  }
}

// The server publishes in slots, and its user may not listen there. A mutex is handed on by a quick form.
BOOST_FIXTURE_TEST_CASE(a_waiter_that_may_not_listen_in_its_slot_is_notified_on_its_clients_channel, with_slots) {
  redis.server().refuses_slot_channels = true;
  const auto check = [&](auto lock_of) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client a(executor, redis.url());
      client b(executor, redis.url());
      asker first(lock_of(a));
      co_await acquired(first);
      asker next(lock_of(b));
      next.acquire();
      co_await eventually("it waits", [&] { return redis.command("ZCARD", the_tagged_queue).integer == 1; });
      const auto released = now();
      co_await first.got.release();
      co_await eventually("the next is in", [&] { return next.in(); });
      BOOST_TEST((now() - released < 20ms));
      BOOST_TEST(b.stats().handed_off == 1U);
      co_await next.got.release();
    });
  };
  check([](const client& c) { return mutex(c, "n"); });
  check([](const client& c) { return shared_mutex(c, "n"); });
}

BOOST_FIXTURE_TEST_CASE(several_locks_in_several_slots_are_acquired_one_after_the_other, with_slots) {
  for (const bool by_url : {false, true}) {
    notes n;
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      client c(executor, by_url ? tagged(redis.url()) : redis.url(), n.options());
      co_await c.ready();
      {
        const auto all = co_await acquire_all(mutex(c, "a"), mutex(c, "b"), counting_semaphore(c, "s", 1));
        for (const auto& h : all) BOOST_TEST(h.valid());
        // In one slot they need one script.
        const auto together = co_await acquire_all(mutex(c, "{x}a"), mutex(c, "{x}b"));
        BOOST_TEST(together.size() == 2U);
      }
      client other(executor, redis.url());
      const hold busy = co_await mutex(other, "b").acquire();
      const std::vector<mutex> both{mutex(c, "a"), mutex(c, "b")};
      auto [ec, none] = co_await acquire_all({.wait = 0ms}, both, as_tuple);
      BOOST_TEST(ec == error::timed_out);
      BOOST_TEST(c.stats().refused == 0U);
    });
    run([&]() -> awaitable<void> { co_await eventually("nothing is left", [&] { return redis.size() == 0; }); });
    BOOST_TEST(n.told.size() == (by_url ? 0U : 1U));
  }
}

BOOST_FIXTURE_TEST_CASE(operators_find_and_break_locks_in_all_slots, with_slots) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client holder(executor, redis.url());
    std::vector<hold> all;
    for (int i = 0; i < 30; ++i) all.push_back(co_await mutex(holder, "n" + std::to_string(i)).acquire());
    for (int i = 0; i < 30; ++i) redis.command("SET", "other" + std::to_string(i), "x");
    client waiter(executor, redis.url());
    asker next(mutex(waiter, "n7"));
    next.acquire();
    const auto key = "leasehold:{" + std::string(detail::tag_of_slot(detail::slot_of("n7"))) + "}:queue:n7";
    co_await eventually("it waits", [&] { return redis.command("ZCARD", key).integer == 1; });
    // For each of these operations a client that has sent nothing before.
    notes n;
    client lists(executor, redis.url(), n.options()), shows(executor, redis.url(), n.options());
    const auto locks = co_await list(lists);
    BOOST_TEST(locks.size() == 30U);
    for (const auto& lock : locks) BOOST_TEST(lock.waiters == (lock.name == "n7" ? 1U : 0U));
    BOOST_TEST(lists.stats().refused == 0U);
    const lock_status shown = co_await show(shows, "n7");
    BOOST_TEST(shown.queue.size() == 1U);
    BOOST_TEST(n.told.size() == 2U);
    outcome lost;
    all[7].lost(lost.handler());
    co_await pause(2s);
    client breaks(executor, redis.url());
    const broken_lock broken = co_await break_lock(breaks, "n7");
    BOOST_TEST(broken.token == all[7].token());
    co_await eventually("the next is in", [&] { return next.in(); });
    co_await eventually("the holder knows", [&] { return lost.ended(); });
    BOOST_TEST(next.got.token() == broken.next);
  });
}

// --- Clients with the plain layout and clients with tagged keys, on a server that does not check slots ---

BOOST_FIXTURE_TEST_CASE(a_break_reaches_a_client_that_has_not_noticed_the_tagged_keys, with_memory) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client a(executor, redis.url());
    hold h = co_await mutex(a, "n").acquire();
    client t(executor, tagged(redis.url()));
    hold mark = co_await mutex(t, "mark").acquire();
    co_await pause(2s);
    outcome lost;
    h.lost(lost.handler());
    co_await break_lock(t, "n");
    co_await pause(100ms);
    BOOST_TEST(lost.ended());
    BOOST_TEST(!h.valid());
  });
}

BOOST_FIXTURE_TEST_CASE(a_hold_from_before_the_switch_to_tagged_keys_listens_in_its_slot, with_memory) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client a(executor, redis.url());
    hold h = co_await mutex(a, "n").acquire();
    client t(executor, tagged(redis.url()));
    hold mark = co_await mutex(t, "mark").acquire();
    const auto id = h.token().substr(0, h.token().find('.'));
    const auto channel = detail::client_channel(detail::tag_of_slot(detail::slot_of("n")), id);
    BOOST_TEST(redis.command("SPUBLISH", channel, "nothing").integer == 0);
    hold other = co_await mutex(a, "other").acquire();  // It switches.
    co_await pause(100ms);
    BOOST_TEST(redis.command("SPUBLISH", channel, "nothing").integer == 1);
    co_await h.release();
  });
}

BOOST_FIXTURE_TEST_CASE(plain_clients_follow_a_client_with_tagged_keys, with_memory) {
  notes n;
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client a(executor, redis.url(), n.options());
    client b(executor, redis.url(), n.options());
    asker first(mutex(a, "n"));
    co_await acquired(first);
    asker second(mutex(b, "n"));
    second.acquire();
    co_await eventually("it waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    BOOST_TEST(n.told.empty());
    client t(executor, tagged(redis.url()));
    asker third(mutex(t, "n"));
    third.acquire();
    co_await eventually("it waits in another queue",
                        [&] { return redis.command("ZCARD", the_tagged_queue).integer >= 1; });
    // The waiter notices it by its next poll, though the lock is not free.
    co_await eventually("both wait in one queue",
                        [&] { return redis.command("ZCARD", the_tagged_queue).integer == 2; });
    BOOST_REQUIRE(n.told.size() == 1U);
    BOOST_TEST(n.told.front().find(of_other_clients) != std::string::npos);
    auto fence = first.got.fence();
    co_await first.got.release();
    for (asker* next : {&third, &second}) {
      co_await eventually("the next is in", [&] { return next->in(); });
      BOOST_TEST(next->got.fence() > fence);
      fence = next->got.fence();
      co_await next->got.release();
    }
    const hold again = co_await mutex(a, "n").acquire();
    BOOST_TEST(again.fence() > fence);
    BOOST_TEST(n.told.size() == 2U);
    BOOST_TEST(a.stats().refused + b.stats().refused == 0U);
  });
}

// The quick form of joining a queue, which another client of the plain layout has begun.
BOOST_FIXTURE_TEST_CASE(a_plain_client_that_joins_a_queue_notices_tagged_keys, with_memory) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client a(executor, redis.url()), b(executor, redis.url()), c(executor, redis.url());
    asker first(mutex(a, "n")), second(mutex(b, "n")), third(mutex(c, "n"));
    co_await acquired(first);
    co_await c.ready();
    second.acquire();
    co_await eventually("it waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
    redis.command("SET", "leasehold:{0}:fence", "tagged");
    third.acquire();
    const auto began = now();
    co_await eventually("it waits in the other queue",
                        [&] { return redis.command("ZCARD", the_tagged_queue).integer >= 1; });
    BOOST_TEST(now() - began < 20ms);
    co_await first.got.release();
    for (asker* next : {&third, &second}) {
      co_await eventually("the next is in", [&] { return next->in(); });
      co_await next->got.release();
    }
  });
}

// By the first grant, whatever asks for it.
// Readers of one phase share a fence, so no other request of theirs meets the mark.
BOOST_FIXTURE_TEST_CASE(a_reader_that_joins_others_notices_tagged_keys, with_memory) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    notes n;
    client a(executor, redis.url(), n.options()), b(executor, redis.url(), n.options());
    shared_mutex first(a, "n"), second(b, "n");
    hold x = co_await first.acquire_shared();
    client t(executor, tagged(redis.url()));
    asker writer(shared_mutex(t, "n"));
    writer.acquire();
    const std::string queue = "leasehold:{" + std::string(detail::tag_of_slot(detail::slot_of("n"))) + "}:queue:n";
    co_await eventually("the writer waits", [&] { return redis.command("ZCARD", queue).integer == 1; });
    asker reader(second.shared());
    reader.acquire();
    co_await eventually("the reader waits behind it", [&] { return redis.command("ZCARD", queue).integer == 2; });
    BOOST_TEST(n.told.size() == 1U);
    co_await x.release();
    co_await eventually("the writer is in", [&] { return writer.in(); });
    BOOST_TEST(!reader.in());
    co_await writer.got.release();
    co_await eventually("the reader is in", [&] { return reader.in(); });
    co_await reader.got.release();
  });
}

// It is told on its channel of the plain layout, also if it has asked before. It notices by itself if the message is
// lost.
BOOST_FIXTURE_TEST_CASE(a_holder_that_would_be_told_notices_tagged_keys, with_memory) {
  for (const auto& [asks_first, is_lost] : {std::pair(false, false), {true, false}, {true, true}}) {
    redis.server().loses = [lost = is_lost](std::string_view m) { return lost && m.starts_with("wanted "); };
    run([&, asks_first = asks_first, is_lost = is_lost]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      notes n;
      client a(executor, redis.url(), n.options());
      asker first(mutex(a, "n"));
      co_await acquired(first);
      outcome told;
      if (asks_first) {
        first.got.wanted(told.handler());
        co_await pause(100ms);
      }
      client t(executor, tagged(redis.url()));
      asker next(mutex(t, "n"));
      next.acquire();
      co_await eventually("it waits in another queue",
                          [&] { return redis.command("ZCARD", the_tagged_queue).integer == 1; });
      const auto began = now();
      if (!asks_first) first.got.wanted(told.handler());
      co_await eventually("the holder is told", [&] { return told.ended(); });
      BOOST_TEST(!*told.ec);
      BOOST_TEST(now() - began < (is_lost ? 5s : 10ms));
      BOOST_TEST(n.told.size() == (asks_first && !is_lost ? 0U : 1U));
      co_await first.got.release();
      co_await eventually("the next is in", [&] { return next.in(); });
      co_await next.got.release();
      redis.command("FLUSHALL");
    });
  }
}

// The entries of the other queue get the new limit, too.
BOOST_FIXTURE_TEST_CASE(a_client_that_changes_a_limit_notices_tagged_keys, with_memory) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    notes n;
    client a(executor, redis.url(), n.options());
    asker first(counting_semaphore(a, "n", 1));
    co_await acquired(first);
    client t(executor, tagged(redis.url()));
    asker next(counting_semaphore(t, "n", 1));
    next.acquire();
    co_await eventually("it waits in another queue",
                        [&] { return redis.command("ZCARD", the_tagged_queue).integer == 1; });
    const auto began = now();
    co_await counting_semaphore(a, "n", 1).resize(2);
    co_await eventually("the next is in", [&] { return next.in(); });
    BOOST_TEST(now() - began < 50ms);
    BOOST_TEST(n.told.size() == 1U);
    co_await first.got.release();
    co_await next.got.release();
  });
}

BOOST_FIXTURE_TEST_CASE(each_kind_of_lock_and_each_request_notices_tagged_keys, with_memory) {
  for_each_kind(redis, [&](const kind& k) {
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      notes n;
      client a(executor, redis.url(), n.options());
      client b(executor, redis.url(), n.options());
      asker first(k.holder(a));
      co_await acquired(first);
      asker next(k.next(b, 1));
      next.acquire();
      co_await eventually("it waits", [&] { return redis.command("ZCARD", the_queue).integer == 1; });
      client t(executor, tagged(redis.url()));
      co_await t.ready();
      co_await eventually("the mark is there",
                          [&] { return redis.get("leasehold:{0}:fence").value_or("") == "tagged"; });
      // The release does not grant it by the plain layout.
      co_await first.got.release();
      co_await eventually("the next is in", [&] { return next.in(); });
      BOOST_TEST(redis.get("leasehold:{0}:fence").value_or("") == "tagged");
      co_await next.got.release();
      asker again(k.holder(a));
      co_await acquired(again);
      co_await again.got.release();
      BOOST_TEST(n.told.size() == 2U);
      client c(executor, redis.url(), n.options());
      co_await inspected(k.holder(c));
      BOOST_TEST(n.told.size() == 3U);
      client d(executor, redis.url(), n.options());
      co_await show(d, "n");
      BOOST_TEST(n.told.size() == 4U);
      client e(executor, redis.url(), n.options());
      redis.command("SET", "some key", "x");
      co_await list(e);
      BOOST_TEST(n.told.size() == 5U);
      for (const auto& x : {a, b, c, d, e}) BOOST_TEST(x.stats().refused == 0U);
    });
  });
}

BOOST_FIXTURE_TEST_CASE(a_bundle_that_meets_tagged_keys_loses_none_of_its_requests, with_memory) {
  notes n;
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client a(executor, redis.url(), n.options());
    co_await a.ready();
    client t(executor, tagged(redis.url()));
    co_await t.ready();
    std::deque<asker> all;
    for (int i = 0; i < 30; ++i) all.emplace_back(mutex(a, "n" + std::to_string(i))).acquire();
    for (auto& x : all) co_await eventually("it is in", [&] { return x.in(); });
    for (auto& x : all) co_await x.got.release();
    BOOST_TEST(n.told.size() == 1U);
    BOOST_TEST(redis.get("leasehold:{0}:fence").value_or("") == "tagged");
    co_await eventually("nothing is left", [&] { return redis.size() == 0; });
  });
}

// The mark has an end, as everything that leasehold stores.
BOOST_FIXTURE_TEST_CASE(the_mark_of_tagged_keys_is_renewed_while_they_are_used, with_memory) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.idle_timeout = forever;
    client t(co_await asio::this_coro::executor, tagged(redis.url()), o);
    co_await t.ready();
    co_await eventually("it is there", [&] { return redis.ttl("leasehold:{0}:fence") > 0; });
    BOOST_TEST(redis.ttl("leasehold:{0}:fence") <= std::int64_t{2} * 24 * 3600 * 1000);
    BOOST_TEST(redis.ttl("leasehold:{0}:fence") > std::int64_t{47} * 3600 * 1000);
    co_await pause(13h);
    const auto before = redis.ttl("leasehold:{0}:fence");
    co_await (co_await mutex(t, "n").acquire()).release();
    co_await eventually("it lives longer", [&] { return redis.ttl("leasehold:{0}:fence") > before; });
  });
}

BOOST_FIXTURE_TEST_CASE(a_mark_of_tagged_keys_that_was_refused_is_written_again, with_memory) {
  run([&]() -> awaitable<void> {
    redis.server().data().set_out_of_memory(true);
    client_options o;
    o.idle_timeout = forever;
    client t(co_await asio::this_coro::executor, tagged(redis.url()), o);
    co_await t.ready();
    co_await pause(100ms);
    BOOST_TEST(!redis.get("leasehold:{0}:fence").has_value());
    redis.server().data().set_out_of_memory(false);
    co_await pause(2s);
    const hold h = co_await mutex(t, "n").acquire();
    co_await eventually("it is marked", [&] { return redis.get("leasehold:{0}:fence") == "tagged"; });
    co_await t.close();
  });
}

BOOST_AUTO_TEST_CASE(a_quorum_reports_servers_with_tagged_keys) {
  memory_quorum quorum(3);
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    for (std::size_t i = 0; i < 2; ++i) quorum[i].command("SET", "leasehold:{0}:fence", "tagged");
    client c(executor, quorum.urls());
    auto [ec, h] = co_await mutex(c, "n").acquire(acquire_options{.wait = 5s}, as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(c.last_refusal().find(of_other_clients) != std::string::npos);
    auto urls = quorum.urls();
    urls[1] = tagged(urls[1]);
    BOOST_CHECK_EXCEPTION(client(executor, urls), exception, [](const exception& e) {
      return e.code() == error::not_supported &&
             std::string_view(e.what()).find("keys=tagged") != std::string_view::npos;
    });
  });
}

// --- What every script does ---

BOOST_AUTO_TEST_CASE(the_model_refuses_keys_that_a_script_has_not_declared) {
  using detail::memory::scripting;
  scripting lua;
  detail::memory::database data;
  const auto run_with_key = [&](std::string_view text, std::vector<std::string_view> keys) {
    return lua.run_digest(lua.load(text).text, keys, {}, data, scripting::may_access::declared_keys);
  };
  for (const char* text : {"return redis.call('GET', 'b')", "return redis.call('EXISTS', KEYS[1], 'b')",
                           "return redis.call('DEL', 'b', KEYS[1])", "return redis.pcall('HSET', 'b', 'f', 'v')"}) {
    const auto r = run_with_key(text, {"a"});
    BOOST_TEST(r.is_error(), text);
    BOOST_TEST(r.text.find("undeclared key") != std::string::npos, r.text);
    BOOST_TEST(!run_with_key(text, {"a", "b"}).is_error(), text);
  }
  BOOST_TEST(!run_with_key("return {redis.call('TIME'), redis.call('PUBLISH', 'c', 'm')}", {"a"}).is_error());
}

BOOST_FIXTURE_TEST_CASE(no_script_runs_without_keys, with_memory) {
  const auto r = redis.server().run(detail::scripts::mutex, /*whole_text=*/true, {}, {});
  BOOST_TEST(r.text == "ERR Lua scripts without any input keys are not supported.");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
