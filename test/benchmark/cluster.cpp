// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the way to the right node costs: a cluster of three masters beside three single servers.
#include "race.hpp"

#include "support/cluster_servers.hpp"
#include "support/redis_server.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

namespace leasehold::bench {

void cluster(const settings& s, report& out) {
  out.section(
      "cluster",
      "acquire + release on names of their own, per second: three masters of a cluster beside three single servers");
  test::cluster_servers servers(3);
  const std::array<test::redis_server, 3> single;
  const std::vector<std::string> singles{single[0].tcp_url(), single[1].tcp_url(), single[2].tcp_url()};
  const auto make = [](const client& c, std::size_t i) { return mutex(c, fmt::format("name {}", i)); };
  out.line(fmt::format("{:>10}  {:>14}  {:>14}  {:>8}", "coroutines", "cluster", "three servers", "ratio"));
  plot picture("A cluster of three masters beside three servers: pairs per second");
  for (const std::size_t n : s.coroutines) {
    std::vector<double> ours, theirs, ratio;
    for (int round = 0; round < s.rounds; ++round) {
      ours.push_back(race({servers.url()}, n, s.time, out, make));
      theirs.push_back(race(singles, n, s.time, out, make));
      ratio.push_back(ours.back() / theirs.back());
    }
    out.line(fmt::format("{:>10}  {:>14.0f}  {:>14.0f}  {:>8.2f}", n, median(ours), median(theirs), median(ratio)));
    out.figure(fmt::format("cluster / three servers, {} coroutines", n), median(ratio), "", at_least(0.8));
    picture.bars(fmt::format("{} coroutine{}", n, n == 1 ? "" : "s"),
                 {{"a cluster", median(ours)}, {"three servers", median(theirs)}});
  }
  out.draw(picture);
}

}  // namespace leasehold::bench
