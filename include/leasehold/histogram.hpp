// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace leasehold {

/// The distribution of durations; a part of `statistics`.
///
/// Buckets as HdrHistogram has them (Tene, hdrhistogram.org): one for each microsecond below 16, above that sixteen for
/// each power of two, so that a bucket is at most 1/16 wider than its lower end. The last one takes everything from
/// about 12 days on.
/// @ingroup ref_observation
class histogram {
 public:
  using duration = std::chrono::microseconds;      ///< What is counted.
  static constexpr std::size_t buckets = 16 * 37;  ///< How many there are; they are numbered from 0.

  /// The bucket of a duration; a negative one counts as 0.
  static constexpr std::size_t bucket_of(duration d) noexcept {
    if (d.count() <= 0) return 0;
    const auto n = static_cast<std::uint64_t>(d.count());
    if (n < 16) return static_cast<std::size_t>(n);
    const auto power = static_cast<std::size_t>(std::bit_width(n)) - 5;  // n >> power has five bits.
    const std::size_t bucket = power * 16 + static_cast<std::size_t>(n >> power);
    return bucket < buckets ? bucket : buckets - 1;
  }

  /// The shortest duration of a bucket.
  static constexpr duration lower_end(std::size_t bucket) noexcept {
    if (bucket < 16) return duration(static_cast<std::int64_t>(bucket));
    const std::size_t power = bucket / 16 - 1;
    return duration(static_cast<std::int64_t>((bucket % 16 + 16) << power));
  }

  std::uint64_t count_in(std::size_t bucket) const noexcept { return counts_[bucket]; }  ///< Durations in a bucket.
  void set_count_in(std::size_t bucket, std::uint64_t count) noexcept { counts_[bucket] = count; }  ///< Sets it.

  /// How many durations there are.
  std::uint64_t count() const noexcept {
    std::uint64_t all = 0;
    for (const std::uint64_t n : counts_) all += n;
    return all;
  }

  /// All durations added up, exactly; a negative one counts as 0.
  duration sum() const noexcept { return sum_; }
  void set_sum(duration sum) noexcept { sum_ = sum; }  ///< Sets it.

  /// The lower end of the bucket below which a fraction `q` (0 to 1) of the durations lies; 0 if there are none.
  duration quantile(double q) const noexcept {
    const double wanted = static_cast<double>(count()) * q;
    std::uint64_t below = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < buckets; ++i) {
      if (counts_[i] == 0) continue;
      last = i;
      below += counts_[i];
      if (static_cast<double>(below) >= wanted) break;
    }
    return lower_end(last);
  }

 private:
  std::array<std::uint64_t, buckets> counts_{};
  duration sum_{};
};

}  // namespace leasehold
