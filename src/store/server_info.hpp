// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "store/store.hpp"

#include <string>
#include <string_view>

namespace leasehold::detail {

// What a server says of itself.
struct server_info {
  store::server server;  // But whether it was seen before: the store fills that in.
  std::string run_id;
  bool is_replica = false;
  std::string why_unfit;  // Why no server like this can serve; "": it can.
};

// The reply to INFO. What it does not say is empty.
server_info read_server_info(std::string_view about);

}  // namespace leasehold::detail
