// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Linux is tested. The branch of Windows has been compiled by MinGW-w64 and never run; that of macOS is untested.
#include "time/system.hpp"

#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
// (After windows.h.)
#include <realtimeapiset.h>
#else
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#endif

#include <array>
#include <utility>

namespace leasehold::detail::system {

#if defined(_WIN32)

// It counts sleep and hibernation, which QueryUnbiasedInterruptTime leaves out. QueryInterruptTime would be up to 16 ms
// late, and a lease that has ended would look valid for so long.
std::chrono::nanoseconds uptime() noexcept {
  ULONGLONG hundreds = 0;
  ::QueryInterruptTimePrecise(&hundreds);
  return std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(hundreds) * 100);
}

std::string host_name() {
  std::array<char, 256> name{};
  auto size = static_cast<DWORD>(name.size());
  return ::GetComputerNameExA(ComputerNameDnsHostname, name.data(), &size) != 0 ? std::string(name.data(), size) : "";
}

std::int64_t process_id() noexcept { return ::GetCurrentProcessId(); }

std::thread start_thread(const char*, std::function<void()> body) { return std::thread(std::move(body)); }

#else

std::chrono::nanoseconds uptime() noexcept {
#if defined(__APPLE__)
  // mach_continuous_time() in nanoseconds: it counts sleep. (So does CLOCK_MONOTONIC there, but in microseconds;
  // mach_absolute_time() and CLOCK_UPTIME_RAW stand still.)
  return std::chrono::nanoseconds(::clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW));
#else
  // CLOCK_MONOTONIC stands still on Linux while the machine sleeps.
  timespec t{};
#ifdef CLOCK_BOOTTIME
  ::clock_gettime(CLOCK_BOOTTIME, &t);
#else
  ::clock_gettime(CLOCK_MONOTONIC, &t);
#endif
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
#endif
}

std::string host_name() {
  // The last byte stays 0: a name that is cut off need not end with one.
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::int64_t process_id() noexcept { return ::getpid(); }

namespace {

// A thread inherits the mask of the thread that starts it.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t all{};
    ::sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF}) {
      ::sigdelset(&all, fault);
    }
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

void name_this_thread(const char* name) noexcept {
#if defined(__APPLE__)
  ::pthread_setname_np(name);
#elif defined(__linux__)
  ::pthread_setname_np(::pthread_self(), name);
#else
  static_cast<void>(name);
#endif
}

}  // namespace

std::thread start_thread(const char* name, std::function<void()> body) {
  const signals_blocked while_it_starts;
  return std::thread([name, body = std::move(body)] {
    name_this_thread(name);
    body();
  });
}

#endif

}  // namespace leasehold::detail::system
