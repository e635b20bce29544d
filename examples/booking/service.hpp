// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What can be done with a seat. Each request does it under the seat's lock, and changes the row under the lock's fence.
#pragma once

#include "booking/blocking.hpp"
#include "booking/table.hpp"

#include <leasehold/leasehold.hpp>

#include <boost/asio.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/json/object.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace booking {

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace json = boost::json;

// One request on its way through the handlers: who it is, and until when it may wait.
struct call {
  std::string id;
  std::chrono::steady_clock::time_point deadline;
};

struct answer {
  http::status status = http::status::ok;
  json::object body;
};

answer refusal(http::status status, std::string_view why);
json::object as_json(const row& r);

// The lock of a seat. Whoever comes with the same request is let in again, also by another instance.
leasehold::recursive_mutex lock_of(const leasehold::client& redis, const std::string& seat, const std::string& request);

struct settings {
  std::string name;                 // of this instance
  std::chrono::milliseconds lease;  // of a seat's lock
  std::chrono::milliseconds work;   // how long a payment takes
};

class service {
 public:
  service(leasehold::client redis, table& rows, blocking_thread& database, settings s)
      : redis_(std::move(redis)), table_(rows), database_(database), settings_(std::move(s)) {}

  // The arguments have to live until the operation has ended.
  asio::awaitable<answer> reserve(const call& c, const std::string& seat, const std::string& customer);
  asio::awaitable<answer> pay(const call& c, const std::string& seat);
  asio::awaitable<answer> cancel(const call& c, const std::string& seat);
  asio::awaitable<answer> buy(const call& c, const std::string& seat, const std::string& customer);

  // Success if Redis answers.
  asio::awaitable<answer> health();

 private:
  template <class Work>
  asio::awaitable<answer> under_lock(const call& c, const std::string& seat, Work& work);
  answer without_lock(const std::string& seat, leasehold::error_code failure) const;

  leasehold::client redis_;
  table& table_;
  blocking_thread& database_;
  settings settings_;
};

}  // namespace booking
