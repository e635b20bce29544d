// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/lock_holder.hpp"

#include "client/client_identity.hpp"
#include "support/unit_test.hpp"

#include <leasehold/counting_semaphore.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/shared_mutex.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(lock_holder)

namespace {

using detail::holder_of;
using detail::label_of_token;

const std::string digits = "9f86d081884c7d659a2feaa0c55ad015";
// 2026-11-25T15:08:14.000123Z
constexpr std::uint64_t some_instant = 1795619294000123;

detail::inspection found(const std::string& token, std::size_t holders = 1, std::uint64_t fence = some_instant * 2048) {
  detail::inspection i;
  i.holders = holders;
  i.fence = fence;
  i.waiters = 3;
  if (!token.empty()) i.holds.push_back({token, {}, {}});
  return i;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_token_begins_with_the_label_of_its_client) {
  client_options o;
  detail::client_identity unnamed(o);
  BOOST_TEST(!label_of_token(unnamed.next_token()).empty());
  for (const std::string label : {"web1-4711", "a", "-", "_-_", "0123456789012345678901234567890b"}) {
    o.label = label;
    detail::client_identity named(o);
    BOOST_TEST(label_of_token(named.next_token()) == label);
    BOOST_TEST(label_of_token(named.next_token(/*lingers=*/true)) == label);
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_token_of_a_client_has_no_label) {
  BOOST_TEST(label_of_token("a-" + digits + ".1") == "a");
  for (const std::string& text :
       {std::string(), std::string("."), digits, "-" + digits + ".1", digits + ".1", "a" + digits + ".1", "a-" + digits,
        "a-" + digits + ".", "a-" + digits + ".x", "a-" + digits + ".l", "a-" + digits + ".1 ", "a b-" + digits + ".1",
        "a\x1b-" + digits + ".1", "a-" + digits.substr(1) + ".1", "a-A" + digits.substr(1) + ".1",
        std::string(33, 'a') + "-" + digits + ".1", "a." + digits + ".1"}) {
    BOOST_TEST(label_of_token(text) == "", text);
  }
}

BOOST_AUTO_TEST_CASE(a_fence_says_since_when) {
  const auto h = holder_of(found("web1-" + digits + ".7"), detail::kinds::mutex);
  BOOST_TEST(h.token == "web1-" + digits + ".7");
  BOOST_TEST(h.label == "web1");
  BOOST_TEST(h.fence == some_instant * 2048);
  BOOST_REQUIRE(h.since.has_value());
  BOOST_TEST(h.since->time_since_epoch() == std::chrono::microseconds(some_instant));
  BOOST_TEST(h.text == "held by web1 since 2026-11-25T15:08:14.000123Z, 3 in the queue");
  // A pass within a client is no other instant.
  BOOST_TEST(holder_of(found("web1-" + digits + ".7", 1, some_instant * 2048 + 2047), detail::kinds::mutex).text ==
             h.text);
}

BOOST_AUTO_TEST_CASE(of_a_hold_that_rests_is_known_who_had_it) {
  const auto h = holder_of(found("~web1-" + digits + ".7"), detail::kinds::mutex);
  BOOST_TEST(h.token == "~web1-" + digits + ".7");
  BOOST_TEST(h.label == "web1");
  BOOST_TEST(h.fence == some_instant * 2048);
  BOOST_TEST(h.since.has_value());
  BOOST_TEST(h.text ==
             "held by web1 since 2026-11-25T15:08:14.000123Z, released before at_least was over, 3 in the queue");
  BOOST_TEST(holder_of(found("~web1-" + digits + ".7", 3), detail::kinds::counting_semaphore).text ==
             "held by web1 and 2 other holds, 3 in the queue");
  BOOST_TEST(holder_of(found("~web1"), detail::kinds::mutex).text == "held by another program, 3 in the queue");
}

BOOST_AUTO_TEST_CASE(any_fence_is_an_instant) {
  const auto h =
      holder_of(found("a-" + digits + ".1", 1, std::numeric_limits<std::uint64_t>::max()), detail::kinds::mutex);
  BOOST_REQUIRE(h.since.has_value());
  BOOST_TEST(h.since->time_since_epoch() == std::chrono::microseconds((std::int64_t{1} << 53) - 1));
  BOOST_TEST(h.text == "held by a since 2255-06-05T23:47:34.740991Z, 3 in the queue");
}

BOOST_AUTO_TEST_CASE(another_programs_hold_has_no_label_and_no_fence) {
  for (const std::string token : {"", "some value", "\x1b[2J"}) {
    const auto h = holder_of(found(token), detail::kinds::mutex);
    BOOST_TEST(h.token == token);
    BOOST_TEST(h.label == "");
    BOOST_TEST(h.fence == 0U);
    BOOST_TEST(!h.since);
    BOOST_TEST(h.text == "held by another program, 3 in the queue");
  }
}

// The inspection knows the latest fence of a semaphore, which may be another permit's.
BOOST_AUTO_TEST_CASE(one_of_several_permits_has_no_known_fence) {
  const auto several = holder_of(found("a-" + digits + ".1", 2), detail::kinds::counting_semaphore);
  BOOST_TEST(several.label == "a");
  BOOST_TEST(several.fence == 0U);
  BOOST_TEST(!several.since);
  BOOST_TEST(several.text == "held by a and another hold, 3 in the queue");
  BOOST_TEST(holder_of(found("a-" + digits + ".1", 1), detail::kinds::counting_semaphore).fence == some_instant * 2048);
  const auto readers = holder_of(found("a-" + digits + ".1", 3), detail::kinds::reader);
  BOOST_TEST(readers.fence == some_instant * 2048);
  BOOST_TEST(readers.text == "held by a and 2 other holds since 2026-11-25T15:08:14.000123Z, 3 in the queue");
}

BOOST_AUTO_TEST_CASE(a_lock_that_was_just_released_has_no_holder) {
  const auto h = holder_of(found("", 0, 0), detail::kinds::mutex);
  BOOST_TEST(h.token == "");
  BOOST_TEST(!h.since);
  BOOST_TEST(h.text == "not held now, 3 in the queue");
}

BOOST_AUTO_TEST_CASE(a_queue_that_is_empty_is_not_mentioned) {
  auto i = found("some value");
  i.waiters = 0;
  BOOST_TEST(holder_of(i, detail::kinds::mutex).text == "held by another program");
  i.holders = 0;
  BOOST_TEST(holder_of(i, detail::kinds::mutex).text == "not held now");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
