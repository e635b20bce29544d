// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the scripts reply to list, show, break_lock and inspect, and to a bundle. Several replies are those of a quorum
// to inspect, too.
#pragma once

#include "fuzz/replies_of.hpp"
#include "protocol/bundle.hpp"
#include "protocol/leader_reply.hpp"
#include "protocol/lock_replies.hpp"
#include "protocol/outcome.hpp"
#include "store/quorum/inspections.hpp"
#include "store/quorum/majority.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::test {

// A double, which JSON has, still has room for it.
inline bool is_ttl(const std::optional<std::chrono::milliseconds>& ttl) {
  return !ttl || (ttl->count() >= 0 && ttl->count() <= std::int64_t{1} << 53);
}

inline bool is_role(const std::string& role) { return role.empty() || role == "reader" || role == "writer"; }

inline std::string check_lock(const lock_details& lock, const detail::reply& r) {
  if (lock.held == lock.holds.empty()) return "a lock is held by nobody, or free and somebody's";
  if (lock.holds.size() * 4 > r.size()) return "there are more holds than the reply has room for";
  if (!is_ttl(lock.ttl)) return "the lock's ttl is out of range";
  if (!lock.held && (lock.ttl || !lock.token.empty() || !lock.mode.empty())) return "a free lock has a token or a ttl";
  const auto by_fence = [](const listed_hold& a, const listed_hold& b) { return a.fence < b.fence; };
  if (!std::is_sorted(lock.holds.begin(), lock.holds.end(), by_fence)) return "the holds are not in order";
  for (const auto& h : lock.holds) {
    if (!is_ttl(h.ttl) || !is_role(h.role)) return "a hold has a role or a ttl that cannot be";
  }
  if (lock.kind != detail::scripts::shared_mutex.name && !lock.mode.empty()) return "only a shared mutex has a mode";
  if (lock.kind != detail::scripts::counting_semaphore.name && lock.limit != 0) return "only a semaphore has a limit";
  return {};
}

inline std::string check_inspection(const detail::inspection& found) {
  for (const auto* kind : detail::all_kinds()) {
    const lock_info info = detail::info_of(found, *kind);
    if (info.held != (info.holders != 0)) return "a lock is held by nobody, or free and somebody's";
    if (!is_ttl(info.ttl)) return "the ttl is out of range";
    if (!info.held && (info.ttl || info.fence != 0 || !info.token.empty())) return "a free lock has a token";
    const bool has_owners = kind->ask == detail::ask_is::owner || kind->ask == detail::ask_is::role_and_owner;
    if (!has_owners && !info.owner.empty()) return "this kind has no owners";
  }
  return {};
}

// Whether the server names this hold.
inline bool names_hold(const detail::inspection& found, std::string_view token) {
  if (found.holders == 0) return false;
  if (found.holds.empty()) return token.empty();
  return std::any_of(found.holds.begin(), found.holds.end(), [token](const auto& h) { return h.token == token; });
}

inline std::string check_quorum(const std::vector<detail::reply>& replies) {
  std::vector<detail::inspection> found;
  for (const auto& r : replies) {
    if (!r.is_error()) found.push_back(detail::read_inspection(r));
  }
  const auto majority = detail::majority_of(replies.size());
  if (found.size() < majority) return {};
  std::vector<const detail::inspection*> all;
  for (const auto& i : found) all.push_back(&i);
  const detail::inspection merged = detail::merge_inspections(all, majority);
  if (auto wrong = check_inspection(merged); !wrong.empty()) return "of a quorum: " + wrong;
  // More than the scripts list: each server may list others.
  const bool is_cut = std::any_of(found.begin(), found.end(),
                                  [](const auto& i) { return i.holds.size() >= 100 && i.holders > i.holds.size(); });
  if (is_cut)
    return merged.holds.size() <= merged.holders ? "" : "the quorum's inspection has more holds than it counts";
  if (merged.holds.size() != merged.holders) return "the quorum's inspection does not count its holds";
  for (const auto& h : merged.holds) {
    const auto naming =
        std::count_if(found.begin(), found.end(), [&](const auto& i) { return names_hold(i, h.token); });
    if (static_cast<std::size_t>(naming) < majority) return "fewer than a majority of the servers name a hold";
  }
  return {};
}

// Of a bundle with so many requests, every third of them a release.
inline std::string check_bundle(const detail::reply& r, std::size_t requests) {
  detail::bundle_replies all(r, (requests + 2) / 3, requests);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < requests; ++i) {
    const auto v = i % 3 == 0 ? detail::verb::release : detail::verb::acquire;
    detail::reply one;
    all.next(v, one);
    if (one.size() != 1) return "a request of a bundle has no reply of its own";
    if (one.is_error() != read_outcome(v, one).refused.has_value()) return "an error is no refusal";
    bytes += one.bytes();
  }
  if (r.size() == requests && bytes > r.bytes()) return "a request of a bundle has more than its reply";
  return {};
}

inline std::string check_lock_replies(std::string_view text) {
  const auto replies = replies_of(text);
  detail::scan cursor;
  std::size_t pages = 0;
  for (const auto& r : replies) {
    const lock_status status = detail::read_status(r);
    if (auto wrong = check_lock(status, r); !wrong.empty()) return wrong;
    if (status.queue.size() * 4 > r.size()) return "there are more waiters than the reply has room for";
    for (const auto& w : status.queue) {
      if (!is_ttl(w.lease) || !is_role(w.role)) return "a waiter has a role or a lease that cannot be";
    }
    const auto page = detail::read_page(r, "p:");
    if (page.size() * 12 > r.size()) return "there are more locks than the page has room for";
    for (const auto& lock : page) {
      if (auto wrong = check_lock(lock, r); !wrong.empty()) return "in a list: " + wrong;
      if (lock.fence == 0 || !lock.held) return "the list has a lock that none of this library's can be";
    }
    if (auto wrong = check_inspection(detail::read_inspection(r)); !wrong.empty()) return wrong;
    const detail::leader_reply leads(r);
    if (leads.leader && (leads.leader->fence == 0 || leads.leader->value.size() > longest_value ||
                         leads.leader->since.time_since_epoch().count() < 0)) {
      return "a leader that cannot be";
    }
    for (const std::size_t requests : {r.size(), r.size() + 2, std::size_t{64}}) {
      if (auto wrong = check_bundle(r, requests); !wrong.empty()) return wrong;
    }
    if (cursor.take(r) == nullptr && ++pages > replies.size()) return "a scan has more pages than replies";
  }
  return check_quorum(replies);
}

}  // namespace leasehold::test
