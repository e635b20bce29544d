// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The network between one store of a client and its server in memory, in programs with contexts, threads and time of
// their own.
#pragma once

#include "store/memory/memory_store.hpp"
#include "store/memory/scripting.hpp"
#include "store/memory/server.hpp"
#include "time/clock.hpp"
#include "time/timer.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace leasehold::detail {

class clients_network;

// The objects that the servers of this process share. Lua must be used by one thread at a time.
struct common_ground {
  std::recursive_mutex mutex;
  memory::scripting scripting;
  std::set<clients_network*> networks;

  static const std::shared_ptr<common_ground>& get();
};

struct server_in_memory {
  server_in_memory();

  const std::shared_ptr<common_ground> common;
  memory::server server;
};

// Messages arrive at once, inside the call that sends them. Later ones wait in one timer, on the client's strand; the
// store cancels it when it stops.
class clients_network final : public memory::network, public std::enable_shared_from_this<clients_network> {
 public:
  clients_network(boost::asio::any_io_executor strand, std::shared_ptr<server_in_memory> to);
  ~clients_network();
  clients_network(const clients_network&) = delete;
  clients_network& operator=(const clients_network&) = delete;

  memory::server& server() { return to_->server; }

  clock::duration takes() override { return clock::duration(0); }
  std::optional<clock::duration> late() override { return std::nullopt; }
  clock::time_point now() override { return clock::now(); }
  void at(clock::time_point, std::function<void()>) override;
  std::unique_lock<std::recursive_mutex> lock() override {
    return std::unique_lock<std::recursive_mutex>(to_->common->mutex);
  }
  void stop() override;

  // Makes the timers of the client's context notice that the clock was moved.
  void wake();

 private:
  void arm();
  void ring();

  const boost::asio::any_io_executor strand_;
  const std::shared_ptr<server_in_memory> to_;
  timer timer_;
  clock::time_point armed_for_ = clock::time_point::max();
  std::multimap<clock::time_point, std::function<void()>> waiting_;
  bool stopped_ = false;
};

}  // namespace leasehold::detail
