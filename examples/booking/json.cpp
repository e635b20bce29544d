// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Boost.JSON itself, which is used header-only.
#include <boost/json/src.hpp>
