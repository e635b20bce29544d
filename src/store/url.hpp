// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The URLs that name a store. (Boost.URL parses no host lists and needs a compiled library.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::detail {

struct host_and_port {
  std::string host;
  std::string port;

  bool operator==(const host_and_port&) const = default;
};

struct address {
  enum class scheme { redis, rediss, unix_socket, sentinel, cluster };
  scheme kind = scheme::redis;
  bool in_memory = false;            // A server of the program's own tests, or a cluster of a simulation.
  std::vector<host_and_port> hosts;  // One; more only for sentinel and cluster; none for a unix socket.
  std::string path;                  // Of the unix socket.
  std::string master;                // Of a Sentinel group.
  std::string user;                  // "" : the default user.
  std::string password;              // "" : none.
  std::uint32_t database = 0;
  bool has_tagged_keys = false;  // One address with slots behind it (protocol/keys.hpp).
  bool tls = false;              // With rediss and the schemes made from it.
  bool verify = true;            // TLS: verifies the certificate and the host name.
  // TLS: names of files. `ca`: of a certificate authority ("": the system's). `certificate`: of the client's
  // certificate and those between it and its authority; `key`: of its key ("": none). See store/redis/tls.hpp.
  std::string ca;
  std::string certificate;
  std::string key;
  std::string server_name;        // TLS: what the certificate must name instead of the host. "": the host.
  std::string sentinel_user;      // For the Sentinels themselves; "": the default user.
  std::string sentinel_password;  // "" : none.

  std::string shown;                 // The URL as it may be shown (secrets.hpp).
  std::vector<std::string> secrets;  // Users and passwords, as written in the URL and decoded, and what may be one.
};

// Throws exception(invalid_url) that says what is wrong with the URL. It repeats nothing of the URL but its scheme.
// which: "URL 2 of 3: ", if there are several.
address parse_url(std::string_view url, std::string_view which = {});

// Whether both URLs name the same server (or Sentinel group), judged by their text alone, whatever the database and the
// user.
bool is_same_server(const address&, const address&);

}  // namespace leasehold::detail
