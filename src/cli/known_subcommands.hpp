// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the completion of the shells has to know of the grammar, without CLI11.
#pragma once

#include <string>
#include <vector>

namespace leasehold::cli {

struct known_option {
  std::vector<std::string> names;  // "--lease"
  std::string value;               // What it takes: URL, FILE, TIME, N or TEXT; empty if it is a flag.
  std::string help;
  std::vector<std::string> excludes;  // Options with which it does not go together; itself, if once is enough.
};

struct known_subcommand {
  std::string name;  // Empty: the program itself.
  std::string help;
  bool takes_name;
  std::vector<known_option> options;
};

// Everything that parse_options understands; the program itself comes first.
std::vector<known_subcommand> known_subcommands();

}  // namespace leasehold::cli
