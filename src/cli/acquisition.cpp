// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "acquisition.hpp"

#include "duration.hpp"
#include "exit_code.hpp"
#include "lock_text.hpp"
#include "store.hpp"
#include "text.hpp"

#include <leasehold/acquire_all.hpp>
#include <leasehold/counting_semaphore.hpp>
#include <leasehold/election.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/shared_mutex.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <tuple>

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;

// A waiting process polls the locks: first after `first_poll`, then after each `next_poll`.
constexpr auto first_poll = 1s;
constexpr auto next_poll = 10s;

}  // namespace

std::vector<std::string> tokens_around() {
  std::vector<std::string> tokens;
  for (const char* name : {"LEASEHOLD_TOKEN", "LEASEHOLD_OUTER"}) {
    const char* value = std::getenv(name);
    std::istringstream words(value ? value : "");
    tokens.insert(tokens.end(), std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  return tokens;
}

acquisition::acquisition(asio::io_context& context, const client& store, const run_options& wanted,
                         const std::vector<std::string>& around)
    : context_(context), store_(store), wanted_(wanted), around_(around), next_poll_(context) {}

asio::awaitable<acquisition::outcome> acquisition::acquire() {
  const auto token = asio::bind_cancellation_slot(stop_waiting_.slot(), asio::as_tuple(asio::use_awaitable));
  error_code ec;
  std::vector<hold> holds;
  waiting_ = true;
  if (wanted_.wait != 0ms) asio::co_spawn(context_, poll_while_waiting(), asio::detached);
  if (wanted_.wait == forever && !signal_) {
    // Waiting forever includes outages, but not a store that was never there.
    std::tie(ec) = co_await store_.ready(token);
  }
  if (!ec && !signal_ && inside_.empty()) std::tie(ec, holds) = co_await acquire_all();
  waiting_ = false;
  next_poll_.cancel();
  granted_ = !holds.empty();
  if (!inside_.empty() && !granted_) {
    throw failure(exit_code::usage,
                  fmt::format("{}: a leasehold run around this one holds it, so this one would wait for itself",
                              in_quotes(inside_)));
  }
  if (signal_) {
    // The locks may have come at the same moment; closing the client waits for the answer to this.
    holds.clear();
    co_return outcome{{}, static_cast<int>(exit_code::signalled) + *signal_};
  }
  if (ec == error::timed_out) {
    // With --conflict-exit-code 0 it is not an error, and a cron job stays silent.
    if (wanted_.conflict_exit_code == 0) co_return outcome{{}, 0};
    throw not_in_time();
  }
  if (ec == error::wrong_type || ec == error::wrong_limit) {
    co_await throw_conflict(ec);
    if (signal_) co_return outcome{{}, static_cast<int>(exit_code::signalled) + *signal_};
  }
  if (ec) throw describe(ec, store_, wanted_.store, wanted_.names[0]);
  co_return outcome{std::move(holds)};
}

void acquisition::stop(int signal) {
  signal_ = signal;
  stop_waiting_.emit(asio::cancellation_type::terminal);
}

failure acquisition::not_in_time() const {
  return {exit_code{wanted_.conflict_exit_code},
          fmt::format("{}: not acquired{}: another client has {}", all_names(),
                      wanted_.wait == 0ms ? "" : " within " + to_text(wanted_.wait),
                      wanted_.names.size() == 1 ? "it" : "one of them")};
}

acquire_options acquisition::options() const {
  acquire_options how;
  how.lease = wanted_.lease;
  how.wait = wanted_.wait;
  how.renew = wanted_.renew;
  how.replicas = wanted_.replicas;
  how.at_least = wanted_.at_least;
  how.margin = std::min(wanted_.grace, wanted_.lease / 3);
  return how;
}

// The value is withdrawn when the hold ends.
asio::awaitable<acquisition::acquired> acquisition::campaign() {
  const auto token = asio::bind_cancellation_slot(stop_waiting_.slot(), asio::as_tuple(asio::use_awaitable));
  const election place(store_, wanted_.names[0]);
  auto operation = place.campaign(wanted_.value, options());
  auto [ec, led] = co_await std::move(operation)(token);
  std::vector<hold> holds;
  if (!ec) holds.push_back(std::move(led.hold()));
  co_return acquired(ec, std::move(holds));
}

template <class Make>
asio::awaitable<acquisition::acquired> acquisition::acquire_all_of(Make make) {
  const auto token = asio::bind_cancellation_slot(stop_waiting_.slot(), asio::as_tuple(asio::use_awaitable));
  std::vector<decltype(make(wanted_.names[0]))> locks;
  for (const auto& name : wanted_.names) locks.push_back(make(name));
  auto operation = leasehold::acquire_all(options(), locks);
  auto [ec, granted] = co_await std::move(operation)(token);
  co_return acquired(ec, std::move(granted));
}

asio::awaitable<acquisition::acquired> acquisition::acquire_all() {
  switch (wanted_.kind) {
    case lock_kind::mutex:
      co_return co_await acquire_all_of([&](const std::string& name) { return mutex(store_, name); });
    case lock_kind::reader:
      co_return co_await acquire_all_of([&](const std::string& name) { return shared_mutex(store_, name).shared(); });
    case lock_kind::writer:
      co_return co_await acquire_all_of([&](const std::string& name) { return shared_mutex(store_, name); });
    case lock_kind::leadership: co_return co_await campaign();
    case lock_kind::permit:
      co_return co_await acquire_all_of(
          [&](const std::string& name) { return counting_semaphore(store_, name, wanted_.permits); });
  }
  co_return acquired{};
}

// Reports the wait to a person at a terminal, and ends a wait that can never end.
asio::awaitable<void> acquisition::poll_while_waiting() {
  const bool reports = ::isatty(STDERR_FILENO) == 1;
  if (!reports && around_.empty()) co_return;
  const auto token = asio::as_tuple(asio::use_awaitable);
  std::string reported;
  for (auto pause = std::chrono::milliseconds(first_poll); waiting_; pause = next_poll) {
    next_poll_.expires_after(pause);
    co_await next_poll_.async_wait(token);
    std::string found;
    for (std::size_t i = 0; waiting_ && i < wanted_.names.size(); ++i) {
      const std::string& name = wanted_.names[i];
      auto [ec, lock] = co_await show(store_, name, token);
      // A quorum only reports whose the holds are; it has no queues.
      if (ec == error::not_supported) std::tie(ec, lock) = co_await inspected(name);
      if (waiting_ && waits_for_itself(lock)) {
        inside_ = name;
        stop_waiting_.emit(asio::cancellation_type::terminal);
        co_return;
      }
      if (found.empty()) found = waiting_text(name, ec, lock);
    }
    if (!waiting_ || !reports || found.empty() || found == reported) continue;
    // A text that has not changed is not repeated.
    complain_at_once(found);
    reported = std::move(found);
  }
}

// The state of a lock on a majority.
asio::awaitable<std::pair<error_code, lock_status>> acquisition::inspected(const std::string& name) {
  const auto token = asio::as_tuple(asio::use_awaitable);
  const mutex exclusive(store_, name);
  const shared_mutex shared(store_, name);
  auto asking = is_mutex() ? exclusive.inspect(token) : shared.inspect(token);
  auto [ec, found] = co_await std::move(asking);
  lock_status lock;
  static_cast<lock_info&>(lock) = std::move(found);
  if (lock.held) {
    for (const auto& its : lock.tokens) lock.holds.emplace_back().token = its;
    // Only readers can be several.
    if (lock.holders > 1) {
      lock.kind = "shared_mutex";
      lock.mode = "readers";
    }
  }
  co_return std::pair(ec, std::move(lock));
}

// Whether this run waits for a hold of a run around it. That run goes on only when this one has ended.
bool acquisition::waits_for_itself(const lock_status& lock) const {
  const auto around = std::count_if(lock.holds.begin(), lock.holds.end(), [this](const listed_hold& h) {
    return std::find(around_.begin(), around_.end(), h.token) != around_.end();
  });
  // Another permit of a semaphore may be released.
  return around != 0 && (lock.limit == 0 || static_cast<std::size_t>(around) == lock.holders);
}

std::string acquisition::waiting_text(const std::string& name, error_code ec, const lock_status& lock) const {
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

// Reports which key is another kind of lock, or a semaphore with another limit, if it still is: reads each of them.
asio::awaitable<void> acquisition::throw_conflict(error_code ec) {
  const char* const asked = is_mutex()                          ? "mutex"
                            : wanted_.kind == lock_kind::permit ? "counting_semaphore"
                                                                : "shared_mutex";
  const std::string permits = fmt::format("with {} {}", wanted_.permits, wanted_.permits == 1 ? "permit" : "permits");
  const std::string in_words = kind_in_words(asked) + (ec == error::wrong_limit ? " " + permits : "");
  const auto token = asio::bind_cancellation_slot(stop_waiting_.slot(), asio::as_tuple(asio::use_awaitable));
  for (const auto& name : wanted_.names) {
    auto [failed, found] = co_await show(store_, name, token);
    if (signal_) co_return;
    std::string but;
    if (failed == error::wrong_type) {
      but = "something that is no lock";
    } else if (failed || !found.held) {
      continue;
    } else if (is_mutex() && found.kind.empty() && found.owner.empty()) {
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

std::string acquisition::all_names() const {
  std::string text;
  for (const auto& name : wanted_.names) text += (text.empty() ? "" : ", ") + in_quotes(name);
  return text;
}

}  // namespace leasehold::cli
