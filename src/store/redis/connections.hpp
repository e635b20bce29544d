// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The parts that all connections made with Boost.Redis share, to a server (redis.hpp) or to a Sentinel (sentinels.hpp).
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

// A reply may have at most this many bytes and scalars: a page of `list` with all holds has some 400,000. A server that
// sends a longer reply loses the connection. (Boost.Redis keeps one whole reply in memory.)
inline constexpr std::size_t longest_reply = std::size_t{16} * 1024 * 1024;
inline constexpr std::size_t most_scalars = 1000000;

// Boost.Redis checks no sooner whether a connection still answers.
inline constexpr std::chrono::seconds shortest_health_check{10};

// A configuration without an address. Boost.Redis's own handshake is off, so that the client sees the server's words.
// Its own reconnection is off, since the client reconnects with backoff and jitter. limit: for each step until the
// connection is up. silence: a reply may take that long.
boost::redis::config common_config(std::chrono::milliseconds limit, std::chrono::milliseconds silence);

// Discards Boost.Redis's log: events report what matters.
boost::redis::logger make_logger();

// Boost.Redis must never send a request again that was written but not answered when the connection was lost: whether
// it ran is unknown, and the callers know how to ask. A request that still waits is of no use on another connection.
boost::redis::request make_request();

// Adds HELLO, with which every connection begins. Without a user and a password it has no AUTH.
void push_hello(boost::redis::request&, const std::string& user, const std::string& password);

// Why the server refuses HELLO, from its words. A server that does not know HELLO repeats the arguments, with the
// password.
std::string why_no_hello(std::string_view words);

bool is_error(const boost::redis::resp3::node_view&);

// Adds one node of a reply. Sets an error for a reply that is too long; Boost.Redis then ends the connection.
void add_node(reply&, const boost::redis::resp3::node_view&, error_code&);

// The same for the replies to one request. Boost.Redis announces a reply again with each piece of its first line that
// arrives. So a reply begins with its first node, not with the announcement.
inline void add_to_last(std::vector<reply>& replies, bool& begins, boost::redis::any_adapter::parse_event e,
                        const boost::redis::resp3::node_view& node, error_code& ec) {
  using event = boost::redis::any_adapter::parse_event;
  if (e == event::init) begins = true;
  if (e != event::node) return;
  if (std::exchange(begins, false)) replies.emplace_back();
  add_node(replies.back(), node, ec);
}

}  // namespace leasehold::detail
