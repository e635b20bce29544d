// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store_options.hpp"

#include "exit_code.hpp"
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

namespace leasehold::cli {
namespace {

// Whether a word looks like a URL: redis+sentinel://...
bool begins_with_scheme(std::string_view word) {
  const auto end = word.find("://");
  return end != word.npos && end != 0 && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz+") == end;
}

// The URLs in a text with blanks between them. A word without a scheme is not another URL but a part of the one before
// it: of a password with a blank in it, for example, which must not be taken for a URL that may be shown.
std::vector<std::string> urls_in_words(const std::string& text) {
  constexpr const char* blanks = " \t\r\n";
  std::vector<std::string> urls;
  for (std::size_t end = 0, begin; (begin = text.find_first_not_of(blanks, end)) != text.npos;) {
    const std::size_t blank_from = end;
    end = std::min(text.find_first_of(blanks, begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (urls.empty() || begins_with_scheme(word)) {
      urls.push_back(word);
    } else {
      urls.back() += text.substr(blank_from, begin - blank_from) + word;
    }
  }
  return urls;
}

// One URL in each line.
std::vector<std::string> urls_in_file(const std::string& path) {
  // Enough for thousands of URLs, and an end for a device.
  constexpr std::size_t longest = 1 << 20;
  std::string text(longest + 1, '\0');
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    throw failure(exit_code::usage,
                  fmt::format("{}: {}", word_in_quotes(path), std::strerror(errno != 0 ? errno : EIO)));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  std::vector<std::string> urls;
  std::istringstream lines(text);
  for (std::string line; text.size() <= longest && std::getline(lines, line);) {
    while (!line.empty() && std::string_view(" \t\r").find(line.back()) != std::string_view::npos) line.pop_back();
    if (!line.empty()) urls.push_back(std::move(line));
  }
  if (urls.empty())
    throw failure(exit_code::usage, fmt::format("{}: there is no URL in this file", word_in_quotes(path)));
  return urls;
}

}  // namespace

store_options with_variables(store_options given) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (given.urls.empty() && given.file.empty()) {
    given.urls = urls_in_words(variable("LEASEHOLD_REDIS"));
    if (given.urls.empty()) given.file = variable("LEASEHOLD_REDIS_FILE");
  }
  return given;
}

store_options store_of(store_options given) {
  given = with_variables(std::move(given));
  if (given.urls.empty() && !given.file.empty()) given.urls = urls_in_file(given.file);
  if (given.urls.empty()) given.urls.emplace_back(default_url);
  if (!given.user.empty() && given.password_file.empty() && given.password_command.empty()) {
    throw failure(exit_code::usage, "--user is for --password-file and --password-command; a URL names its own");
  }
  return given;
}

}  // namespace leasehold::cli
