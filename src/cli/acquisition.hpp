// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// How `run`, `elect` and `acquire` acquire their locks, and what they report while they wait for them.
#pragma once

#include "exit_code.hpp"
#include "options.hpp"

#include <leasehold/admin.hpp>
#include <leasehold/client.hpp>
#include <leasehold/error.hpp>
#include <leasehold/hold.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::cli {

// How long a process without a hold waits for the store's answers in the end. A silent entry disappears from the queue.
inline constexpr std::chrono::milliseconds nothing_held_limit{150};

// The tokens of the runs around this process.
std::vector<std::string> tokens_around();

// Has to live, as all that it refers to, as long as the context runs.
class acquisition {
 public:
  // `around` are the tokens of the runs around this process.
  acquisition(asio::io_context&, const client&, const run_options&, const std::vector<std::string>& around);

  // If there are no holds, there is an exit status: the locks were not acquired in time, or a signal ended the wait.
  struct outcome {
    std::vector<hold> holds;
    int exit_status = 0;
  };

  // To be called once. Throws failure.
  asio::awaitable<outcome> acquire();

  // A signal: ends the wait, unless it has ended.
  void stop(int signal);

  // Whether the locks were granted, even if a signal has ended the wait at the same moment.
  bool granted() const { return granted_; }

 private:
  using acquired = std::pair<error_code, std::vector<hold>>;

  acquire_options options() const;
  // To Redis the leadership of an election is a mutex.
  bool is_mutex() const { return wanted_.kind == lock_kind::mutex || wanted_.kind == lock_kind::leadership; }
  asio::awaitable<acquired> acquire_all();
  asio::awaitable<acquired> campaign();
  template <class Make>
  asio::awaitable<acquired> acquire_all_of(Make);
  asio::awaitable<void> poll_while_waiting();
  asio::awaitable<std::pair<error_code, lock_status>> inspected(const std::string& name);
  asio::awaitable<void> throw_conflict(error_code);
  failure not_in_time() const;
  bool waits_for_itself(const lock_status&) const;
  std::string waiting_text(const std::string& name, error_code, const lock_status&) const;
  std::string all_names() const;

  asio::io_context& context_;
  const client& store_;
  const run_options& wanted_;
  const std::vector<std::string>& around_;

  asio::cancellation_signal stop_waiting_;
  asio::steady_timer next_poll_;
  bool waiting_ = false;
  bool granted_ = false;
  std::string inside_;         // The name of a lock that a run around this one has.
  std::optional<int> signal_;  // that ended the waiting
};

}  // namespace leasehold::cli
