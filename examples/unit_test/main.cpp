// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The unit test of a service that takes locks: no server, no waiting. docs/testing.md explains it.
#define BOOST_TEST_MODULE seat_service
#include "seat_service.hpp"

#include <leasehold/testing/memory_store.hpp>

#include <boost/asio.hpp>
#include <boost/test/included/unit_test.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

struct theatre {
  // [store]
  asio::io_context context;
  leasehold::testing::memory_store store{"theatre"};
  leasehold::client client{context, store.url()};
  // [/store]
  bool is_paid = false;
  asio::steady_timer paid{context, asio::steady_timer::time_point::max()};
  seat_service service{client, [this] { return payment(); }};

  // Ends with pay(); with operation_aborted when the sale is cancelled.
  asio::awaitable<void> payment() {
    auto [ec] = co_await paid.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!is_paid) throw boost::system::system_error(ec);
  }
  void pay() {
    is_paid = true;
    paid.cancel();
    run();
  }

  // [run]
  // Begins a sale. The result is set when the sale has ended.
  std::shared_ptr<std::optional<sale>> sell(std::string seat, std::string guest) {
    auto result = std::make_shared<std::optional<sale>>();
    asio::co_spawn(context, service.sell(std::move(seat), std::move(guest)),
                   [result](std::exception_ptr, sale s) { *result = s; });
    run();
    return result;
  }

  // Runs everything that is ready, without waiting.
  void run() {
    context.restart();
    context.poll();
  }
  void advance(std::chrono::milliseconds d) {
    store.advance(d);
    run();
  }
  // [/run]
};

BOOST_FIXTURE_TEST_SUITE(selling, theatre)

// [sold]
BOOST_AUTO_TEST_CASE(a_seat_is_sold_when_it_is_paid) {
  auto result = sell("A1", "Smith");
  BOOST_TEST(store.held("seat:A1"));
  pay();
  BOOST_TEST((*result == sale::sold));
  BOOST_TEST(service.guests().at("A1") == "Smith");
  BOOST_TEST(!store.held("seat:A1"));
}
// [/sold]

// [busy]
BOOST_AUTO_TEST_CASE(a_seat_that_another_server_sells_is_waited_for_five_seconds) {
  store.hold_elsewhere("seat:A1");
  auto result = sell("A1", "Smith");
  advance(4s);
  BOOST_TEST(!result->has_value());
  advance(2s);
  BOOST_TEST((*result == sale::busy));
}
// [/busy]

BOOST_AUTO_TEST_CASE(a_seat_that_another_server_did_not_sell_is_sold) {
  store.hold_elsewhere("seat:A1");
  auto result = sell("A1", "Smith");
  store.release_elsewhere("seat:A1");
  run();
  pay();
  BOOST_TEST((*result == sale::sold));
}

BOOST_AUTO_TEST_CASE(a_guest_may_take_a_minute_to_pay) {
  auto result = sell("A1", "Smith");
  for (int i = 0; i < 12; ++i) advance(5s);  // The lease of 30 s is renewed.
  pay();
  BOOST_TEST((*result == sale::sold));
}

// [lost]
BOOST_AUTO_TEST_CASE(a_server_that_was_paused_sells_nothing) {
  auto result = sell("A1", "Smith");
  advance(31s);
  BOOST_TEST((*result == sale::interrupted));
  BOOST_TEST(service.guests().empty());
}

BOOST_AUTO_TEST_CASE(a_lock_that_redis_has_lost_interrupts_the_sale) {
  auto result = sell("A1", "Smith");
  store.lose("seat:A1");
  advance(10s);  // The next renewal notices it.
  BOOST_TEST((*result == sale::interrupted));
}
// [/lost]

BOOST_AUTO_TEST_CASE(nothing_is_sold_while_the_store_is_down) {
  store.stop();
  auto result = sell("A1", "Smith");
  advance(6s);
  BOOST_TEST((*result == sale::busy));
  store.start();
  advance(2s);  // The client connects again.
  result = sell("A1", "Smith");
  pay();
  BOOST_TEST((*result == sale::sold));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
