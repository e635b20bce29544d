// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// An observer for client_options that tells what concerns the connection to Redis.
#pragma once

#include <leasehold/client.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace support {

// On standard error, behind the name of the program.
// [observer]
inline auto tell_connection(std::string name) {
  return [name = std::move(name)](const leasehold::event& e) {
    // What concerns a lock has its name.
    if (!e.name.empty() || e.what == leasehold::event::kind::connected) return;
    fmt::print(stderr, "{}: {}\n", name, e.text);
  };
}
// [/observer]

}  // namespace support
