// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "time/alarm_clock.hpp"

#include "support/run.hpp"
#include "support/unit_test.hpp"

#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(alarm_clocks)

using detail::alarm;
using detail::alarm_clock;

class bell final : public alarm {
 public:
  explicit bell(std::function<void()> f = [] {}) : ring_(std::move(f)) {}
  int rung = 0;

 private:
  void ring(clock::time_point) override {
    ++rung;
    ring_();
  }
  std::function<void()> ring_;
};

struct owner : std::enable_shared_from_this<owner> {
  explicit owner(asio::io_context& context) : alarms(context.get_executor()) {}
  void set(alarm& a, clock::duration in) { alarms.set(a, clock::now() + in, *this); }
  alarm_clock alarms;
};

BOOST_AUTO_TEST_CASE(an_alarm_rings_once_and_not_before_its_time) {
  asio::io_context context;
  const auto o = std::make_shared<owner>(context);
  clock::time_point rang;
  bell a([&] { rang = clock::now(); });
  const auto due = clock::now() + 5ms;
  o->alarms.set(a, due, *o);
  run_to_end(context);
  BOOST_TEST(a.rung == 1);
  BOOST_TEST((rang >= due));
}

BOOST_AUTO_TEST_CASE(an_alarm_that_is_due_earlier_does_not_wait_for_a_later_one) {
  asio::io_context context;
  const auto o = std::make_shared<owner>(context);
  bell late, soon([&] { late.unset(); });
  o->set(late, 1h);
  o->set(soon, 1ms);
  run_to_end(context);
  BOOST_TEST(soon.rung == 1);
  BOOST_TEST(late.rung == 0);
}

BOOST_AUTO_TEST_CASE(without_an_alarm_a_clock_at_rest_is_no_work) {
  asio::io_context context;
  const auto o = std::make_shared<owner>(context);
  bell a;
  o->set(a, 1h);
  a.unset();
  o->alarms.rest();
  run_to_end(context);
  BOOST_TEST(a.rung == 0);
  o->set(a, 1ms);
  o->alarms.rest();
  run_to_end(context);
  BOOST_TEST(a.rung == 1);
}

BOOST_AUTO_TEST_CASE(what_is_cleared_while_others_ring_does_not_ring) {
  asio::io_context context;
  const auto o = std::make_shared<owner>(context);
  bell other, first([&] { o->alarms.clear(); });
  const auto due = clock::now() + 1ms;
  o->alarms.set(first, due, *o);
  o->alarms.set(other, due, *o);
  run_to_end(context);
  BOOST_TEST(first.rung == 1);
  BOOST_TEST(other.rung == 0);
  BOOST_TEST(!other.is_set());
}

BOOST_AUTO_TEST_CASE(an_exception_leaves_the_other_alarms_and_those_to_come) {
  asio::io_context context;
  const auto o = std::make_shared<owner>(context);
  bell thrower([] { throw std::runtime_error("of an observer"); }), other;
  const auto due = clock::now() + 1ms;
  o->alarms.set(thrower, due, *o);
  o->alarms.set(other, due, *o);
  BOOST_CHECK_THROW(context.run(), std::runtime_error);
  run_to_end(context);
  BOOST_TEST(thrower.rung == 1);
  BOOST_TEST(other.rung == 1);
}

BOOST_AUTO_TEST_CASE(an_alarm_sets_itself_again) {
  asio::io_context context;
  const auto o = std::make_shared<owner>(context);
  bell* itself = nullptr;
  bell a([&] {
    if (itself->rung < 3) o->set(*itself, 1ms);
  });
  itself = &a;
  o->set(a, 1ms);
  run_to_end(context);
  BOOST_TEST(a.rung == 3);
}

BOOST_AUTO_TEST_CASE(the_owner_lives_while_an_alarm_is_waited_for) {
  asio::io_context context;
  auto o = std::make_shared<owner>(context);
  const std::weak_ptr<owner> there = o;
  bell a;
  o->set(a, 1ms);
  o.reset();
  BOOST_TEST(!there.expired());
  run_to_end(context);
  BOOST_TEST(a.rung == 1);
  BOOST_TEST(there.expired());
}

BOOST_AUTO_TEST_CASE(an_abandoned_clock_rings_nothing) {
  asio::io_context context;
  const auto o = std::make_shared<owner>(context);
  bell a;
  o->set(a, 1ms);
  o->alarms.abandon();
  o->set(a, 1ms);
  run_to_end(context);
  BOOST_TEST(a.rung == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
