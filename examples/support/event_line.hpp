// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The lines by which a program tells what it does, for whoever started it. One event a line: a word, the lock's name,
// the time, and what the program adds. Those of the echo server:
//
//   listening PORT
//   waiting NAME at=NANOSECONDS
//   acquired NAME at=NANOSECONDS fence=NUMBER
//   released NAME at=NANOSECONDS fence=NUMBER      the work is over; the lock goes back after this
//   failed NAME at=NANOSECONDS REASON...           the end of a wait without a lock
//
// The time is that of steady_clock, which all processes of a machine share.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace support {

struct event_line {
  enum class kind { listening, waiting, acquired, released, failed };
  kind what{};
  std::string name;  // of the lock
  std::chrono::steady_clock::time_point at{};
  std::uint64_t fence = 0;
  unsigned port = 0;
};

namespace detail {

inline std::string_view take_word(std::string_view& line) {
  const auto end = line.find(' ');
  const auto word = line.substr(0, end);
  line.remove_prefix(end == line.npos ? line.size() : end + 1);
  return word;
}

template <class Number>
bool parse(std::string_view text, std::string_view key, Number& number) {
  if (!text.starts_with(key)) return false;
  text.remove_prefix(key.size());
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size();
}

}  // namespace detail

inline std::optional<event_line> parse_event(std::string_view line) {
  event_line e;
  const auto what = detail::take_word(line);
  if (what == "listening") {
    e.what = event_line::kind::listening;
    return detail::parse(line, "", e.port) ? std::optional(e) : std::nullopt;
  }
  e.name = detail::take_word(line);
  std::chrono::nanoseconds::rep nanoseconds = 0;
  if (!detail::parse(detail::take_word(line), "at=", nanoseconds)) return std::nullopt;
  e.at = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(nanoseconds));
  if (what == "waiting") {
    e.what = event_line::kind::waiting;
    return e;
  }
  if (what == "failed") {
    e.what = event_line::kind::failed;
    return e;
  }
  if (what == "acquired" || what == "released") {
    e.what = what == "acquired" ? event_line::kind::acquired : event_line::kind::released;
    return detail::parse(line, "fence=", e.fence) ? std::optional(e) : std::nullopt;
  }
  return std::nullopt;
}

// Writes an event that happens now; `more` is what follows the time. A whole line at once, or nothing: the reader of a
// killed server sees no half ones.
inline void write_event(std::string_view what, std::string_view name, std::string_view more = {}) {
  const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
  const std::string line = fmt::format("{} {} at={}{}{}\n", what, name, now.count(), more.empty() ? "" : " ", more);
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

}  // namespace support
