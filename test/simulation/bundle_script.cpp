// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A bundle does for each of its requests what the request does by itself: random requests run on two stores in memory,
// in bundles on one and one after the other on the other. Whatever can be seen of them must be the same, but for the
// fences: those of a bundle may be shared.
#include "protocol/bundle.hpp"
#include "protocol/outcome.hpp"
#include "schedule/memory_host.hpp"
#include "support/rarer.hpp"
#include "support/unit_test.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(bundle_script)

using detail::verb;
using std::chrono::milliseconds;

constexpr std::size_t records = 6;
const std::string fences = "leasehold:{0}:fence";

struct lock_keys {
  std::string record, queue, entries;
};

const std::vector<lock_keys>& keys() {
  static const auto all = [] {
    std::vector<lock_keys> k;
    for (std::size_t i = 0; i < records; ++i) {
      const std::string record = "record" + std::to_string(i);
      k.push_back({record, "leasehold:{0}:queue:" + record, "leasehold:{0}:entries:" + record});
    }
    return k;
  }();
  return all;
}

detail::request request_for(verb v, std::size_t record, std::string_view token) {
  detail::request r;
  r.verb = v;
  r.of_kind = &detail::scripts::mutex;
  r.keys = {keys()[record].record, fences, keys()[record].queue, keys()[record].entries};
  r.token = token;
  return r;
}

detail::reply flat(const reply& from) {
  detail::reply to;
  const auto add = [&](const reply& r) {
    if (r.type == '-') to.set_error();
    to.add(r.type == ':' ? std::to_string(r.integer) : r.text);
  };
  if (from.type != '*') add(from);
  for (const reply& item : from.items) add(item);
  return to;
}

// Neither the counter's line nor any number that may be a fence: one of 18 digits or more.
std::string without_fences(std::string_view all) {
  std::string kept;
  while (!all.empty()) {
    if (all.starts_with(fences)) {
      all.remove_prefix(std::min(all.find('\n'), all.size() - 1) + 1);
      continue;
    }
    const auto digits = std::min(all.find_first_not_of("0123456789"), all.size());
    if (digits >= 18) {
      kept += "FENCE";
    } else {
      kept += all.substr(0, std::max<std::size_t>(digits, 1));
    }
    all.remove_prefix(std::max<std::size_t>(digits, 1));
  }
  return kept;
}

struct one_server {
  memory_host host;

  one_server() {
    host.load(detail::scripts::mutex.text);
    host.load(detail::scripts::bundle.text);
  }
  detail::reply call(const detail::script& s, detail::arguments& a) {
    std::vector<std::string> words{"EVALSHA"};
    std::for_each(a.begin(s.sha1), a.end(), [&](std::string_view w) { words.emplace_back(w); });
    return flat(host.command(words));
  }
  // The data and the messages.
  std::string seen() {
    std::string all = host.database().dump();
    for (const auto& m : host.messages()) all += m.channel + ": " + m.text + '\n';
    return without_fences(all);
  }
};

// What a reply means, without its fence.
std::string meaning(verb v, const detail::reply& r) {
  const auto o = read_outcome(v, r);
  if (o.refused) {
    return "refused " + std::to_string(static_cast<int>(*o.refused)) + (o.may_have_written ? " halfway" : "");
  }
  if (v == verb::release) return "released " + std::to_string(r.number(0));
  return std::to_string(static_cast<int>(o.lease.status)) + ' ' + std::to_string(o.lease.left.count()) + ' ' +
         std::to_string(o.lease.server_time) + (o.lease.understood ? "" : " not understood");
}

BOOST_AUTO_TEST_CASE(a_bundle_does_what_its_requests_do_one_by_one) {
  one_server bundled, single;
  std::mt19937 random(20261125);
  const auto upto = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n)(random); };
  const std::array<std::string, 6> tokens{"a.1", "a.2", "b.1", "b.2", "c.1", "c.2"};
  std::int64_t now = 1800000000000000;
  std::map<std::size_t, std::uint64_t> highest;
  std::size_t alike = 0, mixed = 0, waiting = 0, granted = 0, refused = 0, without_memory = 0, differ = 0;
  for (std::size_t step = 0; step < 30000 / rarer && differ < 5; ++step) {
    const auto much = upto(99);
    now += static_cast<std::int64_t>(much < 90 ? upto(200000) : much < 98 ? upto(3000000) : upto(30000000));
    for (one_server* const s : {&bundled, &single}) s->host.set_time(now);
    // A key that is no lock, another program's lock, one without an expiry; a key that somebody has deleted.
    if (upto(19) == 0) {
      const std::vector<std::vector<std::string>> others{{"SADD", "", "member"},
                                                         {"SET", "", "other", "PX", "700"},
                                                         {"SET", "", "leasehold:z.1:7"},
                                                         {"HSET", "", "leasehold", "shared_mutex 1 1 1 r"}};
      auto words = others[upto(3)];
      words[1] = keys()[upto(records - 1)].record;
      for (one_server* const s : {&bundled, &single}) {
        s->host.command({"DEL", words[1]});
        if (step % 3 != 0) s->host.command(words);
      }
    }
    // A script that has written already may go on writing without memory, so a bundle may grant more then.
    const bool no_memory = upto(29) == 0;
    for (one_server* const s : {&bundled, &single}) {
      s->host.command({"CONFIG", "SET", "maxmemory", no_memory ? "1" : "0"});
    }
    const auto lease = milliseconds(100 + upto(5000));
    const bool joins = upto(1) == 0;
    const auto late = milliseconds(upto(19) == 0 ? 900 : 0);
    const auto at = clock::time_point(std::chrono::microseconds(now) - late);
    const detail::server_clock unknown{0.0};

    std::vector<std::size_t> chosen(records);
    for (std::size_t i = 0; i < records; ++i) chosen[i] = i;
    std::shuffle(chosen.begin(), chosen.end(), random);
    chosen.resize(2 + upto(records - 2));
    detail::bundle b;
    struct asked {
      detail::request what;
      std::size_t record;
      detail::sending sent;
    };
    std::vector<asked> all;
    for (const auto record : chosen) {
      const bool acquires = no_memory || upto(1) == 0;
      std::string_view token = tokens[upto(5)];
      const std::string held = bundled.host.command({"GET", keys()[record].record}).text;
      if (!acquires && held.size() > 13 && upto(9) != 0) {
        token = *std::find_if(tokens.begin(), tokens.end() - 1, [&](const auto& t) { return held.substr(10, 3) == t; });
      }
      detail::request r = request_for(acquires ? verb::acquire : verb::release, record, token);
      r.lease = lease;
      r.run_within = milliseconds(500);
      r.joins_queue = joins;
      BOOST_REQUIRE(detail::bundle::takes(r));
      BOOST_REQUIRE(b.has_room_for(r, true));
      all.push_back({r, record, b.add(r, at, unknown, true)});
      BOOST_REQUIRE(!b.has_room_for(r, true));
    }
    detail::arguments a;
    b.write(a);
    const auto reply_of_all = bundled.call(b.of_kind(), a);
    BOOST_REQUIRE_MESSAGE(!reply_of_all.is_error(), reply_of_all.text(0));
    const auto releases =
        std::count_if(all.begin(), all.end(), [](const asked& r) { return r.what.verb == verb::release; });
    (reply_of_all.size() == all.size() ? mixed : alike) += 1;
    detail::bundle_replies replies(reply_of_all, static_cast<std::size_t>(releases), all.size());

    std::string in_bundle, by_themselves;
    std::vector<std::string> meant(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      detail::reply one;
      replies.next(all[i].what.verb, one);
      meant[i] = meaning(all[i].what.verb, one);
      waiting += meant[i].starts_with("2 ") || meant[i].starts_with("3 ") ? 1U : 0U;
      refused += meant[i].starts_with("refused") ? 1U : 0U;
      if (all[i].what.verb == verb::acquire && meant[i].starts_with("1 ")) {
        ++granted;
        const auto fence = read_outcome(verb::acquire, one).lease.fence;
        BOOST_TEST(fence >= highest[all[i].record]);  // The same token is granted again.
        highest[all[i].record] = std::max(highest[all[i].record], fence);
      }
    }
    for (const verb v : {verb::release, verb::acquire}) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].what.verb != v) continue;
        detail::arguments one;
        write(all[i].what, all[i].sent, one);
        in_bundle += meant[i] + "; ";
        by_themselves += meaning(v, single.call(detail::scripts::mutex, one)) + "; ";
      }
    }
    const std::string after = bundled.seen(), expected = single.seen();
    if (no_memory) {
      without_memory += in_bundle == by_themselves ? 1U : 0U;
      for (one_server* const s : {&bundled, &single}) s->host.command({"FLUSHALL"});
      continue;
    }
    const bool same = in_bundle == by_themselves && after == expected;
    if (!same) ++differ;
    if (differ < 3)
      BOOST_TEST(same, step << ": " << in_bundle << " and " << by_themselves << '\n' << after << "and\n" << expected);
  }
  BOOST_TEST(alike > 500U / rarer);
  BOOST_TEST(mixed > 5000U / rarer);
  BOOST_TEST(waiting > 1000U / rarer);
  BOOST_TEST(granted > 5000U / rarer);
  BOOST_TEST(refused > 500U / rarer);
  BOOST_TEST(without_memory > 200U / rarer);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
