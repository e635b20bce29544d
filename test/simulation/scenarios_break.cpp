// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Locks of a cluster that an operator breaks, in virtual time: their holders are notified (docs/operations.md,
// "Breaking a lock").
#include "simulation/cluster_events.hpp"
#include "simulation/scene.hpp"

#include "protocol/keys.hpp"
#include "protocol/scripts.hpp"
#include "protocol/slots.hpp"

#include <leasehold/admin.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/shared_mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(scenarios)

// Two masters, and a spare.
struct broken_scene : scene {
  broken_scene() : scene(3) { w.make_cluster(2); }

  void break_it(process& by) {
    run(by, [&]() -> awaitable<void> {
      auto breaking = break_lock(by.client(), "n", as_tuple);
      const auto [ec, broken] = co_await std::move(breaking);
      BOOST_TEST(!ec, ec.message());
    });
  }
  // How many connections listen to what is published for this hold.
  std::int64_t listeners(const hold& h) {
    const auto id = h.token().substr(0, h.token().find('.'));
    const auto channel = detail::client_channel(detail::tag_of_slot(detail::slot_of("n")), id);
    std::int64_t found = 0;
    for (std::size_t i = 0; i < w.number_of_servers(); ++i)
      found += w.server(i).execute({"SPUBLISH", channel, "nothing"}).integer;
    return found;
  }
};

// By themselves they would ask in twenty minutes.
BOOST_AUTO_TEST_CASE(holders_in_a_cluster_are_notified_of_a_break) {
  broken_scene s;
  process &x = s.add(), &y = s.add(), &z = s.add();
  std::vector<hold> readers;
  for (process* const p : {&x, &y}) {
    s.run(*p, [&, p]() -> awaitable<void> {
      const auto reader = shared_mutex(p->client(), "n").shared();
      auto waiting = acquire(reader, {.lease = 1h});
      auto [ec, h] = co_await std::move(waiting);
      BOOST_REQUIRE(!ec);
      readers.push_back(std::move(h));
    });
  }
  s.wait(2s);
  for (const auto& h : readers) BOOST_TEST(h.valid());
  s.break_it(z);
  s.wait(100ms);
  for (const auto& h : readers) BOOST_TEST(!h.valid());
}

BOOST_AUTO_TEST_CASE(a_holder_is_notified_of_a_break_after_its_slot_has_moved) {
  broken_scene s;
  process &x = s.add(), &y = s.add();
  cluster_events events(s.w, [](const std::string&) {});
  hold held = take(s, x, {.lease = 1h});
  s.wait(2s);
  const auto home = s.w.server_of("n");
  events.move("n", 1 - home, 10ms);
  s.wait(30s);  // The topology is asked for every ten seconds.
  BOOST_TEST(s.w.server_of("n") == 1 - home);
  BOOST_TEST(held.valid());
  s.break_it(y);
  s.wait(100ms);
  BOOST_TEST(!held.valid());
}

// Another slot for each name. A client stays subscribed to 64 slots that it does not need.
awaitable<std::vector<hold>> hold_for_long_in_100_slots(process& x) {
  std::vector<hold> holds;
  for (int i = 0; i < 100; ++i) {
    const mutex m(x.client(), fmt::format("other {}", i));
    auto waiting = acquire(m, {.lease = 1h});
    auto [ec, h] = co_await std::move(waiting);
    BOOST_REQUIRE(!ec);
    holds.push_back(std::move(h));
  }
  auto pause = x.sleep(2s);
  co_await std::move(pause);
  co_return holds;
}

// A short hold costs no command for that, and after a release nothing listens for it any more.
BOOST_AUTO_TEST_CASE(only_long_holds_in_a_cluster_are_listened_for) {
  broken_scene s;
  process& x = s.add();
  hold held = take(s, x, {.lease = 1h});
  s.wait(900ms);
  BOOST_TEST(s.listeners(held) == 0);
  s.wait(200ms);
  BOOST_TEST(s.listeners(held) == 1);
  s.run(x, [&]() -> awaitable<void> {
    auto taking = hold_for_long_in_100_slots(x);
    const auto others = co_await std::move(taking);
    BOOST_TEST(s.listeners(held) == 1);
    auto releasing = release(held);
    co_await std::move(releasing);
    BOOST_TEST(s.listeners(held) == 1);
  });
  s.wait(1s);
  BOOST_TEST(s.listeners(held) == 0);
}

// A client that comes back to a slot stays subscribed to it, however many others it leaves then.
BOOST_AUTO_TEST_CASE(a_slot_in_which_a_client_holds_again_is_listened_in) {
  broken_scene s;
  process& x = s.add();
  hold held = take(s, x, {.lease = 1h});
  s.wait(1100ms);
  release_now(s, x, held);
  held = take(s, x, {.lease = 1h});
  s.run(x, [&]() -> awaitable<void> {
    auto taking = hold_for_long_in_100_slots(x);
    co_await std::move(taking);
  });
  s.wait(1s);
  BOOST_TEST(s.listeners(held) == 1);
}

// The token may have another fence since the break was decided: it is kept within its client, for another holder.
BOOST_AUTO_TEST_CASE(a_break_leaves_a_token_with_another_fence) {
  scene s;
  process& x = s.add();
  const hold held = take(s, x, {.lease = 1h});
  const std::vector<std::string_view> keys{"n", "leasehold:{0}:fence", "leasehold:{0}:queue:n",
                                           "leasehold:{0}:entries:n"};
  const auto break_it = [&](std::uint64_t fence) {
    const std::string token = held.token(), text = std::to_string(fence);
    const std::vector<std::string_view> arguments{"break", token, text};
    s.w.server(0).run(detail::scripts::admin, /*whole_text=*/true, keys, arguments);
  };
  break_it(held.fence() - 1);
  BOOST_TEST(!s.get("n").empty());
  break_it(held.fence());
  BOOST_TEST(s.get("n").empty());
}

// The record that it has deleted may not even be read any more, so it grants the lock to nobody. Repeated, it would be
// refused until it ends with error::unreachable, or break the hold of the waiter that has the lock by then.
BOOST_AUTO_TEST_CASE(a_break_in_a_slot_that_is_being_moved_succeeds_at_once_and_breaks_no_other_hold) {
  broken_scene s;
  process &x = s.add(), &y = s.add(), &z = s.add();
  hold held = take(s, x, {.lease = 1h});
  auto& waiting = s.start(y, {.lease = 30s});
  s.wait(2s);
  const auto home = s.w.server_of("n");
  const auto slot = detail::slot_of("n");
  const auto tag = detail::tag_of_slot(slot);
  s.w.cluster()->begin_to_move(slot, 1 - home);
  const auto began = s.w.now();
  clock::duration took{};
  s.spawn(z, [&]() -> awaitable<void> {
    auto breaking = break_lock(z.client(), "n", as_tuple);
    const auto [ec, broken] = co_await std::move(breaking);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(broken.next == "");
    took = s.w.now() - began;
  });
  s.wait(1s);
  BOOST_TEST((took > 0ms && took < 100ms));
  BOOST_TEST(s.get("n", home).empty());
  const std::string fence{detail::fence_key(slot)};
  for (const auto& key : {detail::queue_key(tag, "n"), detail::entries_key(tag, "n"), fence}) {
    s.w.cluster()->move_key(slot, key);
  }
  s.w.cluster()->end_move(slot);
  for (std::size_t i = 0; i < s.w.number_of_servers(); ++i) s.w.cluster()->announce_slots(i);
  s.finish();
  BOOST_REQUIRE(waiting.succeeded());
  s.wait(10s);
  BOOST_TEST(waiting.got.valid());
  BOOST_TEST(s.get("n", 1 - home).starts_with("leasehold:" + waiting.got.token()));
  BOOST_TEST(!held.valid());
}

// What was asked before says less than what the hold has been promised since: the slot has moved in between, and the
// answer of the node that had it comes late.
BOOST_AUTO_TEST_CASE(a_late_answer_of_the_former_node_does_not_shorten_an_extension) {
  broken_scene s;
  process& x = s.add(with_timeout(10s));
  const auto home = s.w.server_of("n");
  hold held = take(s, x, {.lease = 60s});
  bool delayed = false;
  s.w.server(home).on_run = [&](const detail::script&, const auto& arguments, const auto&) {
    if (arguments.front() != "renew" || std::exchange(delayed, true)) return;
    // Its answer takes so long, and nothing else does.
    s.w.fastest = s.w.slowest = 5s;
    s.w.after(0s, [&] { s.w.fastest = s.w.slowest = 1ms; });
  };
  const bool renews = s.w.run(s.w.now() + 60s, [&] { return delayed; });
  BOOST_REQUIRE(renews);
  cluster_events events(s.w, [](const std::string&) {});
  events.move("n", 1 - home, 1ms);
  // The other node tells of the move.
  s.wait(100ms);
  s.w.server(1 - home).close_connections();
  s.wait(3s);
  s.run(x, [&]() -> awaitable<void> {
    auto extending = held.extend(1h, as_tuple);
    const auto [ec] = co_await std::move(extending);
    BOOST_TEST(!ec, ec.message());
  });
  const auto promised = held.expires_at();
  s.wait(3s);
  BOOST_TEST((held.expires_at() >= promised));
  BOOST_TEST(held.valid());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
