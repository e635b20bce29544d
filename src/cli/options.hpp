// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <leasehold/acquire_options.hpp>

#include "exit_code.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace leasehold::cli {

// Where the locks are: the same for every subcommand.
struct store_options {
  std::vector<std::string> urls;  // never empty: see store_of()
  std::string file;               // of --redis-file, "" if there is none
  std::string prefix;
};

// What `run` acquires.
enum class lock_kind { mutex, reader, writer, permit };

struct run_options {
  store_options store;
  std::vector<std::string> names;  // never empty, all different
  lock_kind kind = lock_kind::mutex;
  std::uint32_t permits = 0;  // how many there are, for lock_kind::permit
  std::chrono::milliseconds lease{30'000};
  renewal renew = renewal::automatic;
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
                             complete_options>;

// Throws failure for what it does not understand.
request parse_options(std::vector<std::string> arguments);

// The store that these values of --redis, --redis-file and --prefix mean. Without a URL and a file it is the store of
// LEASEHOLD_REDIS, of LEASEHOLD_REDIS_FILE or the default, in this order. Throws failure if a file cannot be read.
store_options store_of(store_options given);

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
