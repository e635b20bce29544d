// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Merges the inspections of a quorum's servers into one. No I/O.
#pragma once

#include "protocol/inspection.hpp"

#include <cstddef>
#include <vector>

namespace leasehold::detail {

// That of a server which would have only the holds that a majority of the servers has. There is one inspection from
// each server that has answered.
inspection merge_inspections(const std::vector<const inspection*>&, std::size_t majority);

}  // namespace leasehold::detail
