// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Members of a quorum that refuse.
#include "simulation/with_memory.hpp"
#include "support/kinds.hpp"

#include <functional>
#include <string>
#include <vector>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(quorum_members)

namespace {

// How a member says no to everything that writes, and how it stops that.
struct refusal {
  const char* name;
  std::string words;  // In what it says.
  std::function<void(memory_server&)> begin;
  std::function<void(memory_server&)> end;

  bool is_in(const std::string& said) const { return said.find(words) != said.npos; }
};

const std::vector<refusal> refusals{
    {"no memory", "OOM ", [](memory_server& s) { s.command("CONFIG", "SET", "maxmemory", "1"); },
     [](memory_server& s) { s.command("CONFIG", "SET", "maxmemory", "0"); }},
    {"no right", "can't run this command",
     [](memory_server& s) {
       s.server().data().set_refusal_of_writes(
           "ERR The user executing the script can't run this command or subcommand");
     },
     [](memory_server& s) { s.server().data().set_refusal_of_writes(""); }},
    {"a replica", "READONLY ",
     // Of a master that is away, so it keeps what it has.
     [](memory_server& s) { s.command("REPLICAOF", "127.0.0.1", "1"); },
     [](memory_server& s) { s.command("REPLICAOF", "NO", "ONE"); }},
};

struct watch {
  explicit watch(const hold& h) {
    h.lost([this](error_code e) { ec = e; });
  }
  watch(const watch&) = delete;
  std::optional<error_code> ec;
  bool notified() const { return ec.has_value(); }
};

}  // namespace

// A majority says why, and the minority that has granted releases it.
BOOST_AUTO_TEST_CASE(a_majority_that_refuses_is_refused_and_leaves_nothing) {
  for (const auto& r : refusals) {
    BOOST_TEST_CONTEXT(r.name) {
      memory_quorum all(3);
      run([&]() -> awaitable<void> {
        client c(co_await asio::this_coro::executor, all.urls());
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
      memory_quorum all(3);
      run([&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client one(executor, all.urls());
        client two(executor, all.urls());
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
          co_await pause(1s);
          BOOST_TEST(!next.ended());
          co_await h.release();
          co_await eventually("it is granted", [&] { return next.in(); });
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

// Where memory is short leases are renewed and locks released all the same. Where nothing may be written any more the
// hold is lost at its deadline, and not before.
BOOST_AUTO_TEST_CASE(a_majority_that_begins_to_refuse_under_a_hold) {
  for (const auto& r : refusals) {
    BOOST_TEST_CONTEXT(r.name) {
      memory_quorum all(3);
      run([&]() -> awaitable<void> {
        client c(co_await asio::this_coro::executor, all.urls());
        co_await eventually("all are up", [&] { return c.stats().connects == 3; });
        hold kept = co_await mutex(c, "kept").acquire();
        hold h = co_await mutex(c, "n").acquire({.lease = 900ms});
        watch w(h);
        r.begin(all[0]);
        r.begin(all[2]);
        if (r.words == "OOM ") {
          const auto renewed = c.stats().renewed;
          co_await eventually("it is renewed", [&] { return c.stats().renewed > renewed || w.notified(); });
          co_await kept.extend(60s);
          BOOST_TEST(kept.valid());
          co_await kept.release();
          h = hold();
          co_await all.nothing_left();
        } else {
          auto [extended] = co_await kept.extend(60s, as_tuple);
          BOOST_TEST(extended == error::refused, extended.message());
          BOOST_TEST(r.is_in(c.last_refusal()), c.last_refusal());
          co_await eventually("the loss is reported", [&] { return w.notified(); });
          BOOST_TEST(!*w.ec);
          BOOST_TEST(!h.valid());
          BOOST_TEST(c.stats().lost == 1U);
          h = hold();
          co_await eventually("nothing is left of it", [&] { return all.with("n") == 0; });
          auto [released] = co_await kept.release(as_tuple);
          BOOST_TEST(released == error::refused, released.message());
          BOOST_TEST(!all[1].get("kept"));
        }
        // The client goes on with a release that may be carried out later.
        if (r.words == "READONLY ") {
          r.end(all[0]);
          r.end(all[2]);
          co_await eventually("it is released", [&] { return all.with("kept") == 0; });
        }
        co_await c.close();
      });
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
