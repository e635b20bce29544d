// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "time/alarms.hpp"

#include "support/unit_test.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

using namespace std::chrono_literals;
using leasehold::clock;
using leasehold::detail::alarm;
using leasehold::detail::alarms;

namespace {

class bell final : public alarm {
 public:
  explicit bell(std::function<void(clock::time_point)> f = [](clock::time_point) {}) : f_(std::move(f)) {}
  int rung = 0;

 private:
  void ring(clock::time_point now) override {
    ++rung;
    f_(now);
  }
  std::function<void(clock::time_point)> f_;
};

const clock::time_point t0(100s);

}  // namespace

BOOST_AUTO_TEST_SUITE(alarms_of_a_client)

BOOST_AUTO_TEST_CASE(nothing_is_due_at_first) {
  alarms all;
  BOOST_TEST(all.next() == clock::time_point::max());
  all.ring(clock::time_point::max());
}

BOOST_AUTO_TEST_CASE(they_ring_in_the_order_of_their_times) {
  alarms all;
  std::vector<int> order;
  bell a([&](auto) { order.push_back(1); });
  bell b([&](auto) { order.push_back(2); });
  bell c([&](auto) { order.push_back(3); });
  all.set(b, t0 + 2s);
  all.set(c, t0 + 3s);
  all.set(a, t0 + 1s);
  BOOST_TEST(all.next() == t0 + 1s);
  all.ring(t0 + 10s);
  BOOST_TEST(order == std::vector({1, 2, 3}), boost::test_tools::per_element());
  BOOST_TEST(all.next() == clock::time_point::max());
}

BOOST_AUTO_TEST_CASE(equal_times_ring_in_the_order_of_their_setting) {
  alarms all;
  std::vector<int> order;
  bell a([&](auto) { order.push_back(1); });
  bell b([&](auto) { order.push_back(2); });
  all.set(a, t0);
  all.set(b, t0);
  all.ring(t0);
  BOOST_TEST(order == std::vector({1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(only_what_is_due_rings) {
  alarms all;
  bell due;
  bell later;
  all.set(due, t0);
  all.set(later, t0 + 1ns);
  all.ring(t0);
  BOOST_TEST(due.rung == 1);
  BOOST_TEST(later.rung == 0);
  BOOST_TEST(!due.is_set());
  BOOST_TEST(later.is_set());
  BOOST_TEST(all.next() == t0 + 1ns);
}

BOOST_AUTO_TEST_CASE(setting_again_moves_an_alarm) {
  alarms all;
  bell a;
  all.set(a, t0);
  all.set(a, t0 + 5s);
  BOOST_TEST(all.next() == t0 + 5s);
  BOOST_TEST(a.due() == t0 + 5s);
  all.set(a, t0 - 5s);
  BOOST_TEST(all.next() == t0 - 5s);
  all.ring(t0);
  BOOST_TEST(a.rung == 1);
}

BOOST_AUTO_TEST_CASE(an_unset_alarm_does_not_ring) {
  alarms all;
  bell a;
  all.set(a, t0);
  a.unset();
  a.unset();
  all.ring(t0);
  BOOST_TEST(a.rung == 0);
}

BOOST_AUTO_TEST_CASE(an_alarm_set_again_while_ringing_waits_for_the_next_call) {
  alarms all;
  bell* again = nullptr;
  bell a([&](clock::time_point now) { all.set(*again, now - 1s); });
  again = &a;
  all.set(a, t0);
  all.ring(t0);
  BOOST_TEST(a.rung == 1);
  BOOST_TEST(all.next() == t0 - 1s);
  all.ring(t0);
  BOOST_TEST(a.rung == 2);
}

BOOST_AUTO_TEST_CASE(an_alarm_may_destroy_itself_and_others_while_ringing) {
  alarms all;
  std::unique_ptr<bell> self;
  std::unique_ptr<bell> due_too = std::make_unique<bell>();
  std::unique_ptr<bell> not_due = std::make_unique<bell>();
  self = std::make_unique<bell>([&](auto) {
    due_too.reset();
    not_due.reset();
    // The function lives in the bell, so nothing may follow.
    self.reset();
  });
  bell last;
  all.set(*self, t0);
  all.set(*due_too, t0 + 1s);
  all.set(last, t0 + 2s);
  all.set(*not_due, t0 + 10s);
  all.ring(t0 + 5s);
  BOOST_TEST(!self);
  BOOST_TEST(last.rung == 1);
  BOOST_TEST(all.next() == clock::time_point::max());
}

BOOST_AUTO_TEST_CASE(an_alarm_may_unset_or_move_another_one_that_is_due) {
  alarms all;
  bell unset_me;
  bell move_me;
  bell first([&](auto) {
    unset_me.unset();
    all.set(move_me, t0 + 1h);
  });
  all.set(first, t0);
  all.set(unset_me, t0 + 1s);
  all.set(move_me, t0 + 1s);
  all.ring(t0 + 1s);
  BOOST_TEST(unset_me.rung == 0);
  BOOST_TEST(move_me.rung == 0);
  BOOST_TEST(all.next() == t0 + 1h);
}

BOOST_AUTO_TEST_CASE(an_alarm_may_clear_all_while_ringing) {
  alarms all;
  bell later;
  bell first([&](auto) { all.clear(); });
  all.set(first, t0);
  all.set(later, t0 + 1h);
  all.ring(t0);
  BOOST_TEST(!later.is_set());
}

BOOST_AUTO_TEST_CASE(an_alarm_that_throws_leaves_the_others_set) {
  alarms all;
  std::vector<int> order;
  bell first([&](auto) { order.push_back(1); });
  bell throws([&](auto) { throw std::runtime_error("bad"); });
  bell second([&](auto) { order.push_back(2); });
  bell third([&](auto) { order.push_back(3); });
  bell not_due;
  all.set(first, t0);
  all.set(throws, t0 + 1s);
  all.set(second, t0 + 2s);
  all.set(third, t0 + 3s);
  all.set(not_due, t0 + 1h);
  BOOST_CHECK_THROW(all.ring(t0 + 3s), std::runtime_error);
  BOOST_TEST(throws.rung == 1);
  BOOST_TEST(!throws.is_set());
  BOOST_TEST(all.next() == t0 + 2s);
  all.ring(t0 + 3s);
  BOOST_TEST(order == std::vector({1, 2, 3}), boost::test_tools::per_element());
  BOOST_TEST(throws.rung == 1);
  BOOST_TEST(all.next() == t0 + 1h);
}

BOOST_AUTO_TEST_CASE(a_destroyed_alarm_is_gone) {
  alarms all;
  {
    bell a;
    all.set(a, t0);
  }
  BOOST_TEST(all.next() == clock::time_point::max());
}

BOOST_AUTO_TEST_CASE(alarms_may_outlive_their_set) {
  bell a;
  {
    alarms all;
    all.set(a, t0);
  }
  BOOST_TEST(!a.is_set());
}

BOOST_AUTO_TEST_CASE(many_alarms_ring_once_each_in_order) {
  const auto seed = std::random_device()();
  BOOST_TEST_CONTEXT("seed " << seed) {
    std::mt19937 engine(seed);
    alarms all;
    std::vector<std::unique_ptr<bell>> bells;
    clock::time_point last = clock::time_point::min();
    for (int i = 0; i < 1000; ++i) {
      bells.push_back(std::make_unique<bell>());
      bell& b = *bells.back();
      all.set(b, t0 + std::chrono::milliseconds(engine() % 500));
    }
    for (int i = 0; i <= 500; ++i) {
      BOOST_REQUIRE(all.next() >= last);
      last = all.next();
      all.ring(t0 + std::chrono::milliseconds(i));
      BOOST_REQUIRE(all.next() > t0 + std::chrono::milliseconds(i));
    }
    for (const auto& b : bells) BOOST_REQUIRE(b->rung == 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()
