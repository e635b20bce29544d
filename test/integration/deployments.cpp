// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The clusters and Sentinel groups that other tests use are what they are taken for.
#include "support/cluster_servers.hpp"
#include "support/limit.hpp"
#include "support/sentinel_group.hpp"
#include "support/unit_test.hpp"

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(deployments)

BOOST_AUTO_TEST_CASE(a_cluster_moves_slots) {
  cluster_servers cluster;
  BOOST_TEST(cluster.url().starts_with("redis+cluster://127.0.0.1:"));
  BOOST_TEST(cluster_servers::slot_of("a{user}b") == cluster.node(0).command("CLUSTER", "KEYSLOT", "user").integer);
  const int slot = cluster_servers::slot_of("n");
  const std::size_t from = cluster.master_of("n");
  const std::size_t to = (from + 1) % 3;
  BOOST_TEST(cluster.node(from).command("SET", "n", "1").text == "OK");
  BOOST_TEST(cluster.node(to).command("SET", "n", "1").text.starts_with("MOVED"));
  cluster.begin_moving(slot, from, to);
  BOOST_TEST(cluster.node(from).command("GET", "{n}").text.starts_with("ASK"));
  cluster.move_keys(slot, from, to);
  cluster.end_moving(slot, from, to);
  BOOST_TEST(cluster.master_of(slot) == to);
  BOOST_TEST(cluster.node(to).get("n").value() == "1");
  cluster.move_slot(slot, to, from);
  BOOST_TEST(cluster.master_of(slot) == from);
  cluster.wait_until_ok();
}

BOOST_AUTO_TEST_CASE(a_cluster_fails_over) {
  cluster_servers cluster(3, 1);
  const std::size_t old = cluster.master_of("n");
  const std::size_t replica = cluster.replica_of(cluster_servers::slot_of("n"));
  BOOST_TEST(replica == old + 3);
  cluster.notice_failures_soon();
  cluster.fail_over(replica);
  BOOST_TEST(cluster.master_of("n") == replica);
  // And by itself.
  cluster.node(replica).kill();
  wait_until("the replica takes over", [&] { return cluster.is_master(old); });
  cluster.wait_until_ok();
  cluster.node(replica).start();
  cluster.wait_until_ok();
  BOOST_TEST(!cluster.is_master(replica));
}

BOOST_AUTO_TEST_CASE(a_sentinel_group_fails_over) {
  sentinel_group group;
  BOOST_TEST(group.url().ends_with("/mymaster"));
  BOOST_TEST(group.master_index() == 0U);
  group.fail_over();
  const std::size_t second = group.master_index();
  BOOST_TEST(second != 0U);
  // And by itself.
  group.server(second).kill();
  group.wait_for_another_master(second);
  // The Sentinels take ten seconds to make it a replica of the third.
  group.server(second).start();
  BOOST_TEST(group.master_index() != second);
}

BOOST_AUTO_TEST_CASE(a_sentinel_group_has_passwords) {
  sentinel_group::settings s;
  s.replicas = 1;
  s.server_password = "forServers";
  s.sentinel_password = "forSentinels";
  sentinel_group group(s);
  redis_connection stranger(group.sentinel(0).socket_path());
  BOOST_TEST(stranger.command({"SENTINEL", "MASTERS"}).text.starts_with("NOAUTH"));
  redis_connection other(group.master().socket_path());
  BOOST_TEST(other.command({"GET", "n"}).text.starts_with("NOAUTH"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
