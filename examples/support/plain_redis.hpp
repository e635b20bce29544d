// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A connection to Redis without leasehold: commands as one would type them, and what Redis answers, as text.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace support {

// Redis answered with an error: what() has its words.
struct redis_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class plain_redis {
 public:
  // redis://HOST[:PORT] or unix:///PATH; of redis+cluster://HOST:PORT,... the first node. Throws usage_error.
  plain_redis(boost::asio::any_io_executor executor, const std::string& url);
  ~plain_redis();
  plain_redis(const plain_redis&) = delete;
  plain_redis& operator=(const plain_redis&) = delete;

  // co_await redis.command("SET", "key", "value", "NX") is "OK", or "nil" where redis-cli prints (nil); the items of a
  // list have spaces between them.
  template <class... Words>
  boost::asio::awaitable<std::string> command(const Words&... words) {
    return send(std::vector<std::string>{std::string(words)...});
  }

 private:
  struct state;
  boost::asio::awaitable<std::string> send(std::vector<std::string> words);

  std::shared_ptr<state> state_;
};

}  // namespace support
