// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a node of a cluster knows about the others: the reply to CLUSTER NODES ("Redis cluster specification"). No I/O.
#pragma once

#include "store/url.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::detail {

struct cluster_node {
  host_and_port where;
  // The same by its address, and by the host's name if that is known: a redirection has the one that the nodes prefer.
  host_and_port address, by_name;
  std::uint64_t epoch = 0;  // Of its slots: the node with the greater epoch has the slot.
  bool master = false;      // And a majority of the masters does not consider it dead.
  std::vector<std::pair<std::uint16_t, std::uint16_t>> slots;  // From, to.
  std::size_t number_of_slots = 0;

  bool operator==(const cluster_node&) const = default;
};

// By which a node is found.
inline std::string name_of(const host_and_port& where) { return where.host + ' ' + where.port; }

// A cluster with more nodes is refused: each node costs a connection.
inline constexpr std::size_t most_nodes = 1000;

// `asked`: the host of the node that answered, which may not know its own. `by_name`: use the hosts' names where the
// nodes report them (a certificate is for a name). Lines of another form are skipped. More than most_nodes: there are
// more.
std::vector<cluster_node> read_cluster_nodes(std::string_view text, std::string_view asked, bool by_name);

// "MOVED 3999 127.0.0.1:6381" or "ASK ...", perhaps followed by more. `asked` replaces a missing host. False: the words
// have another form.
bool read_redirection(std::string_view words, std::string_view asked, std::uint16_t& slot, host_and_port& where);

}  // namespace leasehold::detail
