// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"

#include <fmt/format.h>

#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace leasehold::bench {
namespace {

std::string machine() {
  std::string processor = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    processor = line.substr(line.find(':') + 2);
    break;
  }
  utsname system{};
  ::uname(&system);
  return fmt::format("{}, {} cores, {} {}", processor, std::thread::hardware_concurrency(), system.sysname,
                     system.release);
}

}  // namespace

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const std::size_t middle = v.size() / 2;
  return v.size() % 2 == 1 ? v[middle] : (v[middle - 1] + v[middle]) / 2;
}

double quantile(std::vector<double> v, double q) {
  const auto nth = v.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(v.size() - 1));
  std::nth_element(v.begin(), nth, v.end());
  return *nth;
}

std::string number(double value) {
  const bool whole = std::abs(value) >= 100 || value == std::round(value);
  return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}", value);
}

std::string aim::text() const { return fmt::format("aim {} {}", what == kind::at_least ? ">=" : "<=", number(value)); }

report::report(std::string svg_folder) : machine_(machine()), folder_(std::move(svg_folder)) {
  fmt::print("{}; redis-server over tcp on the same machine\n", machine_);
  if (!folder_.empty()) std::filesystem::create_directories(folder_);
}

void report::section(std::string name, std::string_view about) {
  section_ = std::move(name);
  line(fmt::format("\n{}: {}", section_, about));
}

void report::line(std::string_view text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

void report::figure(std::string_view what, double value, std::string_view unit, std::optional<aim> a) {
  std::string text = fmt::format("{:<62} {:>9} {:<7}", what, number(value), unit);
  if (a) text += fmt::format(" {}: {}", a->text(), a->reached(value) ? "reached" : "not reached");
  text.erase(text.find_last_not_of(' ') + 1);
  line(text);
}

void report::expect(bool ok, std::string_view what) {
  if (ok) return;
  as_expected_ = false;
  line(fmt::format("{}: not as it must be: {}", section_, what));
}

void report::draw(const plot& p) {
  if (folder_.empty()) return;
  const auto path = std::filesystem::path(folder_) / (section_ + ".svg");
  std::ofstream out(path);
  out << p.svg(machine_);
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace leasehold::bench
