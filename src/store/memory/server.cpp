// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/memory/server.hpp"

#include "protocol/slots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace leasehold::detail::memory {

server::server(scripting& scripts, clock_function now) : scripting_(scripts), now_(std::move(now)) {
  started_ = now_();
  take_run_id();
  publish_here();
}

void server::publish_here() {
  data_.set_publisher([this](std::string_view channel, std::string_view message, bool of_slot) {
    return publish(channel, message, of_slot);
  });
}

void server::take_run_id() {
  // No other run of any server of this program has it.
  static std::atomic<std::uint64_t> starts{0};
  run_id_ = fmt::format("{:040x}", ++starts);
}

database& server::data() {
  data_.set_time(now_());
  return data_;
}

std::chrono::seconds server::uptime() const {
  return std::max(std::chrono::duration_cast<std::chrono::seconds>(now_() - started_), std::chrono::seconds(0));
}

std::string server::info() const {
  return fmt::format(
      "redis_version:7.0.0\r\narch_bits:{}\r\nrun_id:{}\r\nuptime_in_seconds:{}\r\nmaxmemory_policy:{}\r\n", arch_bits,
      run_id_, uptime().count(), maxmemory_policy);
}

void server::kill() {
  is_up_ = false;
  is_frozen_ = false;
  held_back_.clear();
  close_connections();
}

void server::start(database data) {
  kill();
  // Memory is the machine's.
  data.set_out_of_memory(data_.is_out_of_memory());
  data_ = std::move(data);
  publish_here();
  known_.clear();
  take_run_id();
  started_ = now_();
  is_up_ = true;
}

void server::thaw() {
  is_frozen_ = false;
  for (auto& f : std::exchange(held_back_, {})) f(*this);
}

void server::arrive(std::function<void(server&)> f) {
  if (!is_up_) return;
  if (is_frozen_) {
    held_back_.push_back(std::move(f));
  } else {
    f(*this);
  }
}

reply server::run(const script& s, bool whole_text, scripting::strings keys, scripting::strings arguments, bool asking,
                  bool* wrote) {
  auto refusal = node_ != nullptr ? node_->refuses(keys, asking, /*is_channel=*/false) : std::nullopt;
  if (!refusal && is_busy) refusal = error(busy);
  if (refusal) {
    if (on_run) on_run(s, {arguments.begin(), arguments.end()}, *refusal);
    return *std::move(refusal);
  }
  if (whole_text) {
    known_.insert(&s);
    if (!scripting_.knows(s.sha1)) scripting_.load(s.text);
  } else if (!known_.contains(&s)) {
    return error("NOSCRIPT No matching script. Please use EVAL.");
  }
  // As on AWS ElastiCache Serverless.
  if (keys.empty()) return error("ERR Lua scripts without any input keys are not supported.");
  database& d = data();
  const auto before = d.changes();
  const bool is_in_motion = node_ != nullptr && node_->is_in_motion(keys.front());
  if (is_in_motion) d.limit_scripts([this](database::words accessed) { return node_->are_local(accessed); });
  reply r = scripting_.run_digest(s.sha1, keys, arguments, d, scripting::may_access::declared_keys);
  if (is_in_motion) d.limit_scripts(nullptr);
  if (wrote != nullptr) *wrote = d.changes() != before;
  if (on_run) on_run(s, {arguments.begin(), arguments.end()}, r);
  return r;
}

reply server::execute(const std::vector<std::string>& command) {
  if (node_ != nullptr && command == std::vector<std::string>{"CLUSTER", "NODES"}) return bulk(node_->nodes());
  return data().execute(command);
}

reply server::answer(const std::vector<std::string>& command) { return is_busy ? error(busy) : execute(command); }

std::optional<reply> server::subscribe_in_slot(session& s, const std::string& channel) {
  if (refuses_slot_channels) return error("NOPERM User leasehold has no permissions to run the 'ssubscribe' command");
  const std::string_view key = channel;
  if (node_ != nullptr) {
    if (auto refusal = node_->refuses({&key, 1}, /*asking=*/false, /*is_channel=*/true)) return refusal;
  }
  s.shard_channels.insert(channel);
  return std::nullopt;
}

void server::leave_shard_channels(const std::function<bool(std::uint16_t slot)>& which) {
  for (const auto& weak : sessions_) {
    const auto s = weak.lock();
    if (!s) continue;
    std::erase_if(s->shard_channels, [&](const std::string& channel) {
      const bool leaves = which(slot_of(channel));
      if (leaves) s->on_left(channel);
      return leaves;
    });
  }
}

std::size_t server::connections() const {
  return static_cast<std::size_t>(
      std::count_if(sessions_.begin(), sessions_.end(), [](const auto& weak) { return !weak.expired(); }));
}

void server::detach(const session& s) {
  std::erase_if(sessions_, [&s](const auto& weak) {
    const auto strong = weak.lock();
    return !strong || strong.get() == &s;
  });
}

std::int64_t server::subscribers(std::string_view channel) const {
  return std::count_if(sessions_.begin(), sessions_.end(), [channel](const auto& weak) {
    const auto s = weak.lock();
    return s && s->channels.contains(channel);
  });
}

// Of a cluster, too, the number of those that have received it is this node's.
std::int64_t server::publish(std::string_view channel, std::string_view message, bool of_slot) {
  if (loses && loses(message)) return 0;
  if (node_ != nullptr && !of_slot) node_->publish_elsewhere(channel, message);
  return deliver(channel, message, of_slot);
}

void server::hear(std::string_view channel, std::string_view message) {
  arrive([channel = std::string(channel), message = std::string(message)](server& s) {
    s.deliver(channel, message, /*of_slot=*/false);
  });
}

std::int64_t server::deliver(std::string_view channel, std::string_view message, bool of_slot) {
  std::int64_t receivers = 0;
  for (const auto& weak : sessions_) {
    const auto s = weak.lock();
    if (!s || !(of_slot ? s->shard_channels : s->channels).contains(channel)) continue;
    s->deliver(channel, message);
    ++receivers;
  }
  return receivers;
}

void server::close_connections() {
  for (const auto& weak : std::exchange(sessions_, {})) {
    if (const auto s = weak.lock()) s->close();
  }
}

}  // namespace leasehold::detail::memory
