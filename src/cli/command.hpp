// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
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
// Without a terminal it leads a process group of its own, so that with a lost lease its children are stopped, too. With
// a terminal it stays in the group in which the shell put us: job control decides there who may read from the terminal.
// If we die it gets SIGTERM.
class command {
 public:
  // Everything that allocates is done here: after fork only async-signal-safe calls are allowed.
  // `variables`: "NAME=value" in addition to the environment.
  command(std::vector<std::string> arguments, std::vector<std::string> variables);

  // The error number of exec, or 0. Throws std::system_error if there is no process to be had.
  boost::asio::awaitable<int> start(boost::asio::io_context&, const signals&, const inherited_descriptors&);

  // To be called after SIGCHLD: collects what has ended.
  void reap();

  // Once it has ended: its exit status, or 128 + n if signal n killed it.
  std::optional<int> status() const { return status_; }

  // Passes a signal on, unless the command got it as we did.
  void pass_on(const signals::received&);

  // SIGTERM, also to its children if it leads a group.
  void stop();

  // SIGKILL, likewise.
  void kill();

  // Whether it and, if it leads a group, its children have ended. For use after stop().
  bool all_ended() const;

 private:
  void signal_all(int number);
  [[noreturn]] void become(const signals&, pid_t parent, int report);

  std::vector<std::string> arguments_;
  std::vector<std::string> environment_;
  std::vector<std::string> files_;  // what to try, in this order
  std::vector<char*> argv_;
  std::vector<char*> shell_argv_;
  std::vector<char*> envp_;

  bool leads_group_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

}  // namespace leasehold::cli
