// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/registry.hpp"

#include "lock/joint_cohort.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace leasehold::detail {

std::shared_ptr<registered_entry>& registry::entry_of(const lock_identity& lock) {
  const auto limit = lock.limit.load(std::memory_order_relaxed);
  return limit == 0 ? entries_[lock.local_queue] : entries_[lock.local_queue_with(limit)];
}

std::shared_ptr<registered_entry> registry::find(const lock_identity& lock) const {
  const auto limit = lock.limit.load(std::memory_order_relaxed);
  const auto found = limit == 0 ? entries_.find(lock.local_queue) : entries_.find(lock.local_queue_with(limit));
  return found == entries_.end() ? nullptr : found->second;
}

std::shared_ptr<joint_cohort> registry::joint_of(const lock_identity& lock) {
  if (lock.kind.mode == hold_mode::exclusive) return nullptr;
  if (joints_.size() >= joints_to_purge_) {
    std::erase_if(joints_, [](const auto& j) { return j.second.expired(); });
    joints_to_purge_ = 2 * joints_.size() + 16;
  }
  auto& weak = joints_[lock.local_queue];
  auto joint = weak.lock();
  if (!joint) weak = joint = std::make_shared<joint_cohort>();
  return joint;
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

void registry::listen_for(const std::string& token, wanted_listener& l) { tenures_[token].listeners.push_back(&l); }

void registry::forget_listener(const std::string& token, wanted_listener& l) {
  const auto found = tenures_.find(token);
  if (found == tenures_.end()) return;
  std::erase(found->second.listeners, &l);
  if (found->second.listeners.empty()) tenures_.erase(found);
}

bool registry::is_wanted(const std::string& token) const {
  const auto found = tenures_.find(token);
  return found != tenures_.end() && found->second.is_wanted;
}

void registry::note_wanted(std::string_view token) {
  const auto found = tenures_.find(std::string(token));
  if (found == tenures_.end() || std::exchange(found->second.is_wanted, true)) return;
  std::vector<std::shared_ptr<wanted_listener>> notified;
  for (auto* const l : found->second.listeners) notified.push_back(l->shared_listener());
  bool is_news = false;
  for (const auto& l : notified) is_news = l->is_first_wanted() || is_news;
  if (is_news) {
    core_.count().wanted.fetch_add(1, std::memory_order_relaxed);
    const lock_identity& lock = notified.front()->wanted_lock();
    core_.notify({.what = event::kind::wanted, .name = lock.name, .token = token, .label = lock.label()});
  }
  for (const auto& l : notified) l->on_wanted();
}

template <class Fits>
void registry::report_gap(Fits fits) {
  std::vector<std::shared_ptr<wanted_listener>> concerned;
  for (const auto& [token, t] : tenures_) {
    for (auto* const l : t.listeners) {
      if (fits(l->wanted_lock())) concerned.push_back(l->shared_listener());
    }
  }
  for (const auto& l : concerned) l->on_gap();
}

void registry::add_idle(const lock_identity& lock, std::shared_ptr<idle_lock> idle) {
  stop_idle(lock);  // Of another token, whose record was deleted by hand.
  idle_.insert_or_assign(lock.local_queue, std::move(idle));
}

void registry::remove_idle(const lock_identity& lock) { idle_.erase(lock.local_queue); }

bool registry::take_idle(const lock_identity& lock, waiter& op) {
  if (idle_.empty()) return false;
  const auto found = idle_.find(lock.local_queue);
  if (found == idle_.end()) return false;
  const auto idle = found->second;
  return idle->take(op);
}

void registry::stop_idle(const lock_identity& lock) {
  const auto found = idle_.find(lock.local_queue);
  if (found == idle_.end()) return;
  const auto idle = found->second;
  idle->stop();
}

void registry::poll_all() {
  std::vector<std::shared_ptr<registered_entry>> in_queue;
  for (const auto& [token, entry] : in_queue_) in_queue.push_back(entry->shared());
  std::vector<std::shared_ptr<channel_watcher>> watching;
  for (const auto& [channel, watcher] : watchers_) watching.push_back(watcher->shared());
  for (const auto& entry : in_queue) entry->poll_now();
  for (const auto& watcher : watching) watcher->look();
  report_gap([](const lock_identity&) { return true; });
}

void registry::poll_slots(const std::unordered_set<std::uint16_t>& slots) {
  std::vector<std::shared_ptr<registered_entry>> in_queue;
  for (const auto& [token, entry] : in_queue_) {
    if (slots.contains(entry->lock().slot)) in_queue.push_back(entry->shared());
  }
  for (const auto& entry : in_queue) entry->poll_now();
  report_gap([&slots](const lock_identity& lock) { return slots.contains(lock.slot); });
}

void registry::listen_again() {
  for (const auto& [channel, entry] : listeners_) core_.listen(channel);
  for (const auto& [channel, watcher] : watchers_) core_.listen(channel);
}

void registry::listen_in_slots() {
  for (const auto& [token, entry] : in_queue_) core_.subscribe_slot(entry->lock().slot);
  for (const auto& [token, t] : tenures_) {
    for (auto* const l : t.listeners) core_.subscribe_slot(l->wanted_lock().slot);
  }
  report_gap([](const lock_identity&) { return true; });
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
  if (m.is == message::kind::wanted) return note_wanted(m.token);
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
  tenures_.clear();
  idle_.clear();
  auto entries = std::move(entries_);
  entries_.clear();
  entries.clear();
}

}  // namespace leasehold::detail
