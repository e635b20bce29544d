// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// client_options::credentials: when it is asked, what becomes of its answers, and of its failures.
#include "support/hostile_server.hpp"
#include "support/sentinel_group.hpp"
#include "support/with_redis.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold::test {

namespace {

// A server that lets in nobody but this user, and what a client was told.
struct with_user {
  with_user() {
    redis.command("ACL", "SETUSER", "locker", "on", ">first", "~*", "&*", "+@all");
    o.reconnect = {.first = 5ms, .max = 50ms, .factor = 2.0, .jitter = 0.5};
    o.idle_timeout = forever;
    o.observer = [this](const event& e) {
      if (e.what == event::kind::unreachable || e.what == event::kind::credentials || e.what == event::kind::refused) {
        texts.push_back(std::string(to_string(e.what)) + ": " + std::string(e.text));
      }
    };
  }
  bool was_told(std::string_view words) const {
    return std::any_of(texts.begin(), texts.end(), [&](const std::string& t) { return t.find(words) != t.npos; });
  }

  redis_server redis;
  client_options o;
  std::vector<std::string> texts;
  int asked = 0;
};

std::chrono::steady_clock::time_point from_now(std::chrono::milliseconds d) {
  return std::chrono::steady_clock::now() + d;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(credentials_by_a_function, with_user)

BOOST_AUTO_TEST_CASE(it_is_asked_before_each_connection) {
  std::vector<std::string> servers;
  o.credentials = [&](const credentials_request& r, const credentials_handler& done) {
    servers.push_back(r.server);
    BOOST_TEST((r.of == credentials_request::role::server));
    done(credentials("locker", ++asked == 1 ? "first" : "second"));
  };
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.tcp_url(), o);
    hold h = co_await mutex(c, "n").acquire();
    BOOST_TEST(asked == 1);
    redis.command("ACL", "SETUSER", "locker", "<first", ">second");
    redis.command("CLIENT", "KILL", "USER", "locker");
    co_await eventually("it is connected again", [&] { return c.stats().connects == 2; });
    BOOST_TEST(asked == 2);
    BOOST_TEST(h.valid());
    co_await h.release();
    co_await c.close();
  });
  BOOST_TEST(servers == std::vector<std::string>(2, "127.0.0.1:" + std::to_string(redis.port())),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_unix_socket_is_named_by_its_path) {
  std::string server;
  o.credentials = [&](const credentials_request& r, const credentials_handler& done) {
    server = r.server;
    done(credentials("locker", "first"));
  };
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.url(), o);
    co_await c.ready();
    co_await c.close();
  });
  BOOST_TEST(server == redis.socket_path());
}

BOOST_AUTO_TEST_CASE(a_living_connection_is_authenticated_anew_before_the_credentials_expire) {
  redis.command("ACL", "SETUSER", "other", "on", ">second", "~*", "&*", "+@all");
  o.credentials = [&](const credentials_request&, const credentials_handler& done) {
    ++asked;
    done(asked == 1 ? credentials("locker", "first", from_now(1500ms)) : credentials("other", "second"));
  };
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.tcp_url(), o);
    hold h = co_await mutex(c, "n").acquire();
    co_await eventually("the connection is the other user's", [&] {
      const std::string clients = redis.command("CLIENT", "LIST").text;
      return contains(clients, "user=other") && !contains(clients, "user=locker");
    });
    BOOST_TEST(asked == 2);
    BOOST_TEST(c.stats().connects == 1U);
    BOOST_TEST(h.valid());
    // It still listens.
    client b(co_await asio::this_coro::executor, redis.url());
    hold theirs = co_await mutex(b, "m").acquire();
    std::optional<hold> ours;
    mutex(c, "m").acquire([&](error_code ec, hold got) {
      BOOST_TEST(!ec);
      ours = std::move(got);
    });
    co_await eventually("it waits", [&] { return c.stats().contended == 1; });
    co_await theirs.release();
    co_await eventually("it is granted the lock", [&] { return ours.has_value(); });
    BOOST_TEST(c.stats().handed_off == 1U);
    co_await h.release();
    co_await c.close();
    co_await b.close();
  });
  BOOST_TEST(texts.empty());
}

BOOST_AUTO_TEST_CASE(the_connection_that_waits_for_replicas_is_authenticated_anew_too) {
  redis.command("ACL", "SETUSER", "other", "on", ">second", "~*", "&*", "+@all");
  o.credentials = [&](const credentials_request&, const credentials_handler& done) {
    ++asked;
    done(asked <= 2 ? credentials("locker", "first", from_now(2500ms)) : credentials("other", "second"));
  };
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.tcp_url(), o);
    const acquire_options options{.wait = 300ms, .replicas = 1};
    const auto [ec, h] = co_await mutex(c, "n").acquire(options, as_tuple);
    BOOST_TEST(ec == error::no_quorum);
    co_await eventually("both connections are the other user's", [&] {
      const std::string clients = redis.command("CLIENT", "LIST").text;
      const auto first = clients.find("user=other");
      return first != clients.npos && clients.find("user=other", first + 1) != clients.npos &&
             !contains(clients, "user=locker");
    });
    BOOST_TEST(c.stats().connects == 1U);
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(its_failures_are_told_and_it_is_asked_again) {
  o.credentials = [&](const credentials_request&, const credentials_handler& done) {
    switch (++asked) {
      case 1: throw std::runtime_error("the vault is sealed");
      case 2: return done(make_error_code(boost::system::errc::timed_out));
      case 3: return done("there is no token");
      case 4: return done(std::make_exception_ptr(std::runtime_error("no such role")));
      default: return done(credentials("locker", "first"));
    }
  };
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.tcp_url(), o);
    co_await c.ready();
    BOOST_TEST(asked == 5);
    BOOST_TEST(c.last_failure() == "");
    co_await c.close();
  });
  const std::string begin = "unreachable: no credentials: ";
  const std::vector<std::string> expected{begin + "the vault is sealed", begin + "Connection timed out",
                                          begin + "there is no token", begin + "no such role"};
  BOOST_TEST(texts == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(without_an_answer_the_store_is_unreachable) {
  o.connect_timeout = 200ms;
  std::vector<credentials_handler> late;
  o.credentials = [&](const credentials_request&, const credentials_handler& done) {
    late.push_back(done);
    // An answer to a request that was given up does not count for the next one.
    if (late.size() == 2) late.front()(credentials("locker", "first"));
  };
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.tcp_url(), o);
    const auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::unreachable);
    co_await eventually("it is told", [&] { return c.last_failure() == "no credentials: no answer"; });
    co_await eventually("it is asked again", [&] { return late.size() > 2; });
    BOOST_TEST(c.stats().connects == 0U);
    late.back()(credentials("locker", "first"));
    late.back()("only the first word counts");
    co_await eventually("it is connected", [&] { return c.stats().connects == 1; });
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(it_may_answer_from_another_thread) {
  std::vector<std::thread> threads;
  o.credentials = [&](const credentials_request&, credentials_handler done) {
    threads.emplace_back([done = std::move(done)] { done(credentials("locker", "first")); });
  };
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.tcp_url(), o);
    co_await c.ready();
    co_await c.close();
  });
  for (auto& t : threads) t.join();
}

BOOST_AUTO_TEST_CASE(an_answer_after_the_end_of_everything_is_dropped) {
  std::optional<credentials_handler> kept;
  {
    asio::io_context context;
    o.credentials = [&](const credentials_request&, const credentials_handler& done) { kept = done; };
    const client c(context, redis.tcp_url(), o);
    context.run_for(50ms);
    BOOST_TEST_REQUIRE(kept.has_value());
  }
  (*kept)(credentials("locker", "first"));
}

BOOST_AUTO_TEST_CASE(a_coroutine_may_give_them) {
  o.credentials = credentials_from([&, name = std::string("locker")](credentials_request r) -> awaitable<credentials> {
    asio::steady_timer work(co_await asio::this_coro::executor, 5ms);
    co_await work.async_wait(asio::use_awaitable);
    if (++asked == 1) throw std::runtime_error("not yet for " + r.server);
    co_return credentials(name, "first");
  });
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.tcp_url(), o);
    co_await c.ready();
    co_await c.close();
  });
  BOOST_TEST(was_told("unreachable: no credentials: not yet for 127.0.0.1:" + std::to_string(redis.port())));
  BOOST_TEST(asked == 2);
}

// What it gives may be out of date by then: the next answer may be right. So no operation ends with refused.
BOOST_AUTO_TEST_CASE(a_wrong_password_is_asked_for_again_and_refuses_nobody) {
  o.credentials = [&](const credentials_request&, const credentials_handler& done) {
    done(credentials("locker", ++asked < 4 ? "wrong" : "first"));
  };
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.tcp_url(), o);
    hold h = co_await mutex(c, "n").acquire();
    BOOST_TEST(h.valid());
    BOOST_TEST(asked == 4);
    BOOST_TEST(c.stats().refused == 0U);
    co_await h.release();
    co_await c.close();
  });
  BOOST_TEST(texts.size() == 1U);
  BOOST_TEST(was_told("unreachable: WRONGPASS"));
}

BOOST_AUTO_TEST_CASE(new_credentials_that_are_refused_or_missing_are_told_and_the_connection_goes_on) {
  o.credentials = [&](const credentials_request&, const credentials_handler& done) {
    switch (++asked) {
      case 1: return done(credentials("locker", "first", from_now(0ms)));
      case 2:
      case 3: return done(credentials("locker", "wrong"));
      case 4:
      case 5: return done("there is no token");
      // Those of the default user, for whom any password will do here.
      case 6: return done(credentials("", "any", from_now(0ms)));
      case 7: return done("there is no token");
      default: return done(credentials("locker", "first"));
    }
  };
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.tcp_url(), o);
    hold h = co_await mutex(c, "n").acquire();
    co_await eventually("it is asked until it gives the right ones", [&] { return asked == 8; });
    co_await pause(300ms);
    BOOST_TEST(asked == 8);
    BOOST_TEST(h.valid());
    BOOST_TEST(c.stats().connects == 1U);
    BOOST_TEST(c.stats().refused == 0U);
    co_await h.release();
    co_await c.close();
  });
  // A failure is told again if there was none in between.
  BOOST_TEST_REQUIRE(texts.size() == 3U);
  BOOST_TEST(texts[0].starts_with("credentials: the server refuses the new credentials: WRONGPASS"));
  BOOST_TEST(texts[1] == "credentials: no credentials: there is no token");
  BOOST_TEST(texts[2] == texts[1]);
}

BOOST_AUTO_TEST_CASE(new_credentials_that_do_not_come_are_told_and_asked_for_again) {
  o.connect_timeout = 300ms;
  const std::string words = "credentials: no credentials: no answer";
  bool is_up = false, is_renewed = false;
  std::vector<credentials_handler> unanswered;
  o.credentials = [&](const credentials_request&, const credentials_handler& done) {
    if (!is_up) return done(credentials("locker", "first", from_now(0ms)));
    if (!was_told(words)) return unanswered.push_back(done);
    is_renewed = true;
    done(credentials("locker", "first"));
  };
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, redis.tcp_url(), o);
    co_await eventually("it is connected", [&] { return c.stats().connects == 1; });
    is_up = true;
    co_await eventually("it is told, and asked again", [&] { return is_renewed; });
    BOOST_TEST(unanswered.size() == 1U);
    BOOST_TEST(c.stats().connects == 1U);
    co_await c.close();
  });
}

// A proxy may end what was authenticated, and leave the connection as it is.
BOOST_AUTO_TEST_CASE(a_living_connection_that_is_locked_out_is_made_anew) {
  bool is_out = false;
  int granted = 0;
  hostile_server server([&](const std::vector<std::string>& w) -> hostile_server::answer {
    if (w[0] == "HELLO") is_out = false;
    if (w[0] == "EVALSHA" && std::exchange(is_out, granted++ == 0)) return {"-NOAUTH Authentication required.\r\n"};
    if (w[0] == "EVALSHA" && is_out) return {"-NOAUTH Authentication required.\r\n"};
    if (w[0] == "EVALSHA") return {"-LOADING not yet\r\n"};
    return hostile_server::polite(w);
  });
  o.credentials = [&](const credentials_request&, const credentials_handler& done) {
    ++asked;
    done(credentials("locker", "first"));
  };
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, server.url(), o);
    const acquire_options options{.wait = 500ms};
    const auto [ec, h] = co_await mutex(c, "n").acquire(options, as_tuple);
    BOOST_TEST(ec == error::unreachable);
    // By now, or later on a machine that stands still.
    co_await eventually("it is made anew", [&] { return c.stats().connects >= 2; });
    BOOST_TEST(c.stats().connects == 2U);
    BOOST_TEST(c.stats().refused == 0U);
    co_await c.close(as_tuple);
  });
  BOOST_TEST(asked == 2);
}

BOOST_AUTO_TEST_CASE(what_it_gave_is_not_shown_even_if_it_was_long_ago) {
  hostile_server server([&](const std::vector<std::string>& w) -> hostile_server::answer {
    // It repeats every password that it was sent so far.
    if (w[0] == "TIME") return {"-NOPERM first-secret second-secret third-secret\r\n"};
    return hostile_server::polite(w);
  });
  o.credentials = [&](const credentials_request&, const credentials_handler& done) {
    static const char* const passwords[] = {"first-secret", "second-secret", "third-secret"};
    done(credentials("locker", passwords[std::min(asked++, 2)]));
  };
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, server.url(), o);
    co_await eventually("it is refused with all of them", [&] { return texts.size() > 5; });
    BOOST_TEST(c.last_refusal() == "NOPERM *** *** ***");
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(a_url_with_a_password_and_a_function_exclude_each_other) {
  o.credentials = [](const credentials_request&, const credentials_handler&) {};
  asio::io_context context;
  for (const std::string url : {"redis://:secret@h", "redis+cluster://u:p@h", "redis+sentinel://u:p@h/m"}) {
    std::string what;
    try {
      client c(context, url, o);
    } catch (const exception& e) {
      BOOST_TEST(e.code() == error::invalid_option);
      BOOST_TEST(e.option() == "client_options::credentials");
      what = e.what();
    }
    BOOST_TEST(what.find("has a password, too") != what.npos, what);
    BOOST_TEST(what.find("secret") == what.npos, what);
  }
}

BOOST_AUTO_TEST_CASE(sentinels_are_asked_for_unless_the_url_has_their_password) {
  sentinel_group::settings s;
  s.replicas = 0;
  s.sentinels = 1;
  s.server_password = "of-the-server";
  s.sentinel_password = "of-the-sentinel";
  sentinel_group group(s);
  std::vector<std::string> of_sentinels;
  const auto is_others = [&] { return contains(group.sentinel(0).command("CLIENT", "LIST").text, "user=other"); };
  bool was_others = false;
  o.credentials = [&](const credentials_request& r, const credentials_handler& done) {
    if (r.of == credentials_request::role::server) return done(credentials("", "of-the-server"));
    of_sentinels.push_back(r.server);
    switch (of_sentinels.size()) {
      case 1: return done(credentials("", "wrong"));  // That is no refusal.
      case 2: return done(credentials("", "of-the-sentinel", from_now(1500ms)));
      case 3: return done(credentials("other", "x", from_now(0ms)));
      default: was_others = was_others || is_others(); return done(credentials("", "of-the-sentinel"));
    }
  };
  group.sentinel(0).command("ACL", "SETUSER", "other", "on", ">x", "~*", "&*", "+@all");
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, group.url(), o);
    co_await c.ready();
    BOOST_TEST(c.stats().refused == 0U);
    co_await eventually("the connection to the Sentinel is the other user's, and then the default user's",
                        [&] { return was_others && !is_others(); });
    BOOST_TEST(of_sentinels.size() == 4U);
    BOOST_TEST(c.stats().connects == 1U);
    co_await c.close();
  });
  BOOST_TEST(of_sentinels.front() == "127.0.0.1:" + std::to_string(group.sentinel(0).port()));
  of_sentinels.clear();
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, group.url() + "?sentinel_password=of-the-sentinel", o);
    co_await c.ready();
    co_await c.close();
  });
  BOOST_TEST(of_sentinels.empty());
}

BOOST_AUTO_TEST_CASE(a_sentinel_for_which_there_is_no_answer_is_named) {
  sentinel_group::settings s;
  s.replicas = 0;
  s.sentinels = 1;
  sentinel_group group(s);
  o.connect_timeout = 200ms;
  std::vector<credentials_handler> late;
  o.credentials = [&](const credentials_request&, const credentials_handler& done) { late.push_back(done); };
  const std::string why =
      "Sentinel 127.0.0.1:" + std::to_string(group.sentinel(0).port()) + ": no credentials: no answer";
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, group.url(), o);
    const auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::unreachable);
    co_await eventually("it is told", [&] { return c.last_failure() == why; });
    co_await c.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
