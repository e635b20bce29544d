// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/lock_replies.hpp"

#include "protocol/token.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace leasehold::detail {
namespace {

// For a hold or a waiter.
template <class Asker>
void show_ask(std::string_view kind, std::string_view ask, Asker& shown) {
  const asker its = read_ask(ask_of_kind(kind), ask);
  if (its.role != role::none) shown.role = its.role == role::writer ? "writer" : "reader";
  shown.owner = its.owner;
}

// The most that one list may read in all, so that a server cannot keep it going forever: some million pages.
constexpr std::size_t most_bytes = std::size_t{256} * 1024 * 1024, size_of_page = 256;
constexpr const char* too_long = "the list is longer than 256 MiB";

// The offset of a lock's first hold from the lock's own scalars, and the number of scalars of each hold.
constexpr std::size_t first_hold = 7, size_of_hold = 4;

}  // namespace

std::size_t read_lock(const reply& r, std::size_t i, lock_details& lock) {
  lock.kind = r.text(i);
  lock.fence = r.number<std::uint64_t>(i + 1);
  lock.waiters = r.number<std::size_t>(i + 3);
  lock.holders = r.number<std::size_t>(i + 4);
  const std::string_view about = r.text(i + 5);
  const std::size_t rest = r.size() - std::min(i + first_hold, r.size());
  const std::size_t holds = std::min(r.number<std::size_t>(i + 6), rest / size_of_hold);
  const std::size_t end = std::min(i + first_hold + holds * size_of_hold, r.size());
  for (std::size_t h = i + first_hold; h < end; h += size_of_hold) {
    listed_hold hold;
    hold.token = r.text(h);
    if (r.left(h + 1).count() >= 0) hold.ttl = r.left(h + 1);
    hold.fence = r.number<std::uint64_t>(h + 2);
    show_ask(lock.kind, r.text(h + 3), hold);
    lock.holds.push_back(std::move(hold));
  }
  if (lock.holds.empty()) return end;
  lock.held = true;
  lock.token = lock.holds.front().token;
  for (const auto& hold : lock.holds) lock.tokens.push_back(hold.token);
  lock.lingers = lock.kind == "mutex" && may_linger(lock.token);
  if (r.left(i + 2).count() >= 0) lock.ttl = r.left(i + 2);
  switch (ask_of_kind(lock.kind)) {
    case ask_is::role_and_owner: {
      const bool writes = read_ask(ask_is::role_and_owner, about).role == role::writer;
      lock.mode = writes ? "writer" : "readers";
      if (writes) lock.owner = lock.holds.front().owner;
      break;
    }
    case ask_is::limit: lock.limit = r.number<std::uint32_t>(i + 5); break;
    case ask_is::nothing:
    case ask_is::owner:
      lock.owner = about;
      if (lock.kind.empty()) lock.holds.front().owner = about;
      break;
  }
  std::stable_sort(lock.holds.begin(), lock.holds.end(),
                   [](const listed_hold& a, const listed_hold& b) { return a.fence < b.fence; });
  return end;
}

std::string_view fence_of_first_hold(const reply& r, std::size_t i) { return r.text(i + first_hold + 2); }

lock_is read_state(const reply& r) { return static_cast<lock_is>(r.number(0)); }

lock_status read_status(const reply& r) {
  lock_status status;
  std::size_t i = read_lock(r, 1, status);
  const std::string_view kind = r.text(i++);
  for (; i + 3 < r.size(); i += 4) {
    leasehold::waiter w;
    w.token = r.text(i);
    w.lease = std::max(r.left(i + 1), std::chrono::milliseconds(0));
    w.silent = r.number(i + 2) == 1;
    show_ask(kind, r.text(i + 3), w);
    status.queue.push_back(std::move(w));
  }
  return status;
}

std::vector<listed_lock> read_page(const reply& r, const std::string& prefix) {
  std::vector<listed_lock> found;
  for (std::size_t i = 0; i < r.size();) {
    const std::string_view record = r.text(i);
    listed_lock lock;
    i = read_lock(r, i + 1, lock);
    if (!record.starts_with(prefix)) continue;
    lock.name = record.substr(prefix.size());
    // The script accepts any digits for a fence, even 0 and more than 64 bits.
    if (lock.held && lock.fence != 0) found.push_back(std::move(lock));
  }
  return found;
}

std::vector<std::string> read_keys(const reply& r, const std::string& prefix) {
  std::vector<std::string> found;
  for (std::size_t i = 1; i < r.size(); ++i) {
    const std::string_view key = r.text(i);
    // No record begins so.
    if (key.starts_with(prefix) && !key.starts_with("leasehold:")) found.emplace_back(key);
  }
  return found;
}

lock_info info_of(const inspection& found, const kind& k) {
  lock_info info;
  info.held = found.holders > 0;
  info.holders = found.holders;
  info.waiters = found.waiters;
  if (!info.held) return info;
  info.fence = found.fence;
  if (found.left.count() >= 0) info.ttl = found.left;
  if (!found.holds.empty()) info.token = found.holds.front().token;
  for (const auto& hold : found.holds) info.tokens.push_back(hold.token);
  info.lingers = k.code == &scripts::mutex && info.fence != 0 && may_linger(info.token);
  if (k.ask == ask_is::owner) info.owner = found.about;
  const bool writes = k.ask == ask_is::role_and_owner && read_ask(k.ask, found.about).role == role::writer;
  if (writes && !found.holds.empty()) info.owner = read_ask(k.ask, found.holds.front().ask).owner;
  return info;
}

void scan::begin() {
  cursor_ = "0";
  cursors_.clear();
}

const char* scan::take(const reply& r) {
  std::uint64_t cursor = 0;
  if (!r.read(0, cursor)) return "the server's answer to SCAN is none";
  if (!cursors_.insert(cursor).second) return "the server's SCAN goes in a circle";
  cursor_ = r.text(0);
  bytes_ += r.bytes() > most_bytes ? r.bytes() : size_of_page;
  return bytes_ > most_bytes ? too_long : nullptr;
}

const char* scan::note(const reply& r) {
  bytes_ += r.bytes();
  return bytes_ > most_bytes ? too_long : nullptr;
}

}  // namespace leasehold::detail
