// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A store that is a Redis Cluster ("Redis cluster specification"): it keeps one connection to each master, and sends
// each call to the master of the record's slot.
#pragma once

#include "store/server.hpp"
#include "store/store.hpp"

#include "store/url.hpp"

#include <memory>

namespace leasehold::detail {

// `where` names some of the nodes; the store finds the others.
std::shared_ptr<store> make_cluster(server_maker servers, address where, store::events& events);

}  // namespace leasehold::detail
