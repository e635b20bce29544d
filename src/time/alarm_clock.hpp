// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "time/alarms.hpp"
#include "time/clock.hpp"
#include "time/timer.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <optional>
#include <utility>

namespace leasehold::detail {

// Alarms, and the one timer that rings them, on the strand of an owner. The timer keeps the owner alive while it waits.
//
// Unsetting an alarm leaves the timer as it is. The timer then fires once for nothing, which is cheaper than setting it
// again for each hold that comes and goes.
class alarm_clock {
 public:
  explicit alarm_clock(boost::asio::any_io_executor strand) : timer_(std::in_place, std::move(strand)) {}

  // `owner`: the object that has this as a member; it needs shared_from_this().
  template <class Owner>
  void set(alarm& a, clock::time_point due, Owner& owner) {
    alarms_.set(a, due);
    if (due < armed_for_) arm(owner.shared_from_this());
  }

  // Stops the timer if no alarm is set.
  void rest() {
    if (alarms_.next() == clock::time_point::max()) stop();
  }
  // Unsets all alarms, even those that are about to ring.
  void clear() {
    alarms_.clear();
    stop();
  }
  // Like clear(), but for good: the context ends, and no timer may outlive it.
  void abandon() noexcept {
    alarms_.clear();
    timer_.reset();
  }

 private:
  template <class Owner>
  void arm(Owner owner) {
    const auto next = alarms_.next();
    armed_for_ = clock::time_point::max();  // If the timer cannot be armed, the next alarm that is set tries again.
    if (next == clock::time_point::max() || !timer_) return;
    timer_->wait(next, [this, owner = std::move(owner)](error_code ec) mutable {
      if (!ec) ring(std::move(owner));
    });
    armed_for_ = next;
  }

  // An exception leaves the timer armed: the program may catch the exception around run() and call run() again.
  template <class Owner>
  void ring(Owner owner) {
    armed_for_ = clock::time_point::min();  // While alarms ring, set does not arm.
    try {
      alarms_.ring(clock::now());
    } catch (...) {
      arm(std::move(owner));
      throw;
    }
    arm(std::move(owner));
  }

  void stop() {
    if (timer_) timer_->cancel();
    armed_for_ = clock::time_point::max();
  }

  alarms alarms_;
  std::optional<timer> timer_;
  clock::time_point armed_for_ = clock::time_point::max();
};

}  // namespace leasehold::detail
