// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/admin.hpp"

#include "client/options.hpp"
#include "protocol/slots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace leasehold::detail {
namespace {

bool have_a_hold_in_common(const lock_details& a, const lock_details& b) {
  return std::any_of(a.holds.begin(), a.holds.end(), [&](const listed_hold& x) {
    return std::any_of(b.holds.begin(), b.holds.end(),
                       [&](const listed_hold& y) { return x.token == y.token && x.fence == y.fence; });
  });
}

std::shared_ptr<const lock_identity> identity_of(const std::shared_ptr<client_handle>& handle, std::string name) {
  return std::make_shared<const lock_identity>(handle->core->keys(), std::move(name), kinds::any);
}

}  // namespace

std::string pattern_of(std::string_view prefix) {
  constexpr std::string_view special = "*?[]\\";
  std::string pattern;
  for (const char c : prefix) {
    if (special.find(c) != special.npos) pattern += '\\';
    pattern += c;
  }
  return pattern + '*';
}

// --- list ---

list_op::list_op(const std::shared_ptr<client_handle>& handle, handler::handler_type h)
    : query(handle, {}, std::move(h)),
      pattern_(pattern_of(options().prefix)),
      queue_key_prefix_(handle->core->keys().has_slots ? "" : queue_key(only_tag, {})) {}

request list_op::request_of(std::uint32_t) const {
  if (counting_) return counting_->request_for(verb::show);
  request r;
  r.verb = verb::list;
  r.of_kind = &scripts::admin;
  r.keys.record = record();
  r.pattern = pattern_;
  r.cursor = scan_.cursor();
  r.queue_prefix = queue_key_prefix_;
  return r;
}

void list_op::take(const outcome& o, const answer&) {
  const reply& r = *o.scalars;
  if (counting_) {
    lock_details shown;
    read_lock(r, 1, shown);
    found_[counted_++].waiters = shown.waiters;
    return count_next();
  }
  // From now on the client knows that there are several servers, but not which of them has answered.
  if (!std::exchange(routed_, true)) {
    routes_ = core().routes();
    if (routes_.size() > 1) return scan_next();
    routes_.clear();
  }
  if (const auto* const problem = scan_.take(r)) {
    core().note_refusal(problem);
    return end(error::refused);
  }
  for (auto& lock : read_page(r, options().prefix)) {
    // No lock can have a key of this form.
    if (!check_name(lock.name, options().prefix + lock.name)) found_.push_back(std::move(lock));
  }
  if (scan_.cursor() != "0") return ask();
  if (!routes_.empty()) return scan_next();
  // SCAN may return a key twice.
  const auto by_name = [](const listed_lock& a, const listed_lock& b) { return a.name < b.name; };
  const auto same_name = [](const listed_lock& a, const listed_lock& b) { return a.name == b.name; };
  std::stable_sort(found_.begin(), found_.end(), by_name);
  found_.erase(std::unique(found_.begin(), found_.end(), same_name), found_.end());
  queue_key_prefix_.empty() ? count_next() : end(error_code(), std::move(found_));
}

void list_op::scan_next() {
  scan_.begin();
  std::string next = std::move(routes_.back());
  routes_.pop_back();
  ask(std::move(next));
}

void list_op::count_next() {
  if (counted_ == found_.size()) return end(error_code(), std::move(found_));
  counting_ = std::make_shared<const lock_identity>(core().keys(), found_[counted_].name, kinds::any);
  ask(counting_->record);
}

// --- show ---

show_op::show_op(const std::shared_ptr<client_handle>& handle, handler::handler_type h,
                 std::shared_ptr<const lock_identity> lock)
    : query(handle, lock->record, std::move(h)), lock_(std::move(lock)) {}

error_code show_op::bad_name() const { return check_name(lock_->name, lock_->record); }

request show_op::request_of(std::uint32_t) const { return lock_->request_for(verb::show); }

void show_op::take(const outcome& o, const answer&) { end(error_code(), read_status(*o.scalars)); }

// --- break_lock ---

break_op::break_op(const std::shared_ptr<client_handle>& handle, handler::handler_type h,
                   std::shared_ptr<const lock_identity> lock, bool force)
    : query(handle, lock->record, std::move(h)), lock_(std::move(lock)), force_(force) {}

error_code break_op::bad_name() const { return check_name(lock_->name, lock_->record); }

request break_op::request_of(std::uint32_t) const {
  request r = lock_->request_for(verb::break_lock, seen_.token);
  r.fence_text = fence_;
  r.force = force_;
  return r;
}

void break_op::take(const outcome& o, const answer&) {
  const reply& r = *o.scalars;
  const auto found = read_state(r);
  broken_lock lock;
  const std::size_t end_of_lock = read_lock(r, 1, lock);
  lock.name = lock_->name;
  if (found == lock_is::broken) {
    lock.next = r.text(end_of_lock);
    return end(error_code(), std::move(lock));
  }
  if (unknown_ && !have_a_hold_in_common(lock, seen_)) {
    // The request that was not answered has broken the hold, or the holders were quicker. The token there now is the
    // next holder's.
    seen_.next = lock.token;
    return end(error_code(), std::move(seen_));
  }
  if (found == lock_is::free) return end(error::not_held);
  if (found == lock_is::foreign && !force_) return end(error::wrong_type);
  const bool looked = fence_.empty();
  fence_ = fence_of_first_hold(r, 1);
  seen_ = std::move(lock);
  if (looked) return ask();
  changed_hands_ = true;
  ask_again();
}

// Each server of a quorum has its own view. A break there would have to win a majority, like any other change.
static error_code one_store(const std::shared_ptr<client_handle>& handle, error_code bad = {}) {
  return !bad && handle->core->is_quorum() ? make_error_code(error::not_supported) : bad;
}

void start_list(const std::shared_ptr<client_handle>& handle,
                asio::any_completion_handler<void(error_code, std::vector<listed_lock>)> h) {
  make_recycled<list_op>(handle, std::move(h))->start(one_store(handle));
}

void start_show(const std::shared_ptr<client_handle>& handle,
                asio::any_completion_handler<void(error_code, lock_status)> h, std::string name) {
  auto op = make_recycled<show_op>(handle, std::move(h), identity_of(handle, std::move(name)));
  op->start(one_store(handle, op->bad_name()));
}

void start_break(const std::shared_ptr<client_handle>& handle,
                 asio::any_completion_handler<void(error_code, broken_lock)> h, std::string name, bool force) {
  auto op = make_recycled<break_op>(handle, std::move(h), identity_of(handle, std::move(name)), force);
  op->start(one_store(handle, op->bad_name()));
}

}  // namespace leasehold::detail
