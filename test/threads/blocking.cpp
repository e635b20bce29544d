// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// leasehold::blocking: what threads do with locks, each operation once, and how a wait ends.
#include "support/with_redis.hpp"

#include <leasehold/blocking.hpp>

#include <boost/system/errc.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <tuple>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(blocking_locks, with_redis)

namespace {

constexpr auto aborted = asio::error::operation_aborted;

// What a call throws; no error if it throws none.
template <class F>
error_code thrown_by(F f) {
  try {
    static_cast<void>(f());
  } catch (const exception& e) {
    return e.code();
  }
  return {};
}

template <class F>
std::string text_of(F f) {
  try {
    static_cast<void>(f());
  } catch (const exception& e) {
    return e.what();
  }
  return "nothing was thrown";
}

// Waits until a stop is requested, as work does that looks at its token.
void work_until(const std::stop_token& stop) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!stop.stop_requested()) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("no stop was requested");
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace

// The counter is no atomic: the thread sanitizer sees it if two threads are inside without an order between them.
BOOST_AUTO_TEST_CASE(sixteen_threads_of_one_client_count_exactly) {
  constexpr int threads = 16;
  constexpr int rounds = 50;
  int counter = 0;
  {
    blocking::client c(redis.url(), patient());
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) {
      all.emplace_back([&, lock = blocking::mutex(c, "n")] {
        for (int r = 0; r < rounds; ++r) {
          blocking::hold h = lock.acquire();
          ++counter;
          if (r % 2) h.release();
        }
      });
    }
  }
  BOOST_TEST(counter == threads * rounds);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(threads_of_several_clients_count_exactly) {
  constexpr int threads = 16;
  constexpr int rounds = 20;
  // Between two clients only Redis makes the order, which the thread sanitizer does not know.
  std::atomic<int> counter{0};
  {
    std::vector<blocking::client> clients;
    for (int i = 0; i < 4; ++i) clients.emplace_back(i % 2 ? redis.url() : redis.tcp_url(), patient());
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < threads; ++i) {
      all.emplace_back([&, lock = blocking::mutex(clients[i % clients.size()], "n")] {
        for (int r = 0; r < rounds; ++r) {
          blocking::with_lock(lock, [&](blocking::hold&, const std::stop_token&) {
            const int n = counter.load(std::memory_order_relaxed);
            std::this_thread::yield();
            counter.store(n + 1, std::memory_order_relaxed);
          });
        }
      });
    }
  }
  BOOST_TEST(counter == threads * rounds);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_mutex_has_each_operation) {
  blocking::client c(redis.url(), patient());
  c.ready();
  const blocking::mutex lock(c, "n");
  BOOST_TEST(lock.name() == "n");
  BOOST_TEST(!lock.inspect().held);
  blocking::hold h = lock.acquire({.lease = 20s});
  BOOST_TEST(h.valid());
  BOOST_TEST(h.name() == "n");
  BOOST_TEST(h.depth() == 1U);
  BOOST_TEST(h.fence() != 0U);
  BOOST_TEST(contains(redis.get("n").value_or(""), h.token()));
  BOOST_TEST((h.expires_at() > now() + 10s));
  const lock_info info = lock.inspect();
  BOOST_TEST(info.held);
  BOOST_TEST(info.token == h.token());
  BOOST_TEST(info.fence == h.fence());
  BOOST_TEST(!lock.try_acquire().has_value());
  BOOST_TEST(!lock.try_acquire({.lease = 1s}).has_value());
  h.extend(60s);
  BOOST_TEST((h.expires_at() > now() + 50s));
  BOOST_TEST(redis.ttl("n") > 50000);
  BOOST_TEST(c.stats().held == 1U);
  h.release();
  BOOST_TEST(!h.valid());
  BOOST_TEST(h.name() == "n");  // Kept.
  BOOST_TEST(c.stats().held == 0U);
  auto again = lock.try_acquire();
  BOOST_REQUIRE(again.has_value());
  BOOST_TEST(again->fence() > h.fence());
  h = *std::move(again);
  BOOST_TEST(h.valid());
  h = blocking::hold();  // Releases it in the background.
  BOOST_TEST(lock.acquire().valid());
  c.close();
  BOOST_TEST(redis.size() == 0U);
  BOOST_TEST(c.server() == redis.url());
  BOOST_TEST(thrown_by([&] { return lock.acquire(); }) == error::closed);
}

BOOST_AUTO_TEST_CASE(the_other_kinds_have_theirs) {
  blocking::client c(redis.url(), patient());
  const std::string_view name = "r";
  const blocking::recursive_mutex again(c, name, "me");
  const blocking::recursive_mutex other(c, std::string("r"), "you");
  blocking::hold first = again.acquire();
  blocking::hold second = again.acquire();
  BOOST_TEST(second.depth() == 2U);
  BOOST_TEST(second.fence() == first.fence());
  BOOST_TEST(!other.try_acquire().has_value());

  const blocking::shared_mutex shared(c, "s");
  blocking::hold writer = shared.acquire();
  BOOST_TEST(!shared.try_acquire_shared().has_value());
  BOOST_TEST(!shared.try_acquire_shared({.lease = 1s}).has_value());
  writer.downgrade();
  blocking::hold reader = shared.acquire_shared();
  blocking::hold third = shared.acquire_shared({.lease = 60s});
  BOOST_TEST((third.expires_at() > now() + 50s));
  BOOST_TEST(shared.shared().try_acquire().has_value());
  BOOST_TEST(!shared.try_acquire().has_value());
  BOOST_TEST(shared.inspect().holders == 3U);
  const auto fourth = shared.try_acquire_shared({.lease = 60s});
  BOOST_REQUIRE(fourth.has_value());
  BOOST_TEST((fourth->expires_at() > now() + 50s));
  BOOST_TEST(thrown_by([&] { return first.downgrade(), 0; }) == error::not_supported);

  const blocking::counting_semaphore permits(c, "c", 1);
  blocking::hold one = permits.acquire();
  BOOST_TEST(!permits.try_acquire().has_value());
  permits.resize(2);
  BOOST_TEST(permits.try_acquire().has_value());
  error_code ec;
  permits.resize(0, ec);
  BOOST_TEST(ec == error::invalid_option);
  BOOST_TEST(thrown_by([&] { return blocking::counting_semaphore(c, "c", 7).acquire(); }) == error::wrong_limit);
}

BOOST_AUTO_TEST_CASE(operators_have_theirs) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex lock(c, "n");
  blocking::hold h = lock.acquire();
  const std::vector<listed_lock> all = blocking::list(c);
  BOOST_REQUIRE(all.size() == 1U);
  BOOST_TEST(all.front().name == "n");
  BOOST_TEST(blocking::show(c, "n").holders == 1U);
  const broken_lock broken = blocking::break_lock(c, "n");
  BOOST_TEST(broken.token == h.token());
  h.wait_lost();
  BOOST_TEST(thrown_by([&] { return blocking::break_lock(c, "n"); }) == error::not_held);
  redis.command("SET", "foreign", "x", "PX", "60000");
  error_code ec;
  static_cast<void>(blocking::break_lock(c, "foreign", ec));
  BOOST_TEST(ec == error::wrong_type);
  BOOST_TEST(blocking::break_lock(c, "foreign", true).token == "x");
}

BOOST_AUTO_TEST_CASE(an_error_is_thrown_or_put_into_the_callers_code) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex lock(c, "n");
  const blocking::hold h = lock.acquire();
  const std::string where = "lock 'n' at " + redis.url();
  BOOST_TEST(text_of([&] { return lock.acquire({.wait = 0ms}); }) == "timed out: " + where);
  BOOST_TEST(text_of([&] { return lock.acquire({.lease = 0ms}); }) ==
             "invalid option: " + where + ": acquire_options::lease");
  BOOST_TEST(text_of([&] { return blocking::mutex(c, "").inspect(); }) == "invalid name: " + redis.url());
  BOOST_TEST(text_of([&] { return blocking::show(c, "leasehold:x"); }) ==
             "invalid name: lock 'leasehold:x' at " + redis.url());

  error_code ec = error::lost;
  blocking::hold none = lock.acquire({.wait = 0ms}, ec);
  BOOST_TEST(ec == error::timed_out);
  BOOST_TEST(none.token().empty());
  const std::stop_source never;
  const auto no = lock.try_acquire({.lease = 0ms}, never.get_token(), ec);
  BOOST_TEST(ec == error::invalid_option);
  BOOST_TEST(!no.has_value());
  BOOST_TEST(lock.explain(error::timed_out) == "timed out: " + where);
  BOOST_TEST(c.explain(error::timed_out) == "timed out: " + redis.url());
  // No error is said, too.
  ec = error::lost;
  BOOST_TEST(lock.inspect(ec).held);
  BOOST_TEST(!ec);
  ec = error::lost;
  c.ready(never.get_token(), ec);
  BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_CASE(a_refusal_is_no_failure_of_the_connection) {
  blocking::client c(redis.url(), patient());
  c.ready();
  redis.command("CONFIG", "SET", "maxmemory", "1");
  BOOST_TEST(thrown_by([&] { return blocking::mutex(c, "n").acquire(); }) == error::refused);
  BOOST_TEST(contains(c.last_refusal(), "OOM"), c.last_refusal());
  BOOST_TEST(c.last_failure() == "");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_a_client_is_named_when_it_is_made) {
  BOOST_TEST(thrown_by([] { return blocking::client("http://x").stats().held; }) == error::invalid_url);
  client_options o;
  o.command_timeout = 0ms;
  BOOST_TEST(text_of([&] { return blocking::client(redis.url(), o).stats().held; }) ==
             "invalid option: client_options::command_timeout");
  BOOST_TEST(thrown_by([&] {
               return blocking::client({redis.url(), redis.url()}).stats().held;
             }) == error::invalid_url);
}

BOOST_AUTO_TEST_CASE(an_empty_hold_is_not_held) {
  blocking::hold h;
  BOOST_TEST(h.name() == "");
  BOOST_TEST(h.depth() == 0U);
  BOOST_TEST(!h.valid());
  BOOST_TEST(!h.lost_token().stop_requested());
  BOOST_TEST(thrown_by([&] { return h.release(), 0; }) == error::not_held);
  BOOST_TEST(thrown_by([&] { return h.wait_lost(), 0; }) == error::not_held);
  error_code ec;
  h.extend(1s, ec);
  BOOST_TEST(ec == error::not_held);
  blocking::holds<2> two;
  BOOST_TEST(thrown_by([&] { return two.release(), 0; }) == error::not_held);
  blocking::client c(redis.url(), patient());
  blocking::hold held = blocking::mutex(c, "n").acquire();
  h = std::move(held);
  BOOST_TEST(h.valid());
  h.release();
  BOOST_TEST(thrown_by([&] { return h.release(), 0; }) == error::not_held);
}

// The longest time from the request to the end of the wait, of a thread that is not the last to be scheduled.
BOOST_AUTO_TEST_CASE(a_stop_token_ends_a_wait_within_100_ms) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex lock(c, "n");
  blocking::hold busy = lock.acquire();
  std::vector<std::chrono::steady_clock::duration> took;
  for (int i = 0; i < 15; ++i) {
    std::stop_source stop;
    error_code ec;
    std::chrono::steady_clock::time_point end;
    std::thread waits([&] {
      const blocking::hold none =
          i % 2 ? lock.acquire(stop.get_token(), ec) : lock.acquire({.lease = 5s}, stop.get_token(), ec);
      end = std::chrono::steady_clock::now();
      BOOST_TEST(!none.valid());
    });
    wait_until("it waits", [&] { return lock.inspect().waiters == 1; });
    const auto begin = std::chrono::steady_clock::now();
    stop.request_stop();
    waits.join();
    took.push_back(end - begin);
    BOOST_TEST(ec == aborted);
    BOOST_TEST(lock.inspect().waiters == 0U);  // It leaves no trace.
  }
  std::sort(took.begin(), took.end());
  BOOST_TEST((took[took.size() / 2] <= 100ms), took[took.size() / 2].count() << " ns");
  BOOST_TEST(c.stats().cancelled == 15U);
}

// The operation tries for 100 ms to leave no trace.
BOOST_AUTO_TEST_CASE(a_stop_token_ends_a_wait_for_a_server_that_is_silent) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex lock(c, "n");
  c.ready();
  redis.stop();
  std::vector<std::chrono::steady_clock::duration> took;
  for (int i = 0; i < 5; ++i) {
    std::stop_source stop;
    error_code ec;
    std::thread waits([&] { static_cast<void>(lock.acquire(stop.get_token(), ec)); });
    wait_until("it waits", [&] { return c.stats().waiting == 1; });
    const auto begin = std::chrono::steady_clock::now();
    stop.request_stop();
    waits.join();
    took.push_back(std::chrono::steady_clock::now() - begin);
    BOOST_TEST(ec == aborted);
  }
  std::sort(took.begin(), took.end());
  BOOST_TEST((took[took.size() / 2] <= 1s), took[took.size() / 2].count() << " ns");
  redis.go_on();
}

BOOST_AUTO_TEST_CASE(a_stop_that_was_requested_before_ends_the_wait_at_once) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex lock(c, "n");
  blocking::hold h = lock.acquire();
  std::stop_source stop;
  stop.request_stop();
  BOOST_TEST(thrown_by([&] { return lock.acquire(stop.get_token()); }) == aborted);
  BOOST_TEST(text_of([&] { return lock.acquire(stop.get_token()); }) ==
             error_code(aborted).message() + ": lock 'n' at " + redis.url());
  BOOST_TEST(thrown_by([&] { return h.wait_lost(stop.get_token()), 0; }) == aborted);
  // A release goes on.
  error_code ec;
  h.release(stop.get_token(), ec);
  BOOST_TEST((ec == aborted || !ec));
  BOOST_TEST(lock.acquire().valid());
}

BOOST_AUTO_TEST_CASE(a_token_that_is_not_used_costs_nothing) {
  blocking::client c(redis.url(), patient());
  const std::stop_source stop;
  const blocking::mutex lock(c, "n");
  for (int i = 0; i < 20; ++i) lock.acquire(stop.get_token()).release(stop.get_token());
  BOOST_TEST(c.stats().cancelled == 0U);
  BOOST_TEST(c.stats().acquired == 20U);
}

// A request to stop and the grant meet at any instant: the lock is granted or the wait is aborted, never neither.
BOOST_AUTO_TEST_CASE(a_stop_that_meets_the_grant_leaves_nothing) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex lock(c, "n");
  int aborts = 0;
  int grants = 0;
  for (int i = 0; i < 200; ++i) {
    std::stop_source stop;
    std::latch ready(2);
    std::thread stops([&] {
      ready.arrive_and_wait();
      std::this_thread::sleep_for(std::chrono::microseconds(i * 2 % 300));
      stop.request_stop();
    });
    ready.arrive_and_wait();
    error_code ec;
    blocking::hold h = lock.acquire(stop.get_token(), ec);
    BOOST_TEST(h.valid() == !ec);
    BOOST_TEST((!ec || ec == aborted));
    ++(ec ? aborts : grants);
    stops.join();
  }
  BOOST_TEST_MESSAGE(aborts << " aborted, " << grants << " granted");
  BOOST_TEST(!lock.inspect().waiters);
  BOOST_TEST(lock.acquire().valid());
}

BOOST_AUTO_TEST_CASE(a_loss_is_waited_for) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex lock(c, "n");
  blocking::hold h = lock.acquire({.lease = 300ms});
  const std::stop_token token = h.lost_token();
  BOOST_TEST(!token.stop_requested());
  redis.command("DEL", "n");
  h.wait_lost();
  BOOST_TEST(!h.valid());
  wait_until("the token is told, too", [&] { return token.stop_requested(); });
  BOOST_TEST(h.lost_token().stop_requested());
  BOOST_TEST(thrown_by([&] { return h.release(), 0; }) == error::lost);
  h.wait_lost();  // It stays lost.
  // A token that is asked for after the loss is told at once.
  blocking::hold ended = lock.acquire({.lease = 100ms, .renew = renewal::none});
  ended.wait_lost();
  BOOST_TEST(ended.lost_token().stop_requested());
}

BOOST_AUTO_TEST_CASE(a_thread_waits_until_another_client_wants_the_lock) {
  blocking::client c(redis.url(), patient()), other(redis.url(), patient());
  blocking::hold h = blocking::mutex(c, "n").acquire();
  error_code ec;
  std::thread waits([&] { static_cast<void>(blocking::mutex(other, "n").acquire({.wait = 1min}, ec)); });
  h.wait_wanted();
  BOOST_TEST(h.valid());
  h.release();
  waits.join();
  BOOST_TEST(!ec);
  BOOST_TEST(thrown_by([&] { return h.wait_wanted(), 0; }) == error::not_held);
}

BOOST_AUTO_TEST_CASE(a_release_ends_the_wait_for_a_loss) {
  blocking::client c(redis.url(), patient());
  blocking::hold h = blocking::mutex(c, "n").acquire();
  const std::stop_token token = h.lost_token();
  error_code ec;
  std::atomic<bool> begun{false};
  std::thread waits([&] {
    begun = true;
    h.wait_lost(ec);
  });
  wait_until("it waits", [&] { return begun.load(); });
  h.release();
  waits.join();
  BOOST_TEST(ec == error::not_held);
  BOOST_TEST(!token.stop_requested());
}

BOOST_AUTO_TEST_CASE(several_locks_are_acquired_together) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex a(c, "a");
  const blocking::shared_mutex b(c, "b");
  const blocking::counting_semaphore d(c, "d", 2);
  {
    auto [one, two, three] = blocking::acquire_all(a, b.shared(), d);
    BOOST_TEST(one.name() == "a");
    BOOST_TEST(two.name() == "b");
    BOOST_TEST(three.name() == "d");
    BOOST_TEST(!a.try_acquire().has_value());
    error_code ec;
    blocking::holds<2> none = blocking::acquire_all({.wait = 0ms}, a, d, ec);
    BOOST_TEST(ec == error::timed_out);
    BOOST_TEST(!none.valid());
    BOOST_TEST(text_of([&] { return blocking::acquire_all({.wait = 0ms}, a, d); }) ==
               "timed out: lock 'a, d' at " + redis.url());
    std::stop_source stop;
    std::thread stops([&] {
      wait_until("it waits", [&] { return a.inspect().waiters == 1; });
      stop.request_stop();
    });
    BOOST_TEST(thrown_by([&] { return blocking::acquire_all(a, d, stop.get_token()); }) == aborted);
    stops.join();
  }
  blocking::holds<2> both = blocking::acquire_all(a, d);
  BOOST_TEST(both.valid());
  both.release();
  BOOST_TEST(!both[0].valid());
  BOOST_TEST(redis.size() == 0U);

  const std::vector<blocking::mutex> list{blocking::mutex(c, "x"), blocking::mutex(c, "y")};
  std::vector<blocking::hold> all = blocking::acquire_all(list);
  BOOST_TEST(all.size() == 2U);
  BOOST_TEST(all[1].name() == "y");
  all.clear();
  error_code ec = error::lost;
  all = blocking::acquire_all({.lease = 60s}, list, ec);
  BOOST_TEST(!ec);
  BOOST_TEST(all[0].valid());
  const std::vector<blocking::mutex> no_locks;
  BOOST_TEST(text_of([&] { return blocking::acquire_all(no_locks); }) == "invalid option: no locks were given");
  blocking::client other(redis.url(), patient());
  BOOST_TEST(thrown_by([&] { return blocking::acquire_all(a, blocking::mutex(other, "z")); }) == error::invalid_option);
}

BOOST_AUTO_TEST_CASE(the_loss_of_one_of_several_is_the_loss_of_them) {
  blocking::client c(redis.url(), patient());
  blocking::holds<2> both = blocking::acquire_all({.lease = 60s}, blocking::mutex(c, "a"), blocking::mutex(c, "b"));
  blocking::break_lock(c, "b");
  both.wait_lost();
  BOOST_TEST(!both[1].valid());
  BOOST_TEST(both[0].valid());
  BOOST_TEST(!both.valid());
  BOOST_TEST(text_of([&] { return both.release(), 0; }) == "lost: lock 'b' at " + redis.url());
}

BOOST_AUTO_TEST_CASE(with_lock_runs_its_body_under_the_lock) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex lock(c, "n");
  const std::string token = blocking::with_lock(lock, {.lease = 60s}, [&](blocking::hold& h, const std::stop_token& s) {
    BOOST_TEST(contains(redis.get("n").value_or(""), h.token()));
    BOOST_TEST(!s.stop_requested());
    return h.token();
  });
  BOOST_TEST(!token.empty());
  BOOST_TEST(redis.size() == 0U);  // The answer to the release was waited for.

  const auto fails = [](blocking::hold&, const std::stop_token&) { throw std::logic_error("own"); };
  BOOST_CHECK_THROW(blocking::with_lock(lock, fails), std::logic_error);
  BOOST_TEST(redis.size() == 0U);

  bool ran = false;
  const auto runs = [&](blocking::hold&, const std::stop_token&) { ran = true; };
  const blocking::hold busy = lock.acquire();
  BOOST_TEST(text_of([&] { return blocking::with_lock(lock, {.wait = 0ms}, runs), 0; }) ==
             "timed out: lock 'n' at " + redis.url());
  std::stop_source stop;
  std::thread stops([&] {
    wait_until("it waits", [&] { return lock.inspect().waiters == 1; });
    stop.request_stop();
  });
  BOOST_TEST(thrown_by([&] { return blocking::with_lock(lock, runs, stop.get_token()), 0; }) == aborted);
  stops.join();
  BOOST_TEST(!ran);
}

// acquire_options are of the namespace around, whose with_lock is for coroutines.
BOOST_AUTO_TEST_CASE(with_lock_may_be_called_without_its_namespace) {
  using blocking::with_lock;
  const blocking::client c(redis.url());
  const blocking::mutex lock(c, "n");
  const acquire_options options{.wait = 0ms};
  const auto one = [](blocking::hold& h, const std::stop_token&) { return h.valid(); };
  BOOST_TEST(with_lock(lock, options, one));
  const auto two = [](blocking::holds<2>& all, const std::stop_token&) { return all[0].valid() && all[1].valid(); };
  BOOST_TEST(with_lock(std::tuple(lock, blocking::mutex(c, "m")), options, two));
}

BOOST_AUTO_TEST_CASE(a_hold_that_is_moved_to_itself_stays) {
  const blocking::client c(redis.url());
  blocking::hold h = blocking::mutex(c, "n").acquire();
  blocking::hold& same = h;
  h = std::move(same);
  BOOST_TEST(h.valid());
  h.release();
}

BOOST_AUTO_TEST_CASE(a_hold_that_is_assigned_brings_its_token_of_the_loss) {
  blocking::client c(redis.url(), patient());
  blocking::hold h = blocking::mutex(c, "a").acquire({.lease = 60s});
  const std::stop_token old = h.lost_token();
  blocking::hold next = blocking::mutex(c, "b").acquire({.lease = 60s});
  const std::stop_token token = next.lost_token();
  h = std::move(next);
  BOOST_TEST((h.lost_token() == token));
  blocking::break_lock(c, "b");
  h.wait_lost();
  wait_until("the token is told", [&] { return token.stop_requested(); });
  BOOST_TEST(!next.lost_token().stop_requested());  // It is empty.
  BOOST_TEST(!old.stop_requested());                // It was released.
}

BOOST_AUTO_TEST_CASE(with_lock_requests_a_stop_when_the_hold_is_lost) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex lock(c, "n");
  const blocking::mutex inner(c, "inner");
  const blocking::hold busy = inner.acquire();
  bool stopped = false;
  // What the body waits for ends by the token; its operation_aborted becomes lost.
  const auto waits = [&](blocking::hold&, const std::stop_token& stop) {
    redis.command("DEL", "n");
    const blocking::hold never = inner.acquire(stop);
  };
  BOOST_TEST(text_of([&] { return blocking::with_lock(lock, {.lease = 300ms}, waits), 0; }) ==
             "lost: lock 'n' at " + redis.url());
  // A body that returns after the loss has a result that the lease did not cover.
  const auto returns = [&](blocking::hold&, const std::stop_token& stop) {
    redis.command("DEL", "n");
    work_until(stop);
    stopped = true;
    return 42;
  };
  BOOST_TEST(thrown_by([&] { return blocking::with_lock(lock, {.lease = 300ms}, returns); }) == error::lost);
  BOOST_TEST(stopped);
  // A loss that only the release finds out.
  const auto quick = [&](blocking::hold&, const std::stop_token&) { redis.command("DEL", "n"); };
  BOOST_TEST(thrown_by([&] { return blocking::with_lock(lock, quick), 0; }) == error::lost);
  // The body's own exception is not replaced.
  const auto throws = [&](blocking::hold& h, const std::stop_token&) {
    redis.command("DEL", "n");
    h.wait_lost();
    throw std::logic_error("own");
  };
  BOOST_CHECK_THROW(blocking::with_lock(lock, {.lease = 300ms}, throws), std::logic_error);
}

BOOST_AUTO_TEST_CASE(the_callers_stop_reaches_the_body) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex lock(c, "n");
  std::stop_source stop;
  std::atomic<bool> inside{false};
  const auto body = [&](blocking::hold& h, const std::stop_token& s) {
    inside = true;
    work_until(s);
    BOOST_TEST(h.valid());
    return 42;
  };
  std::thread stops([&] {
    wait_until("the body runs", [&] { return inside.load(); });
    stop.request_stop();
  });
  // It was covered by the lease, so its result counts.
  BOOST_TEST(blocking::with_lock(lock, body, stop.get_token()) == 42);
  stops.join();
  blocking::hold h = lock.acquire();
  BOOST_TEST(h.valid());
}

BOOST_AUTO_TEST_CASE(close_stops_the_body_and_waits_for_its_end) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex lock(c, "n");
  std::atomic<bool> inside{false};
  std::atomic<bool> ended{false};
  std::atomic<bool> waited{false};  // Boost.Test is for one thread at a time.
  std::thread closes([&] {
    wait_until("the body runs", [&] { return inside.load(); });
    c.close();
    waited = ended.load();
  });
  const auto body = [&](blocking::hold&, const std::stop_token& s) {
    inside = true;
    work_until(s);
    BOOST_TEST(redis.get("n").has_value());
    ended = true;
    throw exception(aborted, {});
  };
  BOOST_TEST(thrown_by([&] { return blocking::with_lock(lock, body), 0; }) == error::lost);
  closes.join();
  BOOST_TEST(waited);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(with_lock_takes_several_locks) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex a(c, "a");
  const blocking::shared_mutex b(c, "b");
  const std::size_t two =
      blocking::with_lock(std::tuple(a, b.shared()), {.lease = 1h}, [&](blocking::holds<2>& h, const std::stop_token&) {
        BOOST_TEST(h.valid());
        BOOST_TEST(h[1].name() == "b");
        return h.size();
      });
  BOOST_TEST(two == 2U);
  BOOST_TEST(redis.size() == 0U);
  const std::vector<blocking::mutex> list{blocking::mutex(c, "x"), blocking::mutex(c, "y")};
  blocking::with_lock(list, [&](std::vector<blocking::hold>& h, const std::stop_token&) {
    BOOST_TEST(h.size() == 2U);
    BOOST_TEST(redis.size() == 2U);
  });
  BOOST_TEST(redis.size() == 0U);
  const auto body = [&](blocking::holds<2>&, const std::stop_token& s) {
    blocking::break_lock(c, "b");
    work_until(s);
  };
  BOOST_TEST(text_of([&] { return blocking::with_lock(std::tuple(a, b), {.lease = 60s}, body), 0; }) ==
             "lost: lock 'b' at " + redis.url());
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(work_runs_while_a_hold_is_held) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex lock(c, "n");
  blocking::hold h = lock.acquire({.lease = 60s});
  BOOST_TEST(blocking::while_held(h, [](const std::stop_token&) { return 42; }) == 42);
  BOOST_TEST(h.valid());  // Not released.
  const auto until_stop = [&](const std::stop_token& s) {
    blocking::break_lock(c, "n");
    work_until(s);
  };
  BOOST_TEST(thrown_by([&] { return blocking::while_held(h, until_stop), 0; }) == error::lost);
  bool ran = false;
  BOOST_TEST(thrown_by([&] { return blocking::while_held(h, [&](const std::stop_token&) { ran = true; }), 0; }) ==
             error::lost);
  BOOST_TEST(!ran);
  // The work's own operation_aborted is no loss.
  blocking::hold next = lock.acquire();
  BOOST_TEST(thrown_by([&] {
               return blocking::while_held(next, [](const std::stop_token&) { throw exception(aborted, {}); }), 0;
             }) == aborted);
  // The caller's stop reaches the work.
  std::stop_source stop;
  stop.request_stop();
  const auto is_stopped = [](const std::stop_token& s) { return s.stop_requested(); };
  BOOST_TEST(blocking::while_held(next, is_stopped, stop.get_token()));
  // Work that releases the hold goes on, and so does work with an empty one.
  const auto releases = [&](const std::stop_token&) {
    next.release();
    return 1;
  };
  BOOST_TEST(blocking::while_held(next, releases) == 1);
  blocking::hold empty;
  BOOST_TEST(blocking::while_held(empty, [](const std::stop_token&) { return 2; }) == 2);
  blocking::holds<2> both = blocking::acquire_all({.lease = 60s}, lock, blocking::mutex(c, "m"));
  BOOST_TEST(thrown_by([&] { return blocking::while_held(both, until_stop), 0; }) == error::lost);
}

BOOST_AUTO_TEST_CASE(the_figures_of_a_class_are_those_of_the_client) {
  client_options o;
  o.classify = [](std::string_view name) { return std::string(name.substr(0, 1)); };
  const blocking::client c(redis.url(), o);
  const blocking::mutex lock(c, "n");
  const blocking::hold h = lock.acquire();
  BOOST_TEST(c.stats_by_class().at("n").held == 1U);
  BOOST_TEST(c.stats_by_class().size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
