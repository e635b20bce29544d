// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
// What a compiler must complain about; `run` beside this file compiles it with one of the macros.
#include <leasehold/blocking.hpp>
#include <leasehold/leasehold.hpp>

#include <boost/asio/awaitable.hpp>

#include <vector>

namespace asio = boost::asio;

#ifdef DISCARDS
leasehold::hold yields_a_hold();
leasehold::leadership yields_a_leadership();
leasehold::blocking::hold yields_a_blocking_hold();

void discards(const leasehold::blocking::shared_mutex& a, const std::vector<leasehold::blocking::mutex>& all) {
  yields_a_hold();
  yields_a_leadership();
  yields_a_blocking_hold();
  a.try_acquire();
  a.try_acquire_shared();
  leasehold::blocking::acquire_all(all);
}

asio::awaitable<void> discards(leasehold::mutex a, leasehold::mutex b) {
  a.acquire();  // Starts nothing.
  // These release at the semicolon. g++ 12 does not look into a co_await expression.
  co_await a.acquire();
  co_await leasehold::acquire_all(a, b);
}
#endif

#ifdef WRONG_BODY
asio::awaitable<void> has_a_wrong_body(leasehold::mutex a) {
  co_await leasehold::with_lock(a, [](leasehold::hold&) { return 1; });
}
#endif
