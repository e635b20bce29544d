// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// From an HTTP request to its answer: which endpoint it is for, whether it makes sense, and with what status it ends.
#pragma once

#include "booking/board.hpp"
#include "booking/metrics.hpp"
#include "booking/service.hpp"

#include <boost/beast/http.hpp>

#include <chrono>
#include <random>
#include <string>
#include <string_view>

namespace booking {

using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

class api {
 public:
  // The counts of slow waits have to live as long.
  api(leasehold::client redis, service& s, board& b, std::chrono::milliseconds deadline, const slow_wait_counts& waits)
      : redis_(std::move(redis)), service_(s), board_(b), deadline_(deadline), waits_(waits) {}

  // Never throws: whatever goes wrong has a status.
  asio::awaitable<response> respond(const request& r);

  // The answer to what could not be read as a request.
  response malformed(http::status status, std::string_view why);

 private:
  struct route;

  asio::awaitable<response> dispatch(const request& r, const route& to, const std::string& id);
  asio::awaitable<answer> act(const request& r, const route& to, const std::string& id);
  response counted(std::string_view endpoint, response r);
  std::string new_id();

  leasehold::client redis_;
  service& service_;
  board& board_;
  std::chrono::milliseconds deadline_;
  const slow_wait_counts& waits_;
  response_counts counts_;
  std::mt19937_64 random_{std::random_device()()};
};

}  // namespace booking
