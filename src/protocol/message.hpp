// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What is published on a client's channel (lua/shared/queue.lua, lua/admin.lua). Every user of the server with the
// right to publish there can send such a message, so a message alone proves nothing.
#pragma once

#include <cstdint>
#include <string_view>

namespace leasehold::detail {

struct message {
  enum class kind : std::uint8_t {
    unknown,
    granted,  // The entry with this token was granted the lock: `rest` is for read_pushed_grant.
    watch,    // The entry with this token has come to the front of its queue.
    broken,   // An operator has broken the hold with this token.
    wanted,   // Another client waits for the lock that this token has.
  };

  explicit message(std::string_view text) noexcept;

  kind is = kind::unknown;
  std::string_view token;
  std::string_view rest;
};

}  // namespace leasehold::detail
