// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What a subcommand has that shows something until it is ended: coroutines on one thread, of which the first that ends,
// ends all. One of them waits for the signals that end a command.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <exception>
#include <string>

namespace leasehold::cli {

class view {
 protected:
  // Signals that the command's parent ignores stay ignored.
  explicit view(boost::asio::io_context&);
  ~view() = default;

  void start(boost::asio::awaitable<void>);
  // Runs what was started.
  void run_until_ended();
  // The exit status. Throws what the coroutine that has ended first has thrown.
  int result() const;
  // To standard output. Meanwhile the others run: a signal ends this also while a pipe is full.
  boost::asio::awaitable<void> write(std::string text);

  boost::asio::io_context& context_;
  int exit_status_ = 0;

 private:
  boost::asio::awaitable<void> receive_ends();

  boost::asio::signal_set ends_;
  std::exception_ptr failed_;
};

}  // namespace leasehold::cli
