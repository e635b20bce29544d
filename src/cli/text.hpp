// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Makes bytes from any source safe for a line on a terminal or for JSON.
#pragma once

#include <leasehold/detail/printable.hpp>

#include <string>
#include <string_view>

namespace leasehold::cli {

using detail::is_utf8;
using detail::printable;

std::string base64(std::string_view);

// What printable() does to a line, for JSON. It has escapes of its own for its strings: control characters are in
// nothing else of it.
std::string printable_json(std::string_view json);

// Printable, between quotes, and shortened if it is long.
std::string in_quotes(std::string_view);

// A word that the user has typed in a wrong place, between quotes; '***' if it may contain a password or a ticket.
std::string word_in_quotes(std::string_view);

// The name of an option that is not known, between quotes. What follows it in the same word may be a password.
std::string option_in_quotes(std::string_view);

// One line to standard error: "leasehold: " and the printable text.
void complain(std::string_view text);
// The same unless that would have to wait for a reader; false then.
bool complain_at_once(std::string_view text);

}  // namespace leasehold::cli
