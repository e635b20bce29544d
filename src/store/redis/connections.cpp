// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/redis/connections.hpp"

#include "protocol/refusal.hpp"

#include <boost/redis/error.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace leasehold::detail {

namespace redis = boost::redis;

redis::config common_config(std::chrono::milliseconds limit, std::chrono::milliseconds silence) {
  redis::config config;
  config.use_setup = true;
  config.setup.clear();
  config.resolve_timeout = limit;
  config.connect_timeout = limit;
  config.ssl_handshake_timeout = limit;
  // A connection without an answer for twice as long ends.
  config.health_check_interval = std::max<std::chrono::milliseconds>(shortest_health_check, silence);
  config.reconnect_wait_interval = std::chrono::seconds(0);
  config.max_read_size = longest_reply;
  return config;
}

redis::logger make_logger() {
  return redis::logger(redis::logger::level::disabled, [](redis::logger::level, std::string_view) {});
}

redis::request make_request() {
  redis::request::config config;
  config.cancel_if_unresponded = true;
  config.cancel_on_connection_lost = true;
  return redis::request(config);
}

void push_hello(redis::request& to, const std::string& user, const std::string& password) {
  if (user.empty() && password.empty()) {
    to.push("HELLO", "3", "SETNAME", "leasehold");
  } else {
    to.push("HELLO", "3", "AUTH", user.empty() ? "default" : user, password, "SETNAME", "leasehold");
  }
}

std::string why_no_hello(std::string_view words) { return why_it_cannot_serve(words, "HELLO"); }

bool is_error(const redis::resp3::node_view& node) {
  return node.data_type == redis::resp3::type::simple_error || node.data_type == redis::resp3::type::blob_error;
}

void add_node(reply& r, const redis::resp3::node_view& node, error_code& ec) {
  switch (node.data_type) {
    case redis::resp3::type::array:
    case redis::resp3::type::map:
    case redis::resp3::type::set:
    case redis::resp3::type::push:
    case redis::resp3::type::attribute: return;
    default: break;
  }
  if (r.size() == most_scalars) {
    ec = redis::error::exceeds_maximum_read_buffer_size;
    return;
  }
  if (is_error(node)) r.set_error();
  r.add(node.value);
}

}  // namespace leasehold::detail
