// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/lock_identity.hpp"

#include "protocol/slots.hpp"

#include <fmt/compile.h>

#include <utility>

namespace leasehold::detail {
namespace {

// Behind the name of the script and the size of the record.
std::string_view record_and_ask(std::string_view local_queue) {
  return local_queue.substr(local_queue.find(' ', local_queue.find(' ') + 1) + 1);
}

}  // namespace

lock_identity::lock_identity(const key_space& space, std::string n, const detail::kind& k, const std::string& owner,
                             std::uint32_t l)
    : name(std::move(n)),
      kind(k),
      local_queue(fmt::format(FMT_COMPILE("{}{} {} {}{}{}"), kind.is_election ? "-" : "", kind.code->name,
                              space.prefix.size() + name.size(), space.prefix, name, make_ask(kind, owner))),
      record(record_and_ask(local_queue).substr(0, space.prefix.size() + name.size())),
      ask(record_and_ask(local_queue).substr(record.size())),
      limit(l),
      slot(slot_of(record)),
      notifies_redisson(space.redisson && kind.is_redissons),
      layout_(space.layout),
      first_(*this, layout_->is_tagged()) {
  if (notifies_redisson) {
    unlock_channel = redisson_channel(record);
  } else if (!space.has_queue) {
    unlock_channel = hint_channel(record);
  }
}

lock_identity::companions::companions(const lock_identity& lock, bool tagged) : is_tagged(tagged) {
  const std::string_view tag = tagged ? tag_of_slot(lock.slot) : only_tag;
  const std::string first = queue_key(tag, lock.record), second = entries_key(tag, lock.record);
  all = first + second;
  if (lock.kind.is_election) all += leader_key(tag, lock.record);
  const std::string_view view = all;
  queue = view.substr(0, first.size());
  entries = view.substr(first.size(), second.size());
  leader = view.substr(first.size() + second.size());
}

basic_keys<std::string_view> lock_identity::keys() const {
  const companions* its = &first_;
  if (!its->is_tagged && layout_->is_tagged()) {
    if (!tagged_) tagged_ = std::make_unique<const companions>(*this, true);
    its = tagged_.get();
  }
  return {record, its->is_tagged ? fence_key(slot) : only_fence_key, its->queue, its->entries, its->leader};
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
  return l != 0 ? std::to_string(l) : std::string(ask);
}

}  // namespace leasehold::detail
