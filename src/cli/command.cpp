// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "command.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::cli {
namespace {

bool has_terminal() {
  const int fd = ::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  if (fd >= 0) {
    ::close(fd);
    return true;
  }
  // In a container /dev/tty may be missing.
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::tcgetpgrp(standard) >= 0) return true;
  }
  return false;
}

// Searches as execvp(3) does.
std::vector<std::string> candidates(const std::string& name) {
  if (name.empty()) return {};
  if (name.find('/') != name.npos) return {name};
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/bin:/usr/bin";
  std::vector<std::string> files;
  for (;;) {
    const auto end = rest.find(':');
    const auto folder = rest.substr(0, end);
    // An empty entry means the current folder.
    files.push_back(folder.empty() ? "./" + name : std::string(folder) + "/" + name);
    if (end == rest.npos) return files;
    rest.remove_prefix(end + 1);
  }
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> p;
  for (auto& s : strings) p.push_back(s.data());
  p.push_back(nullptr);
  return p;
}

// The children of this process, which has one thread that starts any.
std::vector<pid_t> all_children() {
  std::vector<pid_t> all;
  std::ifstream list("/proc/thread-self/children");
  for (pid_t pid; list >> pid;) all.push_back(pid);
  // waitid does not see the processes that keep a password command and what that has started.
  std::erase_if(all, [](pid_t child) {
    siginfo_t unused;
    return ::waitid(P_PID, static_cast<id_t>(child), &unused, WEXITED | WNOHANG | WNOWAIT) != 0;
  });
  return all;
}

// They, their children, and so on.
std::vector<pid_t> with_descendants(std::vector<pid_t> all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::error_code ec;
    std::filesystem::directory_iterator thread("/proc/" + std::to_string(all[i]) + "/task", ec);
    for (; !ec && thread != std::filesystem::directory_iterator(); thread.increment(ec)) {
      std::ifstream list(thread->path() / "children");
      for (pid_t pid; list >> pid;) all.push_back(pid);
    }
  }
  return all;
}

}  // namespace

command::command(std::vector<std::string> arguments, settings s)
    : arguments_(std::move(arguments)),
      environment_(std::move(s.variables)),
      files_(candidates(arguments_.at(0))),
      wait_children_(s.wait_children),
      leads_group_(!has_terminal()) {
  for (const auto& variable : environment_) s.removed.push_back(variable.substr(0, variable.find('=')));
  for (char** e = environ; *e; ++e) {
    const std::string_view variable = *e;
    const auto end = variable.find('=');
    const bool removed = end != variable.npos &&
                         std::find(s.removed.begin(), s.removed.end(), variable.substr(0, end)) != s.removed.end();
    if (!removed) environment_.emplace_back(variable);
  }
  argv_ = pointers(arguments_);
  envp_ = pointers(environment_);
  // For a script without a first line that names its interpreter: "/bin/sh", the file, the other arguments.
  static char shell[] = "/bin/sh";
  shell_argv_ = argv_;
  shell_argv_.insert(shell_argv_.begin(), shell);
}

// In the child. Never returns: the process becomes the command, or reports why it cannot and ends.
void command::become(const signals& s, pid_t parent, int report) {
  // From now on the kernel signals the end of the parent; an end before this call is not signalled.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(128 + SIGTERM);
  if (leads_group_) ::setpgid(0, 0);
  s.restore();

  int reason = ENOENT;
  bool forbidden = false;
  for (auto& file : files_) {
    ::execve(file.c_str(), argv_.data(), envp_.data());
    reason = errno;
    if (reason == ENOEXEC) {
      shell_argv_[1] = file.data();
      ::execve(shell_argv_[0], shell_argv_.data(), envp_.data());
      break;
    }
    forbidden = forbidden || reason == EACCES;
    // A later folder of PATH may have it.
    if (reason != EACCES && reason != ENOENT && reason != ENOTDIR && reason != ESTALE && reason != ENODEV &&
        reason != ETIMEDOUT) {
      forbidden = false;
      break;
    }
  }
  if (forbidden) reason = EACCES;
  [[maybe_unused]] const auto written = ::write(report, &reason, sizeof reason);
  ::_exit(127);
}

boost::asio::awaitable<int> command::start(boost::asio::io_context& context, const signals& s,
                                           const inherited_descriptors& inherited) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  boost::asio::posix::stream_descriptor report(context, ends[0]);
  inherited.close_all_others_on_exec();
  // A process that loses its parent becomes a child of this one.
  if (wait_children_ && ::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    throw std::system_error(errno, std::generic_category(), "prctl");
  }
  inherited_ = with_descendants(all_children());
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  const int reason = errno;
  if (pid_ == 0) become(s, parent, ends[1]);
  ::close(ends[1]);
  if (pid_ < 0) throw std::system_error(reason, std::generic_category(), "fork");
  // The child does the same; either of them may come first.
  if (leads_group_) ::setpgid(pid_, pid_);

  // A successful exec closes the pipe. Not a blocking read: the lease is renewed meanwhile.
  int answer = 0;
  const auto buffer = boost::asio::buffer(&answer, sizeof answer);
  const auto token = boost::asio::as_tuple(boost::asio::use_awaitable);
  const auto [ec, n] = co_await boost::asio::async_read(report, buffer, token);
  co_return !ec && n == sizeof answer ? answer : 0;
}

void command::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid == pid_) status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    std::erase(inherited_, pid);
  }
  has_children_ = pid == 0 && (inherited_.empty() || !children().empty());
}

std::vector<pid_t> command::children() const {
  auto all = all_children();
  std::erase_if(
      all, [this](pid_t child) { return std::find(inherited_.begin(), inherited_.end(), child) != inherited_.end(); });
  return all;
}

std::vector<pid_t> command::descendants() const { return with_descendants(children()); }

int command::pass_on(const signals::received& r) {
  if (pid_ < 0 || ended()) return 0;
  // The group of this process gets it from the terminal, too; the command may have left it for another one. But a
  // terminal that goes away signals only the leader of its session.
  const bool group_has_it = r.from_terminal && !leads_group_ && !(r.number == SIGHUP && ::getsid(0) == ::getpid());
  if (status_) return signal_all(r.number, group_has_it);
  if (group_has_it && ::getpgid(pid_) == ::getpgrp()) return 0;
  // A shell that such a signal ends leaves its children running. At a terminal they get it from there.
  const bool to_all = leads_group_ && asks_to_end(r.number);
  return ::kill(to_all ? -pid_ : pid_, r.number) == 0 ? 0 : errno;
}

int command::signal_all(int number, bool own_group_has_it) {
  int failed = 0;
  const auto deliver = [&](pid_t to) {
    if (::kill(to, number) != 0 && errno != ESRCH) failed = errno;
  };
  if (leads_group_) {
    deliver(-pid_);
  } else if (!status_) {
    deliver(pid_);
  }
  if (!wait_children_) return failed;
  for (const pid_t other : descendants()) {
    const bool has_it = other == pid_ || (leads_group_ && ::getpgid(other) == pid_) ||
                        (own_group_has_it && ::getpgid(other) == ::getpgrp());
    if (!has_it) deliver(other);
  }
  return failed;
}

int command::stop() {
  // The children that the command leaves behind become children of this process, so that SIGCHLD reports their ends.
  if (leads_group_) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (wait_children_) signalled_ = descendants();
  const int failed = signal_all(SIGTERM);
  // A stopped process would not notice.
  signal_all(SIGCONT);
  return failed;
}

void command::stop_adopted() {
  if (!wait_children_) return;
  for (const pid_t child : children()) {
    if (std::find(signalled_.begin(), signalled_.end(), child) != signalled_.end()) continue;
    signalled_.push_back(child);
    ::kill(child, SIGTERM);
    ::kill(child, SIGCONT);
  }
}

int command::kill() { return signal_all(SIGKILL); }

bool command::all_ended() const { return ended() && (!leads_group_ || ::kill(-pid_, 0) != 0); }

}  // namespace leasehold::cli
