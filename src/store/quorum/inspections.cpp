// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/quorum/inspections.hpp"

#include "store/quorum/majority.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace leasehold::detail {

using std::chrono::milliseconds;

namespace {

constexpr std::size_t most_listed = 100;

}  // namespace

inspection merge_inspections(const std::vector<const inspection*>& all, std::size_t majority) {
  struct seen {
    std::vector<milliseconds> lefts;
    std::map<std::uint64_t, std::size_t> fences;
    std::string about, ask;
  };
  std::map<std::string, seen> holds;
  for (const inspection* const from : all) {
    if (from->holders == 0) continue;
    // A server counts once for a hold, however often it names that hold.
    std::set<std::string> named;
    const auto count = [&](const inspection::hold& its) {
      if (!named.insert(its.token).second) return;
      auto& h = holds[its.token];
      h.lefts.push_back(comparable(its.left));
      ++h.fences[from->fence];
      h.about = from->about;
      h.ask = its.ask;
    };
    // An owner of another program may hold the lock without a token.
    if (from->holds.empty()) count({{}, from->left, {}});
    for (const auto& its : from->holds) count(its);
  }
  // A script lists a hundred holds at most (lua/shared/members.lua), and not the same ones on each server.
  std::vector<std::size_t> holders;
  std::vector<milliseconds> longest_lefts;
  bool is_cut = false;
  for (const inspection* const from : all) {
    holders.push_back(from->holders);
    longest_lefts.push_back(from->holders == 0 ? milliseconds(0) : comparable(from->left));
    is_cut = is_cut || (from->holds.size() >= most_listed && from->holders > from->holds.size());
  }
  is_cut = is_cut && all.size() >= majority && nth_largest(holders, majority) != 0;
  auto needed = majority;
  if (is_cut) {
    std::size_t most = 0;
    for (const auto& [token, h] : holds) most = std::max(most, h.lefts.size());
    needed = std::min(majority, most);
  }
  std::erase_if(holds, [needed](const auto& h) { return h.second.lefts.size() < needed; });
  inspection merged;
  if (holds.empty()) return merged;
  const auto shown = [](milliseconds left) { return left == milliseconds::max() ? milliseconds(-1) : left; };
  const auto& first = holds.begin()->second;
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  merged.holders = holds.size();
  merged.fence = std::max_element(first.fences.begin(), first.fences.end(), fewer)->first;
  merged.about = first.about;
  milliseconds longest{0};
  for (const auto& [token, h] : holds) {
    const auto left = nth_largest(h.lefts, needed);
    longest = std::max(longest, left);
    merged.holds.push_back({token, shown(left), h.ask});
  }
  if (is_cut) {
    merged.holders = std::max(merged.holders, nth_largest(holders, majority));
    longest = std::max(longest, nth_largest(longest_lefts, majority));
    merged.holds.resize(std::min(merged.holds.size(), most_listed));
  }
  merged.left = shown(longest);
  return merged;
}

}  // namespace leasehold::detail
