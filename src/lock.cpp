// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "lock/lock_state.hpp"

#include <leasehold/lock.hpp>
#include <leasehold/with_lock.hpp>

#include "client/client_core.hpp"
#include "client/options.hpp"
#include "lock/acquire.hpp"
#include "lock/inspect.hpp"

#include <utility>

namespace leasehold::detail {

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
  acquire_op::start(
      make_recycled<acquire_op>(lock, options, acquire_op::wait_handler(std::move(h), executor_of(lock))));
}

void start_try_acquire(const std::shared_ptr<lock_state>& lock,
                       asio::any_completion_handler<void(error_code, std::optional<hold>)> h, acquire_options options) {
  acquire_op::start(make_recycled<acquire_op>(lock, options, acquire_op::try_handler(std::move(h), executor_of(lock))));
}

void start_inspect(const std::shared_ptr<lock_state>& lock,
                   asio::any_completion_handler<void(error_code, lock_info)> h) {
  make_recycled<inspect_op>(lock, std::move(h))->start(lock->bad);
}

}  // namespace leasehold::detail
