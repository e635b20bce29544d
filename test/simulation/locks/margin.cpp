// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// acquire_options::margin as Consul's lock-delay: how long after a lost holder has stopped the next one begins.
#include "simulation/with_memory.hpp"

#include <chrono>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(margins, with_memory)

namespace {

// Until when the lost holder works, and from when on the next one does.
struct change_of_holders {
  clock::time_point stopped;
  clock::time_point begun;
  clock::duration gap() const { return begun - stopped; }
};

// The holder is cut off from the server, and with_lock cancels its work.
awaitable<void> cut_off_a_holder(memory_server& redis, acquire_options options, change_of_holders& seen) {
  const auto executor = co_await asio::this_coro::executor;
  gate network(redis);
  client c(executor, network.url(), patient());
  client other(executor, redis.url(), patient());
  bool works = false, ended = false;
  const auto body = [&](hold&) -> awaitable<void> {
    works = true;
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::hours(1));
    const auto [ec] = co_await timer.async_wait(as_tuple);
    seen.stopped = clock::now();
    throw system_error(ec);
  };
  const auto job = [&]() -> awaitable<void> {
    const mutex lock(c, "n");
    try {
      co_await with_lock(lock, options, body);
      BOOST_ERROR("the work was not cancelled");
    } catch (const system_error& e) {
      BOOST_TEST(e.code() == error::lost);
    }
    ended = true;
  };
  asio::co_spawn(executor, job(), asio::detached);
  co_await eventually("it works", [&] { return works; });
  network.swallow();
  network.refuse();
  const hold next = co_await mutex(other, "n").acquire();
  seen.begun = clock::now();
  co_await eventually("the work has ended", [&] { return ended; });
  network.refuse(false);
}

// The holder's renewals are used up. It hears of the loss, and keeps the hold for as long as it exists.
awaitable<void> use_up_the_renewals(memory_server& redis, acquire_options options, change_of_holders& seen) {
  const auto executor = co_await asio::this_coro::executor;
  client c(executor, redis.url());
  client other(executor, redis.url());
  options.renew = renewal::at_most(2);
  const hold lost = co_await mutex(c, "n").acquire(options);
  lost.lost([&seen](error_code ec) {
    BOOST_TEST(!ec);
    seen.stopped = clock::now();
  });
  const hold next = co_await mutex(other, "n").acquire();
  seen.begun = clock::now();
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_next_holder_begins_the_margin_after_a_lost_one_has_stopped) {
  for (const auto lose : {cut_off_a_holder, use_up_the_renewals}) {
    for (const auto margin : {0ms, 1000ms, 4000ms}) {
      BOOST_TEST_CONTEXT((lose == cut_off_a_holder ? "cut off" : "renewals used up") << ", margin " << margin.count()) {
        change_of_holders seen{};
        const acquire_options options{.lease = 5s, .margin = margin};
        run([&]() -> awaitable<void> { co_await lose(redis, options, seen); });
        BOOST_TEST((seen.gap() >= margin), seen.gap().count());
        // Besides there is the drift allowance of the lease, which is 52 ms, and the messages' time.
        BOOST_TEST((seen.gap() <= margin + 70ms), seen.gap().count());
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
