// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace leasehold::test {

// What is left to chance. Alike on every machine, which the distributions of the standard library are not.
class dice {
 public:
  explicit dice(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t number() { return engine_(); }
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::chrono::milliseconds between(std::chrono::milliseconds least, std::chrono::milliseconds most) {
    return least + std::chrono::milliseconds(below(static_cast<std::uint64_t>((most - least).count()) + 1));
  }
  template <class T>
  const T& any(const std::vector<T>& all) {
    return all.at(below(all.size()));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace leasehold::test
