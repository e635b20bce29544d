// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/redis/handshake.hpp"

#include "protocol/refusal.hpp"
#include "store/redis/connections.hpp"
#include "store/server_info.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace leasehold::detail {
namespace {

// The indexes of the replies. SUBSCRIBE has no reply.
enum : std::size_t { hello, select, info, publish, time, role_of_server };

// The words of an error, never empty: "" stands for no problem.
std::string words_of(const reply& r) {
  return r.text(0).empty() ? "the server gives no reason" : std::string(r.text(0));
}

// The server's time, in microseconds.
std::optional<std::int64_t> read_time(const reply& r) {
  std::uint32_t seconds = 0;
  std::uint32_t microseconds = 0;
  if (!r.read(0, seconds) || !r.read(1, microseconds) || seconds == 0 || microseconds >= 1000000) return std::nullopt;
  return std::int64_t{seconds} * 1000000 + microseconds;
}

// A proxy may accept HELLO 3 and go on as before. The reply names the protocol then.
bool speaks_resp2(const reply& to_hello) {
  for (std::size_t i = 0; i + 1 < to_hello.size(); i += 2) {
    if (to_hello.text(i) == "proto") return to_hello.text(i + 1) == "2";
  }
  return false;
}

}  // namespace

handshake::handshake(const address& where, const credentials& as, const std::string& channel, bool must_be_master)
    : request_(make_request()),
      has_login_(!as.user.empty() || !as.password.empty()),
      has_channel_(!channel.empty()),
      selects_(where.database != 0),
      must_be_master_(must_be_master) {
  push_hello(request_, as.user, as.password);
  // Database 0 needs no SELECT, and the user may not have the right to it. PING keeps the other replies at their
  // indexes.
  if (selects_) {
    request_.push("SELECT", where.database);
  } else {
    request_.push("PING");
  }
  request_.push("INFO");
  // Scripts publish, but a refusal of their PUBLISH is not visible to the client: so it is checked here.
  if (channel.empty()) {
    request_.push("PING");
  } else {
    request_.push("PUBLISH", channel, "");
  }
  // The confirmation of SUBSCRIBE is a push and no reply, but a refusal is a reply: it takes the place of the reply to
  // TIME.
  if (!channel.empty()) request_.push("SUBSCRIBE", channel);
  request_.push("TIME");
  if (must_be_master_) request_.push("ROLE");
}

std::optional<handshake::outcome> handshake::read(const std::vector<reply>& replies) const {
  if (replies.size() != (must_be_master_ ? role_of_server + 1 : time + 1)) return std::nullopt;
  outcome o;
  for (const auto needed : {hello, select, time}) {
    if (!replies[needed].is_error()) continue;
    // The reply to TIME is that to SUBSCRIBE if there is one.
    const std::string_view command = needed == hello    ? "HELLO"
                                     : needed == select ? "SELECT"
                                     : has_channel_     ? "SUBSCRIBE"
                                                        : "TIME";
    const std::string words = words_of(replies[needed]);
    // A server that cannot save its data refuses a PING, and nothing else that writes nothing.
    if (needed == select && !selects_ && is_unsaved(words)) continue;
    // HELLO had the password. A server that still asks for one looks for it before it looks for the command, and does
    // not know HELLO (Valkey 9).
    const bool ignores_hello = needed == hello && has_login_ && words == "NOAUTH Authentication required.";
    o.problem = why_it_cannot_serve(ignores_hello ? "ERR unknown command" : words, command);
    // A busy server counts as one that does not answer yet.
    o.refused = classify(o.problem) != refusal::try_again;
    return o;
  }
  // RESP2 has no pushes: the confirmation of SUBSCRIBE takes the place of the reply to TIME.
  if (speaks_resp2(replies[hello]) || replies[time].text(0) == "subscribe") {
    o.problem = why_no_resp3();
    o.refused = true;
    return o;
  }
  if (const auto now = read_time(replies[time])) {
    o.time = *now;
  } else {
    o.problem = "the server's answer to TIME is no time";
    return o;
  }
  // Either the Sentinels or the server have not noticed the failover yet. If the user has the right to neither ROLE nor
  // INFO, the first script finds out.
  // (Without the right to INFO the client works, too.)
  server_info about = replies[info].is_error() ? server_info() : read_server_info(replies[info].text(0));
  if (must_be_master_ && (replies[role_of_server].text(0) == "slave" || about.is_replica)) {
    o.problem = "the master is a replica";
    return o;
  }
  if (!about.why_unfit.empty()) {
    o.problem = std::move(about.why_unfit);
    o.refused = true;
    return o;
  }
  o.server = std::move(about.server);
  o.run_id = std::move(about.run_id);
  if (has_channel_ && replies[publish].is_error())
    o.server.publish_refusal = why_it_cannot_serve(words_of(replies[publish]), "PUBLISH");
  return o;
}

}  // namespace leasehold::detail
