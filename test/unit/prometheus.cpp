// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/prometheus_text.hpp"
#include "support/unit_test.hpp"

#include <leasehold/prometheus.hpp>

#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(prometheus)

namespace {

using namespace std::chrono_literals;

histogram durations(const std::vector<std::chrono::microseconds>& all) {
  histogram h;
  for (const auto d : all) {
    const auto bucket = histogram::bucket_of(d);
    h.set_count_in(bucket, h.count_in(bucket) + 1);
    h.set_sum(h.sum() + d);
  }
  return h;
}

// Every number is another one.
statistics some_statistics() {
  statistics s;
  s.held = 1;
  s.waiting = 2;
  s.acquired = 3;
  s.handed_off = 4;
  s.passed = 5;
  s.contended = 6;
  s.timed_out = 7;
  s.cancelled = 8;
  s.lost = 9;
  s.released = 10;
  s.renewed = 11;
  s.renewal_failed = 12;
  s.withdrawn = 13;
  s.refused = 14;
  s.commands = 15;
  s.connects = 16;
  s.reconnects = 17;
  s.clock_jumps = 18;
  s.slow_waits = 19;
  s.wanted = 31;
  s.lingered = 32;
  s.waiting_time = durations({90us, 3ms, 3ms, 40s});
  s.hold_time = durations({1ms});
  s.round_trip = durations({80us, 80us});
  return s;
}

class_statistics some_class() {
  class_statistics s;
  s.held = 21;
  s.waiting = 22;
  s.acquired = 23;
  s.contended = 24;
  s.timed_out = 25;
  s.cancelled = 26;
  s.lost = 27;
  s.slow_waits = 28;
  s.waiting_time = durations({2ms});
  s.hold_time = durations({70ms, 70ms});
  return s;
}

std::string refusal_of(const std::vector<client_figures>& all) {
  try {
    to_prometheus(all);
  } catch (const exception& e) {
    BOOST_TEST((e.code() == error::invalid_option));
    return e.what();
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_member_is_on_the_page) {
  const prometheus_text page(to_prometheus(some_statistics(), {{"seat", some_class()}}));
  const std::map<std::string, double> plain{{"held", 1},
                                            {"waiting", 2},
                                            {"acquired_total", 3},
                                            {"handed_off_total", 4},
                                            {"passed_total", 5},
                                            {"contended_total", 6},
                                            {"timed_out_total", 7},
                                            {"cancelled_total", 8},
                                            {"lost_total", 9},
                                            {"released_total", 10},
                                            {"renewed_total", 11},
                                            {"renewal_failed_total", 12},
                                            {"withdrawn_total", 13},
                                            {"refused_total", 14},
                                            {"commands_total", 15},
                                            {"connects_total", 16},
                                            {"reconnects_total", 17},
                                            {"clock_jumps_total", 18},
                                            {"slow_waits_total", 19},
                                            {"wanted_total", 31},
                                            {"lingered_total", 32}};
  for (const auto& [name, value] : plain) BOOST_TEST(page.value("leasehold_" + name) == value, name);
  const std::map<std::string, double> classes{{"held", 21},
                                              {"waiting", 22},
                                              {"acquired_total", 23},
                                              {"contended_total", 24},
                                              {"timed_out_total", 25},
                                              {"cancelled_total", 26},
                                              {"lost_total", 27},
                                              {"slow_waits_total", 28}};
  for (const auto& [name, value] : classes) {
    BOOST_TEST(page.value("leasehold_class_" + name, {{"class", "seat"}}) == value, name);
  }
  // Three histograms, and two of the class.
  BOOST_TEST(page.types().size() == plain.size() + 3 + classes.size() + 2);
}

BOOST_AUTO_TEST_CASE(each_histogram_has_its_own_durations) {
  const prometheus_text page(to_prometheus(some_statistics(), {{"seat", some_class()}}));
  BOOST_TEST(page.value("leasehold_waiting_seconds_sum") == 40.00609);
  BOOST_TEST(page.value("leasehold_hold_seconds_sum") == 0.001);
  BOOST_TEST(page.value("leasehold_round_trip_seconds_sum") == 0.00016);
  BOOST_TEST(page.value("leasehold_class_waiting_seconds_sum", {{"class", "seat"}}) == 0.002);
  BOOST_TEST(page.value("leasehold_class_hold_seconds_sum", {{"class", "seat"}}) == 0.14);
}

BOOST_AUTO_TEST_CASE(a_duration_is_under_the_first_bound_that_its_bucket_is_below) {
  const prometheus_text page(to_prometheus(some_statistics(), {{"seat", some_class()}}));
  const auto below = [&](const char* le) { return page.value("leasehold_waiting_seconds_bucket", {{"le", le}}); };
  BOOST_TEST(below("0.0001") == 1);
  BOOST_TEST(below("0.0025") == 1);
  BOOST_TEST(below("0.005") == 3);
  BOOST_TEST(below("30") == 3);
  BOOST_TEST(below("+Inf") == 4);
  BOOST_TEST(page.all("leasehold_waiting_seconds_bucket").size() == 16U);
  BOOST_TEST(page.value("leasehold_waiting_seconds_count") == 4);
  BOOST_TEST(page.value("leasehold_waiting_seconds_sum") == 40.00609);
  BOOST_TEST(page.value("leasehold_class_hold_seconds_bucket", {{"class", "seat"}, {"le", "0.05"}}) == 0);
  BOOST_TEST(page.value("leasehold_class_hold_seconds_bucket", {{"class", "seat"}, {"le", "0.1"}}) == 2);
  BOOST_TEST(page.value("leasehold_class_hold_seconds_sum", {{"class", "seat"}}) == 0.14);
}

BOOST_AUTO_TEST_CASE(without_classes_there_are_no_metrics_of_classes) {
  const prometheus_text page(to_prometheus(some_statistics()));
  for (const auto& [name, type] : page.types()) BOOST_TEST(!name.starts_with("leasehold_class_"), name);
  BOOST_TEST(page.types().size() == 24U);
}

BOOST_AUTO_TEST_CASE(any_label_is_read_back) {
  const std::map<std::string, class_statistics> classes{{"a\"b", some_class()},
                                                        {"a\\b", some_class()},
                                                        {"a\nb", some_class()},
                                                        {"a\\nb", {}},
                                                        {"Stra\xc3\x9f"
                                                         "e {x=1},",
                                                         {}}};
  const prometheus_text page(to_prometheus(some_statistics(), classes));
  for (const auto& [label, its] : classes) {
    BOOST_TEST(page.value("leasehold_class_held", {{"class", label}}) == static_cast<double>(its.held), label);
  }
  BOOST_TEST(page.all("leasehold_class_held").size() == classes.size());
}

BOOST_AUTO_TEST_CASE(several_clients_are_on_one_page) {
  statistics other = some_statistics();
  other.acquired = 300;
  const prometheus_text page(to_prometheus(
      {{"orders", some_statistics(), {{"seat", some_class()}}}, {"jobs", other, {{"seat", {}}, {"job", {}}}}}));
  BOOST_TEST(page.value("leasehold_acquired_total", {{"client", "orders"}}) == 3);
  BOOST_TEST(page.value("leasehold_acquired_total", {{"client", "jobs"}}) == 300);
  BOOST_TEST(page.value("leasehold_class_acquired_total", {{"client", "orders"}, {"class", "seat"}}) == 23);
  BOOST_TEST(page.value("leasehold_class_acquired_total", {{"client", "jobs"}, {"class", "job"}}) == 0);
  BOOST_TEST(page.all("leasehold_class_acquired_total").size() == 3U);
  BOOST_TEST(page.all("leasehold_round_trip_seconds_bucket").size() == 32U);
}

BOOST_AUTO_TEST_CASE(labels_that_no_page_can_have_are_refused) {
  BOOST_TEST(refusal_of({{"one", {}, {}}, {"two", {}, {}}}) == "");
  BOOST_TEST(refusal_of({{"one", {}, {}}, {"two", {}, {}}, {"one", {}, {}}}) ==
             "invalid option: two clients have the label 'one'");
  BOOST_TEST(refusal_of({{"o\xff", {}, {}}}) == "invalid option: the label client 'o\\xff' is not UTF-8");
  BOOST_TEST(refusal_of({{"one", {}, {{"c\xff", {}}}}}) == "invalid option: the label class 'c\\xff' is not UTF-8");
}

// What the tests above rely on.
BOOST_AUTO_TEST_CASE(a_page_that_prometheus_refuses_is_noticed) {
  const std::string head = "# HELP a_total A.\n# TYPE a_total counter\n";
  const std::string wide = "# HELP h_seconds H.\n# TYPE h_seconds histogram\n";
  BOOST_CHECK_NO_THROW(prometheus_text(head + "a_total{x=\"1\"} 1\na_total{x=\"2\"} 1e-05\n"));
  BOOST_CHECK_NO_THROW(prometheus_text(wide + "h_seconds_bucket{le=\"+Inf\"} 1\nh_seconds_sum 1\nh_seconds_count 1\n"));
  for (const std::string& wrong :
       {head + "a_total 1", head + "b_total 1\n", std::string("a_total 1\n"), head + "a_total 1\na_total 2\n",
        head + "a_total one\n", head + "a_total{x=\"1} 1\n", head + "a_total{x=\"\\1\"} 1\n",
        head + "a_total{1=\"1\"} 1\n", head + "a_total{x=\"\xff\"} 1\n", head + "a_total 1\n" + head,
        std::string("# TYPE a_total counter\na_total 1\n"), std::string("# HELP a A.\n# TYPE a counter\na 1\n"), head,
        wide + "h_seconds_bucket{le=\"1\"} 1\nh_seconds_sum 1\nh_seconds_count 1\n",
        wide + "h_seconds_bucket{le=\"+Inf\"} 1\nh_seconds_sum 1\nh_seconds_count 2\n",
        wide + "h_seconds_bucket{le=\"1\"} 2\nh_seconds_bucket{le=\"+Inf\"} 1\nh_seconds_sum 1\nh_seconds_count 1\n"}) {
    BOOST_CHECK_THROW(prometheus_text{wrong}, std::exception);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
