// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What may be a member of a quorum besides a plain server.
#include "support/certificates.hpp"
#include "support/kinds.hpp"
#include "support/redis_server.hpp"
#include "support/sentinel_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(quorum_members)

namespace {

// Servers that show these certificates.
struct tls_servers {
  explicit tls_servers(const std::vector<std::string>& certificates_of) {
    redis_server::special special;
    special.second_port = "tls-port";
    for (const auto& name : certificates_of) {
      servers.push_back(
          std::make_unique<redis_server>(issued.configuration(name), std::vector<std::string>(), special));
      const std::string port = std::to_string(servers.back()->second_port());
      urls.push_back("rediss://localhost:" + port + "?ca=" + issued.authority());
    }
  }

  certificates issued;
  std::vector<std::unique_ptr<redis_server>> servers;
  std::vector<std::string> urls;
};

std::string failure_of(std::vector<std::string> urls, error_code expected) {
  asio::io_context context;
  try {
    client c(context, std::move(urls));
  } catch (const system_error& e) {
    BOOST_TEST(e.code() == expected);
    return e.what();
  }
  return "nothing was thrown";
}

}  // namespace

BOOST_AUTO_TEST_CASE(servers_with_tls) {
  tls_servers all({"good", "good", "good"});
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, all.urls);
    client two(executor, all.urls);
    co_await eventually("all are up", [&] { return one.stats().connects == 3 && two.stats().connects == 3; });
    const std::string channel = "leasehold:{0}:free:n";
    for (int i = 0; i < 3; ++i) {
      hold h = co_await mutex(one, "n").acquire();
      co_await eventually("every server has it", [&] {
        return std::all_of(all.servers.begin(), all.servers.end(), [](const auto& s) { return s->size() == 1; });
      });
      asker next{any_lock(mutex(two, "n"))};
      // The pauses alone would be an hour: it is told of the release.
      next.acquire({.retry = {.first = 1h, .max = 1h, .factor = 1.0, .jitter = 0.0}});
      co_await eventually(
          "it listens", [&] { return all.servers[0]->command("PUBSUB", "NUMSUB", channel).items.at(1).integer == 1; });
      co_await h.release();
      co_await eventually("it is granted", [&] { return next.in(); });
      BOOST_TEST(next.got.fence() > h.fence());
      co_await next.got.release();
    }
    for (const auto& s : all.servers) BOOST_TEST(s->size() == 0U);
    co_await one.close();
    co_await two.close();

    // A certificate of the client that has expired is told for each of them, although they do not mind.
    const auto files = all.issued.files("expired");
    std::vector<std::string> urls;
    for (const auto& url : all.urls) urls.push_back(url + "&cert=" + files.first + "&key=" + files.second);
    std::vector<std::string> told;
    client_options o;
    o.idle_timeout = forever;
    o.observer = [&told](const event& e) {
      if (e.what == event::kind::credentials) told.emplace_back(e.text);
    };
    client late(executor, urls, o);
    for (const auto& s : all.servers) {
      const std::string words =
          fmt::format("localhost:{}: the certificate '{}' has expired", s->second_port(), files.first);
      co_await eventually("it is told", [&] { return std::find(told.begin(), told.end(), words) != told.end(); });
    }
    co_await late.ready();
    co_await late.close();
  });
}

// One that is not who it should be is like one that is away.
BOOST_AUTO_TEST_CASE(a_member_whose_certificate_is_refused_does_not_count) {
  tls_servers all({"good", "other", "good"});
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, all.urls);
    hold h = co_await mutex(c, "n").acquire();
    BOOST_TEST(h.valid());
    BOOST_TEST(all.servers[1]->size() == 0U);
    co_await h.release();
    co_await c.close();
  });
  tls_servers most({"good", "other", "expired"});
  run([&]() -> awaitable<void> {
    std::vector<std::string> told;
    client_options o;
    o.observer = [&](const event& e) {
      if (e.what == event::kind::unreachable) told.emplace_back(e.text);
    };
    client c(co_await asio::this_coro::executor, most.urls, o);
    outcome ready;
    c.ready(ready.handler());
    // Which member it is stands before the reason.
    for (const std::size_t i : {1U, 2U}) {
      const std::string words =
          fmt::format("localhost:{}: the certificate of 'localhost' is refused: {}", most.servers[i]->second_port(),
                      i == 1 ? "hostname mismatch" : "certificate has expired");
      co_await eventually("it is told", [&] { return std::find(told.begin(), told.end(), words) != told.end(); });
    }
    co_await eventually("the other one is up", [&] { return c.stats().connects == 1; });
    BOOST_TEST(!ready.ended());
    auto [failed, none] = co_await mutex(c, "n").acquire({.wait = 100ms}, as_tuple);
    BOOST_TEST(failed == error::no_quorum);
    co_await c.close();
    BOOST_TEST(most.servers[0]->size() == 0U);
  });
}

// A Sentinel group, a server with TLS and one on a unix socket.
BOOST_AUTO_TEST_CASE(members_of_different_kinds) {
  sentinel_group::settings s;
  s.replicas = 1;
  s.sentinels = 1;
  sentinel_group group(s);
  tls_servers tls({"good"});
  redis_server plain;
  const std::vector<std::string> urls{group.url(), tls.urls[0], plain.url()};
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    client one(executor, urls);
    client two(executor, urls);
    co_await eventually("all are up", [&] { return one.stats().connects == 3 && two.stats().connects == 3; });
    const std::vector<redis_server*> servers{&group.master(), tls.servers[0].get(), &plain};
    const auto everywhere = [&](std::size_t keys) {
      return std::all_of(servers.begin(), servers.end(), [keys](redis_server* r) { return r->size() == keys; });
    };
    hold h = co_await mutex(one, "n").acquire();
    co_await eventually("every server has it", [&] { return everywhere(1); });
    asker next{any_lock(mutex(two, "n"))};
    next.acquire();
    co_await eventually("it has found it busy", [&] { return two.stats().contended == 1; });
    co_await h.release();
    co_await eventually("it is granted", [&] { return next.in(); });
    BOOST_TEST(next.got.fence() > h.fence());
    co_await next.got.release();
    // Any two of them are a majority, of those that have the hold: a client that was granted at once may have only two.
    co_await eventually("no server has it", [&] { return everywhere(0); });
    hold last = co_await mutex(two, "n").acquire();
    co_await eventually("every server has it again", [&] { return everywhere(1); });
    plain.kill();
    co_await last.extend(60s);
    BOOST_TEST(last.valid());
    co_await last.release();
    BOOST_TEST(servers[0]->size() == 0U);
    BOOST_TEST(servers[1]->size() == 0U);
    co_await one.close();
    co_await two.close();
  });
}

BOOST_AUTO_TEST_CASE(what_cannot_be_a_member_is_named) {
  for (const std::string scheme : {"redis+cluster", "rediss+cluster"}) {
    const std::string words = failure_of({"redis://a", scheme + "://u:secret@b,c", "redis://d"}, error::not_supported);
    BOOST_TEST(words.find("'" + scheme + "://***@b,c' in a quorum") != std::string::npos, words);
  }
  const std::string group = "redis+sentinel://a,b/m";
  const std::string words = failure_of({group, "redis://c", group}, error::invalid_url);
  BOOST_TEST(words.find("'" + group + "' is given twice") != std::string::npos, words);
  // However it is written.
  const std::vector<std::pair<std::string, std::string>> same{
      {"redis://a", "redis://a:6379/"},      {"redis://a", "redis://A"},
      {"redis://a", "redis://u:secret@a/3"}, {"redis://a:7", "rediss://a:7"},
      {"unix:///x", "unix:///x?db=2"},       {"redis+sentinel://a,b/m", "redis+sentinel://c,b/m"},
  };
  for (const auto& [one, other] : same) {
    const std::string said = failure_of({one, "redis://other", other}, error::invalid_url);
    BOOST_TEST(said.find("is given twice") != std::string::npos, said);
    BOOST_TEST(said.find("secret") == std::string::npos, said);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
