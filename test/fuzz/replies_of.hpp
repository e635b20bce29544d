// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Replies of servers as a text that can be mutated: '~' between replies, '|' between the scalars of one, and '!' in
// front of an error.
#pragma once

#include "protocol/reply.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace leasehold::test {

// The part up to the separator, which is taken out of `rest` with it.
inline std::string_view take_part(std::string_view& rest, char separator) {
  const auto end = std::min(rest.find(separator), rest.size());
  const auto part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

inline detail::reply reply_of(std::string_view text) {
  detail::reply r;
  if (text.starts_with('!')) {
    r.set_error();
    text.remove_prefix(1);
    r.add(text);
    return r;
  }
  while (!text.empty()) {
    const bool ends = text.ends_with('|') && text.find('|') == text.size() - 1;
    r.add(take_part(text, '|'));
    if (ends) r.add("");
  }
  return r;
}

inline std::vector<detail::reply> replies_of(std::string_view text) {
  std::vector<detail::reply> all;
  while (!text.empty()) all.push_back(reply_of(take_part(text, '~')));
  return all;
}

}  // namespace leasehold::test
