// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/limit.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

namespace leasehold::test {

// A program in a terminal of its own, of whose session it is the leader. It is killed with this object.
class terminal {
 public:
  // What is looked up in PATH unless it has a slash, and its arguments; then "NAME=value" in addition to the
  // environment.
  explicit terminal(std::vector<std::string> command, std::vector<std::string> environment = {});
  ~terminal();
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;

  pid_t pid() const { return pid_; }

  void type(const std::string& keys);
  void signal(int number);

  // The terminal goes away, as with a connection that is cut: the program gets SIGHUP.
  void hang_up();

  // The terminal gets another size, and the program SIGWINCH.
  void resize(unsigned short rows, unsigned short columns);

  // Does it show what is typed, and pass it on by the line? So does every new terminal.
  bool is_cooked() const;

  // Reads until the text has appeared in what the program has written since the last forget(); returns all of that.
  const std::string& read_until(const std::string& text);

  // Reads what is there to the end of the program's output.
  const std::string& read_rest();
  void forget() { shown_.clear(); }

  // Waits for the program's end: the exit status, or 128 + n if signal n killed it.
  int wait();

 private:
  bool read_more();

  int terminal_ = -1;
  int other_end_ = -1;  // Without it the settings of the terminal would end with the program.
  pid_t pid_ = -1;
  std::string shown_;
};

}  // namespace leasehold::test
