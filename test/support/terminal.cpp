// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/terminal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace leasehold::test {

terminal::terminal(std::vector<std::string> command, std::vector<std::string> environment) {
  std::vector<char*> argv;
  for (auto& w : command) argv.push_back(w.data());
  argv.push_back(nullptr);
  const winsize size{24, 80, 0, 0};
  if (::openpty(&terminal_, &other_end_, nullptr, nullptr, &size) != 0) {
    throw std::system_error(errno, std::generic_category(), "openpty");
  }
  ::fcntl(terminal_, F_SETFD, FD_CLOEXEC);
  ::fcntl(other_end_, F_SETFD, FD_CLOEXEC);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::login_tty(other_end_);
    for (auto& e : environment) ::putenv(e.data());
    ::execvp(argv[0], argv.data());
    ::_exit(125);
  }
}

terminal::~terminal() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  hang_up();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
}

void terminal::type(const std::string& keys) {
  if (::write(terminal_, keys.data(), keys.size()) <= 0) throw std::runtime_error("the terminal takes no keys");
}

void terminal::signal(int number) { ::kill(pid_, number); }

void terminal::hang_up() {
  for (int* end : {&other_end_, &terminal_}) ::close(std::exchange(*end, -1));
}

void terminal::resize(unsigned short rows, unsigned short columns) {
  const winsize size{rows, columns, 0, 0};
  ::ioctl(terminal_, TIOCSWINSZ, &size);
}

bool terminal::is_cooked() const {
  termios now{};
  ::tcgetattr(other_end_, &now);
  return (now.c_lflag & ICANON) != 0 && (now.c_lflag & ECHO) != 0;
}

bool terminal::read_more() {
  pollfd p{terminal_, POLLIN, 0};
  char piece[4096];
  if (::poll(&p, 1, static_cast<int>(std::chrono::milliseconds(limit).count())) != 1) return false;
  const ssize_t n = ::read(terminal_, piece, sizeof piece);
  if (n <= 0) return false;
  shown_.append(piece, static_cast<std::size_t>(n));
  return true;
}

const std::string& terminal::read_until(const std::string& text) {
  while (shown_.find(text) == std::string::npos) {
    if (!read_more()) throw std::runtime_error("'" + text + "' did not appear in '" + shown_ + "'");
  }
  return shown_;
}

const std::string& terminal::read_rest() {
  // What was written before the end is there when the end is known.
  if (pid_ > 0) wait();
  pollfd p{terminal_, POLLIN, 0};
  while (::poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0 && read_more()) {
  }
  return shown_;
}

int terminal::wait() {
  // Whoever writes to a terminal that nobody reads waits.
  int status = 0;
  wait_until("the end in a terminal", [&] {
    pollfd p{terminal_, POLLIN, 0};
    while (::poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0 && read_more()) {
    }
    return ::waitpid(pid_, &status, WNOHANG) == pid_;
  });
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace leasehold::test
