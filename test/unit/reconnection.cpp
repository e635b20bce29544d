// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/reconnection.hpp"

#include "support/unit_test.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace leasehold::test {
namespace {

struct with_reconnection {
  using end = detail::reconnection::end;
  clock::duration pause_after(end how) { return connections.ended(how, now, 0.0).pause; }

  clock::time_point now = clock::time_point(std::chrono::hours(1));
  detail::reconnection connections{backoff{std::chrono::milliseconds(50), std::chrono::milliseconds(1000), 2.0, 0.0}};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(reconnections, with_reconnection)

using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(pauses_grow_while_a_server_is_not_reached) {
  for (const auto expected : {50ms, 100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) {
    connections.begins();
    BOOST_TEST((pause_after(end::not_reached) == expected));
  }
  connections.is_up(now);
  now += 2s;
  BOOST_TEST((pause_after(end::lost) == 50ms));
}

BOOST_AUTO_TEST_CASE(a_refusal_is_no_reason_to_come_sooner) {
  BOOST_TEST((pause_after(end::refused) == 50ms));
  BOOST_TEST((pause_after(end::refused) == 100ms));
}

// Sentinels that contradict themselves are not asked in a loop.
BOOST_AUTO_TEST_CASE(pauses_grow_while_other_servers_are_announced) {
  BOOST_TEST(connections.hurry(now));
  BOOST_TEST((connections.pause_unless_urgent(0.5) == 0ms));
  for (const auto expected : {50ms, 100ms}) BOOST_TEST((connections.pause_unless_urgent(0.5) == expected));
  now += 1s;
  BOOST_TEST(connections.hurry(now));
  BOOST_TEST((connections.pause_unless_urgent(0.5) == 0ms));
}

// A server that accepts clients and then closes the connection.
BOOST_AUTO_TEST_CASE(pauses_grow_more_while_connections_are_short) {
  for (const auto expected : {50ms, 200ms, 800ms, 3200ms, 4000ms, 4000ms}) {
    connections.is_up(now);
    now += 999ms;
    BOOST_TEST((pause_after(end::lost) == expected));
  }
  connections.is_up(now);
  now += 1s;
  BOOST_TEST((pause_after(end::lost) == 50ms));
  connections.is_up(now);
  BOOST_TEST((pause_after(end::lost) == 50ms));
}

BOOST_AUTO_TEST_CASE(every_address_of_a_name_is_tried_before_the_pause) {
  BOOST_TEST(connections.needs_addresses());
  connections.found({"::1", "127.0.0.1"});
  const auto first = connections.next_address("localhost", 4s);
  BOOST_TEST(first.first == "::1");
  BOOST_TEST((first.second == 2s));
  BOOST_TEST(!connections.ended(end::not_reached, now, 0.0).is_reported);
  const auto second = connections.next_address("localhost", 4s);
  BOOST_TEST(second.first == "127.0.0.1");
  BOOST_TEST((second.second == 2s));
  const auto plan = connections.ended(end::not_reached, now, 0.0);
  BOOST_TEST(plan.is_reported);
  BOOST_TEST((plan.pause == 50ms));
  BOOST_TEST(connections.needs_addresses());
}

BOOST_AUTO_TEST_CASE(a_name_that_cannot_be_looked_up_is_the_address) {
  const auto only = connections.next_address("redis", 4s);
  BOOST_TEST(only.first == "redis");
  BOOST_TEST((only.second == 4s));
}

// It may have other addresses by now.
BOOST_AUTO_TEST_CASE(a_name_is_looked_up_again_after_a_connection_or_a_refusal) {
  for (const auto how : {end::lost, end::refused}) {
    connections.found({"::1", "127.0.0.1"});
    connections.next_address("localhost", 4s);
    BOOST_TEST(connections.ended(how, now, 0.0).is_reported);
    BOOST_TEST(connections.needs_addresses());
  }
}

BOOST_AUTO_TEST_CASE(another_master_is_connected_to_without_a_pause_but_not_all_the_time) {
  // On a machine that has just been started, too.
  now = clock::time_point(1ms);
  BOOST_TEST(connections.hurry(now));
  BOOST_TEST((pause_after(end::lost) == 0ms));
  connections.begins();
  now += 999ms;
  BOOST_TEST(!connections.hurry(now));
  BOOST_TEST((pause_after(end::lost) != 0ms));
  now += 1ms;
  BOOST_TEST(connections.hurry(now));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
