// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/limit.hpp"
#include "support/temporary_folder.hpp"

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace leasehold::test {

// Another process. It is killed with this object, and by the kernel if the test dies first.
class child {
 public:
  // What is looked up in PATH unless it has a slash, and its arguments; then "NAME=value" in addition to the
  // environment.
  explicit child(std::vector<std::string> command, std::vector<std::string> environment = {});
  ~child();
  child(const child&) = delete;
  child& operator=(const child&) = delete;

  pid_t pid() const { return pid_; }

  // The next line that it writes to its standard output, without the line's end; nothing after the last one.
  std::optional<std::string> read_line();

  // The rest of its standard output, up to its end.
  std::string read_rest();

  // What it has written to its standard error so far.
  std::string errors() const;

  void signal(int number);

  // SIGSTOP, and returns when the process has stopped.
  void stop();

  // Waits for its end: the exit status, or 128 + n if signal n killed it.
  int wait();

  // The same at once; nothing while it runs.
  std::optional<int> status();

 private:
  bool fill();

  temporary_folder folder_;
  pid_t pid_ = -1;
  int output_ = -1;
  std::string buffer_;
  std::optional<int> status_;
};

// What such a process says to its test: a line on standard output, at once.
void say(const std::string& line);

// A function that a test runs in a process of its own: another start of the test program. Define it at namespace scope.
//   const child_program increment("increment", [](const std::vector<std::string>& arguments) { ...; return 0; });
class child_program {
 public:
  using function = int (*)(const std::vector<std::string>& arguments);
  child_program(std::string name, function f);

  // The command that runs it, for the constructor of child.
  std::vector<std::string> command(std::vector<std::string> arguments = {}) const;

 private:
  std::string name_;
};

// The exit status if this process is to be one of the above; for main().
std::optional<int> run_as_child(int argc, char** argv);

}  // namespace leasehold::test
