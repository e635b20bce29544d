// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Boost.JSON itself, which is used without a compiled library.
#include <boost/json/src.hpp>
