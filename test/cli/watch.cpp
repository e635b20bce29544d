// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "leasehold_command.hpp"
#include "support/terminal.hpp"

#include <csignal>
#include <cstddef>
#include <string>

namespace leasehold::test {

namespace {

const std::string begin = "\x1b[?1049h";
const std::string end = "\x1b[?7h\x1b[?25h\x1b[?1049l";

// The lines of the last whole picture, without what makes the title stand out.
words last_picture(const std::string& shown) {
  const auto to = shown.rfind("\x1b[J");
  const auto from = to == shown.npos ? to : shown.rfind("\x1b[H", to);
  words lines;
  if (from == shown.npos) return lines;
  std::string picture = shown.substr(from + 3, to - from - 3);
  for (const std::string code : {"\x1b[7m", "\x1b[0m", "\x1b[K", "\r"}) {
    for (std::size_t at; (at = picture.find(code)) != picture.npos;) picture.erase(at, code.size());
  }
  for (std::size_t at; (at = picture.find('\n')) != picture.npos;) {
    lines.push_back(picture.substr(0, at));
    picture.erase(0, at + 1);
  }
  lines.push_back(picture);
  return lines;
}

char state_of(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  return stat[stat.rfind(')') + 2];
}

struct with_watch : with_leasehold {
  words watch(words options) const {
    options.insert(options.begin(), "watch");
    return leasehold_command(std::move(options));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(watch, with_watch)

BOOST_AUTO_TEST_CASE(it_shows_what_is_held_and_who_waits_as_it_changes) {
  terminal t(watch({"--interval", "100ms"}), environment());
  t.read_until(begin);
  t.read_until("0 locks, 0 waiting");
  BOOST_TEST(contains(t.read_until(redis.socket_path()), "leasehold  unix://"));
  BOOST_TEST(!t.is_cooked());
  {
    child holder = start({"run", "a lock", "--", "sh", "-c", "echo $LEASEHOLD_TOKEN; " + wait_for_a_signal});
    const std::string token = holder.read_line().value();
    t.read_until("1 lock, 0 waiting");
    t.forget();
    t.read_until("\x1b[J");
    t.read_until(token.substr(0, 15));
    child next = start({"run", "a lock", "--", "true"});
    t.read_until("1 lock, 1 waiting");
    holder.signal(SIGTERM);
    BOOST_TEST(next.wait() == 0);
  }
  t.forget();
  t.read_until("0 locks, 0 waiting");
  BOOST_TEST(!contains(t.read_until("\x1b[J"), end));
  t.type("q");
  BOOST_TEST(t.wait() == 0);
  BOOST_TEST(t.read_rest().ends_with(end));
  BOOST_TEST(t.is_cooked());
}

BOOST_AUTO_TEST_CASE(locks_with_the_longest_queue_come_first) {
  redis.command("SET", "a", "leasehold:x.1:7");
  redis.command("SET", "b", "leasehold:x.2:8");
  redis.command("ZADD", "leasehold:{0}:queue:b", "1", "y.1");
  terminal t(watch({"--count", "1"}), environment());
  BOOST_TEST(t.wait() == 0);
  const words lines = last_picture(t.read_rest());
  BOOST_REQUIRE(lines.size() == 5U);
  BOOST_TEST(contains(lines[0], "2 locks, 1 waiting"));
  BOOST_TEST(lines[2].starts_with("NAME"));
  BOOST_TEST(lines[3].starts_with("b "));
  BOOST_TEST(lines[4].starts_with("a "));
}

BOOST_AUTO_TEST_CASE(a_new_size_is_obeyed_at_once) {
  for (int i = 10; i < 40; ++i) {
    redis.command("SET", "l\xc3\xa4s" + std::to_string(i) + std::string(60, 'x'), "leasehold:x.1:7");
  }
  // Only a change of the size can be the reason to draw again.
  terminal t(watch({"--interval", "1h"}), environment());
  t.read_until("30 locks");
  t.read_until("... and 10 more\x1b[K\x1b[J");
  for (const auto& line : last_picture(t.read_until("30 locks"))) {
    BOOST_TEST(line.size() <= 81U);  // One character has two bytes.
  }
  t.forget();
  t.resize(10, 20);
  const words small = last_picture(t.read_until("... and 24 more\x1b[K\x1b[J"));
  BOOST_TEST(small.size() == 10U);
  for (const auto& line : small) BOOST_TEST(line.size() <= 21U);
  t.forget();
  t.resize(1, 3);
  BOOST_TEST(last_picture(t.read_until("\x1b[J")) == words{"..."}, boost::test_tools::per_element());
  t.forget();
  t.resize(50, 200);
  const words large = last_picture(t.read_until("\x1b[J"));
  BOOST_TEST(large.size() == 33U);
  BOOST_TEST(contains(large[32], "x.1"));
  t.type("\x03");
  BOOST_TEST(t.wait() == 130);
}

BOOST_AUTO_TEST_CASE(a_signal_leaves_the_terminal_as_it_was) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    terminal t(watch({"--interval", "1h"}), environment());
    t.read_until("0 locks");
    BOOST_TEST(!t.is_cooked());
    t.signal(number);
    BOOST_TEST(t.wait() == 128 + number);
    BOOST_TEST(t.read_rest().ends_with(end));
    BOOST_TEST(t.is_cooked());
  }
}

BOOST_AUTO_TEST_CASE(a_terminal_that_takes_nothing_does_not_hinder_the_end) {
  terminal t(watch({"--interval", "100ms"}), environment());
  t.read_until("0 locks");
  t.type("\x13");
  const auto commands = redis.info("total_commands_processed");
  wait_until("it goes on looking", [&] { return redis.info("total_commands_processed") > commands + 10; });
  t.signal(SIGTERM);
  BOOST_TEST(t.wait() == 143);
  BOOST_TEST(t.read_rest().ends_with(end));
  BOOST_TEST(t.is_cooked());
}

// Another program with the same terminal may have made it so.
BOOST_AUTO_TEST_CASE(a_terminal_that_does_not_block_and_takes_a_part_of_a_picture_does_not_end_it) {
  // Together they are more than the kernel keeps for a reader.
  for (const char letter : std::string("abcdefghijklmnopqrst")) {
    redis.command("SET", std::string(4000, letter), "leasehold:x.1:7");
  }
  const std::string not_blocking = "use Fcntl; fcntl(STDOUT, F_SETFL, O_RDWR | O_NONBLOCK) or die; exec @ARGV";
  words command{"perl", "-e", not_blocking};
  for (auto& w : watch({"--interval", "100ms"})) command.push_back(std::move(w));
  terminal t(command, environment());
  t.read_until("20 locks");
  t.resize(24, 5000);
  const auto commands = redis.info("total_commands_processed");
  int asked = 0;
  wait_until("it goes on looking", [&] {
    ++asked;
    return redis.info("total_commands_processed") > commands + asked + 30 || state_of(t.pid()) == 'Z';
  });
  t.signal(SIGTERM);
  BOOST_TEST(t.wait() == 143);
}

BOOST_AUTO_TEST_CASE(while_it_is_stopped_the_terminal_is_the_shells) {
  // A shell with job control, which goes on when the program is stopped.
  words command{"bash", "-c", "set -m; \"$@\"; read line; echo \"got $line\"; fg > /dev/null", "bash"};
  for (auto& w : watch({"--interval", "1h"})) command.push_back(std::move(w));
  terminal t(command, environment());
  t.read_until("0 locks");
  t.type("\x1a");
  t.read_until(end);
  wait_until("the shell's settings", [&] { return t.is_cooked(); });
  t.forget();
  t.type("some words\n");
  t.read_until("got some words");
  t.read_until(begin);
  t.read_until("0 locks");
  BOOST_TEST(!t.is_cooked());
  t.type("Q");
  BOOST_TEST(t.wait() == 0);
}

// Nothing would wake it again.
BOOST_AUTO_TEST_CASE(the_leader_of_a_session_cannot_be_stopped_from_the_terminal) {
  terminal t(watch({"--interval", "100ms"}), environment());
  t.read_until("0 locks");
  t.type("\x1a");
  t.read_until(end);
  t.forget();
  t.read_until("0 locks");
  BOOST_TEST(state_of(t.pid()) != 'T');
  BOOST_TEST(!t.is_cooked());
  t.type("q");
  BOOST_TEST(t.wait() == 0);
}

// Who starts it so that it cannot be stopped would not wake it again.
BOOST_AUTO_TEST_CASE(it_does_not_stop_if_stopping_was_ignored_when_it_started) {
  words command{"bash", "-c", "set -m; sh -c 'trap \"\" TSTP; exec \"$@\"' sh \"$@\"; echo \"ended: $?\"", "bash"};
  for (auto& w : watch({"--interval", "1h"})) command.push_back(std::move(w));
  terminal t(command, environment());
  t.read_until("0 locks");
  t.type("\x1a");
  t.type("q");
  t.read_until("ended: 0");
}

BOOST_AUTO_TEST_CASE(a_store_that_goes_away_is_shown_and_comes_back) {
  redis.command("SET", "n", "leasehold:x.1:7");
  terminal t(watch({"--interval", "100ms"}), environment());
  t.read_until("1 lock");
  redis.stop();
  t.read_until("unreachable");
  t.forget();
  redis.go_on();
  t.read_until("1 lock");
  redis.kill();
  t.forget();
  t.read_until("unreachable");
  redis.start();
  t.read_until("0 locks");
  redis.kill();
  t.forget();
  t.read_until("unreachable");
  t.type("q");
  BOOST_TEST(t.wait() == 69);
  BOOST_TEST(t.is_cooked());
  redis.start();
}

BOOST_AUTO_TEST_CASE(a_refusal_ends_it_and_no_password_is_shown) {
  redis.command("ACL", "SETUSER", "op", "on", ">secret", "~*", "&*", "+@all");
  const std::string url = "redis://op:secret@127.0.0.1:" + std::to_string(redis.port());
  terminal t(watch({"--interval", "100ms", "--redis", url}), environment());
  t.read_until("0 locks");
  redis.command("ACL", "SETUSER", "op", "-scan");
  BOOST_TEST(t.wait() == 77);
  const std::string& shown = t.read_rest();
  BOOST_TEST(contains(shown, "redis://***@127.0.0.1"));
  BOOST_TEST(!contains(shown, "secret"));
  // The reason stands on the screen that was there before.
  BOOST_TEST(shown.find("refused: ") > shown.find(end));
  BOOST_TEST(t.is_cooked());
}

BOOST_AUTO_TEST_CASE(without_a_terminal_it_prints_tables) {
  redis.command("SET", "n", "leasehold:x.1:7");
  redis.command("SET", "\x1b[2J", "leasehold:x.1:7");
  const ended e = run({"watch", "--count", "2", "--interval", "100ms"});
  BOOST_TEST(e.status == 0);
  BOOST_TEST(e.errors == "");
  const std::string table =
      "NAME           LEFT                FENCE  WAITING  HELD AS    TOKEN\n"
      "\\x1b[2J     forever                    7        0  mutex      x.1\n"
      "n           forever                    7        0  mutex      x.1\n";
  BOOST_TEST(e.output == table + "\n" + table);

  child endless = start({"watch", "--interval", "100ms"});
  for (int i = 0; i < 9; ++i) BOOST_TEST(endless.read_line().has_value());
  endless.signal(SIGTERM);
  BOOST_TEST(end_of(endless).status == 143);
}

BOOST_AUTO_TEST_CASE(without_a_terminal_an_unreachable_store_is_told_each_time) {
  redis.stop();
  const ended e = run({"watch", "--count", "2", "--interval", "100ms"});
  BOOST_TEST(e.status == 69);
  BOOST_TEST(e.output == "");
  const std::string begin_of_line = "leasehold: " + redis.url() + ": unreachable";
  const auto first = e.errors.find('\n') + 1;
  BOOST_TEST(e.errors.starts_with(begin_of_line), e.errors);
  BOOST_TEST(is_error_line(e.errors.substr(first), begin_of_line), e.errors);
  redis.go_on();
}

BOOST_AUTO_TEST_CASE(it_shows_why_the_store_is_unreachable) {
  redis.kill();
  const ended e = run({"watch", "--count", "1"});
  BOOST_TEST(e.errors == "leasehold: " + redis.url() + ": unreachable: Connection refused\n");
  terminal t(watch({"--count", "1"}), environment());
  t.read_until("  unreachable");
  t.read_until("Connection refused");
  BOOST_TEST(t.wait() == 69);
  redis.start();
}

BOOST_AUTO_TEST_CASE(output_that_cannot_be_written_is_an_error) {
  child c({"sh", "-c", "exec \"$0\" watch > /dev/full", LEASEHOLD_CLI_PATH}, environment());
  const ended e = end_of(c);
  BOOST_TEST(e.status == 74);
  BOOST_TEST(is_error_line(e.errors, "standard output"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
