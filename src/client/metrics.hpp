// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a client counts, as a whole and for each class of locks. Written on the strand, read by any thread.
#pragma once

#include "time/clock.hpp"

#include <leasehold/client.hpp>
#include <leasehold/detail/printable.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace leasehold::detail {

// Only the strand adds, so nothing comes between the two steps. One atomic step would cost several times as much.
template <class Integer>
void add(std::atomic<Integer>& sum, Integer n) {
  sum.store(sum.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

class durations {
 public:
  void record(clock::duration d) {
    const auto us = std::chrono::duration_cast<histogram::duration>(d);
    add(counts_[histogram::bucket_of(us)], std::uint64_t{1});
    add(sum_, std::max<histogram::duration::rep>(us.count(), 0));
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

// What is counted for the client and for the lock's class.
struct lock_figures {
  using number = std::atomic<std::uint64_t>;
  durations waiting_time, hold_time;
  number held{0}, waiting{0}, acquired{0}, contended{0}, timed_out{0}, cancelled{0}, lost{0}, slow_waits{0};
};

struct class_figures : lock_figures {
  explicit class_figures(std::string l) : label(std::move(l)) {}
  const std::string label;
};

// The classes of client_options::classify. For any thread. However many labels there are, it keeps 65 of them.
class lock_classes {
 public:
  static constexpr std::size_t most = 64;
  static constexpr std::size_t longest_label = 128;

  // Null for "".
  std::shared_ptr<class_figures> of(const std::string& label) {
    if (label.empty()) return nullptr;
    const std::lock_guard lock(mutex_);
    if (const auto found = all_.find(label); found != all_.end()) return found->second;
    const bool is_usable = label.size() <= longest_label && is_utf8(label);
    const std::string& kept = is_usable && all_.size() - all_.count(other) < most ? label : other;
    auto& place = all_[kept];
    if (!place) place = std::make_shared<class_figures>(kept);
    return place;
  }
  std::map<std::string, std::shared_ptr<const class_figures>> all() const {
    const std::lock_guard lock(mutex_);
    return {all_.begin(), all_.end()};
  }

 private:
  inline static const std::string other = "other";

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<class_figures>> all_;
};

struct counters : lock_figures {
  durations round_trip;
  number released{0}, renewed{0}, renewal_failed{0}, withdrawn{0}, refused{0}, commands{0}, connects{0}, reconnects{0},
      handed_off{0}, passed{0}, clock_jumps{0}, wanted{0}, lingered{0};
  lock_classes classes;

  // its_class: null if the lock has none. n: of a gauge it may be negative.
  void count(class_figures* its_class, number lock_figures::*what, std::int64_t n = 1) {
    add(this->*what, static_cast<std::uint64_t>(n));
    if (its_class != nullptr) add(its_class->*what, static_cast<std::uint64_t>(n));
  }
  void record(class_figures* its_class, durations lock_figures::*what, clock::duration d) {
    (this->*what).record(d);
    if (its_class != nullptr) (its_class->*what).record(d);
  }
};

}  // namespace leasehold::detail
