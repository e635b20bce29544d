// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Random faults on each deployment, and the judgement about all that the clients have seen. `./dev test --faults
// SECONDS --seed N` runs them for longer.
#include "faults/random/round.hpp"
#include "support/unit_test.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace leasehold::test {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::stoull(text) : otherwise;
}

void survives(const std::string& deployment) {
  const std::uint64_t first = number_from("LEASEHOLD_SEED", std::random_device()());
  const std::chrono::milliseconds all = std::chrono::seconds(number_from("LEASEHOLD_SECONDS", 5));
  // Everything begins anew from time to time: further kinds of deployment, and less to be judged at once.
  const std::chrono::milliseconds round = std::chrono::seconds(30);
  judgement sum;
  std::uint64_t seed = first;
  const auto end = std::chrono::steady_clock::now() + all;
  do {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    std::printf("%s: LEASEHOLD_SEED=%llu\n", deployment.c_str(), static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    const judgement j = run_round(deployment, seed, std::min(left, round));
    BOOST_TEST_CONTEXT(deployment << " LEASEHOLD_SEED=" << seed) {
      for (const auto& v : j.violations) BOOST_ERROR(v);
    }
    for (const auto& [what, n] : j.counts) sum.counts[what] += n;
    if (j.latest_end > sum.latest_end) {
      sum.latest_end = j.latest_end;
      sum.latest = j.latest;
    }
    sum.latest_loss = std::max(sum.latest_loss, j.latest_loss);
    if (!j.violations.empty()) break;
    ++seed;
  } while (end - std::chrono::steady_clock::now() > std::chrono::seconds(1));
  BOOST_TEST(sum.counts.contains("grants"));
  for (const auto& [what, n] : sum.counts) std::printf("%10llu %s\n", static_cast<unsigned long long>(n), what.c_str());
  std::printf("%10s ms: how late an operation ended at most (%s)\n", shown(sum.latest_end).c_str(), sum.latest.c_str());
  std::printf("%10s ms: how late a loss was told at most\n", shown(sum.latest_loss).c_str());
  std::fflush(stdout);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_faults)

BOOST_AUTO_TEST_CASE(single) { survives("single"); }
BOOST_AUTO_TEST_CASE(sentinel) { survives("sentinel"); }
BOOST_AUTO_TEST_CASE(cluster) { survives("cluster"); }
BOOST_AUTO_TEST_CASE(quorum) { survives("quorum"); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
