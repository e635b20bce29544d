// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// leasehold_bench: what is compared runs side by side in one run, in turn; figures are medians over the rounds.
#include "bench.hpp"

#include "support/child.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace leasehold::bench;

// Everything small: it shows that all sections work, and no speed.
settings quick() {
  settings s;
  s.time = 0.1s;
  s.rounds = 1;
  s.coroutines = {1, 10};
  s.processes = 3;
  s.contest = 0.4s;
  s.local_waiters = 100;
  s.names = 20;
  s.waiting = 0.4s;
  s.holds = 1000;
  s.lease = 3s;
  s.renewing = 1.5s;
  return s;
}

int run(int argc, char** argv) {
  const std::vector<std::pair<std::string, void (*)(const settings&, report&)>> sections = {
      {"pairs", pairs},     {"handoff", handoff}, {"coroutines", coroutines}, {"processes", processes},
      {"cost", cost},       {"holds", holds},     {"kinds", kinds},           {"linger", leasehold::bench::linger},
      {"cluster", cluster}, {"quorum", quorum},   {"classes", classes}};
  std::vector<std::string> names;
  for (const auto& s : sections) names.push_back(s.first);

  settings s;
  CLI::App app("Measures leasehold on this machine, against redis-servers of its own");
  std::vector<std::string> wanted;
  std::string svg;
  double time = s.time.count(), contest = s.contest.count(), renewing = s.renewing.count();
  bool tiny = false;
  app.add_option("section", wanted, "what to measure; everything if none is named")->check(CLI::IsMember(names));
  app.add_option("--seconds", time, "of each repeated measurement")->capture_default_str();
  app.add_option("--rounds", s.rounds, "of pairs, handoff, coroutines, kinds, linger, cluster and quorum")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--coroutines", s.coroutines, "pairs, kinds and cluster: how many run at once")->capture_default_str();
  app.add_option("--processes", s.processes, "processes: how many")->capture_default_str()->check(CLI::Range(2, 1000));
  app.add_option("--contest", contest, "processes: seconds")->capture_default_str();
  app.add_option("--renewing", renewing, "holds: seconds")->capture_default_str();
  app.add_option("--svg", svg, "a folder for plots");
  app.add_flag("--quick", tiny, "everything small, to see that it works; the options above are ignored");
  CLI11_PARSE(app, argc, argv);
  s.time = seconds(time);
  s.contest = seconds(contest);
  s.renewing = seconds(renewing);
  if (tiny) s = quick();

  report out(svg);
  for (const auto& [name, measure] : sections) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end()) measure(s, out);
  }
  return out.as_expected() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  if (const auto status = leasehold::test::run_as_child(argc, argv)) return *status;
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "leasehold_bench: %s\n", e.what());
    return 1;
  }
}
