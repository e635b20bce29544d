// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What nearly every test of locks includes, on a real server or in virtual time.
#pragma once

#include "support/run.hpp"
#include "support/unit_test.hpp"

#include <leasehold/leasehold.hpp>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace leasehold::test {

// Who waits for "n", which is what most tests call their lock.
inline const std::string the_queue = "leasehold:{0}:queue:n";

// For results instead of exceptions: auto [ec, hold] = co_await lock.acquire(as_tuple);
inline constexpr auto as_tuple = asio::as_tuple(asio::deferred);

// Whatever a test does to the server or the connection, the client waits for its end.
inline client_options patient() {
  client_options o;
  o.command_timeout = limit;
  o.connect_timeout = limit;
  return o;
}

// What an operation that was started with a callback has ended with so far.
struct outcome {
  std::optional<error_code> ec;
  bool ended() const { return ec.has_value(); }
  auto handler() {
    return [this](error_code e) { ec = e; };
  }
};

}  // namespace leasehold::test
