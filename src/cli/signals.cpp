// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "signals.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sys/signalfd.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <system_error>

namespace leasehold::cli {
namespace {

constexpr int passed_on[] = {SIGTERM, SIGINT,   SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
                             SIGCONT, SIGWINCH, SIGALRM, SIGURG,  SIGIO,   SIGPWR};

constexpr int asking_to_end[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

// The kernel sends others, too: those of a timer that this process has inherited, for example.
bool is_of_terminals(int number) {
  return number == SIGINT || number == SIGQUIT || number == SIGHUP || number == SIGWINCH || number == SIGCONT;
}

}  // namespace

bool asks_to_end(int number) {
  return std::find(std::begin(asking_to_end), std::end(asking_to_end), number) != std::end(asking_to_end);
}

void add_end_signals(boost::asio::signal_set& set) {
  for (const int number : asking_to_end) {
    if (!is_ignored(number)) set.add(number);
  }
}

bool ends_programs(int number) { return number != SIGCONT && number != SIGWINCH && number != SIGURG; }

bool is_ignored(int number) {
  struct sigaction now {};
  return ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

signals::signals(boost::asio::io_context& context) : descriptor_(context), mask_before_(), child_before_() {
  sigset_t all;
  ::sigemptyset(&all);
  ::sigaddset(&all, SIGCHLD);
  for (const int number : passed_on) {
    if (!is_ignored(number)) ::sigaddset(&all, number);
  }
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
    if (!is_ignored(number)) ::sigaddset(&all, number);
  }
  // A child of a process that ignores SIGCHLD leaves no status behind.
  struct sigaction default_action {};
  default_action.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &default_action, &child_before_);

  const int fd = ::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
  descriptor_.assign(fd);
  // This process must not abandon the command because its own messages have no reader.
  ::sigaddset(&all, SIGPIPE);
  ::sigprocmask(SIG_BLOCK, &all, &mask_before_);
}

boost::asio::awaitable<signals::received> signals::next() {
  signalfd_siginfo info{};
  const auto buffer = boost::asio::buffer(&info, sizeof info);
  co_await boost::asio::async_read(descriptor_, buffer, boost::asio::use_awaitable);
  received r{};
  r.number = static_cast<int>(info.ssi_signo);
  r.from_terminal = info.ssi_code == SI_KERNEL && is_of_terminals(r.number);
  co_return r;
}

void signals::end() noexcept {
  signalfd_siginfo info{};
  while (::read(descriptor_.native_handle(), &info, sizeof info) > 0) continue;
  sigset_t all;
  ::sigemptyset(&all);
  for (const int number : asking_to_end) {
    if (::sigismember(&mask_before_, number) == 0) ::sigaddset(&all, number);
  }
  ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
}

void signals::restore() const noexcept {
  ::sigaction(SIGCHLD, &child_before_, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

}  // namespace leasehold::cli
