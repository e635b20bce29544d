// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Writes the arguments of a script call. Boost.Redis takes four appends and a std::to_string for each argument; that
// was a third of what a client does for a call. Boost.Redis finds this function by argument-dependent lookup (its
// documentation, "Serialization").
#pragma once

#include <boost/redis/resp3/serialization.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace leasehold::detail {

struct bulk {
  std::string_view text;
};

// "$<size>\r\n<text>\r\n" ("Redis serialization protocol specification", bulk strings).
inline void boost_redis_to_bulk(std::string& payload, const bulk& b) {
  constexpr std::size_t longest = 96;
  if (b.text.size() > longest) return boost::redis::resp3::boost_redis_to_bulk(payload, b.text);
  std::array<char, longest + 8> buffer;
  char* at = buffer.data();
  *at++ = '$';
  at = std::to_chars(at, at + 3, b.text.size()).ptr;
  *at++ = '\r';
  *at++ = '\n';
  // The data of an empty view may be null, which memcpy does not allow.
  if (!b.text.empty()) std::memcpy(at, b.text.data(), b.text.size());
  at += b.text.size();
  *at++ = '\r';
  *at++ = '\n';
  payload.append(buffer.data(), static_cast<std::size_t>(at - buffer.data()));
}

}  // namespace leasehold::detail
