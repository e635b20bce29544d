// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace leasehold::detail {

// The reply to one command: its scalars in order, or the server's error.
class reply {
 public:
  void clear() {
    bytes_.clear();
    ends_.clear();
    error_ = false;
  }
  void add(std::string_view s) {
    bytes_.insert(bytes_.end(), s.begin(), s.end());
    ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
  void set_error() { error_ = true; }

  bool is_error() const { return error_; }
  std::size_t size() const { return ends_.size(); }
  std::size_t bytes() const { return bytes_.size(); }
  // "" if there is no such scalar.
  std::string_view text(std::size_t i) const {
    if (i >= ends_.size()) return {};
    const std::size_t from = i == 0 ? 0 : ends_[i - 1];
    return {bytes_.data() + from, ends_[i] - from};
  }
  // 0 if it is no number.
  template <class Number = std::int64_t>
  Number number(std::size_t i) const {
    Number n = 0;
    const std::string_view s = text(i);
    std::from_chars(s.data(), s.data() + s.size(), n);
    return n;
  }
  // False if the whole scalar is not a number of this type.
  template <class Number>
  bool read(std::size_t i, Number& n) const {
    const std::string_view s = text(i);
    const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), n);
    return ec == std::errc() && end == s.data() + s.size();
  }
  // What is left of a lease, in milliseconds, to be shown; negative: the lease has no end. The value fits in a double.
  std::chrono::milliseconds left(std::size_t i) const {
    constexpr std::int64_t longest = std::int64_t{1} << 53;
    return std::chrono::milliseconds(std::clamp<std::int64_t>(number(i), -1, longest));
  }

 private:
  boost::container::small_vector<char, 80> bytes_;
  boost::container::small_vector<std::uint32_t, 6> ends_;
  bool error_ = false;
};

}  // namespace leasehold::detail
