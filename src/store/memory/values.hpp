// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The types of the values that a key of the database may have.
#pragma once

#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_node_map.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace leasehold::detail::memory {

// Allows searching a map that has strings as keys for a string_view.
struct string_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const { return boost::hash<std::string_view>()(s); }
};

template <class T>
using string_map = boost::unordered_node_map<std::string, T, string_hash, std::equal_to<>>;

// A hash. Its fields keep the order in which they were added, like those of a small hash in Redis.
class hash_value {
 public:
  std::size_t size() const { return size_; }
  const std::string* find(std::string_view field) const;
  std::string* find(std::string_view field) { return const_cast<std::string*>(std::as_const(*this).find(field)); }

  // Returns whether the field is new.
  bool set(std::string_view field, std::string_view value);
  bool erase(std::string_view field);

  template <class F>
  void for_each(F f) const {
    for (const auto& i : items_) {
      if (i.is_there) f(i.field, i.value);
    }
  }

 private:
  // From this size on, an index pays off.
  static constexpr std::size_t small = 24;
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  struct item {
    std::string field;
    std::string value;
    bool is_there = true;
  };

  std::size_t position_of(std::string_view field) const;
  void compact();

  std::vector<item> items_;
  std::size_t size_ = 0;
  string_map<std::size_t> index_;  // Empty while the hash is small.
};

// A sorted set: members in the order of their scores, and of their bytes where scores are equal.
class sorted_set_value {
 public:
  struct item {
    double score;
    std::string member;
  };

  std::size_t size() const { return items_.size(); }
  const std::vector<item>& items() const { return items_; }
  std::optional<double> score_of(std::string_view member) const;
  std::size_t rank_of(std::string_view member, double score) const;

  void set(std::string_view member, double score);
  bool erase(std::string_view member);

 private:
  std::vector<item> items_;
  string_map<double> scores_;
};

using string_value = std::string;

struct set_value {
  hash_value members;  // With empty values.
};

struct list_value {
  std::vector<std::string> items;
};

using any_value = std::variant<string_value, hash_value, sorted_set_value, set_value, list_value>;

}  // namespace leasehold::detail::memory
