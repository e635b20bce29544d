// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the command line looks like: the subcommands, their options and their help, for CLI11.
#pragma once

#include "store_options.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace leasehold::cli {

inline constexpr const char* run_usage = "leasehold run [OPTION]... NAME... -- COMMAND [ARG]...";
inline constexpr const char* elect_usage = "leasehold elect [OPTION]... --value TEXT NAME -- COMMAND [ARG]...";
inline constexpr const char* leader_usage = "leasehold leader [OPTION]... NAME";
inline constexpr const char* status_usage = "leasehold status [OPTION]... NAME";
inline constexpr const char* list_usage = "leasehold list [OPTION]...";
inline constexpr const char* watch_usage = "leasehold watch [OPTION]...";
inline constexpr const char* acquire_usage = "leasehold acquire [OPTION]... NAME";
inline constexpr const char* extend_usage = "leasehold extend [OPTION]... TICKET";
inline constexpr const char* release_usage = "leasehold release [OPTION]... TICKET";
inline constexpr const char* break_usage = "leasehold break [OPTION]... NAME";

// What the user typed, before anything is made of it.
struct typed {
  store_options store;
  std::string name;
  std::string lease = "30s";
  std::string at_least;
  std::string wait;
  std::string ticket;
  std::string grace = "5s";
  std::string conflict_exit_code;
  bool no_wait = false;
  bool shared = false;
  bool exclusive = false;
  std::string permits;
  std::string replicas;
  std::string renewals;
  bool hide_redis = false;
  bool wait_children = false;
  std::string value;
  bool follow = false;
  bool json = false;
  bool force = false;
  std::string interval = "1s";
  std::string count;
};

// What its subcommands inherit is set before they are added.
struct program : CLI::App {
  program();
};

// All subcommands and options, as CLI11 knows them.
struct grammar {
  grammar();

  typed t;
  program app;
  CLI::App& run = *app.add_subcommand("run", "Acquire the lock NAME, run COMMAND while it is held, and release it.");
  CLI::App& elect =
      *app.add_subcommand("elect", "Run COMMAND while this host leads the election NAME, for all to see.");
  CLI::App& leader = *app.add_subcommand("leader", "Show the leader of the election NAME.");
  CLI::App& status = *app.add_subcommand("status", "Show the holders of the lock NAME and its waiters.");
  CLI::App& list = *app.add_subcommand("list", "List the locks that are held.");
  CLI::App& watch = *app.add_subcommand("watch", "Show the locks that are held, live, as top does.");
  CLI::App& acquire = *app.add_subcommand("acquire", "Acquire the lock NAME, and print a ticket of the hold.");
  CLI::App& extend = *app.add_subcommand("extend", "Extend the lease of the hold of a TICKET.");
  CLI::App& release = *app.add_subcommand("release", "Release the hold of a TICKET.");
  CLI::App& by_force = *app.add_subcommand("break", "Free the lock NAME by force, and show its former holders.");
};

}  // namespace leasehold::cli
