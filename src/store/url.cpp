// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/url.hpp"

#include "store/secrets.hpp"

#include <leasehold/error.hpp>

#include <boost/algorithm/string/predicate.hpp>
#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace leasehold::detail {
namespace {

// Servers in memory have no ports, but the nodes of a cluster have addresses.
constexpr std::string_view port_in_memory = "1";

constexpr std::string_view known_parameters[] = {
    "db", "insecure", "ca", "cert", "key", "keys", "tls_server_name", "sentinel_user", "sentinel_password"};

class parser {
 public:
  parser(std::string_view url, std::string_view which) : url_(url), which_(which), rest_(url) {}

  address parse() {
    if (rest_.starts_with("memory:")) return parse_memory("memory:", address::scheme::redis);
    if (rest_.starts_with("memory+cluster:")) return parse_memory("memory+cluster:", address::scheme::cluster);
    const auto colon = rest_.find("://");
    if (colon == rest_.npos) fail("has no scheme: " + schemes());
    const std::string_view scheme = rest_.substr(0, colon);
    rest_.remove_prefix(colon + 3);
    for (const char c : rest_) {
      if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) fail("contains a space or a control character");
    }
    if (const auto hash = rest_.find('#'); hash != rest_.npos) fail("has a fragment");
    std::string_view query;
    if (const auto mark = rest_.find('?'); mark != rest_.npos) {
      query = rest_.substr(mark + 1);
      rest_ = rest_.substr(0, mark);
    }
    address a;
    if (scheme == "redis" || scheme == "rediss") {
      a.kind = scheme == "redis" ? address::scheme::redis : address::scheme::rediss;
      a.tls = scheme == "rediss";
      parse_authority(a, /*many=*/false, "6379");
      parse_database(a, path());
    } else if (scheme == "unix") {
      a.kind = address::scheme::unix_socket;
      parse_user(a);
      if (!rest_.starts_with('/')) fail("needs an absolute path: unix:///path");
      a.path = decode(rest_);
      // sockaddr_un holds 107 bytes and a terminator on Linux.
      if (a.path.size() > 107) fail("has a path that is longer than a unix socket's 107 bytes");
      if (a.path.find('\0') != a.path.npos) fail("has a path with a NUL byte");
    } else if (scheme == "redis+sentinel" || scheme == "rediss+sentinel") {
      a.kind = address::scheme::sentinel;
      a.tls = scheme == "rediss+sentinel";
      parse_authority(a, /*many=*/true, "26379");
      const std::string_view p = path();
      const auto slash = p.find('/');
      // What is meant to be a password with a slash in it would be taken for hosts and a name, and be shown.
      if (p.find('@') != p.npos) fail("has an '@' behind the hosts: write %2F for a '/' in a password, %40 for an '@'");
      a.master = decode(p.substr(0, slash));
      if (a.master.empty()) fail("names no master: redis+sentinel://host:26379/master-name");
      if (slash != p.npos) parse_database(a, p.substr(slash + 1));
    } else if (scheme == "redis+cluster" || scheme == "rediss+cluster") {
      a.kind = address::scheme::cluster;
      a.tls = scheme == "rediss+cluster";
      parse_authority(a, /*many=*/true, "6379");
      if (!path().empty()) fail("names a database, and a cluster has only one");
    } else {
      fail("has an unknown scheme: " + schemes());
    }
    parse_query(a, query);
    a.shown = without_credentials(url_);
    a.secrets.emplace_back(behind_password(a.master));
    a.secrets.emplace_back(behind_password(a.path));
    for (const auto& h : a.hosts) a.secrets.emplace_back(behind_password(h.host));
    a.secrets.emplace_back(behind_password(a.server_name));
    return a;
  }

 private:
  // Every byte of a malformed URL may belong to a password, so `why` repeats none.
  [[noreturn]] void fail(const std::string& why) const {
    const std::string subject = which_.empty() ? only_scheme(url_) : std::string(which_) + only_scheme(url_);
    throw exception(make_error_code(error::invalid_url), {.detail = subject + " " + why});
  }

  // memory:NAME is a server of the program's own tests (leasehold::testing). memory+cluster:NAME is a node of a cluster
  // of the simulation (test/simulation).
  address parse_memory(std::string_view scheme, address::scheme kind) const {
    std::string_view name = rest_.substr(scheme.size());
    address a;
    if (const auto mark = name.find('?'); mark != name.npos && kind == address::scheme::redis) {
      if (name.substr(mark) != "?keys=tagged") fail("has an unknown parameter: known is keys=tagged");
      a.has_tagged_keys = true;
      name = name.substr(0, mark);
    }
    const bool is_name = !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
    if (!is_name) fail("needs a name of 1 to 64 letters, digits, '_' or '-': memory:NAME");
    a.kind = kind;
    a.in_memory = true;
    a.hosts = {{std::string(name), std::string(port_in_memory)}};
    a.shown = url_;
    return a;
  }

  static std::string schemes() {
    return "known are redis, rediss, unix, redis+sentinel, rediss+sentinel, redis+cluster and rediss+cluster";
  }

  // The value of a credential.
  std::string decode_secret(address& a, std::string_view s) const {
    std::string plain = decode(s);
    a.secrets.emplace_back(s);
    a.secrets.push_back(plain);
    return plain;
  }

  std::string decode(std::string_view s) const {
    std::string out;
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (s[i] != '%') {
        out += s[i];
        continue;
      }
      unsigned value = 0;
      const char* first = s.data() + i + 1;
      if (s.size() - i < 3) fail("has a broken percent escape");
      const auto [end, ec] = std::from_chars(first, first + 2, value, 16);
      if (ec != std::errc() || end != first + 2) fail("has a broken percent escape");
      out += static_cast<char>(value);
      i += 2;
    }
    return out;
  }

  // The part behind the authority's slash.
  std::string_view path() const { return rest_.empty() ? rest_ : rest_.substr(1); }

  // [user:password@]
  void parse_user(address& a) {
    const std::string_view authority = rest_.substr(0, rest_.find('/'));
    const auto at = authority.rfind('@');
    if (at == authority.npos) return;
    const std::string_view info = authority.substr(0, at);
    const auto colon = info.find(':');
    if (colon == info.npos) fail("has a user without a password: user:password@host");
    a.user = decode_secret(a, info.substr(0, colon));
    a.password = decode_secret(a, info.substr(colon + 1));
    rest_.remove_prefix(at + 1);
  }

  void parse_authority(address& a, bool many, std::string_view default_port) {
    parse_user(a);
    const auto slash = rest_.find('/');
    std::string_view authority = rest_.substr(0, slash);
    rest_ = slash == rest_.npos ? std::string_view() : rest_.substr(slash);
    for (;;) {
      const auto comma = authority.find(',');
      a.hosts.push_back(parse_host(authority.substr(0, comma), default_port));
      if (comma == authority.npos) break;
      if (!many) fail("has several hosts; give several URLs for a quorum");
      authority.remove_prefix(comma + 1);
    }
  }

  host_and_port parse_host(std::string_view s, std::string_view default_port) const {
    host_and_port h;
    if (s.starts_with('[')) {
      const auto close = s.find(']');
      if (close == s.npos) fail("has an IPv6 address without its closing bracket");
      h.host = s.substr(1, close - 1);
      s.remove_prefix(close + 1);
      if (!s.empty() && !s.starts_with(':')) fail("has something between host and port");
    } else {
      const auto colon = s.find(':');
      h.host = decode(s.substr(0, colon));
      s.remove_prefix(colon == s.npos ? s.size() : colon);
      if (s.find(':', 1) != s.npos) fail("has an IPv6 address without brackets, or two ports");
    }
    if (h.host.empty()) fail("has no host");
    if (h.host.find('\0') != h.host.npos) fail("has a host with a NUL byte");
    h.port = s.empty() ? default_port : s.substr(1);
    const auto port = number(h.port);
    if (!port || *port == 0 || *port > 65535) fail("has a port that is not a number from 1 to 65535");
    h.port = std::to_string(*port);  // Without zeros in front: a quorum counts each server once.
    return h;
  }

  void parse_database(address& a, std::string_view s) const {
    if (s.empty()) return;
    const auto n = number(s);
    if (!n || *n > 2147483647U) fail("has a database that is not a number");
    a.database = *n;
  }

  void parse_query(address& a, std::string_view query) const {
    const bool sentinel = a.kind == address::scheme::sentinel;
    while (!query.empty()) {
      const auto amp = query.find('&');
      const std::string_view item = query.substr(0, amp);
      query = amp == query.npos ? std::string_view() : query.substr(amp + 1);
      if (item.empty()) continue;
      const auto equals = item.find('=');
      const std::string_view key = item.substr(0, equals);
      const std::string_view written = equals == item.npos ? std::string_view() : item.substr(equals + 1);
      const std::string value = decode(written);
      if (key == "db" && a.kind == address::scheme::unix_socket) {
        if (value.empty()) fail("has a database that is not a number");
        parse_database(a, value);
      } else if (key == "keys" && a.kind != address::scheme::cluster && value == "tagged") {
        a.has_tagged_keys = true;
      } else if (key == "insecure" && a.tls && (value == "1" || value == "0")) {
        a.verify = value == "0";
      } else if (key == "ca" && a.tls && !value.empty()) {
        a.ca = value;
      } else if (key == "cert" && a.tls && !value.empty()) {
        a.certificate = value;
      } else if (key == "key" && a.tls && !value.empty()) {
        a.key = value;
      } else if (key == "tls_server_name" && a.tls && is_server_name(value)) {
        a.server_name = value;
      } else if (key == "sentinel_user" && sentinel) {
        a.sentinel_user = decode_secret(a, written);
      } else if (key == "sentinel_password" && sentinel) {
        a.sentinel_password = decode_secret(a, written);
      } else {
        fail_parameter(key);
      }
    }
    if (a.certificate.empty() != a.key.empty()) fail("has only one of cert and key, which belong together");
    if (a.sentinel_password.empty() && !a.sentinel_user.empty())
      fail("has a sentinel_user without a sentinel_password");
  }

  // SNI has room for 255 bytes.
  static bool is_server_name(const std::string& name) {
    return !name.empty() && name.size() <= 255 && std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
             c == '_' || c == ':';
    });
  }

  // What looks like another parameter may be part of a password, so only known names are repeated.
  [[noreturn]] void fail_parameter(std::string_view key) const {
    std::string known;
    for (const auto name : known_parameters) {
      if (name == key)
        fail("has a wrong value of '" + std::string(name) + "', or its scheme does not know that parameter");
      known += (known.empty() ? "" : ", ") + std::string(name);
    }
    fail("has an unknown parameter: known are " + known);
  }

  static std::optional<std::uint32_t> number(std::string_view s) {
    std::uint32_t n = 0;
    const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), n);
    if (s.empty() || ec != std::errc() || end != s.data() + s.size()) return std::nullopt;
    return n;
  }

  std::string_view url_;
  std::string_view which_;
  std::string_view rest_;
};

// An address has several forms: ::1 and 0:0:0:0:0:0:0:1.
bool is_same_host(const std::string& a, const std::string& b) {
  boost::system::error_code no_address;
  const auto one = boost::asio::ip::make_address(a, no_address);
  if (no_address) return boost::algorithm::iequals(a, b);
  const auto other = boost::asio::ip::make_address(b, no_address);
  return !no_address && one == other;
}

}  // namespace

address parse_url(std::string_view url, std::string_view which) { return parser(url, which).parse(); }

bool is_same_server(const address& a, const address& b) {
  if (a.path != b.path || a.master != b.master || a.in_memory != b.in_memory) return false;
  const auto has = [](const address& other, const host_and_port& one) {
    return std::any_of(other.hosts.begin(), other.hosts.end(), [&](const host_and_port& h) {
      return (other.in_memory ? h.host == one.host : is_same_host(h.host, one.host)) && h.port == one.port;
    });
  };
  return a.hosts.empty() == b.hosts.empty() &&
         (a.hosts.empty() || std::any_of(a.hosts.begin(), a.hosts.end(), [&](const auto& h) { return has(b, h); }));
}

}  // namespace leasehold::detail
