// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The connections: each is a coroutine that reads requests, one after the other, and writes their answers.
#pragma once

#include "booking/api.hpp"

#include <leasehold/client.hpp>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>

#include <chrono>
#include <set>

namespace booking {

namespace beast = boost::beast;
using asio::ip::tcp;

class server {
 public:
  server(asio::io_context& context, leasehold::client redis, api& a, unsigned short port)
      : redis_(std::move(redis)), api_(a), acceptor_(context, tcp::endpoint(tcp::v4(), port)) {}

  unsigned port() const { return acceptor_.local_endpoint().port(); }

  asio::awaitable<void> accept();

  // Ends in good order: no new requests, those under way have the grace to get their answers, and every lock goes back.
  asio::awaitable<void> stop(std::chrono::milliseconds grace);

 private:
  asio::awaitable<void> session(tcp::socket socket);

  leasehold::client redis_;
  api& api_;
  tcp::acceptor acceptor_;
  std::set<tcp::socket*> sessions_;
};

}  // namespace booking
