// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/server_info.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

namespace leasehold::detail {
namespace {

// The value of "name:value\r\n" in the reply.
std::string field_of(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
      return std::string(line.substr(name.size() + 1));
    }
    at = end + 1;
  }
  return {};
}

// A server whose start time is ahead of its clock, or whose answer makes no sense, counts as just started.
std::chrono::seconds read_uptime(const std::string& text) {
  std::uint32_t seconds = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  return std::chrono::seconds(ec == std::errc() && end == text.data() + text.size() ? seconds : 0);
}

// "MAJOR.MINOR..." below 6.2, where SET has no GET. A text of any other form is not too old.
bool is_too_old(std::string_view version) {
  unsigned major = 0;
  unsigned minor = 0;
  const char* const end = version.data() + version.size();
  const auto [dot, ec] = std::from_chars(version.data(), end, major);
  if (ec != std::errc() || dot == end || *dot != '.') return false;
  if (std::from_chars(dot + 1, end, minor).ec != std::errc()) return false;
  return major < 6 || (major == 6 && minor < 2);
}

// Why no server like this can serve, by its INFO; "": it can.
std::string why_unfit(std::string_view about) {
  // The scripts print 53-bit numbers with %d. On a 32-bit build, %d has only the bits of a long.
  if (field_of(about, "arch_bits") == "32") return "the server is a 32-bit build; leasehold needs a 64-bit one";
  const std::string version = field_of(about, "redis_version");
  if (is_too_old(version)) return "the server has version " + version + ": Redis 6.2 or later is needed";
  return {};
}

}  // namespace

server_info read_server_info(std::string_view about) {
  server_info found;
  found.server.version = field_of(about, "redis_version");
  found.server.maxmemory_policy = field_of(about, "maxmemory_policy");
  found.server.uptime = read_uptime(field_of(about, "uptime_in_seconds"));
  found.server.has_slots = field_of(about, "cluster_enabled") == "1";
  found.run_id = field_of(about, "run_id");
  found.is_replica = field_of(about, "role") == "slave";
  found.why_unfit = why_unfit(about);
  return found;
}

}  // namespace leasehold::detail
