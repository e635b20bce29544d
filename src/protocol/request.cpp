// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/request.hpp"

#include "protocol/fence.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace leasehold::detail {
namespace {

enum class keys_of { record, all_four, all_four_of_each, fences_records_queues, of_election };

enum class field {
  none,
  token,
  lease,
  not_after,
  stamp,
  ask,
  limit,
  fence,
  counter,  // G of the fence.
  fence_text,
  members,
  revision,
  value,
  rest_left,
  // Left out if they and what follows them are empty:
  expected_fence,
  repair,
  follows,
  channel,
  exact,
  force,
  stays,
};

constexpr bool is_optional(field f) { return f >= field::expected_fence; }

struct row {
  detail::verb verb;
  keys_of keys;
  std::string_view word;  // ARGV[1]; "": the script has no other verb.
  std::array<field, 7> fields;
};

// In the order of the enumeration.
using enum field;
constexpr std::array<row, 19> table{{
    {verb::acquire, keys_of::all_four, "acquire", {token, lease, not_after, stamp, ask, repair, follows}},
    {verb::confirm, keys_of::all_four, "confirm", {token, lease}},
    {verb::renew, keys_of::record, "renew", {token, lease, expected_fence}},
    {verb::release, keys_of::all_four, "release", {token, channel}},
    {verb::rest, keys_of::all_four, "rest", {token, rest_left, channel}},
    {verb::keep, keys_of::all_four, "release", {token, lease, ask}},
    {verb::refresh, keys_of::all_four, "refresh", {token, lease, ask, not_after}},
    {verb::want, keys_of::all_four, "want", {token}},
    {verb::downgrade, keys_of::all_four, "downgrade", {token, lease}},
    {verb::resize, keys_of::all_four, "resize", {limit, not_after}},
    {verb::raise, keys_of::all_four, "raise", {token, fence, counter, exact}},
    {verb::inspect, keys_of::all_four, "inspect", {}},
    {verb::acquire_all, keys_of::all_four_of_each, "", {lease, not_after, repair, members}},
    {verb::list, keys_of::fences_records_queues, "list", {}},
    {verb::show, keys_of::all_four, "show", {}},
    {verb::break_lock, keys_of::all_four, "break", {token, fence_text, force}},
    {verb::proclaim, keys_of::of_election, "proclaim", {token, fence, revision, value}},
    {verb::withdraw, keys_of::of_election, "withdraw", {token, fence, stays}},
    {verb::leader, keys_of::of_election, "leader", {}},
}};

void write_all_four(const basic_keys<std::string_view>& keys, arguments& a) {
  a.key(keys.record);
  a.key(keys.fences);
  a.key(keys.queue);
  a.key(keys.entries);
}

void write_keys(keys_of which, const request& r, arguments& a) {
  if (r.record_only) which = keys_of::record;
  switch (which) {
    case keys_of::record: a.key(r.keys.record); break;
    case keys_of::all_four: write_all_four(r.keys, a); break;
    case keys_of::all_four_of_each:
      for (const auto& m : r.members) write_all_four(m.keys, a);
      break;
    case keys_of::of_election:
      a.key(r.keys.record);
      a.key(r.keys.leader);
      a.key(r.keys.fences);
      break;
    case keys_of::fences_records_queues:
      a.key(r.keys.fences);
      for (const auto& m : r.members) a.key(m.keys.record);
      for (const auto& m : r.members) a.key(m.keys.queue);
      break;
  }
}

std::string_view optional_text(field f, const request& r) {
  switch (f) {
    case field::expected_fence: return r.fence_text;
    case field::repair: return r.repairs ? "1" : "";
    case field::follows: return r.follows;
    case field::channel: return r.channel;
    case field::exact: return r.exact ? "1" : "";
    case field::force: return r.force ? "force" : "";
    case field::stays: return r.record_stays ? "stays" : "";
    default: return {};
  }
}

void write_field(field f, const request& r, const sending& s, arguments& a) {
  switch (f) {
    case field::token: return a.arg(r.token);
    case field::lease: return a.arg(r.lease.count());
    case field::not_after: return a.arg(s.not_after);
    case field::stamp:
      if (s.joins_queue) return a.arg(s.at.time_since_epoch().count());
      return a.arg("");
    case field::ask: return r.limit == 0 ? a.arg(r.ask) : a.arg(std::int64_t{r.limit});
    case field::limit: return a.arg(std::int64_t{r.limit});
    case field::fence: return a.arg(static_cast<std::int64_t>(r.fence));
    case field::counter: return a.arg(static_cast<std::int64_t>(r.fence / passes_per_fence));
    case field::fence_text: return a.arg(r.fence_text);
    case field::revision: return a.arg(static_cast<std::int64_t>(r.revision));
    case field::value: return a.arg(r.value);
    case field::members:
      for (const auto& m : r.members) {
        a.arg(m.kind);
        a.arg(m.token);
        a.arg(m.ask);
      }
      return;
    // The server counts from when it runs the script: that is after the sending.
    case field::rest_left: return a.arg(std::chrono::ceil<std::chrono::milliseconds>(r.rests_until - s.at).count());
    default: return;
  }
}

}  // namespace

sending plan(const request& r, clock::time_point now, const server_clock& server, bool pushes_grants) {
  sending s{now, now, 0, r.joins_queue && pushes_grants};
  if (r.of_kind == nullptr) return s;
  const auto& fields = table[static_cast<std::size_t>(r.verb)].fields;
  if (std::find(fields.begin(), fields.end(), field::not_after) != fields.end()) {
    const auto [at, passed] = server.not_after(now, r.run_within);
    s.not_after = at;
    s.may_run_until = passed;
  }
  return s;
}

std::vector<std::string> command_of(const request& r) {
  return {"SCAN", std::string(r.cursor), "MATCH", std::string(r.pattern), "COUNT", "1000"};
}

void write(const request& r, const sending& s, arguments& a) {
  const row& its = table[static_cast<std::size_t>(r.verb)];
  write_keys(its.keys, r, a);
  if (!its.word.empty()) a.arg(its.word);
  std::size_t left_out = 0;
  for (const field f : its.fields) {
    if (f == field::none) break;
    if (is_optional(f)) {
      const auto text = optional_text(f, r);
      if (text.empty()) {
        ++left_out;
        continue;
      }
      for (; left_out != 0; --left_out) a.arg("");
      a.arg(text);
    } else {
      for (; left_out != 0; --left_out) a.arg("");
      write_field(f, r, s, a);
    }
  }
}

}  // namespace leasehold::detail
