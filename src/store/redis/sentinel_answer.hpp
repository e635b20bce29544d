// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Reads the answers of a Sentinel. No I/O: sentinels.cpp asks.
#pragma once

#include "store/store.hpp"
#include "store/url.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace leasehold::detail {

// An answer that names more Sentinels is not believed.
inline constexpr std::size_t most_sentinels = 100;

inline bool same(const host_and_port& a, const host_and_port& b) { return a.host == b.host && a.port == b.port; }

struct sentinel_answer {
  bool usable = false;
  std::string problem;  // Why the answer is not usable, as a rule in the Sentinel's words.
  host_and_port master;
  // In the order in which they are asked next time: the one that answered, those of the URL, then those that it knows.
  std::vector<host_and_port> sentinels;
};

// Reads the four replies of the Sentinel `asked`: to HELLO, PING (or the refusal of SUBSCRIBE), SENTINEL
// GET-MASTER-ADDR-BY-NAME and SENTINEL SENTINELS.
sentinel_answer read_sentinel_answer(const std::vector<reply>&, const host_and_port& asked, const address& group);

// Whether a message of +switch-master is about this group, and names another server than `known`.
bool tells_of_another_master(const reply& message, const std::string& group, const host_and_port& known);

}  // namespace leasehold::detail
