// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the words of a command line mean, and what is wrong with them.
#pragma once

#include <leasehold/acquire_options.hpp>

#include "exit_code.hpp"
#include "store_options.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace leasehold::cli {

// What `run` acquires.
enum class lock_kind { mutex, reader, writer, permit };

struct run_options {
  store_options store;
  std::vector<std::string> names;  // never empty, all different
  lock_kind kind = lock_kind::mutex;
  std::uint32_t permits = 0;  // how many there are, for lock_kind::permit
  std::chrono::milliseconds lease{30'000};
  renewal renew = renewal::automatic;
  std::chrono::milliseconds at_least{0};
  std::chrono::milliseconds wait = forever;
  std::uint32_t replicas = 0;
  std::chrono::milliseconds grace{5'000};
  int conflict_exit_code = static_cast<int>(exit_code::not_acquired);
  bool hide_redis = false;           // the command does not find the store in its environment
  bool wait_children = false;        // hold the locks until all processes that the command has started have ended
  std::vector<std::string> command;  // never empty
};

struct status_options {
  store_options store;
  std::string name;
  bool json = false;
};

struct list_options {
  store_options store;
  bool json = false;
};

struct watch_options {
  store_options store;
  std::chrono::milliseconds interval{1'000};
  std::uint64_t count = 0;  // 0: until it is ended
};

struct break_options {
  store_options store;
  std::string name;
  bool force = false;
};

// One name; the rest is as for run, without a command.
struct acquire_command {
  run_options how;
};

// `extend` and `release`.
struct ticket_options {
  store_options store;
  std::string ticket;  // "-": the first line of standard input.
};

struct extend_options : ticket_options {
  std::chrono::milliseconds lease{0};  // 0: that of the ticket
};

struct release_options : ticket_options {};

// For the shells' completion: the words behind "leasehold", up to the one at the cursor.
struct complete_options {
  std::vector<std::string> words;
};

// The answer to --help and --version.
struct information {
  std::string text;
};

// What the user wants.
using request = std::variant<information, run_options, status_options, list_options, watch_options, break_options,
                             acquire_command, extend_options, release_options, complete_options>;

// Throws failure for what it does not understand.
request parse_options(std::vector<std::string> arguments);

}  // namespace leasehold::cli
