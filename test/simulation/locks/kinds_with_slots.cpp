// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// kinds.cpp on a server that checks slots (docs/managed-services.md).
#define LEASEHOLD_KINDS_ON kinds_with_slots, with_kinds_on<with_slots>
#include "kinds.cpp"
