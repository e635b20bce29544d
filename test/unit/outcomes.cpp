// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Replies and messages, as the store reads them for each request.
#include "protocol/message.hpp"
#include "protocol/outcome.hpp"

#include "support/unit_test.hpp"

#include <initializer_list>
#include <string_view>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(outcomes)

using detail::outcome;
using detail::read_outcome;
using detail::refusal;
using detail::verb;

detail::reply scalars(std::initializer_list<std::string_view> all) {
  detail::reply r;
  for (const auto s : all) r.add(s);
  return r;
}

BOOST_AUTO_TEST_CASE(a_lease_is_the_outcome_of_most_requests) {
  const auto r = scalars({"1 2048 30000 1 0"});
  for (const auto v : {verb::acquire, verb::confirm, verb::renew, verb::keep, verb::refresh, verb::want,
                       verb::downgrade, verb::resize, verb::raise, verb::acquire_all}) {
    const outcome o = read_outcome(v, r);
    BOOST_TEST(!o.refused);
    BOOST_TEST(o.lease.understood);
    BOOST_TEST(o.lease.fence == 2048U);
  }
  BOOST_TEST(!read_outcome(verb::acquire, scalars({"OK"})).lease.understood);
}

BOOST_AUTO_TEST_CASE(a_release_has_a_number) {
  for (const auto v : {verb::release, verb::keep}) {
    BOOST_TEST(read_outcome(v, scalars({"1"})).released);
    BOOST_TEST(!read_outcome(v, scalars({"0"})).released);
    BOOST_TEST(!read_outcome(v, scalars({"-1"})).released);
    BOOST_TEST(!read_outcome(v, scalars({"1"})).lease.understood);
  }
  BOOST_TEST(!read_outcome(verb::renew, scalars({"1"})).released);
}

BOOST_AUTO_TEST_CASE(several_locks_are_granted_together_or_not_at_all) {
  const auto all = scalars({"1 2048 30000 1 0", "1 4096 30000 1 0"});
  const outcome granted = read_outcome(verb::acquire_all, all);
  BOOST_TEST(granted.granted_all(2));
  BOOST_TEST(!granted.granted_all(3));
  BOOST_TEST(granted.lease_of(1).fence == 4096U);
  const auto first = scalars({"0 0 700 1 0"});
  const outcome busy = read_outcome(verb::acquire_all, first);
  BOOST_TEST(!busy.granted_all(1));
  BOOST_TEST((busy.lease.status == detail::status::not_held));
  BOOST_TEST(!read_outcome(verb::acquire_all, scalars({})).granted_all(0));
}

BOOST_AUTO_TEST_CASE(an_error_says_what_it_means) {
  auto r = scalars({"TRYAGAIN Multiple keys request during rehashing of slot"});
  r.set_error();
  const outcome o = read_outcome(verb::release, r);
  BOOST_TEST((o.refused == refusal::moving_slot));
  BOOST_TEST(o.words == r.text(0));
  BOOST_TEST(!o.may_have_written);
  BOOST_TEST(!o.released);
  auto halfway = scalars({"OOM command not allowed when used memory > 'maxmemory'. script: 59b8, on @user_script:7."});
  halfway.set_error();
  BOOST_TEST(read_outcome(verb::acquire, halfway).may_have_written);
}

BOOST_AUTO_TEST_CASE(an_inspection_is_read) {
  const auto r = scalars({"2", "2048", "-1", "3", "r", "t", "1000", "ra", "u", "2000", "rb"});
  const auto found = read_outcome(verb::inspect, r).inspected;
  BOOST_REQUIRE(found);
  BOOST_TEST(found->holders == 2U);
  BOOST_TEST(found->waiters == 3U);
  BOOST_TEST(found->left.count() == -1);
  BOOST_REQUIRE_EQUAL(found->holds.size(), 2U);
  BOOST_TEST(found->holds[1].token == "u");
  BOOST_TEST(found->holds[1].ask == "rb");
  const auto free = read_outcome(verb::inspect, scalars({"0", "0", "0", "1", ""})).inspected;
  BOOST_TEST(free->holders == 0U);
  BOOST_TEST(free->waiters == 1U);
}

BOOST_AUTO_TEST_CASE(what_is_published_on_the_channel_of_a_client) {
  using kind = detail::message::kind;
  const detail::message granted("granted t.1 2048 3 2000 2");
  BOOST_TEST((granted.is == kind::granted));
  BOOST_TEST(granted.token == "t.1");
  BOOST_TEST(granted.rest == "2048 3 2000 2");
  BOOST_TEST((detail::message("watch t.1").is == kind::watch));
  BOOST_TEST(detail::message("watch t.1").token == "t.1");
  BOOST_TEST((detail::message("broken t.1").is == kind::broken));
  for (const std::string_view text : {"", " ", "grant t.1", "granted", "GRANTED t.1 1 1 1"}) {
    const detail::message m(text);
    BOOST_TEST((m.is == kind::unknown || m.token.empty()), text);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
