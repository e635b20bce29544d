// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Boost.Redis's own sources, for the examples that use it themselves. The library's copy is no part of its interface.
#include <boost/redis/src.hpp>
