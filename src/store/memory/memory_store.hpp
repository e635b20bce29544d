// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// A store that is one server in memory, over a network that a test makes: what redis/redis.cpp is over Boost.Redis.
#pragma once

#include "store/memory/server.hpp"
#include "store/server.hpp"
#include "time/clock.hpp"

#include <leasehold/client.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace leasehold::detail::memory {

// Between clients and servers. Its time is that of the test: clocks of clients and servers may differ from it.
class network {
 public:
  // How long the next message is on its way; messages of one connection stay in order.
  virtual clock::duration takes() = 0;
  // What was sent on a connection that has been cut since and has not arrived: how much later it does; none: never.
  virtual std::optional<clock::duration> late() = 0;
  virtual clock::time_point now() = 0;
  // May call the function at once if it is time.
  virtual void at(clock::time_point, std::function<void()>) = 0;
  // The same for what arrives at the server, and at the client, at that time.
  virtual void to_server(clock::time_point when, std::function<void()> arrives) { at(when, std::move(arrives)); }
  virtual void to_client(clock::time_point when, std::function<void()> arrives) { at(when, std::move(arrives)); }
  // Guards the server and its connections where clients run in several threads; empty where there is one thread.
  virtual std::unique_lock<std::recursive_mutex> lock() { return {}; }
  // The store has stopped: what is not called yet need not be called any more. Only of a network of one store.
  virtual void stop() {}

 protected:
  ~network() = default;
};

// A connection, to be cut by the test: the client notices, and connects again. Of what is on its way to the server,
// network::late decides; what is on its way to the client is lost.
class connection {
 public:
  virtual void cut() = 0;

 protected:
  ~connection() = default;
};

// The server exists as long as the network does. `on_connect` is called with each connection.
struct endpoint {
  server* to;
  std::shared_ptr<network> over;
  std::function<void(std::shared_ptr<connection>)> on_connect;
};

// The options are the client's, as for make_redis_servers. `strand`: on which the client runs.
std::shared_ptr<redis_server> make_memory_store(boost::asio::any_io_executor strand, endpoint where,
                                                const client_options& options, std::string channel,
                                                leasehold::detail::store::events& events,
                                                redis_server::router* router = nullptr);

}  // namespace leasehold::detail::memory
