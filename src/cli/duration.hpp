// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace leasehold::cli {

// A number with the unit ms, s, m, h or d, for example 250ms or 1.5h; or 0. Throws std::invalid_argument, which says
// what is wrong with it.
std::chrono::milliseconds parse_duration(std::string_view);

// The same way back, in the largest unit that needs no fraction.
std::string to_text(std::chrono::milliseconds);

}  // namespace leasehold::cli
