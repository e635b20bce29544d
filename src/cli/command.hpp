// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "descriptors.hpp"
#include "signals.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace leasehold::cli {

// The process that `run` runs.
//
// Without a terminal it leads a process group of its own, so that its children are stopped, too, when the lease is
// lost. With a terminal it stays in the group in which the shell put this process: there, job control decides which
// process may read from the terminal. If this process dies, the command gets SIGTERM.
class command {
 public:
  struct settings {
    std::vector<std::string> variables;  // "NAME=value" in addition to the environment
    std::vector<std::string> removed;    // names of variables that the command does not find there
    bool wait_children = false;          // it has ended when all processes that it has started have ended
  };

  // Everything that allocates is done here: after fork only async-signal-safe calls are allowed.
  command(std::vector<std::string> arguments, settings);

  // The error number of exec, or 0. Throws std::system_error if no process can be made.
  boost::asio::awaitable<int> start(boost::asio::io_context&, const signals&, const inherited_descriptors&);

  // To be called after SIGCHLD: collects what has ended.
  void reap();

  // Its exit status, or 128 + n if signal n killed it; nothing before it has ended.
  std::optional<int> status() const { return status_; }

  // Whether the command, and with wait_children all processes that it has started, have ended.
  bool ended() const { return status_ && (!wait_children_ || !has_children_); }

  // Passes a signal on, unless the command got it as this process did. One that asks to end goes to the whole group
  // that the command leads. Returns the error number of the system if it refuses that (a set-user-ID command of another
  // user, for example), else 0; so do stop() and kill().
  int pass_on(const signals::received&);

  // SIGTERM. Also to its group, if it leads one, and with wait_children to all processes that it has started.
  int stop();

  // With wait_children, after stop(): SIGTERM to those that were started later and have lost their parents. The others
  // are left to their parents, which may need them to end.
  void stop_adopted();

  // SIGKILL, likewise.
  int kill();

  // Whether everything that stop() sends SIGTERM to has ended. For use after stop().
  bool all_ended() const;

 private:
  int signal_all(int number, bool own_group_has_it = false);
  // The children of this process that it has not inherited,
  std::vector<pid_t> children() const;
  // and theirs, and so on.
  std::vector<pid_t> descendants() const;
  [[noreturn]] void become(const signals&, pid_t parent, int report);

  std::vector<std::string> arguments_;
  std::vector<std::string> environment_;
  std::vector<std::string> files_;  // what to try, in this order
  std::vector<char*> argv_;
  std::vector<char*> shell_argv_;
  std::vector<char*> envp_;

  const bool wait_children_;
  const bool leads_group_;
  pid_t pid_ = -1;
  // Children that this process has had before, and theirs: of a program that has become this one by exec.
  std::vector<pid_t> inherited_;
  bool has_children_ = true;  // This process has others; orphans of the command's count, too.
  std::optional<int> status_;
  std::vector<pid_t> signalled_;  // Those that stop() has found.
};

}  // namespace leasehold::cli
