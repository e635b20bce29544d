// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Many coroutines of one process that contend for one name, with nothing to do in the critical section.
#include "bench.hpp"

#include "support/redis_server.hpp"

#include <leasehold/leasehold.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>

namespace leasehold::bench {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t coroutines_at_once = 100;

struct queue_of_coroutines {
  steady::time_point end;
  std::vector<std::uint64_t> acquired = std::vector<std::uint64_t>(coroutines_at_once);
  std::uint64_t all = 0;
  std::uint64_t last_fence = 0;
  std::size_t running = coroutines_at_once;
  bool over = false;
  bool fences_grow = true;
};

asio::awaitable<void> compete(queue_of_coroutines& r, std::size_t i, mutex lock, client c) {
  while (!r.over) {
    hold h = co_await lock.acquire();
    r.fences_grow = r.fences_grow && h.fence() > r.last_fence;
    r.last_fence = h.fence();
    ++r.acquired[i];
    // The clock is looked at now and then: it is not what is measured.
    if (++r.all % 16 == 0 && steady::now() >= r.end) r.over = true;
    co_await h.release();
  }
  if (--r.running == 0) co_await c.close();
}

// While it lives this thread, and whatever it starts, runs on one of its processors only.
class on_one_processor {
 public:
  on_one_processor() {
    CPU_ZERO(&before_);
    ::sched_getaffinity(0, sizeof(before_), &before_);
    int last = CPU_SETSIZE - 1;
    while (last > 0 && !CPU_ISSET(last, &before_)) --last;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    ::sched_setaffinity(0, sizeof(one), &one);
  }
  ~on_one_processor() { ::sched_setaffinity(0, sizeof(before_), &before_); }
  on_one_processor(const on_one_processor&) = delete;
  on_one_processor& operator=(const on_one_processor&) = delete;

 private:
  cpu_set_t before_;
};

// How the program waits for an answer.
enum class waiting {
  asleep,  // io_context::run
  awake,   // io_context::poll, again and again
};

struct result {
  double rate;
  double fairness;  // the fewest acquisitions of a coroutine / the most
};

result run(const std::string& url, std::chrono::microseconds cohort, seconds time, report& out,
           waiting how = waiting::asleep) {
  asio::io_context context(1);
  client_options options;
  options.cohort = cohort;
  client c(context, url, options);
  c.ready([&](error_code ec) {
    if (ec) throw system_error(ec);
    context.stop();
  });
  context.run();
  context.restart();
  queue_of_coroutines r;
  const auto begin = steady::now();
  r.end = begin + std::chrono::duration_cast<steady::duration>(time);
  const mutex lock(c, "coroutines");
  for (std::size_t i = 0; i < coroutines_at_once; ++i) {
    asio::co_spawn(context, compete(r, i, lock, c), [](std::exception_ptr e) {
      if (e) std::rethrow_exception(e);
    });
  }
  while (how == waiting::awake && !context.stopped()) context.poll();
  context.run();
  const seconds took = steady::now() - begin;
  out.expect(r.fences_grow, "fences grow");
  out.expect(c.stats().lost == 0, "no hold is lost");
  const auto [fewest, most] = std::minmax_element(r.acquired.begin(), r.acquired.end());
  out.expect(*fewest > 0, "every coroutine is served");
  return {static_cast<double>(r.all) / took.count(), static_cast<double>(*fewest) / static_cast<double>(*most)};
}

}  // namespace

void coroutines(const settings& s, report& out) {
  out.section("coroutines", "100 coroutines of one process on one name, empty critical section");
  const test::redis_server server;
  std::optional<test::redis_server> near;
  {
    const on_one_processor here;
    near.emplace();
  }
  std::vector<double> with, without, awake, beside, fairness_with, fairness_without;
  for (int round = 0; round < s.rounds; ++round) {
    const result on = run(server.tcp_url(), client_options().cohort, s.time, out);
    const result off = run(server.tcp_url(), 0us, s.time, out);
    with.push_back(on.rate);
    without.push_back(off.rate);
    fairness_with.push_back(on.fairness);
    fairness_without.push_back(off.fairness);
    awake.push_back(run(server.tcp_url(), 0us, s.time, out, waiting::awake).rate);
    const on_one_processor here;
    beside.push_back(run(near->tcp_url(), 0us, s.time, out).rate);
  }
  out.figure("cohort: acquisitions", median(with), "/s", at_least(500000));
  out.figure("cohort: fewest / most acquisitions of a coroutine", median(fairness_with), "", at_least(0.9));
  out.figure("no cohort: acquisitions", median(without), "/s", at_least(10000));
  out.figure("no cohort, the program polls: acquisitions", median(awake), "/s", at_least(10000));
  out.figure("no cohort, one processor for both: acquisitions", median(beside), "/s", at_least(10000));
  out.figure("no cohort: fewest / most acquisitions of a coroutine", median(fairness_without), "", at_least(0.9));
  out.line("Polls: io_context::poll in a loop instead of run, so that the program is awake when an answer comes.");
  out.line("One processor for both: the program and Redis, so that neither has to wake another processor.");
  out.line(
      "Not in this run, measured on another machine like this: redsync with 100 workers 5300 /s, fewest / most 0.31.");

  plot picture("100 coroutines of one process on one name");
  picture.bars("acquisitions per second, with a cohort", {{"leasehold", median(with)}}, 500000);
  picture.bars("acquisitions per second, without",
               {{"leasehold", median(without)}, {"which polls", median(awake)}, {"on one processor", median(beside)}},
               10000);
  picture.bars("fewest / most acquisitions of a coroutine",
               {{"with a cohort", median(fairness_with)}, {"without", median(fairness_without)}}, 0.9);
  out.draw(picture);
}

}  // namespace leasehold::bench
