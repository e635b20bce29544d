// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What hides credentials. The first line of an input has credentials with '|' between them, the rest is what a server
// says. The whole input is a word of the command line, too, and the name of a file.
#pragma once

#include "cli/text.hpp"
#include "fuzz/known_secret.hpp"
#include "fuzz/replies_of.hpp"
#include "store/secrets.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace leasehold::test {

inline std::string check_credentials(std::string_view input) {
  const std::string word = with_secret(input);
  if (shows_secret(detail::only_scheme(word))) return "the scheme of a broken URL shows the secret";
  if (has_credential(word)) {
    if (shows_secret(cli::word_in_quotes(word))) return "a word of the command line shows the secret";
    if (shows_secret(detail::file_in_quotes(word))) return "the name of a file shows the secret";
  }
  std::string_view line = take_part(input, '\n');
  std::vector<std::string> credentials;
  while (!line.empty()) credentials.emplace_back(take_part(line, '|'));
  const std::string said = detail::secrets(credentials).hide(input);
  for (const auto& c : credentials) {
    // Shorter ones are hidden where they stand alone, and the mask itself cannot be hidden.
    if (c.size() < 4 || c.find('*') != c.npos) continue;
    if (said.find(c.substr(0, 8)) != said.npos) return "a credential is shown: " + said;
  }
  return {};
}

}  // namespace leasehold::test
