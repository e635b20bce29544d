// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
// Takes and releases one lock on the Redis whose URL is the argument.
#include <leasehold/leasehold.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdio>
#include <exception>

namespace asio = boost::asio;

namespace {

asio::awaitable<void> acquire_and_release(leasehold::client client) {
  leasehold::mutex lock(client, "consumer");
  leasehold::hold hold = co_await lock.acquire();
  std::printf("%s: fence %llu\n", hold.name().c_str(), static_cast<unsigned long long>(hold.fence()));
  co_await hold.release();
  co_await client.close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  asio::io_context context;
  int status = 0;
  leasehold::client client(context, argv[1]);
  asio::co_spawn(context, acquire_and_release(client), [&](std::exception_ptr failure) {
    if (!failure) return;
    status = 1;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
    }
    client.close([](boost::system::error_code) {});
  });
  context.run();
  return status;
}
