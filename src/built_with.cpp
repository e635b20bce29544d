// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/detail/built_with.hpp>

namespace leasehold::detail::library_built_with {
const char LEASEHOLD_BUILT_WITH = 0;
}  // namespace leasehold::detail::library_built_with
