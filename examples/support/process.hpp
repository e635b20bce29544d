// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace support {

namespace asio = boost::asio;

// A program that this one has started, and whose output it reads. It ends with this object at the latest, and with this
// program however that ends. It is in a process group of its own, so that Ctrl-C reaches this program only, which then
// ends its children in good order.
class process {
 public:
  // Each line of the program's output is given to `on_line`, without its end.
  process(asio::io_context& context, std::vector<std::string> command, std::function<void(std::string_view)> on_line)
      : state_(std::make_shared<state>(context)) {
    int output[2];
    int failure[2];
    if (::pipe2(output, O_CLOEXEC) != 0) throw_errno("pipe");
    state_->output.assign(output[0]);
    if (::pipe2(failure, O_CLOEXEC) != 0) {
      ::close(output[1]);
      throw_errno("pipe");
    }
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) become(arguments.data(), output[1], failure[1], parent);
    const int fork_error = errno;
    ::close(output[1]);
    ::close(failure[1]);
    // The other end closes itself when the program runs. If it cannot, the reason comes first.
    int exec_error = 0;
    const auto length = pid_ > 0 ? ::read(failure[0], &exec_error, sizeof exec_error) : 0;
    ::close(failure[0]);
    if (pid_ < 0) throw std::system_error(fork_error, std::generic_category(), "fork");
    if (length > 0) {
      reap();
      throw std::system_error(exec_error, std::generic_category(), command[0]);
    }
    state_->on_line = std::move(on_line);
    asio::co_spawn(context, read(state_), asio::detached);
  }

  ~process() {
    signal(SIGKILL);
    if (pid_ > 0) reap();
    state_->on_line = nullptr;
    boost::system::error_code ignored;
    state_->output.close(ignored);
  }
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  bool runs() const { return !state_->ended; }

  void signal(int number) {
    if (pid_ > 0) ::kill(pid_, number);
  }

  // Stops the program where it stands (SIGSTOP) and returns when everything that it had written has been given to
  // `on_line`. signal(SIGCONT) lets it go on.
  asio::awaitable<void> freeze() {
    signal(SIGSTOP);
    // One that ends instead of stopping is left for reap().
    siginfo_t change{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &change, WSTOPPED | WEXITED | WNOWAIT) < 0 && errno == EINTR)
      continue;
    for (;;) {
      int unread = 0;
      if (::ioctl(state_->output.native_handle(), FIONREAD, &unread) != 0) unread = 0;
      // Also after the last byte: what has been read is handled before a later timer.
      asio::steady_timer pause(state_->output.get_executor(), std::chrono::milliseconds(1));
      co_await pause.async_wait();
      if (unread == 0) co_return;
    }
  }

  // Waits until the program has ended, with SIGKILL after `limit`. Returns its exit status, 128 + n for signal n.
  asio::awaitable<int> ended(std::chrono::steady_clock::duration limit) {
    if (!state_->ended) {
      state_->end.expires_after(limit);
      auto [woken] = co_await state_->end.async_wait(asio::as_tuple);
      const auto cancelled = co_await asio::this_coro::cancellation_state;
      if (cancelled.cancelled() != asio::cancellation_type_t::none) {
        throw boost::system::system_error(asio::error::operation_aborted);
      }
      if (!woken) signal(SIGKILL);
    }
    co_return reap();
  }

 private:
  struct state {
    explicit state(asio::io_context& context) : output(context), end(context) {}
    asio::posix::stream_descriptor output;
    asio::steady_timer end;
    bool ended = false;
    std::function<void(std::string_view)> on_line;
  };

  [[noreturn]] static void throw_errno(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
  }

  // In the new process, where only few functions may be called.
  [[noreturn]] static void become(char* const* arguments, int output, int failure, pid_t parent) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have died before that.
    if (::getppid() != parent) ::_exit(127);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::execvp(arguments[0], arguments);
    const int error = errno;
    [[maybe_unused]] const auto written = ::write(failure, &error, sizeof error);
    ::_exit(127);
  }

  // The end of the output is the end of the program: nobody else has the other end of the pipe.
  static asio::awaitable<void> read(std::shared_ptr<state> s) {
    std::string input;
    for (;;) {
      auto buffer = asio::dynamic_buffer(input);
      auto [failure, length] = co_await asio::async_read_until(s->output, buffer, '\n', asio::as_tuple);
      if (failure) break;
      if (s->on_line) s->on_line(std::string_view(input).substr(0, length - 1));
      input.erase(0, length);
    }
    s->ended = true;
    s->end.cancel();
  }

  int reap() {
    int status = 0;
    if (pid_ > 0) {
      while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
      status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      pid_ = -1;
    }
    return status_;
  }

  std::shared_ptr<state> state_;
  pid_t pid_ = -1;
  int status_ = 0;
};

}  // namespace support
