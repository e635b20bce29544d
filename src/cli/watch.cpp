// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "watch.hpp"

#include "exit_code.hpp"
#include "lock_text.hpp"
#include "screen.hpp"
#include "signals.hpp"
#include "store.hpp"
#include "text.hpp"
#include "view.hpp"

#include <leasehold/admin.hpp>
#include <leasehold/client.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::cli {
namespace {

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
}

// Stops this process as SIGTSTP does where nothing handles it. The kernel then leaves a process alone that no shell
// could wake again, the leader of a session for example.
void stop_as_by_default() {
  struct sigaction default_action {
  }, before{};
  default_action.sa_handler = SIG_DFL;
  ::sigaction(SIGTSTP, &default_action, &before);
  ::raise(SIGTSTP);
  ::sigaction(SIGTSTP, &before, nullptr);
}

// One `leasehold watch`.
class live_view : view {
 public:
  live_view(asio::io_context& context, const watch_options& wanted)
      : view(context),
        wanted_(wanted),
        changes_(context),
        keys_(context),
        pause_(context),
        store_(connect(context, wanted.store)) {
    if (!screen::is_there()) return;
    changes_.add(SIGWINCH);
    if (!is_ignored(SIGTSTP)) changes_.add(SIGTSTP);
    screen_.emplace();
    draw();
  }

  int run() {
    start(look_again_and_again());
    if (screen_) start(receive_changes());
    if (screen_ && screen_->has_keys()) start(receive_keys());
    run_until_ended();
    screen_.reset();
    if (exit_status_ == 0 && !reachable_) exit_status_ = static_cast<int>(exit_code::unreachable);
    return result();
  }

 private:
  asio::awaitable<void> look_again_and_again() {
    const auto token = asio::as_tuple(asio::use_awaitable);
    for (std::uint64_t n = 1;; ++n) {
      pause_.expires_after(wanted_.interval);
      auto [ec, found] = co_await leasehold::list(store_, token);
      if (ec && ec != error::unreachable) throw describe(ec, store_, wanted_.store, wanted_.store.prefix);
      reachable_ = !ec;
      time_ = time_of_day();
      locks_ = std::move(found);
      // Operators look for the locks with waiters.
      std::stable_sort(locks_.begin(), locks_.end(),
                       [](const listed_lock& a, const listed_lock& b) { return a.waiters > b.waiters; });
      if (screen_) {
        draw();
      } else if (reachable_) {
        co_await write(next_table());
      } else {
        complain(describe(error::unreachable, store_, wanted_.store, wanted_.store.prefix).what());
      }
      if (n == wanted_.count) break;
      co_await pause_.async_wait(token);
    }
  }

  asio::awaitable<void> receive_changes() {
    for (;;) {
      const int number = co_await changes_.async_wait(asio::use_awaitable);
      if (number == SIGTSTP) {
        screen_->leave();
        stop_as_by_default();
        screen_->enter();
      }
      draw();
    }
  }

  // Waits with Asio, but reads by itself: Asio would make the terminal non-blocking for all processes that have it.
  asio::awaitable<void> receive_keys() {
    const int own = ::dup(STDIN_FILENO);
    if (own < 0) throw std::system_error(errno, std::generic_category(), "standard input");
    keys_.assign(own);
    const auto token = asio::as_tuple(asio::use_awaitable);
    for (;;) {
      const auto [ec] = co_await keys_.async_wait(asio::posix::stream_descriptor::wait_read, token);
      std::array<char, 64> typed;
      const ssize_t n = ec ? 0 : ::read(STDIN_FILENO, typed.data(), typed.size());
      if (n <= 0) break;
      const auto end = typed.begin() + n;
      if (std::find(typed.begin(), end, 'q') != end || std::find(typed.begin(), end, 'Q') != end) co_return;
    }
    // The keyboard has gone. Signals are left.
    asio::steady_timer never(context_, asio::steady_timer::time_point::max());
    co_await never.async_wait(token);
  }

  // A blank line is between two tables.
  std::string next_table() {
    std::string text = std::exchange(printed_, true) ? "\n" : "";
    for (const auto& line : table(locks_)) text += line + "\n";
    return text;
  }

  void draw() {
    std::vector<std::string> lines = table(locks_);
    const std::string state = time_.empty() ? "connecting"
                              : !reachable_ ? fmt::format("{}  unreachable", time_)
                                            : fmt::format("{}  {} {}, {} waiting", time_, locks_.size(),
                                                          locks_.size() == 1 ? "lock" : "locks", waiters_in(locks_));
    const std::string why = reachable_ ? "" : store_.last_failure();
    lines.insert(lines.begin(), {printable(fmt::format("leasehold  {}  {}", store_.server(), state)), printable(why)});
    screen_->draw(lines, 2);
  }

  const watch_options& wanted_;
  asio::signal_set changes_;
  asio::posix::stream_descriptor keys_;
  asio::steady_timer pause_;
  client store_;
  std::optional<screen> screen_;

  std::vector<listed_lock> locks_;
  std::string time_;  // Of the latest poll.
  bool reachable_ = true;
  bool printed_ = false;
};

}  // namespace

int watch(const watch_options& wanted) {
  live_view view(lasting_context(), wanted);
  return view.run();
}

}  // namespace leasehold::cli
