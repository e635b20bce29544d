// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The command's durations.
#pragma once

#include "cli/duration.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

namespace leasehold::test {

inline std::string check_durations(std::string_view text) {
  std::chrono::milliseconds d{0};
  try {
    d = cli::parse_duration(text);
  } catch (const std::invalid_argument&) {
    return {};
  }
  if (d < std::chrono::milliseconds(0)) return "a duration is negative";
  if (text.find_first_not_of("0123456789.dhms") != text.npos) return "something is accepted that is no duration";
  const std::string written = cli::to_text(d);
  if (cli::parse_duration(written) != d) return "written as " + written + ", it is another one";
  return {};
}

}  // namespace leasehold::test
