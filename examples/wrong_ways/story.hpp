// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the programs of this folder share. Each tells a story of a lock twice: as it goes wrong with commands that look
// right, and as it goes with leasehold. Who comes first is never left to chance: a process freezes or dies at a place
// in the code, and the others wait until it has.
#pragma once

#include "support/arguments.hpp"
#include "support/plain_redis.hpp"

#include <leasehold/leasehold.hpp>

#include <fmt/format.h>

#include <boost/asio.hpp>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace wrong_ways {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::awaitable;
using support::plain_redis;

// What somebody does under a lock.
using work = std::function<awaitable<void>()>;
inline const work nothing = []() -> awaitable<void> { co_return; };

// A line of the story.
template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  fmt::print("{}\n", fmt::format(text, std::forward<Args>(args)...));
  std::fflush(stdout);
}

// The last line, and the exit status.
inline int broken(std::string_view what) {
  say("broken: {}", what);
  return 1;
}
inline int kept(std::string_view what) {
  say("kept: {}", what);
  return 0;
}

// Between two looks at something that will happen.
inline awaitable<void> a_moment() {
  asio::steady_timer timer(co_await asio::this_coro::executor, 5ms);
  co_await timer.async_wait();
}

// Where the process dies: as by a power failure, the kernel's out-of-memory killer or `kill -9`.
inline void crash() { ::raise(SIGKILL); }

// Where the process stands still: swapped out, in a debugger, in a virtual machine that is being moved.
inline void freeze() { ::raise(SIGSTOP); }

// Runs a coroutine on a context of its own until nothing is left to do.
inline void run(awaitable<void> story) {
  asio::io_context context(1);
  std::exception_ptr failure;
  asio::co_spawn(context, std::move(story), [&](std::exception_ptr f) { failure = f; });
  context.run();
  if (failure) std::rethrow_exception(failure);
}

// A part of the story in a process of its own, which may freeze() or crash() there.
class process {
 public:
  explicit process(const work& part) : pid_(::fork()) {
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int status = 0;
    try {
      run(part());
    } catch (const std::exception& e) {
      fmt::print(stderr, "{}\n", e.what());
      status = 69;
    }
    ::_exit(status);
  }
  ~process() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait(0);
  }
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  void wait_until_frozen() {
    if (!WIFSTOPPED(wait(WUNTRACED))) throw std::runtime_error("a process ended that was to freeze");
  }
  void wait_until_dead() {
    if (!WIFSIGNALED(wait(0))) throw std::runtime_error("a process ended that was to crash");
  }
  // It goes on, and this returns when it has ended.
  void thaw() {
    ::kill(pid_, SIGCONT);
    if (const int status = wait(0); !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      throw std::runtime_error("a process failed");
    }
  }

 private:
  int wait(int options) {
    int status = 0;
    while (::waitpid(pid_, &status, options) < 0) {
      if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
    }
    if (!WIFSTOPPED(status)) pid_ = -1;
    return status;
  }

  pid_t pid_;
};

// The two ways of a story: from the URL of a Redis to the exit status.
using way = awaitable<int> (*)(std::string url);

// The main program. What an earlier run has left of these keys is deleted first.
inline int play(int argc, char** argv, const std::vector<std::string>& keys, way wrong, way right) {
  constexpr auto usage = R"(usage: PROGRAM wrong|right [--redis URL]

  wrong          plays the story with the commands that look right: ends with "broken: ..." and status 1
  right          plays it with leasehold: ends with "kept: ..." and status 0
  --redis URL    the Redis to play on (LEASEHOLD_REDIS, redis://127.0.0.1:6379)

Status 69: the story could not be played to its end. All keys begin with "wrong_ways:".
)";
  return support::main_program(usage, argc, argv, [&](int count, char** words) {
    const std::string_view first = count > 1 ? words[1] : "";
    if (first != "wrong" && first != "right") {
      throw support::usage_error(fmt::format("the first word has to be \"wrong\" or \"right\", not \"{}\"", first));
    }
    const support::arguments arguments(count - 1, words + 1, {{"--redis", support::default_redis()}});
    const std::string url = arguments.text("--redis");
    int status = 0;
    auto both = [&]() -> awaitable<void> {
      plain_redis redis(co_await asio::this_coro::executor, url);
      for (const std::string& key : keys) co_await redis.command("DEL", key);
      status = co_await (first == "wrong" ? wrong : right)(url);
    };
    try {
      run(both());
    } catch (const support::usage_error&) {
      throw;
    } catch (const std::exception& e) {
      fmt::print(stderr, "{}: {}\n", argv[0], e.what());
      status = 69;
    }
    return status;
  });
}

}  // namespace wrong_ways
