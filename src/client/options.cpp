// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "client/options.hpp"

#include <algorithm>
#include <cmath>

namespace leasehold {

client_options::client_options() = default;
client_options::client_options(const client_options&) = default;
client_options::client_options(client_options&&) noexcept = default;
client_options& client_options::operator=(const client_options&) = default;
client_options& client_options::operator=(client_options&&) noexcept = default;
client_options::~client_options() = default;

namespace detail {
namespace {

using std::chrono::milliseconds;

bool is_lease(milliseconds d) noexcept { return d >= milliseconds(1) && d <= longest_lease; }

bool is_backoff(const backoff& b) noexcept {
  return b.first >= milliseconds(1) && b.first <= b.max && b.max <= longest_lease && std::isfinite(b.factor) &&
         b.factor >= 1.0 && b.jitter >= 0.0 && b.jitter <= 1.0;
}

constexpr std::size_t longest_label = 32;

// Does not depend on the locale. (A token is split at dots, colons and blanks.)
bool is_label_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

}  // namespace

bool is_label(std::string_view label) noexcept {
  return !label.empty() && label.size() <= longest_label && std::all_of(label.begin(), label.end(), is_label_character);
}

error_code check_lease(milliseconds lease) noexcept {
  return is_lease(lease) ? error_code() : make_error_code(error::invalid_option);
}

const char* wrong_option(const acquire_options& o) noexcept {
  if (!is_lease(o.lease)) return "acquire_options::lease";
  if (o.wait < milliseconds(0)) return "acquire_options::wait";
  if (!is_backoff(o.retry)) return "acquire_options::retry";
  if (o.margin < milliseconds(0) || o.margin >= o.lease) return "acquire_options::margin";
  if (o.at_least < milliseconds(0) || o.at_least > longest_lease) return "acquire_options::at_least";
  if (o.linger < milliseconds(0) || o.linger > longest_lease) return "acquire_options::linger";
  return nullptr;
}

error_code check(const acquire_options& o) noexcept {
  return wrong_option(o) == nullptr ? error_code() : make_error_code(error::invalid_option);
}

milliseconds first_lease(const acquire_options& o) noexcept { return std::max(o.lease, o.at_least); }

error_code check_name(std::string_view name, std::string_view record) noexcept {
  const bool valid = !name.empty() && name.size() <= 65536 && !record.starts_with("leasehold:");
  return valid ? error_code() : make_error_code(error::invalid_name);
}

void check(const client_options& o) {
  const auto require = [](bool valid, const char* member) {
    if (!valid) throw exception(make_error_code(error::invalid_option), {.option = member});
  };
  require(o.prefix.size() <= 65536, "client_options::prefix");
  require(o.label.empty() || is_label(o.label), "client_options::label");
  require(is_lease(o.connect_timeout), "client_options::connect_timeout");
  require(is_lease(o.command_timeout), "client_options::command_timeout");
  require(o.drift >= 0.0 && o.drift <= 0.5, "client_options::drift");
  require(o.drift_floor >= milliseconds(0) && o.drift_floor <= std::chrono::minutes(1), "client_options::drift_floor");
  require(o.cohort >= std::chrono::microseconds(0) && o.cohort <= std::chrono::seconds(1), "client_options::cohort");
  require(o.restart_delay >= milliseconds(0) && o.restart_delay <= longest_lease, "client_options::restart_delay");
  require(o.idle_timeout == forever || is_lease(o.idle_timeout), "client_options::idle_timeout");
  require(o.slow_wait == forever || is_lease(o.slow_wait), "client_options::slow_wait");
  require(is_backoff(o.reconnect), "client_options::reconnect");
}

std::string default_label(std::string_view host, std::int64_t pid) {
  const std::string end = "-" + std::to_string(pid);
  std::string label(host.substr(0, longest_label - end.size()));
  std::replace_if(
      label.begin(), label.end(), [](char c) { return !is_label_character(c); }, '-');
  return label + end;
}

}  // namespace detail
}  // namespace leasehold
