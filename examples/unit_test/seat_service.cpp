// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "seat_service.hpp"

#include <chrono>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

seat_service::seat_service(leasehold::client client, payment pay) : client_(std::move(client)), pay_(std::move(pay)) {}

// [sell]
asio::awaitable<sale> seat_service::sell(std::string seat, std::string guest) {
  leasehold::mutex lock(client_, "seat:" + seat);
  auto body = [&](leasehold::hold&) -> asio::awaitable<sale> {
    if (guests_.contains(seat)) co_return sale::taken;
    co_await pay_();  // Cancelled if the lock is lost.
    guests_[seat] = guest;
    co_return sale::sold;
  };
  try {
    co_return co_await leasehold::with_lock(lock, {.lease = 30s, .wait = 5s}, body);
  } catch (const leasehold::system_error& e) {
    if (e.code() == leasehold::error::lost) co_return sale::interrupted;
    co_return sale::busy;
  }
}
// [/sell]
