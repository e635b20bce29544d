// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Numbers and patterns, as Redis reads and writes them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leasehold::detail::memory {

// Accepts exactly what Redis writes for a 64-bit integer: no "+" sign, no blanks, no leading zeros.
std::optional<std::int64_t> to_integer(std::string_view);

// A score. "inf" and hexadecimal forms are numbers, too; NaN is not.
std::optional<double> to_score(std::string_view);
std::string from_score(double);

// As "%.17g", by which Redis passes the numbers of scripts on. The view is of `to`.
using number_text = std::array<char, 32>;
std::string_view write_number(double, number_text& to);

// a, ?, *, [a-c], [^a], and a backslash before a character that stands for itself.
bool matches(std::string_view pattern, std::string_view text);

// In quotation marks. Bytes other than printable ASCII become \xNN.
std::string shown(std::string_view);

// For replies that end at the end of their line: removes line ends at both ends, and replaces the others with blanks.
std::string in_one_line(std::string_view);

// Whether the text is this name of a command or option, in any case. `lower` is in lower case.
bool is_word(std::string_view text, std::string_view lower);
std::string to_lower(std::string_view);

}  // namespace leasehold::detail::memory
