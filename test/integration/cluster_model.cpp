// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The nodes of a cluster in memory against real ones: what they say to requests for a slot that is moved key by key,
// and which subscriptions they end.
#include "protocol/refusal.hpp"
#include "protocol/slots.hpp"
#include "store/memory/cluster.hpp"
#include "support/cluster_servers.hpp"
#include "support/unit_test.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::test {

namespace memory = detail::memory;

BOOST_AUTO_TEST_SUITE(cluster_model)

using strings = std::vector<std::string>;

class both {
  memory::scripting lua_;
  std::vector<std::unique_ptr<memory::server>> servers_;
  std::vector<memory::server*> nodes_;

 public:
  both() {
    const auto now = [] { return std::chrono::microseconds(std::chrono::hours(1)); };
    for (std::size_t i = 0; i < real.size(); ++i) {
      servers_.push_back(std::make_unique<memory::server>(lua_, now));
      nodes_.push_back(servers_.back().get());
    }
    model.emplace(nodes_, nodes_.size());
  }

  memory::server& node(std::size_t i) { return *servers_[i]; }

  // As EVAL with these keys, behind ASKING or not.
  std::string of_real(std::size_t node, const strings& keys, bool asking, const detail::script& s = one) {
    redis_connection c(real.node(node).socket_path());
    if (asking) c.command({"ASKING"});
    strings words{"EVAL", std::string(s.text), std::to_string(keys.size())};
    words.insert(words.end(), keys.begin(), keys.end());
    return shown(c.command(words));
  }
  std::string of_model(std::size_t node, const strings& keys, bool asking, const detail::script& s = one) {
    const std::vector<std::string_view> all(keys.begin(), keys.end());
    const auto r = servers_[node]->run(s, /*whole_text=*/true, all, {}, asking);
    return r.is_error() ? r.text : "served";
  }
  std::string shown(const reply& r) {
    if (!r.is_error()) return "served";
    // The addresses are those of the model.
    auto words = r.text;
    for (std::size_t i = 0; i < real.size(); ++i) {
      const auto address = fmt::format("127.0.0.1:{}", real.node(i).port());
      if (const auto at = words.find(address); at != words.npos)
        words.replace(at, address.size(), fmt::format("s{}:1", i));
    }
    return words;
  }

  static constexpr detail::script one{"test", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "return 1"};
  cluster_servers real;
  std::optional<memory::cluster> model;
};

BOOST_AUTO_TEST_CASE(a_slot_that_moves_key_by_key) {
  both b;
  const std::string record = "n";
  const auto slot = detail::slot_of(record);
  const std::string fence(detail::fence_key(slot));
  const auto from = b.real.master_of(record);
  const auto to = (from + 1) % b.real.size();
  BOOST_TEST(b.model->owner(slot) == from);
  const auto compare = [&](std::string_view when) {
    for (const strings& keys : {strings{record}, strings{fence}, strings{record, fence}, strings{record, "another"}}) {
      for (std::size_t i = 0; i < b.real.size(); ++i) {
        for (const bool asking : {false, true}) {
          const auto right = b.of_real(i, keys, asking);
          BOOST_TEST(b.of_model(i, keys, asking) == right, when << ": " << keys.size() << " keys at node " << i
                                                                << (asking ? " with ASKING" : "") << ": "
                                                                << b.of_model(i, keys, asking) << " is not " << right);
        }
      }
    }
  };
  const auto set = [&](std::size_t node, const std::string& key) {
    b.real.node(node).command("SET", key, "x");
    b.node(node).execute({"SET", key, "x"});
  };
  compare("at first");
  b.real.begin_moving(slot, from, to);
  b.model->begin_to_move(slot, to);
  compare("without keys");
  b.real.end_moving(slot, from, to);
  b.model->end_move(slot);
  b.real.move_slot(slot, to, from);
  b.model->begin_to_move(slot, from);
  b.model->end_move(slot);
  b.real.wait_until_ok();
  for (std::size_t i = 0; i < b.real.size(); ++i) b.model->announce_slots(i);
  set(from, record);
  set(from, fence);
  compare("with keys");
  b.real.begin_moving(slot, from, to);
  b.model->begin_to_move(slot, to);
  compare("before the first key moves");
  b.real.move_key(fence, from, to);
  b.model->move_key(slot, fence);
  compare("after the first key");
  b.real.move_key(record, from, to);
  b.model->move_key(slot, record);
  compare("after both keys");
  b.real.end_moving(slot, from, to);
  b.real.wait_until_ok();
  b.model->end_move(slot);
  for (std::size_t i = 0; i < b.real.size(); ++i) b.model->announce_slots(i);
  compare("at the end");
}

// What the script has done until then stays done.
BOOST_AUTO_TEST_CASE(a_script_that_reads_what_it_has_deleted_from_a_slot_that_moves) {
  constexpr detail::script alone{"test", "b5c533f60d6516fd595540e1e35a4042fc7c4983",
                                 "redis.call('DEL', KEYS[1]) return redis.call('EXISTS', KEYS[1])"};
  constexpr detail::script together{"test", "79f6a199e4c91b24cff3e70f1e2d2b12cd8dfdba",
                                    "redis.call('DEL', KEYS[1]) return redis.call('EXISTS', KEYS[1], KEYS[2])"};
  both b;
  const std::string record = "n";
  const auto slot = detail::slot_of(record);
  const strings keys{record, std::string(detail::fence_key(slot))};
  const auto from = b.real.master_of(record);
  const auto to = (from + 1) % b.real.size();
  const auto set = [&](std::size_t node) {
    for (const auto& key : keys) {
      redis_connection c(b.real.node(node).socket_path());
      c.command({"ASKING"});
      c.command({"SET", key, "x"});
      b.node(node).execute({"SET", key, "x"});
    }
  };
  const auto is_refused = [](const std::string& words) {
    return detail::classify(words) == detail::refusal::try_again;
  };
  const auto check = [&](std::string_view when, std::size_t node, bool asking, const detail::script& s, bool refused) {
    const auto right = b.of_real(node, keys, asking, s), model = b.of_model(node, keys, asking, s);
    BOOST_TEST(is_refused(right) == refused, when << ": " << right);
    BOOST_TEST(is_refused(model) == refused, when << ": " << model);
    BOOST_TEST((refused || model == right), when << ": " << model << " is not " << right);
    BOOST_TEST(b.node(node).execute({"EXISTS", record}).integer == 0);
    redis_connection c(b.real.node(node).socket_path());
    c.command({"ASKING"});
    BOOST_TEST(c.command({"EXISTS", record}).integer == 0);
  };
  set(from);
  check("at first", from, false, alone, false);
  set(from);
  b.real.begin_moving(slot, from, to);
  b.model->begin_to_move(slot, to);
  check("at the source", from, false, alone, true);
  set(to);
  check("at the target", to, true, alone, false);
  set(to);
  check("at the target", to, true, together, true);
}

// What a session hears.
struct listener final : memory::session {
  void deliver(std::string_view, std::string_view) override {}
  void close() override {}
  void on_left(std::string_view channel) override { left.emplace_back(channel); }
  strings left;
};

BOOST_AUTO_TEST_CASE(a_shard_channel_ends_when_its_slot_has_moved) {
  both b;
  const std::string record = "n";
  const auto slot = detail::slot_of(record);
  const auto channel = fmt::format("leasehold:{{{}}}:client", detail::tag_of_slot(slot));
  const auto from = b.real.master_of(record);
  const auto to = (from + 1) % b.real.size();
  redis_connection real(b.real.node(from).socket_path());
  const auto model = std::make_shared<listener>();
  b.node(from).attach(model);
  const auto compare = [&](std::string_view when) {
    for (std::size_t i = 0; i < b.real.size(); ++i) {
      redis_connection c(b.real.node(i).socket_path());
      const auto refusal = b.node(i).subscribe_in_slot(*std::make_shared<listener>(), channel);
      BOOST_TEST((refusal ? refusal->text : "served") == b.shown(c.command({"SSUBSCRIBE", channel})), when);
    }
  };
  compare("at first");
  real.command({"SSUBSCRIBE", channel});
  BOOST_TEST(!b.node(from).subscribe_in_slot(*model, channel));
  b.real.begin_moving(slot, from, to);
  b.model->begin_to_move(slot, to);
  compare("while it moves");
  BOOST_TEST(model->left.empty());
  b.real.end_moving(slot, from, to);
  b.model->end_move(slot);
  const auto told = real.receive();
  BOOST_TEST(told.items.at(0).text == "sunsubscribe");
  BOOST_TEST(told.items.at(1).text == channel);
  BOOST_TEST(model->left == strings{channel});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
