// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "ticket.hpp"

#include "acquisition.hpp"
#include "exit_code.hpp"
#include "lock_text.hpp"
#include "signals.hpp"
#include "store.hpp"
#include "text.hpp"

#include <leasehold/client.hpp>
#include <leasehold/hold.hpp>
#include <leasehold/ticket.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::cli {
namespace {

// A hold that is here belongs to the ticket: the destructor would release it.
struct process {
  asio::io_context& context = lasting_context();
  hold kept{};
};

process& never_destroyed() {
  static auto& all = *new std::vector<std::unique_ptr<process>>();
  return *all.emplace_back(std::make_unique<process>());
}

// The first line of the standard input. A ticket has at most some 175,000 bytes: there is an end for a device.
std::string first_line_of_input() {
  constexpr std::size_t limit = 256 * 1024;
  std::string line;
  for (char c = '\0'; line.size() < limit && std::cin.get(c) && c != '\n';) line += c;
  if (line.empty() && !std::cin) throw failure(exit_code::usage, "-: there is no ticket to read");
  return line;
}

// The ticket that is meant. No text says anything of it: it is a secret.
ticket read(const ticket_options& wanted) {
  std::string text = wanted.ticket == "-" ? first_line_of_input() : wanted.ticket;
  text.erase(text.find_last_not_of(" \t\r") + 1);
  try {
    return ticket::parse(text);
  } catch (const exception& e) {
    throw failure(code_of(e.code()), e.what());
  }
}

failure gone(const ticket& t) {
  return {exit_code::lost, fmt::format("{}: lost: it was released, or its lease has ended", in_quotes(t.name()))};
}

// Goes on with the hold of the ticket.
void resume(process& p, const client& store, const store_options& where, const ticket& t, resume_options how) {
  how.renew = renewal::none;
  error_code failed;
  store.resume(t, how, [&](error_code ec, hold h) {
    failed = ec;
    p.kept = std::move(h);
    p.context.stop();
  });
  p.context.run();
  p.context.restart();
  if (failed == error::lost) throw gone(t);
  if (failed) throw describe(failed, store, where, t.name());
}

// As long as `run` tries.
constexpr std::chrono::seconds release_limit{7};

// The lease of a hold that is resumed to be released: the lock is busy for no longer if that fails.
constexpr std::chrono::milliseconds while_released{10000};

void resume_and_release(process& p, const client& store, const store_options& where, const ticket& t) {
  resume(p, store, where, t, {.lease = std::min(t.lease(), while_released)});
  error_code failed = error::unreachable;
  p.kept.release([&](error_code ec) {
    failed = ec;
    p.context.stop();
  });
  p.context.run_for(release_limit);
  if (failed == error::lost) throw gone(t);
  if (failed) throw describe(failed, store, where, t.name());
}

// What has become of an acquire.
struct acquired {
  int exit_status = 0;
  ticket made;
  std::exception_ptr failed;
};

asio::awaitable<void> acquire_and_detach(acquisition& a, client store, const store_options& where, process& p,
                                         acquired& result) {
  auto got = co_await a.acquire();
  if (got.holds.empty()) {
    result.exit_status = got.exit_status;
    co_return;
  }
  p.kept = std::move(got.holds[0]);
  const auto token = asio::as_tuple(asio::use_awaitable);
  auto [ec, made] = co_await p.kept.detach(token);
  if (ec) {
    const std::string name = p.kept.name();
    p.kept = hold();
    throw describe(ec, store, where, name);
  }
  result.made = std::move(made);
}

// The first signal ends the waiting, and the second one this process.
asio::awaitable<void> receive_signals(asio::signal_set& ends, acquisition& a, process& p, acquired& result) {
  const int number = co_await ends.async_wait(asio::use_awaitable);
  a.stop(number);
  co_await ends.async_wait(asio::use_awaitable);
  if (result.exit_status == 0) result.exit_status = static_cast<int>(exit_code::signalled) + number;
  p.context.stop();
}

}  // namespace

int acquire(const acquire_command& wanted) {
  // A reader that has gone is a failure to print the ticket: the hold is released.
  std::signal(SIGPIPE, SIG_IGN);
  auto& p = never_destroyed();
  const client store = connect(p.context, wanted.how.store);
  static const std::vector<std::string> around = tokens_around();
  acquisition a(p.context, store, wanted.how, around);
  asio::signal_set ends(p.context);
  add_end_signals(ends);
  acquired result;
  asio::co_spawn(p.context, receive_signals(ends, a, p, result), asio::detached);
  asio::steady_timer limit(p.context);
  asio::co_spawn(p.context, acquire_and_detach(a, store, wanted.how.store, p, result), [&](std::exception_ptr failed) {
    result.failed = failed;
    // Until what an attempt may have left is released.
    const auto stop = [&p](error_code) { p.context.stop(); };
    store.close(stop);
    if (a.granted()) return;
    limit.expires_after(nothing_held_limit);
    limit.async_wait(stop);
  });
  p.context.run();
  if (result.failed) std::rethrow_exception(result.failed);
  if (!result.made) return result.exit_status;
  try {
    print(result.made.to_string() + "\n");
  } catch (const failure& unprinted) {
    // No other program has the ticket.
    auto& again = never_destroyed();
    const client other = connect(again.context, wanted.how.store);
    try {
      resume_and_release(again, other, wanted.how.store, result.made);
    } catch (const failure& f) {
      throw failure(unprinted.code(), fmt::format("{}; not released: {}", unprinted.what(), f.what()));
    }
    throw;
  }
  return 0;
}

int extend(const extend_options& wanted) {
  const ticket t = read(wanted);
  auto& p = never_destroyed();
  const client store = connect(p.context, wanted.store);
  resume(p, store, wanted.store, t, {.lease = wanted.lease});
  return 0;
}

int release(const release_options& wanted) {
  const ticket t = read(wanted);
  auto& p = never_destroyed();
  const client store = connect(p.context, wanted.store);
  resume_and_release(p, store, wanted.store, t);
  return 0;
}

}  // namespace leasehold::cli
