// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "lock_state.hpp"

#include <leasehold/lock.hpp>

#include "acquire.hpp"
#include "client_core.hpp"
#include "inspect.hpp"
#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace leasehold::detail {

namespace {

// As Redisson makes it of the lock's name.
std::string redisson_channel(const std::string& record) {
  return record.find('{') == std::string::npos ? fmt::format("redisson_lock__channel:{{{}}}", record)
                                               : "redisson_lock__channel:" + record;
}

}  // namespace

lock_identity::lock_identity(std::string n, std::string r, const script& k, std::string a, company w, std::uint32_t l)
    : name(std::move(n)),
      record(std::move(r)),
      line("leasehold:{0}:line:" + record),
      entries("leasehold:{0}:entries:" + record),
      kind(&k),
      ask(std::move(a)),
      with(w),
      limit(l),
      local_line(fmt::format("{} {} {}{}", kind->name, record.size(), record, ask)) {}

void lock_identity::write_keys(arguments& a) const {
  a.key(record);
  a.key(fence_key);
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
      identity([&] {
        std::string record = handle->core->options().prefix + name;
        auto made = std::make_shared<lock_identity>(std::move(name), std::move(record), kind, std::move(ask), with,
                                                    limit);
        if (handle->core->options().redisson && &kind == &scripts::recursive_mutex) {
          made->unlock_channel = redisson_channel(made->record);
        }
        return made;
      }()),
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
  understood = fine;
  left = std::chrono::milliseconds(milliseconds);
  server_time = std::int64_t{seconds} * 1000000 + microseconds;
}

const std::string& name_of(const std::shared_ptr<lock_state>& lock) noexcept { return lock->identity->name; }

asio::any_io_executor executor_of(const std::shared_ptr<lock_state>& lock) noexcept {
  return lock->handle->core->executor();
}

void start_acquire(const std::shared_ptr<lock_state>& lock, asio::any_completion_handler<void(error_code, hold)> h,
                   acquire_options options) {
  acquire_op::start(make_recycled<acquire_op>(lock, options, acquire_op::wait_handler(std::move(h), executor_of(lock))));
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
