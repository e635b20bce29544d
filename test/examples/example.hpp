// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The programs of examples/, as a user starts them, on a real Redis.
#pragma once

#include "support/child.hpp"
#include "support/redis_server.hpp"
#include "support/temporary_folder.hpp"
#include "support/unit_test.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace leasehold::test {

// Of those that are to lose what they hold: so short that tests can wait for its end, and so long that one that is
// not to lose it yet outlasts a machine that stands still for a second or two.
inline const std::string short_lease = "3s";

using words = std::vector<std::string>;

struct ended {
  int status;
  std::string output;
  std::string errors;
};

inline ended end_of(child& c) {
  std::string output = c.read_rest();
  const int status = c.wait();
  return {status, std::move(output), c.errors()};
}

// While this lives, the process can open no further descriptor: accept() fails with EMFILE.
class no_descriptors_for {
 public:
  explicit no_descriptors_for(const child& c) : pid_(c.pid()) {
    limit_descriptors(nullptr, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    limit_descriptors(&none, nullptr);
  }
  ~no_descriptors_for() { ::prlimit(pid_, RLIMIT_NOFILE, &before_, nullptr); }
  no_descriptors_for(const no_descriptors_for&) = delete;
  no_descriptors_for& operator=(const no_descriptors_for&) = delete;

 private:
  void limit_descriptors(const rlimit* now, rlimit* before) const {
    if (::prlimit(pid_, RLIMIT_NOFILE, now, before) != 0) {
      throw std::system_error(errno, std::generic_category(), "prlimit");
    }
  }

  pid_t pid_;
  rlimit before_{};
};

// A fixture: a server of its own for each test, which the programs find in their environment.
struct with_examples {
  redis_server redis;
  temporary_folder folder;

  // The first word is the program, by its place under examples/: "echo_server", "wrong_ways/get_then_del".
  child start(words command) const {
    command.front() = LEASEHOLD_EXAMPLES_DIR "/" + command.front();
    return child(std::move(command), {"LEASEHOLD_REDIS=" + redis.url()});
  }
  ended run(words command) const {
    child c = start(std::move(command));
    return end_of(c);
  }
};

}  // namespace leasehold::test
