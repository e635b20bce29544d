// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Hosts: names with several addresses, names that take long to resolve, IPv6, and what is set on the connection.
#include "support/needs.hpp"
#include "support/with_redis.hpp"

#include <dlfcn.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

// The names that this program knows besides the system's, and whether resolving waits.
struct known_names {
  std::mutex guard;
  std::condition_variable changed;
  std::map<std::string, std::vector<std::string>> addresses;
  bool slow = false;
  int asked = 0;
};

known_names& known() {
  static known_names all;
  return all;
}

// A name of its own for each test.
std::string name_for(std::vector<std::string> addresses) {
  static int count = 0;
  const std::lock_guard lock(known().guard);
  const std::string name = "host" + std::to_string(++count) + ".leasehold.test";
  known().addresses[name] = std::move(addresses);
  return name;
}

void set_slow(bool slow) {
  const std::lock_guard lock(known().guard);
  known().slow = slow;
  known().changed.notify_all();
}

int asked() {
  const std::lock_guard lock(known().guard);
  return known().asked;
}

}  // namespace

}  // namespace leasehold::test

// Takes the place of the C library's in this program.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** result) {
  using namespace leasehold::test;
  using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  std::vector<std::string> addresses;
  {
    std::unique_lock lock(known().guard);
    const auto found = name == nullptr ? known().addresses.end() : known().addresses.find(name);
    if (found != known().addresses.end()) {
      addresses = found->second;
      ++known().asked;
      known().changed.wait_for(lock, limit, [] { return !known().slow; });
    }
  }
  if (addresses.empty()) return real(name, service, hints, result);
  addrinfo** end = result;
  for (const auto& address : addresses) {
    if (const int failed = real(address.c_str(), service, hints, end)) return failed;
    while (*end != nullptr) end = &(*end)->ai_next;
  }
  return 0;
}

namespace leasehold::test {

namespace {

// TCP_NODELAY of each connection of this process to this port.
std::vector<bool> no_delay_of(unsigned short port) {
  std::vector<bool> all;
  for (int fd = 3; fd < 256; ++fd) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    if (peer.sin_family != AF_INET || ntohs(peer.sin_port) != port) continue;
    int value = 0;
    size = sizeof value;
    BOOST_TEST(::getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &size) == 0);
    all.push_back(value != 0);
  }
  return all;
}

awaitable<void> uses(client c, std::chrono::milliseconds connect_timeout = 5s) {
  const auto since = now();
  const auto [ec] = co_await c.ready(as_tuple);
  // On a machine that stands still, the time may be over before an attempt is: then this says nothing.
  if (now() - since < connect_timeout + 200ms) BOOST_TEST(!ec, c.explain(ec));
  hold h = co_await mutex(c, "n").acquire();
  BOOST_TEST(h.valid());
  co_await h.release();
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(hosts, with_redis)

BOOST_AUTO_TEST_CASE(a_name_is_resolved) {
  const std::vector<std::string> known{"localhost", name_for({"127.0.0.1"}), name_for({"127.0.0.1", "127.0.0.1"})};
  run([&]() -> awaitable<void> {
    const std::string port = ":" + std::to_string(redis.port());
    for (const std::string& name : known) {
      client c(co_await asio::this_coro::executor, "redis://" + name + port);
      co_await uses(c);
    }
  });
}

BOOST_AUTO_TEST_CASE(an_address_that_refuses_is_passed_over) {
  run([&]() -> awaitable<void> {
    bool told = false;
    client_options o;
    o.observer = [&told](const event& e) { told = told || e.what == event::kind::unreachable; };
    const std::string name = name_for({"127.0.0.3", "127.0.0.4", "127.0.0.1"});
    client c(co_await asio::this_coro::executor, "redis://" + name + ":" + std::to_string(redis.port()), o);
    co_await uses(c);
    BOOST_TEST(!told);
    co_await c.close();
  });
}

// A host with an IPv6 address that leads nowhere, say. The listener's queue is full: the kernel answers nothing.
BOOST_AUTO_TEST_CASE(an_address_that_does_not_answer_is_passed_over) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    asio::ip::tcp::acceptor silent(executor);
    const asio::ip::tcp::endpoint where(asio::ip::make_address("127.0.0.2"), redis.port());
    silent.open(where.protocol());
    silent.bind(where);
    silent.listen(0);
    std::vector<asio::ip::tcp::socket> queue;
    for (int i = 0; i < 8; ++i) {
      queue.emplace_back(executor, asio::ip::tcp::v4());
      queue.back().async_connect(where, asio::detached);
    }
    client_options o;
    o.connect_timeout = 2s;
    o.idle_timeout = forever;
    const std::string url = "redis://" + name_for({"127.0.0.2", "127.0.0.1"}) + ":" + std::to_string(redis.port());
    client c(executor, url, o);
    co_await uses(c, o.connect_timeout);
    redis.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    redis.command("CLIENT", "KILL", "TYPE", "pubsub");
    co_await eventually("it is connected again", [&] { return c.stats().reconnects == 1; });
  });
}

BOOST_AUTO_TEST_CASE(a_frozen_server_is_passed_over) {
  redis_server frozen({"bind 127.0.0.5", "port " + std::to_string(redis.port())});
  frozen.stop();
  run([&]() -> awaitable<void> {
    client_options o;
    o.connect_timeout = 2s;
    const std::string url = "redis://" + name_for({"127.0.0.5", "127.0.0.1"}) + ":" + std::to_string(redis.port());
    client c(co_await asio::this_coro::executor, url, o);
    co_await uses(c, o.connect_timeout);
    co_await c.close();
  });
  frozen.go_on();
}

BOOST_AUTO_TEST_CASE(a_name_that_moves_is_followed) {
  run([&]() -> awaitable<void> {
    const std::string name = name_for({"127.0.0.3"});
    client_options o;
    o.reconnect = {.first = 1ms, .max = 10ms};
    client c(co_await asio::this_coro::executor, "redis://" + name + ":" + std::to_string(redis.port()), o);
    co_await eventually("it is refused", [&] { return c.last_failure() == "Connection refused"; });
    {
      const std::lock_guard lock(known().guard);
      known().addresses[name] = {"127.0.0.1"};
    }
    co_await uses(c);
  });
}

// A resolver that does not answer cannot be stopped; closing does not wait for it.
BOOST_AUTO_TEST_CASE(closing_does_not_wait_for_a_resolver) {
  asio::io_context context;
  const int before = asked();
  set_slow(true);
  client_options o;
  o.connect_timeout = 100ms;
  std::optional<client> c(std::in_place, context,
                          "redis://" + name_for({"127.0.0.1"}) + ":" + std::to_string(redis.port()), o);
  outcome ready;
  outcome acquired;
  outcome closed;
  c->ready(ready.handler());
  mutex(*c, "n").acquire([&](error_code ec, hold) { acquired.ec = ec; });
  wait_until("it is being resolved", [&] {
    context.run_for(1ms);
    return asked() > before;
  });
  c->close(closed.handler());
  wait_until("it is closed", [&] {
    context.run_for(1ms);
    return closed.ended() && ready.ended() && acquired.ended();
  });
  BOOST_TEST(!*closed.ec);
  BOOST_TEST((*ready.ec == error::closed || *ready.ec == error::unreachable));
  BOOST_TEST(*acquired.ec == error::closed);
  c.reset();
  set_slow(false);
  run_to_end(context);
  BOOST_TEST(redis.info("connected_clients") == 1);
}

BOOST_AUTO_TEST_CASE(an_address_of_ipv6_stands_in_brackets, *needs(has_ipv6, "this machine has no IPv6")) {
  redis_server server({"bind 127.0.0.1 ::1"});
  const std::vector<std::string> known{"[::1]", name_for({"::1"}), name_for({"::1", "127.0.0.1"})};
  const std::string url = "redis://" + name_for({"::1", "127.0.0.1"}) + ":" + std::to_string(redis.port());
  run([&]() -> awaitable<void> {
    const std::string port = ":" + std::to_string(server.port());
    for (const std::string& host : known) {
      client c(co_await asio::this_coro::executor, "redis://" + host + port);
      co_await uses(c);
      co_await c.close();
    }
    // The first address is not always the right one.
    client c(co_await asio::this_coro::executor, url);
    co_await uses(c);
  });
}

BOOST_AUTO_TEST_CASE(no_connection_waits_for_acknowledgements) {
  run([&]() -> awaitable<void> {
    client_options o;
    o.idle_timeout = forever;
    client c(co_await asio::this_coro::executor, redis.tcp_url(), o);
    co_await c.ready();
    for (std::uint64_t i = 0;; ++i) {
      const auto all = no_delay_of(redis.port());
      BOOST_TEST(all.size() == 1U);
      for (const bool set : all) BOOST_TEST(set);
      if (i == 3) break;
      redis.command("CLIENT", "KILL", "TYPE", "pubsub");
      co_await eventually("it is connected again", [&] { return c.stats().reconnects == i + 1; });
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
