// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "text.hpp"

#include <boost/algorithm/string/predicate.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace leasehold::cli {
namespace {

// The length of the UTF-8 sequence that `text` begins with, or 0: neither overlong forms nor surrogates, as RFC 3629
// says.
std::size_t utf8_length(std::string_view text) noexcept {
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

// Of a valid UTF-8 sequence.
char32_t code_point(std::string_view character) noexcept {
  const auto first = static_cast<unsigned char>(character[0]);
  char32_t point = character.size() == 1 ? first : first & (0x7fU >> character.size());
  for (const char c : character.substr(1)) point = point << 6 | (static_cast<unsigned char>(c) & 0x3fU);
  return point;
}

// U+0080 to U+009F are control characters as well, which some terminals obey. U+2028 and U+2029 end lines; those around
// U+202E and U+2066 change the order in which the characters behind them are shown.
bool is_control(std::string_view character) noexcept {
  const char32_t c = code_point(character);
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto n = utf8_length(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < piece.size() ? static_cast<unsigned char>(piece[i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i) text += i <= piece.size() ? digits[bits >> (18 - 6 * i) & 63] : '=';
    bytes.remove_prefix(piece.size());
  }
  return text;
}

std::string printable(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const auto n = utf8_length(text);
    const auto character = text.substr(0, n == 0 ? 1 : n);
    if (n != 0 && !is_control(character)) {
      line += character;
    } else if (character == "\n") {
      line += "\\n";
    } else {
      for (const char c : character) line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    text.remove_prefix(character.size());
  }
  return line;
}

std::string printable_json(std::string_view json) {
  std::string text;
  while (!json.empty()) {
    const auto n = utf8_length(json);
    const auto character = json.substr(0, n == 0 ? 1 : n);
    if (n != 0 && is_control(character)) {
      text += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code_point(character)));
    } else {
      text += character;
    }
    json.remove_prefix(character.size());
  }
  return text;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t most = 100;
  std::string shortened(text);
  if (shortened.size() > most) {
    shortened.resize(most);
    // Not in the middle of a character.
    for (int i = 0; i < 3 && is_utf8(text) && !is_utf8(shortened); ++i) shortened.pop_back();
    shortened += "...";
  }
  return fmt::format("'{}'", printable(shortened));
}

std::string word_in_quotes(std::string_view word) {
  const bool url = word.find('@') != word.npos || word.find("//") != word.npos;
  const bool parameter = boost::algorithm::icontains(word, "password") || boost::algorithm::icontains(word, "auth");
  if (!url && !parameter) return in_quotes(word);
  // The name of an option is no secret: '--redi=***'.
  const auto end = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-");
  const bool option = word.starts_with("--") && end != word.npos && word[end] == '=';
  return in_quotes(std::string(option ? word.substr(0, end + 1) : std::string_view()) + "***");
}

void complain(std::string_view text) {
  const std::string line = fmt::format("leasehold: {}\n", printable(text));
  // One write, so that the lines of several processes do not mix. If this fails, there is nowhere to report it.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

bool complain_at_once(std::string_view text) {
  pollfd p{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&p, 1, 0) != 1) return false;
  // If a terminal is set so, it stops a background process that writes to it.
  sigset_t stop, before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &stop, &before);
  complain(text.substr(0, 1000));  // A pipe that takes something takes that much.
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return true;
}

}  // namespace leasehold::cli
