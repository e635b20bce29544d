// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "time/timer.hpp"

#include <boost/asio/basic_waitable_timer.hpp>

#include <utility>

namespace leasehold::detail {

// In a file of its own: a simulation links another one.
struct timer::state {
  explicit state(boost::asio::any_io_executor executor) : timer(std::move(executor)) {}

  boost::asio::basic_waitable_timer<clock, wait_traits, boost::asio::any_io_executor> timer;
};

timer::timer(boost::asio::any_io_executor executor) : state_(std::make_shared<state>(std::move(executor))) {}

timer::~timer() = default;

void timer::wait(clock::time_point until, boost::asio::any_completion_handler<void(error_code)> handler) {
  state_->timer.expires_at(until);
  state_->timer.async_wait(std::move(handler));
}

void timer::cancel() { state_->timer.cancel(); }

}  // namespace leasehold::detail
