// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/cluster/topology.hpp"
#include "support/unit_test.hpp"

#include <string>

namespace leasehold::test {

using namespace detail;

BOOST_AUTO_TEST_SUITE(topology)

BOOST_AUTO_TEST_CASE(nodes_are_read) {
  const auto nodes = read_cluster_nodes(
      "07c3 127.0.0.1:30004@31004,host-4,shard-id=69bc slave e7d1 0 1426238317239 4 connected\n"
      "67ed 10.0.0.2:30002@31002,host-2 master - 0 1426238316232 2 connected 5461-10922 [93->-e7d1]\r\n"
      "e7d1 :30001@31001 myself,master - 0 0 1 connected 0-5460 10923\n"
      "aaaa 127.0.0.1:30005@31005 master,fail - 0 0 9 disconnected 3\n"
      "bbbb 127.0.0.1:30006@31006 master,fail? - 0 0 8 connected 7-7\n"
      "cccc :0@0 master,noaddr - 0 0 9 disconnected 4\n"
      "dddd 127.0.0.1:30008@31008 handshake - 0 0 0 connected\n"
      "eeee ::1:30009@31009 master - 0 0 11 connected\n"
      "nonsense\n",
      "asked", /*by_name=*/false);
  BOOST_REQUIRE_EQUAL(nodes.size(), 6U);
  BOOST_TEST(!nodes[0].master);
  BOOST_TEST(nodes[0].slots.empty());
  BOOST_TEST(nodes[1].master);
  BOOST_TEST(nodes[1].where.host == "10.0.0.2");
  BOOST_TEST(nodes[1].where.port == "30002");
  BOOST_TEST(nodes[1].epoch == 2U);
  BOOST_REQUIRE_EQUAL(nodes[1].slots.size(), 1U);
  BOOST_TEST(nodes[1].slots[0].first == 5461);
  BOOST_TEST(nodes[1].slots[0].second == 10922);
  // A node does not know its own address before somebody has told it.
  BOOST_TEST(nodes[2].where.host == "asked");
  BOOST_REQUIRE_EQUAL(nodes[2].slots.size(), 2U);
  BOOST_TEST(nodes[2].slots[1].first == 10923);
  BOOST_TEST(nodes[2].slots[1].second == 10923);
  // Dead in the eyes of a majority, or of this node only.
  BOOST_TEST(!nodes[3].master);
  BOOST_TEST(nodes[4].master);
  BOOST_TEST(nodes[5].where.host == "::1");
  BOOST_TEST(nodes[5].where.port == "30009");
}

BOOST_AUTO_TEST_CASE(names_are_taken_where_certificates_are_for_names) {
  const std::string text =
      "67ed 10.0.0.2:30002@31002,host-2,shard-id=69bc master - 0 0 2 connected 1\n"
      "07c3 10.0.0.3:30003@31003,,shard-id=69bc master - 0 0 3 connected 2\n";
  const auto nodes = read_cluster_nodes(text, "", /*by_name=*/true);
  BOOST_REQUIRE_EQUAL(nodes.size(), 2U);
  BOOST_TEST(nodes[0].where.host == "host-2");
  BOOST_TEST(nodes[0].address.host == "10.0.0.2");
  BOOST_TEST(nodes[0].address.port == "30002");
  BOOST_TEST(nodes[1].where.host == "10.0.0.3");
  BOOST_TEST(nodes[1].address.host == "10.0.0.3");
}

// Redirections may have either.
BOOST_AUTO_TEST_CASE(the_name_and_the_address_of_a_node_are_known_whichever_is_taken) {
  const std::string text =
      "67ed 10.0.0.2:30002@31002,host-2,shard-id=69bc master - 0 0 2 connected 1\n"
      "07c3 10.0.0.3:30003@31003 master - 0 0 3 connected 2\n";
  for (const bool by_name : {false, true}) {
    const auto nodes = read_cluster_nodes(text, "", by_name);
    BOOST_REQUIRE_EQUAL(nodes.size(), 2U);
    BOOST_TEST(nodes[0].where.host == (by_name ? "host-2" : "10.0.0.2"));
    BOOST_TEST(nodes[0].address.host == "10.0.0.2");
    BOOST_TEST(nodes[0].by_name.host == "host-2");
    BOOST_TEST(nodes[0].by_name.port == "30002");
    BOOST_TEST(nodes[1].where.host == "10.0.0.3");
    BOOST_TEST(nodes[1].by_name.host == "10.0.0.3");
  }
}

BOOST_AUTO_TEST_CASE(bad_slots_are_passed_over) {
  const auto nodes =
      read_cluster_nodes("a 1.2.3.4:1@2 master - 0 0 1 connected 16384 9-8 x 1- -1 5-16383\n", "", false);
  BOOST_REQUIRE_EQUAL(nodes.size(), 1U);
  BOOST_REQUIRE_EQUAL(nodes[0].slots.size(), 2U);
  BOOST_TEST(nodes[0].slots[0].first == 1);
  BOOST_TEST(nodes[0].slots[1].first == 5);
  BOOST_TEST(nodes[0].slots[1].second == 16383);
}

BOOST_AUTO_TEST_CASE(there_is_a_limit_to_nodes_and_to_slots_of_one) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "a 1.2.3.4:1@2 master - 0 0 1 connected\n";
  BOOST_TEST(read_cluster_nodes(text, "", false).size() == most_nodes + 1);
  text = "a 1.2.3.4:1@2 master - 0 0 1 connected 0-16383";
  for (int i = 0; i < 1000; ++i) text += " 0-16383";
  BOOST_TEST(read_cluster_nodes(text, "", false)[0].slots.size() == 1U);
}

BOOST_AUTO_TEST_CASE(redirections_are_read) {
  std::uint16_t slot = 0;
  host_and_port where;
  BOOST_TEST(read_redirection("MOVED 3999 127.0.0.1:6381", "asked", slot, where));
  BOOST_TEST(slot == 3999);
  BOOST_TEST(where.host == "127.0.0.1");
  BOOST_TEST(where.port == "6381");
  BOOST_TEST(read_redirection("ASK 1 :6382", "asked", slot, where));
  BOOST_TEST(where.host == "asked");
  BOOST_TEST(read_redirection("ASK 1 ?:6382", "asked", slot, where));
  BOOST_TEST(where.host == "asked");
  for (const char* bad : {"MOVED", "MOVED 1", "MOVED x 1.2.3.4:5", "MOVED 16384 1.2.3.4:5", "MOVED 1 1.2.3.4",
                          "MOVED 1 1.2.3.4:0", "MOVED 1 1.2.3.4:65536"}) {
    BOOST_TEST(!read_redirection(bad, "asked", slot, where), bad);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
