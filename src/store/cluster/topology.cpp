// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/cluster/topology.hpp"

#include "protocol/slots.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace leasehold::detail {
namespace {

// Returns the part up to the separator, and removes both from `rest`.
std::string_view cut(std::string_view& rest, char separator) {
  const auto at = std::min(rest.find(separator), rest.size());
  const auto part = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

std::optional<std::uint16_t> read_number(std::string_view s, std::uint32_t limit) {
  std::uint32_t n = 0;
  const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), n);
  if (s.empty() || ec != std::errc() || end != s.data() + s.size() || n >= limit) return std::nullopt;
  return static_cast<std::uint16_t>(n);
}

// host:port. The host may be an IPv6 address, or missing.
std::optional<host_and_port> read_endpoint(std::string_view s, std::string_view asked) {
  const auto colon = s.rfind(':');
  if (colon == s.npos) return std::nullopt;
  const auto host = s.substr(0, colon);
  const auto port = s.substr(colon + 1);
  if (const auto n = read_number(port, 65536); !n || *n == 0) return std::nullopt;
  return host_and_port{std::string(host.empty() || host == "?" ? asked : host), std::string(port)};
}

bool has_flag(std::string_view flags, std::string_view wanted) {
  while (!flags.empty()) {
    if (cut(flags, ',') == wanted) return true;
  }
  return false;
}

// "0-5460", "7", or "[93-<-...]" for a slot that is being moved, which still belongs to its old node.
void read_slots(std::string_view word, cluster_node& node) {
  if (word.starts_with('[')) return;
  const auto first = read_number(cut(word, '-'), number_of_slots);
  const auto last = word.empty() ? first : read_number(word, number_of_slots);
  if (!first || !last || *first > *last) return;
  // More slots than there are: the reply names some of them repeatedly.
  node.number_of_slots += std::size_t{*last} - *first + 1;
  if (node.number_of_slots <= number_of_slots) node.slots.emplace_back(*first, *last);
}

// <id> <ip:port@cport[,hostname]> <flags> <master> <ping> <pong> <epoch> <link> <slot> <slot> ...
std::optional<cluster_node> read_node(std::string_view line, std::string_view asked, bool by_name) {
  cut(line, ' ');
  std::string_view names = cut(line, ' ');
  const std::string_view flags = cut(line, ' ');
  if (has_flag(flags, "noaddr") || has_flag(flags, "handshake")) return std::nullopt;
  std::string_view endpoint = cut(names, ',');
  const std::string_view host_name = cut(names, ',');
  auto where = read_endpoint(endpoint.substr(0, endpoint.find('@')), asked);
  if (!where) return std::nullopt;
  cluster_node node;
  node.address = node.by_name = *where;
  // Behind the host's name, auxiliary fields may follow: "shard-id=...".
  if (!host_name.empty() && host_name.find('=') == host_name.npos) node.by_name.host = host_name;
  node.where = by_name ? node.by_name : node.address;
  node.master = has_flag(flags, "master") && !has_flag(flags, "fail");
  for (int i = 0; i < 3; ++i) cut(line, ' ');
  const std::string_view epoch = cut(line, ' ');
  std::from_chars(epoch.data(), epoch.data() + epoch.size(), node.epoch);
  cut(line, ' ');
  while (!line.empty()) read_slots(cut(line, ' '), node);
  return node;
}

}  // namespace

std::vector<cluster_node> read_cluster_nodes(std::string_view text, std::string_view asked, bool by_name) {
  std::vector<cluster_node> nodes;
  while (!text.empty() && nodes.size() <= most_nodes) {
    std::string_view line = cut(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (auto node = read_node(line, asked, by_name)) nodes.push_back(std::move(*node));
  }
  return nodes;
}

bool read_redirection(std::string_view words, std::string_view asked, std::uint16_t& slot, host_and_port& where) {
  cut(words, ' ');
  const auto n = read_number(cut(words, ' '), number_of_slots);
  auto endpoint = read_endpoint(cut(words, ' '), asked);
  if (!n || !endpoint) return false;
  slot = *n;
  where = std::move(*endpoint);
  return true;
}

}  // namespace leasehold::detail
