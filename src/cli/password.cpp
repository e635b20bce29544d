// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "password.hpp"

#include "exit_code.hpp"
#include "text.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

// The client asks again after four fifths of this.
constexpr auto lifetime = 75s;

// Longer than any token, and an end for a device.
constexpr std::size_t longest_password = 65536;

std::string first_line(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return std::string(line);
}

// A descriptor of this process.
struct descriptor {
  explicit descriptor(int n) : number(n) {}
  ~descriptor() {
    if (number >= 0) ::close(number);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  int release() { return std::exchange(number, -1); }
  int number;
};

// Throws std::runtime_error that names the file.
std::string password_in(const std::string& path) {
  const auto fail = [&path](const char* why) {
    throw std::runtime_error(fmt::format("{}: {}", word_in_quotes(path), why));
  };
  // A pipe that nothing writes to would stop this process.
  const descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.number < 0) fail(std::strerror(errno));
  std::string text(longest_password + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const auto n = ::read(file.number, text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(std::strerror(errno));
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  std::string line = first_line(text);
  if (line.empty()) fail("there is no password in its first line");
  if (line.size() > longest_password) fail("its first line is longer than 65536 bytes");
  return line;
}

// The process between leasehold and the shell of a password command. It kills the shell's group, with what the shell
// has left there, when it gets SIGTERM: from leasehold, or from the kernel when leasehold has ended in whatever way.
// Else it ends when all that the shell has started has ended. All signals are blocked, and only async-signal-safe calls
// are allowed.
[[noreturn]] void keep_shell(pid_t leasehold, char* const* words, int output) {
  for (const int number : {SIGTERM, SIGCHLD, SIGPIPE}) ::signal(number, SIG_DFL);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != leasehold) ::_exit(0);
  // Ctrl-C is not for them.
  ::setpgid(0, 0);
  const pid_t shell = ::_Fork();
  if (shell == 0) {
    ::setpgid(0, 0);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    // Asio opens its sockets without close-on-exec.
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve("/bin/sh", words, environ);
    ::_exit(127);
  }
  // The shell does the same; either of them may come first.
  ::setpgid(shell, shell);
  ::close_range(0, ~0U, 0);
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGTERM);
  ::sigaddset(&awaited, SIGCHLD);
  for (int number = 0;;) {
    pid_t ended;
    while ((ended = ::waitpid(-1, nullptr, WNOHANG)) > 0) continue;
    if (ended < 0) ::_exit(0);
    ::sigwait(&awaited, &number);
    if (number != SIGTERM) continue;
    // As long as a child of this process is in the group, no other group has its number.
    siginfo_t unused;
    const bool is_there = ::waitid(P_PGID, static_cast<id_t>(shell), &unused, WEXITED | WNOHANG | WNOWAIT) == 0;
    if (is_there) ::kill(-shell, SIGKILL);
    if (::getppid() != leasehold) ::_exit(0);
  }
}

// Runs the command in a shell, without blocking: the leases are renewed meanwhile. Requests that come while it runs get
// its answer, too.
class password_command final : public std::enable_shared_from_this<password_command> {
 public:
  password_command(asio::io_context& context, std::string command)
      : command_(std::move(command)), output_(context), limit_(context) {}

  void ask(credentials_handler done) {
    waiting_.push_back(std::move(done));
    if (waiting_.size() > 1) return;
    try {
      start();
    } catch (const std::system_error& e) {
      return finish(e.what(), {});
    }
    text_.clear();
    limit_.expires_after(patience);
    limit_.async_wait([self = shared_from_this(), run = run_](error_code ec) {
      if (!ec && run == self->run_) self->give_up();
    });
    read();
  }

 private:
  // A little less than the client waits: so it is told why there is no password.
  static constexpr auto patience = 4500ms;

  void start() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    descriptor from(ends[0]);
    const descriptor to(ends[1]);
    // This process does not wait for the shell, so the status comes by the pipe, in a last line.
    static char shell[] = "sh", option[] = "-c", script[] = R"((eval "$1"); printf '\n%s' "$?")";
    char* const words[] = {shell, option, script, shell, command_.data(), nullptr};
    const pid_t leasehold = ::getpid();
    // No handler of this process runs in the keeper.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    while (::waitpid(-1, nullptr, WNOHANG | static_cast<int>(__WCLONE)) > 0) continue;  // Those that have ended.
    // Like fork, but no SIGCHLD reports its end and waitpid without __WCLONE does not see it: `run` waits for its
    // command and for what that has started.
    keeper_ = static_cast<pid_t>(::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
    const int reason = errno;
    if (keeper_ == 0) keep_shell(leasehold, words, to.number);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (keeper_ < 0) throw std::system_error(reason, std::generic_category(), "clone");
    output_.assign(from.release());
  }

  void read() {
    // (What was queued before the end of its run may come when the next one has begun.)
    const auto into = asio::buffer(piece_);
    output_.async_read_some(into, [self = shared_from_this(), run = run_](error_code ec, std::size_t n) {
      if (run != self->run_) return;
      self->text_.append(self->piece_.data(), n);
      if (self->text_.size() > longest_password) return self->give_up("it prints more than 65536 bytes");
      if (!ec) return self->read();
      self->end();
    });
  }

  void end() {
    const auto last = text_.rfind('\n');
    const std::string status = last == text_.npos ? "" : text_.substr(last + 1);
    if (status != "0") {
      // Without a status the last line is its output, which may be the password.
      const bool is_number =
          !status.empty() && status.size() <= 3 && status.find_first_not_of("0123456789") == status.npos;
      return finish(is_number ? "its exit status is " + status : "it was killed", {});
    }
    std::string line = first_line(std::string_view(text_).substr(0, last));
    if (line.empty()) return finish("there is no password in the first line of its output", {});
    finish({}, std::move(line));
  }

  void give_up(std::string why = "it takes too long") {
    ::kill(keeper_, SIGTERM);
    finish(std::move(why), {});
  }

  void finish(const std::string& why, const std::string& password) {
    error_code ignored;
    output_.close(ignored);
    limit_.cancel();
    ++run_;
    std::fill(text_.begin(), text_.end(), '\0');
    const auto waiting = std::exchange(waiting_, {});
    for (const auto& done : waiting) {
      if (why.empty()) {
        done(credentials({}, password, std::chrono::steady_clock::now() + lifetime));
      } else {
        done("the password command: " + why);
      }
    }
  }

  std::string command_;
  asio::posix::stream_descriptor output_;
  asio::steady_timer limit_;
  pid_t keeper_ = -1;
  std::uint64_t run_ = 0;  // The number of runs that have ended.
  std::array<char, 4096> piece_{};
  std::string text_;
  std::vector<credentials_handler> waiting_;
};

}  // namespace

credentials_function password_of(asio::io_context& context, const store_options& where) {
  // Users belong to the servers. A Sentinel has the default user, unless the URL names another.
  const auto user_for = [user = where.user](const credentials_request& r) {
    return r.of == credentials_request::role::server ? user : std::string();
  };
  if (!where.password_file.empty()) {
    try {
      password_in(where.password_file);
    } catch (const std::runtime_error& e) {
      throw failure(exit_code::usage, e.what());
    }
    return [user_for, path = where.password_file](const credentials_request& r, const credentials_handler& done) {
      done(credentials(user_for(r), password_in(path), std::chrono::steady_clock::now() + lifetime));
    };
  }
  if (where.password_command.empty()) return nullptr;
  const auto command = std::make_shared<password_command>(context, where.password_command);
  return [user_for, command](const credentials_request& r, const credentials_handler& done) {
    command->ask(credentials_handler([user = user_for(r), done](const std::string& why, credentials given) {
      given.user = user;
      done(why, given);
    }));
  };
}

}  // namespace leasehold::cli
