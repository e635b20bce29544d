// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/redis_server.hpp"
#include "support/temporary_folder.hpp"

#include <boost/asio.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace leasehold::test {

// Stands between clients and a server and does what networks do, step by step as the test says. It runs on the test's
// own io_context, whose thread alone may call it.
class proxy {
 public:
  // Listens on a unix socket, or on this port of 127.0.0.1.
  proxy(const boost::asio::any_io_executor& executor, const redis_server& server);
  proxy(const boost::asio::any_io_executor& executor, const redis_server& server, unsigned short port);
  ~proxy();  // takes no new connections; those there are end by themselves
  proxy(const proxy&) = delete;
  proxy& operator=(const proxy&) = delete;

  std::string url() const;

  // From now on, after so many further bytes, what arrives is kept back; also on connections to come.
  void hold_requests(std::size_t after = 0);
  void hold_replies(std::size_t after = 0);

  // After so many further bytes every connection is cut, once; connections to come are not touched.
  void cut_after_requests(std::size_t bytes);
  void cut_after_replies(std::size_t bytes);

  // Passes on what was kept back, and everything from now on.
  void pass();

  // The same, except for connections whose client has gone: their requests wait for pass().
  void pass_connected();

  // Cuts now. What was kept back is gone.
  void cut();

  // Cuts the clients' side only, as they see a partition: the requests that were kept back arrive at the server with
  // pass(), as those in the buffers of a closed socket do. It is the same if a client itself closes its connection.
  void cut_clients();

  // Every connection there is goes dead without being closed: bytes are taken and thrown away.
  void swallow();

  // From now on each piece of up to 16 KB waits for so long before it is passed on, and what follows it waits behind
  // it.
  void slow(std::chrono::milliseconds each);

  // New connections lead to this server, as behind a name or an address that stands for another one now.
  void lead_to(const redis_server& server);

  // New connections are closed at once.
  void refuse(bool on = true);

  std::size_t accepted() const;       // connections so far
  std::size_t open() const;           // connections whose client is still there
  std::size_t late() const;           // connections whose client has gone and whose requests have not all arrived
  std::string_view requests() const;  // all that clients have sent
  std::string_view replies() const;   // all that servers have sent
  void forget();                      // clears the two

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace leasehold::test
