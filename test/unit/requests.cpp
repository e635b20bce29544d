// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Requests as the scripts get them (src/protocol/request.cpp), beside the table of docs/protocol.md, "The scripts".
#include "protocol/request.hpp"
#include "protocol/scripts.hpp"
#include "time/server_clock.hpp"

#include "support/unit_test.hpp"

#include <array>
#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::test {
namespace {

using namespace std::chrono_literals;
using detail::verb;

const clock::time_point now_of_requests{5h};

// Every field has a value by which it is known.
const std::map<std::string, std::string, std::less<>> names_of_values{
    {"T", "token"},   {"7001", "lease"},  {"7002", "ms left"},   {"A", "ask"},      {"77", "limit"},
    {"F", "follows"}, {"C", "channel"},   {"18432005", "fence"}, {"9000", "its G"}, {"81", "fence"},
    {"K", "kind"},    {"55", "revision"}, {"V", "value"},
};

const std::array<detail::member_request, 2> two_members{
    {{{"r", "f", "q", "e"}, "K", "T", "A"}, {{"r2", "f", "q2", "e2"}, "K", "T", "A"}}};

detail::request full_request(verb v) {
  detail::request r;
  r.verb = v;
  r.of_kind = &detail::scripts::mutex;
  r.keys = {"r", "f", "q", "e", "l"};
  r.token = "T";
  if (v != verb::downgrade) r.lease = 7001ms;
  r.ask = "A";
  if (v == verb::resize) r.limit = 77;
  r.run_within = 3s;
  r.joins_queue = true;
  r.repairs = true;
  r.follows = "F";
  r.rests_until = now_of_requests + 7002ms;
  r.channel = "C";
  r.fence = 18432005;
  r.exact = true;
  r.members = two_members;
  r.pattern = "P";
  r.cursor = "7";
  r.fence_text = "81";
  r.force = true;
  r.revision = 55;
  r.value = "V";
  r.record_stays = true;
  return r;
}

std::string text_of(const detail::request& r, bool pushes_grants = true) {
  const detail::server_clock unknown{0.0};
  const auto not_after = std::to_string(unknown.not_after(now_of_requests, r.run_within).first);
  detail::arguments a;
  write(r, plan(r, now_of_requests, unknown, pushes_grants), a);
  std::string text;
  for (const auto key : a.keys()) text += std::string(key) + ' ';
  text += '|';
  bool first = true;
  for (const auto value : a.args()) {
    const auto named = names_of_values.find(value);
    const bool is_verb = std::exchange(first, false) && r.verb != verb::acquire_all;
    text += is_verb                                                               ? " `" + std::string(value) + '`'
            : named != names_of_values.end()                                      ? ' ' + named->second
            : value == not_after                                                  ? " not-after"
            : value == std::to_string(now_of_requests.time_since_epoch().count()) ? " stamp"
            : value == "1"                                                        ? (r.exact ? " exact" : " repair")
            : value.empty()                                                       ? " \"\""
                                                                                  : ' ' + std::string(value);
    text += ',';
  }
  if (text.ends_with(',')) text.pop_back();
  return text;
}

std::string without(std::string text, std::string_view what) {
  for (auto at = text.find(what); at != text.npos; at = text.find(what)) text.erase(at, what.size());
  return text;
}

// The KEYS and ARGV of a row of the table, in the form of text_of.
std::string row_of(std::string_view name) {
  std::ifstream page(LEASEHOLD_SOURCE_DIR "/docs/protocol.md");
  const std::string begin = "| " + std::string(name);
  std::string line;
  while (std::getline(page, line)) {
    if (!line.starts_with(begin + " |") && !line.starts_with(begin + " (")) continue;
    const auto keys = line.find("| ", begin.size()) + 2;
    const auto args = line.find("| ", keys) + 2;
    const std::string which = line.substr(keys, line.find(" |", keys) - keys);
    const std::map<std::string, std::string> all{{"all four", "r f q e "},
                                                 {"all four, or the record", "r f q e "},
                                                 {"record", "r "},
                                                 {"the record, the value's key, the fence counter", "r l f "},
                                                 {"fence counter, records, queues", "f r r2 q q2 "},
                                                 {"all four of each lock", "r f q e r2 f q2 e2 "}};
    const auto known = all.find(which);
    if (known == all.end()) return "keys that are not understood: " + which;
    auto words = line.substr(args, line.find(" |", args) - args);
    if (const auto note = words.find(" ("); note != words.npos) words.erase(note);
    if (const auto each = words.find("; of each lock "); each != words.npos) {
      const std::string members = ", " + words.substr(each + 15);
      words = words.substr(0, each) + members + members;
    }
    return known->second + "| " + without(without(std::move(words), "["), "]");
  }
  return "no such row";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(requests)

BOOST_AUTO_TEST_CASE(the_table_of_the_protocol_is_what_the_scripts_get) {
  const std::vector<std::pair<verb, std::string_view>> rows{
      {verb::acquire, "acquire and wait"},
      {verb::confirm, "confirm"},
      {verb::renew, "renew"},
      {verb::release, "release"},
      {verb::rest, "rest"},
      {verb::keep, "release or keep"},
      {verb::refresh, "refresh"},
      {verb::want, "want"},
      {verb::downgrade, "downgrade"},
      {verb::resize, "resize"},
      {verb::raise, "raise"},
      {verb::inspect, "inspect"},
      {verb::acquire_all, "acquire_all"},
      {verb::list, "list"},
      {verb::show, "show"},
      {verb::break_lock, "break"},
      {verb::proclaim, "proclaim"},
      {verb::withdraw, "withdraw"},
      {verb::leader, "leader"},
  };
  for (const auto& [v, name] : rows) {
    auto r = full_request(v);
    if (v != verb::raise) r.exact = false;
    BOOST_TEST_INFO_SCOPE(name);
    BOOST_TEST(text_of(r) == row_of(name));
  }
}

BOOST_AUTO_TEST_CASE(an_attempt_that_does_not_wait_has_no_stamp) {
  auto once = full_request(verb::acquire);
  once.exact = false;
  once.joins_queue = false;
  BOOST_TEST(text_of(once) == row_of("acquire once"));
  once.joins_queue = true;
  BOOST_TEST(text_of(once, /*pushes_grants=*/false) == row_of("acquire once"));
}

BOOST_AUTO_TEST_CASE(what_is_optional_is_left_out) {
  auto r = full_request(verb::acquire);
  r.exact = r.repairs = false;
  BOOST_TEST(text_of(r) == "r f q e | `acquire`, token, lease, not-after, stamp, ask, \"\", follows");
  r.follows = {};
  BOOST_TEST(text_of(r) == "r f q e | `acquire`, token, lease, not-after, stamp, ask");
  r.limit = 77;
  BOOST_TEST(text_of(r) == "r f q e | `acquire`, token, lease, not-after, stamp, limit");
  r.verb = verb::release;
  r.channel = {};
  r.record_only = true;
  BOOST_TEST(text_of(r) == "r | `release`, token");
  r.verb = verb::renew;
  r.fence_text = {};
  BOOST_TEST(text_of(r) == "r | `renew`, token, lease");
  // It is never too short: a part of a millisecond counts as a whole one.
  r.verb = verb::rest;
  r.rests_until = now_of_requests + 7001ms + 1ns;
  BOOST_TEST(text_of(r) == "r | `rest`, token, ms left");
  r.verb = verb::acquire_all;
  r.record_only = false;
  BOOST_TEST(text_of(r).starts_with("r f q e r2 f q2 e2 | lease, not-after, \"\", kind, token, ask, kind"));
}

BOOST_AUTO_TEST_CASE(a_scan_is_a_command) {
  auto r = full_request(verb::scan);
  r.of_kind = nullptr;
  const std::vector<std::string> words{"SCAN", "7", "MATCH", "P", "COUNT", "1000"};
  BOOST_TEST((command_of(r) == words));
  const auto its = plan(r, now_of_requests, detail::server_clock{0.0}, /*pushes_grants=*/true);
  BOOST_TEST(its.at == now_of_requests);
}

BOOST_AUTO_TEST_CASE(what_is_said_of_a_request_when_it_is_sent) {
  const detail::server_clock unknown{0.0};
  const auto r = full_request(verb::acquire);
  const auto attempt = plan(r, now_of_requests, unknown, /*pushes_grants=*/true);
  BOOST_TEST(attempt.joins_queue);
  BOOST_TEST(attempt.at == now_of_requests);
  BOOST_TEST(attempt.may_run_until >= now_of_requests + 3s);
  BOOST_TEST(!plan(r, now_of_requests, unknown, /*pushes_grants=*/false).joins_queue);
  const auto renewal = plan(full_request(verb::renew), now_of_requests, unknown, /*pushes_grants=*/true);
  BOOST_TEST(renewal.may_run_until == now_of_requests);
}

BOOST_AUTO_TEST_CASE(a_request_that_is_kept_is_the_same) {
  auto r = full_request(verb::acquire);
  r.exact = false;
  const detail::kept_request kept(r);
  BOOST_TEST(text_of(detail::request(kept)) == text_of(r));
  for (const auto v : {verb::renew, verb::release, verb::rest, verb::keep, verb::raise, verb::show, verb::break_lock,
                       verb::proclaim, verb::withdraw}) {
    const auto other = full_request(v);
    const detail::kept_request its(other);
    BOOST_TEST(text_of(detail::request(its)) == text_of(other));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
