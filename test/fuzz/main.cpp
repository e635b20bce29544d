// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// For libFuzzer: the target that LEASEHOLD_FUZZ_TARGET names.
#include "fuzz/targets.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {
const leasehold::test::fuzz_target* target = nullptr;
}

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const name = std::getenv("LEASEHOLD_FUZZ_TARGET");
  for (const auto& t : leasehold::test::fuzz_targets) {
    if (name != nullptr && t.name == name) target = &t;
  }
  if (target == nullptr) {
    std::fprintf(stderr, "LEASEHOLD_FUZZ_TARGET names no target\n");
    std::exit(64);
  }
  // The command looks there for a store.
  ::unsetenv("LEASEHOLD_REDIS");
  ::unsetenv("LEASEHOLD_REDIS_FILE");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong = target->check({reinterpret_cast<const char*>(data), size});
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "wrong: %s\n", wrong.c_str());
  std::abort();
}
