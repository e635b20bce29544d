// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "run.hpp"

#include "command.hpp"
#include "duration.hpp"
#include "exit_code.hpp"
#include "signals.hpp"
#include "store.hpp"
#include "text.hpp"

#include <leasehold/client.hpp>
#include <leasehold/hold.hpp>
#include <leasehold/mutex.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// One `leasehold run`, from the wait for the lock to the exit status. Everything happens on one thread.
class session {
 public:
  session(asio::io_context& context, const run_options& wanted, const inherited_descriptors& inherited)
      : context_(context),
        wanted_(wanted),
        inherited_(inherited),
        signals_(context),
        store_(connect(context, wanted.store)),
        changed_(context) {}

  int run() {
    asio::co_spawn(context_, receive_signals(), asio::detached);
    asio::co_spawn(context_, run_and_close(), [this](std::exception_ptr failed) {
      failed_ = failed;
      context_.stop();
    });
    context_.run();
    if (failed_) std::rethrow_exception(failed_);
    return exit_status_;
  }

 private:
  asio::awaitable<void> run_and_close() {
    std::exception_ptr failed;
    try {
      exit_status_ = co_await hold_and_run();
    } catch (...) {
      failed = std::current_exception();
    }
    // Waits until everything has been given back: an attempt that a signal interrupted, too.
    const auto token = asio::as_tuple(asio::use_awaitable);
    co_await store_.close(token);
    if (failed) std::rethrow_exception(failed);
  }

  asio::awaitable<int> hold_and_run() {
    if (!co_await acquire()) co_return exit_status_;
    std::vector<std::string> variables;
    variables.push_back("LEASEHOLD_NAME=" + wanted_.name);
    variables.push_back("LEASEHOLD_TOKEN=" + hold_.token());
    variables.push_back("LEASEHOLD_FENCE=" + std::to_string(hold_.fence()));
    if (!hold_.valid()) throw lost("the lease was lost before the command could start");

    auto on_loss = [this](error_code ec) {
      if (ec) return;
      lost_ = true;
      notify();
    };
    hold_.lost(asio::bind_executor(context_.get_executor(), on_loss));

    command_.emplace(wanted_.command, std::move(variables));
    const int reason = co_await command_->start(context_, signals_, inherited_);
    while (!command_->status() && !lost_) co_await change(std::nullopt);
    // Before anything else happens: a command that ended in time ended in time.
    const bool covered = !lost_ && hold_.valid();
    if (!command_->status()) co_await stop_command();
    const error_code released = co_await release();

    if (reason != 0) throw not_started(reason);
    if (lost_) co_return static_cast<int>(exit_code::lost);
    if (!covered || released == error::lost) {
      const failure f = lost("the lease was lost before the command ended");
      if (*command_->status() == 0) throw f;
      complain(f.what());
    } else if (released) {
      complain(fmt::format("{}: not given back, it ends with its lease: {}", in_quotes(wanted_.name),
                           describe(released, store_, wanted_.store, wanted_.name).what()));
    }
    co_return *command_->status();
  }

  // False if there is no hold but an exit status: the lock is not to be had in time, or a signal ended the waiting.
  asio::awaitable<bool> acquire() {
    const auto token = asio::bind_cancellation_slot(stop_waiting_.slot(), asio::as_tuple(asio::use_awaitable));
    error_code ec;
    if (wanted_.wait == forever && !signal_) {
      // Waiting for ever includes outages, but not a store that was never there.
      std::tie(ec) = co_await store_.ready(token);
    }
    if (!ec && !signal_) {
      acquire_options how;
      how.lease = wanted_.lease;
      how.wait = wanted_.wait;
      how.margin = std::min(wanted_.grace, wanted_.lease / 3);
      const mutex lock(store_, wanted_.name);
      if (wanted_.wait == 0ms) {
        auto [failed, granted] = co_await lock.try_acquire(how, token);
        ec = failed;
        if (granted) hold_ = std::move(*granted);
        if (!failed && !granted) ec = error::timed_out;
      } else {
        auto [failed, granted] = co_await lock.acquire(how, token);
        ec = failed;
        hold_ = std::move(granted);
      }
    }
    if (signal_) {
      // The lock may have come at the same moment; close() waits for the answer to this.
      hold_ = hold();
      exit_status_ = static_cast<int>(exit_code::signalled) + *signal_;
      co_return false;
    }
    if (ec == error::timed_out) {
      exit_status_ = wanted_.conflict_exit_code;
      // With --conflict-exit-code 0 it is not an error, and a cron job stays silent.
      if (exit_status_ != 0) {
        complain(fmt::format("{}: not acquired{}: somebody else has it", in_quotes(wanted_.name),
                             wanted_.wait == 0ms ? "" : " within " + to_text(wanted_.wait)));
      }
      co_return false;
    }
    if (ec) throw describe(ec, store_, wanted_.store, wanted_.name);
    co_return true;
  }

  // The lease is lost: SIGTERM, and SIGKILL for what is still there when the grace is over.
  asio::awaitable<void> stop_command() {
    complain(lost("the lease was lost, stopping the command").what());
    command_->stop();
    const auto grace_ends = later(wanted_.grace);
    while (!command_->all_ended() && steady_clock::now() < grace_ends) co_await change(grace_ends);
    if (command_->all_ended()) co_return;
    command_->kill();
    // What is left of the command's children gets a moment to die; for the command itself we wait.
    const auto moment_ends = later(1s);
    while (!command_->all_ended() && steady_clock::now() < moment_ends) co_await change(moment_ends);
    while (!command_->status()) co_await change(std::nullopt);
  }

  asio::awaitable<error_code> release() {
    // The answer may never come; close() goes on trying for a moment.
    const auto token = asio::cancel_after(2s, asio::as_tuple(asio::use_awaitable));
    const auto [ec] = co_await hold_.release(token);
    co_return ec == asio::error::operation_aborted ? make_error_code(error::unreachable) : ec;
  }

  asio::awaitable<void> receive_signals() {
    for (;;) {
      const signals::received r = co_await signals_.next();
      if (r.number == SIGCHLD) {
        if (command_) command_->reap();
        notify();
      } else if (command_) {
        command_->pass_on(r);
      } else if (r.number != SIGCONT && r.number != SIGWINCH) {
        signal_ = r.number;
        stop_waiting_.emit(asio::cancellation_type::terminal);
      }
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

  failure lost(const char* what) const {
    return {exit_code::lost, fmt::format("{}: {}", in_quotes(wanted_.name), what)};
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
  hold hold_;
  std::optional<command> command_;

  asio::steady_timer changed_;
  asio::cancellation_signal stop_waiting_;
  std::optional<int> signal_;  // that ended the waiting
  bool lost_ = false;
  int exit_status_ = 0;
  std::exception_ptr failed_;
};

}  // namespace

int run(const run_options& wanted, const inherited_descriptors& inherited) {
  asio::io_context context(1);
  session s(context, wanted, inherited);
  return s.run();
}

}  // namespace leasehold::cli
