// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "lock/inspect.hpp"

#include "protocol/lease_reply.hpp"
#include "protocol/lock_replies.hpp"

#include <leasehold/counting_semaphore.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace leasehold::detail {

inspect_op::inspect_op(const std::shared_ptr<lock_state>& lock, handler::handler_type h)
    : query(lock->handle, lock->identity->record, std::move(h)), lock_(lock->identity) {}

request inspect_op::request_of(std::uint32_t) const { return lock_->request_for(verb::inspect); }

void inspect_op::take(const outcome& o, const answer&) { end(error_code(), info_of(*o.inspected, lock_->kind)); }

resize_op::resize_op(const std::shared_ptr<lock_state>& lock, handler::handler_type h, std::uint32_t limit)
    : query(lock->handle, lock->identity->record, std::move(h)), lock_(lock->identity), limit_(limit) {}

request resize_op::request_of(std::uint32_t) const {
  request r = lock_->request_for(verb::resize);
  r.limit = limit_;
  // A resize that is still on its way can undo another client's resize until this operation would have given up, but
  // not later.
  const auto left = std::max(gives_up_at() - clock::now(), clock::duration(0));
  r.run_within = std::chrono::ceil<std::chrono::milliseconds>(left);
  return r;
}

void resize_op::take(const outcome& o, const answer& a) {
  const lease_reply& told = o.lease;
  if (!told.understood) return ask_later(a);
  core().observe_time(told.server_time, a);
  // Too late: the request was long on its way, or Redis's clock was stepped forward.
  if (told.status == status::too_late) return ask_again();
  lock_->limit.store(limit_, std::memory_order_relaxed);
  end(error_code());
}

void start_resize(const std::shared_ptr<lock_state>& lock, asio::any_completion_handler<void(error_code)> h,
                  std::uint32_t limit) {
  const error_code bad = limit == 0 ? make_error_code(error::invalid_option) : lock->bad;
  std::make_shared<resize_op>(lock, std::move(h), limit)->start(bad);
}

}  // namespace leasehold::detail
