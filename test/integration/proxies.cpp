// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Servers, and proxies in front of servers, that lack what leasehold needs: each is refused with a sentence that says
// what is missing. They answer here as Envoy, twemproxy, Codis, redis-cluster-proxy, Teleport and Tencent's proxy do.
#include "support/hostile_server.hpp"
#include "support/locks.hpp"

#include <string>
#include <utility>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(proxies)

namespace {

using words_of_a_command = std::vector<std::string>;

// Polite, but for these commands.
hostile_server::script but(std::vector<std::pair<std::string, hostile_server::answer>> answers) {
  return [answers = std::move(answers)](const words_of_a_command& w) {
    for (const auto& [command, a] : answers) {
      if (w[0] == command) return a;
    }
    return hostile_server::polite(w);
  };
}

struct told {
  error_code ready;
  error_code acquired;
  std::string refusal;
  std::string failure;
  std::string event;
};

awaitable<told> try_to_use(std::string url, std::chrono::milliseconds patience = limit) {
  told t;
  client_options o;
  o.connect_timeout = patience;
  o.reconnect = {.first = 5ms, .max = 50ms, .factor = 2.0, .jitter = 0.5};
  o.observer = [&t](const event& e) {
    if (e.what == event::kind::refused || e.what == event::kind::unreachable) t.event = e.text;
  };
  client c(co_await asio::this_coro::executor, url, o);
  const auto [ec] = co_await c.ready(as_tuple);
  const acquire_options options{.lease = 2s, .wait = 300ms};
  const auto [ec2, h] = co_await mutex(c, "n").acquire(options, as_tuple);
  t.ready = ec;
  t.acquired = ec2;
  t.refusal = c.last_refusal();
  t.failure = c.last_failure();
  co_await c.close(as_tuple);
  co_return t;
}

const std::string elsewhere = "; connect to Redis itself, or through a proxy that passes it on";
const std::string no_hello = "the server does not know HELLO: Redis 6.2 or later is needed" + elsewhere;
const std::string no_resp3 = "the server does not speak RESP3: Redis 6.2 or later is needed" + elsewhere;
const std::string no_subscribe =
    "the server does not know SUBSCRIBE: clients are notified of their grants by pub/sub" + elsewhere;
const std::string no_scripts = "the server does not know EVALSHA: locks are scripts that the server runs" + elsewhere;

// Refused from the beginning on.
void is_refused(hostile_server::script script, const std::string& why) {
  hostile_server server(std::move(script));
  run([&]() -> awaitable<void> {
    const told t = co_await try_to_use("redis://alice:secret@" + server.host());
    BOOST_TEST(t.ready == error::refused);
    BOOST_TEST(t.acquired == error::refused);
    BOOST_TEST(t.refusal == why);
    BOOST_TEST(t.failure == why);
    BOOST_TEST(t.event == why);
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_proxy_that_does_not_know_hello_is_told) {
  for (const std::string words : {"-unsupported command 'HELLO'\r\n",  // Envoy, some versions of it
                                  "-ERR unknown command 'HELLO', with args beginning with: 3 AUTH alice secret\r\n",
                                  "-ERR unsupported command `hello`\r\n",                     // redis-cluster-proxy
                                  "-ERR handle request, command 'HELLO' is not allowed\r\n",  // Codis
                                  "-ERR Teleport: not supported by Teleport\r\n"}) {
    is_refused(but({{"HELLO", words}}), no_hello);
  }
}

BOOST_AUTO_TEST_CASE(a_proxy_without_resp3_is_told) {
  // Envoy, since it knows HELLO.
  is_refused(but({{"HELLO", std::string("-NOPROTO unsupported protocol version\r\n")}}), no_resp3);
  // It accepts HELLO 3, and says that it goes on as before.
  is_refused(but({{"HELLO", "*4\r\n" + bulk("server") + bulk("redis") + bulk("proto") + ":2\r\n"}}), no_resp3);
  // It does not say that, and confirms SUBSCRIBE as a reply.
  is_refused(but({{"SUBSCRIBE", "*3\r\n" + bulk("subscribe") + bulk("leasehold:c") + ":1\r\n"}}), no_resp3);
  // Tencent's: behind SUBSCRIBE nothing else is allowed.
  is_refused(but({{"SUBSCRIBE", hostile_server::answer()},
                  {"TIME", std::string("-ERR only (P)SUBSCRIBE / (P)UNSUBSCRIBE / PING / QUIT allowed in this "
                                       "context\r\n")}}),
             no_resp3);
}

BOOST_AUTO_TEST_CASE(a_proxy_without_pub_sub_is_told) {
  for (const std::string words :
       {"-ERR unknown command 'SUBSCRIBE', with args beginning with: 'leasehold:c' \r\n",
        "-ERR unsupported command `subscribe`\r\n", "-ERR handle request, command 'SUBSCRIBE' is not allowed\r\n",
        "-ERR Teleport: not supported by Teleport\r\n"}) {
    is_refused(but({{"SUBSCRIBE", words}}), no_subscribe);
  }
}

BOOST_AUTO_TEST_CASE(a_proxy_without_scripts_is_told) {
  for (const std::string words : {"-ERR unknown command 'EVALSHA', with args beginning with: 'sha' '3' 'n' \r\n",
                                  "-ERR unsupported command `evalsha`\r\n", "-unsupported command 'EVALSHA'\r\n"}) {
    hostile_server server(but({{"EVALSHA", words}}));
    run([&]() -> awaitable<void> {
      const told t = co_await try_to_use(server.url());
      BOOST_TEST(!t.ready);
      BOOST_TEST(t.acquired == error::refused);
      BOOST_TEST(t.refusal == no_scripts);
      BOOST_TEST(t.event == no_scripts);
    });
  }
}

// twemproxy closes the connection when a command comes that it does not know. A server that is being restarted does so,
// too: so this is no refusal.
BOOST_AUTO_TEST_CASE(a_proxy_that_closes_the_connection_at_hello_is_told) {
  hostile_server::answer nothing;
  nothing.close = true;
  hostile_server server(but({{"HELLO", nothing}}));
  run([&]() -> awaitable<void> {
    const told t = co_await try_to_use(server.url(), 600ms);
    BOOST_TEST(t.ready == error::unreachable);
    BOOST_TEST(t.failure == "End of file in place of an answer to HELLO: is this a proxy that does not know it?");
    BOOST_TEST(t.event == t.failure);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
