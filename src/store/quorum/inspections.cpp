// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "store/quorum/inspections.hpp"

#include "store/quorum/majority.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace leasehold::detail {

using std::chrono::milliseconds;

reply merge_inspections(const std::vector<const reply*>& replies, std::size_t majority) {
  struct seen {
    std::vector<milliseconds> lefts;
    std::map<std::string, std::size_t> fences;
    std::string about, ask;
  };
  std::map<std::string, seen> holds;
  for (const reply* const words : replies) {
    if (words->number(0) == 0) continue;
    // An owner of another program may hold the lock without a token.
    const bool no_tokens = words->size() < 8;
    // A server counts once for a hold, however often it names that hold.
    std::set<std::string> named;
    for (std::size_t i = 5; no_tokens ? i == 5 : i + 2 < words->size(); i += 3) {
      const std::string token(no_tokens ? std::string_view() : words->text(i));
      if (!named.insert(token).second) continue;
      auto& h = holds[token];
      h.lefts.push_back(comparable(milliseconds(words->number(no_tokens ? 2 : i + 1))));
      ++h.fences[std::string(words->text(1))];
      h.about = words->text(4);
      h.ask = no_tokens ? std::string() : std::string(words->text(i + 2));
    }
  }
  std::erase_if(holds, [majority](const auto& h) { return h.second.lefts.size() < majority; });
  reply r;
  if (holds.empty()) {
    for (const auto* s : {"0", "0", "0", "0", ""}) r.add(s);
    return r;
  }
  milliseconds longest{0};
  for (const auto& [token, h] : holds) longest = std::max(longest, nth_largest(h.lefts, majority));
  const auto text = [](milliseconds left) {
    return left == milliseconds::max() ? std::string("-1") : std::to_string(left.count());
  };
  const auto& first = holds.begin()->second;
  r.add(std::to_string(holds.size()));
  r.add(std::max_element(first.fences.begin(), first.fences.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->first);
  r.add(text(longest));
  r.add("0");
  r.add(first.about);
  for (const auto& [token, h] : holds) {
    r.add(token);
    r.add(text(nth_largest(h.lefts, majority)));
    r.add(h.ask);
  }
  return r;
}

}  // namespace leasehold::detail
