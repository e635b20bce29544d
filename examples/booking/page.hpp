// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The page at "/": it asks for /board again and again, and draws what it is told.
#pragma once

#include <string_view>

namespace booking {

extern const std::string_view page;

}  // namespace booking
