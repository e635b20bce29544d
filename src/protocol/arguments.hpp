// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The keys and arguments of one script call, as EVALSHA takes them.
#pragma once

#include <boost/container/small_vector.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace leasehold::detail {

// Keeps views: what they show must exist until the call has been written.
class arguments {
 public:
  void key(std::string_view s) {
    views_.push_back(s);
    ++keys_;
  }
  void arg(std::string_view s) { views_.push_back(s); }
  void arg(std::int64_t n) {
    char* const first = digits_.data() + used_;
    char* const end = std::to_chars(first, digits_.data() + digits_.size(), n).ptr;
    used_ = static_cast<std::size_t>(end - digits_.data());
    arg(std::string_view(first, static_cast<std::size_t>(end - first)));
  }

  std::span<const std::string_view> keys() const { return {views_.data() + in_front, keys_}; }
  std::span<const std::string_view> args() const {
    return {views_.data() + in_front + keys_, views_.data() + views_.size()};
  }

  // The arguments of EVALSHA and EVAL: the digest or the text of the script, the number of keys, the keys, the
  // arguments.
  const std::string_view* begin(std::string_view script) {
    char* const first = number_of_keys_.data();
    const char* const end = std::to_chars(first, first + number_of_keys_.size(), keys_).ptr;
    views_[0] = script;
    views_[1] = std::string_view(first, static_cast<std::size_t>(end - first));
    return views_.data();
  }
  const std::string_view* end() const { return views_.data() + views_.size(); }

 private:
  // The script and the number of keys.
  static constexpr std::size_t in_front = 2;
  boost::container::small_vector<std::string_view, 18> views_{in_front, std::string_view()};
  std::array<char, 96> digits_;  // Room for four numbers and some.
  std::array<char, 12> number_of_keys_;
  std::size_t used_ = 0;
  std::size_t keys_ = 0;
};

}  // namespace leasehold::detail
