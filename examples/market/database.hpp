// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/redis/request.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace market {

namespace asio = boost::asio;
namespace redis = boost::redis;

// What Redis answered to a command: a text, nothing, or the items of a list, whose lists are unrolled.
struct reply {
  bool nil = false;
  std::string text;
  std::vector<std::string> items;
};

// A connection to Redis for data. It is made once: what WATCH watches would be forgotten by a second one unnoticed.
class database {
 public:
  // redis://[user:password@]host[:port][/db] or unix:///path[?db=N], else a support::usage_error that names it.
  database(asio::io_context& context, const std::string& url);
  ~database();  // Closes the connection.
  database(const database&) = delete;
  database& operator=(const database&) = delete;

  // The commands go out together, and with those of other coroutines. One reply for each of them. An error in any of
  // them is a std::runtime_error with Redis's words.
  asio::awaitable<std::vector<reply>> run(const redis::request& commands);

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace market
