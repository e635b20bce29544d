// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "leasehold_command.hpp"

namespace leasehold::test {

namespace {

const std::string title = "NAME        LEFT                FENCE  WAITING  HELD AS    TOKEN\n";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(list, with_leasehold)

BOOST_AUTO_TEST_CASE(nothing_held_is_an_empty_table) {
  const ended text = run({"list"});
  BOOST_TEST(text.status == 0);
  BOOST_TEST(text.output == title);
  BOOST_TEST(run({"list", "--json"}).output == "[]\n");
}

BOOST_AUTO_TEST_CASE(each_lock_is_a_line) {
  child holder =
      start({"run", "held", "--", "sh", "-c", "echo $LEASEHOLD_TOKEN; echo $LEASEHOLD_FENCE; " + wait_for_a_signal});
  const std::string token = holder.read_line().value();
  const std::string fence = holder.read_line().value();
  redis.command("SET", "ever", "leasehold:x.1:7");
  redis.command("SET", "idle", "leasehold:x.2l:7");
  redis.command("SET", "other", "somebody else");
  const ended text = run({"list"});
  BOOST_TEST(text.status == 0);
  BOOST_TEST_CONTEXT(text.output) {
    BOOST_TEST(text.output.starts_with(title));
    BOOST_TEST(contains(text.output, "\never     forever                    7        0  mutex      x.1\nheld  "));
    BOOST_TEST(contains(text.output, " s  " + fence + "        0  mutex      " + token + "\n"));
    BOOST_TEST(contains(text.output, "\nidle     forever                    7        0  lingering  x.2l\n"));
    BOOST_TEST(!contains(text.output, "other"));
  }
  const ended json = run({"list", "--json"});
  BOOST_TEST_CONTEXT(json.output) {
    BOOST_TEST(json.output.starts_with(
        R"([{"name":"ever","held":true,"token":"x.1","fence":"7","ttl_ms":null,"waiters":0,"kind":"mutex","holders":1,)"
        R"("holds":[{"token":"x.1","fence":"7","ttl_ms":null}]},{"name":"held","held":true,)"));
    BOOST_TEST(contains(json.output, "\"token\":\"" + token + "\",\"fence\":\"" + fence + "\",\"ttl_ms\":2"));
    BOOST_TEST(contains(json.output, R"("kind":"mutex","holders":1,"lingers":true,"holds":[{"token":"x.2l",)"));
  }
}

BOOST_AUTO_TEST_CASE(names_are_any_bytes_under_any_prefix) {
  for (const std::string name : {"\xff\n", "two words", "l\xc3\xa4s", "\x1b[2J"}) {
    redis.command("SET", "[p]*:" + name, "leasehold:x.1:7");
  }
  redis.command("SET", "p:n", "leasehold:x.1:7");
  const ended text = run({"list", "--prefix", "[p]*:"});
  BOOST_TEST(text.status == 0);
  BOOST_TEST_CONTEXT(text.output) {
    BOOST_TEST(std::count(text.output.begin(), text.output.end(), '\n') == 5);
    BOOST_TEST(contains(text.output, "\n\\xff\\n        forever "));
    BOOST_TEST(contains(text.output, "\nl\xc3\xa4s           forever "));
    BOOST_TEST(contains(text.output, "\ntwo words     forever "));
    BOOST_TEST(!contains(text.output, "\x1b"));
  }
  const ended json = run({"list", "--json", "--prefix", "[p]*:"});
  BOOST_TEST(contains(json.output, R"({"name_base64":"/wo=","held":true,)"));
  BOOST_TEST(contains(json.output, R"({"name":"two words","held":true,)"));
}

BOOST_AUTO_TEST_CASE(failures_have_the_statuses_of_run) {
  redis.command("ACL", "SETUSER", "op", "on", ">secret", "~*", "&*", "+@all", "-scan");
  const ended refused = run({"list", "--redis", "redis://op:secret@127.0.0.1:" + std::to_string(redis.port())});
  BOOST_TEST(refused.status == 77);
  BOOST_TEST(is_error_line(refused.errors, "refused: "));
  BOOST_TEST(!contains(refused.errors, "secret"));
  redis.stop();
  const ended unreachable = run({"list"});
  BOOST_TEST(unreachable.status == 69);
  BOOST_TEST(is_error_line(unreachable.errors, redis.url()));
  redis.go_on();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
