// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Which store the command uses: the URLs of --redis, of a file, of the environment, or the default.
#pragma once

#include <string>
#include <vector>

namespace leasehold::cli {

inline constexpr const char* default_url = "redis://127.0.0.1:6379";

// Where the locks are: the same for every subcommand.
struct store_options {
  std::vector<std::string> urls;  // never empty: see store_of()
  std::string file;               // of --redis-file, "" if there is none
  std::string user;               // of --user: whose password it is; "": the default user
  std::string password_file;      // of --password-file, "" if there is none
  std::string password_command;   // of --password-command, "" if there is none
  std::string prefix;
};

// The store that these values of --redis, --redis-file and --prefix mean. Without a URL and a file it is the store of
// LEASEHOLD_REDIS, of LEASEHOLD_REDIS_FILE or the default, in this order. Throws failure if a file cannot be read.
store_options store_of(store_options given);

// The same, and the file is not read.
store_options with_variables(store_options given);

}  // namespace leasehold::cli
