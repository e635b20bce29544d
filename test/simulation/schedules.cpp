// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Random schedules of the whole engine in virtual time, in each deployment. LEASEHOLD_SCHEDULES: how many of each;
// LEASEHOLD_SECONDS: for how long instead; LEASEHOLD_SEED: the first seed. `./dev simulate` sets them.
#include "simulation/schedule.hpp"

#include "support/rarer.hpp"
#include "support/unit_test.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(schedules)

using namespace simulation;

std::uint64_t chosen(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// A complaint without its numbers: what it is about.
std::string words_of(std::string complaint) {
  std::erase_if(complaint, [](char c) { return c >= '0' && c <= '9'; });
  return complaint.substr(0, complaint.find('\n'));
}

// Leaves out what the failure does not need.
cut_down make_smaller(deployment d, std::uint64_t seed, const outcome& failed) {
  cut_down without;
  reach ignored;
  const auto still_fails = [&, words = words_of(failed.complaint)](const cut_down& w) {
    return words_of(run_schedule(d, seed, ignored, false, w).complaint) == words;
  };
  for (std::size_t w = 0; w < 48; ++w) {
    auto smaller = without;
    smaller.workers.push_back(w);
    if (w % 16 < 3 && still_fails(smaller)) without = smaller;
  }
  for (std::size_t f = 0; f < failed.faults; ++f) {
    auto smaller = without;
    smaller.faults.push_back(f);
    if (still_fails(smaller)) without = smaller;
  }
  return without;
}

void report(deployment d, std::uint64_t seed, const outcome& failed) {
  const auto without = make_smaller(d, seed, failed);
  reach ignored;
  const auto shown = run_schedule(d, seed, ignored, /*with_history=*/true, without);
  std::string table;
  for (const auto& line : shown.history) table += line + '\n';
  BOOST_ERROR(
      fmt::format("{} schedule {}: {}\nWithout what that does not need: {}\n{}again: LEASEHOLD_SEED={} "
                  "LEASEHOLD_SCHEDULES=1",
                  name_of(d), seed, failed.complaint, shown.complaint, table, seed));
}

// What many schedules of this deployment must have reached. Where one of these is missing,
// they have become blind to it.
std::vector<std::string> required(deployment d) {
  std::vector<std::string> all{"a fault",
                               "acquire_all done",
                               "acquire Operation canceled",
                               "acquire done",
                               "acquire refused",
                               "acquire timed out",
                               "acquire unreachable",
                               "client: attempt withdrawn",
                               "client: connected again",
                               "client: found busy",
                               "client: hold lost",
                               "client: renewal without an answer",
                               "client: renewed",
                               "close done",
                               "close unreachable",
                               "detach done",
                               "detach lost",
                               "detach unreachable",
                               "downgrade done",
                               "downgrade lost",
                               "extend done",
                               "extend lost",
                               "extend unreachable",
                               "hold lost",
                               "release done",
                               "release lost",
                               "release unreachable",
                               "resume done",
                               "resume lost",
                               "resume unreachable",
                               "try_acquire done",
                               "try_acquire timed out",
                               "try_acquire unreachable"};
  const bool queue = d != deployment::quorum;
  for (const std::string kind : {"mutex", "recursive_mutex", "shared_mutex", "counting_semaphore"}) {
    if (!queue && kind == "counting_semaphore") continue;
    for (const char* const status : {"acquire -> -1", "acquire -> 0", "acquire -> 1", "acquire -> OOM", "release -> 0",
                                     "release -> 1", "renew -> 0", "renew -> 1"}) {
      all.push_back(kind + ' ' + status);
    }
    if (!queue) all.push_back(kind + " raise -> 1");
    if (!queue) continue;
    for (const char* const status : {"acquire -> 2", "acquire -> 3", "confirm -> 1", "release -> -1"}) {
      all.push_back(kind + ' ' + status);
    }
  }
  if (queue && d != deployment::cluster && d != deployment::slots) {
    for (const char* const what : {"bundle acquire -> 0", "bundle acquire -> 1", "bundle acquire -> 2",
                                   "bundle acquire -> OOM", "bundle release -> -1", "bundle release -> 1"}) {
      all.emplace_back(what);
    }
  }
  if (queue) {
    for (const char* const what : {"client: granted by the one before",
                                   "client: passed on in the client",
                                   "client: acquired from what lingered",
                                   "client: wanted by another",
                                   "campaign Operation canceled",
                                   "campaign done",
                                   "campaign lost",
                                   "campaign refused",
                                   "campaign timed out",
                                   "campaign unreachable",
                                   "leader: nobody",
                                   "leader: somebody",
                                   "observer: a leader",
                                   "observer: nobody",
                                   "proclaim done",
                                   "proclaim lost",
                                   "wanted Operation canceled",
                                   "wanted done",
                                   "wanted lost",
                                   "mutex refresh -> 1",
                                   "mutex refresh -> 2",
                                   "mutex want -> 1",
                                   "mutex want -> 2",
                                   "shared_mutex downgrade -> 1"}) {
      all.emplace_back(what);
    }
  }
  if (d == deployment::cluster) {
    for (const char* const what :
         {"mutex acquire -> ASK", "mutex acquire -> CLUSTERDOWN", "mutex acquire -> MOVED", "mutex acquire -> TRYAGAIN",
          "mutex release -> TRYAGAIN", "mutex renew -> ASK", "mutex renew -> MOVED"}) {
      all.emplace_back(what);
    }
  }
  if (d == deployment::slots) all.emplace_back("mutex acquire -> CROSSSLOT");
  if (d == deployment::failover) all.emplace_back("acquire no quorum");
  if (d == deployment::quorum) all.emplace_back("acquire no quorum");
  return all;
}

constexpr std::uint64_t many = 10000;

void run_all(deployment d) {
  const auto first = chosen("LEASEHOLD_SEED", 1);
  const auto seconds = std::chrono::seconds(chosen("LEASEHOLD_SECONDS", 0));
  const auto number = seconds.count() != 0 ? UINT64_MAX : chosen("LEASEHOLD_SCHEDULES", 300 / rarer);
  const auto began = std::chrono::steady_clock::now();
  const auto until = began + seconds;
  reach reached;
  std::uint64_t done = 0, steps = 0, grants = 0;
  while (done < number && (seconds.count() == 0 || std::chrono::steady_clock::now() < until)) {
    const auto seed = first + done++;
    const auto result = run_schedule(d, seed, reached);
    steps += result.steps;
    grants += result.grants;
    if (result.complaint.empty()) continue;
    report(d, seed, result);
    break;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::cout << fmt::format("{}: {} schedules from seed {}, {} instants, {} grants, {:.1f} s\n", name_of(d), done, first,
                           steps, grants, took.count());
  if (done >= many) {
    for (const auto& what : required(d)) BOOST_TEST(reached.contains(what), what << " was never reached");
  }
  if (std::getenv("LEASEHOLD_REACH") != nullptr) {
    for (const auto& [what, times] : reached) std::cout << fmt::format("  {:>10} {}\n", times, what);
  }
}

BOOST_AUTO_TEST_CASE(single) { run_all(deployment::single); }
BOOST_AUTO_TEST_CASE(failover) { run_all(deployment::failover); }
BOOST_AUTO_TEST_CASE(quorum) { run_all(deployment::quorum); }
BOOST_AUTO_TEST_CASE(cluster) { run_all(deployment::cluster); }
BOOST_AUTO_TEST_CASE(slots) { run_all(deployment::slots); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
