// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "support/stepped_clock.hpp"

#include "support/child.hpp"

#include <cstring>
#include <fstream>
#include <stdexcept>

namespace leasehold::test {
namespace {

constexpr const char* shim = R"(
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
// What is added to the real time, the time itself if it is not 0, and what is added to the time since the start.
static volatile int64_t* shared() {
  static volatile int64_t* numbers = [] {
    const char* path = getenv("LEASEHOLD_TEST_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void* p = fd < 0 ? MAP_FAILED : mmap(nullptr, 24, PROT_READ, MAP_SHARED, fd, 0);
    static volatile int64_t none[3] = {0, 0, 0};
    return p == MAP_FAILED ? none : static_cast<volatile int64_t*>(p);
  }();
  return numbers;
}
extern "C" int clock_gettime(clockid_t id, struct timespec* t) noexcept {
  int r = static_cast<int>(syscall(SYS_clock_gettime, id, t));
  if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
    int64_t fixed = shared()[1];
    int64_t us = fixed != 0 ? fixed : t->tv_sec * 1000000ll + t->tv_nsec / 1000 + shared()[0];
    t->tv_sec = us / 1000000;
    t->tv_nsec = us % 1000000 * 1000;
  }
  if (r == 0 && id == CLOCK_BOOTTIME) t->tv_sec += shared()[2] / 1000000;
  return r;
}
extern "C" int gettimeofday(struct timeval* t, void*) noexcept {
  struct timespec s;
  clock_gettime(CLOCK_REALTIME, &s);
  t->tv_sec = s.tv_sec;
  t->tv_usec = s.tv_nsec / 1000;
  return 0;
}
extern "C" time_t time(time_t* out) noexcept {
  struct timespec s;
  clock_gettime(CLOCK_REALTIME, &s);
  if (out) *out = s.tv_sec;
  return s.tv_sec;
}
)";

}  // namespace

stepped_clock::stepped_clock() : file_(folder_.write("numbers", std::string(24, '\0'))), library_(folder_ / "shim.so") {
  child compiler({LEASEHOLD_COMPILER, "-O1", "-shared", "-fPIC", "-fno-sanitize=all", "-o", library_,
                  folder_.write("shim.cpp", shim)});
  compiler.read_rest();
  if (compiler.wait() != 0) throw std::runtime_error(compiler.errors());
}

std::vector<std::string> stepped_clock::environment() const {
  return {"LD_PRELOAD=" + library_, "LEASEHOLD_TEST_CLOCK=" + file_};
}

void stepped_clock::write(std::int64_t offset, std::int64_t fixed, std::int64_t slept) {
  char bytes[24];
  std::memcpy(bytes, &offset, 8);
  std::memcpy(bytes + 8, &fixed, 8);
  std::memcpy(bytes + 16, &slept, 8);
  std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
  file.write(bytes, sizeof bytes);
  file.flush();
  if (!file.good()) throw std::runtime_error(file_);
}

}  // namespace leasehold::test
