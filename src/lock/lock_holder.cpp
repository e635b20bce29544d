// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/lock_holder.hpp"

#include "lock/registry.hpp"
#include "protocol/fence.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <utility>

namespace leasehold::detail {
namespace {

using std::chrono::microseconds;

std::string text_of(std::chrono::system_clock::time_point t) {
  const auto us = std::chrono::duration_cast<microseconds>(t.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(static_cast<std::time_t>(us / 1000000)), us % 1000000);
}

lock_holder without_answer() {
  lock_holder h;
  h.text = "the store does not say which client has the lock";
  return h;
}

}  // namespace

lock_holder holder_of(const inspection& found, const kind& k) {
  lock_holder h;
  // A quorum has no queue.
  const auto queue = found.waiters == 0 ? std::string() : fmt::format(", {} in the queue", found.waiters);
  if (found.holders == 0) {
    h.text = "not held now" + queue;
    return h;
  }
  if (!found.holds.empty()) h.token = found.holds.front().token;
  const bool is_marked = h.token.starts_with(mark_of_rest);
  h.label = label_of_token(std::string_view(h.token).substr(is_marked ? 1 : 0));
  // Each permit of a semaphore has a fence of its own, and the inspection knows the latest only. Another program's hold
  // has none.
  const bool is_shared = k.ask != ask_is::limit || found.holders == 1;
  if (is_shared && !h.label.empty()) h.fence = found.fence;
  h.text = "held by " + (h.label.empty() ? std::string("another program") : h.label);
  if (found.holders == 2) h.text += " and another hold";
  if (found.holders > 2) h.text += fmt::format(" and {} other holds", found.holders - 1);
  if (h.fence != 0) {
    h.since = granted_at(h.fence);
    h.text += " since " + text_of(*h.since);
  }
  // (Another program's value may begin so, too.)
  if (is_marked && !h.label.empty() && found.holders == 1) h.text += ", released before at_least was over";
  h.text += queue;
  return h;
}

void holder_query::ask(const std::shared_ptr<client_core>& core, const std::shared_ptr<const lock_identity>& lock,
                       listener l) {
  auto& queries = registry::of(*core).holder_queries();
  if (const auto found = queries.find(std::string(lock->record)); found != queries.end()) {
    if (const auto under_way = found->second.lock()) {
      under_way->listeners_.push_back(std::move(l));
      return;
    }
  }
  const auto query = std::make_shared<holder_query>(core, lock);
  if (!core->send(query, 0)) return l(without_answer());
  query->listeners_.push_back(std::move(l));
  queries.insert_or_assign(std::string(lock->record), query);
}

request holder_query::request_of(std::uint32_t) const { return lock_->request_for(verb::inspect); }

void holder_query::answered(std::uint32_t, const answer& a) {
  core_->note_answer(a);
  registry::of(*core_).holder_queries().erase(std::string(lock_->record));
  const auto* const o = a.from_store;
  const bool is_known = o != nullptr && !o->refused && o->inspected;
  const lock_holder h = is_known ? holder_of(*o->inspected, lock_->kind) : without_answer();
  for (const auto& l : listeners_) l(h);
}

}  // namespace leasehold::detail
