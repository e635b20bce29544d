// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Other users of a server that mean harm.
#include "simulation/with_memory.hpp"

#include <string>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(hostile, with_memory)

// Another user of the server who may publish on leasehold:*, and even read there.
BOOST_AUTO_TEST_CASE(a_forged_grant_is_no_grant) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client a(executor, redis.url());
    client b(executor, redis.url());
    hold held = co_await mutex(a, "n").acquire();
    hold granted;
    mutex(b, "n").acquire([&](error_code, hold h) { granted = std::move(h); });
    co_await eventually("it waits", [&] { return redis.command("EXISTS", the_queue).integer == 1; });
    const std::string token = redis.command("ZRANGE", the_queue, "0", "0").items.at(0).text;
    const std::string channel = "leasehold:{0}:" + token.substr(0, token.find('.'));
    const auto stamp = [] { return std::to_string(clock::now().time_since_epoch().count()); };
    for (const auto& forged :
         {std::to_string(held.fence() + 2048) + " " + stamp() + " 2000",
          std::to_string(held.fence() + 2048) + " " + stamp() + "0 2000",
          std::string("9223372036854775807 ") + stamp() + " 9223372036854775807", std::string("x"), std::string("")}) {
      const auto polls = redis.scripts();
      redis.command("PUBLISH", channel, "granted " + token + " " + forged);
      co_await eventually("it polls", [&] { return granted.valid() || redis.scripts() > polls; });
      co_await turn();
      BOOST_TEST(!granted.valid(), forged);
    }
    BOOST_TEST(b.stats().handed_off == 0U);
    co_await held.release();
    co_await eventually("the real grant is believed", [&] { return granted.valid(); });
    BOOST_TEST(b.stats().handed_off == 1U);
    co_await granted.release();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
