// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a Sentinel replies, and its +switch-master.
#pragma once

#include "fuzz/replies_of.hpp"
#include "store/redis/sentinel_answer.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace leasehold::test {

inline std::string check_sentinel_answers(std::string_view text) {
  static const detail::address group = [] {
    detail::address a;
    a.hosts = {{"h1", "26379"}, {"h2", "26379"}};
    a.master = "m";
    return a;
  }();
  auto replies = replies_of(text);
  replies.resize(4);
  const detail::host_and_port asked{"h0", "26379"};
  const auto a = detail::read_sentinel_answer(replies, asked, group);
  if (replies[0].is_error() && a.usable) return "a Sentinel that refused HELLO is believed";
  if (a.usable) {
    if (a.master.host.empty()) return "the master has no host";
    if (a.sentinels.size() < 3 || !same(a.sentinels[0], asked) || !same(a.sentinels[1], group.hosts[0]) ||
        !same(a.sentinels[2], group.hosts[1])) {
      return "those of the URL are not the first";
    }
    if (a.sentinels.size() > detail::most_sentinels + group.hosts.size()) return "there are too many Sentinels";
    for (std::size_t i = 0; i < a.sentinels.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (same(a.sentinels[i], a.sentinels[j])) return "a Sentinel is known twice";
      }
    }
  } else if (!a.master.host.empty() || !a.sentinels.empty()) {
    return "an answer of no use names a master";
  }
  for (const auto& r : replies) {
    if (detail::tells_of_another_master(r, "m", {"h", "1"}) && !r.text(2).starts_with("m ")) {
      return "the master of another group is taken for ours";
    }
  }
  return {};
}

}  // namespace leasehold::test
