// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A store that is one address: a server, a master that Sentinels name, or a proxy with shards behind it
// (docs/protocol.md, "One address with slots behind it"). It notices whether the keys have to be tagged. If they are,
// messages arrive by the channels of slots.
#pragma once

#include "store/server.hpp"

#include <memory>

namespace leasehold::detail {

// The events outlive the store's last event.
std::shared_ptr<store> make_one_address(const server_maker&, address where, store::events&);

}  // namespace leasehold::detail
