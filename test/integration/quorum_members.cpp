// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// What may be a member of a quorum besides a plain server, and members that refuse.
#include "support/certificates.hpp"
#include "support/kinds.hpp"
#include "support/quorum_servers.hpp"
#include "support/sentinel_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(quorum_members)

namespace {

struct three_members : quorum_servers {
  three_members() : quorum_servers(3) {}
};

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

// How a member says no to everything that writes, and how it stops that.
struct refusal {
  const char* name;
  std::vector<std::string> words;  // One of them stands at the beginning of what it says, or in it.
  std::function<void(redis_server&)> begin;
  std::function<void(redis_server&)> end;

  bool is_in(const std::string& said) const {
    return std::any_of(words.begin(), words.end(), [&](const auto& w) { return said.find(w) != said.npos; });
  }
};

const std::vector<refusal> refusals{
    {"no memory",
     {"OOM "},
     [](redis_server& s) { s.command("CONFIG", "SET", "maxmemory", "1"); },
     [](redis_server& s) { s.command("CONFIG", "SET", "maxmemory", "0"); }},
    {"no right",
     {"NOPERM", "has no permissions", "can't run this command"},
     [](redis_server& s) { s.command("ACL", "SETUSER", "app", "-set", "-pexpire", "-hset", "-del"); },
     [](redis_server& s) { s.command("ACL", "SETUSER", "app", "+set", "+pexpire", "+hset", "+del"); }},
    {"a replica",
     {"READONLY "},
     // Of a master that is away, so it keeps what it has.
     [](redis_server& s) { s.command("REPLICAOF", "127.0.0.1", std::to_string(free_port())); },
     [](redis_server& s) { s.command("REPLICAOF", "NO", "ONE"); }},
};

// Members whose clients are a user of theirs.
struct with_users : three_members {
  with_users() {
    for (const auto& s : servers) {
      s->command("ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all");
      users_urls.push_back("unix://app:secret@" + s->socket_path());
    }
  }
  std::vector<std::string> users_urls;
};

struct watch {
  explicit watch(const hold& h) {
    h.lost([this](error_code e) { ec = e; });
  }
  watch(const watch&) = delete;
  std::optional<error_code> ec;
  bool told() const { return ec.has_value(); }
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
      co_await eventually("it is let in", [&] { return next.in(); });
      BOOST_TEST(next.got.fence() > h.fence());
      co_await next.got.release();
    }
    for (const auto& s : all.servers) BOOST_TEST(s->size() == 0U);
    co_await one.close();
    co_await two.close();
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
    co_await eventually("it is let in", [&] { return next.in(); });
    BOOST_TEST(next.got.fence() > h.fence());
    co_await next.got.release();
    // Any two of them are a majority, of those that have the hold: whoever was let in at once may have only two.
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

// A majority says why, and the minority that has granted gives it back.
BOOST_AUTO_TEST_CASE(a_majority_that_refuses_is_refused_and_leaves_nothing) {
  for (const auto& r : refusals) {
    BOOST_TEST_CONTEXT(r.name) {
      with_users all;
      run([&]() -> awaitable<void> {
        client c(co_await asio::this_coro::executor, all.users_urls);
        co_await eventually("all are up", [&] { return c.stats().connects == 3; });
        const std::vector<any_lock> locks{mutex(c, "n"), recursive_mutex(c, "n", "o"), shared_mutex(c, "n"),
                                          shared_mutex(c, "n").shared()};
        for (std::size_t granting = 0; granting < 3; ++granting) {
          for (std::size_t i = 0; i < 3; ++i) i == granting ? r.end(all[i]) : r.begin(all[i]);
          const auto refused = c.stats().refused;
          for (const auto& lock : locks) {
            asker a{lock};
            a.acquire();
            co_await eventually("it has an answer", [&] { return a.ended(); });
            BOOST_TEST(*a.ec == error::refused, a.ec->message());
            BOOST_TEST(r.is_in(c.last_refusal()), c.last_refusal());
            a.try_acquire();
            co_await eventually("it has an answer", [&] { return a.ended(); });
            BOOST_TEST(*a.ec == error::refused, a.ec->message());
            co_await all.nothing_left();
          }
          BOOST_TEST(c.stats().refused >= refused + 8);
        }
        // It is not for ever.
        for (const auto& s : all.servers) r.end(*s);
        hold h = co_await mutex(c, "n").acquire();
        BOOST_TEST(h.valid());
        co_await h.release();
        co_await all.nothing_left();
        co_await c.close();
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(a_minority_that_refuses_is_in_nobodys_way) {
  for (const auto& r : refusals) {
    BOOST_TEST_CONTEXT(r.name) {
      with_users all;
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client one(executor, all.users_urls);
        client two(executor, all.users_urls);
        co_await eventually("all are up", [&] { return one.stats().connects == 3 && two.stats().connects == 3; });
        std::uint64_t last = 0;
        for (std::size_t refusing = 0; refusing < 3; ++refusing) {
          for (std::size_t i = 0; i < 3; ++i) i == refusing ? r.begin(all[i]) : r.end(all[i]);
          hold h = co_await mutex(one, "n").acquire();
          BOOST_TEST(h.fence() > last);
          BOOST_TEST(!all[refusing].get("n"));
          mutex lock(two, "n");
          auto none = co_await lock.try_acquire();
          BOOST_TEST(!none.has_value());
          co_await h.extend(40s);
          BOOST_TEST(h.valid());
          asker next{any_lock(lock)};
          next.acquire();
          co_await turn(10);
          BOOST_TEST(!next.ended());
          co_await h.release();
          co_await eventually("it is let in", [&] { return next.in(); });
          last = next.got.fence();
          BOOST_TEST(last > h.fence());
          co_await next.got.release();
          co_await all.nothing_left();
        }
        BOOST_TEST(one.stats().lost == 0U);
        co_await one.close();
        co_await two.close();
      });
    }
  }
}

// Where memory is short leases are renewed and locks given back all the same. Where nothing may be written any more the
// hold is lost at its deadline, and not before.
BOOST_AUTO_TEST_CASE(a_majority_that_begins_to_refuse_under_a_hold) {
  for (const auto& r : refusals) {
    BOOST_TEST_CONTEXT(r.name) {
      with_users all;
      run([&]() -> awaitable<void> {
        client c(co_await asio::this_coro::executor, all.users_urls);
        co_await eventually("all are up", [&] { return c.stats().connects == 3; });
        hold kept = co_await mutex(c, "kept").acquire();
        hold h = co_await mutex(c, "n").acquire({.lease = 900ms});
        watch w(h);
        r.begin(all[0]);
        r.begin(all[2]);
        if (r.words.front() == "OOM ") {
          const auto renewed = c.stats().renewed;
          co_await eventually("it is renewed", [&] { return c.stats().renewed > renewed || w.told(); });
          co_await kept.extend(60s);
          BOOST_TEST(kept.valid());
          co_await kept.release();
          h = hold();
          co_await all.nothing_left();
        } else {
          auto [extended] = co_await kept.extend(60s, as_tuple);
          BOOST_TEST(extended == error::refused, extended.message());
          BOOST_TEST(r.is_in(c.last_refusal()), c.last_refusal());
          co_await eventually("the loss is told", [&] { return w.told(); });
          BOOST_TEST(!*w.ec);
          BOOST_TEST(!h.valid());
          BOOST_TEST(c.stats().lost == 1U);
          h = hold();
          co_await eventually("nothing is left of it", [&] { return all.with("n") == 0; });
          auto [released] = co_await kept.release(as_tuple);
          BOOST_TEST(released == error::refused, released.message());
          BOOST_TEST(!all[1].get("kept"));
        }
        co_await c.close();
      });
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
