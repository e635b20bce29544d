// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// leasehold's worker of `./dev bench peers`; run says what its arguments and its output are.
#include <leasehold/leasehold.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock_type = std::chrono::system_clock;

struct work {
  clock_type::time_point begin;
  clock_type::time_point end;
  std::uint64_t pairs = 0;
  clock_type::duration longest{};
};

asio::awaitable<void> worker(leasehold::mutex lock, work& w) {
  for (;;) {
    const auto asked = clock_type::now();
    if (asked >= w.end) co_return;
    leasehold::hold hold = co_await lock.acquire({.lease = 10s});
    const auto acquired = clock_type::now();
    co_await hold.release();
    if (acquired < w.begin || acquired >= w.end) continue;
    ++w.pairs;
    w.longest = std::max(w.longest, acquired - std::max(asked, w.begin));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 64;
  const bool hot = std::string_view(argv[2]) == "hot";
  const int workers = std::stoi(argv[3]);
  work w;
  w.begin = clock_type::time_point(std::chrono::milliseconds(std::stoll(argv[4])));
  w.end = w.begin + std::chrono::milliseconds(std::stoll(argv[5]));
  asio::io_context context(1);
  {
    leasehold::client client(context, "redis://127.0.0.1:" + std::string(argv[1]));
    for (int i = 0; i < workers; ++i) {
      const std::string name = hot ? "hot" : "free:" + std::to_string(i);
      asio::co_spawn(context, worker(leasehold::mutex(client, name), w), asio::detached);
    }
  }
  context.run();
  std::printf("%llu %lld\n", static_cast<unsigned long long>(w.pairs),
              static_cast<long long>(std::chrono::duration_cast<std::chrono::microseconds>(w.longest).count()));
}
