// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/redis/handshake.hpp"

#include "store/redis/connections.hpp"

#include "support/unit_test.hpp"

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::test {

using namespace detail;

namespace {

constexpr auto info =
    "# Server\r\nredis_version:7.0.15\r\nrun_id:f00d\r\nuptime_in_seconds:42\r\n# Replication\r\nrole:master\r\n"
    "maxmemory_policy:noeviction\r\n";

reply of(std::initializer_list<std::string_view> scalars) {
  reply r;
  for (const auto s : scalars) r.add(s);
  return r;
}

reply error_of(std::string_view words) {
  reply r = of({words});
  r.set_error();
  return r;
}

// HELLO, SELECT, INFO, PUBLISH, TIME, ROLE.
std::vector<reply> replies(bool with_role = false) {
  std::vector<reply> all{of({"server", "redis"}), of({"OK"}), of({info}), of({"0"}), of({"1700000000", "123456"})};
  if (with_role) all.push_back(of({"master", "0"}));
  return all;
}

const address server = parse_url("redis://127.0.0.1:6379/1");
const credentials nobody;

}  // namespace

BOOST_AUTO_TEST_SUITE(handshakes)

BOOST_AUTO_TEST_CASE(a_server_that_lets_us_in_is_described) {
  const auto o = handshake(server, nobody, "channel", false).read(replies());
  BOOST_REQUIRE(o);
  BOOST_TEST(o->problem == "");
  BOOST_TEST(o->server.version == "7.0.15");
  BOOST_TEST(o->server.maxmemory_policy == "noeviction");
  BOOST_TEST(o->server.uptime == std::chrono::seconds(42));
  BOOST_TEST(o->server.publish_refusal == "");
  BOOST_TEST(o->run_id == "f00d");
  BOOST_TEST(o->time == 1700000000123456);
}

// It refuses a PING, and nothing else of the handshake.
BOOST_AUTO_TEST_CASE(a_server_that_cannot_save_its_data_lets_us_in) {
  const auto misconf =
      error_of("MISCONF Redis is configured to save RDB snapshots, but it's unable to persist on disk.");
  auto all = replies();
  all[1] = all[3] = misconf;
  const auto o = handshake(parse_url("redis://127.0.0.1:6379"), nobody, "", false).read(all);
  BOOST_REQUIRE(o);
  BOOST_TEST(o->problem == "");
  BOOST_TEST(o->server.publish_refusal == "");
  // SELECT is not refused so.
  BOOST_TEST(handshake(server, nobody, "", false).read(all)->problem != "");
}

// Boost.Redis ends a connection that is silent for twice this interval.
BOOST_AUTO_TEST_CASE(a_connection_may_be_silent_for_as_long_as_a_command_may_take) {
  using namespace std::chrono_literals;
  BOOST_TEST((common_config(5s, 2s).health_check_interval == 10s));
  BOOST_TEST((common_config(5s, 60s).health_check_interval == 60s));
}

BOOST_AUTO_TEST_CASE(a_server_in_cluster_mode_says_so) {
  auto all = replies();
  BOOST_TEST(!handshake(server, nobody, "channel", false).read(all)->server.has_slots);
  all[2] = of({"# Cluster\r\ncluster_enabled:0\r\n"});
  BOOST_TEST(!handshake(server, nobody, "channel", false).read(all)->server.has_slots);
  all[2] = of({"# Cluster\r\ncluster_enabled:1\r\n"});
  BOOST_TEST(handshake(server, nobody, "channel", false).read(all)->server.has_slots);
}

BOOST_AUTO_TEST_CASE(replies_that_are_missing_are_no_outcome) {
  auto some = replies();
  some.pop_back();
  BOOST_TEST(!handshake(server, nobody, "channel", false).read(some));
  BOOST_TEST(!handshake(server, nobody, "channel", true).read(replies()));
}

BOOST_AUTO_TEST_CASE(a_refusal_of_hello_select_or_subscribe_is_told_in_the_servers_words) {
  for (const std::size_t place : {0U, 1U, 4U}) {
    auto all = replies();
    all[place] = error_of("NOPERM this user has no permissions");
    const auto o = handshake(server, nobody, "channel", false).read(all);
    BOOST_REQUIRE(o);
    BOOST_TEST(o->problem == "NOPERM this user has no permissions");
    BOOST_TEST(o->refused);
  }
}

BOOST_AUTO_TEST_CASE(a_refusal_without_words_is_one_all_the_same) {
  for (const std::size_t place : {0U, 1U, 4U}) {
    auto all = replies();
    all[place] = error_of("");
    const auto o = handshake(server, nobody, "channel", false).read(all);
    BOOST_REQUIRE(o);
    BOOST_TEST(o->problem == "the server gives no reason");
    BOOST_TEST(o->refused);
  }
  auto all = replies();
  all[3] = error_of("");
  BOOST_TEST(handshake(server, nobody, "channel", false).read(all)->server.publish_refusal ==
             "the server gives no reason");
}

BOOST_AUTO_TEST_CASE(a_server_without_hello_is_not_quoted) {
  auto all = replies();
  all[0] = error_of("ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'default' 'password' ");
  const auto o = handshake(server, nobody, "channel", false).read(all);
  BOOST_REQUIRE(o);
  BOOST_TEST(
      o->problem ==
      "the server does not know HELLO: Redis 6.2 or later is needed; connect to Redis itself, or through a proxy "
      "that passes it on");
  BOOST_TEST(o->refused);
}

BOOST_AUTO_TEST_CASE(the_place_of_a_reply_says_which_command_is_missing) {
  const auto problem = [](std::size_t place, const std::string& channel) {
    auto all = replies();
    all[place] = error_of("ERR not supported");
    return handshake(server, nobody, channel, false).read(all)->problem;
  };
  BOOST_TEST(problem(0, "channel").starts_with("the server does not know HELLO: "));
  BOOST_TEST(problem(1, "channel").starts_with("the server does not know SELECT: "));
  BOOST_TEST(problem(4, "channel").starts_with("the server does not know SUBSCRIBE: "));
  BOOST_TEST(problem(4, "").starts_with("the server does not know TIME: "));
}

BOOST_AUTO_TEST_CASE(a_server_that_goes_on_with_resp2_is_refused) {
  auto all = replies();
  all[0] = of({"server", "redis", "proto", "2"});
  const auto o = handshake(server, nobody, "channel", false).read(all);
  BOOST_TEST(o->problem.starts_with("the server does not speak RESP3"));
  BOOST_TEST(o->refused);
  all[0] = of({"server", "redis", "proto", "3"});
  BOOST_TEST(handshake(server, nobody, "channel", false).read(all)->problem == "");
  all[0] = of({"proto"});
  BOOST_TEST(handshake(server, nobody, "channel", false).read(all)->problem == "");
  all[4] = of({"subscribe", "channel", "1"});
  BOOST_TEST(
      handshake(server, nobody, "channel", false).read(all)->problem.starts_with("the server does not speak RESP3"));
}

BOOST_AUTO_TEST_CASE(a_server_that_is_loading_does_not_refuse) {
  // To a PING or to SELECT; HELLO, INFO, PUBLISH, SUBSCRIBE and TIME are answered meanwhile.
  auto all = replies();
  all[1] = error_of("LOADING Redis is loading the dataset in memory");
  const auto o = handshake(server, nobody, "channel", false).read(all);
  BOOST_REQUIRE(o);
  BOOST_TEST(o->problem == "LOADING Redis is loading the dataset in memory");
  BOOST_TEST(!o->refused);
}

BOOST_AUTO_TEST_CASE(without_the_right_to_info_and_publish_it_goes_on) {
  auto all = replies();
  all[2] = error_of("NOPERM no info");
  all[3] = error_of("NOPERM no channel");
  const auto o = handshake(server, nobody, "channel", false).read(all);
  BOOST_REQUIRE(o);
  BOOST_TEST(o->problem == "");
  BOOST_TEST(o->run_id == "");
  BOOST_TEST(o->server.version == "");
  BOOST_TEST(o->server.publish_refusal == "NOPERM no channel");
}

BOOST_AUTO_TEST_CASE(a_32_bit_server_is_refused) {
  auto all = replies();
  all[2] = of({"redis_version:7.0.15\r\narch_bits:32\r\n"});
  const auto o = handshake(server, nobody, "channel", false).read(all);
  BOOST_REQUIRE(o);
  BOOST_TEST(o->problem == "the server is a 32-bit build; leasehold needs a 64-bit one");
  BOOST_TEST(o->refused);
  all[2] = of({"redis_version:7.0.15\r\narch_bits:64\r\n"});
  BOOST_TEST(handshake(server, nobody, "channel", false).read(all)->problem == "");
}

BOOST_AUTO_TEST_CASE(a_server_that_is_too_old_is_refused) {
  for (const std::string version : {"6.0.16", "5.0.14", "6.1.240", "2.8.0-rc1"}) {
    auto all = replies();
    all[2] = of({"redis_version:" + version + "\r\n"});
    const auto o = handshake(server, nobody, "channel", false).read(all);
    BOOST_REQUIRE(o);
    BOOST_TEST(o->problem == "the server has version " + version + ": Redis 6.2 or later is needed");
    BOOST_TEST(o->refused);
  }
  for (const std::string version : {"6.2.0", "6.10.1", "7.0.15", "10.0.0", "255.255.255", "", "unstable", "6", "6."}) {
    auto all = replies();
    all[2] = of({"redis_version:" + version + "\r\n"});
    BOOST_TEST(handshake(server, nobody, "channel", false).read(all)->problem == "", version);
  }
}

BOOST_AUTO_TEST_CASE(a_server_that_asks_for_a_password_before_it_looks_for_hello) {
  auto all = replies();
  all[0] = error_of("NOAUTH Authentication required.");
  const auto o = handshake(server, credentials("app", "secret"), "channel", false).read(all);
  BOOST_REQUIRE(o);
  BOOST_TEST(o->problem.starts_with("the server does not know HELLO: "), o->problem);
  BOOST_TEST(o->refused);
  // Without a password in HELLO, the server may know it.
  BOOST_TEST(handshake(server, nobody, "channel", false).read(all)->problem == "NOAUTH Authentication required.");
}

BOOST_AUTO_TEST_CASE(a_time_that_cannot_be_is_a_problem) {
  for (const auto& time : {of({"9223372036854775807", "0"}), of({"4294967296", "0"}), of({"1", "1000000"}),
                           of({"-1", "0"}), of({"0", "0"}), of({"1"}), of({}), of({"1x", "2"}), of({"", ""})}) {
    auto all = replies();
    all[4] = time;
    const auto o = handshake(server, nobody, "channel", false).read(all);
    BOOST_REQUIRE(o);
    BOOST_TEST(o->problem == "the server's answer to TIME is no time");
    BOOST_TEST(!o->refused);
  }
}

BOOST_AUTO_TEST_CASE(an_uptime_that_cannot_be_counts_as_none) {
  for (const std::string_view uptime : {"9223372036854775807", "-1", "x", "", "1x"}) {
    auto all = replies();
    all[2] = of({"uptime_in_seconds:" + std::string(uptime) + "\r\n"});
    BOOST_TEST(handshake(server, nobody, "channel", false).read(all)->server.uptime == std::chrono::seconds(0), uptime);
  }
}

BOOST_AUTO_TEST_CASE(a_replica_is_no_master_by_role_or_by_info) {
  const handshake h(server, nobody, "channel", true);
  BOOST_TEST(h.read(replies(true))->problem == "");
  auto by_role = replies(true);
  by_role[5] = of({"slave", "127.0.0.1"});
  BOOST_TEST(h.read(by_role)->problem == "the master is a replica");
  auto by_info = replies(true);
  by_info[2] = of({"role:slave\r\n"});
  by_info[5] = error_of("NOPERM no role");
  BOOST_TEST(h.read(by_info)->problem == "the master is a replica");
  BOOST_TEST(!h.read(by_info)->refused);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
