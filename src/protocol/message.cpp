// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/message.hpp"

#include <algorithm>

namespace leasehold::detail {

message::message(std::string_view text) noexcept : rest(text) {
  const auto word = [this] {
    const auto end = std::min(rest.find(' '), rest.size());
    const auto w = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return w;
  };
  const auto name = word();
  is = name == "granted"  ? kind::granted
       : name == "watch"  ? kind::watch
       : name == "broken" ? kind::broken
       : name == "wanted" ? kind::wanted
                          : kind::unknown;
  token = word();
}

}  // namespace leasehold::detail
