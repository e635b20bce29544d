// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "booking/board.hpp"

#include "booking/service.hpp"

#include <fmt/format.h>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/json.hpp>

#include <utility>
#include <vector>

namespace booking {
namespace {

using namespace std::chrono_literals;

// A look is good for so long, and waits for Redis so long.
constexpr auto fresh = 200ms;
constexpr auto patience = 500ms;

json::value as_json(const leasehold::lock_info& info) {
  if (!info.held) return nullptr;
  json::object o;
  // A token begins with the label of its client: the name of the instance.
  o["instance"] = info.token.substr(0, info.token.rfind('-'));
  o["owner"] = info.owner;
  o["depth"] = info.holders;
  o["waiters"] = info.waiters;
  o["fence"] = std::to_string(info.fence);
  if (info.ttl) o["ttl_ms"] = info.ttl->count();
  return o;
}

}  // namespace

asio::awaitable<std::string> board::seats() {
  const std::vector<row> rows = co_await database_.run([&] { return table_.all(); });
  json::array seats;
  for (const row& r : rows) seats.push_back(booking::as_json(r));
  co_return json::serialize(seats);
}

asio::awaitable<std::string> board::seats_and_locks() {
  if (!latest_.empty() && (looking_ || std::chrono::steady_clock::now() - taken_ < fresh)) co_return latest_;
  looking_ = true;
  struct end {
    bool& looking;
    ~end() { looking = false; }
  } const at_the_end{looking_};
  latest_ = co_await look();
  taken_ = std::chrono::steady_clock::now();
  co_return latest_;
}

asio::awaitable<std::string> board::look() {
  const std::vector<row> rows = co_await database_.run([&] { return table_.all(); });
  using question = decltype(std::declval<leasehold::recursive_mutex>().inspect());
  std::vector<question> questions;
  for (const row& r : rows) questions.push_back(lock_of(redis_, r.seat, "board").inspect());
  // They go out together: one round trip for all seats.
  auto group = asio::experimental::make_parallel_group(std::move(questions));
  asio::steady_timer clock(co_await asio::this_coro::executor);
  auto asking =
      group.async_wait(asio::experimental::wait_for_all(), asio::cancel_after(clock, patience, asio::deferred));
  const auto [order, failures, locks] = co_await std::move(asking);
  json::array seats;
  std::string problem;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    json::object seat = booking::as_json(rows[i]);
    if (!failures[i]) {
      seat["lock"] = as_json(locks[i]);
    } else {
      const bool silent = failures[i] == asio::error::operation_aborted;
      problem = (silent ? make_error_code(leasehold::error::unreachable) : failures[i]).message();
    }
    seats.push_back(std::move(seat));
  }
  json::object all;
  all["instance"] = name_;
  all["problem"] = problem.empty() ? problem : fmt::format("The locks are not known: {}", problem);
  all["seats"] = std::move(seats);
  co_return json::serialize(all);
}

}  // namespace booking
