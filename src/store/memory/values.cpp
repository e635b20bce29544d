// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/memory/values.hpp"

#include <algorithm>
#include <tuple>

namespace leasehold::detail::memory {

// ---- Hashes

std::size_t hash_value::position_of(std::string_view field) const {
  if (!index_.empty()) {
    const auto found = index_.find(field);
    return found == index_.end() ? npos : found->second;
  }
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].field == field && items_[i].is_there) return i;
  }
  return npos;
}

const std::string* hash_value::find(std::string_view field) const {
  const auto at = position_of(field);
  return at == npos ? nullptr : &items_[at].value;
}

bool hash_value::set(std::string_view field, std::string_view value) {
  if (const auto at = position_of(field); at != npos) {
    items_[at].value = value;
    return false;
  }
  items_.push_back({std::string(field), std::string(value)});
  ++size_;
  if (!index_.empty()) {
    index_.emplace(field, items_.size() - 1);
  } else if (items_.size() > small) {
    compact();
  }
  return true;
}

bool hash_value::erase(std::string_view field) {
  const auto at = position_of(field);
  if (at == npos) return false;
  --size_;
  if (index_.empty()) {
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  }
  index_.erase(index_.find(field));
  items_[at] = {{}, {}, false};
  if (items_.size() > 2 * size_) compact();
  return true;
}

void hash_value::compact() {
  std::erase_if(items_, [](const item& i) { return !i.is_there; });
  index_.clear();
  if (items_.size() <= small / 2) return;
  for (std::size_t i = 0; i < items_.size(); ++i) index_.emplace(items_[i].field, i);
}

// ---- Sorted sets

std::optional<double> sorted_set_value::score_of(std::string_view member) const {
  const auto found = scores_.find(member);
  return found == scores_.end() ? std::nullopt : std::optional(found->second);
}

std::size_t sorted_set_value::rank_of(std::string_view member, double score) const {
  const auto at = std::lower_bound(items_.begin(), items_.end(), std::tuple(score, member),
                                   [](const item& i, const std::tuple<double, std::string_view>& wanted) {
                                     return std::tuple<double, std::string_view>(i.score, i.member) < wanted;
                                   });
  return static_cast<std::size_t>(at - items_.begin());
}

void sorted_set_value::set(std::string_view member, double score) {
  const auto found = scores_.find(member);
  if (found != scores_.end()) {
    if (found->second == score) return;
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(rank_of(member, found->second)));
    found->second = score;
  } else {
    scores_.emplace(member, score);
  }
  items_.insert(items_.begin() + static_cast<std::ptrdiff_t>(rank_of(member, score)), {score, std::string(member)});
}

bool sorted_set_value::erase(std::string_view member) {
  const auto found = scores_.find(member);
  if (found == scores_.end()) return false;
  items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(rank_of(member, found->second)));
  scores_.erase(found);
  return true;
}

}  // namespace leasehold::detail::memory
