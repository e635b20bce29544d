// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "text.hpp"

#include <boost/algorithm/string/find.hpp>
#include <boost/algorithm/string/predicate.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace leasehold::cli {

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

std::string printable_json(std::string_view json) {
  std::string text;
  while (!json.empty()) {
    const auto n = detail::utf8_length(json);
    const auto character = json.substr(0, n == 0 ? 1 : n);
    if (n != 0 && detail::is_control(character)) {
      text += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(detail::code_point(character)));
    } else {
      text += character;
    }
    json.remove_prefix(character.size());
  }
  return text;
}

std::string in_quotes(std::string_view text) {
  const auto shown = detail::shortened(text, 100);
  return fmt::format("'{}{}'", printable(shown), shown.size() < text.size() ? "..." : "");
}

std::string word_in_quotes(std::string_view word) {
  const bool url = word.find('@') != word.npos || word.find("//") != word.npos;
  const bool parameter = boost::algorithm::icontains(word, "password") || boost::algorithm::icontains(word, "auth");
  const bool ticket = word.find("lh1.") != word.npos;
  return in_quotes(url || parameter || ticket ? "***" : word);
}

std::string option_in_quotes(std::string_view word) {
  if (!word.starts_with("--")) return in_quotes(word.substr(0, 2));
  constexpr const char* letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  // A password with its host.
  if (const auto end = word.find_first_of("=:@"); end != word.npos && word[end] == '@') return in_quotes("--***");
  const auto name = word.substr(0, word.find_first_not_of(letters));
  // The '=' may have been forgotten.
  const auto password = boost::algorithm::ifind_first(name, "password");
  const std::string_view shown(name.begin(), password.empty() ? name.end() : password.end());
  return in_quotes(fmt::format("{}{}", shown, shown.size() < name.size() ? "***" : ""));
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
