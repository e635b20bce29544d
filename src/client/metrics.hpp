// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a client counts. Written on the strand, read by any thread.
#pragma once

#include "time/clock.hpp"

#include <leasehold/client.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace leasehold::detail {

class durations {
 public:
  void record(clock::duration d) {
    const auto us = std::chrono::duration_cast<histogram::duration>(d);
    counts_[histogram::bucket_of(us)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(std::max<histogram::duration::rep>(us.count(), 0), std::memory_order_relaxed);
  }
  histogram snapshot() const {
    histogram h;
    for (std::size_t i = 0; i < histogram::buckets; ++i) {
      h.set_count_in(i, counts_[i].load(std::memory_order_relaxed));
    }
    h.set_sum(histogram::duration(sum_.load(std::memory_order_relaxed)));
    return h;
  }

 private:
  std::array<std::atomic<std::uint64_t>, histogram::buckets> counts_{};
  std::atomic<histogram::duration::rep> sum_{0};
};

struct counters {
  durations waiting_time, hold_time, round_trip;
  std::atomic<std::uint64_t> held{0}, waiting{0}, acquired{0}, contended{0}, timed_out{0}, cancelled{0}, lost{0},
      released{0}, renewed{0}, renewal_failed{0}, withdrawn{0}, refused{0}, commands{0}, connects{0}, reconnects{0},
      handed_off{0}, passed{0}, clock_jumps{0}, wanted{0}, lingered{0};
};

}  // namespace leasehold::detail
