// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "run.hpp"

#include "acquisition.hpp"
#include "command.hpp"
#include "exit_code.hpp"
#include "signals.hpp"
#include "store.hpp"
#include "text.hpp"

#include <leasehold/client.hpp>
#include <leasehold/hold.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// How long this process waits for the answers of the store in the end. Requests that were sent are not lost with this
// process: as a rule a store that stands still carries them out when it goes on.
constexpr auto answer_limit = 2s;   // For each release, before the client's own limit for closing.
constexpr auto hurried_limit = 1s;  // When a signal has come.

// One `leasehold run`, from the wait for its locks to the exit status. Everything happens on one thread.
class session {
 public:
  session(asio::io_context& context, const run_options& wanted, const inherited_descriptors& inherited)
      : context_(context),
        wanted_(wanted),
        inherited_(inherited),
        signals_(context),
        store_(connect(context, wanted.store)),
        around_(tokens_around()),
        acquisition_(context, store_, wanted, around_),
        changed_(context) {}

  int run() {
    asio::co_spawn(context_, receive_signals(), asio::detached);
    asio::co_spawn(context_, run_and_close(), [this](std::exception_ptr failed) {
      failed_ = failed;
      context_.stop();
    });
    context_.run();
    // What is written from here on may wait for a reader.
    signals_.end();
    if (!reported_) complain(why_stopped().what());
    if (failed_) std::rethrow_exception(failed_);
    return ended_by_itself_ ? report_end() : exit_status_;
  }

 private:
  asio::awaitable<void> run_and_close() {
    std::exception_ptr failed;
    try {
      exit_status_ = co_await hold_and_run();
    } catch (...) {
      failed = std::current_exception();
    }
    // Of several locks it may have acquired some.
    const auto limit = wanted_.names.size() > 1 ? answer_limit : nothing_held_limit;
    if (!ending_) begin_end(acquisition_.granted() ? steady_clock::time_point::max() : later(limit));
    co_await close();
    if (failed) std::rethrow_exception(failed);
  }

  // From here on this process only waits for the store's answers, until then at the latest.
  void begin_end(steady_clock::time_point latest) {
    ending_ = true;
    gives_up_at_ = signalled_ ? std::min(latest, later(hurried_limit)) : latest;
  }

  // A signal that would have ended this process. After the end of the command the first one shortens the waiting for
  // the store, and the second one ends it.
  void hurry() {
    if (ending_) gives_up_at_ = signalled_ ? steady_clock::now() : std::min(gives_up_at_, later(hurried_limit));
    signalled_ = true;
    notify();
  }

  // Waits until everything has been released: an attempt that a signal interrupted, too.
  asio::awaitable<void> close() {
    auto on_answer = [this](error_code) {
      closed_ = true;
      notify();
    };
    store_.close(asio::bind_executor(context_.get_executor(), on_answer));
    while (!closed_ && steady_clock::now() < gives_up_at_) co_await change(gives_up_at_);
  }

  asio::awaitable<int> hold_and_run() {
    auto [holds, exit_status] = co_await acquisition_.acquire();
    if (holds.empty()) co_return exit_status;
    holds_ = std::move(holds);
    command::settings how = settings_of_command();
    if (const hold* gone = not_covered()) throw lost(gone->name(), "the lease was lost before the command could start");

    for (const hold& h : holds_) {
      auto on_loss = [this, &h](error_code ec) {
        if (ec) return;
        if (!lost_) lost_ = &h;
        notify();
      };
      h.lost(asio::bind_executor(context_.get_executor(), on_loss));
    }

    command_.emplace(wanted_.command, std::move(how));
    const int reason = co_await command_->start(context_, signals_, inherited_);
    while (!command_->ended() && !lost_) co_await change(std::nullopt);
    // Before anything else happens: a command that ended in time ended in time.
    gone_ = lost_ ? lost_ : not_covered();
    const bool stopped = !command_->ended();
    if (stopped) co_await stop_command();
    begin_end(steady_clock::time_point::max());
    co_await release();

    if (reason != 0) throw not_started(reason);
    ended_by_itself_ = !stopped;
    co_return static_cast<int>(exit_code::lost);
  }

  command::settings settings_of_command() const {
    std::string names, tokens, fences;
    for (const hold& h : holds_) {
      const bool first = names.empty();
      names += (first ? "" : "\n") + h.name();
      tokens += (first ? "" : " ") + h.token();
      fences += (first ? "" : " ") + std::to_string(h.fence());
    }
    command::settings how;
    how.variables.push_back("LEASEHOLD_NAME=" + names);
    how.variables.push_back("LEASEHOLD_TOKEN=" + tokens);
    how.variables.push_back("LEASEHOLD_FENCE=" + fences);
    if (!around_.empty()) how.variables.push_back("LEASEHOLD_OUTER=" + all_around());
    if (wanted_.hide_redis) how.removed = {"LEASEHOLD_REDIS", "LEASEHOLD_REDIS_FILE"};
    how.wait_children = wanted_.wait_children;
    return how;
  }

  // Of a command that was not stopped: reports the loss of a hold, or else which locks were not released. Returns the
  // exit status. To be called when the client is closed: the answer to a release may come until then.
  int report_end() const {
    const hold* gone = gone_;
    for (std::size_t i = 0; i < holds_.size(); ++i) {
      if (!gone && released_[i] == error::lost) gone = &holds_[i];
    }
    if (gone) {
      const failure f = lost(gone->name(), "the lease was lost before the command ended");
      if (*command_->status() == 0) throw f;
      complain(f.what());
      return *command_->status();
    }
    for (std::size_t i = 0; i < holds_.size(); ++i) {
      if (!released_[i]) continue;
      const std::string& name = holds_[i].name();
      complain(fmt::format("{}: not released, it ends with its lease: {}", in_quotes(name),
                           describe(released_[i], store_, wanted_.store, name).what()));
    }
    return *command_->status();
  }

  // A hold that is not valid any more; null if there is none.
  const hold* not_covered() const {
    const auto gone = std::find_if(holds_.begin(), holds_.end(), [](const hold& h) { return !h.valid(); });
    return gone == holds_.end() ? nullptr : &*gone;
  }

  // For LEASEHOLD_OUTER; empty if it would be too long for a variable.
  std::string all_around() const {
    std::string text;
    for (const auto& token : around_) text += (text.empty() ? "" : " ") + token;
    return text.size() < 100'000 ? text : "";
  }

  // The lease is lost: SIGTERM, and SIGKILL for the processes that are still there after the grace. A pipe or a
  // terminal that takes no text now must keep neither the command running nor the other locks held.
  asio::awaitable<void> stop_command() {
    const int refused = command_->stop();
    reported_ = complain_at_once(why_stopped().what());
    if (refused != 0 && reported_) complain_at_once(not_signalled(refused));
    co_await end_command();
  }
  static std::string not_signalled(int reason) {
    return fmt::format("the command cannot be signalled: {}", std::strerror(reason));
  }
  failure why_stopped() const { return lost(lost_->name(), "the lease was lost, stopping the command"); }

  asio::awaitable<void> end_command() {
    const auto grace_ends = later(wanted_.grace);
    while (!command_->all_ended() && steady_clock::now() < grace_ends) {
      co_await change(grace_ends);
      command_->stop_adopted();
    }
    if (command_->all_ended()) co_return;
    command_->kill();
    // The remaining children of the command get a moment to die; for the command itself this process waits.
    const auto moment_ends = later(1s);
    while (!command_->all_ended() && steady_clock::now() < moment_ends) {
      co_await change(moment_ends);
      // A child of the command that has become one of this process since.
      if (!command_->all_ended()) command_->kill();
    }
    while (!command_->status()) co_await change(std::nullopt);
  }

  // The answers may never come; close() goes on trying for a moment.
  asio::awaitable<void> release() {
    released_.assign(holds_.size(), make_error_code(error::unreachable));
    const auto ends = later(answer_limit);
    for (std::size_t i = 0; i < holds_.size(); ++i) {
      auto on_answer = [this, i](error_code ec) {
        released_[i] = ec;
        ++answered_;
        notify();
      };
      holds_[i].release(asio::bind_executor(context_.get_executor(), on_answer));
    }
    for (;;) {
      const auto until = std::min(ends, gives_up_at_);
      if (answered_ == holds_.size() || steady_clock::now() >= until) co_return;
      co_await change(until);
    }
  }

  asio::awaitable<void> receive_signals() {
    for (;;) {
      const signals::received r = co_await signals_.next();
      if (r.number == SIGCHLD) {
        if (command_) command_->reap();
        notify();
        continue;
      }
      if (command_) {
        const int refused = command_->pass_on(r);
        if (refused != 0) complain_at_once(not_signalled(refused));
      } else if (ends_programs(r.number)) {
        acquisition_.stop(r.number);
      }
      if (asks_to_end(r.number)) hurry();
    }
  }

  // Something was notified, or the time has come. There is one waiter.
  asio::awaitable<void> change(std::optional<steady_clock::time_point> until) {
    changed_.expires_at(until.value_or(steady_clock::time_point::max()));
    const auto token = asio::as_tuple(asio::use_awaitable);
    co_await changed_.async_wait(token);
  }
  void notify() { changed_.cancel(); }

  // Saturates: a grace of centuries is as good as none.
  static steady_clock::time_point later(std::chrono::milliseconds d) {
    return steady_clock::now() + std::min(d, std::chrono::milliseconds(24h * 365));
  }

  static failure lost(const std::string& name, const char* what) {
    return {exit_code::lost, fmt::format("{}: {}", in_quotes(name), what)};
  }

  failure not_started(int reason) const {
    const std::string& name = wanted_.command[0];
    if (reason != ENOENT && reason != ENOTDIR) {
      return {exit_code::not_executable, fmt::format("{}: {}", in_quotes(name), std::strerror(reason))};
    }
    const bool path = name.find('/') != name.npos;
    return {exit_code::not_found,
            fmt::format("{}: {}", in_quotes(name), path ? std::strerror(reason) : "command not found")};
  }

  asio::io_context& context_;
  const run_options& wanted_;
  const inherited_descriptors& inherited_;
  signals signals_;
  client store_;
  const std::vector<std::string> around_;
  acquisition acquisition_;
  std::vector<hold> holds_;
  std::vector<error_code> released_;  // The answers to their releases,
  std::size_t answered_ = 0;          // and how many there are.
  std::optional<command> command_;

  asio::steady_timer changed_;
  bool signalled_ = false;  // A signal came that would have ended this process.
  bool ending_ = false;     // It only waits for answers of the store.
  bool closed_ = false;     // The last one has come.
  steady_clock::time_point gives_up_at_ = steady_clock::time_point::max();

  const hold* lost_ = nullptr;  // the first of them
  const hold* gone_ = nullptr;  // A hold that was not valid when the command ended.
  bool reported_ = true;        // Why the command was stopped. If not, it is still to be written.
  bool ended_by_itself_ = false;
  int exit_status_ = 0;
  std::exception_ptr failed_;
};

}  // namespace

int run(const run_options& wanted, const inherited_descriptors& inherited) {
  session s(lasting_context(), wanted, inherited);
  return s.run();
}

}  // namespace leasehold::cli
