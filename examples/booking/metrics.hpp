// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a Prometheus server reads: the numbers of the leasehold client, and how many requests were answered with what.
#pragma once

#include <leasehold/client.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace booking {

// How often an endpoint has answered with a status.
using response_counts = std::map<std::pair<std::string, unsigned>, std::uint64_t>;

// Prometheus's text format, version 0.0.4.
inline constexpr std::string_view metrics_type = "text/plain; version=0.0.4; charset=utf-8";
std::string metrics(const leasehold::statistics& stats, const response_counts& responses);

}  // namespace booking
