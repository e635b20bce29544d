// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "booking/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace booking {

using namespace std::chrono_literals;

answer refusal(http::status status, std::string_view why) {
  answer a;
  a.status = status;
  a.body["error"] = why;
  return a;
}

json::object as_json(const row& r) {
  json::object o;
  o["seat"] = r.seat;
  o["state"] = r.state;
  o["customer"] = r.customer;
  o["fence"] = std::to_string(r.fence);  // More than a double, JSON's number, can hold.
  return o;
}

leasehold::recursive_mutex lock_of(const leasehold::client& redis, const std::string& seat,
                                   const std::string& request) {
  return {redis, fmt::format("seat:{}", seat), fmt::format("request {}", request)};
}

namespace {

answer told(const change& c, std::uint64_t fence) {
  if (c.written) return {http::status::ok, as_json(c.now)};
  if (c.now.fence > fence) {
    return refusal(
        http::status::conflict,
        fmt::format("seat {} was changed under fence {}, and this request has the older fence {}: nothing was changed",
                    c.now.seat, c.now.fence, fence));
  }
  return refusal(http::status::conflict, fmt::format("seat {} is {}", c.now.seat, c.now.state));
}

}  // namespace

// [under_lock]
template <class Work>
asio::awaitable<answer> service::under_lock(const call& c, const std::string& seat, Work& work) {
  const std::optional<row> found = co_await database_.run([&] { return table_.find(seat); });
  if (!found) co_return refusal(http::status::not_found, fmt::format("there is no seat \"{}\"", seat));
  const auto lock = lock_of(redis_, seat, c.id);
  std::optional<answer> done;
  // The body has a name because g++ 12 miscompiles a temporary one inside the co_await expression.
  auto body = [&](leasehold::hold& held) -> asio::awaitable<void> {
    done = co_await work(held.fence());
    held = leasehold::hold();  // Releases in the background; the answer does not wait for it.
  };
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(c.deadline - std::chrono::steady_clock::now());
  leasehold::acquire_options options;
  options.lease = settings_.lease;
  options.wait = std::max(left, 1ms);
  try {
    co_await leasehold::with_lock(lock, options, body);
  } catch (const leasehold::system_error& e) {
    // Cancelled from outside: the lock around this one was lost. The outer call answers.
    if (!done && e.code() == asio::error::operation_aborted) throw;
    // What is in the table is done, even if the lock was lost after that: the row has checked the fence.
    if (!done) done = without_lock(seat, e.code());
  }
  co_return std::move(*done);
}
// [/under_lock]

answer service::without_lock(const std::string& seat, leasehold::error_code failure) const {
  const auto unavailable = http::status::service_unavailable;
  if (failure == leasehold::error::timed_out) {
    return refusal(unavailable,
                   fmt::format("seat {} is at work in another request; its lock was not free in time", seat));
  }
  if (failure == leasehold::error::unreachable) {
    const std::string why = redis_.last_failure();
    return refusal(unavailable, fmt::format("Redis does not answer{}{}", why.empty() ? "" : ": ", why));
  }
  if (failure == leasehold::error::refused) {
    return refusal(unavailable, fmt::format("Redis says: {}", redis_.last_refusal()));
  }
  if (failure == leasehold::error::lost) {
    return refusal(unavailable, fmt::format("the lock of seat {} was lost while this request was at work", seat));
  }
  if (failure == leasehold::error::closed) return refusal(unavailable, "this instance is shutting down");
  return refusal(http::status::internal_server_error, fmt::format("the lock of seat {}: {}", seat, failure.message()));
}

asio::awaitable<answer> service::reserve(const call& c, const std::string& seat, const std::string& customer) {
  auto work = [&](std::uint64_t fence) -> asio::awaitable<answer> {
    const change made = co_await database_.run([&] { return table_.reserve(seat, customer, fence); });
    co_return told(made, fence);
  };
  co_return co_await under_lock(c, seat, work);
}

// [pay]
asio::awaitable<answer> service::pay(const call& c, const std::string& seat) {
  auto work = [&](std::uint64_t fence) -> asio::awaitable<answer> {
    const std::optional<row> before = co_await database_.run([&] { return table_.find(seat); });
    if (before->state != "reserved" || before->fence > fence) co_return told({false, *before}, fence);
    // The lock protects the charge. It must not be made twice, and no transaction of the table covers it.
    asio::steady_timer charge(co_await asio::this_coro::executor, settings_.work);
    co_await charge.async_wait();  // Cancelled if the lock is lost.
    const change made = co_await database_.run([&] { return table_.pay(seat, fence); });
    co_return told(made, fence);
  };
  co_return co_await under_lock(c, seat, work);
}

// No other request comes between the two: each of them acquires again the lock that this request already has.
asio::awaitable<answer> service::buy(const call& c, const std::string& seat, const std::string& customer) {
  // The deadline is for the lock around them: it must not stop them half way.
  const call inner{c.id, std::chrono::steady_clock::time_point::max()};
  auto work = [&](std::uint64_t) -> asio::awaitable<answer> {
    answer reserved = co_await reserve(inner, seat, customer);
    if (reserved.status != http::status::ok) co_return reserved;
    co_return co_await pay(inner, seat);
  };
  co_return co_await under_lock(c, seat, work);
}
// [/pay]

asio::awaitable<answer> service::cancel(const call& c, const std::string& seat) {
  auto work = [&](std::uint64_t fence) -> asio::awaitable<answer> {
    const change made = co_await database_.run([&] { return table_.cancel(seat, fence); });
    co_return told(made, fence);
  };
  co_return co_await under_lock(c, seat, work);
}

asio::awaitable<answer> service::health() {
  const auto lock = lock_of(redis_, "A1", "health");
  auto asking = lock.inspect(asio::cancel_after(500ms, asio::as_tuple(asio::deferred)));
  const auto [failure, info] = co_await std::move(asking);
  if (failure == asio::error::operation_aborted) co_return without_lock("A1", leasehold::error::unreachable);
  if (failure) co_return without_lock("A1", failure);
  answer a;
  a.body["status"] = "ok";
  a.body["instance"] = settings_.name;
  co_return a;
}

}  // namespace booking
