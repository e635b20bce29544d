// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "schedule/server_host.hpp"

#include <utility>

namespace leasehold::test {

server_host::server_host() { subscriber_.command({"PSUBSCRIBE", "*"}); }

std::vector<script_host::message> server_host::messages() {
  connection_.command({"PUBLISH", "end of the messages", ""});
  std::vector<message> all;
  for (;;) {
    // {"pmessage", pattern, channel, text}
    reply r = subscriber_.receive();
    message m{std::move(r.items.at(2).text), std::move(r.items.at(3).text)};
    if (m.channel == "end of the messages") return all;
    all.push_back(std::move(m));
  }
}

}  // namespace leasehold::test
