// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/registry.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace leasehold::detail {

std::shared_ptr<registered_entry>& registry::entry_of(const lock_identity& lock) {
  const auto limit = lock.limit.load(std::memory_order_relaxed);
  return limit == 0 ? entries_[lock.local_queue] : entries_[lock.local_queue_with(limit)];
}

std::shared_ptr<registered_entry> registry::find(const lock_identity& lock) const {
  const auto found = entries_.find(lock.local_queue);
  return found == entries_.end() ? nullptr : found->second;
}

void registry::forget(registered_entry& entry) {
  forget_token(entry);
  const auto limit = entry.first_limit();
  const auto found =
      limit == 0 ? entries_.find(entry.lock().local_queue) : entries_.find(entry.lock().local_queue_with(limit));
  if (found != entries_.end() && found->second.get() == &entry) entries_.erase(found);
}

void registry::remember_token(registered_entry& entry) {
  const bool is_new = in_queue_.insert_or_assign(entry.token(), &entry).second;
  if (is_new) core_.subscribe_slot(entry.lock().slot);
}

void registry::forget_token(registered_entry& entry) {
  if (!in_queue_.empty() && in_queue_.erase(entry.token()) != 0) core_.unsubscribe_slot(entry.lock().slot);
  if (listeners_.empty()) return;
  const auto& channel = entry.lock().unlock_channel;
  const auto [first, last] = listeners_.equal_range(channel);
  const auto found = std::find_if(first, last, [&entry](const auto& l) { return l.second == &entry; });
  if (found == last) return;
  listeners_.erase(found);
  if (!listeners_.contains(channel)) core_.ignore(channel);
}

void registry::listen(registered_entry& entry) {
  const auto& channel = entry.lock().unlock_channel;
  const auto [first, last] = listeners_.equal_range(channel);
  if (std::any_of(first, last, [&entry](const auto& l) { return l.second == &entry; })) return;
  listeners_.emplace(channel, &entry);
  core_.listen(channel);
}

void registry::watch(channel_watcher& w) {
  watchers_.emplace(w.channel(), &w);
  core_.listen(w.channel());
}

void registry::unwatch(channel_watcher& w) {
  const auto [first, last] = watchers_.equal_range(w.channel());
  const auto found = std::find_if(first, last, [&w](const auto& other) { return other.second == &w; });
  if (found == last) return;
  watchers_.erase(found);
  if (!watchers_.contains(w.channel())) core_.ignore(w.channel());
}

void registry::poll_all() {
  std::vector<std::shared_ptr<registered_entry>> in_queue;
  for (const auto& [token, entry] : in_queue_) in_queue.push_back(entry->shared());
  std::vector<std::shared_ptr<channel_watcher>> watching;
  for (const auto& [channel, watcher] : watchers_) watching.push_back(watcher->shared());
  for (const auto& entry : in_queue) entry->poll_now();
  for (const auto& watcher : watching) watcher->look();
}

void registry::poll_slots(const std::unordered_set<std::uint16_t>& slots) {
  std::vector<std::shared_ptr<registered_entry>> in_queue;
  for (const auto& [token, entry] : in_queue_) {
    if (slots.contains(entry->lock().slot)) in_queue.push_back(entry->shared());
  }
  for (const auto& entry : in_queue) entry->poll_now();
}

void registry::listen_in_slots() {
  for (const auto& [token, entry] : in_queue_) core_.subscribe_slot(entry->lock().slot);
  const auto watchers = std::exchange(watchers_, {});
  for (const auto& [channel, watcher] : watchers) {
    core_.ignore(channel);
    watch(*watcher);
  }
}

void registry::on_channel(std::string_view channel) {
  std::vector<std::shared_ptr<registered_entry>> woken;
  const auto [first, last] = listeners_.equal_range(std::string(channel));
  for (auto l = first; l != last; ++l) woken.push_back(l->second->shared());
  std::vector<std::shared_ptr<channel_watcher>> watching;
  const auto [first_watcher, last_watcher] = watchers_.equal_range(std::string(channel));
  for (auto w = first_watcher; w != last_watcher; ++w) watching.push_back(w->second->shared());
  for (const auto& entry : woken) entry->poll_now();
  for (const auto& watcher : watching) watcher->look();
}

void registry::on_message(const message& m) {
  const auto found = in_queue_.find(std::string(m.token));
  if (found == in_queue_.end()) return;
  const auto entry = found->second->shared();
  if (m.is == message::kind::watch) {
    entry->on_watch();
  } else if (m.is == message::kind::granted) {
    // A message that cannot be read is not believed.
    entry->on_granted(read_pushed_grant(m.rest).value_or(pushed_grant()));
  }
}

void registry::abandon() {
  holder_queries_.clear();
  in_queue_.clear();
  listeners_.clear();
  watchers_.clear();
  auto entries = std::move(entries_);
  entries_.clear();
  entries.clear();
}

}  // namespace leasehold::detail
