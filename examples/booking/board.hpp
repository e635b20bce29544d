// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the page shows: every seat, and who holds its lock, whichever instance that is.
#pragma once

#include "booking/blocking.hpp"
#include "booking/table.hpp"

#include <leasehold/leasehold.hpp>

#include <boost/asio.hpp>

#include <chrono>
#include <string>

namespace booking {

class board {
 public:
  board(leasehold::client redis, table& rows, blocking_thread& database, std::string name)
      : redis_(std::move(redis)), table_(rows), database_(database), name_(std::move(name)) {}

  // The rows alone, as JSON.
  asio::awaitable<std::string> seats();

  // The rows and the locks, as JSON. However many ask, Redis is asked a few times a second.
  asio::awaitable<std::string> seats_and_locks();

 private:
  asio::awaitable<std::string> look();

  leasehold::client redis_;
  table& table_;
  blocking_thread& database_;
  std::string name_;
  std::string latest_;
  std::chrono::steady_clock::time_point taken_;
  bool looking_ = false;
};

}  // namespace booking
