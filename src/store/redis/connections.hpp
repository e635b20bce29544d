// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// What connections made with Boost.Redis have in common, to a server (redis.hpp) or to a Sentinel (sentinels.hpp).
#pragma once

#include "store/store.hpp"

#include <boost/redis/adapter/any_adapter.hpp>
#include <boost/redis/config.hpp>
#include <boost/redis/logger.hpp>
#include <boost/redis/request.hpp>
#include <boost/redis/resp3/node.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::detail {

// No reply is longer, in bytes and in scalars: a page of `list` with all holds has some 400,000. A server that sends more
// loses the connection. (Boost.Redis keeps one whole reply in memory.)
inline constexpr std::size_t longest_reply = std::size_t{16} * 1024 * 1024;
inline constexpr std::size_t most_scalars = 1000000;

// Without an address. Nobody else shakes hands, in order to see the server's words; and nobody else connects again, since
// that is done with backoff and jitter. limit: of each step until the connection is there.
boost::redis::config common_config(std::chrono::milliseconds limit);

// Boost.Redis's log goes nowhere: what matters is reported by events.
boost::redis::logger make_logger();

// A request that was written and not answered when the connection is lost is never sent again by Boost.Redis: whether it
// ran is unknown, and the callers know how to ask. One that waits is of no use on another connection.
boost::redis::request make_request();

// HELLO, which every connection begins with; no user and no password: without AUTH.
void push_hello(boost::redis::request&, const std::string& user, const std::string& password);

// The server's words when it refuses HELLO. A server that does not know it repeats its arguments, with the password.
std::string why_no_hello(std::string_view words);

bool is_error(const boost::redis::resp3::node_view&);

// One reply, node by node. Sets an error for a reply that is too long: Boost.Redis ends the connection then.
void add_node(reply&, const boost::redis::resp3::node_view&, error_code&);

// The same for the replies to one request. Boost.Redis announces a reply again with each piece of its first line that
// arrives, so one begins with its first node.
inline void add_to_last(std::vector<reply>& replies, bool& begins, boost::redis::any_adapter::parse_event e,
                        const boost::redis::resp3::node_view& node, error_code& ec) {
  using event = boost::redis::any_adapter::parse_event;
  if (e == event::init) begins = true;
  if (e != event::node) return;
  if (std::exchange(begins, false)) replies.emplace_back();
  add_node(replies.back(), node, ec);
}

}  // namespace leasehold::detail
