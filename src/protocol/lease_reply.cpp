// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/lease_reply.hpp"

#include <charconv>
#include <limits>
#include <system_error>

namespace leasehold::detail {

lease_reply::lease_reply(std::string_view text) noexcept {
  const char* at = text.data();
  const char* const end = at + text.size();
  bool fine = true;
  const auto next = [&](auto& number, char behind) {
    const auto [stopped, ec] = std::from_chars(at, end, number);
    fine = fine && ec == std::errc() && (stopped == end ? behind == '\0' : behind != '\0' && *stopped == behind);
    at = stopped == end ? end : stopped + 1;
  };
  std::int64_t number = 0;
  std::int64_t left_ms = 0;
  std::uint32_t seconds = 0;
  std::uint32_t microseconds = 0;
  next(number, ' ');
  next(fence, ' ');
  next(left_ms, ' ');
  next(seconds, ' ');
  next(microseconds, at < end && std::find(at, end, ' ') != end ? ' ' : '\0');
  if (at != end) next(depth, '\0');
  // No script grants a fence that does not fit in 63 bits.
  fine = fine && number >= static_cast<std::int64_t>(detail::status::other_limit) &&
         number <= static_cast<std::int64_t>(detail::status::waits);
  if (fine) status = static_cast<detail::status>(number);
  understood =
      fine && microseconds < 1000000 && fence <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  left = bounded_left(left_ms);
  server_time = std::int64_t{seconds} * 1000000 + microseconds;
}

}  // namespace leasehold::detail
