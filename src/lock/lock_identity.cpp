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
      slot(slot_of(record)),
      kind(k),
      ask(make_ask(k, owner)),
      limit(l),
      local_queue(fmt::format("{} {} {}{}", kind.code->name, record.size(), record, ask)),
      notifies_redisson(space.redisson && kind.is_redissons),
      layout_(space.layout),
      first_(*this, layout_->is_tagged()) {
  if (notifies_redisson) {
    unlock_channel = redisson_channel(record);
  } else if (!space.has_queue) {
    unlock_channel = hint_channel(record);
  }
}

lock_identity::companions::companions(const lock_identity& lock, bool tagged)
    : is_tagged(tagged), fences(tagged ? fence_key(lock.slot) : only_fence_key) {
  const std::string_view tag = tagged ? tag_of_slot(lock.slot) : only_tag;
  queue = queue_key(tag, lock.record);
  entries = entries_key(tag, lock.record);
}

basic_keys<std::string_view> lock_identity::keys() const {
  const companions* its = &first_;
  if (!its->is_tagged && layout_->is_tagged()) {
    if (!tagged_) tagged_ = std::make_unique<const companions>(*this, true);
    its = tagged_.get();
  }
  return {record, its->fences, its->queue, its->entries};
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
