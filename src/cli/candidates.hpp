// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the last word of an unfinished command line can become (complete.hpp). No I/O of its own.
#pragma once

#include "options.hpp"

#include <functional>
#include <string>
#include <vector>

namespace leasehold::cli {

struct candidate {
  std::string word;
  std::string help;  // Empty if it is a lock's name.
};

struct completion {
  std::string first = "words";  // See complete.hpp.
  std::vector<candidate> candidates = {};
};

// The names of the locks that are held in this store.
using held_names_of = std::function<std::vector<std::string>(const store_options&)>;

completion complete_words(std::vector<std::string> words, const held_names_of&);

}  // namespace leasehold::cli
