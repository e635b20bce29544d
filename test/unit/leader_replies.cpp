// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/keys.hpp"
#include "protocol/leader_reply.hpp"

#include "support/unit_test.hpp"

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace leasehold::test {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(leader_replies)

namespace {

detail::reply reply_of(std::initializer_list<std::string_view> scalars) {
  detail::reply r;
  for (const auto s : scalars) r.add(s);
  return r;
}

detail::leader_reply leads(std::uint64_t fence, std::uint64_t revision, const std::string& value) {
  const auto f = std::to_string(fence), r = std::to_string(revision);
  return detail::leader_reply(reply_of({"1000", f, r, value}));
}

const detail::leader_reply nobody{reply_of({"-2"})};

// "-": nobody; "": nothing new.
std::string news(detail::leader_view& v) {
  if (!v.has_news()) return "";
  const auto found = v.report();
  return found ? found->value : "-";
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_leader_is_read) {
  const detail::leader_reply r(reply_of({"1500", "9223372036854775807", "3", "any\nvalue"}));
  BOOST_REQUIRE(r.leader.has_value());
  BOOST_TEST(r.leader->value == "any\nvalue");
  BOOST_TEST(r.leader->fence == 9223372036854775807U);
  BOOST_TEST((r.leader->since.time_since_epoch() == 4503599627370495us));
  BOOST_TEST(r.revision == 3U);
  BOOST_TEST((r.left == 1500ms));
}

BOOST_AUTO_TEST_CASE(what_could_be_no_leader_is_none) {
  BOOST_TEST(!nobody.leader.has_value());
  BOOST_TEST(nobody.understood);
  BOOST_TEST((nobody.left < 0ms));
  const std::string longest(longest_value, 'x');
  BOOST_TEST(leads(1, 1, longest).leader.has_value());
  BOOST_TEST(leads(1, 1, longest).understood);
  BOOST_TEST(!leads(1, 1, longest + 'x').leader.has_value());
  BOOST_TEST(leads(1, 1, longest + 'x').understood);
  BOOST_TEST(!leads(0, 1, "v").leader.has_value());
  for (const auto& bad :
       {reply_of({}), reply_of({"1", "2", "3"}), reply_of({"1", "2", "3", "v", "w"}), reply_of({"1", "x", "3", "v"}),
        reply_of({"1", "2", "-3", "v"}), reply_of({"1", "18446744073709551616", "3", "v"}), reply_of({"x"}),
        reply_of({"1", "9223372036854775808", "3", "v"}), reply_of({"x", "2", "3", "v"})}) {
    BOOST_TEST(!detail::leader_reply(bad).leader.has_value());
    BOOST_TEST(!detail::leader_reply(bad).understood);
  }
}

BOOST_AUTO_TEST_CASE(the_answer_to_a_proclamation_is_read) {
  const detail::proclaim_reply held(reply_of({"1"})), gone(reply_of({"0"}));
  BOOST_TEST((held.understood && held.held));
  BOOST_TEST((gone.understood && !gone.held));
  for (const auto& bad : {reply_of({}), reply_of({"2"}), reply_of({"x"}), reply_of({"1", "1"})}) {
    const detail::proclaim_reply r(bad);
    BOOST_TEST((!r.understood && !r.held));
  }
}

BOOST_AUTO_TEST_CASE(an_observer_reports_each_change_once) {
  detail::leader_view v;
  BOOST_TEST(v.has_news());
  v.take(nobody);
  BOOST_TEST(news(v) == "-");
  v.take(nobody);
  BOOST_TEST(news(v) == "");
  v.take(leads(5, 1, "a"));
  BOOST_TEST(news(v) == "a");
  v.take(leads(5, 1, "a"));
  BOOST_TEST(news(v) == "");
  v.take(leads(5, 2, "b"));
  v.take(leads(5, 3, "c"));
  BOOST_TEST(news(v) == "c");
  v.take(leads(9, 1, "c"));  // The same value of another leader.
  BOOST_TEST(news(v) == "c");
  v.take(nobody);
  v.take(leads(9, 1, "c"));
  BOOST_TEST(news(v) == "");
}

BOOST_AUTO_TEST_CASE(an_observer_never_reports_an_older_term) {
  detail::leader_view v;
  v.take(leads(9, 2, "new"));
  BOOST_TEST(news(v) == "new");
  v.take(leads(5, 7, "old"));
  BOOST_TEST(news(v) == "-");
  v.take(leads(8, 1, "older"));
  BOOST_TEST(news(v) == "");
  v.take(leads(9, 2, "new"));
  BOOST_TEST(news(v) == "new");
  // Nor one that it has seen and not reported.
  v.take(leads(12, 1, "newest"));
  v.take(leads(9, 2, "new"));
  BOOST_TEST(news(v) == "-");
}

BOOST_AUTO_TEST_CASE(an_observer_never_reports_an_older_value_of_a_term) {
  detail::leader_view v;
  v.take(leads(9, 2, "second"));
  BOOST_TEST(news(v) == "second");
  v.take(leads(9, 1, "first"));
  BOOST_TEST(news(v) == "");
  v.take(nobody);
  BOOST_TEST(news(v) == "-");
  v.take(leads(9, 1, "first"));
  BOOST_TEST(news(v) == "");
  v.take(leads(9, 2, "second"));
  BOOST_TEST(news(v) == "second");
}

BOOST_AUTO_TEST_CASE(the_channel_of_an_election_is_told_from_that_of_a_client) {
  using detail::is_leader_channel;
  BOOST_TEST(is_leader_channel(detail::leader_key("0", "n")));
  BOOST_TEST(is_leader_channel(detail::leader_key("3f", "{a}:leader:b")));
  BOOST_TEST(!is_leader_channel(detail::client_channel("0", "leader-0123")));
  BOOST_TEST(!is_leader_channel(detail::hint_channel("leader:n")));
  BOOST_TEST(!is_leader_channel(detail::redisson_channel("leader:n")));
  BOOST_TEST(!is_leader_channel(""));
  BOOST_TEST(!is_leader_channel("leasehold:{"));
}

// That of Redisson's RedissonObject.prefixName: a name with a hash tag keeps it.
BOOST_AUTO_TEST_CASE(the_channel_of_redisson_has_one_hash_tag) {
  BOOST_TEST(detail::redisson_channel("n") == "redisson_lock__channel:{n}");
  BOOST_TEST(detail::redisson_channel("order:{17}") == "redisson_lock__channel:order:{17}");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
