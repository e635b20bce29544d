// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Servers that mean harm: what they say is checked, bounded and told.
#include "support/child.hpp"
#include "support/hostile_server.hpp"
#include "support/with_redis.hpp"

#include "time/clock.hpp"

#include <leasehold/admin.hpp>
#include <leasehold/credentials.hpp>

#include <algorithm>
#include <charconv>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(hostile)

namespace {

using words = std::vector<std::string>;

client_options quick() {
  client_options o;
  o.connect_timeout = 2s;
  o.command_timeout = 1s;
  o.reconnect = {.first = 5ms, .max = 50ms, .factor = 2.0, .jitter = 0.5};
  return o;
}

// Lets every client in, and answers scripts with this.
hostile_server::script to_scripts(hostile_server::answer a) {
  return [a](const words& w) { return w[0] == "EVALSHA" || w[0] == "EVAL" ? a : hostile_server::polite(w); };
}

// Answers this command so, and is polite otherwise.
hostile_server::script to(std::string command, hostile_server::answer a) {
  return [command, a](const words& w) { return w[0] == command ? a : hostile_server::polite(w); };
}

hostile_server::answer and_close(hostile_server::answer a) {
  a.close = true;
  return a;
}

hostile_server::answer flood(std::string begin, std::string piece) {
  hostile_server::answer a(std::move(begin));
  a.flood = std::move(piece);
  a.flood_of = std::size_t{256} << 20;
  return a;
}

std::string nodes(std::size_t number, unsigned short port) {
  std::string text = "0 127.0.0.1:" + std::to_string(port) + "@1 myself,master - 0 0 1 connected 0-16383\n";
  for (std::size_t i = 1; i < number; ++i) {
    text += std::to_string(i) + " 127.0.0.1:" + std::to_string(i) + "@1 slave 0 0 0 1 connected\n";
  }
  return text;
}

// The most memory that this process has had, in MiB.
std::size_t most_memory() {
  std::ifstream in("/proc/self/status");
  std::size_t kilobytes = 0;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("VmHWM:")) continue;
    const auto digits = line.find_first_of("0123456789");
    std::from_chars(line.data() + digits, line.data() + line.size(), kilobytes);
  }
  return kilobytes / 1024;
}

// A process of its own acquires a lock, and says what came of it: MiB, the error, the reason.
const child_program victim("victim", [](const std::vector<std::string>& arguments) {
  run([&]() -> awaitable<void> {
    client_options o = quick();
    o.reconnect = {.first = 200ms, .max = 200ms, .factor = 1.0, .jitter = 0.0};
    client c(co_await asio::this_coro::executor, arguments[0], o);
    // Long enough for an attempt on a machine that stands still for three seconds.
    const acquire_options options{.wait = 5s};
    const auto [ec, h] = co_await mutex(c, "n").acquire(options, as_tuple);
    say(std::to_string(most_memory()));
    say(ec.message());
    say(c.last_failure());
    co_await c.close(as_tuple);
  });
  return 0;
});

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool memory_is_known = false;
#else
constexpr bool memory_is_known = true;
#endif

struct trial {
  trial(std::string name, hostile_server::script script)
      : what(std::move(name)), server(std::move(script)), process(victim.command({server.url()})) {}
  std::string what;
  hostile_server server;
  child process;
};

// Each takes some seconds, most of them pauses: they run side by side.
void all_survive(std::deque<trial>& trials) {
  for (auto& t : trials) {
    const auto memory = t.process.read_line();
    const auto error = t.process.read_line();
    const auto why = t.process.read_line();
    BOOST_TEST(t.process.wait() == 0, t.what);
    BOOST_TEST_REQUIRE((memory && error && why), t.what);
    if (memory_is_known) BOOST_TEST(std::stoul(*memory) < 100U, t.what);
    BOOST_TEST(*error == "unreachable", t.what);
    BOOST_TEST(!why->empty(), t.what);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_reply_without_an_end_costs_little_memory_and_has_a_reason) {
  const std::vector<hostile_server::answer> endless{flood("$1073741824\r\n", "aaaaaaaaaaaaaaaa"),
                                                    flood("+", "aaaaaaaaaaaaaaaa"), flood("*1073741824\r\n", ":1\r\n"),
                                                    flood("*1073741824\r\n", "*0\r\n"), flood("", "*1\r\n")};
  std::deque<trial> trials;
  for (const auto& a : endless) {
    const std::string what = a.bytes + " " + a.flood;
    trials.emplace_back("script: " + what, to_scripts(a));
    trials.emplace_back("HELLO: " + what, to("HELLO", a));
  }
  all_survive(trials);
}

// With Boost.Redis's own parser these end the program, or write outside its memory.
BOOST_AUTO_TEST_CASE(broken_replies_do_not_end_the_program) {
  std::string nested;
  for (int i = 0; i < 1000; ++i) nested += "$?\r\n";
  std::deque<trial> trials;
  for (const std::string& broken :
       {std::string("$\r\n"), std::string("=\r\n"), std::string(";0\r\n"), nested,
        std::string("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n$?\r\n;1\r\na\r\n"), std::string("$18446744073709551615\r\n"),
        std::string("%9223372036854775808\r\n")}) {
    trials.emplace_back(broken, to_scripts(broken));
    trials.emplace_back("HELLO: " + broken, to("HELLO", broken));
  }
  all_survive(trials);
}

// A tenth of the default pauses, for a tenth of ten seconds.
BOOST_AUTO_TEST_CASE(a_server_that_closes_after_the_handshake_gets_few_connections) {
  hostile_server server(to("TIME", and_close(array({"1700000000", "0"}))));
  run([&]() -> awaitable<void> {
    client_options o;
    o.reconnect = {.first = 2ms, .max = 100ms, .factor = 2.0, .jitter = 0.5};
    client c(co_await asio::this_coro::executor, server.url(), o);
    co_await eventually("it lets the client in", [&] { return c.stats().connects > 1; });
    co_await pause(1s);
    BOOST_TEST(server.connections() <= 10U);
    // At this moment it may be connected.
    co_await eventually("it is told why not", [&] { return !c.last_failure().empty(); });
    co_await c.close();
  });
}

// It is cut off from its group, and names a server that is gone.
BOOST_AUTO_TEST_CASE(a_sentinel_that_names_a_server_in_vain_is_not_asked_alone) {
  hostile_server master(hostile_server::polite);
  const auto names = [](std::string port) {
    return [port](const words& w) -> hostile_server::answer {
      if (w[0] != "SENTINEL") return hostile_server::polite(w);
      return w[1] == "SENTINELS" ? "*0\r\n" : array({"127.0.0.1", port});
    };
  };
  hostile_server stale(names(std::to_string(free_port()))), other(names(std::to_string(master.port())));
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, "redis+sentinel://" + stale.host() + "," + other.host() + "/m");
    co_await c.ready();
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(a_sentinel_that_answers_and_closes_gets_few_connections) {
  hostile_server master(hostile_server::polite);
  hostile_server sentinel([&](const words& w) -> hostile_server::answer {
    if (w[0] != "SENTINEL") return hostile_server::polite(w);
    if (w[1] == "SENTINELS") return and_close({"*0\r\n"});
    return {array({"127.0.0.1", std::to_string(master.port())})};
  });
  run([&]() -> awaitable<void> {
    client_options o;
    o.reconnect = {.first = 2ms, .max = 100ms, .factor = 2.0, .jitter = 0.5};
    client c(co_await asio::this_coro::executor, "redis+sentinel://" + sentinel.host() + "/m", o);
    co_await c.ready();
    co_await pause(1s);
    // Two before the pauses have become long, and twice the number for the rounds that had no pause yet.
    BOOST_TEST(sentinel.connections() <= 20U);
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(words_of_any_length_are_kept_short) {
  const std::string words = "ERR " + std::string(100000, 'x');
  hostile_server at_the_door(to("HELLO", "-" + words + "\r\n"));
  hostile_server to_all(to_scripts("-" + words + "\r\n"));
  for (const auto* server : {&at_the_door, &to_all}) {
    run([&]() -> awaitable<void> {
      std::size_t longest = 0;
      client_options o = quick();
      o.observer = [&](const event& e) { longest = std::max(longest, e.text.size()); };
      client c(co_await asio::this_coro::executor, server->url(), o);
      const auto [ec, h] = co_await mutex(c, "n").acquire(as_tuple);
      BOOST_TEST(ec == error::refused);
      BOOST_TEST(c.last_refusal().starts_with("ERR xxx"));
      BOOST_TEST(c.last_refusal().size() == 500U);
      BOOST_TEST(longest == 500U);
      co_await c.close();
    });
  }
}

BOOST_AUTO_TEST_CASE(a_server_that_never_knows_the_script_refuses) {
  hostile_server server(to_scripts({"-NOSCRIPT No matching script.\r\n"}));
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, server.url(), patient());
    co_await c.ready();
    const auto before = server.commands();
    const acquire_options options{.wait = limit / 2};
    const auto [ec, h] = co_await mutex(c, "n").acquire(options, as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(c.last_refusal() == "NOSCRIPT No matching script.");
    BOOST_TEST(server.commands() - before <= 4U);
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(a_list_comes_to_an_end) {
  // In a circle; and a number of holds that wraps around, so that the page never ends.
  for (const bool circle : {true, false}) {
    const auto found = array({circle ? "7" : "0", "n"});
    const auto page = array({"n", "mutex", "2048", "1000", "0", "1", "", circle ? "0" : "4611686018427387902"});
    hostile_server server(
        [&](const words& w) { return w[0] == "SCAN" ? hostile_server::answer(found) : to_scripts(page)(w); });
    run([&]() -> awaitable<void> {
      client c(co_await asio::this_coro::executor, server.url(), quick());
      auto [ec, locks] = co_await list(c, as_tuple);
      BOOST_TEST((ec == error::refused) == circle);
      if (circle) BOOST_TEST(c.last_refusal() == "the server's SCAN goes in a circle");
      co_await c.close();
    });
  }
}

BOOST_AUTO_TEST_CASE(numbers_out_of_range_do_no_harm) {
  const std::string huge = "9223372036854775807";
  for (const auto& numbers : {array({"0", "0", huge, "0", ""}), array({"1", "18446744073709551615", huge, huge, ""}),
                              array({"1", "1", "-" + huge, huge, "", "t", huge, ""})}) {
    hostile_server server(to_scripts(numbers));
    run([&]() -> awaitable<void> {
      client c(co_await asio::this_coro::executor, server.url(), quick());
      const auto [ec, info] = co_await mutex(c, "n").inspect(as_tuple);
      BOOST_TEST(!ec);
      if (info.ttl) BOOST_TEST(info.ttl->count() <= std::int64_t{1} << 53);
      co_await c.close();
    });
  }
  hostile_server server(to("TIME", array({huge, huge})));
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, server.url(), quick());
    const auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::unreachable);
    BOOST_TEST(c.last_failure() == "the server's answer to TIME is no time");
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(a_32_bit_server_is_refused) {
  hostile_server server(to("INFO", bulk("redis_version:7.0.15\r\narch_bits:32\r\n")));
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, server.url(), quick());
    const auto [ec, h] = co_await mutex(c, "n").acquire(as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(c.last_refusal() == "the server is a 32-bit build; leasehold needs a 64-bit one");
    co_await c.close();
  });
}

BOOST_AUTO_TEST_CASE(answers_that_are_not_understood_are_told) {
  const acquire_options options{.wait = 300ms};
  for (const std::string& answer :
       std::vector<std::string>{":1\r\n", "*0\r\n", "+OK\r\n", "-BUSY Redis is busy running a script.\r\n"}) {
    hostile_server server(to_scripts(answer));
    run([&]() -> awaitable<void> {
      std::size_t told = 0;
      client_options o = quick();
      o.observer = [&](const event& e) { told += e.what == event::kind::unreachable ? 1U : 0U; };
      client c(co_await asio::this_coro::executor, server.url(), o);
      const auto [ec, h] = co_await mutex(c, "n").acquire(options, as_tuple);
      BOOST_TEST(ec == error::unreachable);
      BOOST_TEST(c.last_failure() == (answer.starts_with("-") ? "BUSY Redis is busy running a script."
                                                              : "the server's answer to a script is not understood"));
      BOOST_TEST(told == 1U);
      // What may be left of the attempt cannot be released.
      co_await c.close(as_tuple);
    });
  }
}

BOOST_AUTO_TEST_CASE(a_cluster_that_sends_from_itself_to_itself_is_told) {
  unsigned short port = 0;
  hostile_server server([&](const words& w) -> hostile_server::answer {
    if (w[0] == "CLUSTER") return {bulk(nodes(1, port))};
    if (w[0] == "EVALSHA") return {"-MOVED 1 127.0.0.1:" + std::to_string(port) + "\r\n"};
    return hostile_server::polite(w);
  });
  port = server.port();
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, "redis+cluster://" + server.host(), quick());
    co_await c.ready();
    const acquire_options options{.wait = 300ms};
    const auto [ec, h] = co_await mutex(c, "n").acquire(options, as_tuple);
    BOOST_TEST(ec == error::unreachable);
    BOOST_TEST(c.last_failure() == "MOVED 1 " + server.host());
    // An attempt may have been on its way at the end, and what may be left of it cannot be released.
    co_await c.close(as_tuple);
  });
}

BOOST_AUTO_TEST_CASE(topologies_have_a_size) {
  unsigned short port = 0;
  std::size_t number = 1001;
  hostile_server server([&](const words& w) -> hostile_server::answer {
    if (w[0] == "CLUSTER") return {bulk(nodes(number, port))};
    return hostile_server::polite(w);
  });
  port = server.port();
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, "redis+cluster://" + server.host(), patient());
    const auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(c.last_refusal() == "the cluster has more than 1000 nodes");
    co_await c.close();
  });
  number = 0;
  std::string others = "*200\r\n";
  for (int i = 1; i <= 200; ++i) {
    others += "*4\r\n" + bulk("ip") + bulk("127.0.0.1") + bulk("port") + bulk(std::to_string(i));
  }
  hostile_server sentinel([&](const words& w) -> hostile_server::answer {
    if (w[0] != "SENTINEL") return hostile_server::polite(w);
    return w[1] == "SENTINELS" ? others : array({"127.0.0.1", std::to_string(port)});
  });
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, "redis+sentinel://" + sentinel.host() + "/m", patient());
    const auto [ec] = co_await c.ready(as_tuple);
    BOOST_TEST(ec == error::refused);
    BOOST_TEST(c.last_refusal() == "Sentinel " + sentinel.host() + ": names more than 100 Sentinels");
    co_await c.close();
  });
}

// It closes the first connections, and lets the client stay when its clock is an hour ahead.
BOOST_AUTO_TEST_CASE(a_clock_that_is_stepped_between_two_connections_is_noticed_unless_the_server_is_another) {
  for (const std::string run_id : {"f00d", "beef"}) {
    std::atomic<bool> is_stepped = false;
    bool is_later = false;
    hostile_server server([&](const words& w) -> hostile_server::answer {
      if (w[0] == "HELLO") is_later = is_stepped;
      if (w[0] == "TIME") return is_later ? array({"1700003600", "0"}) : and_close(array({"1700000000", "0"}));
      if (w[0] != "INFO" || !is_later) return hostile_server::polite(w);
      return bulk("redis_version:7.2.0\r\nrun_id:" + run_id + "\r\nuptime_in_seconds:1000000\r\n");
    });
    run([&]() -> awaitable<void> {
      std::string version;
      client_options o = quick();
      o.observer = [&](const event& e) {
        if (e.what == event::kind::connected) version = e.text;
      };
      client c(co_await asio::this_coro::executor, server.url(), o);
      co_await eventually("it is connected", [&] { return !version.empty(); });
      is_stepped = true;
      co_await eventually("it is connected to stay", [&] { return version == "7.2.0"; });
      BOOST_TEST(c.stats().clock_jumps == (run_id == "f00d" ? 1U : 0U), run_id);
      co_await c.close();
    });
  }
}

// Nothing announces it: the client has lost the Sentinel that it listened to, and asks again.
BOOST_AUTO_TEST_CASE(another_master_that_a_sentinel_names_later_is_connected_to) {
  hostile_server before(hostile_server::polite), master(hostile_server::polite);
  std::atomic<unsigned short> port = before.port();
  hostile_server sentinel([&](const words& w) -> hostile_server::answer {
    if (w[0] != "SENTINEL") return hostile_server::polite(w);
    return w[1] == "SENTINELS" ? and_close({"*0\r\n"}) : array({"127.0.0.1", std::to_string(port)});
  });
  // Another Sentinel that does not answer cannot agree.
  const std::string away = ",127.0.0.1:" + std::to_string(free_port());
  for (const std::string& others : {std::string(), away}) {
    port = before.port();
    const auto connected = master.connections();
    run([&]() -> awaitable<void> {
      client c(co_await asio::this_coro::executor, "redis+sentinel://" + sentinel.host() + others + "/m", patient());
      co_await c.ready();
      port = master.port();
      co_await eventually("it is connected to the new master", [&] { return c.stats().connects == 2; });
      BOOST_TEST(master.connections() > connected);
      co_await c.close();
    });
  }
}

// The Sentinel that the client listened to has gone, and the next one is cut off from its group.
BOOST_AUTO_TEST_CASE(a_master_is_not_left_because_one_sentinel_names_another) {
  hostile_server before(hostile_server::polite), master(hostile_server::polite);
  std::atomic<bool> has_gone = false;
  std::atomic<int> asked = 0;
  const auto names = [](const words& w, const hostile_server& server) -> hostile_server::answer {
    if (w[0] != "SENTINEL") return hostile_server::polite(w);
    return w[1] == "SENTINELS" ? "*0\r\n" : array({"127.0.0.1", std::to_string(server.port())});
  };
  hostile_server watched([&](const words& w) -> hostile_server::answer {
    if (has_gone) return and_close({""});
    if (w[0] != "SENTINEL" || w[1] != "SENTINELS") return names(w, master);
    has_gone = true;
    return and_close({"*0\r\n"});
  });
  hostile_server stale([&](const words& w) {
    asked += has_gone ? 1 : 0;
    return names(w, has_gone ? before : master);
  });
  hostile_server other([&](const words& w) { return names(w, master); });
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor,
             "redis+sentinel://" + watched.host() + "," + stale.host() + "," + other.host() + "/m", patient());
    co_await c.ready();
    co_await eventually("the stale one is asked", [&] { return asked > 0; });
    co_await pause(1s);
    BOOST_TEST(c.stats().connects == 1U);
    BOOST_TEST(before.connections() == 0U);
    co_await c.close();
  });
}

// The clock counts from the start of the machine.
struct just_started {
  just_started() { detail::move_clock(-ago); }
  ~just_started() { detail::move_clock(ago); }
  just_started(const just_started&) = delete;
  just_started& operator=(const just_started&) = delete;

  const clock::duration ago = clock::now().time_since_epoch() - 1s;
};

// The pause before the next attempt would be longer than the test.
BOOST_FIXTURE_TEST_CASE(another_master_ends_the_pause_before_the_next_connection, just_started) {
  hostile_server refusing([](const words&) { return and_close({""}); });
  hostile_server master(hostile_server::polite);
  std::atomic<unsigned short> port = refusing.port();
  hostile_server sentinel([&](const words& w) -> hostile_server::answer {
    if (w[0] != "SENTINEL") return hostile_server::polite(w);
    return w[1] == "SENTINELS" ? "*0\r\n" : array({"127.0.0.1", std::to_string(port)});
  });
  run([&]() -> awaitable<void> {
    client_options o = patient();
    o.reconnect = {.first = 10min, .max = 10min, .factor = 1.0, .jitter = 0.0};
    client c(co_await asio::this_coro::executor, "redis+sentinel://" + sentinel.host() + "/m", o);
    co_await eventually("the first attempt has failed", [&] { return !c.last_failure().empty(); });
    port = master.port();
    sentinel.push(">3\r\n" + bulk("message") + bulk("+switch-master") +
                  bulk("m 127.0.0.1 " + std::to_string(refusing.port()) + " 127.0.0.1 " + std::to_string(port)));
    co_await eventually("the client is connected to the new master", [&] { return c.stats().connects == 1; });
    co_await c.close();
  });
}

// The Sentinel announces another master in the same bytes in which it answers.
BOOST_AUTO_TEST_CASE(a_master_that_is_announced_with_the_answer_is_connected_to) {
  hostile_server before(hostile_server::polite), master(hostile_server::polite);
  std::atomic<unsigned short> port = before.port();
  hostile_server sentinel([&](const words& w) -> hostile_server::answer {
    if (w[0] != "SENTINEL") return hostile_server::polite(w);
    if (w[1] != "SENTINELS") return array({"127.0.0.1", std::to_string(port)});
    if (port.exchange(master.port()) == master.port()) return {"*0\r\n"};
    return {"*0\r\n>3\r\n" + bulk("message") + bulk("+switch-master") +
            bulk("m 127.0.0.1 " + std::to_string(before.port()) + " 127.0.0.1 " + std::to_string(master.port()))};
  });
  run([&]() -> awaitable<void> {
    client c(co_await asio::this_coro::executor, "redis+sentinel://" + sentinel.host() + "/m", patient());
    co_await c.ready();
    BOOST_TEST(before.connections() == 0U);
    co_await c.close();
  });
}

// The Sentinel announces another master with each answer, and names the first one again.
BOOST_AUTO_TEST_CASE(a_sentinel_that_contradicts_itself_gets_few_connections) {
  hostile_server sentinel([&](const words& w) -> hostile_server::answer {
    if (w[0] != "SENTINEL") return hostile_server::polite(w);
    if (w[1] != "SENTINELS") return array({"127.0.0.1", "1"});
    return {"*0\r\n>3\r\n" + bulk("message") + bulk("+switch-master") + bulk("m 127.0.0.1 1 127.0.0.1 2")};
  });
  run([&]() -> awaitable<void> {
    client_options o;
    o.reconnect = {.first = 2ms, .max = 100ms, .factor = 2.0, .jitter = 0.5};
    client c(co_await asio::this_coro::executor, "redis+sentinel://" + sentinel.host() + "/m", o);
    auto lock = mutex(c, "n");
    const acquire_options options{.wait = 1s};
    const auto [ec, h] = co_await lock.acquire(options, as_tuple);
    BOOST_TEST(ec == error::unreachable);
    BOOST_TEST(sentinel.connections() <= 40U);
    co_await c.close(as_tuple);
  });
}

// The same, while the client waits for its password.
BOOST_AUTO_TEST_CASE(a_sentinel_that_contradicts_itself_costs_few_passwords) {
  hostile_server sentinel([&](const words& w) -> hostile_server::answer {
    if (w[0] != "SENTINEL") return hostile_server::polite(w);
    return w[1] == "SENTINELS" ? "*0\r\n" : array({"127.0.0.1", "1"});
  });
  run([&]() -> awaitable<void> {
    int asked = 0;
    client_options o;
    o.reconnect = {.first = 2ms, .max = 100ms, .factor = 2.0, .jitter = 0.5};
    o.credentials = credentials_from([&](const credentials_request& r) -> awaitable<credentials> {
      if (r.of == credentials_request::role::sentinel) co_return credentials();
      ++asked;
      sentinel.push(">3\r\n" + bulk("message") + bulk("+switch-master") + bulk("m 127.0.0.1 1 127.0.0.1 2"));
      asio::steady_timer pause(r.executor, 2ms);
      co_await pause.async_wait(asio::use_awaitable);
      co_return credentials{"", "secret"};
    });
    client c(co_await asio::this_coro::executor, "redis+sentinel://" + sentinel.host() + "/m", o);
    auto lock = mutex(c, "n");
    const acquire_options options{.wait = 1s};
    const auto [ec, h] = co_await lock.acquire(options, as_tuple);
    BOOST_TEST(ec == error::unreachable);
    BOOST_TEST(asked > 1);
    BOOST_TEST(asked <= 40);
    co_await c.close(as_tuple);
  });
}

// At `maxclients`, for example, and in protected mode.
BOOST_AUTO_TEST_CASE(what_a_server_says_before_it_closes_the_connection_is_told) {
  hostile_server full(to("HELLO", and_close({"-ERR max number of clients reached\r\n"})));
  hostile_server sentinel(to("HELLO", and_close({"-DENIED protected mode\r\n"})));
  const std::string group = "redis+sentinel://" + sentinel.host() + "/m";
  for (const auto& [url, expected] : std::vector<std::pair<std::string, std::string>>{
           {full.url(), "ERR max number of clients reached"},
           {group, "Sentinel " + sentinel.host() + ": DENIED protected mode"}}) {
    run([&]() -> awaitable<void> {
      client c(co_await asio::this_coro::executor, url, patient());
      co_await eventually("the reason is known", [&] { return !c.last_failure().empty(); });
      BOOST_TEST(c.last_failure() == expected);
      co_await c.close(as_tuple);
    });
  }
}

BOOST_FIXTURE_TEST_CASE(tls_against_a_plain_port_has_a_reason, with_redis) {
  const std::string url = "rediss://127.0.0.1:" + std::to_string(redis.port());
  run([&]() -> awaitable<void> {
    const acquire_options options{.wait = 1s};
    client c(co_await asio::this_coro::executor, url);
    const auto [ec, h] = co_await mutex(c, "n").acquire(options, as_tuple);
    BOOST_TEST(ec == error::unreachable);
    BOOST_TEST(c.last_failure() != "");
    co_await c.close();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
