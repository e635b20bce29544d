// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The reply to CLUSTER NODES, and the words of MOVED and ASK.
#pragma once

#include "protocol/slots.hpp"
#include "store/cluster/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace leasehold::test {

inline bool is_endpoint(const detail::host_and_port& h) {
  std::uint32_t port = 0;
  const auto [end, ec] = std::from_chars(h.port.data(), h.port.data() + h.port.size(), port);
  return ec == std::errc() && end == h.port.data() + h.port.size() && port >= 1 && port <= 65535 && !h.host.empty();
}

inline std::string check_redirection(std::string_view words) {
  std::uint16_t slot = 0;
  detail::host_and_port where;
  if (!detail::read_redirection(words, "asked", slot, where)) return {};
  if (slot >= detail::number_of_slots) return "a redirection is for a slot that there is not";
  if (!is_endpoint(where)) return "a redirection goes to no host and port";
  std::uint16_t slot_again = 0;
  detail::host_and_port again;
  if (!detail::read_redirection(fmt::format("MOVED {} {}:{}", slot, where.host, where.port), "", slot_again, again) ||
      slot_again != slot || again.host != where.host || again.port != where.port) {
    return "written down and read again, it is another redirection";
  }
  return {};
}

inline std::string check_cluster(std::string_view text) {
  for (const bool by_name : {false, true}) {
    const auto nodes = detail::read_cluster_nodes(text, "asked", by_name);
    if (nodes.size() > detail::most_nodes + 1) return "there are more nodes than the limit and one";
    if (nodes.size() > static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1) {
      return "there are more nodes than lines";
    }
    for (const auto& n : nodes) {
      if (!is_endpoint(n.where) || !is_endpoint(n.address)) return "a node has no host or no port";
      if (!by_name && n.where.host != n.address.host) return "a name is taken that was not asked for";
      std::size_t slots = 0;
      for (const auto& [first, last] : n.slots) {
        if (first > last || last >= detail::number_of_slots) return "a node has slots that there are not";
        slots += std::size_t{last} - first + 1;
      }
      if (slots > detail::number_of_slots) return "a node has more slots than there are";
    }
  }
  return check_redirection(text);
}

}  // namespace leasehold::test
