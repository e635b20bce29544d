// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// For libFuzzer: the first byte says where in the rest the secret stands.
#include "broken_urls.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace leasehold::test;
  if (size == 0) return 0;
  std::string url(reinterpret_cast<const char*>(data) + 1, size - 1);
  url.insert(data[0] % (url.size() + 1), known_secret);
  const std::string wrong = check_broken_url(url);
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n%s\n", url.c_str(), wrong.c_str());
  std::abort();
}
