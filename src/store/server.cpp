// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "store/server.hpp"

#include <atomic>

namespace leasehold::detail {
namespace {

std::atomic<server_source> source{nullptr};

}  // namespace

void set_memory_servers(server_source s) noexcept { source.store(s); }
server_source memory_servers() noexcept { return source.load(); }

}  // namespace leasehold::detail
