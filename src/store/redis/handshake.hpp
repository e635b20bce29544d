// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The first exchange on a connection to a server, in one pipeline (docs/protocol.md, "The connection"). The client
// names itself and its database. It learns which server this is, and the server's time. It subscribes to the
// notifications of its grants. No I/O: redis.cpp sends the request and acts on the outcome.
//
// Only this class knows the commands and the indexes of their replies.
#pragma once

#include "store/store.hpp"

#include "store/url.hpp"

#include <leasehold/client.hpp>

#include <boost/redis/request.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace leasehold::detail {

class handshake {
 public:
  struct outcome {
    std::string problem;   // Why the connection is of no use, usually in the server's words. "": it can be used.
    bool refused = false;  // The server will answer the same way next time.
    // The store fills in whether this server was seen before.
    store::server server;
    std::string run_id;
    std::int64_t time = 0;  // Of the server's clock, in microseconds.
  };

  // as: who the client is. channel: where the client is notified of its grants; "": nowhere. must_be_master: a Sentinel
  // has said that this server is a master.
  handshake(const address& where, const credentials& as, const std::string& channel, bool must_be_master);

  const boost::redis::request& request() const { return request_; }
  // None: the connection was lost before the last reply.
  std::optional<outcome> read(const std::vector<reply>& replies) const;

 private:
  boost::redis::request request_;
  const bool has_login_;
  const bool has_channel_;
  const bool selects_;  // Else it sends a PING.
  const bool must_be_master_;
};

}  // namespace leasehold::detail
