// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>

namespace leasehold::cli {

// Whether a signal was ignored when this program started (nohup, a shell's background job). It then stays ignored.
bool is_ignored(int number);

// Whether a signal asks a program to end: HUP, INT, QUIT and TERM.
bool asks_to_end(int number);

// Adds these signals, except those that are ignored.
void add_end_signals(boost::asio::signal_set&);

// Whether a signal ends a program that does not handle it.
bool ends_programs(int number);

// The signals that `run` passes on to its command, and SIGCHLD. From the constructor on they are blocked and read from
// a descriptor, never handled. So no handler can run in the child between fork and exec, and the sender of a signal is
// known.
//
// A signal that was ignored when this program started (nohup, a shell's background job) stays ignored, also by the
// command. SIGTSTP is left alone: Ctrl-Z stops both, as it would stop the command alone.
class signals {
 public:
  explicit signals(boost::asio::io_context&);
  // As end().
  ~signals() { end(); }
  signals(const signals&) = delete;
  signals& operator=(const signals&) = delete;

  struct received {
    int number;
    // The kernel sent it to all processes in the foreground of the terminal: Ctrl-C, for example.
    bool from_terminal;
  };
  boost::asio::awaitable<received> next();

  // From now on a signal that asks to end ends this process, whatever it waits for. Those that have come are dropped.
  void end() noexcept;

  // For the child, before exec: restores everything as it was before this object. Only calls that are safe after fork.
  void restore() const noexcept;

 private:
  boost::asio::posix::stream_descriptor descriptor_;
  sigset_t mask_before_;
  struct sigaction child_before_;
};

}  // namespace leasehold::cli
