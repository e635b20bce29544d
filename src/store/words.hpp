// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// The servers' words, as they are kept and shown.
#pragma once

#include <string_view>

namespace leasehold::detail {

// The first 500 bytes at most. A UTF-8 sequence is not cut in the middle.
std::string_view shortened(std::string_view words) noexcept;

}  // namespace leasehold::detail
