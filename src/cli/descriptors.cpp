// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
#include "descriptors.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace leasehold::cli {
namespace {

// New descriptors get the lowest free numbers and this program needs a handful, so its own are below this unless about
// as many were handed over.
constexpr int limit = 1024;

}  // namespace

inherited_descriptors::inherited_descriptors() {
  for (int fd = 0; fd < limit; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) open_.insert(fd);
  }
  // A socket must not become standard error because that was closed. The command finds it closed all the same.
  while (open_.count(STDIN_FILENO) + open_.count(STDOUT_FILENO) + open_.count(STDERR_FILENO) < 3) {
    const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0) break;
    if (fd > STDERR_FILENO) {
      ::close(fd);
      break;
    }
  }
}

void inherited_descriptors::close_all_others_on_exec() const {
  for (int fd = 0; fd < limit; ++fd) {
    if (open_.count(fd) == 0) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
}

}  // namespace leasehold::cli
