// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Passwords, and servers that repeat what they are sent.
#include "support/cluster_servers.hpp"
#include "support/sentinel_group.hpp"
#include "support/with_redis.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::test {

namespace {

// Redis quotes the arguments of a command that it does not know.
const std::string no_hello = "rename-command HELLO \"\"";
const std::string why_not = "the server does not know HELLO: Redis 6.2 or later is needed";

// Valkey 9 asks for the password before it says what it does not know.
bool is_explained(const std::string& text) {
  return text.find(why_not) != text.npos || text.find("NOAUTH") != text.npos;
}

// The client is refused, and in none of the texts is the word "secret", which is part of each user and password here.
awaitable<void> is_refused_without_secrets(const std::vector<std::string>& urls) {
  std::vector<std::string> texts;
  client_options o;
  o.reconnect = {.first = 1ms, .max = 5ms, .factor = 2.0, .jitter = 0.5};
  o.observer = [&texts](const event& e) { texts.emplace_back(e.text); };
  client c(co_await asio::this_coro::executor, urls, o);
  auto [ec] = co_await c.ready(as_tuple);
  BOOST_TEST(ec == error::refused, c.explain(ec));
  BOOST_TEST(is_explained(c.last_refusal()), c.last_refusal());
  const mutex lock(c, "n");
  auto [ec2, none] = co_await lock.acquire(as_tuple);
  BOOST_TEST(ec2 == error::refused);
  BOOST_TEST(lock.explain(ec2).starts_with("refused: lock 'n' at "), lock.explain(ec2));
  std::string what;
  try {
    co_await with_lock(lock, [](hold&) -> awaitable<void> { co_return; });
  } catch (const exception& e) {
    what = e.what();
    BOOST_TEST(e.code() == error::refused);
    BOOST_TEST(is_explained(e.detail()), e.detail());
  }
  BOOST_TEST(what == lock.explain(ec2));
  co_await eventually("it is told again and again", [&] { return texts.size() > 5; });
  texts.push_back(c.last_refusal() + c.last_failure() + c.explain(ec) + c.server() + what);
  co_await c.close();
  for (const auto& text : texts) BOOST_TEST(text.find("secret") == std::string::npos, text);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(secrets_of_urls)

BOOST_AUTO_TEST_CASE(a_server_that_does_not_know_hello_is_explained_without_the_password) {
  redis_server redis({no_hello, "requirepass a-secret", "user secretive on >secret ~* &* +@all"});
  const std::string at = "@127.0.0.1:" + std::to_string(redis.port());
  run([&]() -> awaitable<void> {
    // One is escaped; and of one Redis repeats the beginning only.
    for (const std::string user : {":a-secret", "default:a-secret", "secretive:secret", ":%73ecret%20%27"}) {
      const std::vector<std::string> urls{"redis://" + user + at};
      co_await is_refused_without_secrets(urls);
    }
    const std::vector<std::string> urls{"redis://:secret" + std::string(200, 'x') + at};
    co_await is_refused_without_secrets(urls);
  });
}

BOOST_AUTO_TEST_CASE(nor_do_members_of_a_quorum_repeat_it) {
  std::vector<std::unique_ptr<redis_server>> servers;
  std::vector<std::string> urls;
  for (int i = 0; i < 3; ++i) {
    servers.push_back(std::make_unique<redis_server>(std::vector<std::string>{no_hello, "requirepass secret"}));
    urls.push_back("unix://:secret@" + servers.back()->socket_path());
  }
  run([&]() -> awaitable<void> { co_await is_refused_without_secrets(urls); });
}

BOOST_AUTO_TEST_CASE(nor_do_the_nodes_of_a_cluster) {
  cluster_servers cluster(3, 0, {no_hello});
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    cluster.node(i).command("ACL", "SETUSER", "secretive", "on", ">secret", "~*", "&*", "+@all");
  }
  std::vector<std::string> urls{cluster.url()};
  urls[0].insert(urls[0].find("//") + 2, "secretive:secret@");
  run([&]() -> awaitable<void> { co_await is_refused_without_secrets(urls); });
}

BOOST_AUTO_TEST_CASE(nor_do_sentinels_nor_their_master) {
  sentinel_group::settings s;
  s.replicas = 0;
  s.sentinels = 1;
  s.server_password = "a-secret";
  s.sentinel_password = "another-secret";
  {
    s.of_sentinels = {no_hello};
    sentinel_group group(s);
    const std::vector<std::string> urls{group.url(":a-secret") + "?sentinel_password=another-secret"};
    run([&]() -> awaitable<void> { co_await is_refused_without_secrets(urls); });
  }
  s.of_sentinels = {};
  s.configuration = {no_hello};
  sentinel_group group(s);
  const std::vector<std::string> urls{group.url(":a-secret") + "?sentinel_password=another-secret"};
  run([&]() -> awaitable<void> { co_await is_refused_without_secrets(urls); });
}

// Whatever a server says: here it names the user.
BOOST_AUTO_TEST_CASE(other_refusals_do_not_name_the_user) {
  redis_server redis({"user secretive on >pass-word ~* &* +@all -evalsha -eval"});
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor,
             "redis://secretive:pass-word@127.0.0.1:" + std::to_string(redis.port()));
    auto [ec, none] = co_await mutex(c, "n").acquire(as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(c.last_refusal().find("NOPERM") == 0U, c.last_refusal());
    BOOST_TEST(c.last_refusal().find("secretive") == std::string::npos, c.last_refusal());
    co_await c.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
