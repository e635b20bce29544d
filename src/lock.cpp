// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "lock/lock_state.hpp"

#include <leasehold/lock.hpp>
#include <leasehold/with_lock.hpp>

#include "client/client_core.hpp"
#include "client/options.hpp"
#include "lock/acquire.hpp"
#include "lock/inspect.hpp"
#include "protocol/slots.hpp"
#include "store/quorum/quorum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

namespace leasehold::detail {

namespace {

// As Redisson makes it of the lock's name.
std::string redisson_channel(const std::string& record) {
  return record.find('{') == std::string::npos ? fmt::format("redisson_lock__channel:{{{}}}", record)
                                               : "redisson_lock__channel:" + record;
}

}  // namespace

lock_identity::lock_identity(const client_core& core, std::string n, const script& k, std::string a, company w,
                             std::uint32_t l)
    : name(std::move(n)),
      record(core.options().prefix + name),
      slot(core.is_cluster() ? slot_of(record) : 0),
      fences(core.is_cluster() ? fence_key(slot) : only_fence_key),
      kind(&k),
      ask(std::move(a)),
      with(w),
      limit(l),
      local_line(fmt::format("{} {} {}{}", kind->name, record.size(), record, ask)),
      tells_redisson(core.options().redisson && kind == &scripts::recursive_mutex) {
  const std::string_view tag = core.is_cluster() ? tag_of_slot(slot) : only_tag;
  line = fmt::format("leasehold:{{{}}}:line:{}", tag, record);
  entries = fmt::format("leasehold:{{{}}}:entries:{}", tag, record);
  if (tells_redisson) {
    unlock_channel = redisson_channel(record);
  } else if (!core.has_line()) {
    unlock_channel = hint_channel(record);
  }
}

void lock_identity::write_keys(arguments& a) const {
  a.key(record);
  a.key(fences);
  a.key(line);
  a.key(entries);
}

void lock_identity::write_ask(arguments& a, std::uint32_t believed) const {
  believed == 0 ? a.arg(ask) : a.arg(std::int64_t{believed});
}

std::string lock_identity::ask_text() const {
  const auto l = limit.load(std::memory_order_relaxed);
  return l != 0 ? std::to_string(l) : ask;
}

lock_state::lock_state(std::shared_ptr<client_handle> h, std::string name, const script& kind, std::string ask,
                       company with, std::uint32_t limit, error_code b)
    : handle(std::move(h)),
      identity(std::make_shared<lock_identity>(*handle->core, std::move(name), kind, std::move(ask), with, limit)),
      bad(b ? b : check_name(identity->name, identity->record)) {}

lease_reply::lease_reply(std::string_view text) noexcept {
  const char* at = text.data();
  const char* const end = at + text.size();
  bool fine = true;
  const auto next = [&](auto& number, char behind) {
    const auto [stopped, ec] = std::from_chars(at, end, number);
    fine = fine && ec == std::errc() && (stopped == end ? behind == '\0' : *stopped == behind);
    at = stopped == end ? end : stopped + 1;
  };
  std::int64_t milliseconds = 0;
  std::uint32_t seconds = 0;
  std::uint32_t microseconds = 0;
  next(status, ' ');
  next(fence, ' ');
  next(milliseconds, ' ');
  next(seconds, ' ');
  next(microseconds, at < end && std::find(at, end, ' ') != end ? ' ' : '\0');
  if (at != end) next(depth, '\0');
  // No script grants a fence that does not fit in 63 bits.
  understood =
      fine && microseconds < 1000000 && fence <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  left = bounded_left(milliseconds);
  server_time = std::int64_t{seconds} * 1000000 + microseconds;
}

std::string explain(const std::shared_ptr<lock_state>& lock, const error_code& ec) {
  if (!ec) return {};
  exception::context about = lock->handle->core->about(ec);
  about.lock = lock->identity->name;
  return exception(ec, std::move(about)).what();
}

void throw_failed(const std::shared_ptr<lock_group>& locks, const acquire_options& options, const error_code& ec) {
  exception::context about;
  for (const auto& lock : locks->members) {
    if (about.server.empty()) about = lock->handle->core->about(ec);
    about.lock += (about.lock.empty() ? "" : ", ") + lock->identity->name;
  }
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
