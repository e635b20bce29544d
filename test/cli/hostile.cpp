// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Any program that may write a key chooses what stands in it. The terminal of an operator obeys none of it, and JSON
// stays JSON.
#include "leasehold_command.hpp"
#include "support/terminal.hpp"

#include <string>

namespace leasehold::test {

namespace {

// A title for the terminal, "clear the screen", the same by a control character of 8 bits, bytes that are not UTF-8,
// and the characters that reverse what follows them.
const std::string evil =
    std::string("\x1b]0;owned\x07\x1b[2J") + "\xc2\x9b" + "2J\xff\xfe\r\x7f" + "\xe2\x80\xae" + "lasrever\xe2\x81\xa6";
const std::string deadline = "9000000000000000";

struct with_evil_records : with_leasehold {
  with_evil_records() {
    // Without blanks a kind may be anything. So may owners, tokens and names.
    redis.command("HSET", "kind", "leasehold", evil + " 7 1 " + deadline + " ", "leasehold:" + evil,
                  deadline + " 7 " + evil);
    redis.command("HSET", "recursive", evil, "2", "leasehold", "recursive_mutex 7 1 " + deadline + " " + evil,
                  "leasehold:" + evil, deadline + " 7 " + evil);
    redis.command("HSET", "shared", "leasehold", "shared_mutex 7 1 " + deadline + " r", "leasehold:" + evil,
                  deadline + " 7 r" + evil);
    redis.command("HSET", "semaphore", "leasehold", "counting_semaphore 7 1 " + deadline + " 3", "leasehold:" + evil,
                  deadline + " 7 " + evil);
    redis.command("SET", "mutex" + evil, "leasehold:" + evil + ":7");
    redis.command("SET", "foreign", evil);
    redis.command("HSET", "hash", evil, "1");
    for (const std::string record : {"kind", "recursive", "shared", "semaphore"}) {
      redis.command("ZADD", "leasehold:{0}:queue:" + record, "1", evil);
    }
  }
  const words names{"kind", "recursive", "shared", "semaphore", "mutex" + evil, "foreign", "hash"};
};

// What a terminal obeys.
bool is_clean(const std::string& text) {
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) return false;
  }
  for (const std::string part : {"\xc2\x9b", "\xff", "\xfe", "\xe2\x80\xae", "\xe2\x81\xa6"}) {
    if (contains(text, part)) return false;
  }
  return true;
}

bool is_utf8(const std::string& text) {
  const temporary_folder folder;
  child c({"iconv", "-f", "UTF-8", "-t", "UTF-8", folder.write("text", text)});
  return end_of(c).status == 0;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(hostile, with_evil_records)

BOOST_AUTO_TEST_CASE(a_list_is_printable_and_json) {
  for (const words& arguments : {words{"list"}, words{"list", "--json"}, words{"watch", "--count", "1"}}) {
    const ended e = run(arguments);
    BOOST_TEST_CONTEXT(e.output << e.errors) {
      BOOST_TEST(e.status == 0);
      BOOST_TEST(is_clean(e.output + e.errors));
      BOOST_TEST(is_utf8(e.output));
      BOOST_TEST(contains(e.output, "semaphore"));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_status_is_printable_and_json) {
  for (const auto& name : names) {
    for (const words& arguments : {words{"status", name}, words{"status", "--json", name}}) {
      const ended e = run(arguments);
      BOOST_TEST_CONTEXT(e.output << e.errors) {
        // A kind that is not known may be no lock at all.
        BOOST_TEST((e.status == 0 || (name == "kind" && e.status == 65)));
        BOOST_TEST(is_clean(e.output + e.errors));
        BOOST_TEST(is_utf8(e.output));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(watch_draws_what_is_printable) {
  terminal t(leasehold_command({"watch", "--count", "1"}), environment());
  BOOST_TEST(t.wait() == 0);
  const std::string& shown = t.read_rest();
  BOOST_TEST(contains(shown, "semaphore"));
  for (const std::string part :
       {"\x1b]", "\x1b[2J", "\x07", "\xc2\x9b", "\xff", "\x7f", "\xe2\x80\xae", "\xe2\x81\xa6"}) {
    BOOST_TEST(!contains(shown, part), shown);
  }
}

BOOST_AUTO_TEST_CASE(run_and_break_say_what_is_printable) {
  for (const auto& name : names) {
    for (const words& arguments :
         {words{"run", "--no-wait", name, "--", "true"},
          words{"run", "--no-wait", "--permits", "9", name, "--", "true"}, words{"break", "--force", name}}) {
      const ended e = run(arguments);
      BOOST_TEST(is_clean(e.output + e.errors), e.output + e.errors);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_words_of_a_server_are_printable) {
  redis.command("ACL", "SETUSER", "default", "-eval", "-evalsha");
  const ended e = run({"run", "--no-wait", "n" + evil, "--", "true"});
  BOOST_TEST(e.status == 77);
  BOOST_TEST(is_clean(e.errors), e.errors);
  redis.command("ACL", "SETUSER", "default", "+eval", "+evalsha");
}

BOOST_AUTO_TEST_CASE(a_terminal_that_waits_is_told_what_is_printable) {
  for (const std::string& name : {std::string("foreign"), "mutex" + evil}) {
    terminal t(leasehold_command({"run", name, "--", "true"}), environment());
    t.read_until("waiting for '");
    t.read_until("; ");
    for (const std::string part : {"\x1b", "\x07", "\xc2\x9b", "\xff", "\xe2\x80\xae"}) {
      BOOST_TEST(!contains(t.read_until("waiting"), part));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
