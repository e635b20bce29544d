// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/temporary_folder.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace leasehold::test {

// The clocks of another process, of which the test can step or stop the wall clock and let the machine have slept. A
// shim that is compiled here changes what the process reads; its CLOCK_MONOTONIC is left alone.
class stepped_clock {
 public:
  stepped_clock();

  // For the process's environment.
  std::vector<std::string> environment() const;

  // From now on it differs from the real time by this.
  void step(std::chrono::microseconds by) { write(by.count(), 0, 0); }

  // From now on it stands still at this time, in microseconds since 1970.
  void stop_at(std::int64_t microseconds) { write(0, microseconds, 0); }

  // From now on its machine has slept for so long: its wall clock and CLOCK_BOOTTIME went on.
  void sleep(std::chrono::seconds slept) {
    const std::chrono::microseconds us = slept;
    write(us.count(), 0, us.count());
  }

 private:
  void write(std::int64_t offset, std::int64_t fixed, std::int64_t slept);

  temporary_folder folder_;
  std::string file_;
  std::string library_;
};

}  // namespace leasehold::test
