// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/redis/sentinel_answer.hpp"

#include "store/redis/connections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace leasehold::detail {

sentinel_answer read_sentinel_answer(const std::vector<reply>& replies, const host_and_port& asked,
                                     const address& group) {
  sentinel_answer a;
  const reply* const master = replies[1].is_error() ? &replies[3] : &replies[2];
  const reply& bad = replies[0].is_error() ? replies[0] : *master;
  if (bad.is_error() || master->size() != 2 || master->text(0).empty()) {
    const std::string words(&bad == &replies[0] ? why_no_hello(bad.text(0)) : std::string(bad.text(0)));
    a.problem = bad.is_error() ? words : "knows no master '" + group.master + "'";
    return a;
  }
  std::vector<host_and_port> order{asked};
  const auto add = [&order](const host_and_port& h) {
    if (std::none_of(order.begin(), order.end(), [&h](const host_and_port& o) { return same(o, h); }))
      order.push_back(h);
  };
  for (const auto& h : group.hosts) add(h);
  if (!replies[1].is_error() && !replies[3].is_error()) {
    host_and_port other;
    for (std::size_t i = 0; i + 1 < replies[3].size(); i += 2) {
      if (replies[3].text(i) == "ip") other.host = replies[3].text(i + 1);
      if (replies[3].text(i) != "port") continue;
      other.port = replies[3].text(i + 1);
      add(other);
      if (order.size() > most_sentinels + group.hosts.size()) {
        a.problem = fmt::format("names more than {} Sentinels", most_sentinels);
        return a;
      }
    }
  }
  a.usable = true;
  a.master = {std::string(master->text(0)), std::string(master->text(1))};
  a.sentinels = std::move(order);
  return a;
}

// "+switch-master": <name> <old address> <old port> <new address> <new port>
bool tells_of_another_master(const reply& message, const std::string& group, const host_and_port& known) {
  const std::string_view text = message.text(2);
  if (!text.starts_with(group + " ")) return false;
  return !text.ends_with(" " + known.host + " " + known.port);  // The client knows this master already.
}

}  // namespace leasehold::detail
