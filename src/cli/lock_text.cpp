// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock_text.hpp"

#include "exit_code.hpp"
#include "text.hpp"

#include <boost/json/array.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

namespace leasehold::cli {
namespace {

// Longer names reach beyond their column, so that one of them does not push the other columns aside.
constexpr std::size_t widest_name = 40;

// How many columns a terminal needs, nearly: wide and combining characters are counted as one.
std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string row(const std::string& name, std::size_t width, const std::string& left, const std::string& fence,
                const std::string& waiting, const std::string& kind, const std::string& token) {
  const std::size_t columns = columns_of(name);
  const std::string padding(columns < width ? width - columns : 0, ' ');
  return fmt::format("{}{}  {:>10}  {:>19}  {:>7}  {:<9}  {}", name, padding, left, fence, waiting, kind, token);
}

// How a lock is held, for a narrow column; it shows the kind of the lock.
std::string held_as(const lock_details& lock) {
  if (lock.kind == "recursive_mutex") return fmt::format("{} {}", lock.holders, lock.holders == 1 ? "time" : "times");
  if (lock.kind == "counting_semaphore") return fmt::format("{} of {}", lock.holders, lock.limit);
  if (lock.lingers) return "lingering";
  return lock.mode.empty() ? printable(lock.kind) : holders_text(lock);
}

std::string seconds(const std::optional<std::chrono::milliseconds>& d) {
  return d ? fmt::format("{:.1f} s", static_cast<double>(d->count()) / 1000) : "forever";
}

// Released before acquire_options::at_least was over (docs/protocol.md, "Holds that rest").
bool rests(const std::string& token) { return token.starts_with('~'); }

}  // namespace

void add_bytes(boost::json::object& object, const std::string& key, const std::string& bytes) {
  if (is_utf8(bytes)) {
    object[key] = bytes;
  } else {
    object[key + "_base64"] = base64(bytes);
  }
}

boost::json::object as_json(const std::string& name, const lock_info& info) {
  boost::json::object object;
  add_bytes(object, "name", name);
  object["held"] = info.held;
  add_bytes(object, "token", info.token);
  // A string, because many JSON parsers round numbers of this size.
  object["fence"] = std::to_string(info.fence);
  object["ttl_ms"] = nullptr;
  if (info.ttl) object["ttl_ms"] = info.ttl->count();
  object["waiters"] = info.waiters;
  return object;
}

void add_asker(boost::json::object& object, const std::string& role, const std::string& owner) {
  if (!role.empty()) add_bytes(object, "role", role);
  if (!owner.empty()) add_bytes(object, "owner", owner);
}

void add_details(boost::json::object& object, const lock_details& lock) {
  add_bytes(object, "kind", lock.kind);
  object["holders"] = lock.holders;
  if (!lock.mode.empty()) add_bytes(object, "mode", lock.mode);
  if (lock.limit != 0) object["limit"] = lock.limit;
  if (lock.lingers) object["lingers"] = true;
  if (!lock.owner.empty()) add_bytes(object, "owner", lock.owner);
  boost::json::array holds;
  for (const listed_hold& h : lock.holds) {
    boost::json::object one;
    add_bytes(one, "token", h.token);
    one["fence"] = std::to_string(h.fence);
    one["ttl_ms"] = nullptr;
    if (h.ttl) one["ttl_ms"] = h.ttl->count();
    add_asker(one, h.role, h.owner);
    if (rests(h.token)) one["rests"] = true;
    holds.push_back(std::move(one));
  }
  object["holds"] = std::move(holds);
}

std::string kind_in_words(std::string kind) {
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return "a " + printable(kind);
}

std::string holders_text(const lock_details& lock) {
  if (lock.mode == "writer") return "1 writer";
  if (lock.mode == "readers") return fmt::format("{} {}", lock.holders, lock.holders == 1 ? "reader" : "readers");
  if (lock.limit != 0) return fmt::format("{} of {} permits", lock.holders, lock.limit);
  if (lock.owner.empty()) return rests(lock.token) ? "resting" : "held";
  return fmt::format("held {} {} by {}", lock.holders, lock.holders == 1 ? "time" : "times", printable(lock.owner));
}

std::string held_by_text(const lock_details& lock) {
  if (is_mutex(lock))
    return rests(lock.token) ? "resting after " + printable(lock.token.substr(1)) : "held by " + printable(lock.token);
  return lock.mode.empty() && lock.limit == 0 ? holders_text(lock) : "held by " + holders_text(lock);
}

bool is_mutex(const lock_details& lock) { return lock.kind == "mutex" || (lock.kind.empty() && lock.owner.empty()); }

std::string asker_text(const std::string& role, const std::string& owner) {
  return (role.empty() ? "" : "  " + printable(role)) + (owner.empty() ? "" : "  " + printable(owner));
}

std::string holds_text(const lock_details& lock) {
  std::string text;
  if (lock.kind.empty() || is_mutex(lock)) return text;
  for (const listed_hold& h : lock.holds) {
    text += fmt::format("  *  {}  {} left{}{}\n", printable(h.token), seconds(h.ttl),
                        lock.kind == "counting_semaphore" ? fmt::format("  fence {}", h.fence) : "",
                        asker_text(h.role, lock.kind == "recursive_mutex" ? "" : h.owner));
  }
  if (lock.holders > lock.holds.size()) text += fmt::format("     and {} more\n", lock.holders - lock.holds.size());
  return text;
}

std::string lease_text(const lock_info& info) { return seconds(info.ttl) + (info.ttl ? " left" : ""); }

std::string fence_text(const lock_info& info) {
  // Fences count from 1.
  return info.fence != 0 ? fmt::format("fence {}", info.fence) : "without a fence";
}

std::vector<std::string> table(const std::vector<listed_lock>& locks) {
  std::size_t width = 4;
  std::vector<std::string> names;
  for (const auto& lock : locks) {
    names.push_back(printable(lock.name));
    width = std::max(width, std::min(columns_of(names.back()), widest_name));
  }
  std::vector<std::string> lines;
  lines.push_back(row("NAME", width, "LEFT", "FENCE", "WAITING", "HELD AS", "TOKEN"));
  for (std::size_t i = 0; i < locks.size(); ++i) {
    const listed_lock& lock = locks[i];
    const std::string owner = lock.owner.empty() ? "" : "  " + printable(lock.owner);
    lines.push_back(row(names[i], width, seconds(lock.ttl), std::to_string(lock.fence), std::to_string(lock.waiters),
                        held_as(lock), printable(lock.token) + owner));
  }
  return lines;
}

std::size_t waiters_in(const std::vector<listed_lock>& locks) {
  std::size_t n = 0;
  for (const auto& lock : locks) n += lock.waiters;
  return n;
}

void print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) throw not_written();
}

failure not_written() { return {exit_code::lost, fmt::format("standard output: {}", std::strerror(errno))}; }

}  // namespace leasehold::cli
