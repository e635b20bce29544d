// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The replies to the first commands of a connection: HELLO, SELECT, INFO, PUBLISH, TIME and ROLE.
#pragma once

#include "fuzz/replies_of.hpp"
#include "store/redis/handshake.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace leasehold::test {

inline std::string check_handshakes(std::string_view text) {
  static const detail::handshake any({}, {}, "leasehold:c", false), master({}, {}, "leasehold:c", true);
  const auto replies = replies_of(text);
  for (const auto* shake : {&any, &master}) {
    const auto o = shake->read(replies);
    if (o.has_value() != (replies.size() == (shake == &master ? 6U : 5U))) return "the replies are counted wrong";
    if (!o) continue;
    if (o->refused && o->problem.empty()) return "a refusal has no reason";
    for (const std::size_t needed : {0U, 1U, 4U}) {
      if (needed == 1U && replies[needed].text(0).find("MISCONF ") != std::string_view::npos) continue;  // To a PING.
      if (replies[needed].is_error() && o->problem.empty()) return "a connection is used whose handshake was refused";
    }
    if (!o->problem.empty()) continue;
    if (replies[3].is_error() == o->server.publish_refusal.empty())
      return "that the server does not let us publish gets lost";
    if (o->time < 1000000 || o->time >= (std::int64_t{1} << 32) * 1000000) return "the time is out of range";
    if (o->server.uptime < std::chrono::seconds(0)) return "the uptime is negative";
    if (shake == &master && replies[5].text(0) == "slave") return "a replica is taken for the master";
    for (const std::string* part : {&o->server.version, &o->server.maxmemory_policy, &o->run_id}) {
      if (text.find(*part) == text.npos || part->find('\n') != part->npos) return "a field is not a part of one line";
    }
  }
  return {};
}

}  // namespace leasehold::test
