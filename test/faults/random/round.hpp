// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "judge/history.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace leasehold::test {

// Starts a deployment and client processes, injects faults for so long, heals them, ends all and judges what happened.
judgement run_round(const std::string& deployment, std::uint64_t seed, std::chrono::milliseconds length);

}  // namespace leasehold::test
