// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the library asks the operating system for, apart from what Boost.Asio and OpenSSL ask it. No other file of the
// library calls the system; test/unit/includes.cpp checks that.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace leasehold::detail::system {

// The time since the machine was started, or since another fixed instant. It never goes back, and runs on while the
// machine sleeps.
std::chrono::nanoseconds uptime() noexcept;

// "" if the system does not say.
std::string host_name();

std::int64_t process_id() noexcept;

// Starts a thread. `name`: 15 characters at most, for tools that show threads. Signals are for the program's own
// threads: the system delivers none to this one, except those that report its faults.
std::thread start_thread(const char* name, std::function<void()>);

}  // namespace leasehold::detail::system
