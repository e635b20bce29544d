// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a Prometheus server reads: the figures of the leasehold client and of its classes of locks, how many requests
// were answered with what, and for which instance requests have waited.
#pragma once

#include <leasehold/leasehold.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace booking {

// How often an endpoint has answered with a status.
using response_counts = std::map<std::pair<std::string, unsigned>, std::uint64_t>;
// How often a wait for a lock of a class was slow, and which instance had the lock then.
using slow_wait_counts = std::map<std::pair<std::string, std::string>, std::uint64_t>;

std::string metrics(const leasehold::client& redis, const response_counts& responses, const slow_wait_counts& waits);

}  // namespace booking
