// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/slot_channels.hpp"

#include "support/unit_test.hpp"

using leasehold::detail::slot_channels;

BOOST_AUTO_TEST_SUITE(channels_of_slots)

BOOST_AUTO_TEST_CASE(a_channel_counts_from_its_confirmation_until_it_is_left) {
  slot_channels c;
  BOOST_TEST(c.ask(7));
  BOOST_TEST(!c.ask(7));
  BOOST_TEST(!c.is_subscribed(7));
  BOOST_TEST((c.confirmed(7, true) == slot_channels::change::begun));
  BOOST_TEST(c.is_subscribed(7));
  BOOST_TEST(c.leave(7));
  BOOST_TEST(!c.leave(7));
  BOOST_TEST(!c.is_subscribed(7));
  // Asked for again before the server has confirmed that it was left.
  BOOST_TEST(c.ask(7));
  BOOST_TEST((c.confirmed(7, false) == slot_channels::change::none));
  BOOST_TEST(!c.is_subscribed(7));
  BOOST_TEST((c.confirmed(7, true) == slot_channels::change::begun));
  BOOST_TEST(c.is_subscribed(7));
}

BOOST_AUTO_TEST_CASE(a_channel_that_the_server_ends_is_asked_for_again) {
  slot_channels c;
  BOOST_TEST(c.ask(7));
  BOOST_TEST((c.confirmed(7, true) == slot_channels::change::begun));
  BOOST_TEST((c.confirmed(7, false) == slot_channels::change::ended));
  BOOST_TEST(!c.is_subscribed(7));
  BOOST_TEST(c.ask(7));
}

BOOST_AUTO_TEST_SUITE_END()
