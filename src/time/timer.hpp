// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The only place that waits for an instant, except for the waits of connections (store/redis). A simulation links
// another one.
#pragma once

#include "time/clock.hpp"

#include <leasehold/error.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>

#include <memory>

namespace leasehold::detail {

// Waits for one instant at a time, as Asio's timers do. A wait that is cancelled or replaced ends with
// operation_aborted. The handler is called on the executor, never inside a call of this class.
class timer {
 public:
  explicit timer(boost::asio::any_io_executor);
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;
  ~timer();  // Cancels.

  // Replaces the wait that is under way, if any.
  void wait(clock::time_point until, boost::asio::any_completion_handler<void(error_code)>);
  void cancel();

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace leasehold::detail
