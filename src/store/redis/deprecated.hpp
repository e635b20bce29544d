// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Deprecated parts of Boost.Redis that have no replacement. Nothing deprecated is used anywhere else: the build makes
// such a use an error.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/redis/connection.hpp>

namespace leasehold::detail {

// Boost.Redis does not set TCP_NODELAY, but a small script must not wait for the acknowledgement of the one before it.
template <class Connection>
void set_no_delay(Connection& connection) {
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
  boost::system::error_code ignored;
  auto& socket = connection.next_layer().next_layer();
  if (socket.is_open()) socket.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
}

}  // namespace leasehold::detail
