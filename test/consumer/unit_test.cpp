// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
// Takes and loses a lock without a server.
#include <leasehold/leasehold.hpp>
#include <leasehold/testing/memory_store.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <utility>

using namespace std::chrono_literals;

int main() {
  boost::asio::io_context context;
  leasehold::testing::memory_store store("consumer");
  leasehold::client client(context, store.url());
  leasehold::mutex lock(client, "consumer");
  leasehold::hold held;
  bool is_lost = false;
  lock.acquire([&](leasehold::error_code, leasehold::hold h) {
    held = std::move(h);
    held.lost([&](leasehold::error_code ec) { is_lost = !ec; });
  });
  context.poll();
  if (!held.valid() || !store.held("consumer")) return 1;
  store.advance(31s);
  context.poll();
  return is_lost ? 0 : 1;
}
