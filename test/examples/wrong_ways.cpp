// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Each mistake does the damage that it is known for, in Redis as well as in words, and its counterpart does not.
#include "example.hpp"
#include "support/cluster_servers.hpp"

namespace leasehold::test {

namespace {

struct with_wrong_ways : with_examples {
  static constexpr auto report = "wrong_ways:report";

  ended play(const std::string& program, const std::string& way) const { return run({"wrong_ways/" + program, way}); }

  // Ends with status 1 and this verdict.
  void breaks(const std::string& program, const std::string& verdict) const {
    const ended e = play(program, "wrong");
    BOOST_TEST(e.status == 1, e.output + e.errors);
    BOOST_TEST(e.output.ends_with("\nbroken: " + verdict + "\n"), e.output);
    BOOST_TEST(e.errors == "");
  }

  // Ends with status 0 and this verdict, leaves no key, and is not disturbed by what the wrong way has left.
  void keeps(const std::string& program, const std::string& verdict) {
    const ended e = play(program, "right");
    BOOST_TEST(e.status == 0, e.output + e.errors);
    BOOST_TEST(e.output.ends_with("\nkept: " + verdict + "\n"), e.output);
    BOOST_TEST(e.errors == "");
    BOOST_TEST(redis.size() == 0U);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(wrong_ways, with_wrong_ways)

BOOST_AUTO_TEST_CASE(setnx_then_expire_locks_for_ever) {
  breaks("setnx_then_expire", "the lock has no end, and whoever could release it is dead: it is locked for ever");
  BOOST_TEST(redis.get(report).value() == "alice");
  BOOST_TEST(redis.ttl(report) == -1);
  keeps("setnx_then_expire", "a dead holder keeps the others out for one lease and no longer");
}

BOOST_AUTO_TEST_CASE(clients_clocks_grant_a_lock_twice) {
  const ended e = play("clients_clocks", "wrong");
  BOOST_TEST(contains(e.output, "takes over: he has it, too."), e.output);
  BOOST_TEST(contains(e.output, "Bob's comes second: he has not."), e.output);
  breaks("clients_clocks", "first two had the lock at once, then one who has not got it changed its end");
  // Alice took over last, and her lock ends by Bob's clock: a minute later than the half minute that she asked for.
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  BOOST_TEST(std::stol(redis.get(report).value()) > now.count() + 30'000);
  keeps("clients_clocks", "one after the other, whatever their clocks say");
}

BOOST_AUTO_TEST_CASE(del_by_anybody_lets_two_in) {
  breaks("del_by_anybody", "two wrote at once, because one without the lock deleted it");
  BOOST_TEST(!redis.get(report).has_value());  // And Carol still writes.
  keeps("del_by_anybody", "only the holder can release the lock");
}

BOOST_AUTO_TEST_CASE(get_then_del_deletes_the_next_ones_lock) {
  breaks("get_then_del", "Alice has deleted Bob's lock, though she had looked whose it was");
  BOOST_TEST(redis.get(report).value() == "carol's token");
  keeps("get_then_del", "Alice could release nothing but her own lock, and that had ended");
}

BOOST_AUTO_TEST_CASE(no_token_releases_the_next_ones_lock) {
  breaks("no_token", "Alice has released Bob's lock, and Bob cannot even see it");
  BOOST_TEST(redis.get(report).value() == "1");
  keeps("no_token", "a release finds its own hold, or nothing");
}

BOOST_AUTO_TEST_CASE(lease_too_short_loses_a_payment) {
  breaks("lease_too_short", "two worked at once, and a payment is gone");
  BOOST_TEST(redis.get("wrong_ways:account").value() == "120");
  keeps("lease_too_short", "the lock lasts as long as the work");
}

BOOST_AUTO_TEST_CASE(one_field_for_readers_lets_a_writer_in) {
  breaks("one_field_for_readers", "a writer got in while Alice was reading");
  BOOST_TEST(redis.command("HGET", "wrong_ways:rates-lock", "write").text == "carol");
  BOOST_TEST(redis.command("HGET", "wrong_ways:rates", "USD").text == "Tuesday");
  keeps("one_field_for_readers", "nobody writes while somebody reads");
}

BOOST_AUTO_TEST_CASE(two_slots_cannot_be_locked_in_one_command) {
  cluster_servers cluster;
  const ended wrong = run({"wrong_ways/two_slots", "wrong", "--redis", cluster.url()});
  BOOST_TEST(wrong.status == 1, wrong.output + wrong.errors);
  BOOST_TEST(contains(wrong.output, "a script over both: CROSSSLOT "), wrong.output);
  BOOST_TEST(contains(wrong.output, "MULTI: CROSSSLOT "), wrong.output);
  BOOST_TEST(contains(wrong.output, "\nbroken: nobody has the locks, "), wrong.output);
  const ended right = run({"wrong_ways/two_slots", "right", "--redis", cluster.url()});
  BOOST_TEST(right.status == 0, right.output + right.errors);
  BOOST_TEST(right.output.ends_with("\nkept: both locks or none, wherever their names are\n"), right.output);
  BOOST_TEST(right.errors == "");
  for (std::size_t i = 0; i < cluster.size(); ++i) BOOST_TEST(cluster.node(i).size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_word_that_is_no_way_is_named) {
  const ended e = play("no_token", "left");
  BOOST_TEST(e.status == 64);
  BOOST_TEST(contains(e.errors, "the first word has to be \"wrong\" or \"right\", not \"left\""), e.errors);
}

BOOST_AUTO_TEST_CASE(a_url_that_is_not_understood_is_named) {
  const ended e = run({"wrong_ways/no_token", "wrong", "--redis", "rediss://example"});
  BOOST_TEST(e.status == 64);
  BOOST_TEST(contains(e.errors, "the URL: this example understands redis://HOST:PORT"), e.errors);
}

BOOST_AUTO_TEST_CASE(a_redis_that_does_not_answer_is_no_verdict) {
  const ended e = run({"wrong_ways/no_token", "right", "--redis", "unix:///nowhere"});
  BOOST_TEST(e.status == 69);
  BOOST_TEST(contains(e.errors, "unix:///nowhere: "), e.errors);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
