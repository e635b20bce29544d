// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// leasehold::testing: each operation, and what a program's locks make of it. Nothing here waits.
#include "support/limit.hpp"
#include "support/unit_test.hpp"

#include <leasehold/blocking.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/testing/memory_store.hpp>

#include <boost/asio.hpp>
#include <boost/system/errc.hpp>

#include <array>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(testing_memory_store)

using namespace std::chrono_literals;
using testing::memory_store;

// A program with one client, and what became of its operations.
struct program {
  asio::io_context context;
  leasehold::client client;

  explicit program(const std::vector<std::string>& urls, client_options o = {}) : client(context, urls, std::move(o)) {
    run();
  }
  explicit program(const memory_store& s, client_options o = {}) : program(std::vector{s.url()}, std::move(o)) {}

  // Everything that is ready.
  void run() {
    context.restart();
    context.poll();
  }
  void advance(std::chrono::milliseconds d) {
    memory_store::advance(d);
    run();
  }
  // In steps in which leases are renewed.
  void live(std::chrono::milliseconds d, std::chrono::milliseconds step = 1s) {
    for (; d > 0ms; d -= step) advance(step);
  }
};

struct attempt {
  std::optional<error_code> ended = {};
  hold got = {};
  std::optional<error_code> lost = {};

  template <class Lock>
  void begin(program& p, const Lock& lock, acquire_options o = {}) {
    lock.acquire(o, [this](error_code ec, hold h) {
      ended = ec;
      got = std::move(h);
      if (!ec) got.lost([this](error_code e) { lost = e; });
    });
    p.run();
  }
  bool granted() const { return ended && !*ended && got.valid(); }
  std::optional<error_code> release(program& p) {
    std::optional<error_code> result;
    got.release([&result](error_code ec) { result = ec; });
    p.run();
    return result;
  }
};

using any_lock = std::variant<mutex, recursive_mutex, shared_mutex, shared_mutex::reader_side, counting_semaphore>;

struct kind {
  const char* name;
  any_lock (*make)(const client&, const std::string& owner);
  bool on_quorum = true;
  bool together = false;
};

const std::array<kind, 5> kinds{{
    {"mutex", [](const client& c, const std::string&) -> any_lock { return mutex(c, "n"); }},
    {"recursive_mutex", [](const client& c, const std::string& o) -> any_lock { return recursive_mutex(c, "n", o); }},
    {"writer", [](const client& c, const std::string&) -> any_lock { return shared_mutex(c, "n"); }},
    {"reader", [](const client& c, const std::string&) -> any_lock { return shared_mutex(c, "n").shared(); }, true,
     true},
    {"counting_semaphore",
     [](const client& c, const std::string&) -> any_lock { return counting_semaphore(c, "n", 1); }, false},
}};

void begin(attempt& a, program& p, const any_lock& lock, acquire_options o = {}) {
  std::visit([&](const auto& l) { a.begin(p, l, o); }, lock);
}

template <class F>
void expect_error(error e, F f) {
  BOOST_CHECK_EXCEPTION(f(), exception, [e](const exception& x) { return x.code() == e; });
}

BOOST_AUTO_TEST_CASE(names_are_checked) {
  memory_store a("a");
  BOOST_TEST(a.url() == "memory:a");
  expect_error(error::invalid_url, [] { memory_store again("a"); });
  expect_error(error::invalid_url, [] { memory_store bad("a b"); });
  expect_error(error::invalid_url, [] { memory_store empty(""); });
  expect_error(error::invalid_url, [] { memory_store with_option("b?keys=tagged"); });
  asio::io_context context;
  expect_error(error::invalid_url, [&] { client c(context, "memory:other"); });
  expect_error(error::invalid_option, [] { memory_store::advance(-1ms); });
  expect_error(error::invalid_option, [&] { a.hold_elsewhere("n", 0ms); });
}

BOOST_AUTO_TEST_CASE(a_name_is_free_again_and_old_clients_see_a_server_that_has_stopped) {
  std::optional<memory_store> store(std::in_place, "a");
  program p(*store);
  attempt first;
  first.begin(p, mutex(p.client, "n"));
  BOOST_TEST(first.granted());
  store.reset();
  store.emplace("a");
  BOOST_TEST(!store->held("n"));
  p.advance(29s);
  BOOST_TEST(first.lost.has_value() == false);
  p.advance(2s);
  BOOST_TEST((first.lost && !*first.lost));
}

BOOST_AUTO_TEST_CASE(every_kind_is_acquired_renewed_lost_and_released) {
  for (const kind& k : kinds) {
    BOOST_TEST_CONTEXT(k.name) {
      memory_store store("a");
      program p(store);
      attempt first, second, third;
      begin(first, p, k.make(p.client, "first"));
      BOOST_TEST(first.granted());
      BOOST_TEST(store.held("n"));
      // Renewed, and still waited for.
      begin(second, p, k.make(p.client, "second"), {.wait = 50s});
      BOOST_TEST(second.granted() == k.together);
      p.live(45s, 5s);
      BOOST_TEST(first.granted());
      BOOST_TEST(!first.lost);
      BOOST_TEST(second.granted() == k.together);
      p.live(10s, 5s);
      if (!k.together) BOOST_TEST((second.ended && *second.ended == error::timed_out));
      // Lost, and notified.
      BOOST_TEST(store.lose("n"));
      BOOST_TEST(!store.held("n"));
      p.advance(10s);
      BOOST_TEST((first.lost && !*first.lost));
      begin(third, p, k.make(p.client, "third"));
      BOOST_TEST(third.granted());
      BOOST_TEST((third.release(p) == error_code()));
      BOOST_TEST(!store.held("n"));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_lease_ends_in_a_pause) {
  for (const kind& k : kinds) {
    BOOST_TEST_CONTEXT(k.name) {
      memory_store store("a");
      program p(store);
      attempt a;
      begin(a, p, k.make(p.client, "a"), {.lease = 30s});
      p.advance(29s);
      BOOST_TEST(a.granted());
      p.advance(31s);
      BOOST_TEST((a.lost && !*a.lost));
      BOOST_TEST(!a.got.valid());
      BOOST_TEST((a.got.expires_at() <= std::chrono::steady_clock::now()));
      BOOST_TEST(!store.held("n"));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_released_lock_is_granted_to_the_next_client) {
  memory_store store("a");
  program p(store), q(store);
  attempt first, second;
  first.begin(p, mutex(p.client, "n"));
  second.begin(q, mutex(q.client, "n"));
  BOOST_TEST(!second.ended);
  BOOST_TEST((first.release(p) == error_code()));
  q.run();
  BOOST_TEST(second.granted());
  BOOST_TEST(second.got.fence() > first.got.fence());
}

// As at a server that checks slots.
BOOST_AUTO_TEST_CASE(a_released_lock_with_tagged_keys_is_granted_to_the_next_client) {
  memory_store store("a");
  program p(std::vector{store.url() + "?keys=tagged"}), q(std::vector{store.url() + "?keys=tagged"});
  attempt first, second;
  first.begin(p, mutex(p.client, "n"));
  second.begin(q, mutex(q.client, "n"));
  p.live(3s);  // A hold that lasts listens, too.
  q.run();
  BOOST_TEST(!second.ended);
  BOOST_TEST((first.release(p) == error_code()));
  q.run();
  BOOST_TEST(second.granted());
}

BOOST_AUTO_TEST_CASE(another_program_holds_and_releases) {
  memory_store store("a");
  program p(store);
  BOOST_TEST(!store.release_elsewhere("n"));
  BOOST_TEST(store.hold_elsewhere("n"));
  BOOST_TEST(store.held("n"));
  BOOST_TEST(!store.hold_elsewhere("n"));
  attempt first, second;
  first.begin(p, mutex(p.client, "n"), {.wait = 5s});
  p.advance(6s);
  BOOST_TEST((first.ended && *first.ended == error::timed_out));
  second.begin(p, mutex(p.client, "n"));
  BOOST_TEST(!second.ended);
  BOOST_TEST(store.release_elsewhere("n"));
  p.run();
  BOOST_TEST(second.granted());
  BOOST_TEST(!store.release_elsewhere("n"));
  BOOST_TEST(!store.hold_elsewhere("n"));
}

BOOST_AUTO_TEST_CASE(another_program_is_named_in_a_slow_wait) {
  memory_store store("a");
  std::size_t slow_waits = 0;
  client_options o;
  o.slow_wait = 1s;
  o.observer = [&slow_waits](const event& e) {
    if (e.what != event::kind::slow_wait) return;
    ++slow_waits;
    BOOST_TEST(e.holder == "elsewhere");
    BOOST_TEST(e.fence != 0U);
    BOOST_TEST(e.since.has_value());
  };
  program p(store, o);
  BOOST_TEST(store.hold_elsewhere("n"));
  attempt waits;
  waits.begin(p, mutex(p.client, "n"));
  p.advance(2s);
  BOOST_TEST(slow_waits == 1U);
}

BOOST_AUTO_TEST_CASE(another_program_and_a_client_with_tagged_keys_keep_each_other_out) {
  memory_store store("a");
  program p(std::vector{store.url() + "?keys=tagged"});
  attempt first, second;
  first.begin(p, mutex(p.client, "n"));
  BOOST_TEST(first.granted());
  BOOST_TEST(store.held("n"));
  BOOST_TEST(!store.hold_elsewhere("n"));
  BOOST_TEST(!store.held("m"));
  BOOST_TEST(store.hold_elsewhere("m"));
  BOOST_TEST(store.held("m"));
  second.begin(p, mutex(p.client, "m"));
  p.live(1s, 100ms);
  BOOST_TEST(!second.ended);
  // The next in the queue is granted it, and does not have to ask.
  BOOST_TEST(store.release_elsewhere("m"));
  p.run();
  BOOST_TEST(second.granted());
}

BOOST_AUTO_TEST_CASE(a_lease_of_another_program_ends) {
  memory_store store("a");
  program p(store);
  BOOST_TEST(store.hold_elsewhere("n", 10s));
  attempt a;
  a.begin(p, mutex(p.client, "n"));
  p.live(9s, 500ms);
  BOOST_TEST(!a.ended);
  p.live(3s, 500ms);
  BOOST_TEST(a.granted());
  BOOST_TEST(!store.release_elsewhere("n"));
  BOOST_TEST(store.held("n"));
}

BOOST_AUTO_TEST_CASE(another_program_holds_mutexes_only) {
  memory_store store("a");
  program p(store);
  attempt a;
  a.begin(p, counting_semaphore(p.client, "n", 2));
  expect_error(error::wrong_type, [&] { store.hold_elsewhere("n"); });
}

BOOST_AUTO_TEST_CASE(a_prefix_is_a_part_of_the_name) {
  memory_store store("a");
  client_options o;
  o.prefix = "app:";
  program p(store, o);
  attempt a;
  a.begin(p, mutex(p.client, "n"));
  BOOST_TEST(store.held("app:n"));
  BOOST_TEST(!store.held("n"));
  BOOST_TEST(!store.lose("n"));
}

BOOST_AUTO_TEST_CASE(clients_connect_again) {
  memory_store store("a");
  program p(store);
  attempt first, second;
  first.begin(p, mutex(p.client, "n"));
  store.disconnect();
  p.run();
  second.begin(p, mutex(p.client, "m"));
  BOOST_TEST(!second.ended);
  p.advance(1s);
  BOOST_TEST(second.granted());
  BOOST_TEST(first.granted());
  BOOST_TEST(p.client.stats().reconnects == 1U);
}

BOOST_AUTO_TEST_CASE(a_server_that_stopped_keeps_its_data) {
  for (const kind& k : kinds) {
    BOOST_TEST_CONTEXT(k.name) {
      memory_store store("a");
      program p(store);
      attempt first, second, third;
      begin(first, p, k.make(p.client, "a"));
      store.stop();
      store.stop();
      p.run();
      second.begin(p, mutex(p.client, "m"), {.wait = 2s});
      p.live(3s, 500ms);
      BOOST_TEST((second.ended && *second.ended == error::unreachable));
      BOOST_TEST(store.held("n"));
      store.start();
      store.start();
      p.live(10s);
      BOOST_TEST(first.granted());
      store.stop();
      p.live(31s);
      BOOST_TEST((first.lost && !*first.lost));
      store.start();
      p.live(2s);
      begin(third, p, k.make(p.client, "b"));
      BOOST_TEST(third.granted());
    }
  }
}

struct with_quorum {
  std::array<memory_store, 3> stores{memory_store("a"), memory_store("b"), memory_store("c")};
  std::vector<std::string> urls{stores[0].url(), stores[1].url(), stores[2].url()};
};

BOOST_AUTO_TEST_CASE(three_stores_are_a_quorum) {
  for (const kind& k : kinds) {
    if (!k.on_quorum) continue;
    BOOST_TEST_CONTEXT(k.name) {
      with_quorum q;
      program p(q.urls);
      attempt first, second;
      begin(first, p, k.make(p.client, "a"));
      BOOST_TEST(first.granted());
      for (const auto& s : q.stores) BOOST_TEST(s.held("n"));
      // A minority may be down.
      q.stores[0].stop();
      p.live(60s, 5s);
      BOOST_TEST(first.granted());
      // A majority may not.
      q.stores[1].stop();
      p.live(31s);
      BOOST_TEST((first.lost && !*first.lost));
      begin(second, p, k.make(p.client, "b"), {.wait = 3s});
      p.live(4s);
      BOOST_TEST((second.ended && *second.ended == error::no_quorum));
    }
  }
}

BOOST_AUTO_TEST_CASE(another_program_has_a_majority) {
  with_quorum q;
  program p(q.urls);
  BOOST_TEST(q.stores[0].hold_elsewhere("n"));
  BOOST_TEST(q.stores[1].hold_elsewhere("n"));
  attempt a;
  a.begin(p, mutex(p.client, "n"));
  p.live(3s, 100ms);
  BOOST_TEST(!a.ended);
  q.stores[1].release_elsewhere("n");
  p.run();
  p.live(1s, 100ms);
  BOOST_TEST(a.granted());
}

BOOST_AUTO_TEST_CASE(a_quorum_loses_what_a_majority_has_lost) {
  with_quorum q;
  program p(q.urls);
  attempt a;
  a.begin(p, mutex(p.client, "n"));
  q.stores[0].lose("n");
  p.live(10s, 5s);
  BOOST_TEST(a.granted());
  BOOST_TEST(q.stores[0].held("n"));
  q.stores[0].lose("n");
  q.stores[1].lose("n");
  p.live(15s, 5s);
  BOOST_TEST((a.lost && !*a.lost));
}

BOOST_AUTO_TEST_CASE(run_returns_when_the_client_is_closed) {
  memory_store store("a");
  const auto began = std::chrono::steady_clock::now();
  {
    asio::io_context context;
    client c(context, store.url());
    bool closed = false;
    mutex(c, "n").acquire([&](error_code ec, hold h) {
      BOOST_TEST(!ec);
      h.release([&](error_code e) {
        BOOST_TEST(!e);
        c.close([&](error_code) { closed = true; });
      });
    });
    context.run();
    BOOST_TEST(closed);
  }
  BOOST_TEST((std::chrono::steady_clock::now() - began < 900ms));
}

BOOST_AUTO_TEST_CASE(an_idle_client_lets_run_return) {
  memory_store store("a");
  program p(store);
  p.live(3s);
  p.context.restart();
  p.context.run();
  attempt a;
  a.begin(p, mutex(p.client, "n"));
  BOOST_TEST(a.granted());
}

BOOST_AUTO_TEST_CASE(a_context_may_end_with_everything_under_way) {
  with_quorum q;
  attempt a, b, c;
  auto p = std::make_unique<program>(q.urls);
  auto r = std::make_unique<program>(q.stores[0]);
  a.begin(*p, mutex(p->client, "n"));
  b.begin(*p, mutex(p->client, "n"));
  c.begin(*r, mutex(r->client, "m"));
  memory_store::advance(1s);  // What this sets off is still to be done.
  p.reset();
  r.reset();
  BOOST_TEST(!b.ended);
  memory_store::advance(31s);
  BOOST_TEST(!q.stores[0].held("n"));
}

BOOST_AUTO_TEST_CASE(no_replica_acknowledges) {
  memory_store store("a");
  program p(store);
  attempt a;
  a.begin(p, mutex(p.client, "n"), {.wait = 3s, .replicas = 1});
  p.live(20s);
  BOOST_TEST((a.ended && *a.ended == error::no_quorum));
  BOOST_TEST(!a.got.valid());
}

// Whatever the last attempt is at when the limit comes: each one before was granted, and never acknowledged.
BOOST_AUTO_TEST_CASE(no_replica_acknowledges_until_the_limit) {
  for (const auto step : {5ms, 20ms, 50ms, 1000ms}) {
    for (const auto wait : {500ms, 2900ms, 3000ms, 3100ms, 4000ms}) {
      memory_store store("a");
      program p(store);
      attempt a;
      a.begin(p, mutex(p.client, "n"), {.wait = wait, .replicas = 1});
      p.live(6s, step);
      BOOST_TEST_CONTEXT("a wait of " << wait.count() << " ms in steps of " << step.count() << " ms") {
        BOOST_REQUIRE(a.ended);
        BOOST_TEST(*a.ended == error::no_quorum, a.ended->message());
      }
    }
  }
}

// Nobody can send a release then. close() comes first.
BOOST_AUTO_TEST_CASE(after_the_context_was_stopped_a_lock_stays_for_its_lease) {
  memory_store store("a");
  program p(store);
  attempt a;
  a.begin(p, mutex(p.client, "n"), {.lease = 10s});
  BOOST_REQUIRE(a.granted());
  p.context.stop();
  a.got = hold();
  memory_store::advance(9s);
  BOOST_TEST(store.held("n"));
  memory_store::advance(2s);
  BOOST_TEST(!store.held("n"));

  program q(store);
  attempt b;
  b.begin(q, mutex(q.client, "n"), {.lease = 10s});
  BOOST_REQUIRE(b.granted());
  std::optional<error_code> closed;
  q.client.close([&](error_code ec) { closed = ec; });
  q.run();
  BOOST_TEST((closed && !*closed));
  q.context.stop();
  BOOST_TEST(!store.held("n"));
}

// Clients of several threads, and the test in another.
BOOST_AUTO_TEST_CASE(clients_may_be_in_several_threads) {
  memory_store store("a");
  constexpr int times = 30;
  int inside = 0, entered = 0;
  std::vector<std::thread> threads;
  asio::io_context one, two;
  const auto work = [&](asio::io_context& context) {
    client c(context, store.url());
    auto body = [&, c]() -> asio::awaitable<void> {
      mutex m(c, "n");
      for (int i = 0; i < times; ++i) {
        hold h = co_await m.acquire();
        BOOST_REQUIRE(++inside == 1);
        ++entered;
        --inside;
        co_await h.release();
      }
      co_await c.close();
    };
    asio::co_spawn(context, std::move(body), asio::detached);
  };
  work(one);
  work(two);
  for (auto* context : {&one, &two, &two}) threads.emplace_back([context] { context->run(); });
  for (int i = 0; i < 100; ++i) {
    memory_store::advance(1ms);
    store.held("n");
  }
  for (auto& t : threads) t.join();
  BOOST_TEST(entered == 2 * times);
}

BOOST_AUTO_TEST_SUITE_END()

// What test/threads proves of leasehold::blocking on real servers, in short.
BOOST_AUTO_TEST_SUITE(testing_blocking)

using namespace std::chrono_literals;
using testing::memory_store;

BOOST_AUTO_TEST_CASE(a_call_on_the_clients_own_thread_is_refused) {
  memory_store store("a");
  const blocking::mutex* known = nullptr;  // Set before the lock is acquired.
  std::promise<error_code> told;
  client_options o;
  o.observer = [&](const event& e) {
    if (e.what != event::kind::acquired) return;
    error_code ec;
    static_cast<void>(known->try_acquire(ec));
    told.set_value(ec);
  };
  auto c = std::make_unique<blocking::client>(store.url(), o);
  auto lock = std::make_unique<const blocking::mutex>(*c, "n");
  known = lock.get();
  std::thread acquires([known] { static_cast<void>(known->acquire()); });
  auto result = told.get_future();
  if (result.wait_for(limit) != std::future_status::ready) {
    // The client's thread waits for itself, and would be waited for.
    acquires.detach();
    static_cast<void>(lock.release());
    static_cast<void>(c.release());
    BOOST_FAIL("the call does not return");
  }
  acquires.join();
  const error_code ec = result.get();
  BOOST_TEST(ec == boost::system::errc::resource_deadlock_would_occur);
}

BOOST_AUTO_TEST_CASE(a_stop_ends_a_wait) {
  memory_store store("a");
  const blocking::client c(store.url());
  store.hold_elsewhere("n");
  std::stop_source stop;
  stop.request_stop();
  error_code ec;
  const blocking::hold none = blocking::mutex(c, "n").acquire(stop.get_token(), ec);
  BOOST_TEST(ec == asio::error::operation_aborted);
  BOOST_TEST(!none.valid());
}

BOOST_AUTO_TEST_CASE(a_loss_requests_a_stop) {
  memory_store store("a");
  const blocking::client c(store.url());
  blocking::hold h = blocking::mutex(c, "n").acquire({.lease = 30s});
  const std::stop_token lost = h.lost_token();
  BOOST_TEST(!lost.stop_requested());
  memory_store::advance(31s);
  wait_until("a stop is requested", [&lost] { return lost.stop_requested(); });
  BOOST_TEST(!h.valid());
}

BOOST_AUTO_TEST_CASE(the_exception_of_a_blocking_hold_names_its_lock) {
  memory_store store("a");
  const blocking::client c(store.url());
  blocking::hold h = blocking::mutex(c, "n").acquire();
  h.release();
  BOOST_CHECK_EXCEPTION(h.release(), exception,
                        [](const exception& x) { return x.code() == error::not_held && x.lock() == "n"; });
}

BOOST_AUTO_TEST_CASE(the_first_exception_of_the_observer_is_kept) {
  memory_store store("a");
  int thrown = 0;  // On one thread, which has done everything when close() returns.
  client_options o;
  o.observer = [&thrown](const event& e) {
    if (e.what == event::kind::acquired) throw std::runtime_error("observer " + std::to_string(++thrown));
  };
  const blocking::client c(store.url(), o);
  for (int i = 0; i < 3; ++i) blocking::mutex(c, "n").acquire().release();
  c.close();
  BOOST_TEST(thrown == 3);
  BOOST_REQUIRE((c.observer_failure() != nullptr));
  BOOST_CHECK_EXCEPTION(std::rethrow_exception(c.observer_failure()), std::runtime_error,
                        [](const std::runtime_error& x) { return std::string(x.what()) == "observer 1"; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
