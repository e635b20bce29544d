// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/admin.hpp"

#include "client/options.hpp"
#include "protocol/slots.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace leasehold::detail {
namespace {

// A call blocks the server for as long as it takes, so it is not about all keys of a page.
constexpr std::size_t most_in_one_script = 250;

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

error_code look_op::ask_anew() { return asio::error::try_again; }

look_op::look_op(const std::shared_ptr<client_handle>& handle, handler::handler_type h,
                 const std::vector<std::string>& records, std::shared_ptr<scan> of)
    : query(handle, records.front(), std::move(h)), has_slots_(core().has_slots()), scan_(std::move(of)) {
  for (const auto& r : records) {
    std::string name = r.substr(options().prefix.size());
    locks_.push_back(std::make_unique<const lock_identity>(core().keys(), std::move(name), kinds::any));
  }
}

request look_op::request_of(std::uint32_t) const {
  members_.clear();
  for (const auto& l : locks_) members_.push_back({l->keys(), {}, {}, {}});
  request r = locks_.front()->request_for(verb::list);
  r.members = members_;
  return r;
}

void look_op::take(const outcome& o, const answer&) {
  if (const auto* const problem = scan_->note(*o.scalars)) {
    core().note_refusal(problem);
    return end(error::refused);
  }
  end(error_code(), read_page(*o.scalars, options().prefix));
}

bool look_op::takes_refusal(const outcome& o) {
  const bool is_late = !has_slots_ && core().has_slots() && wants_tagged_keys(o.words);
  if (is_late) end(ask_anew());
  return is_late;
}

list_op::list_op(const std::shared_ptr<client_handle>& handle, handler::handler_type h)
    : query(handle, {}, std::move(h)), pattern_(pattern_of(options().prefix)) {}

request list_op::request_of(std::uint32_t) const {
  request r;
  r.verb = verb::scan;
  r.keys.record = record();
  r.pattern = pattern_;
  r.cursor = scan_->cursor();
  return r;
}

void list_op::take(const outcome& o, const answer&) {
  const reply& r = *o.scalars;
  // From now on the client knows that there are several servers, but not which of them has answered.
  if (!std::exchange(routed_, true)) {
    routes_ = core().routes();
    if (routes_.size() > 1) return scan_next();
    routes_.clear();
  }
  if (const auto* const problem = scan_->take(r)) {
    core().note_refusal(problem);
    return end(error::refused);
  }
  page_ = read_keys(r, options().prefix);
  // No lock can have a key of this form.
  std::erase_if(page_, [&](const std::string& key) { return check_name(key.substr(options().prefix.size()), key); });
  look();
}

void list_op::look() {
  if (page_.empty()) return go_on();
  // What follows has limits of its own.
  core().set(*this, clock::time_point::max());
  std::vector<std::vector<std::string>> groups;
  std::map<std::uint16_t, std::size_t> last;  // By slot: its group that is not full.
  for (const auto& key : page_) {
    const auto [group, is_new] = last.try_emplace(core().has_slots() ? slot_of(key) : 0, groups.size());
    if (!is_new && groups[group->second].size() == most_in_one_script) group->second = groups.size();
    if (group->second == groups.size()) groups.emplace_back();
    groups[group->second].push_back(key);
  }
  anew_ = false;
  looking_ = groups.size();
  const auto self = std::static_pointer_cast<list_op>(shared_from_this());
  for (const auto& records : groups) {
    std::make_shared<look_op>(handle(),
                              asio::bind_executor(core().strand(),
                                                  [self](error_code ec, std::vector<listed_lock> found) {
                                                    self->looked(ec, std::move(found));
                                                  }),
                              records, scan_)
        ->start();
  }
}

void list_op::looked(error_code ec, std::vector<listed_lock> found) {
  if (ec == look_op::ask_anew()) {
    anew_ = true;
  } else if (ec) {
    problem_ = ec;
  }
  std::move(found.begin(), found.end(), std::back_inserter(found_));
  if (--looking_ != 0 || !self_) return;
  if (problem_) return end(problem_);
  anew_ ? look() : go_on();
}

void list_op::go_on() {
  if (scan_->cursor() != "0") return ask();
  if (!routes_.empty()) return scan_next();
  // SCAN may return a key twice.
  const auto by_name = [](const listed_lock& a, const listed_lock& b) { return a.name < b.name; };
  const auto same_name = [](const listed_lock& a, const listed_lock& b) { return a.name == b.name; };
  std::stable_sort(found_.begin(), found_.end(), by_name);
  found_.erase(std::unique(found_.begin(), found_.end(), same_name), found_.end());
  end(error_code(), std::move(found_));
}

void list_op::scan_next() {
  scan_->begin();
  std::string next = std::move(routes_.back());
  routes_.pop_back();
  ask(std::move(next));
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
  std::make_shared<list_op>(handle, std::move(h))->start(one_store(handle));
}

void start_show(const std::shared_ptr<client_handle>& handle,
                asio::any_completion_handler<void(error_code, lock_status)> h, std::string name) {
  auto op = std::make_shared<show_op>(handle, std::move(h), identity_of(handle, std::move(name)));
  op->start(one_store(handle, op->bad_name()));
}

void start_break(const std::shared_ptr<client_handle>& handle,
                 asio::any_completion_handler<void(error_code, broken_lock)> h, std::string name, bool force) {
  auto op = std::make_shared<break_op>(handle, std::move(h), identity_of(handle, std::move(name)), force);
  op->start(one_store(handle, op->bad_name()));
}

}  // namespace leasehold::detail
