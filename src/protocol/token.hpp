// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The form of a token: `<client id>.<number>`, and a mark behind the number if its hold may linger. The scripts know
// the mark, too (lua/mutex.lua).
#pragma once

#include <algorithm>
#include <string_view>

namespace leasehold::detail {

inline constexpr const char* mark_of_lingering = "l";

constexpr bool may_linger(std::string_view token) noexcept {
  const auto dot = token.find('.');
  if (dot == 0 || dot == token.npos || !token.ends_with(mark_of_lingering)) return false;
  const auto number = token.substr(dot + 1, token.size() - dot - 2);
  return !number.empty() && std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace leasehold::detail
