// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/locks.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace leasehold::test {

// Everything that a program may have, each destructible by itself.
struct program {
  std::unique_ptr<asio::io_context> context = std::make_unique<asio::io_context>();
  std::optional<client> c;
  std::optional<mutex> lock;
  std::optional<hold> held;

  template <class Server>
  explicit program(const Server& redis, const client_options& options = {}) {
    c.emplace(*context, redis.url(), options);
    lock.emplace(*c, "n");
  }
  void acquire(const acquire_options& options = {}) {
    lock->acquire(options, [this](error_code ec, hold h) {
      BOOST_TEST(!ec);
      held.emplace(std::move(h));
    });
    run_until([this] { return held.has_value(); });
  }
  void run_until(const condition& holds) { test::run_until(*context, holds); }
  void destroy(char what) {
    switch (what) {
      case 'c': c.reset(); break;
      case 'l': lock.reset(); break;
      case 'h': held.reset(); break;
      case 'x': context.reset(); break;
      default: break;
    }
  }
};

}  // namespace leasehold::test
