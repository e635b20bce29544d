// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/cluster/slot_map.hpp"
#include "support/unit_test.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

using namespace detail;

namespace {

struct fake_node {
  host_and_port where;
  bool is_up = true;
  bool failed = false;
  bool serves() const { return is_up; }
};

// One line of CLUSTER NODES, without the slots behind the last one.
struct row {
  std::string host;
  std::uint64_t epoch;
  std::vector<std::pair<std::uint16_t, std::uint16_t>> slots;
  bool master = true;
};

struct with_slots {
  bool take(const std::vector<row>& rows) {
    std::vector<cluster_node> found;
    for (const auto& r : rows) {
      cluster_node n;
      n.where = n.address = {r.host, "1"};
      n.by_name = {r.host + ".example.com", "1"};
      n.epoch = r.epoch;
      n.master = r.master;
      n.slots = r.slots;
      found.push_back(n);
    }
    return slots.take(found, [this](const cluster_node& n) -> fake_node& { return node(n.where.host); });
  }
  fake_node& node(const std::string& host) { return nodes.try_emplace(host, fake_node{{host, "1"}}).first->second; }
  std::string owner(std::uint16_t slot) const {
    const auto* const its = slots.owner(slot);
    return its == nullptr ? "-" : its->where.host;
  }

  static constexpr std::uint16_t last = number_of_slots - 1;
  std::map<std::string, fake_node> nodes;
  slot_map<fake_node> slots;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(slot_maps, with_slots)

BOOST_AUTO_TEST_CASE(nothing_is_known_before_a_node_has_said_it) {
  BOOST_TEST(!slots.is_known());
  BOOST_TEST(!slots.is_complete());
  BOOST_TEST(owner(0) == "-");
  BOOST_TEST(slots.one_of_each().empty());
  BOOST_TEST(take({{"a", 1, {{0, 8191}}}, {"b", 2, {{8192, last}}}}));
  BOOST_TEST(slots.is_known());
  BOOST_TEST(slots.is_complete());
  BOOST_TEST(owner(8191) == "a");
  BOOST_TEST(owner(8192) == "b");
  BOOST_TEST(slots.nodes().size() == 2U);
  // The same once more.
  BOOST_TEST(!take({{"a", 1, {{0, 8191}}}, {"b", 2, {{8192, last}}}}));
}

BOOST_AUTO_TEST_CASE(a_cluster_is_complete_if_every_slot_has_a_node_that_serves) {
  take({{"a", 1, {{0, 8191}}}, {"b", 2, {{8192, last - 1}}}});
  BOOST_TEST(!slots.is_complete());
  take({{"a", 1, {{0, 8191}}}, {"b", 2, {{8192, last}}}});
  BOOST_TEST(slots.is_complete());
  node("b").is_up = false;
  BOOST_TEST(!slots.is_complete());
}

BOOST_AUTO_TEST_CASE(the_later_epoch_counts) {
  take({{"a", 1, {{0, last}}}});
  BOOST_TEST(take({{"a", 1, {{0, 99}}}, {"b", 3, {{100, last}}}}));
  // A node that does not know of it yet.
  BOOST_TEST(!take({{"a", 1, {{0, last}}}}));
  BOOST_TEST(owner(100) == "b");
  BOOST_TEST(take({{"a", 4, {{0, last}}}}));
  BOOST_TEST(owner(100) == "a");
}

BOOST_AUTO_TEST_CASE(a_redirection_counts_until_a_later_epoch_is_named) {
  take({{"a", 1, {{0, 99}}}, {"b", 3, {{100, last}}}});
  BOOST_TEST(slots.follow(7, node("b")));
  BOOST_TEST(!slots.follow(7, node("b")));
  BOOST_TEST(!take({{"a", 1, {{0, 99}}}, {"b", 3, {{100, last}}}}));
  BOOST_TEST(owner(7) == "b");
  BOOST_TEST(owner(8) == "a");
  // Said by all.
  BOOST_TEST(!take({{"a", 1, {{0, 6}, {8, 99}}}, {"b", 3, {{7, 7}, {100, last}}}}));
  // From now on the epoch is that of b.
  BOOST_TEST(!take({{"a", 2, {{0, 99}}}, {"b", 3, {{100, last}}}}));
  BOOST_TEST(owner(7) == "b");
  BOOST_TEST(take({{"a", 4, {{0, 99}}}, {"b", 3, {{100, last}}}}));
  BOOST_TEST(owner(7) == "a");
}

// It has died before the others knew that it had the slot, and the slot was given back.
BOOST_AUTO_TEST_CASE(a_redirection_to_a_node_that_has_failed_counts_no_longer) {
  const std::vector<row> all = {{"a", 1, {{0, 99}}}, {"b", 3, {{100, last}}}};
  take(all);
  slots.follow(7, node("b"));
  node("b").failed = true;
  BOOST_TEST(take(all));
  BOOST_TEST(owner(7) == "a");
}

// Its epochs are smaller than those of the old one.
BOOST_AUTO_TEST_CASE(a_cluster_that_was_made_anew_counts_when_the_old_one_is_gone) {
  take({{"a", 7, {{0, last}}}});
  BOOST_TEST(!take({{"c", 1, {{0, last}}}}));
  BOOST_TEST(owner(0) == "a");
  node("a").is_up = false;
  // It says the same as before, and is to be believed now.
  slots.doubt();
  BOOST_TEST(take({{"c", 1, {{0, last}}}}));
  BOOST_TEST(owner(0) == "c");
}

BOOST_AUTO_TEST_CASE(a_node_that_is_down_and_still_named_keeps_its_slots) {
  take({{"a", 7, {{0, last}}}, {"b", 1, {}}});
  node("a").is_up = false;
  BOOST_TEST(!take({{"a", 7, {}}, {"b", 1, {{0, last}}}}));
  BOOST_TEST(owner(0) == "a");
  BOOST_TEST(take({{"a", 7, {}}, {"b", 8, {{0, last}}}}));
  BOOST_TEST(owner(0) == "b");
}

BOOST_AUTO_TEST_CASE(there_may_be_locks_at_each_master_that_is_known_to_have_slots) {
  take({{"a", 1, {{0, 99}}}, {"b", 2, {{200, 299}}, /*master=*/false}, {"c", 3, {{300, 399}, {500, last}}}});
  BOOST_TEST(slots.one_of_each() == (std::vector<std::uint16_t>{0, 300, 200}), boost::test_tools::per_element());
  slots.forget(node("a"));
  BOOST_TEST(owner(0) == "-");
  BOOST_TEST(slots.one_of_each() == (std::vector<std::uint16_t>{300, 200}), boost::test_tools::per_element());
  // Its slots have another master by now.
  take({{"b", 2, {{200, 200}}, /*master=*/false}, {"c", 3, {{0, last}}}});
  BOOST_TEST(slots.one_of_each() == (std::vector<std::uint16_t>{0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_node_has_one_name) {
  take({{"a", 1, {{0, last}}}});
  BOOST_TEST(slots.known_as({"a.example.com", "1"}).host == "a");
  BOOST_TEST(slots.known_as({"a", "1"}).host == "a");
  BOOST_TEST(slots.known_as({"b", "1"}).host == "b");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
