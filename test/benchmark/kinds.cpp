// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the kinds of locks cost beside the mutex: each coroutine on a name of its own, and all of them on one.
#include "race.hpp"

#include "support/redis_server.hpp"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::bench {
namespace {

struct contestant {
  std::string name;
  std::function<double(const std::string& url, std::size_t coroutines, seconds, report&, bool one_name)> measure;
  std::vector<double> alone, to_mutex, contended;
};

template <class Make>
contestant of_kind(std::string name, Make make) {
  contestant c;
  c.name = std::move(name);
  c.measure = [make](const std::string& url, std::size_t coroutines, seconds time, report& out, bool one_name) {
    return race({url}, coroutines, time, out, [&](const client& on, std::size_t i) {
      return make(on, one_name ? std::string("one") : "name " + std::to_string(i), std::to_string(i));
    });
  };
  return c;
}

}  // namespace

void kinds(const settings& s, report& out) {
  out.section("kinds", "acquire + release of each kind of lock; per second");
  const test::redis_server server;
  std::vector<contestant> all;
  all.push_back(of_kind("mutex", [](const client& c, std::string n, const std::string&) { return mutex(c, n); }));
  all.push_back(of_kind("recursive_mutex", [](const client& c, std::string n, const std::string& i) {
    return recursive_mutex(c, n, "owner " + i);
  }));
  all.push_back(of_kind("recursive_mutex, one owner", [](const client& c, std::string n, const std::string&) {
    return recursive_mutex(c, n, "owner");
  }));
  all.push_back(of_kind("shared_mutex, writers",
                        [](const client& c, std::string n, const std::string&) { return shared_mutex(c, n); }));
  all.push_back(of_kind("shared_mutex, readers", [](const client& c, std::string n, const std::string&) {
    return shared_mutex(c, n).shared();
  }));
  all.push_back(of_kind("counting_semaphore of 10", [](const client& c, std::string n, const std::string&) {
    return counting_semaphore(c, n, 10);
  }));
  out.line(fmt::format("{:>26}  {:>10}  {:>12}  {:>14}  {:>16}", "", "coroutines", "own names", "to the mutex",
                       "all on one name"));
  for (const std::size_t coroutines : s.coroutines) {
    for (auto& c : all) c.alone = c.to_mutex = c.contended = {};
    for (int round = 0; round < s.rounds; ++round) {
      for (auto& c : all) {
        c.alone.push_back(c.measure(server.tcp_url(), coroutines, s.time, out, false));
        c.to_mutex.push_back(c.alone.back() / all.front().alone.back());
        if (coroutines > 1) c.contended.push_back(c.measure(server.tcp_url(), coroutines, s.time, out, true));
      }
    }
    for (auto& c : all) {
      out.line(fmt::format("{:>26}  {:>10}  {:>12}  {:>14.2f}  {:>16}", c.name, coroutines, number(median(c.alone)),
                           median(c.to_mutex), c.contended.empty() ? "" : number(median(c.contended))));
    }
    for (auto& c : all) {
      if (&c != &all.front()) {
        out.figure(fmt::format("{} / mutex, {} coroutines on names of their own", c.name, coroutines),
                   median(c.to_mutex), "", at_least(0.7));
      }
    }
  }
  plot picture("Kinds of locks beside the mutex");
  std::vector<plot::bar> ratios, rates;
  for (auto& c : all) {
    ratios.push_back({c.name, median(c.to_mutex)});
    rates.push_back({c.name, median(c.alone)});
  }
  picture.bars(fmt::format("acquire + release per second, {} coroutines on names of their own", s.coroutines.back()),
               rates);
  picture.bars("the same, to the mutex", ratios, 0.7);
  out.draw(picture);
}

}  // namespace leasehold::bench
