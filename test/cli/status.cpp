// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "leasehold_command.hpp"

#include <regex>

namespace leasehold::test {

BOOST_FIXTURE_TEST_SUITE(status, with_leasehold)

BOOST_AUTO_TEST_CASE(a_free_lock_is_free) {
  const ended text = run({"status", "n"});
  BOOST_TEST(text.status == 0);
  BOOST_TEST(text.output == "n: free, 0 waiting\n");
  const ended json = run({"status", "--json", "n"});
  BOOST_TEST(json.status == 0);
  BOOST_TEST(json.output == R"({"name":"n","held":false,"token":"","fence":"0","ttl_ms":null,"waiters":0,"queue":[],)"
                            R"("kind":"","holders":0,"holds":[]})"
                            "\n");
}

BOOST_AUTO_TEST_CASE(a_held_lock_is_described_as_its_holder_knows_it) {
  child holder =
      start({"run", "n", "--", "sh", "-c", "echo $LEASEHOLD_TOKEN; echo $LEASEHOLD_FENCE; " + wait_for_a_signal});
  const std::string token = holder.read_line().value();
  const std::string fence = holder.read_line().value();
  const ended json = run({"status", "--json", "n"});
  BOOST_TEST(json.status == 0);
  std::smatch match;
  const std::regex form(
      R"re(\{"name":"n","held":true,"token":"([^"]*)","fence":"([0-9]*)","ttl_ms":([0-9]+),"waiters":0,"queue":\[\],)re"
      R"re("kind":"mutex","holders":1,"holds":\[\{"token":"([^"]*)","fence":"([0-9]*)","ttl_ms":[0-9]+\}\]\}\n)re");
  BOOST_TEST_CONTEXT(json.output) {
    BOOST_REQUIRE(std::regex_match(json.output, match, form));
    BOOST_TEST(match.str(1) == token);
    BOOST_TEST(match.str(2) == fence);
    BOOST_TEST(std::stoll(match.str(3)) <= 30'000);
    BOOST_TEST(std::stoll(match.str(3)) > 0);
    BOOST_TEST(match.str(4) == token);
    BOOST_TEST(match.str(5) == fence);
  }
  const ended text = run({"status", "n"});
  BOOST_TEST(text.status == 0);
  BOOST_TEST(std::regex_match(
      text.output, std::regex("n: held, [0-9.]+ s left, fence " + fence + ", token " + token + ", 0 waiting\n")));
}

BOOST_AUTO_TEST_CASE(the_queue_is_shown_in_order) {
  child holder = start({"run", "n", "--", "sh", "-c", "echo ready; " + wait_for_a_signal});
  BOOST_TEST(holder.read_line().value() == "ready");
  child second = start({"run", "--lease", "50s", "n", "--", "sh", "-c", "echo $LEASEHOLD_TOKEN; " + wait_for_a_signal});
  wait_until("the second waits", [&] { return contains(run({"status", "n"}).output, ", 1 waiting\n"); });
  child third = start({"run", "n", "--", "sh", "-c", "echo $LEASEHOLD_TOKEN"});
  wait_until("the third waits", [&] { return contains(run({"status", "n"}).output, ", 2 waiting\n"); });
  third.stop();
  // It is not heard of any more. (When the machine has stood still that is so of the second for a moment, too.)
  ended text{}, json{};
  wait_until("the third is silent, and the second is not", [&] {
    text = run({"status", "n"});
    json = run({"status", "--json", "n"});
    return contains(text.output, "  50.0 s\n") && text.output.ends_with("  silent\n") &&
           contains(json.output, "\"lease_ms\":50000,\"silent\":false}") && contains(json.output, "\"silent\":true}]");
  });
  third.signal(SIGCONT);
  holder.signal(SIGTERM);
  const std::string second_token = second.read_line().value();
  second.signal(SIGTERM);
  const std::string third_token = third.read_line().value();
  BOOST_TEST_CONTEXT(text.output) {
    // A client that comes back may have lost its place, and has another token then.
    const std::string third_client = third_token.substr(0, third_token.find('.'));
    BOOST_TEST(contains(text.output, "\n  1  " + second_token + "  50.0 s\n  2  " + third_client + "."));
    BOOST_TEST(text.output.ends_with("  30.0 s  silent\n"));
    BOOST_TEST(contains(json.output, "\"waiters\":2,\"queue\":[{\"token\":\"" + second_token +
                                         "\",\"lease_ms\":50000,\"silent\":false},{\"token\":\"" + third_client));
    BOOST_TEST(contains(json.output, "\"lease_ms\":30000,\"silent\":true}],\"kind\":\"mutex\",\"holders\":1,"));
  }
}

BOOST_AUTO_TEST_CASE(it_tells_that_a_lock_lingers_and_how_much_of_the_queue_is_not_shown) {
  redis.command("SET", "n", "leasehold:x.1l:7");
  for (int i = 1; i <= 101; ++i) {
    redis.command("ZADD", "leasehold:{0}:queue:n", std::to_string(i), "y." + std::to_string(i));
  }
  const std::string text = run({"status", "n"}).output;
  BOOST_TEST_CONTEXT(text) {
    BOOST_TEST(text.starts_with(
        "n: held, forever, fence 7, token x.1l, lingers (its client may keep it idle), 101 waiting\n  1  y.1  "));
    BOOST_TEST(text.ends_with("\n100  y.100  0.0 s  silent\n     and 1 more\n"));
  }
}

BOOST_AUTO_TEST_CASE(other_programs_locks_have_any_token_and_no_fence) {
  redis.command("SET", "n", "somebody else");
  BOOST_TEST(run({"status", "n"}).output == "n: held, forever, without a fence, token somebody else, 0 waiting\n");
  BOOST_TEST(run({"status", "--json", "n"}).output ==
             R"({"name":"n","held":true,"token":"somebody else","fence":"0","ttl_ms":null,"waiters":0,"queue":[],)"
             R"("kind":"","holders":1,"holds":[{"token":"somebody else","fence":"0","ttl_ms":null}]})"
             "\n");
  redis.command("SET", "n", "\xff\n");
  BOOST_TEST(run({"status", "n"}).output == "n: held, forever, without a fence, token \\xff\\n, 0 waiting\n");
  BOOST_TEST(run({"status", "--json", "n"}).output ==
             R"({"name":"n","held":true,"token_base64":"/wo=","fence":"0","ttl_ms":null,"waiters":0,"queue":[],)"
             R"("kind":"","holders":1,"holds":[{"token_base64":"/wo=","fence":"0","ttl_ms":null}]})"
             "\n");
  redis.command("HSET", "r", "me\n", "2");
  BOOST_TEST(run({"status", "r"}).output == "r: held 2 times by me\\n, forever, without a fence, 0 waiting\n");
  BOOST_TEST(run({"status", "--json", "r"}).output ==
             R"({"name":"r","held":true,"token":"me\n","fence":"0","ttl_ms":null,"waiters":0,"queue":[],)"
             R"("kind":"","holders":2,"owner":"me\n",)"
             R"("holds":[{"token":"me\n","fence":"0","ttl_ms":null,"owner":"me\n"}]})"
             "\n");
}

BOOST_AUTO_TEST_CASE(names_are_any_bytes) {
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {"two words", "two words", R"("name":"two words")"},
      {"l\xc3\xa4s \xe2\x82\xac \xf0\x9f\x94\x92", "l\xc3\xa4s \xe2\x82\xac \xf0\x9f\x94\x92",
       "\"name\":\"l\xc3\xa4s \xe2\x82\xac \xf0\x9f\x94\x92\""},
      {"a\nb\x01\"", "a\\nb\\x01\"", R"("name":"a\nb\u0001\"")"},
      {"\xff\xfe", "\\xff\\xfe", R"("name_base64":"//4=")"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80", R"("name_base64":"7aCA")"},
      {"\xc0\x80", "\\xc0\\x80", R"("name_base64":"wIA=")"},
      {"\xf0\x9f", "\\xf0\\x9f", R"("name_base64":"8J8=")"},
      {"\xc2\x9b", "\\xc2\\x9b", R"("name":"\u009b")"},
      {"[x]", "[x]", R"("name":"[x]")"},
      {"{}", "{}", R"("name":"{}")"},
      {"%%", "%%", R"("name":"%%")"},
      {"run", "run", R"("name":"run")"},
  };
  for (const auto& [name, printed, in_json] : cases) {
    redis.command("SET", "p:" + name, "x");
    const ended text = run({"status", "--prefix", "p:", name});
    BOOST_TEST(text.status == 0);
    BOOST_TEST(text.output == printed + ": held, forever, without a fence, token x, 0 waiting\n");
    BOOST_TEST(run({"status", "--json", "--prefix=p:", name}).output ==
               "{" + in_json + R"(,"held":true,"token":"x","fence":"0","ttl_ms":null,"waiters":0,"queue":[],)" +
                   R"("kind":"","holders":1,"holds":[{"token":"x","fence":"0","ttl_ms":null}]})" + "\n");
  }
  // What looks like an option goes behind the separator.
  BOOST_TEST(run({"status", "--", "--json"}).output == "--json: free, 0 waiting\n");
}

BOOST_AUTO_TEST_CASE(failures_have_the_statuses_of_run) {
  redis.command("HSET", "hash", "a", "b");
  const ended wrong_type = run({"status", "hash"});
  BOOST_TEST(wrong_type.status == 65);
  BOOST_TEST(is_error_line(wrong_type.errors, "'hash'"));
  redis.stop();
  const ended unreachable = run({"status", "n"});
  BOOST_TEST(unreachable.status == 69);
  BOOST_TEST(is_error_line(unreachable.errors, redis.url()));
  redis.go_on();
}

BOOST_AUTO_TEST_CASE(output_that_cannot_be_written_is_an_error) {
  child c({"sh", "-c", "exec \"$0\" status n > /dev/full", LEASEHOLD_CLI_PATH}, environment());
  const ended e = end_of(c);
  BOOST_TEST(e.status == 74);
  BOOST_TEST(is_error_line(e.errors, "standard output"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
