// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "duration.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace leasehold::cli {
namespace {

struct unit {
  std::string_view name;
  std::int64_t milliseconds;
};
constexpr unit units[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};
constexpr const char* known_units = "ms, s, m, h or d";

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  const auto digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

}  // namespace

std::chrono::milliseconds parse_duration(std::string_view text) {
  if (text.starts_with('-')) throw std::invalid_argument("a duration cannot be negative");
  std::string_view rest = text;
  const auto whole = take_digits(rest);
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
    if (fraction.empty()) throw std::invalid_argument("not a duration, for example 250ms, 5s or 1.5h");
  }
  if (whole.empty()) throw std::invalid_argument("not a duration, for example 250ms, 5s or 1.5h");
  while (fraction.ends_with('0')) fraction.remove_suffix(1);

  std::int64_t milliseconds = 0;
  if (rest.empty()) {
    // Without a unit, seconds cannot be distinguished from milliseconds; only 0 needs none.
    if (!fraction.empty() || whole.find_first_not_of('0') != whole.npos) {
      throw std::invalid_argument(fmt::format("the unit is missing: {}", known_units));
    }
    return std::chrono::milliseconds(0);
  }
  for (const auto& u : units) {
    if (rest == u.name) milliseconds = u.milliseconds;
  }
  if (milliseconds == 0) throw std::invalid_argument(fmt::format("the unit must be {}", known_units));

  const auto too_long = [] { return std::invalid_argument("the duration is too long"); };
  std::int64_t sum = 0;
  for (const char c : whole) {
    if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, c - '0', &sum)) throw too_long();
  }
  if (__builtin_mul_overflow(sum, milliseconds, &sum)) throw too_long();
  // A whole number of milliseconds has at most ten decimals, in days; so this is exact and cannot overflow.
  std::int64_t numerator = milliseconds;
  std::int64_t denominator = 1;
  if (fraction.size() <= 10) {
    std::int64_t digits = 0;
    for (const char c : fraction) {
      digits = digits * 10 + (c - '0');
      denominator *= 10;
    }
    numerator *= digits;
  }
  if (fraction.size() > 10 || numerator % denominator != 0) {
    throw std::invalid_argument("a duration is a whole number of milliseconds");
  }
  if (!fraction.empty() && __builtin_add_overflow(sum, numerator / denominator, &sum)) throw too_long();
  return std::chrono::milliseconds(sum);
}

std::string to_text(std::chrono::milliseconds d) {
  for (const auto& u : units) {
    if (d.count() != 0 && d.count() % u.milliseconds == 0)
      return fmt::format("{}{}", d.count() / u.milliseconds, u.name);
  }
  return "0s";
}

}  // namespace leasehold::cli
