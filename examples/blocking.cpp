// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// blocking [URL]: a program of threads and without coroutines. Four threads pack the orders of a shop. Start as many of
// these programs as you like on one Redis: of all their threads, one at a time packs for the same customer. The code is
// that of docs/blocking.md.

#include <leasehold/blocking.hpp>

#include <boost/asio/error.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <future>
#include <iostream>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

void say(const std::string& line) {
  static std::mutex one_line;
  const std::lock_guard guard(one_line);
  std::cout << line << std::endl;
}

// [lock]
void pack(const leasehold::blocking::client& redis, const std::string& customer) {
  leasehold::blocking::mutex lock(redis, "customer:" + customer);
  leasehold::blocking::hold hold = lock.acquire({.lease = 10s, .wait = 30s});
  say(customer + " is packed, fence " + std::to_string(hold.fence()));
  hold.release();  // The destructor releases it, too, in the background.
}
// [/lock]

// [work]
int count(const leasehold::blocking::client& redis, const std::stop_token& stop) {
  leasehold::blocking::mutex lock(redis, "stock");
  auto body = [](leasehold::blocking::hold&, const std::stop_token& lost_or_stopped) {
    int shelves = 0;
    while (shelves < 5 && !lost_or_stopped.stop_requested()) {
      std::this_thread::sleep_for(10ms);
      ++shelves;
    }
    return shelves;
  };
  return leasehold::blocking::with_lock(lock, {.lease = 10s}, body, stop);
}
// [/work]

// [stop]
void wait_until_stopped(const leasehold::blocking::client& redis, const std::stop_token& stop) {
  leasehold::blocking::mutex lock(redis, "till");
  leasehold::error_code failure;
  leasehold::blocking::hold hold = lock.acquire(stop, failure);
  if (failure == boost::asio::error::operation_aborted) {
    say("stopped");
  } else if (failure) {
    say(lock.explain(failure));
  }
}
// [/stop]

// [several]
void move(const leasehold::blocking::client& redis, const std::string& from, const std::string& to) {
  leasehold::blocking::mutex a(redis, "shelf:" + from), b(redis, "shelf:" + to);
  auto [first, second] = leasehold::blocking::acquire_all({.lease = 10s}, a, b);
  say("moved from " + from + " to " + to + ", fences " + std::to_string(first.fence()) + " and " +
      std::to_string(second.fence()));
}
// [/several]

void run(const std::string& url) {
  // [client]
  leasehold::blocking::client redis(url);
  std::vector<std::future<void>> orders;
  for (const char* customer : {"Smith", "Miller", "Smith", "Miller"}) {
    orders.push_back(std::async(std::launch::async, pack, redis, customer));
  }
  for (auto& order : orders) order.get();  // Throws what pack has thrown.
  // [/client]

  std::cout << count(redis, std::stop_token()) << " shelves are counted" << std::endl;
  move(redis, "north", "south");

  const leasehold::blocking::hold busy = leasehold::blocking::mutex(redis, "till").acquire();
  std::jthread waits([redis](const std::stop_token& stop) { wait_until_stopped(redis, stop); });
  // A second at most: its acquire may have failed at once.
  for (int n = 0; n < 1000 && redis.stats().waiting == 0; ++n) std::this_thread::sleep_for(1ms);
}  // ~jthread requests the stop, and the wait ends.

}  // namespace

int main(int argc, char** argv) try {
  const char* url = std::getenv("LEASEHOLD_REDIS");
  run(argc > 1 ? argv[1] : url ? url : "redis://127.0.0.1:6379");
} catch (const std::exception& e) {
  std::cerr << "blocking: " << e.what() << std::endl;
  return 1;
}
