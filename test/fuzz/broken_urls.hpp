// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// What must be true of every URL, however broken. Checked for random ones by the unit tests, and for those that libFuzzer
// makes by test/fuzz/run.
#pragma once

#include "store/secrets.hpp"
#include "store/url.hpp"

#include <leasehold/error.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace leasehold::test {

// Long and unusual: it is nothing that the library says by itself.
inline constexpr std::string_view known_secret = "hUnTeR2-zQx7";

inline bool shows_secret(std::string_view text) { return text.find(known_secret) != text.npos; }

// A URL with the secret in it. Returns what is wrong, or "".
inline std::string check_broken_url(const std::string& url) {
  detail::address a;
  try {
    a = detail::parse_url(url, "URL 1 of 2: ");
  } catch (const exception& e) {
    if (e.code() != error::invalid_url) return "another error: " + e.code().message();
    for (const std::string_view text : {std::string_view(e.what()), std::string_view(e.detail())}) {
      if (shows_secret(text)) return "the exception shows it: " + std::string(text);
    }
    return {};
  }
  // The URL is whole. What was meant as a password may have become the name of a host, which may be shown.
  const bool is_credential = shows_secret(a.user) || shows_secret(a.password) || shows_secret(a.sentinel_user) ||
                             shows_secret(a.sentinel_password);
  if (!is_credential) return {};
  // Not if the host is called so, too.
  const bool twice = shows_secret(a.master) || shows_secret(a.path) ||
                     std::any_of(a.hosts.begin(), a.hosts.end(), [](const auto& h) { return shows_secret(h.host); });
  if (!twice && shows_secret(a.shown)) return "what may be shown shows it: " + a.shown;
  const detail::secrets all(a.secrets);
  for (const std::string* credential : {&a.user, &a.password, &a.sentinel_user, &a.sentinel_password}) {
    const std::string said = "ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'default' '" +
                             *credential + "' 'SETNAME' 'leasehold' ";
    if (shows_secret(all.hide(said))) return "the server's words show it: " + all.hide(said);
  }
  return {};
}

}  // namespace leasehold::test
