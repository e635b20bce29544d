// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "plain_redis.hpp"

#include "arguments.hpp"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/redis/connection.hpp>

#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>

namespace support {

namespace asio = boost::asio;
namespace redis = boost::redis;

namespace {

constexpr std::chrono::seconds limit{10};

redis::config parse(const std::string& url) {
  redis::config config;
  config.reconnect_wait_interval = std::chrono::seconds(0);  // A connection that has ended stays so.
  config.health_check_interval = limit;
  std::string_view rest = url;
  const auto drop = [&](std::string_view prefix) {
    if (!rest.starts_with(prefix)) return false;
    rest.remove_prefix(prefix.size());
    return true;
  };
  if (drop("unix://") && rest.starts_with('/')) {
    config.unix_socket = rest;
  } else if ((drop("redis://") || drop("redis+cluster://")) && rest.find('/') == rest.npos) {
    rest = rest.substr(0, rest.find(','));
    const auto colon = rest.rfind(':');
    config.addr.host = rest.substr(0, colon);
    if (colon != rest.npos) config.addr.port = rest.substr(colon + 1);
  } else {
    config.addr.host.clear();
  }
  // What this small connection cannot do is refused, and not left out.
  if (config.addr.host.empty() || config.addr.port.empty() || rest.find_first_of("@?%[]") != rest.npos ||
      config.addr.port.find_first_not_of("0123456789") != std::string::npos) {
    throw usage_error("the URL: this example understands redis://HOST:PORT and unix:///PATH only");
  }
  return config;
}

}  // namespace

struct plain_redis::state {
  state(asio::any_io_executor executor, std::string u)
      : url(std::move(u)), connection(std::move(executor), redis::logger(redis::logger::level::disabled)) {}

  const std::string url;
  redis::connection connection;
  boost::system::error_code ended;  // Why there is no connection any more.
};

plain_redis::plain_redis(asio::any_io_executor executor, const std::string& url)
    : state_(std::make_shared<state>(std::move(executor), url)) {
  state_->connection.async_run(parse(url), [s = state_](boost::system::error_code failure) {
    s->ended = failure;
    s->connection.cancel();  // Commands would wait for a connection otherwise.
  });
}

plain_redis::~plain_redis() { state_->connection.cancel(); }

asio::awaitable<std::string> plain_redis::send(std::vector<std::string> words) {
  const auto s = state_;
  redis::request request;
  request.push_range(words.front(), std::next(words.begin()), words.end());
  redis::generic_response response;
  if (!s->ended) {
    auto operation =
        s->connection.async_exec(request, response, asio::cancel_after(limit, asio::as_tuple(asio::deferred)));
    const auto [failure, size] = co_await std::move(operation);
    const auto cancelled = co_await asio::this_coro::cancellation_state;
    if (cancelled.cancelled() != asio::cancellation_type_t::none) {
      throw boost::system::system_error(asio::error::operation_aborted);
    }
    if (failure && !s->ended) s->ended = failure == asio::error::operation_aborted ? asio::error::timed_out : failure;
  }
  if (s->ended) throw std::runtime_error(fmt::format("{}: {}", s->url, s->ended.message()));
  if (response.has_error()) throw redis_error(response.error().diagnostic);
  std::string text;
  for (const redis::resp3::node& node : *response) {
    if (redis::resp3::is_aggregate(node.data_type)) continue;
    if (!text.empty()) text += ' ';
    text += node.data_type == redis::resp3::type::null ? "nil" : node.value;
  }
  co_return text;
}

}  // namespace support
