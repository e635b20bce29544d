// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/redis/witness.hpp"

#include "support/unit_test.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::test {
namespace {

using namespace std::chrono_literals;

const detail::script script_of_proofs{"none", "0123456789012345678901234567890123456789", "return 1"};

class witness_caller final : public detail::caller {
 public:
  detail::request request_of(std::uint32_t) const override {
    detail::request r;
    r.verb = detail::verb::renew;
    r.of_kind = &script_of_proofs;
    r.keys = {"n", "f", "q", "e"};
    return r;
  }
  void answered(std::uint32_t tag, const detail::answer& a) override {
    if (a.from_store != nullptr) acknowledged[tag] = a.from_store->acknowledged;
  }

  std::map<std::uint32_t, std::uint32_t> acknowledged;
};

// Keeps what it is to send. The test answers.
class witness_server final : public detail::redis_server {
 public:
  void start(std::shared_ptr<void>) override {}
  void stop() override {}
  memory known() const override { return {}; }
  void assume(const memory&) override {}
  bool up() const override { return true; }
  std::uint64_t epoch() const override { return 1; }
  bool run(std::shared_ptr<detail::caller>, std::uint32_t) override { return false; }
  bool run_acknowledged(std::shared_ptr<detail::caller>, std::uint32_t, std::uint32_t,
                        std::chrono::milliseconds) override {
    return false;
  }
  void listen(const std::string&) override {}
  void ignore(const std::string&) override {}
  void take_over(call) override {}
  void exec(const commands& all, std::chrono::milliseconds longer,
            std::function<void(const std::vector<detail::reply>*)> then) override {
    under_way = {all, longer, std::move(then)};
  }
  void publish(const std::string&, std::string_view) override {}
  void change_shard_channel(const std::string&, bool) override {}

  struct sent {
    commands all;
    std::chrono::milliseconds longer{0};
    std::function<void(const std::vector<detail::reply>*)> then;
  } under_way;
};

struct with_witness {
  void ask(std::uint32_t tag, std::uint32_t replicas, std::chrono::milliseconds limit) {
    const auto make = [this](detail::store::events&) { return server; };
    detail::witness::run(subject, make, caller, tag, replicas, limit);
  }
  // Answers what is under way, and says what it was: "<scripts>, WAIT <replicas> <limit>".
  std::string answer(std::string_view acknowledged) {
    const auto sent = std::exchange(server->under_way, {});
    if (!sent.then) return "nothing";
    std::vector<detail::reply> replies(sent.all.size());
    for (auto& r : replies) r.add(acknowledged);
    sent.then(&replies);
    std::string text = std::to_string(sent.all.size() - 1) + ",";
    for (const auto& word : sent.all.back()) text += " " + word;
    BOOST_TEST(text.ends_with(" " + std::to_string(sent.longer.count())));
    return text;
  }

  std::shared_ptr<witness_server> server = std::make_shared<witness_server>();
  std::shared_ptr<witness_caller> caller = std::make_shared<witness_caller>();
  std::shared_ptr<detail::witness> subject;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(witnesses, with_witness)

BOOST_AUTO_TEST_CASE(calls_that_want_the_same_number_of_replicas_share_the_longest_wait) {
  ask(1, 1, 50ms);
  // These come meanwhile.
  ask(2, 1, 100ms);
  ask(3, 2, 400ms);
  ask(4, 1, 300ms);
  ask(5, 1, 200ms);
  BOOST_TEST(answer("1") == "1, WAIT 1 50");
  BOOST_TEST(answer("1") == "3, WAIT 1 300");
  BOOST_TEST(answer("2") == "1, WAIT 2 400");
  BOOST_TEST(answer("") == "nothing");
  const std::map<std::uint32_t, std::uint32_t> expected{{1, 1}, {2, 1}, {3, 2}, {4, 1}, {5, 1}};
  BOOST_TEST((caller->acknowledged == expected));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
