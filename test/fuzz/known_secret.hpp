// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/algorithm/string/predicate.hpp>

#include <string>
#include <string_view>

namespace leasehold::test {

// Long and unusual: it is nothing that the library says by itself.
inline constexpr std::string_view known_secret = "hUnTeR2-zQx7";

inline bool shows_secret(std::string_view text) { return text.find(known_secret) != text.npos; }

// An input with the secret in place of each '$'.
inline std::string with_secret(std::string_view input) {
  std::string text;
  for (const char c : input) c == '$' ? text += known_secret : text += c;
  return text;
}

// Whether the secret stands behind "password".
inline bool shows_behind_password(std::string_view text) {
  const auto at = text.find(known_secret);
  return at != text.npos && boost::algorithm::icontains(text.substr(0, at), "password");
}

// Whether something in it must not be shown: the secret in front of an '@', or behind "password".
inline bool has_credential(std::string_view text) {
  const auto last = text.rfind(known_secret);
  if (last == text.npos) return false;
  return text.find('@', text.find(known_secret)) != text.npos ||
         boost::algorithm::icontains(text.substr(0, last), "password");
}

}  // namespace leasehold::test
