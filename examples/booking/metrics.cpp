// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "booking/metrics.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <iterator>

namespace booking {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

class metrics_text {
 public:
  void head(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }

  template <class Number>
  void sample(std::string_view name, std::string_view labels, Number value) {
    fmt::format_to(std::back_inserter(text_), "{}{} {}\n", name, labels, value);
  }

  void counter(std::string_view name, std::string_view help, std::uint64_t value) {
    head(name, "counter", help);
    sample(name, "", value);
  }

  void gauge(std::string_view name, std::string_view help, std::uint64_t value) {
    head(name, "gauge", help);
    sample(name, "", value);
  }

  // [histogram]
  // The client's buckets are finer than those told here. Each is counted under the first bound that it is wholly below.
  void histogram(std::string_view name, std::string_view help, const leasehold::histogram& h) {
    static constexpr std::array<microseconds, 15> bounds = {100us, 250us, 500us, 1000us, 2500us, 5000us, 10ms, 25ms,
                                                            50ms,  100ms, 250ms, 500ms,  1000ms, 5000ms, 30s};
    head(name, "histogram", help);
    std::uint64_t count = 0;
    std::size_t next = 0;
    for (const microseconds bound : bounds) {
      for (; next + 1 < h.buckets && h.lower_end(next + 1) <= bound; ++next) count += h.count_in(next);
      sample(fmt::format("{}_bucket", name), fmt::format("{{le=\"{}\"}}", seconds(bound)), count);
    }
    for (; next < h.buckets; ++next) count += h.count_in(next);
    sample(fmt::format("{}_bucket", name), "{le=\"+Inf\"}", count);
    sample(fmt::format("{}_sum", name), "", seconds(h.sum()));
    sample(fmt::format("{}_count", name), "", count);
  }
  // [/histogram]

  std::string text() && { return std::move(text_); }

 private:
  static double seconds(microseconds d) { return std::chrono::duration<double>(d).count(); }

  std::string text_;
};

}  // namespace

std::string metrics(const leasehold::statistics& s, const response_counts& responses) {
  metrics_text p;
  p.head("booking_responses_total", "counter", "Requests answered.");
  for (const auto& [what, count] : responses) {
    const auto& [endpoint, status] = what;
    p.sample("booking_responses_total", fmt::format("{{endpoint=\"{}\",status=\"{}\"}}", endpoint, status), count);
  }
  p.gauge("leasehold_held", "Holds alive.", s.held);
  p.gauge("leasehold_waiting", "Acquire operations under way.", s.waiting);
  p.counter("leasehold_acquired_total", "Locks acquired.", s.acquired);
  p.counter("leasehold_handed_off_total", "Grants that a releaser made.", s.handed_off);
  p.counter("leasehold_passed_total", "Grants from one waiter of this instance to the next.", s.passed);
  p.counter("leasehold_contended_total", "Operations that found the lock busy.", s.contended);
  p.counter("leasehold_timed_out_total", "Operations that ended with timed out.", s.timed_out);
  p.counter("leasehold_cancelled_total", "Operations that were cancelled.", s.cancelled);
  p.counter("leasehold_lost_total", "Holds lost.", s.lost);
  p.counter("leasehold_released_total", "Releases that Redis confirmed.", s.released);
  p.counter("leasehold_renewed_total", "Leases lengthened.", s.renewed);
  p.counter("leasehold_renewal_failed_total", "Renewals without an answer, or refused.", s.renewal_failed);
  p.counter("leasehold_withdrawn_total", "Late or unknown grants that were released again.", s.withdrawn);
  p.counter("leasehold_refused_total", "Times that Redis said no.", s.refused);
  p.counter("leasehold_commands_total", "Scripts sent.", s.commands);
  p.counter("leasehold_connects_total", "Connections that came up.", s.connects);
  p.counter("leasehold_reconnects_total", "Connections that came up after another was lost.", s.reconnects);
  p.counter("leasehold_clock_jumps_total", "Forward steps of Redis's clock.", s.clock_jumps);
  p.counter("leasehold_wanted_total", "Locks for which another client waited.", s.wanted);
  p.counter("leasehold_lingered_total", "Locks acquired without a command, because they lingered.", s.lingered);
  p.histogram("leasehold_waiting_seconds", "From the start of an operation to its lock.", s.waiting_time);
  p.histogram("leasehold_hold_seconds", "From the lock to its release or loss.", s.hold_time);
  p.histogram("leasehold_round_trip_seconds", "From a script to its answer.", s.round_trip);
  return std::move(p).text();
}

}  // namespace booking
