// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

namespace leasehold::test {

// How long a test waits for something that has to happen. Only a broken subject ever takes that long.
inline constexpr std::chrono::seconds limit{60};

// For what happens in another process: looks every two milliseconds.
template <class Condition>
void wait_until(const std::string& what, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("did not happen in time: " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace leasehold::test
