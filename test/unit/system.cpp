// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "time/system.hpp"

#include "support/unit_test.hpp"
#include "time/random.hpp"

#include <pthread.h>
#include <signal.h>

#include <cstdint>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(operating_system)

namespace {

sigset_t signals_blocked_here() {
  sigset_t all{};
  ::pthread_sigmask(SIG_BLOCK, nullptr, &all);
  return all;
}

}  // namespace

// What Ctrl-C and SIGTERM do is the program's own business, and that of its own threads.
BOOST_AUTO_TEST_CASE(a_thread_of_the_library_takes_no_signal_and_the_one_that_starts_it_does_as_before) {
  const sigset_t before = signals_blocked_here();
  sigset_t in_thread{};
  detail::system::start_thread("test", [&] { in_thread = signals_blocked_here(); }).join();
  const sigset_t after = signals_blocked_here();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (int signal = 1; signal < 32; ++signal) {
    BOOST_TEST(::sigismember(&after, signal) == ::sigismember(&before, signal), "signal " << signal);
  }
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) BOOST_TEST(::sigismember(&in_thread, signal) == 1);
  // Faults are the thread's own, and so is the time that a profiler counts.
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF}) {
    BOOST_TEST(::sigismember(&in_thread, signal) == ::sigismember(&before, signal), "signal " << signal);
  }
}

BOOST_AUTO_TEST_CASE(each_of_64_random_bits_is_random) {
  std::uint64_t ever = 0, always = ~std::uint64_t{0};
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t bits = detail::random_bits();
    ever |= bits;
    always &= bits;
  }
  BOOST_TEST(ever == ~std::uint64_t{0});
  BOOST_TEST(always == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
