// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "admin.hpp"

#include "options.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace leasehold::detail {
namespace {

using std::chrono::milliseconds;

// The states in the replies to show and break.
enum state : std::int64_t { nobodys = 0, ours = 1, foreign = 2, broken = 3 };

// Token, fence, milliseconds left and entries in the line, from the reply's scalar `i` on.
void read_lock(const reply& r, std::size_t i, lock_info& info) {
  info.held = true;
  info.token = r.text(i);
  info.fence = r.number<std::uint64_t>(i + 1);
  if (r.number(i + 2) >= 0) info.ttl = milliseconds(r.number(i + 2));
  info.waiters = r.number<std::size_t>(i + 3);
}

lock_identity identity_of(const std::shared_ptr<client_handle>& handle, std::string name) {
  std::string record = handle->core->options().prefix + name;
  return lock_identity(std::move(name), std::move(record), scripts::admin);
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
    : query(handle, scripts::admin, std::move(h)),
      pattern_(pattern_of(options().prefix)),
      line_of_nobody_(lock_identity("", "", scripts::admin).line) {}

void list_op::write(std::uint32_t, arguments& a) {
  a.arg("list");
  a.arg(pattern_);
  a.arg(cursor_);
  a.arg(line_of_nobody_);
}

void list_op::take(const reply& r) {
  cursor_ = r.text(0);
  const std::string& prefix = options().prefix;
  for (std::size_t i = 1; i + 4 < r.size(); i += 5) {
    const std::string_view record = r.text(i);
    listed_lock lock;
    if (!record.starts_with(prefix)) continue;
    lock.name = record.substr(prefix.size());
    // A key of a form that no lock can have.
    if (check_name(lock.name, record)) continue;
    read_lock(r, i + 1, lock);
    // The script takes any digits for a fence, also 0 and more than 64 bits.
    if (lock.fence != 0) found_.push_back(std::move(lock));
  }
  if (cursor_ != "0") return ask();
  // SCAN may come across a key twice.
  const auto by_name = [](const listed_lock& a, const listed_lock& b) { return a.name < b.name; };
  const auto same_name = [](const listed_lock& a, const listed_lock& b) { return a.name == b.name; };
  std::stable_sort(found_.begin(), found_.end(), by_name);
  found_.erase(std::unique(found_.begin(), found_.end(), same_name), found_.end());
  end(error_code(), std::move(found_));
}

// --- show ---

show_op::show_op(const std::shared_ptr<client_handle>& handle, handler::handler_type h, std::string name)
    : query(handle, scripts::admin, std::move(h)), lock_(identity_of(handle, std::move(name))) {}

error_code show_op::bad_name() const { return check_name(lock_.name, lock_.record); }

void show_op::write(std::uint32_t, arguments& a) {
  lock_.write_keys(a);
  a.arg("show");
}

void show_op::take(const reply& r) {
  lock_status status;
  if (r.number(0) == nobodys) {
    status.waiters = r.number<std::size_t>(4);
  } else {
    read_lock(r, 1, status);
  }
  for (std::size_t i = 5; i + 2 < r.size(); i += 3) {
    waiter w;
    w.token = r.text(i);
    w.lease = milliseconds(r.number(i + 1));
    w.silent = r.number(i + 2) == 1;
    status.line.push_back(std::move(w));
  }
  end(error_code(), std::move(status));
}

// --- break_lock ---

break_op::break_op(const std::shared_ptr<client_handle>& handle, handler::handler_type h, std::string name, bool force)
    : query(handle, scripts::admin, std::move(h)), lock_(identity_of(handle, std::move(name))), force_(force) {}

error_code break_op::bad_name() const { return check_name(lock_.name, lock_.record); }

void break_op::write(std::uint32_t, arguments& a) {
  lock_.write_keys(a);
  a.arg("break");
  a.arg(seen_.token);
  a.arg(fence_);
  if (force_) a.arg("force");
}

void break_op::take(const reply& r) {
  const auto found = r.number(0);
  broken_lock lock;
  if (found != nobodys) read_lock(r, 1, lock);
  lock.name = lock_.name;
  if (found == broken) {
    lock.next = r.text(5);
    return end(error_code(), std::move(lock));
  }
  if (unknown_) {
    // The request that was not answered has done it, or the holder was quicker. Who has it now is the next one.
    seen_.next = lock.token;
    return end(error_code(), std::move(seen_));
  }
  if (found == nobodys) return end(error::not_held);
  if (found == foreign && !force_) return end(error::wrong_type);
  const bool looked = fence_.empty();
  fence_ = r.text(2);
  seen_ = std::move(lock);
  if (looked) return ask();
  changed_hands_ = true;
  ask_again();
}

void start_list(const std::shared_ptr<client_handle>& handle,
                asio::any_completion_handler<void(error_code, std::vector<listed_lock>)> h) {
  make_recycled<list_op>(handle, std::move(h))->start();
}

void start_show(const std::shared_ptr<client_handle>& handle,
                asio::any_completion_handler<void(error_code, lock_status)> h, std::string name) {
  auto op = make_recycled<show_op>(handle, std::move(h), std::move(name));
  op->start(op->bad_name());
}

void start_break(const std::shared_ptr<client_handle>& handle,
                 asio::any_completion_handler<void(error_code, broken_lock)> h, std::string name, bool force) {
  auto op = make_recycled<break_op>(handle, std::move(h), std::move(name), force);
  op->start(op->bad_name());
}

}  // namespace leasehold::detail
