// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A cluster with TLS: what its locks do, and whose certificates are verified.
#include "protocol/slots.hpp"
#include "support/certificates.hpp"
#include "support/cluster_servers.hpp"
#include "support/kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace leasehold::test {

namespace {

struct deployment {
  certificates issued;
  cluster_servers cluster{3, 0, {}, issued.configuration("good")};

  deployment() {
    issued.issue("address", "IP:127.0.0.1");
    issued.issue("name", "DNS:localhost");
  }
};

// One for all of these tests: it takes seconds to start.
deployment& the_deployment() {
  static deployment d;
  return d;
}

struct with_tls_cluster {
  with_tls_cluster() {
    for (std::size_t i = 0; i < cluster.size(); ++i) cluster.node(i).command("FLUSHALL");
    show("good");
  }

  const certificates& issued = the_deployment().issued;
  cluster_servers& cluster = the_deployment().cluster;
  const std::string ca = "?ca=" + issued.authority();

  // From now on the nodes have this certificate, and tell of this name beside their addresses.
  void show(const std::string& certificate, const std::string& name = "") {
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      const auto files = issued.files(certificate);
      const reply r = cluster.node(i).command("CONFIG", "SET", "tls-cert-file", files.first, "tls-key-file",
                                              files.second, "cluster-announce-hostname", name);
      BOOST_REQUIRE_MESSAGE(r.text == "OK", r.text);
    }
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      wait_until("a node knows the names of all", [&] {
        const std::string text = cluster.node(i).command("CLUSTER", "NODES").text;
        std::size_t named = 0;
        for (auto at = text.find(",localhost"); at != text.npos; at = text.find(",localhost", at + 1)) ++named;
        return named == (name.empty() ? 0 : cluster.size());
      });
    }
  }

  std::int64_t in_queue(const std::string& record) {
    const std::string tag(detail::tag_of_slot(detail::slot_of(record)));
    return cluster.node(cluster.master_of(record)).command("ZCARD", "leasehold:{" + tag + "}:queue:" + record).integer;
  }

  awaitable<void> nothing_left() {
    co_await eventually("nothing is left", [this] {
      std::size_t n = 0;
      for (std::size_t i = 0; i < cluster.size(); ++i) n += cluster.node(i).size();
      return n == 0;
    });
  }

  awaitable<void> accepts(std::string url) {
    client c(co_await asio::this_coro::executor, url, patient());
    auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(!ec, url << ": " << c.last_failure());
    for (const auto* name : {"a", "b", "c"}) {
      hold h = co_await mutex(c, name).acquire();
      BOOST_TEST(h.valid());
      co_await h.release();
    }
    co_await c.close();
  }

  // For a reason with these words, which is told and stands in last_failure().
  awaitable<void> refuses(std::string url, std::string words) {
    bool told = false;
    bool connected = false;
    client_options o;
    o.observer = [&](const event& e) {
      if (e.what == event::kind::connected) connected = true;
      if (e.what == event::kind::unreachable && e.text.find(words) != e.text.npos) told = true;
    };
    client c(co_await asio::this_coro::executor, url, o);
    outcome ready;
    c.ready(ready.handler());
    co_await eventually("the reason is told", [&] { return told; });
    mutex lock(c, "n");
    auto [failed, none] = co_await lock.acquire({.wait = 50ms}, as_tuple);
    BOOST_TEST(failed == error::unreachable, url << ": " << failed.message());
    // The nodes are asked again and again.
    co_await pause(250ms);
    BOOST_TEST(!ready.ended(), url);
    BOOST_TEST(!connected, url);
    BOOST_TEST(c.last_failure().find(words) != std::string::npos, url << ": " << c.last_failure());
    co_await c.close();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(clusters_with_tls, with_tls_cluster)

BOOST_AUTO_TEST_CASE(locks_of_all_nodes_are_handed_over) {
  run([&]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    BOOST_TEST(cluster.url().starts_with("rediss+cluster://127.0.0.1:"));
    client one(executor, cluster.url() + ca);
    client two(executor, cluster.url() + ca);
    std::set<std::size_t> masters;
    std::uint64_t rounds = 0;
    for (const std::string name : {"a", "b", "c", "d", "e", "f"}) {
      masters.insert(cluster.master_of(name));
      hold h = co_await mutex(one, name).acquire();
      BOOST_TEST(cluster.node(cluster.master_of(name)).get(name).value().starts_with("leasehold:" + h.token()));
      asker next{any_lock(mutex(two, name))};
      next.acquire();
      co_await eventually("it waits in the queue", [&] { return in_queue(name) == 1; });
      co_await h.release();
      co_await eventually("it is granted", [&] { return next.in(); });
      BOOST_TEST(two.stats().handed_off == ++rounds);
      BOOST_TEST(next.got.fence() > h.fence());
      co_await next.got.release();
    }
    BOOST_TEST(masters.size() == 3U);
    co_await nothing_left();
    co_await one.close();
    co_await two.close();
  });
}

// Servers are added while the program runs. The files may be others by then, or gone for a while.
BOOST_AUTO_TEST_CASE(a_file_that_is_gone_is_named_and_read_when_it_is_back) {
  const temporary_folder folder;
  std::filesystem::copy_file(issued.authority(), folder / "ca.crt");
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, cluster.url() + "?ca=" + folder / "ca.crt");
    std::filesystem::remove(folder / "ca.crt");
    co_await eventually("it is named", [&] {
      return c.last_failure() ==
             "the certificate authority '" + folder / "ca.crt" + "' cannot be used: No such file or directory";
    });
    std::filesystem::copy_file(issued.authority(), folder / "ca.crt");
    co_await c.ready();
    for (const auto* name : {"a", "b", "c"}) {
      hold h = co_await mutex(c, name).acquire();
      co_await h.release();
    }
    co_await c.close();
  });
}

// MOVED and ASK lead to a node's port with TLS; its certificate is for its address, or for the name that it tells of.
BOOST_AUTO_TEST_CASE(a_slot_moves_under_a_hold_and_its_queue) {
  const std::string name = "n";
  const int slot = cluster_servers::slot_of(name);
  const auto from = [&] { return cluster.master_of(slot); };
  const auto to = [&] { return (cluster.master_of(slot) + 1) % 3; };
  for (const bool by_name : {false, true}) {
    show(by_name ? "name" : "address", by_name ? "localhost" : "");
    run([&]() -> awaitable<void> {
      const auto executor = co_await asio::this_coro::executor;
      const std::string url = cluster.url(by_name ? "localhost" : "127.0.0.1") + ca;
      client one(executor, url);
      client two(executor, url);
      client late(executor, url);
      co_await late.ready();
      hold h = co_await mutex(one, name).acquire();
      asker second{any_lock(mutex(two, name))};
      second.acquire();
      co_await eventually("it waits in the queue", [&] { return in_queue(name) == 1; });
      cluster.move_slot(slot, from(), to());
      co_await h.extend(40s);
      BOOST_TEST(h.valid());
      // Who has not been there for long is told the new node by the old one.
      mutex lock(late, name);
      auto none = co_await lock.try_acquire();
      BOOST_TEST(!none.has_value());
      co_await h.release();
      co_await eventually("it is granted", [&] { return second.in(); });
      BOOST_TEST(second.got.fence() > h.fence());

      // In the middle of another move the record alone is at the new node.
      const auto old = from();
      const auto next = to();
      cluster.begin_moving(slot, old, next);
      cluster.move_key(name, old, next);
      auto [extended] = co_await second.got.extend(50s, as_tuple);
      BOOST_TEST(!extended, extended.message());
      BOOST_TEST(cluster.node(next).command("ASKING").text == "OK");
      BOOST_TEST(cluster.node(next).ttl(name) > 40000);
      auto [released] = co_await second.got.release(as_tuple);
      BOOST_TEST(!released, released.message());
      cluster.move_keys(slot, old, next);
      cluster.end_moving(slot, old, next);
      co_await nothing_left();
      for (const client* c : {&one, &two, &late}) {
        BOOST_TEST(c->stats().lost == 0U);
        co_await c->close();
      }
    });
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_authority_is_refused) {
  run([&]() -> awaitable<void> {
    const std::string words = "the certificate of '127.0.0.1' is refused: self-signed certificate in certificate chain";
    const certificates another;
    co_await refuses(cluster.url() + "?ca=" + another.authority(), words);
    // The system's authorities do not know ours.
    co_await refuses(cluster.url(), words);
    co_await accepts(cluster.url() + "?insecure=1");
  });
}

// The seeds are verified by what the URL says, the nodes by what CLUSTER NODES says.
BOOST_AUTO_TEST_CASE(a_certificate_is_for_what_the_nodes_are_known_by) {
  const auto verdicts = [&](bool address, bool name) {
    run([&]() -> awaitable<void> {
      const std::string words = "' is refused: hostname mismatch";
      if (address)
        co_await accepts(cluster.url("127.0.0.1") + ca);
      else
        co_await refuses(cluster.url("127.0.0.1") + ca, "the certificate of '127.0.0.1" + words);
      if (name)
        co_await accepts(cluster.url("localhost") + ca);
      else
        co_await refuses(cluster.url("localhost") + ca, "hostname mismatch");
      co_await accepts(cluster.url("localhost") + "?insecure=1");
    });
  };
  // For the name alone: the seeds are believed, but they send the client to addresses.
  show("name");
  verdicts(false, false);
  show("name", "localhost");
  verdicts(false, true);
}

// The others go on, and it is told why this one does not.
BOOST_AUTO_TEST_CASE(one_node_with_the_wrong_certificate) {
  const auto files = issued.files("other");
  const reply r = cluster.node(0).command("CONFIG", "SET", "tls-cert-file", files.first, "tls-key-file", files.second);
  BOOST_REQUIRE_MESSAGE(r.text == "OK", r.text);
  run([&]() -> awaitable<void> {
    std::vector<std::string> told;
    client_options o;
    o.observer = [&](const event& e) {
      if (e.what == event::kind::unreachable) told.emplace_back(e.text);
    };
    client c(co_await asio::this_coro::executor, cluster.url() + ca, o);
    co_await c.ready();
    std::set<std::size_t> masters;
    for (int i = 0; masters.size() < 3; ++i) {
      const std::string name = "n" + std::to_string(i);
      const std::size_t master = cluster.master_of(name);
      if (!masters.insert(master).second) continue;
      mutex lock(c, name);
      acquire_options once;
      if (master == 0) once.wait = 50ms;
      auto [ec, h] = co_await lock.acquire(once, as_tuple);
      BOOST_TEST(ec == (master == 0 ? make_error_code(error::unreachable) : error_code()), ec.message());
    }
    const std::string words = fmt::format("127.0.0.1:{}: the certificate of '127.0.0.1' is refused: hostname mismatch",
                                          cluster.node(0).second_port());
    // The other masters are connected, so none of them makes the client forget it from now on.
    co_await eventually("the reason is told", [&] { return c.last_failure() == words; });
    const auto before = static_cast<std::ptrdiff_t>(told.size()) - 1;
    co_await pause(100ms);
    BOOST_TEST((std::adjacent_find(told.begin() + before, told.end()) == told.end()), "a reason is told twice");
    // It is found out soon that it has another one.
    show("good");
    mutex lock(c, "n");
    for (int i = 0; cluster.master_of(lock.name()) != 0; ++i) lock = mutex(c, "n" + std::to_string(i));
    hold h = co_await lock.acquire();
    BOOST_TEST(h.valid());
    BOOST_TEST(c.last_failure() == "");
    co_await h.release();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(an_expired_certificate_is_told_for_each_node) {
  const auto files = issued.files("expired");
  run([&]() -> awaitable<void> {
    std::vector<std::string> told;
    client_options o;
    o.idle_timeout = forever;
    o.observer = [&told](const event& e) {
      if (e.what == event::kind::credentials) told.emplace_back(e.text);
    };
    client c(co_await asio::this_coro::executor, cluster.url() + ca + "&cert=" + files.first + "&key=" + files.second,
             o);
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      const std::string words =
          fmt::format("127.0.0.1:{}: the certificate '{}' has expired", cluster.node(i).second_port(), files.first);
      co_await eventually("it is told", [&] { return std::find(told.begin(), told.end(), words) != told.end(); });
    }
    // No node minds.
    co_await c.ready();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(a_node_without_tls_is_no_node_with_it) {
  run([&]() -> awaitable<void> {
    const std::string with = "rediss+cluster://127.0.0.1:" + std::to_string(cluster.node(0).port()) + ca;
    const std::string without = "redis+cluster://127.0.0.1:" + std::to_string(cluster.node(0).second_port());
    for (const auto* url : {&with, &without}) {
      client_options o;
      o.connect_timeout = 300ms;
      client c(co_await asio::this_coro::executor, *url, o);
      auto [ec] = co_await c.ready(as_tuple);
      BOOST_TEST(ec == error::unreachable, *url << ": " << ec.message());
      BOOST_TEST(c.last_failure() != "");
      co_await c.close();
    }
    // The ports without it are there, too.
    co_await accepts("redis+cluster://127.0.0.1:" + std::to_string(cluster.node(0).port()));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
