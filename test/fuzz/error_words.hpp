// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The words of a server's error: what they mean for an operation, and how they are shown.
#pragma once

#include "cli/text.hpp"
#include "protocol/refusal.hpp"
#include "store/redis/connections.hpp"

#include <leasehold/detail/printable.hpp>

#include <string>
#include <string_view>

namespace leasehold::test {

inline std::string check_error_words(std::string_view words) {
  using namespace detail;
  const refusal meant = classify(words);
  // Redis before 7 puts words of its own around those of a command that failed inside a script.
  const std::string wrapped = "ERR Error running script (call to f_0): @user_script:1: -" + std::string(words);
  const auto code = words.substr(0, words.find(' '));
  const bool has_code =
      !code.empty() && code != words && code.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == code.npos;
  if (has_code && meant != refusal::no && classify(wrapped) != meant && words.find(" non local ") == words.npos &&
      words.find("WRONGTYPE ") == words.npos && words.find("TRYAGAIN ", 1) == words.npos) {
    return "wrapped by a script, the words mean something else";
  }
  if (words.starts_with("WRONGTYPE ") && meant != refusal::wrong_type) return "a wrong type is not seen";
  if (words.starts_with("MOVED ") && !(meant == refusal::try_again && is_redirection(words)))
    return "a move is not seen";
  if (words.starts_with("TRYAGAIN ") && meant != refusal::moving_slot) return "a slot that is being moved is not seen";
  if (words.starts_with("READONLY ") && !(is_read_only(words) && is_read_only(wrapped))) return "a replica is not seen";
  if (!may_have_written(wrapped)) return "an error inside a script is taken for one before it";

  const auto shown = shortened(words);
  if (shown.size() > 500 || !words.starts_with(shown)) return "the shortened words are not a beginning of 500 bytes";
  if (words.size() <= 500 && shown != words) return "short words are shortened";
  if (is_utf8(words) && !is_utf8(shown)) return "a character is cut in two";

  const std::string line = printable(words);
  if (!is_utf8(line)) return "what is printed is not UTF-8";
  for (const char c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return "a control character is printed";
  }
  if (printable(line) != line) return "what is printable is changed";
  if (cli::in_quotes(words).size() > 4 * 100 + 5) return "a long word is not shortened";

  // What repeats HELLO's arguments has a password in it.
  const std::string hello =
      "ERR unknown command 'HELLO', with args beginning with: 'AUTH' '" + std::string(words) + "'";
  if (why_no_hello(hello) != why_no_hello("ERR unknown command")) return "the arguments of HELLO are repeated";
  return {};
}

}  // namespace leasehold::test
