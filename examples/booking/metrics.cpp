// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "booking/metrics.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace booking {

namespace {

// A counter with two labels. None of them needs to be escaped: endpoints, classes and instances consist of letters,
// digits, '_', '-' and blanks.
template <class Counts>
void add_counter(std::string& page, std::string_view name, std::string_view help, std::string_view first,
                 std::string_view second, const Counts& counts) {
  if (counts.empty()) return;
  fmt::format_to(std::back_inserter(page), "# HELP {} {}\n# TYPE {} counter\n", name, help, name);
  for (const auto& [its, count] : counts) {
    fmt::format_to(std::back_inserter(page), "{}{{{}=\"{}\",{}=\"{}\"}} {}\n", name, first, its.first, second,
                   its.second, count);
  }
}

}  // namespace

// [metrics]
// The library's metrics, and those of the service.
std::string metrics(const leasehold::client& redis, const response_counts& responses, const slow_wait_counts& waits) {
  std::string page = leasehold::to_prometheus(redis);
  add_counter(page, "booking_responses_total", "Requests answered.", "endpoint", "status", responses);
  add_counter(page, "booking_slow_waits_total", "Slow waits, by the instance that had the lock.", "class", "holder",
              waits);
  return page;
}
// [/metrics]

}  // namespace booking
