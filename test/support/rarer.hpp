// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace leasehold::test {

// Under a sanitizer everything takes ten times as long: what is done again and again by chance is done a tenth as
// often.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr unsigned rarer = 10;
#else
inline constexpr unsigned rarer = 1;
#endif

}  // namespace leasehold::test
