// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <system_error>
#include <utility>

namespace leasehold::test {
namespace {

std::map<std::string, child_program::function>& programs() {
  static std::map<std::string, child_program::function> all;
  return all;
}

constexpr const char* as_child = "--as-child";

int exit_code(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

std::system_error failed(const std::string& what) { return {errno, std::generic_category(), what}; }

}  // namespace

child::child(std::vector<std::string> command, std::vector<std::string> environment) {
  // Everything that allocates is done before the fork.
  std::vector<char*> argv;
  for (auto& a : command) argv.push_back(a.data());
  argv.push_back(nullptr);
  std::vector<char*> env;
  for (auto& e : environment) env.push_back(e.data());
  for (char** e = environ; *e; ++e) {
    const std::string name(*e, std::string(*e).find('=') + 1);
    bool replaced = false;
    for (const auto& mine : environment) replaced = replaced || mine.starts_with(name);
    if (!replaced) env.push_back(*e);
  }
  env.push_back(nullptr);
  const std::string errors = folder_ / "stderr";
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw failed("pipe");

  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw failed("fork");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(125);
    const int input = ::open("/dev/null", O_RDONLY);
    const int error = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (input < 0 || error < 0 || ::dup2(input, 0) < 0 || ::dup2(ends[1], 1) < 0 || ::dup2(error, 2) < 0) ::_exit(125);
    ::signal(SIGPIPE, SIG_DFL);
    environ = env.data();
    ::execvp(argv[0], argv.data());
    ::_exit(errno == ENOENT ? 127 : 126);
  }
  ::close(ends[1]);
  output_ = ends[0];
}

child::~child() {
  if (!status_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(output_);
}

// Reads a piece of the standard output; false at its end.
bool child::fill() {
  pollfd p{output_, POLLIN, 0};
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  const int ready = ::poll(&p, 1, static_cast<int>(milliseconds));
  if (ready < 0) throw failed("poll");
  if (ready == 0) throw std::runtime_error("the child process wrote nothing in time");
  char piece[4096];
  const auto n = ::read(output_, piece, sizeof piece);
  if (n < 0) throw failed("read");
  buffer_.append(piece, static_cast<std::size_t>(n));
  return n > 0;
}

std::optional<std::string> child::read_line() {
  std::size_t end;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    if (fill()) continue;
    if (buffer_.empty()) return std::nullopt;
    return std::exchange(buffer_, {});
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

std::string child::read_rest() {
  while (fill()) {
  }
  return std::exchange(buffer_, {});
}

std::string child::errors() const { return read_file(folder_ / "stderr"); }

void child::signal(int number) {
  if (!status_ && ::kill(pid_, number) != 0) throw failed("kill");
}

void child::stop() {
  signal(SIGSTOP);
  int status = 0;
  if (::waitpid(pid_, &status, WUNTRACED) != pid_) throw failed("waitpid");
  if (!WIFSTOPPED(status)) status_ = exit_code(status);
}

std::optional<int> child::status() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = exit_code(status);
  return status_;
}

int child::wait() {
  wait_until("the end of a child process", [this] { return status().has_value(); });
  return *status_;
}

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

child_program::child_program(std::string name, function f) : name_(std::move(name)) { programs().emplace(name_, f); }

std::vector<std::string> child_program::command(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {"/proc/self/exe", as_child, name_});
  return arguments;
}

std::optional<int> run_as_child(int argc, char** argv) {
  if (argc < 3 || std::string(argv[1]) != as_child) return std::nullopt;
  try {
    return programs().at(argv[2])({argv + 3, argv + argc});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}

}  // namespace leasehold::test
