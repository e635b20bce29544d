// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A store that is a majority of independent servers (docs/protocol.md, "The quorum"; after "Distributed Locks with
// Redis", redis.io: the algorithm called Redlock).
#pragma once

#include "store/server.hpp"
#include "store/store.hpp"

#include "store/url.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::detail {

std::shared_ptr<store> make_quorum(server_maker servers, std::vector<address> where, store::events& events);

}  // namespace leasehold::detail
