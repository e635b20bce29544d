// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the examples tell of themselves: lines of examples/support/event_line.hpp.
#pragma once

#include "example.hpp"

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace leasehold::test {

// "WHAT NAME at=NANOSECONDS KEY=VALUE..."
struct told {
  std::string line;

  std::string what() const { return line.substr(0, line.find(' ')); }
  std::string text(const std::string& key) const {
    std::string start = " ";
    start.append(key).append("=");
    const auto at = line.find(start);
    if (at == line.npos) throw std::runtime_error("\"" + line + "\" has no " + key);
    const auto from = at + start.size();
    return line.substr(from, line.find(' ', from) - from);
  }
  std::uint64_t number(const std::string& key) const {
    const std::string value = text(key);
    std::uint64_t result = 0;
    const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (failure != std::errc() || *end != 0) throw std::runtime_error("\"" + line + "\": no number in " + key);
    return result;
  }
};

// The next line, which has to begin with that word.
inline told next(child& c, const std::string& what) {
  const auto line = c.read_line();
  if (!line) throw std::runtime_error("ended without telling \"" + what + "\"; " + c.errors());
  BOOST_REQUIRE_EQUAL(told{*line}.what(), what);
  return {*line};
}

}  // namespace leasehold::test
