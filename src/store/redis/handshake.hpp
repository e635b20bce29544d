// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// The first exchange on a connection to a server: who we are and in which database, what server that is and by which
// clock, and that the client is notified of its grants from now on (docs/protocol.md, "The connection"). One pipeline.
// No I/O: redis.cpp sends the request, and does what the outcome says.
//
// The commands and the places of their replies are known here alone.
#pragma once

#include "store/store.hpp"

#include "store/url.hpp"

#include <boost/redis/request.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace leasehold::detail {

class handshake {
 public:
  struct outcome {
    std::string problem;   // Why the connection is of no use: the server's words, as a rule. "": it is.
    bool refused = false;  // The server will say the same the next time.
    // Whether this server was seen before is for the store to say.
    store::server server;
    std::string run_id;
    std::int64_t time = 0;  // Of the server's clock, in microseconds.
  };

  // channel: where the client is notified of its grants; "": nowhere. must_be_master: somebody else has said that this
  // is one.
  handshake(const address& where, const std::string& channel, bool must_be_master);

  const boost::redis::request& request() const { return request_; }
  // None: the connection was lost in between.
  std::optional<outcome> read(const std::vector<reply>& replies) const;

 private:
  boost::redis::request request_;
  const bool must_be_master_;
};

}  // namespace leasehold::detail
