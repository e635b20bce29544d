// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A store that is one server in memory, over a network that a test makes: the counterpart of redis/redis.cpp over
// Boost.Redis.
#pragma once

#include "store/memory/server.hpp"
#include "store/pipeline.hpp"
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

// The network between clients and servers. Its time is that of the test: the clocks of clients and servers may differ
// from it.
class network {
 public:
  // How long the next message takes. Messages of one connection stay in order.
  virtual clock::duration takes() = 0;
  // How long a client gathers calls before it sends them in one command; 0: until the end of the turn.
  virtual clock::duration gathers() { return clock::duration(0); }
  // How many calls may be under way on a connection (pipeline::most_under_way).
  virtual std::size_t most_under_way() { return pipeline::most_under_way; }
  // For a message whose connection was cut before it arrived: how much later it arrives; none: never.
  virtual std::optional<clock::duration> late() = 0;
  virtual clock::time_point now() = 0;
  // Calls the function at that time. If it is time already, this may happen at once.
  virtual void at(clock::time_point, std::function<void()>) = 0;
  // The same for messages that arrive at the server, and at the client, at that time.
  virtual void to_server(clock::time_point when, std::function<void()> arrives) { at(when, std::move(arrives)); }
  virtual void to_client(clock::time_point when, std::function<void()> arrives) { at(when, std::move(arrives)); }
  // Guards the server and its connections if clients run in several threads; empty if there is one thread.
  virtual std::unique_lock<std::recursive_mutex> lock() { return {}; }
  // The store has stopped: functions that wait need not be called any more. Only for a network of one store.
  virtual void stop() {}

 protected:
  ~network() = default;
};

// A connection that the test can cut. The client notices that, and connects again. network::late decides what happens
// to messages on their way to the server; messages on their way to the client are lost.
class connection {
 public:
  virtual void cut() = 0;

 protected:
  ~connection() = default;
};

// The server exists as long as the network does. `on_connect` is called for each connection.
struct endpoint {
  server* to;
  std::shared_ptr<network> over;
  std::function<void(std::shared_ptr<connection>)> on_connect;
};

// The options belong to the client, as for make_redis_servers. `strand`: the client's.
std::shared_ptr<redis_server> make_memory_store(boost::asio::any_io_executor strand, endpoint where,
                                                const client_options& options, std::string channel,
                                                leasehold::detail::store::events& events,
                                                redis_server::router* router = nullptr);

}  // namespace leasehold::detail::memory
