// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// leasehold_bench: what a lock costs, beside what it could cost at the least. Everything that is compared runs in turn in
// one process against one private server; the figures are medians over the rounds, and the ratios are taken round by
// round, so that a machine whose speed drifts does not decide.
#include "variants.hpp"

#include "support/redis_server.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const std::size_t middle = v.size() / 2;
  return v.size() % 2 == 1 ? v[middle] : (v[middle - 1] + v[middle]) / 2;
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What a lock costs: acquire + release of free locks, one name for each coroutine");
  double seconds = 1.0;
  int rounds = 5;
  std::vector<std::size_t> coroutines = {1, 100, 1000};
  app.add_option("--seconds", seconds, "of each measurement")->capture_default_str();
  app.add_option("--rounds", rounds, "of all measurements")->capture_default_str()->check(CLI::Range(1, 1000));
  app.add_option("--coroutines", coroutines, "how many run at once")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  utsname system{};
  ::uname(&system);
  fmt::print("{}, {} cores, {} {}; redis-server over tcp on the same machine\n", processor(),
             std::thread::hardware_concurrency(), system.sysname, system.release);

  const leasehold::test::redis_server server;
  const leasehold::bench::target where{server.port(), std::chrono::duration<double>(seconds)};
  fmt::print("\n{:>10}  {:>12}  {:>12}  {:>12}  {:>18}  {:>18}\n", "coroutines", "leasehold", "bare scripts", "SET NX + CAD",
             "leasehold / bare", "leasehold / SET NX");
  fmt::print("{:>10}  {:>12}  {:>12}  {:>12}\n", "", "pairs/s", "pairs/s", "pairs/s");
  for (const std::size_t n : coroutines) {
    std::vector<double> ours, bare, plain, to_bare, to_plain;
    for (int round = 0; round < rounds; ++round) {
      ours.push_back(leasehold::bench::leasehold_pairs(where, n));
      bare.push_back(leasehold::bench::bare_pairs(where, n));
      plain.push_back(leasehold::bench::plain_pairs(where, n));
      to_bare.push_back(ours.back() / bare.back());
      to_plain.push_back(ours.back() / plain.back());
    }
    fmt::print("{:>10}  {:>12.0f}  {:>12.0f}  {:>12.0f}  {:>18.2f}  {:>18.2f}\n", n, median(ours), median(bare),
               median(plain), median(to_bare), median(to_plain));
  }
  fmt::print(
      "\nbare scripts: a loop on boost::redis::connection that sends the same two scripts and nothing else.\n"
      "SET NX + CAD: the same loop with SET NX PX and a compare-and-delete script: no fence, no repeat, no not-after.\n");
  return 0;
}
