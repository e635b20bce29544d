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
void wait_until(const std::string& what, Condition condition, std::chrono::seconds longest = limit) {
  const auto end = std::chrono::steady_clock::now() + longest;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("did not happen in time: " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// For what a machine that stands still for a moment can spoil: the first result that is as wanted, or else the last of
// five.
template <class F, class Condition>
auto best_of_five(F run_once, Condition is_wanted) {
  auto result = run_once();
  for (int i = 1; i < 5 && !is_wanted(result); ++i) result = run_once();
  return result;
}

}  // namespace leasehold::test
