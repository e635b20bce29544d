// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "market/database.hpp"

#include "support/arguments.hpp"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/redis/connection.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace market {
namespace {

bool drop(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// %40 and its like, which stand for characters that a URL gives another meaning.
std::string decode(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    const char* const end = text.data() + std::min(i + 3, text.size());
    int c = 0;
    if (std::from_chars(text.data() + i + 1, end, c, 16).ptr != text.data() + i + 3) {
      throw support::usage_error("% without two hexadecimal digits");
    }
    result += static_cast<char>(c);
    i += 2;
  }
  return result;
}

redis::config config_of(std::string_view url) {
  redis::config config;
  config.reconnect_wait_interval = std::chrono::seconds(0);  // Never.
  config.health_check_interval = std::chrono::seconds(10);   // Of two seconds, a busy machine would be taken for dead.
  std::string_view rest = url;
  std::string_view db;
  if (drop(rest, "unix://")) {
    if (const auto query = rest.find("?db="); query != rest.npos) {
      db = rest.substr(query + 4);
      rest = rest.substr(0, query);
    }
    if (!rest.starts_with('/')) throw support::usage_error("no path");
    config.unix_socket = rest;
  } else if (drop(rest, "redis://")) {
    if (const auto at = rest.rfind('@'); at != rest.npos) {
      const std::string_view who = rest.substr(0, at);
      const auto colon = who.find(':');
      if (colon != who.npos) config.password = decode(who.substr(colon + 1));
      if (colon != 0) config.username = decode(who.substr(0, colon));
      rest.remove_prefix(at + 1);
    }
    if (const auto slash = rest.find('/'); slash != rest.npos) {
      db = rest.substr(slash + 1);
      rest = rest.substr(0, slash);
    }
    // [::1]:6379
    const auto bracket = rest.rfind(']');
    const auto colon = rest.find(':', bracket == rest.npos ? 0 : bracket);
    config.addr.host = rest.substr(0, colon);
    if (bracket != rest.npos) config.addr.host = rest.substr(1, bracket - 1);
    if (config.addr.host.empty()) throw support::usage_error("no host");
    if (colon != rest.npos) {
      const long port = support::parse_number(rest.substr(colon + 1));
      if (port < 1 || port > 65535) throw support::usage_error("a port is 1 to 65535");
      config.addr.port = std::to_string(port);
    }
  } else {
    throw support::usage_error("expected redis://... or unix:///...");
  }
  if (!db.empty()) config.database_index = static_cast<int>(support::parse_number(db));
  return config;
}

bool is_error(const redis::resp3::node_view& node) {
  return node.data_type == redis::resp3::type::simple_error || node.data_type == redis::resp3::type::blob_error;
}

}  // namespace

struct database::state {
  explicit state(asio::io_context& context) : connection(context, redis::logger(redis::logger::level::disabled)) {}

  // The executor is named, where redis::connection knows any: that halves the cost of a command.
  redis::basic_connection<asio::io_context::executor_type> connection;
  boost::system::error_code ended;  // Why there is no connection any more.
};

database::database(asio::io_context& context, const std::string& url) {
  redis::config config;
  try {
    config = config_of(url);
  } catch (const support::usage_error&) {
    // Any part of the URL may be a password.
    throw support::usage_error("--redis wants redis://[USER:PASSWORD@]HOST[:PORT][/DB] or unix:///PATH");
  }
  state_ = std::make_shared<state>(context);
  state_->connection.async_run(config, [s = state_](boost::system::error_code failure) {
    s->ended = failure;
    s->connection.cancel();  // What is to be sent would wait for another connection.
  });
}

database::~database() {
  if (state_) state_->connection.cancel();
}

asio::awaitable<std::vector<reply>> database::run(const redis::request& commands) {
  const auto s = state_;
  std::vector<reply> replies;
  std::string error;
  // It never says that a reply is wrong: Boost.Redis would end the connection.
  redis::any_adapter adapter(
      [&](redis::any_adapter::parse_event e, const redis::resp3::node_view& node, boost::system::error_code&) {
        if (e == redis::any_adapter::parse_event::init) replies.emplace_back();
        if (e != redis::any_adapter::parse_event::node) return;
        if (is_error(node) && error.empty()) error = node.value;
        if (redis::resp3::is_aggregate(node.data_type)) return;
        if (node.depth > 0) {
          replies.back().items.emplace_back(node.value);
        } else {
          replies.back().nil = node.data_type == redis::resp3::type::null;
          replies.back().text = node.value;
        }
      });
  boost::system::error_code failure = s->ended;
  if (!failure) {
    auto operation = s->connection.async_exec(commands, std::move(adapter), asio::as_tuple(asio::use_awaitable));
    const auto [ec, size] = co_await std::move(operation);
    failure = ec;
  }
  if (failure) {
    // The connection tells why; a command that ends with it only knows that it has ended.
    throw std::runtime_error(fmt::format("the connection to Redis: {}", (s->ended ? s->ended : failure).message()));
  }
  if (!error.empty()) throw std::runtime_error(fmt::format("Redis says: {}", error));
  co_return replies;
}

}  // namespace market
