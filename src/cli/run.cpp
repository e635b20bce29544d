// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "run.hpp"

#include "command.hpp"
#include "duration.hpp"
#include "exit_code.hpp"
#include "lock_text.hpp"
#include "signals.hpp"
#include "store.hpp"
#include "text.hpp"

#include <leasehold/acquire_all.hpp>
#include <leasehold/admin.hpp>
#include <leasehold/client.hpp>
#include <leasehold/counting_semaphore.hpp>
#include <leasehold/hold.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/shared_mutex.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// How long this process waits for the answers of the store in the end. Requests that were sent are not lost with this
// process: as a rule a store that stands still carries them out when it goes on.
constexpr auto answer_limit = 2s;           // For each release, before the client's own limit for closing.
constexpr auto hurried_limit = 1s;          // When a signal has come.
constexpr auto nothing_held_limit = 150ms;  // Without a hold. A silent entry disappears from the queue.

// A waiting process polls the locks: first after `first_look`, then after each `next_look`.
constexpr auto first_look = 1s;
constexpr auto next_look = 10s;

// The tokens of the runs around this one.
std::vector<std::string> tokens_around() {
  std::vector<std::string> tokens;
  for (const char* name : {"LEASEHOLD_TOKEN", "LEASEHOLD_OUTER"}) {
    const char* value = std::getenv(name);
    std::istringstream words(value ? value : "");
    tokens.insert(tokens.end(), std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  return tokens;
}

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
        changed_(context),
        next_look_(context) {}

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
    if (!ending_) begin_end(granted_ ? steady_clock::time_point::max() : later(nothing_held_limit));
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
    if (!co_await acquire()) co_return exit_status_;
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
    const hold* gone = lost_ ? lost_ : not_covered();
    const bool stopped = !command_->ended();
    bool told = true;
    if (stopped) told = co_await stop_command();
    begin_end(steady_clock::time_point::max());
    co_await release();
    if (!told) complain(why_stopped().what());

    if (reason != 0) throw not_started(reason);
    if (stopped) co_return static_cast<int>(exit_code::lost);
    for (std::size_t i = 0; i < holds_.size(); ++i) {
      if (!gone && released_[i] == error::lost) gone = &holds_[i];
    }
    if (gone) {
      const failure f = lost(gone->name(), "the lease was lost before the command ended");
      if (*command_->status() == 0) throw f;
      complain(f.what());
      co_return *command_->status();
    }
    for (std::size_t i = 0; i < holds_.size(); ++i) {
      if (!released_[i]) continue;
      const std::string& name = holds_[i].name();
      complain(fmt::format("{}: not released, it ends with its lease: {}", in_quotes(name),
                           describe(released_[i], store_, wanted_.store, name).what()));
    }
    co_return *command_->status();
  }

  // A hold that is not valid any more; null if there is none.
  const hold* not_covered() const {
    const auto gone = std::find_if(holds_.begin(), holds_.end(), [](const hold& h) { return !h.valid(); });
    return gone == holds_.end() ? nullptr : &*gone;
  }

  // False if there is an exit status instead of holds: the locks were not acquired in time, or a signal ended the wait.
  asio::awaitable<bool> acquire() {
    const auto token = asio::bind_cancellation_slot(stop_waiting_.slot(), asio::as_tuple(asio::use_awaitable));
    error_code ec;
    waiting_ = true;
    if (wanted_.wait != 0ms) asio::co_spawn(context_, look_while_waiting(), asio::detached);
    if (wanted_.wait == forever && !signal_) {
      // Waiting forever includes outages, but not a store that was never there.
      std::tie(ec) = co_await store_.ready(token);
    }
    if (!ec && !signal_ && inside_.empty()) {
      switch (wanted_.kind) {
        case lock_kind::mutex:
          ec = co_await acquire_all_of([&](const std::string& name) { return mutex(store_, name); });
          break;
        case lock_kind::reader:
          ec = co_await acquire_all_of([&](const std::string& name) { return shared_mutex(store_, name).shared(); });
          break;
        case lock_kind::writer:
          ec = co_await acquire_all_of([&](const std::string& name) { return shared_mutex(store_, name); });
          break;
        case lock_kind::permit:
          ec = co_await acquire_all_of(
              [&](const std::string& name) { return counting_semaphore(store_, name, wanted_.permits); });
          break;
      }
    }
    waiting_ = false;
    next_look_.cancel();
    granted_ = !holds_.empty();
    if (!inside_.empty() && !granted_) {
      throw failure(exit_code::usage,
                    fmt::format("{}: a leasehold run around this one holds it, so this one would wait for itself",
                                in_quotes(inside_)));
    }
    if (signal_) {
      // The locks may have come at the same moment; close() waits for the answer to this.
      holds_.clear();
      exit_status_ = static_cast<int>(exit_code::signalled) + *signal_;
      co_return false;
    }
    if (ec == error::timed_out) {
      exit_status_ = wanted_.conflict_exit_code;
      // With --conflict-exit-code 0 it is not an error, and a cron job stays silent.
      if (exit_status_ != 0) {
        complain(fmt::format("{}: not acquired{}: another client has {}", all_names(),
                             wanted_.wait == 0ms ? "" : " within " + to_text(wanted_.wait),
                             wanted_.names.size() == 1 ? "it" : "one of them"));
      }
      co_return false;
    }
    if (ec == error::wrong_type || ec == error::wrong_limit) co_await throw_conflict(ec);
    if (ec) throw describe(ec, store_, wanted_.store, wanted_.names[0]);
    co_return true;
  }

  template <class Make>
  asio::awaitable<error_code> acquire_all_of(Make make) {
    const auto token = asio::bind_cancellation_slot(stop_waiting_.slot(), asio::as_tuple(asio::use_awaitable));
    acquire_options how;
    how.lease = wanted_.lease;
    how.wait = wanted_.wait;
    how.renew = wanted_.renew;
    how.replicas = wanted_.replicas;
    how.margin = std::min(wanted_.grace, wanted_.lease / 3);
    std::vector<decltype(make(wanted_.names[0]))> locks;
    for (const auto& name : wanted_.names) locks.push_back(make(name));
    auto operation = leasehold::acquire_all(how, locks);
    auto [ec, granted] = co_await std::move(operation)(token);
    holds_ = std::move(granted);
    co_return ec;
  }

  // Reports the wait to a person at a terminal, and ends a wait that can never end.
  asio::awaitable<void> look_while_waiting() {
    const bool tells = ::isatty(STDERR_FILENO) == 1;
    if (!tells && around_.empty()) co_return;
    const auto token = asio::as_tuple(asio::use_awaitable);
    std::string told;
    for (auto pause = std::chrono::milliseconds(first_look); waiting_; pause = next_look) {
      next_look_.expires_after(pause);
      co_await next_look_.async_wait(token);
      std::string found;
      for (std::size_t i = 0; waiting_ && i < wanted_.names.size(); ++i) {
        const std::string& name = wanted_.names[i];
        auto [ec, lock] = co_await show(store_, name, token);
        // A quorum only reports one of the holds and how many there are; it has no queues.
        if (ec == error::not_supported) std::tie(ec, lock) = co_await inspected(name);
        if (waiting_ && waits_for_itself(lock)) {
          inside_ = name;
          stop_waiting_.emit(asio::cancellation_type::terminal);
          co_return;
        }
        if (found.empty()) found = waiting_text(name, ec, lock);
      }
      if (!waiting_ || !tells || found.empty() || found == told) continue;
      // A text that has not changed is not repeated.
      complain_at_once(found);
      told = std::move(found);
    }
  }

  // The state of a lock on a majority.
  asio::awaitable<std::pair<error_code, lock_status>> inspected(const std::string& name) {
    const auto token = asio::as_tuple(asio::use_awaitable);
    const mutex exclusive(store_, name);
    const shared_mutex shared(store_, name);
    auto asking = wanted_.kind == lock_kind::mutex ? exclusive.inspect(token) : shared.inspect(token);
    auto [ec, found] = co_await std::move(asking);
    lock_status lock;
    static_cast<lock_info&>(lock) = std::move(found);
    if (lock.held) {
      listed_hold& one = lock.holds.emplace_back();
      one.token = lock.token;
      // A quorum names one of the holders. Only readers can be several.
      if (lock.holders > 1) {
        lock.kind = "shared_mutex";
        lock.mode = "readers";
      }
    }
    co_return std::pair(ec, std::move(lock));
  }

  // Whether this run waits for a hold of a run around it. That run goes on only when this one has ended.
  bool waits_for_itself(const lock_status& lock) const {
    const auto around = std::count_if(lock.holds.begin(), lock.holds.end(), [this](const listed_hold& h) {
      return std::find(around_.begin(), around_.end(), h.token) != around_.end();
    });
    // Another permit of a semaphore may be released.
    return around != 0 && (lock.limit == 0 || static_cast<std::size_t>(around) == lock.holders);
  }

  std::string waiting_text(const std::string& name, error_code ec, const lock_status& lock) const {
    const std::string text = fmt::format("waiting for {}", in_quotes(name));
    if (ec == error::unreachable) return fmt::format("{}: {}", text, describe(ec, store_, wanted_.store, name).what());
    if (ec) return text;  // The server may not allow it.
    const auto is_own = [label = own_label() + "-"](const auto& entry) { return entry.token.starts_with(label); };
    if (!lock.held || std::any_of(lock.holds.begin(), lock.holds.end(), is_own)) return "";
    const auto own = std::find_if(lock.queue.begin(), lock.queue.end(), is_own);
    const auto in_front = own - lock.queue.begin();
    const std::string holders = fmt::format("{}: {}, {}", text, held_by_text(lock), lease_text(lock));
    if (lock.waiters == 0) return holders;
    return fmt::format("{}; {}", holders,
                       own == lock.queue.end() ? fmt::format("{} waiting", lock.waiters)
                       : in_front == 0         ? std::string("this run is next")
                                               : fmt::format("{} in front of this run", in_front));
  }

  // For LEASEHOLD_OUTER; empty if it would be too long for a variable.
  std::string all_around() const {
    std::string text;
    for (const auto& token : around_) text += (text.empty() ? "" : " ") + token;
    return text.size() < 100'000 ? text : "";
  }

  std::string all_names() const {
    std::string text;
    for (const auto& name : wanted_.names) text += (text.empty() ? "" : ", ") + in_quotes(name);
    return text;
  }

  // Reports which key is another kind of lock, or a semaphore with another limit, if it still is: reads each of them.
  asio::awaitable<void> throw_conflict(error_code ec) {
    const char* const asked = wanted_.kind == lock_kind::mutex    ? "mutex"
                              : wanted_.kind == lock_kind::permit ? "counting_semaphore"
                                                                  : "shared_mutex";
    const std::string permits = fmt::format("with {} {}", wanted_.permits, wanted_.permits == 1 ? "permit" : "permits");
    const std::string in_words = kind_in_words(asked) + (ec == error::wrong_limit ? " " + permits : "");
    const auto token = asio::as_tuple(asio::use_awaitable);
    for (const auto& name : wanted_.names) {
      auto [failed, found] = co_await show(store_, name, token);
      std::string but;
      if (failed == error::wrong_type) {
        but = "something that is no lock";
      } else if (failed || !found.held) {
        continue;
      } else if (wanted_.kind == lock_kind::mutex && found.kind.empty() && found.owner.empty()) {
        continue;  // Another program's mutex.
      } else if (ec == error::wrong_limit && found.limit != wanted_.permits && found.limit != 0) {
        but = fmt::format("one with {}", found.limit);
      } else if (found.kind != asked) {
        but = found.kind.empty() ? "another program's lock" : kind_in_words(found.kind);
      } else {
        continue;
      }
      throw failure(exit_code::wrong_type,
                    fmt::format("{}: {}: asked for {}, and the key {} is {}", in_quotes(name), ec.message(), in_words,
                                in_quotes(wanted_.store.prefix + name), but));
    }
    std::string keys;
    for (const auto& name : wanted_.names) {
      keys += (keys.empty() ? "" : " or ") + in_quotes(wanted_.store.prefix + name);
    }
    throw failure(exit_code::wrong_type, fmt::format("{}: {}: asked for {}, and the key {} is something else",
                                                     all_names(), ec.message(), in_words, keys));
  }

  // The lease is lost: SIGTERM, and SIGKILL for the processes that are still there after the grace. A pipe or a
  // terminal that takes no text now must keep neither the command running nor the other locks held. False: the messages
  // are still to be written.
  asio::awaitable<bool> stop_command() {
    const int refused = command_->stop();
    bool told = complain_at_once(why_stopped().what());
    if (refused != 0 && told) complain_at_once(not_signalled(refused));
    co_await end_command();
    co_return told;
  }
  static std::string not_signalled(int reason) {
    return fmt::format("the command cannot be signalled: {}", std::strerror(reason));
  }
  failure why_stopped() const { return lost(lost_->name(), "the lease was lost, stopping the command"); }

  asio::awaitable<void> end_command() {
    const auto grace_ends = later(wanted_.grace);
    while (!command_->all_ended() && steady_clock::now() < grace_ends) co_await change(grace_ends);
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
        if (!ending_) signal_ = r.number;
        stop_waiting_.emit(asio::cancellation_type::terminal);
      }
      if (r.number == SIGTERM || r.number == SIGINT || r.number == SIGHUP || r.number == SIGQUIT) hurry();
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
  std::vector<hold> holds_;
  std::vector<error_code> released_;  // The answers to their releases,
  std::size_t answered_ = 0;          // and how many there are.
  std::optional<command> command_;

  asio::steady_timer changed_;
  asio::cancellation_signal stop_waiting_;
  asio::steady_timer next_look_;
  bool waiting_ = false;
  bool granted_ = false;
  std::string inside_;         // The name of a lock that a run around this one has.
  std::optional<int> signal_;  // that ended the waiting

  bool signalled_ = false;  // A signal came that would have ended this process.
  bool ending_ = false;     // It only waits for answers of the store.
  bool closed_ = false;     // The last one has come.
  steady_clock::time_point gives_up_at_ = steady_clock::time_point::max();

  const hold* lost_ = nullptr;  // the first of them
  int exit_status_ = 0;
  std::exception_ptr failed_;
};

}  // namespace

int run(const run_options& wanted, const inherited_descriptors& inherited) {
  // Never destroyed: its destructor would wait for a name server that does not answer.
  static asio::io_context& context = *new asio::io_context(1);
  session s(context, wanted, inherited);
  return s.run();
}

}  // namespace leasehold::cli
