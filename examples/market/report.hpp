// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "market/load.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace market {

// "watch", "one" and "item", as on the command line.
std::string_view short_name(method how);
std::string name(const load& size);  // "5+1"

struct result {
  load size;
  method how;
  figures found;
};

// The table of one load, with the book's figures for as long as this run took.
std::string table(const std::vector<result>& all, const load& size, std::chrono::seconds length);

// What a lock per item should reach, and whether it did.
std::string aims(const std::vector<result>& all);

// All of it as an SVG.
std::string picture(const std::vector<result>& all, std::chrono::seconds length);

}  // namespace market
