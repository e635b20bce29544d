// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "inspect.hpp"

#include <chrono>
#include <utility>

namespace leasehold::detail {

inspect_op::inspect_op(const std::shared_ptr<lock_state>& lock, handler::handler_type h)
    : query(lock->handle, *lock->identity->kind, std::move(h)), lock_(lock->identity) {}

void inspect_op::write(std::uint32_t, arguments& a) {
  lock_->write_keys(a);
  a.arg("inspect");
}

void inspect_op::take(const reply& r) {
  lock_info info;
  info.held = r.number(0) > 0;
  info.waiters = r.number<std::size_t>(3);
  if (info.held) {
    info.fence = r.number<std::uint64_t>(1);
    if (r.number(2) >= 0) info.ttl = std::chrono::milliseconds(r.number(2));
    info.token = r.text(5);
  }
  end(error_code(), std::move(info));
}

}  // namespace leasehold::detail
