// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "descriptors.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace leasehold::cli {
namespace {

// New descriptors get the lowest free numbers and this program needs a handful, so its own are below this unless about
// as many were handed over.
constexpr int own_are_below = 1024;

}  // namespace

inherited_descriptors::inherited_descriptors() {
  for (int fd = 0; fd < own_are_below; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) open_.insert(fd);
  }
  // A socket must not become standard error because that was closed. The command finds it closed all the same.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // In turn, so that each gets its own number. What is written to standard output fails, as on one that is closed.
    if (open_.count(fd) == 0) ::open("/dev/null", (fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) | O_CLOEXEC);
  }
}

void inherited_descriptors::close_all_others_on_exec() const {
  for (int fd = 0; fd < own_are_below; ++fd) {
    if (open_.count(fd) == 0) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
}

}  // namespace leasehold::cli
