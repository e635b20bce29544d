// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Bytes of a server, read by Boost.Redis's parser as leasehold compiles it (store/redis/BoostRedisParser.cmake).
#pragma once

#include "store/redis/connections.hpp"

#include <boost/redis/resp3/parser.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::test {

struct read_bytes {
  std::vector<detail::reply> replies;
  error_code ec;
  std::size_t used = 0;

  // For the parser.
  bool begins = false;
  void on_init() { begins = true; }
  void on_node(const boost::redis::resp3::node_view& node, error_code& e) {
    detail::add_to_last(replies, begins, boost::redis::any_adapter::parse_event::node, node, e);
  }
  void on_done() {}
};

// As they arrive, in pieces of this size. As Boost.Redis does: the bytes of a message stay until all of it is there.
inline read_bytes read_in_pieces(std::string_view bytes, std::size_t piece) {
  read_bytes r;
  boost::redis::resp3::parser p;
  for (std::size_t end = 0; end < bytes.size();) {
    end = std::min(end + piece, bytes.size());
    while (r.used < end && boost::redis::resp3::parse(p, bytes.substr(r.used, end - r.used), r, r.ec)) {
      if (r.ec) return r;
      r.used += p.get_consumed();
      p.reset();
    }
  }
  return r;
}

inline std::string check_resp3(std::string_view bytes) {
  const auto whole = read_in_pieces(bytes, bytes.size());
  if (whole.used > bytes.size()) return "more bytes are read than there are";
  std::size_t read = 0;
  for (const auto& r : whole.replies) read += r.bytes();
  if (read > bytes.size()) return "the replies are longer than what was sent";
  for (const std::size_t piece : {1U, 3U}) {
    const auto again = read_in_pieces(bytes, piece);
    if (again.ec != whole.ec || again.used != whole.used || again.replies.size() != whole.replies.size()) {
      return "in pieces, the bytes are read otherwise";
    }
    for (std::size_t i = 0; i < whole.replies.size(); ++i) {
      const auto &a = whole.replies[i], &b = again.replies[i];
      if (a.is_error() != b.is_error() || a.size() != b.size()) return "in pieces, a reply is another one";
      for (std::size_t j = 0; j < a.size(); ++j) {
        if (a.text(j) != b.text(j)) return "in pieces, a scalar is another one";
      }
    }
  }
  return {};
}

}  // namespace leasehold::test
