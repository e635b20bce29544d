// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The thread of a blocking client: how it begins and ends, and what must not be called on it.
#include "support/with_redis.hpp"

#include <leasehold/blocking.hpp>

#include <boost/system/errc.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(blocking_threads, with_redis)

namespace {

namespace errc = boost::system::errc;

// The lines "NAME: VALUE" of the threads of this process that are called "leasehold", for one NAME.
std::vector<std::string> own_threads(const std::string& field) {
  std::vector<std::string> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    bool is_own = false;
    for (std::string line; std::getline(status, line);) {
      if (line == "Name:\tleasehold") is_own = true;
      if (is_own && line.starts_with(field + ":\t")) found.push_back(line.substr(field.size() + 2));
    }
  }
  return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_client_has_one_thread_which_gets_no_signals) {
  {
    blocking::client c(redis.url());
    const blocking::client copy = c;
    const blocking::mutex lock(c, "n");
    lock.acquire().release();
    wait_until("the thread has its name", [] { return own_threads("SigBlk").size() == 1; });
    const auto blocked = std::stoull(own_threads("SigBlk").front(), nullptr, 16);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD, SIGALRM}) {
      BOOST_TEST((blocked >> (number - 1) & 1) == 1U, "signal " << number);
    }
    for (const int number : {SIGSEGV, SIGABRT, SIGFPE}) {
      BOOST_TEST((blocked >> (number - 1) & 1) == 0U, "signal " << number);
    }
    sigset_t mine{};
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mine);
    BOOST_TEST(::sigismember(&mine, SIGTERM) == 0);
  }
  BOOST_TEST(own_threads("SigBlk").empty());
}

// Whatever goes last: what was released is free when its destructor has returned.
BOOST_AUTO_TEST_CASE(the_last_object_waits_for_what_is_on_its_way) {
  for (const std::string order : {"clh", "lch", "hcl", "chl", "hlc", "lhc"}) {
    std::optional<blocking::client> c(std::in_place, redis.url(), patient());
    std::optional<blocking::mutex> lock(std::in_place, *c, "n");
    std::optional<blocking::hold> h(lock->acquire());
    for (const char what : order) {
      BOOST_TEST(own_threads("Pid").size() == 1U);
      if (what == 'c') c.reset();
      if (what == 'l') lock.reset();
      if (what == 'h') h.reset();
    }
    BOOST_TEST(own_threads("Pid").empty());
    BOOST_TEST(redis.size() == 0U, order);
  }
}

BOOST_AUTO_TEST_CASE(a_hold_that_outlives_its_client_has_its_operations) {
  // A machine that stands still for three seconds does not lose it.
  blocking::hold h = blocking::mutex(blocking::client(redis.url(), patient()), "n").acquire({.lease = 6s});
  const auto first_end = h.expires_at();
  wait_until("it is renewed", [&] { return h.expires_at() > first_end || !h.valid(); });
  BOOST_TEST(h.valid());
  h.extend(60s);
  h.release();
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(the_last_object_does_not_wait_for_ever_for_a_server_that_is_silent) {
  client_options o;
  o.connect_timeout = 300ms;
  std::optional<blocking::client> c(std::in_place, redis.url(), o);
  blocking::hold h = blocking::mutex(*c, "n").acquire();
  redis.stop();
  h = blocking::hold();
  const auto begin = std::chrono::steady_clock::now();
  c.reset();
  BOOST_TEST((std::chrono::steady_clock::now() - begin >= 200ms));
  BOOST_TEST((std::chrono::steady_clock::now() - begin < limit));
  redis.go_on();
}

BOOST_AUTO_TEST_CASE(a_thread_that_waits_when_the_client_goes_keeps_it) {
  std::optional<blocking::client> c(std::in_place, redis.url(), patient());
  std::optional<blocking::mutex> lock(std::in_place, *c, "n");
  std::optional<blocking::hold> busy(lock->acquire());
  std::atomic<bool> got{false};
  std::thread waits([&, mine = *lock] { got = mine.acquire().valid(); });
  wait_until("it waits", [&] { return lock->inspect().waiters == 1; });
  c.reset();
  lock.reset();
  busy.reset();
  waits.join();
  BOOST_TEST(got);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_call_on_the_clients_own_thread_is_refused_and_does_not_hang) {
  std::mutex guard;
  std::vector<error_code> codes;
  std::string text;
  std::optional<blocking::mutex> lock;
  client_options o = patient();
  o.observer = [&](const event& e) {
    if (e.what != event::kind::acquired) return;
    const std::lock_guard g(guard);
    if (!lock || !codes.empty()) return;
    error_code ec;
    static_cast<void>(lock->acquire(ec));
    codes.push_back(ec);
    static_cast<void>(lock->inspect(ec));
    codes.push_back(ec);
    try {
      static_cast<void>(lock->try_acquire());
    } catch (const exception& failure) {
      codes.push_back(failure.code());
      text = failure.what();
    }
  };
  const auto wait_for_codes = [&] {
    wait_until("the observer was called", [&] {
      const std::lock_guard g(guard);
      return codes.size() == 3;
    });
  };
  {
    blocking::client c(redis.url(), o);
    {
      const std::lock_guard g(guard);
      lock.emplace(c, "n");
    }
    blocking::hold h = blocking::mutex(c, "n").acquire();
    wait_for_codes();
    const std::lock_guard g(guard);
    lock.reset();
  }
  for (const error_code& ec : codes) BOOST_TEST(ec == errc::resource_deadlock_would_occur);
  BOOST_TEST(text == error_code(errc::make_error_code(errc::resource_deadlock_would_occur)).message() +
                         ": a function that waits was called on the client's own thread");
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_client_may_wait_on_the_thread_of_another) {
  blocking::client one(redis.url(), patient());
  const blocking::mutex lock(one, "inside");
  std::atomic<int> acquired{0};
  client_options o = patient();
  o.observer = [&](const event& e) {
    if (e.what == event::kind::acquired && lock.acquire().valid()) ++acquired;
  };
  blocking::client other(redis.url(), o);
  blocking::mutex(other, "n").acquire().release();
  wait_until("the observer was called", [&] { return acquired == 1; });
  BOOST_TEST(one.stats().acquired == 1U);
}

BOOST_AUTO_TEST_CASE(an_exception_of_the_observer_disturbs_nothing) {
  client_options o = patient();
  int told = 0;  // On one thread.
  o.observer = [&](const event& e) {
    if (e.what == event::kind::acquired) throw std::runtime_error("observer " + std::to_string(++told));
  };
  blocking::client c(redis.url(), o);
  BOOST_TEST((c.observer_failure() == nullptr));
  const blocking::mutex lock(c, "n");
  for (int i = 0; i < 10; ++i) lock.acquire().release();
  wait_until("the failure is known", [&] { return c.observer_failure() != nullptr; });
  try {
    std::rethrow_exception(c.observer_failure());
  } catch (const std::runtime_error& e) {
    BOOST_TEST(e.what() == std::string("observer 1"));
  }
  BOOST_TEST(c.stats().acquired == 10U);
  c.close();
  BOOST_TEST(told == 10);
}

// The last object goes on the thread that its destructor would wait for.
BOOST_AUTO_TEST_CASE(the_last_object_may_go_on_the_clients_own_thread) {
  for (int i = 0; i < 5; ++i) {
    std::optional<blocking::hold> last;
    std::atomic<bool> others_are_gone{false};
    std::atomic<bool> gone{false};
    client_options o = patient();
    o.observer = [&](const event& e) {
      if (e.what != event::kind::lost) return;
      wait_until("the others are gone", [&] { return others_are_gone.load(); });
      last.reset();
      gone = true;
    };
    last.emplace(
        blocking::mutex(blocking::client(redis.url(), o), "n").acquire({.lease = 100ms, .renew = renewal::none}));
    others_are_gone = true;
    wait_until("the observer has dropped it", [&] { return gone.load(); });
    wait_until("the thread ends by itself", [] { return own_threads("Pid").empty(); });
    BOOST_TEST(!last.has_value());
  }
}

BOOST_AUTO_TEST_CASE(a_callback_of_the_lost_token_runs_on_the_clients_own_thread) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex lock(c, "n");
  blocking::hold h = lock.acquire();
  std::atomic<bool> refused{false};
  const std::stop_callback on_loss(h.lost_token(), [&] {
    error_code ec;
    static_cast<void>(lock.inspect(ec));
    refused = ec == errc::resource_deadlock_would_occur;
  });
  blocking::break_lock(c, "n");
  wait_until("it was called", [&] { return refused.load(); });
  BOOST_TEST(!h.valid());
}

// Several threads start and end their clients at the same time.
BOOST_AUTO_TEST_CASE(clients_come_and_go) {
  std::vector<std::jthread> threads;
  std::atomic<int> acquired{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int r = 0; r < 10; ++r) {
        blocking::client c(redis.url(), patient());
        if (r % 3 == 0) continue;
        blocking::hold h = blocking::mutex(c, std::to_string(i)).acquire();
        acquired += h.valid();
        if (r % 3 == 1) c.close();
      }
    });
  }
  threads.clear();
  BOOST_TEST(acquired == 4 * 6);
  BOOST_TEST(own_threads("Pid").empty());
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(threads_that_wait_are_ended_by_close) {
  blocking::client c(redis.url(), patient());
  const blocking::mutex lock(c, "n");
  const blocking::hold busy = lock.acquire();
  std::atomic<int> closed{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      error_code ec;
      static_cast<void>(lock.acquire(ec));
      closed += ec == error::closed;
    });
  }
  wait_until("all wait", [&] { return c.stats().waiting == 16; });
  c.close();
  threads.clear();
  BOOST_TEST(closed == 16);
  BOOST_TEST(redis.size() == 0U);
}

// What a child process does with the objects of its parent: nothing that could hang, and nothing to the store.
BOOST_AUTO_TEST_CASE(a_child_of_fork_is_refused_and_leaves_the_lock_alone) {
  std::optional<blocking::client> c(std::in_place, redis.url(), patient());
  std::optional<blocking::mutex> lock(std::in_place, *c, "n");
  std::optional<blocking::hold> h(lock->acquire());
  const pid_t pid = ::fork();
  BOOST_REQUIRE(pid >= 0);
  if (pid == 0) {
    ::alarm(static_cast<unsigned>(limit.count()));  // If it hangs.
    int status = 0;
    try {
      error_code ec;
      static_cast<void>(lock->acquire(ec));
      status |= ec == errc::no_such_process ? 0 : 1;
      h->release(ec);
      status |= ec == errc::no_such_process ? 0 : 2;
      c->close(ec);
      status |= ec == errc::no_such_process ? 0 : 4;
      try {
        static_cast<void>(lock->inspect());
        status |= 8;
      } catch (const exception& e) {
        status |= contains(e.what(), "in a child process of fork") ? 0 : 16;
      }
      status |= h->lost_token().stop_requested() ? 0 : 64;
      try {
        blocking::while_held(*h, [&status](std::stop_token) { status |= 128; });
        status |= 128;
      } catch (const boost::system::system_error& e) {
        status |= e.code() == errc::no_such_process ? 0 : 128;
      }
      h.reset();
      lock.reset();
      c.reset();
    } catch (...) {
      status |= 32;
    }
    ::_exit(status);
  }
  int status = -1;
  BOOST_REQUIRE(::waitpid(pid, &status, 0) == pid);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 0);
  BOOST_TEST(h->valid());
  BOOST_TEST(contains(redis.get("n").value_or(""), h->token()));
  h->release();
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
