// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/error.hpp>
#include <leasehold/hold.hpp>
#include <leasehold/with_lock.hpp>

#include "lock/extend.hpp"
#include "lock/hold_state.hpp"
#include "lock/lost.hpp"
#include "lock/wanted.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/system_executor.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace leasehold {

namespace {
const std::string nothing;
}

hold& hold::operator=(hold&& other) noexcept {
  if (this != &other) {
    hold old(std::move(*this));
    state_ = std::move(other.state_);
  }
  return *this;
}

hold::~hold() {
  if (state_) detail::hold_state::drop(std::move(state_));
}

const std::string& hold::name() const noexcept { return state_ ? state_->lock().name : nothing; }
const std::string& hold::token() const noexcept { return state_ ? state_->token() : nothing; }
std::uint64_t hold::fence() const noexcept { return state_ ? state_->fence() : 0; }
bool hold::valid() const noexcept { return state_ && state_->valid(); }
std::size_t hold::depth() const noexcept { return state_ ? state_->depth() : 0; }

std::chrono::steady_clock::time_point hold::expires_at() const noexcept {
  return state_ ? detail::to_steady(state_->deadline()) : std::chrono::steady_clock::time_point::min();
}

namespace detail {
namespace {

// A program's wait for a release. The first of the release and the cancellation completes it.
class waiting_release final : public release_listener {
 public:
  waiting_release(const std::shared_ptr<client_core>& core, hold_handler handler)
      : core_(core), handler_(std::move(handler), core->fallback()) {}

  static void start(const std::shared_ptr<hold_state>& state, hold_handler handler) {
    auto op = std::make_shared<waiting_release>(state->core(), std::move(handler));
    auto& core = *op->core_;
    op->handler_.connect_cancellation(op, stops_waiting, [](const std::shared_ptr<waiting_release>& o) {
      o->core_->post([o] { o->on_released(asio::error::operation_aborted); });
    });
    const bool is_first = state->begin_release();
    core.enter([state = state, op = std::move(op), is_first]() mutable {
      is_first ? state->release(std::move(op)) : op->on_released(error::not_held);
    });
  }

  void on_released(error_code ec) override { core_->complete(handler_, ec); }

 private:
  const std::shared_ptr<client_core> core_;
  pending<void(error_code)> handler_;
};

}  // namespace

asio::any_io_executor executor_of(const std::shared_ptr<hold_state>& state) noexcept {
  return state ? state->core()->executor() : asio::any_io_executor(asio::system_executor());
}

void start_extend(const std::shared_ptr<hold_state>& state, hold_handler handler, std::chrono::milliseconds lease) {
  extend_op::start(state, std::move(handler), lease);
}

void start_lost(const std::shared_ptr<hold_state>& state, hold_handler handler) {
  lost_op::start(state, std::move(handler));
}

void start_wanted(const std::shared_ptr<hold_state>& state, hold_handler handler) {
  wanted_op::start(state, std::move(handler));
}

void start_downgrade(const std::shared_ptr<hold_state>& state, hold_handler handler) {
  extend_op::start(state, std::move(handler), std::nullopt);
}

void start_release(const std::shared_ptr<hold_state>& state, hold_handler handler) {
  waiting_release::start(state, std::move(handler));
}

void guard(const std::shared_ptr<hold_state>& state) noexcept { state->guard(); }
void unguard(const std::shared_ptr<hold_state>& state) noexcept { state->unguard(); }
bool outlived(const std::shared_ptr<hold_state>& state) noexcept { return state && state->outlived(); }

std::exception_ptr lost_failure(const std::shared_ptr<hold_state>& state) {
  exception::context about{.lock = state->lock().name, .server = state->core()->failed().server()};
  return std::make_exception_ptr(exception(make_error_code(error::lost), std::move(about)));
}

void guard(const std::shared_ptr<hold_group>& group) noexcept {
  for (const auto& m : group->members) guard(m);
}

void unguard(const std::shared_ptr<hold_group>& group) noexcept {
  for (const auto& m : group->members) unguard(m);
}

bool outlived(const std::shared_ptr<hold_group>& group) noexcept {
  return std::any_of(group->members.begin(), group->members.end(), [](const auto& m) { return outlived(m); });
}

// Names the first hold that is lost.
std::exception_ptr lost_failure(const std::shared_ptr<hold_group>& group) {
  const auto& all = group->members;
  const auto gone =
      std::find_if(all.begin(), all.end(), [](const auto& m) { return m && (m->loss_reported() || m->gone()); });
  const auto any = std::find_if(all.begin(), all.end(), [](const auto& m) { return m != nullptr; });
  return lost_failure(gone == all.end() ? *any : *gone);
}

void throw_if_lost(const std::shared_ptr<hold_state>& state) {
  if (state && (state->loss_reported() || state->outlived())) std::rethrow_exception(lost_failure(state));
}

void throw_if_lost(const std::shared_ptr<hold_group>& group) {
  const auto is_lost = [](const auto& m) { return m && (m->loss_reported() || m->outlived()); };
  if (std::any_of(group->members.begin(), group->members.end(), is_lost)) std::rethrow_exception(lost_failure(group));
}

bool is_operation_aborted(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const system_error& e) {
    return e.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

}  // namespace detail
}  // namespace leasehold
