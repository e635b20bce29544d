// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "client/failures.hpp"

#include <leasehold/detail/printable.hpp>

#include <cstddef>

namespace leasehold::detail {

// Hides before it shortens: a credential that the limit would cut must not be shown in part.
std::string failures::presentable(std::string_view words) const {
  // What is behind this is never shown, and a server may send far more.
  constexpr std::size_t enough = 65536;
  return printable(shortened(secrets_.hide(words.substr(0, enough))));
}

void failures::hide(const std::vector<std::string>& credentials) {
  for (const auto& c : credentials) secrets_.add(c);
}

std::string failures::last_refusal() const {
  const std::lock_guard lock(mutex_);
  return last_refusal_;
}

std::string failures::last_failure() const {
  const std::lock_guard lock(mutex_);
  return last_failure_;
}

exception::context failures::about(const error_code& ec) const {
  exception::context c{.server = server_};
  if (ec == error::refused) c.detail = last_refusal();
  if (ec == error::unreachable || ec == error::no_quorum) c.detail = last_failure();
  return c;
}

void failures::note_refusal(std::string_view words) {
  std::string shown = presentable(words);
  const std::lock_guard lock(mutex_);
  last_refusal_ = std::move(shown);
}

bool failures::note_failure(std::string_view why) {
  std::string shown = presentable(why);
  const std::lock_guard lock(mutex_);
  if (last_failure_ == shown) return false;
  last_failure_ = std::move(shown);
  return true;
}

}  // namespace leasehold::detail
