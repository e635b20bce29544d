// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/lock_state.hpp"

#include <leasehold/lock.hpp>
#include <leasehold/with_lock.hpp>

#include "client/client_core.hpp"
#include "client/options.hpp"
#include "lock/acquire.hpp"
#include "lock/inspect.hpp"
#include "protocol/kind.hpp"

#include <utility>

namespace leasehold::detail {
namespace {

// Fields of the record with such names are not owners (lua/shared/members.lua).
error_code check_owner(std::string_view owner) {
  const bool ours = owner == "leasehold" || owner.starts_with("leasehold:");
  return owner.size() <= 65536 && !ours ? error_code() : make_error_code(error::invalid_name);
}

error_code check_ask(ask_is ask, std::string_view owner, std::uint32_t limit, bool is_quorum) {
  switch (ask) {
    case ask_is::nothing: break;
    case ask_is::owner: return owner.empty() ? make_error_code(error::invalid_name) : check_owner(owner);
    case ask_is::role_and_owner: return check_owner(owner);
    case ask_is::limit:
      if (limit == 0) return error::invalid_option;
      // Each server of a quorum counts by itself, so the servers would not notice two holders of one permit.
      if (is_quorum) return error::not_supported;
      break;
  }
  return {};
}

}  // namespace

std::shared_ptr<lock_state> make_lock(const std::shared_ptr<client_handle>& handle, const kind& k, std::string name,
                                      const std::string& owner, std::uint32_t limit) {
  const bool is_quorum = handle->core->is_quorum();
  // An observer of a quorum cannot know whether the majority that it asks has heard of the newest term.
  const error_code bad =
      k.is_election && is_quorum ? make_error_code(error::not_supported) : check_ask(k.ask, owner, limit, is_quorum);
  return std::make_shared<lock_state>(handle, std::move(name), k, owner, limit, bad);
}

std::string explain(const std::shared_ptr<lock_state>& lock, const error_code& ec) {
  if (!ec) return {};
  exception::context about = lock->handle->core->failed().about(ec);
  about.lock = lock->identity->name;
  return exception(ec, std::move(about)).what();
}

void throw_failed(const std::shared_ptr<lock_group>& locks, const acquire_options& options, const error_code& ec) {
  exception::context about;
  for (const auto& lock : locks->members) {
    if (about.server.empty()) about = lock->handle->core->failed().about(ec);
    about.lock += (about.lock.empty() ? "" : ", ") + lock->identity->name;
  }
  if (locks->members.empty()) about.detail = "no locks were given";
  const char* const wrong = wrong_option(options);
  if (ec == error::invalid_option && wrong != nullptr) about.option = wrong;
  throw exception(ec, std::move(about));
}

const std::string& name_of(const std::shared_ptr<lock_state>& lock) noexcept { return lock->identity->name; }

asio::any_io_executor executor_of(const std::shared_ptr<lock_state>& lock) noexcept {
  return lock->handle->core->executor();
}

void start_acquire(const std::shared_ptr<lock_state>& lock, asio::any_completion_handler<void(error_code, hold)> h,
                   acquire_options options) {
  acquire_op::start(std::make_shared<acquire_op>(
      lock, options, acquire_op::wait_handler(std::move(h), lock->handle->core->fallback())));
}

void start_try_acquire(const std::shared_ptr<lock_state>& lock,
                       asio::any_completion_handler<void(error_code, std::optional<hold>)> h, acquire_options options) {
  acquire_op::start(std::make_shared<acquire_op>(
      lock, options, acquire_op::try_handler(std::move(h), lock->handle->core->fallback())));
}

void start_inspect(const std::shared_ptr<lock_state>& lock,
                   asio::any_completion_handler<void(error_code, lock_info)> h) {
  std::make_shared<inspect_op>(lock, std::move(h))->start(lock->bad);
}

}  // namespace leasehold::detail
