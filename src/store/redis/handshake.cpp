// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "store/redis/handshake.hpp"

#include "store/redis/connections.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace leasehold::detail {
namespace {

// The places of the replies. SUBSCRIBE has none.
enum : std::size_t { hello, select, info, publish, time, role };

// The value of "name:value\r\n" in the reply to INFO.
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

// Of an error. There always are some: "" stands for no problem.
std::string words_of(const reply& r) {
  return r.text(0).empty() ? "the server gives no reason" : std::string(r.text(0));
}

// In microseconds.
std::optional<std::int64_t> read_time(const reply& r) {
  std::uint32_t seconds = 0;
  std::uint32_t microseconds = 0;
  if (!r.read(0, seconds) || !r.read(1, microseconds) || seconds == 0 || microseconds >= 1000000) return std::nullopt;
  return std::int64_t{seconds} * 1000000 + microseconds;
}

// A server that was started by a clock ahead of its own, or that tells nonsense, counts as just started.
std::chrono::seconds read_uptime(const std::string& text) {
  std::uint32_t seconds = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  return std::chrono::seconds(ec == std::errc() && end == text.data() + text.size() ? seconds : 0);
}

}  // namespace

handshake::handshake(const address& where, const std::string& channel, bool must_be_master)
    : request_(make_request()), must_be_master_(must_be_master) {
  push_hello(request_, where.user, where.password);
  // Database 0 needs no SELECT, and a user without the right to it none either. PING keeps the replies in their places.
  if (where.database == 0) {
    request_.push("PING");
  } else {
    request_.push("SELECT", where.database);
  }
  request_.push("INFO");
  // Scripts publish, and what they are refused there is not seen.
  if (channel.empty()) {
    request_.push("PING");
  } else {
    request_.push("PUBLISH", channel, "");
  }
  // A refusal takes the place of the reply to TIME, since the confirmation is a push and no reply.
  if (!channel.empty()) request_.push("SUBSCRIBE", channel);
  request_.push("TIME");
  if (must_be_master_) request_.push("ROLE");
}

std::optional<handshake::outcome> handshake::read(const std::vector<reply>& replies) const {
  if (replies.size() != (must_be_master_ ? role + 1 : time + 1)) return std::nullopt;
  outcome o;
  for (const auto needed : {hello, select, time}) {
    if (!replies[needed].is_error()) continue;
    o.problem = words_of(replies[needed]);
    if (needed == hello) o.problem = why_no_hello(o.problem);
    // A busy server is one that does not answer yet.
    o.refused = classify(o.problem) != refusal::try_again;
    return o;
  }
  if (const auto now = read_time(replies[time])) {
    o.time = *now;
  } else {
    o.problem = "the server's answer to TIME is no time";
    return o;
  }
  // The Sentinels have not noticed yet, or the server not yet. A user may have the right to neither ROLE nor INFO: then
  // the first script finds out.
  const std::string_view about = replies[info].text(0);
  if (must_be_master_ && (replies[role].text(0) == "slave" || field_of(about, "role") == "slave")) {
    o.problem = "the master is a replica";
    return o;
  }
  // The scripts print numbers of 53 bits with %d, which has the bits of a long there.
  if (!replies[info].is_error() && field_of(about, "arch_bits") == "32") {
    o.problem = "the server is a 32-bit build; leasehold needs a 64-bit one";
    o.refused = true;
    return o;
  }
  if (!replies[info].is_error()) {  // A user without the right to INFO can do without.
    o.server.version = field_of(about, "redis_version");
    o.server.maxmemory_policy = field_of(about, "maxmemory_policy");
    o.server.uptime = read_uptime(field_of(about, "uptime_in_seconds"));
    o.run_id = field_of(about, "run_id");
  }
  if (replies[publish].is_error()) o.server.publish_refusal = words_of(replies[publish]);
  return o;
}

}  // namespace leasehold::detail
