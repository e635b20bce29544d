// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What some tests need of the machine. Without it they count as skipped.
#pragma once

#include <boost/test/unit_test.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace leasehold::test {

inline bool has_ipv6() {
  const int s = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool has = s >= 0 && ::bind(s, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  if (s >= 0) ::close(s);
  return has;
}

// ./dev test installs it on Debian.
inline bool has_chromium() { return std::system("command -v chromium >/dev/null") == 0; }

// BOOST_AUTO_TEST_CASE(name, *needs(has_ipv6, "this machine has no IPv6"))
inline boost::unit_test::precondition needs(bool (*there)(), const char* if_not) {
  return boost::unit_test::precondition([=](boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result result(there());
    result.message() << if_not;
    return result;
  });
}

}  // namespace leasehold::test
