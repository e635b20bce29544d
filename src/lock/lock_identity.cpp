// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/lock_identity.hpp"

#include "protocol/slots.hpp"

#include <fmt/format.h>

#include <utility>

namespace leasehold::detail {

lock_identity::lock_identity(const key_space& space, std::string n, const detail::kind& k, const std::string& owner,
                             std::uint32_t l)
    : name(std::move(n)),
      record(space.prefix + name),
      slot(space.has_slots ? slot_of(record) : 0),
      fences(space.has_slots ? fence_key(slot) : only_fence_key),
      kind(k),
      ask(make_ask(k, owner)),
      limit(l),
      local_queue(
          fmt::format("{}{} {} {}{}", kind.is_election ? "-" : "", kind.code->name, record.size(), record, ask)),
      notifies_redisson(space.redisson && kind.is_redissons) {
  const std::string_view tag = space.has_slots ? tag_of_slot(slot) : only_tag;
  queue = queue_key(tag, record);
  entries = entries_key(tag, record);
  if (kind.is_election) leader = leader_key(tag, record);
  if (notifies_redisson) {
    unlock_channel = redisson_channel(record);
  } else if (!space.has_queue) {
    unlock_channel = hint_channel(record);
  }
}

request lock_identity::request_for(verb v, std::string_view token) const {
  request r;
  r.verb = v;
  r.of_kind = kind.code;
  r.keys = keys();
  r.token = token;
  r.ask = ask;
  return r;
}

std::string lock_identity::ask_text() const {
  const auto l = limit.load(std::memory_order_relaxed);
  return l != 0 ? std::to_string(l) : ask;
}

}  // namespace leasehold::detail
