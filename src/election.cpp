// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/election.hpp>

#include "lock/campaign.hpp"
#include "lock/hold_state.hpp"
#include "lock/leader_term.hpp"
#include "lock/leader_watch.hpp"
#include "time/clock.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace leasehold {

std::string leadership::value() const { return term_ ? term_->value() : std::string(); }

bool leadership::healthy(std::chrono::milliseconds within) const noexcept {
  const auto& state = detail::access::state(hold_);
  // client::close is a loss, and the program may go on with its work.
  if (!state || (state->released() && !state->outlived())) return true;
  return clock::now() < detail::later(state->deadline(), std::max(within, std::chrono::milliseconds(0)));
}

namespace detail {

void start_campaign(const std::shared_ptr<lock_state>& lock,
                    asio::any_completion_handler<void(error_code, leadership)> h, acquire_options options,
                    shared_text value) {
  campaign_op::start(lock, std::move(h), options, std::move(value));
}

void start_leader(const std::shared_ptr<lock_state>& lock, leader_handler h) {
  std::make_shared<leader_op>(lock, std::move(h))->start(lock->bad);
}

void start_proclaim(const std::shared_ptr<hold_state>& hold, hold_handler h, std::shared_ptr<leader_term> term,
                    shared_text value) {
  std::make_shared<proclaim_op>(hold, std::move(h), std::move(term), std::move(value))->start();
}

std::shared_ptr<watch_handle> make_watch(const std::shared_ptr<lock_state>& lock) {
  return std::make_shared<watch_handle>(lock);
}

void start_next(const std::shared_ptr<watch_handle>& handle, leader_handler h) {
  std::make_shared<next_op>(handle, std::move(h))->start();
}

asio::any_io_executor executor_of(const std::shared_ptr<watch_handle>& handle) noexcept {
  return handle->watch->core()->executor();
}

}  // namespace detail
}  // namespace leasehold
