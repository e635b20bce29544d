// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What must be true of every URL, however broken.
#pragma once

#include "fuzz/known_secret.hpp"
#include "store/secrets.hpp"
#include "store/url.hpp"

#include <leasehold/error.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace leasehold::test {

inline bool is_port(const std::string& text) {
  std::uint32_t port = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), port);
  return ec == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

// Of a URL that was understood.
inline std::string check_address(const detail::address& a) {
  using scheme = detail::address::scheme;
  const bool is_path = a.kind == scheme::unix_socket;
  if (a.hosts.empty() != is_path) return "only a unix socket has no host";
  if (a.hosts.size() > 1 && a.kind != scheme::sentinel && a.kind != scheme::cluster) return "there are several hosts";
  for (const auto& h : a.hosts) {
    if (h.host.empty() || h.host.find('\0') != h.host.npos || !is_port(h.port)) return "a host or a port cannot be";
  }
  if (a.path.empty() == is_path) return "only a unix socket has a path";
  if (a.path.size() > 107 || a.path.find('\0') != a.path.npos) return "the path cannot be a socket's";
  if (a.master.empty() == (a.kind == scheme::sentinel)) return "only a Sentinel group has a master";
  if (a.kind == scheme::cluster && a.database != 0) return "a cluster has one database";
  if (a.database > 2147483647U) return "the database is out of range";
  if (!a.tls && !(a.verify && a.ca.empty() && a.certificate.empty() && a.key.empty())) return "TLS is set without TLS";
  if (a.certificate.empty() != a.key.empty()) return "there is a certificate without a key, or a key alone";
  if (!detail::is_same_server(a, a)) return "the server is not the same as itself";
  return {};
}

// What may be shown of a URL without credentials is a URL, and names the same server.
inline std::string check_shown(const detail::address& a) {
  if (a.shown.find('@') != a.shown.npos || a.shown.ends_with("***")) return {};
  const auto again = detail::parse_url(a.shown);
  return detail::is_same_server(a, again) && a.kind == again.kind ? "" : "what may be shown is another server";
}

// What stands behind "password" may be one in a wrong place: a parameter in the place of a path, for example.
inline std::string check_behind_password(const detail::address& a) {
  if (a.in_memory) return {};  // Its name is that of a store in the program.
  if (shows_behind_password(a.shown)) return "what may be shown shows it: " + a.shown;
  const detail::secrets all(a.secrets);
  std::vector<std::string> names{a.master, a.path};
  for (const auto& h : a.hosts) names.push_back(h.host);
  for (const auto& name : names) {
    const std::string said = all.hide("Sentinel h:1: knows no master '" + name + "'");
    if (shows_behind_password(said)) return "the server's words show it: " + said;
  }
  return {};
}

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
  if (auto wrong = check_address(a); !wrong.empty()) return wrong;
  if (auto wrong = check_shown(a); !wrong.empty()) return wrong;
  if (auto wrong = check_behind_password(a); !wrong.empty()) return wrong;
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

inline std::string check_broken_urls(std::string_view input) { return check_broken_url(with_secret(input)); }

}  // namespace leasehold::test
