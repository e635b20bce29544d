// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/temporary_folder.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace leasehold::test {

// The wall clock of another process, which the test can step or stop. A shim that is compiled here changes what the
// process reads; its monotonic clock is left alone.
class stepped_clock {
 public:
  stepped_clock();

  // For the process's environment.
  std::vector<std::string> environment() const;

  // From now on it differs from the real time by this.
  void step(std::chrono::microseconds by) { write(by.count(), 0); }

  // From now on it stands still at this time, in microseconds since 1970.
  void stop_at(std::int64_t microseconds) { write(0, microseconds); }

 private:
  void write(std::int64_t offset, std::int64_t fixed);

  temporary_folder folder_;
  std::string file_;
  std::string library_;
};

}  // namespace leasehold::test
