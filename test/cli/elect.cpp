// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// `leasehold elect` and `leasehold leader`.
#include "leasehold_command.hpp"

#include <cmath>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <regex>
#include <string>

namespace leasehold::test {

namespace {

struct with_elections : with_leasehold {
  child leader(const std::string& value, words more = {}) const {
    words all{"elect", "--value", value};
    all.insert(all.end(), more.begin(), more.end());
    for (const std::string word : {"n", "--", "sh", "-c"}) all.push_back(word);
    all.push_back("echo $LEASEHOLD_FENCE; " + wait_for_a_signal);
    return start(std::move(all));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(elect, with_elections)

BOOST_AUTO_TEST_CASE(one_leads_and_others_see_its_value) {
  const ended nobody = run({"leader", "n"});
  BOOST_TEST(nobody.status == 1);
  BOOST_TEST(nobody.output == "");
  BOOST_TEST(nobody.errors == "");
  BOOST_TEST(run({"leader", "--json", "n"}).output == R"({"name":"n","value":null,"fence":null,"since":null})"
                                                      "\n");
  child first = leader("10.0.0.7:8000");
  const std::string fence = first.read_line().value();
  BOOST_TEST(first.read_line().value() == "ready");
  const ended text = run({"leader", "n"});
  BOOST_TEST(text.status == 0);
  BOOST_TEST(text.output == "10.0.0.7:8000\n");
  // Nine hours east of UTC.
  words elsewhere = environment();
  elsewhere.push_back("TZ=JST-9");
  const ended json = run_leasehold({"leader", "--json", "n"}, elsewhere);
  const std::regex form(R"(\{"name":"n","value":"10.0.0.7:8000","fence":")" + fence +
                        R"(","since":"(20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})\.[0-9]{3}Z"\}\n)");
  std::smatch match;
  BOOST_TEST(std::regex_match(json.output, match, form), json.output);
  std::tm since{};
  ::strptime(match.str(1).c_str(), "%Y-%m-%dT%H:%M:%S", &since);
  BOOST_TEST(std::abs(std::difftime(std::time(nullptr), ::timegm(&since))) < 3600, json.output);
  const ended late = run({"elect", "--value", "second", "--no-wait", "n", "--", "true"});
  BOOST_TEST(late.status == 75);
  BOOST_TEST(is_error_line(late.errors, "'n'"));
  child second = leader("second");
  first.signal(SIGTERM);
  BOOST_TEST(first.wait() == 128 + SIGTERM);
  BOOST_TEST(std::stoull(second.read_line().value()) > std::stoull(fence));
  BOOST_TEST(run({"leader", "n"}).output == "second\n");
  second.signal(SIGTERM);
  second.wait();
  BOOST_TEST(run({"leader", "n"}).status == 1);
  BOOST_TEST(redis.size() == 0U);
}

BOOST_AUTO_TEST_CASE(each_change_is_a_line) {
  child text = start({"leader", "--follow", "n"});
  child json = start({"leader", "--follow", "--json", "n"});
  BOOST_TEST(text.read_line().value() == "");
  BOOST_TEST(contains(json.read_line().value(), R"("value":null)"));
  for (const std::string value : {"a", "\x1b[2J", "\xff"}) {
    child leads = leader(value);
    leads.read_line();
    BOOST_TEST(text.read_line().value() == (value == "a" ? "a" : value == "\xff" ? "\\xff" : "\\x1b[2J"));
    const std::string line = json.read_line().value();
    BOOST_TEST(contains(line, value == "a"      ? R"("value":"a")"
                              : value == "\xff" ? R"("value_base64":"/w==")"
                                                : R"("value":"\u001b[2J")"),
               line);
    leads.signal(SIGTERM);
    leads.wait();
    BOOST_TEST(text.read_line().value() == "");
    BOOST_TEST(contains(json.read_line().value(), R"("value":null)"));
  }
  text.signal(SIGINT);
  BOOST_TEST(text.wait() == 128 + SIGINT);
  BOOST_TEST(text.errors() == "");
  json.signal(SIGTERM);
  BOOST_TEST(json.wait() == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(a_signal_ends_an_observer_whose_reader_stands_still) {
  const std::string full = "mkfifo $FOLDER/pipe; exec 8<> $FOLDER/pipe; dd if=/dev/zero bs=65536 count=1 >&8 2>&-; ";
  words command{"sh", "-c", full + "exec \"$@\" >&8", "sh"};
  for (auto& w : leasehold_command({"leader", "--follow", "n"})) command.push_back(std::move(w));
  child c(command, environment());
  wait_until("it follows", [&] { return !redis.command("PUBSUB", "CHANNELS").items.empty(); });
  wait_until("it has asked", [&] { return contains(redis.command("INFO", "commandstats").text, "cmdstat_evalsha"); });
  c.signal(SIGTERM);
  BOOST_TEST(c.wait() == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(a_leader_that_loses_its_lease_is_stopped) {
  child first = leader("first", {"--lease", "10m"});
  first.read_line();
  first.read_line();
  redis.command("DEL", "n");
  BOOST_TEST(run({"elect", "--value", "next", "n", "--", "true"}).status == 0);
  BOOST_TEST(run({"break", "n"}).status == 1);
  first.signal(SIGCONT);
  // It asks once more when its connection is a new one.
  redis.kill();
  redis.start();
  const ended e = end_of(first);
  BOOST_TEST(e.status == 74);
  BOOST_TEST(contains(e.errors, "lost"), e.errors);
}

BOOST_AUTO_TEST_CASE(failures_have_the_statuses_of_run_and_name_what_is_at_fault) {
  const ended no_value = run({"elect", "n", "--", "true"});
  BOOST_TEST(no_value.status == 64);
  BOOST_TEST(is_error_line(no_value.errors, "--value is missing"));
  const ended long_value = run({"elect", "--value", std::string(65537, 'x'), "n", "--", "true"});
  BOOST_TEST(long_value.status == 64);
  BOOST_TEST(is_error_line(long_value.errors, "--value"));
  const ended two = run({"elect", "--value", "v", "n", "m", "--", "true"});
  BOOST_TEST(two.status == 64);
  BOOST_TEST(is_error_line(two.errors, "'m'"));
  for (const words& arguments :
       {words{"elect", "--value", "v", "n", "--", "true"}, words{"leader", "n"}, words{"leader", "--follow", "n"}}) {
    words of_a_quorum = arguments;
    of_a_quorum.insert(of_a_quorum.begin() + 1, {"--redis", redis.url(), "--redis", "unix:///nowhere"});
    const ended quorum = run(of_a_quorum);
    BOOST_TEST(quorum.status == 64);
    BOOST_TEST(is_error_line(quorum.errors, "not supported on a quorum"), quorum.errors);
    redis.command("HSET", "n", "a", "1");
    const ended other = run(arguments);
    BOOST_TEST(other.status == 65);
    BOOST_TEST(is_error_line(other.errors, "'n'"), other.errors);
    redis.command("DEL", "n");
    words nowhere = arguments;
    nowhere.insert(nowhere.begin() + 1, {"--redis", "redis://127.0.0.1:1"});
    const ended unreachable = run(nowhere);
    BOOST_TEST(unreachable.status == 69);
    BOOST_TEST(is_error_line(unreachable.errors, "127.0.0.1:1"), unreachable.errors);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
