// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/child.hpp"
#include "support/redis_server.hpp"
#include "support/temporary_folder.hpp"
#include "support/unit_test.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

using words = std::vector<std::string>;

// What a command has left behind.
struct ended {
  int status;
  std::string output;
  std::string errors;
};

inline words leasehold_command(words arguments) {
  arguments.insert(arguments.begin(), LEASEHOLD_CLI_PATH);
  return arguments;
}

inline ended end_of(child& c) {
  std::string output = c.read_rest();
  const int status = c.wait();
  return {status, std::move(output), c.errors()};
}

// For what needs no server.
inline ended run_leasehold(words arguments, words environment = {}) {
  child c(leasehold_command(std::move(arguments)), std::move(environment));
  return end_of(c);
}

// Whether a process has ended, even if no other process has collected its status yet.
inline bool has_ended(const std::string& pid) {
  const std::string status = read_file("/proc/" + pid + "/status");
  return status.empty() || contains(status, "State:\tZ");
}

// One line that begins as every error does and names what is at fault.
inline bool is_error_line(const std::string& errors, const std::string& at_fault) {
  return errors.starts_with("leasehold: ") && std::count(errors.begin(), errors.end(), '\n') == 1 &&
         errors.ends_with('\n') && contains(errors, at_fault);
}

// A fixture: a server of its own for each test, and a folder in which commands may write.
struct with_leasehold {
  redis_server redis;
  temporary_folder folder;

  child start(words arguments) const { return child(leasehold_command(std::move(arguments)), environment()); }
  ended run(words arguments) const { return run_leasehold(std::move(arguments), environment()); }
  words environment() const { return {"LEASEHOLD_REDIS=" + redis.url(), "FOLDER=" + folder.path()}; }

  // The lock is broken, of which its holder gets a message: it knows at once, however long the lease is.
  void lose(const std::string& name) const { BOOST_TEST(run({"break", name}).status == 0); }

  void wait_for_renewal(const std::string& name) {
    auto left = redis.ttl(name);
    wait_until("a renewal", [&] {
      const auto before = std::exchange(left, redis.ttl(name));
      return left > before;
    });
  }
};

// What the tests run while a lock is held. It writes "ready" when it has set its traps.
inline const std::string wait_for_a_signal = "echo ready; while :; do sleep 0.01; done";

// A lease whose end or renewal is waited for. The machine may stand still for three seconds at any moment, so it is so
// long that it is not lost before the command has begun: the default grace takes a third of it. With --grace 0 it is
// not lost later, either, if the renewal after its first third is late by that much.
inline const std::string short_lease = "6s";

// For what follows a request that has been sent: a queue that nobody uses runs out after a minute, and is no proof.
inline constexpr std::chrono::seconds soon{20};

}  // namespace leasehold::test
