// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::detail::memory {

// A reply as RESP2 carries it. RESP2 distinguishes a nil string from a nil array; here there is one nil.
struct reply {
  enum class kind : char { nil = '_', status = '+', error = '-', integer = ':', bulk = '$', array = '*' };

  kind type = kind::nil;
  std::string text = {};          // Of a status, an error and a bulk string.
  std::int64_t integer = 0;       // Of an integer.
  std::vector<reply> items = {};  // Of an array.

  bool is_error() const { return type == kind::error; }
  bool is_nil() const { return type == kind::nil; }
  bool operator==(const reply&) const = default;
};

inline reply status(std::string_view text) { return {reply::kind::status, std::string(text)}; }
inline reply error(std::string text) { return {reply::kind::error, std::move(text)}; }
inline reply integer(std::int64_t value) { return {reply::kind::integer, {}, value}; }
inline reply bulk(std::string_view text) { return {reply::kind::bulk, std::string(text)}; }
inline reply array(std::vector<reply> items) { return {reply::kind::array, {}, 0, std::move(items)}; }

}  // namespace leasehold::detail::memory
