// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Bytes from outside (a server's words, names of locks, what a user has typed) made safe to show: one line, valid
// UTF-8, nothing that a terminal obeys, and not too long. Header-only, because the library and the command both have
// it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace leasehold::detail {

// The length of the UTF-8 sequence that `text` begins with, or 0: neither overlong forms nor surrogates, as RFC 3629
// says. `text` is not empty.
constexpr std::size_t utf8_length(std::string_view text) noexcept {
  const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  const std::size_t n = first >= 0xc2 && first < 0xe0   ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (n == 0 || text.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = at(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) || (first == 0xf0 && second < 0x90) ||
      (first == 0xf4 && second >= 0x90)) {
    return 0;
  }
  return n;
}

constexpr bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto n = utf8_length(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

// Of a valid UTF-8 sequence.
constexpr char32_t code_point(std::string_view character) noexcept {
  const auto first = static_cast<unsigned char>(character[0]);
  char32_t point = character.size() == 1 ? first : first & (0x7fU >> character.size());
  for (const char c : character.substr(1)) point = point << 6 | (static_cast<unsigned char>(c) & 0x3fU);
  return point;
}

// A valid UTF-8 sequence that is not shown as it is. U+0080 to U+009F are control characters as well, which some
// terminals obey. U+2028 and U+2029 end lines; those around U+202E and U+2066 change the order in which the characters
// behind them are shown.
constexpr bool is_control(std::string_view character) noexcept {
  const char32_t c = code_point(character);
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

// Control characters and what is not UTF-8 become \n, \x1b and so on, so that a line stays one line.
inline std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string line;
  while (!text.empty()) {
    const auto n = utf8_length(text);
    const auto character = text.substr(0, n == 0 ? 1 : n);
    if (n != 0 && !is_control(character)) {
      line += character;
    } else if (character == "\n") {
      line += "\\n";
    } else {
      for (const char c : character) {
        const auto byte = static_cast<unsigned char>(c);
        (line += "\\x") += {digits[byte >> 4U], digits[byte & 15U]};
      }
    }
    text.remove_prefix(character.size());
  }
  return line;
}

// The first `most` bytes, 500 unless told. A UTF-8 sequence is not cut in the middle.
constexpr std::string_view shortened(std::string_view words, std::size_t most = 500) noexcept {
  if (words.size() <= most) return words;
  const auto continues = [&](std::size_t i) { return (static_cast<unsigned char>(words[i]) & 0xc0U) == 0x80U; };
  std::size_t end = most;
  while (end > 0 && end + 4 > most && continues(end)) --end;
  // There are more continuation bytes than a sequence has: the text is not UTF-8, and any place is fine.
  return words.substr(0, continues(end) ? most : end);
}

}  // namespace leasehold::detail
