// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// For servers with a coroutine for each connection: its session.
#pragma once

#include <boost/asio.hpp>

#include <chrono>
#include <set>
#include <utility>

namespace support {

namespace asio = boost::asio;
using asio::ip::tcp;

// Begins session(socket) for every connection that comes, until the acceptor is closed. A connection that was accepted
// just before that begins its session after it: each session checks the acceptor before it reads.
template <class Session>
asio::awaitable<void> accept_each(tcp::acceptor& acceptor, Session session) {
  while (acceptor.is_open()) {
    auto [failure, socket] = co_await acceptor.async_accept(asio::as_tuple);
    if (failure) {
      // The end, a client that went away again, or no descriptor left, which takes a while to get better.
      asio::steady_timer pause(acceptor.get_executor(), std::chrono::milliseconds(10));
      co_await pause.async_wait();
      continue;
    }
    asio::co_spawn(acceptor.get_executor(), session(std::move(socket)), asio::detached);
  }
}

// From the first to the last instant of a session its socket is among `all`.
class registered {
 public:
  registered(std::set<tcp::socket*>& all, tcp::socket& socket) : all_(all), socket_(&socket) { all_.insert(socket_); }
  ~registered() { all_.erase(socket_); }
  registered(const registered&) = delete;
  registered& operator=(const registered&) = delete;

 private:
  std::set<tcp::socket*>& all_;
  tcp::socket* socket_;
};

}  // namespace support
