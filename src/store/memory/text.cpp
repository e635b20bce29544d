// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/memory/text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace leasehold::detail::memory {
namespace {

char lower_of(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Whether the set that begins with "[" contains c. Leaves `pattern` at the last character of the set.
bool is_in_set(std::string_view& pattern, char c) {
  pattern.remove_prefix(1);
  const bool negated = !pattern.empty() && pattern[0] == '^';
  if (negated) pattern.remove_prefix(1);
  bool found = false;
  std::string_view last = pattern;
  for (; !pattern.empty() && pattern[0] != ']'; pattern.remove_prefix(1)) {
    if (pattern[0] == '\\' && pattern.size() >= 2) {
      pattern.remove_prefix(1);
      found = found || pattern[0] == c;
    } else if (pattern.size() >= 3 && pattern[1] == '-') {
      const auto [low, high] = std::minmax({pattern[0], pattern[2]});
      pattern.remove_prefix(2);
      found = found || (c >= low && c <= high);
    } else {
      found = found || pattern[0] == c;
    }
    last = pattern;
  }
  if (pattern.empty()) pattern = last;
  return found != negated;
}

}  // namespace

std::optional<std::int64_t> to_integer(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  const bool is_negative = text[0] == '-';
  const char first = text[is_negative ? 1 : 0];
  if (first == '0' && (is_negative || text.size() > 1)) return std::nullopt;
  return n;
}

std::optional<double> to_score(std::string_view text) {
  constexpr std::int64_t exact = std::int64_t{1} << 53;
  if (const auto n = to_integer(text); n && *n >= -exact && *n <= exact) return static_cast<double>(*n);
  const std::string copy(text);
  if (copy.empty() || std::isspace(static_cast<unsigned char>(copy[0]))) return std::nullopt;
  char* end = nullptr;
  const double d = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || std::isnan(d)) return std::nullopt;
  return d;
}

std::string from_score(double d) {
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  number_text text;
  // Integers are the same in all versions of the servers; of other numbers, Redis 7.0 shows 17 digits.
  return std::string(write_number(d, text));
}

std::string_view write_number(double d, number_text& to) {
  // Most are whole, and there is a quicker way for these. (-0 is "-0".)
  if (std::abs(d) < 1e15 && d == std::trunc(d) && !(d == 0 && std::signbit(d))) {
    const auto [end, failure] = std::to_chars(to.data(), to.data() + to.size(), static_cast<std::int64_t>(d));
    return {to.data(), static_cast<std::size_t>(end - to.data())};
  }
  return {to.data(), static_cast<std::size_t>(std::snprintf(to.data(), to.size(), "%.17g", d))};
}

bool matches(std::string_view pattern, std::string_view text) {
  // Two rules of Redis: "*" matches every key, and any other pattern (unless it is empty) does not match an empty key.
  if (pattern == "*") return true;
  if (text.empty()) return pattern.empty();
  while (!pattern.empty() && !text.empty()) {
    switch (pattern[0]) {
      case '*':
        while (pattern.size() > 1 && pattern[1] == '*') pattern.remove_prefix(1);
        if (pattern.size() == 1) return true;
        for (; !text.empty(); text.remove_prefix(1)) {
          if (matches(pattern.substr(1), text)) return true;
        }
        return matches(pattern.substr(1), text);
      case '?': break;
      case '[':
        if (!is_in_set(pattern, text[0])) return false;
        break;
      case '\\':
        if (pattern.size() >= 2) pattern.remove_prefix(1);
        [[fallthrough]];
      default:
        if (pattern[0] != text[0]) return false;
    }
    text.remove_prefix(1);
    pattern.remove_prefix(1);
  }
  while (!pattern.empty() && pattern[0] == '*') pattern.remove_prefix(1);
  return pattern.empty() && text.empty();
}

std::string shown(std::string_view bytes) {
  std::string all = "\"";
  for (const char c : bytes) {
    if (c >= ' ' && c <= '~' && c != '"' && c != '\\') {
      all += c;
    } else {
      static constexpr char digits[] = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      all += {'\\', 'x', digits[byte / 16], digits[byte % 16]};
    }
  }
  return all + "\"";
}

std::string in_one_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == '\n')) text.remove_suffix(1);
  while (!text.empty() && (text.front() == '\r' || text.front() == '\n')) text.remove_prefix(1);
  std::string all(text);
  std::replace_if(
      all.begin(), all.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  return all;
}

bool is_word(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (lower_of(text[i]) != lower[i]) return false;
  }
  return true;
}

std::string to_lower(std::string_view text) {
  std::string all(text);
  for (char& c : all) c = lower_of(c);
  return all;
}

}  // namespace leasehold::detail::memory
