// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "lock_text.hpp"

#include "exit_code.hpp"
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace leasehold::cli {
namespace {

// Longer names stand out of their column, so that one of them does not push everything aside.
constexpr std::size_t widest_name = 40;

// How many columns a terminal needs, nearly: wide and combining characters are counted as one.
std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string row(const std::string& name, std::size_t width, const std::string& left, const std::string& fence,
                const std::string& waiting, const std::string& token) {
  const std::size_t columns = columns_of(name);
  const std::string padding(columns < width ? width - columns : 0, ' ');
  return fmt::format("{}{}  {:>10}  {:>19}  {:>7}  {}", name, padding, left, fence, waiting, token);
}

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

std::string lease_text(const lock_info& info) {
  return info.ttl ? fmt::format("{:.1f} s left", static_cast<double>(info.ttl->count()) / 1000) : "for ever";
}

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
  lines.push_back(row("NAME", width, "LEFT", "FENCE", "WAITING", "TOKEN"));
  for (std::size_t i = 0; i < locks.size(); ++i) {
    const listed_lock& lock = locks[i];
    const std::string left =
        lock.ttl ? fmt::format("{:.1f} s", static_cast<double>(lock.ttl->count()) / 1000) : "for ever";
    lines.push_back(
        row(names[i], width, left, std::to_string(lock.fence), std::to_string(lock.waiters), printable(lock.token)));
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
  if (written && std::fflush(stdout) == 0) return;
  throw failure(exit_code::lost, fmt::format("standard output: {}", std::strerror(errno)));
}

}  // namespace leasehold::cli
