// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Many processes that contend for one name and work for 10 ms each time they have it.
#include "workers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace leasehold::bench {

void processes(const settings& s, report& out) {
  out.section("processes",
              fmt::format("{} processes on one name, 10 ms of work in the critical section, {} s from when all wait",
                          s.processes, number(s.contest.count())));
  test::redis_server server;
  const contest c = run_contest(server, s.processes, {10ms, 0us}, s.contest);
  std::vector<double> acquired(s.processes);
  steady::duration between{};
  for (std::size_t i = 0; i < c.tenures.size(); ++i) {
    ++acquired[c.tenures[i].worker];
    if (i > 0) between += c.tenures[i].begun - c.tenures[i - 1].released;
    out.expect(i == 0 || c.tenures[i].begun > c.tenures[i - 1].released, "no two critical sections overlap");
  }
  const auto [fewest, most] = std::minmax_element(acquired.begin(), acquired.end());
  const seconds whole = c.tenures.back().begun - c.tenures.front().begun;
  out.expect(*fewest > 0, "every process is served");
  out.expect(c.lost == 0, "no hold is lost");
  out.figure("acquisitions", static_cast<double>(c.tenures.size()));
  out.figure("fewest / most acquisitions of a process", *fewest / *most, "", at_least(0.9));
  out.figure("from a release to the next start, part of the whole time", 100 * seconds(between) / whole, "%",
             at_most(5));

  plot picture(fmt::format("{} processes on one name, 10 ms of work each time", s.processes));
  std::vector<plot::bar> bars;
  for (std::size_t i = 0; i < acquired.size(); ++i) bars.push_back({fmt::format("process {}", i + 1), acquired[i]});
  picture.bars(fmt::format("acquisitions in {} s", number(s.contest.count())), std::move(bars));
  picture.bars("% of the time from a release to the next start", {{"leasehold", 100 * seconds(between) / whole}}, 5);
  out.draw(picture);
}

}  // namespace leasehold::bench
