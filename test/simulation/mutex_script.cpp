// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// lua/mutex.lua on the store in memory, without the library around it. Random schedules: scripts.cpp.
#include "protocol/scripts.hpp"
#include "simulation/script_server.hpp"
#include "support/unit_test.hpp"

#include <boost/multiprecision/cpp_int.hpp>

#include <chrono>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <vector>

using leasehold::test::reply;
using leasehold::test::script_server;

namespace mutex_scripts {

using namespace std::chrono_literals;

namespace {

const std::string record = "record";
const std::string counter = "leasehold:{0}:fence";
const std::string queue = "leasehold:queue";
const std::string entries = "leasehold:entries";
const std::string never = "9007199254740991";

// The answer to acquire and renew.
struct answer {
  answer() = default;
  explicit answer(const reply& r) {
    BOOST_REQUIRE_MESSAGE(r.type == '$', r.text);
    std::int64_t seconds = 0;
    std::int64_t microseconds = 0;
    std::istringstream in(r.text);
    in >> status >> fence_text >> left >> seconds >> microseconds;
    BOOST_REQUIRE_MESSAGE(in && in.eof(), r.text);
    fence = std::stoull(fence_text);
    now = seconds * 1000000 + microseconds;
  }
  int status = 0;
  std::string fence_text;
  std::uint64_t fence = 0;
  std::int64_t left = 0;
  std::int64_t now = 0;
};

struct script_in_memory {
  script_server redis;

  reply call(const std::vector<std::string>& arguments) { return call_for(record, arguments); }
  reply call_for(const std::string& name, const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {"EVAL", std::string(leasehold::detail::scripts::mutex.text)};
    if (arguments.at(0) == "renew") {
      words.insert(words.end(), {"1", name});
    } else {
      words.insert(words.end(), {"4", name, counter, queue, entries});
    }
    words.insert(words.end(), arguments.begin(), arguments.end());
    return redis.command_of(words);
  }

  answer acquire(const std::string& token, std::int64_t lease = 30000, const std::string& not_after = never) {
    return answer(call({"acquire", token, std::to_string(lease), not_after}));
  }
  answer renew(const std::string& token, std::int64_t lease = 30000) {
    return answer(call({"renew", token, std::to_string(lease)}));
  }
  std::int64_t release(const std::string& token) {
    const reply r = call({"release", token});
    BOOST_REQUIRE_MESSAGE(r.type == ':', r.text);
    return r.integer;
  }
  reply inspect() { return call({"inspect"}); }

  std::int64_t server_time() const { return redis.microseconds(); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(mutex_script, script_in_memory)

BOOST_AUTO_TEST_CASE(the_digest_is_that_of_the_text) {
  const reply r = redis.command("SCRIPT", "LOAD", leasehold::detail::scripts::mutex.text);
  BOOST_TEST(r.text == leasehold::detail::scripts::mutex.sha1);
}

BOOST_AUTO_TEST_CASE(a_free_lock_is_granted_with_fence_lease_and_time) {
  const answer r = acquire("x", 30000);
  BOOST_TEST(r.status == 1);
  BOOST_TEST(r.left == 30000);
  BOOST_TEST(r.now == server_time());
  BOOST_TEST(r.fence == static_cast<std::uint64_t>(r.now) * 2048);
  BOOST_TEST(redis.get(record).value() == "leasehold:x:" + r.fence_text);
  BOOST_TEST(redis.ttl(record) == 30000);
}

// A2: sent twice it changes nothing, and says what is left instead of a new lease.
BOOST_AUTO_TEST_CASE(a_repeat_of_acquire_changes_nothing_but_lengthens) {
  const answer first = acquire("x", 30000);
  redis.command("PEXPIRE", record, "5000");
  const answer shorter = acquire("x", 1000);
  BOOST_TEST(shorter.status == 1);
  BOOST_TEST(shorter.fence == first.fence);
  BOOST_TEST(shorter.left == 5000);
  BOOST_TEST(redis.ttl(record) == 5000);
  const answer longer = acquire("x", 60000);
  BOOST_TEST(longer.status == 1);
  BOOST_TEST(longer.fence == first.fence);
  BOOST_TEST(longer.left == 60000);
  BOOST_TEST(redis.ttl(record) == 60000);
}

BOOST_AUTO_TEST_CASE(a_held_lock_is_busy_and_says_how_long) {
  acquire("x", 30000);
  const auto value = redis.get(record);
  redis.let_pass(12345ms);
  const answer r = acquire("y", 60000);
  BOOST_TEST(r.status == 0);
  BOOST_TEST(r.left == 17655);
  BOOST_TEST((redis.get(record) == value));
  BOOST_TEST(redis.ttl(record) == 17655);
}

// A token must match whole: neither its beginning nor one that it begins is the same.
BOOST_AUTO_TEST_CASE(a_token_that_begins_like_the_holders_is_another_one) {
  acquire("abc");
  BOOST_TEST(acquire("ab").status == 0);
  BOOST_TEST(acquire("abcd").status == 0);
  BOOST_TEST(renew("ab").status == 0);
  BOOST_TEST(release("ab") == 0);
  BOOST_TEST(release("abcd") == 0);
  BOOST_TEST(release("abc") == 1);
}

// B3, S3: bytes of a closed connection that arrive late.
BOOST_AUTO_TEST_CASE(after_its_not_after_an_acquire_is_refused) {
  const answer r = acquire("x", 30000, std::to_string(server_time() - 1));
  BOOST_TEST(r.status == -1);
  BOOST_TEST(r.now > 0);
  BOOST_TEST(!redis.get(record));
  BOOST_TEST(!redis.get(counter));
  BOOST_TEST(acquire("x", 30000, std::to_string(server_time() + 60000000)).status == 1);
}

BOOST_AUTO_TEST_CASE(a_late_acquire_of_the_holder_itself_lengthens_nothing) {
  acquire("x", 5000);
  const answer late = acquire("x", 30000, std::to_string(server_time() - 1));
  BOOST_TEST(late.status == 1);
  BOOST_TEST(late.left == 5000);
  BOOST_TEST(redis.ttl(record) == 5000);
}

// A foreign client's record: respected and never touched.
BOOST_AUTO_TEST_CASE(a_foreign_record_is_respected) {
  for (const char* value : {"value", "leasehold", "leasehold:x", "", "xleasehold:x:1"}) {
    BOOST_TEST_CONTEXT(value) {
      redis.command("SET", record, value, "PX", "30000");
      BOOST_TEST(acquire("x", 60000).status == 0);
      BOOST_TEST(renew("x", 60000).status == 0);
      BOOST_TEST(release("x") == 0);
      BOOST_TEST(redis.get(record).value() == value);
      BOOST_TEST(redis.ttl(record) == 30000);
    }
  }
}

// C6: a foreign lock without an expiry never ends by itself.
BOOST_AUTO_TEST_CASE(a_foreign_record_without_expiry_says_so) {
  redis.command("SET", record, "value");
  const answer r = acquire("x");
  BOOST_TEST(r.status == 0);
  BOOST_TEST(r.left == -1);
  BOOST_TEST(redis.ttl(record) == -1);
  const reply i = inspect();
  BOOST_TEST(i.items.at(0).integer == 1);
  BOOST_TEST(i.items.at(1).text == "0");
  BOOST_TEST(i.items.at(5).text == "value");
  BOOST_TEST(i.items.at(2).integer == -1);
}

BOOST_AUTO_TEST_CASE(release_tells_apart_mine_somebody_elses_and_nobodys) {
  BOOST_TEST(release("x") == -1);
  acquire("x");
  BOOST_TEST(release("y") == 0);
  BOOST_TEST(release("x") == 1);
  BOOST_TEST(!redis.get(record));
  BOOST_TEST(release("x") == -1);
}

BOOST_AUTO_TEST_CASE(renewal_lengthens_and_never_shortens) {
  acquire("x", 1000);
  const answer longer = renew("x", 30000);
  BOOST_TEST(longer.status == 1);
  BOOST_TEST(longer.left == 30000);
  BOOST_TEST(redis.ttl(record) == 30000);
  redis.let_pass(5s);
  // A3: an extension by less that arrives late.
  const answer shorter = renew("x", 100);
  BOOST_TEST(shorter.status == 1);
  BOOST_TEST(shorter.left == 25000);
  BOOST_TEST(redis.ttl(record) == 25000);
  const answer asked_only = renew("x", 0);
  BOOST_TEST(asked_only.status == 1);
  BOOST_TEST(asked_only.left == 25000);
}

// WAIT behind it counts what it has propagated. What is renewed without replicas writes only what it changes.
BOOST_AUTO_TEST_CASE(a_confirmation_always_writes) {
  const auto writes = [&] { return redis.changes(); };
  acquire("x", 60000);
  for (const char* lease : {"60000", "30000"}) {
    const auto before = writes();
    const answer r(call({"confirm", "x", lease}));
    BOOST_TEST(r.status == 1);
    BOOST_TEST(r.left == 60000);
    BOOST_TEST(writes() > before);
    BOOST_TEST(redis.ttl(record) == 60000);
  }
  const auto before = writes();
  BOOST_TEST(renew("x", 30000).left == 60000);
  BOOST_TEST(writes() == before);
  BOOST_TEST(answer(call({"confirm", "y", "60000"})).status == 0);
}

BOOST_AUTO_TEST_CASE(renewal_never_creates_a_record) {
  BOOST_TEST(renew("x", 30000).status == 0);
  BOOST_TEST(!redis.get(record));
  acquire("x");
  redis.command("DEL", record);
  BOOST_TEST(renew("x", 30000).status == 0);
  BOOST_TEST(!redis.get(record));
  acquire("y", 5000);
  BOOST_TEST(renew("x", 30000).status == 0);
  BOOST_TEST(redis.ttl(record) == 5000);
}

BOOST_AUTO_TEST_CASE(inspect_changes_nothing) {
  const reply nobody = inspect();
  BOOST_TEST(nobody.items.at(0).integer == 0);
  const answer granted = acquire("x", 30000);
  const reply held = inspect();
  BOOST_TEST(held.items.at(0).integer == 1);
  BOOST_TEST(held.items.at(1).text == granted.fence_text);
  BOOST_TEST(held.items.at(5).text == "x");
  BOOST_TEST(held.items.at(2).integer == 30000);
  BOOST_TEST(held.items.at(3).integer == 0);
}

// A4, D: nothing half-done when memory is short, and what frees memory works.
BOOST_AUTO_TEST_CASE(without_memory_acquire_leaves_nothing_and_release_works) {
  acquire("x", 30000);
  redis.command("CONFIG", "SET", "maxmemory", "1");
  const auto counter_before = redis.get(counter);
  BOOST_TEST(release("x") == 1);
  BOOST_TEST(!redis.get(record));
  const reply r = call({"acquire", "y", "30000", never});
  BOOST_TEST(r.is_error());
  BOOST_TEST(r.text.starts_with("OOM"));
  BOOST_TEST(!redis.get(record));
  BOOST_TEST((redis.get(counter) == counter_before));
  redis.command("CONFIG", "SET", "maxmemory", "0");
  BOOST_TEST(acquire("z").status == 1);
}

BOOST_AUTO_TEST_CASE(without_memory_renewal_works) {
  acquire("x", 5000);
  redis.command("CONFIG", "SET", "maxmemory", "1");
  BOOST_TEST(renew("x", 30000).status == 1);
  BOOST_TEST(redis.ttl(record) == 30000);
}

BOOST_AUTO_TEST_CASE(a_record_of_another_type_is_left_alone) {
  redis.command("RPUSH", record, "a", "b");
  const std::vector<std::string> first = {"acquire", "x", "30000", never};
  for (const reply& r : {call(first), call({"renew", "x", "1000"}), call({"release", "x"}), inspect()}) {
    BOOST_TEST(r.is_error());
    BOOST_TEST(r.text.starts_with("WRONGTYPE"));
  }
  BOOST_TEST(redis.command("LRANGE", record, "0", "-1").items.size() == 2U);
  BOOST_TEST(redis.ttl(record) == -1);
  BOOST_TEST(!redis.get(counter));
}

BOOST_AUTO_TEST_CASE(fences_grow_across_release_and_loss_of_the_counter) {
  std::uint64_t last = 0;
  for (int i = 0; i < 200; ++i) {
    redis.let_pass(1us);
    const std::string token = std::to_string(i);
    const answer r = acquire(token);
    BOOST_REQUIRE(r.status == 1);
    BOOST_REQUIRE(r.fence > last);
    last = r.fence;
    if (i % 3 == 0) redis.command("DEL", counter);
    if (i % 5 == 0) redis.command("FLUSHALL");
    release(token);
  }
}

// B1: the counter is ahead of the clock, after a step back for example.
BOOST_AUTO_TEST_CASE(fences_grow_when_the_counter_is_ahead_of_the_clock) {
  const std::int64_t ahead = server_time() + 3600000000;
  redis.command("SET", counter, std::to_string(ahead));
  for (std::int64_t i = 1; i <= 100; ++i) {
    const answer r = acquire("x");
    BOOST_REQUIRE(r.fence == static_cast<std::uint64_t>(ahead + i) * 2048);
    BOOST_REQUIRE(redis.get(counter).value() == std::to_string(ahead + i));
    release("x");
  }
  BOOST_TEST(redis.ttl(counter) > 0);
}

// The clock stands still.
BOOST_AUTO_TEST_CASE(grants_in_one_microsecond_have_different_fences) {
  std::uint64_t last = 0;
  for (int i = 0; i < 500; ++i) {
    const answer r(call_for("record" + std::to_string(i), {"acquire", "x", "30000", never}));
    BOOST_REQUIRE(r.status == 1);
    BOOST_REQUIRE(r.fence > last);
    last = r.fence;
  }
}

// B8: exact beyond the 53 bits of a Lua number.
BOOST_AUTO_TEST_CASE(the_fence_is_exactly_2048_times_the_counter) {
  using boost::multiprecision::int128_t;
  const auto seed = std::random_device()();
  BOOST_TEST_CONTEXT("seed " << seed) {
    std::mt19937_64 engine(seed);
    constexpr std::int64_t end = std::int64_t(1) << 52;
    const std::int64_t time = server_time() + 3600000000;
    std::vector<std::int64_t> edges = {
        time,    1999999999999999,     2000000000000000, 2000000000999999, 4398046511104000, end - 3,
        end - 2, 4503599000000000 - 1, 4503599000000000, 4503599000000487, 4503599000000488, 4503599000000489};
    for (int i = 0; i < 2000; ++i) edges.push_back(std::uniform_int_distribution<std::int64_t>(time, end - 2)(engine));
    for (const std::int64_t last : edges) {
      redis.command("SET", counter, std::to_string(last));
      const answer r = acquire("x");
      BOOST_REQUIRE(r.status == 1);
      const int128_t expected = (int128_t(last) + 1) * 2048;
      BOOST_REQUIRE_MESSAGE(r.fence_text == expected.str(), last << " gave " << r.fence_text);
      BOOST_REQUIRE(expected < (int128_t(1) << 63));
      release("x");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_counter_out_of_range_is_refused_and_left_as_it_was) {
  for (const std::string last : {"4503599627370495", "4503599627370496", "9007199254740993", "18446744073709551616"}) {
    BOOST_TEST_CONTEXT(last) {
      redis.command("SET", counter, last);
      const reply r = call({"acquire", "x", "30000", never});
      BOOST_TEST(r.is_error());
      BOOST_TEST(r.text.find("out of range") != r.text.npos);
      BOOST_TEST(!redis.get(record));
      BOOST_TEST(redis.get(counter).value() == last);
    }
  }
}

// There would be no next fence.
BOOST_AUTO_TEST_CASE(a_counter_is_not_raised_out_of_range) {
  const auto before = acquire("x").fence / 2048;
  for (const unsigned long long g : {4503599627370495ULL, 4503599627370496ULL}) {
    const reply r = call({"raise", "x", std::to_string(g * 2048), std::to_string(g)});
    BOOST_TEST(r.is_error());
    BOOST_TEST(r.text.find("out of range") != r.text.npos);
  }
  BOOST_TEST(redis.get(counter).value() == std::to_string(before));
  release("x");
  BOOST_TEST(acquire("y").status == 1);
}

BOOST_AUTO_TEST_CASE(a_counter_that_is_no_number_begins_anew) {
  redis.command("SET", counter, "nonsense");
  const answer r = acquire("x");
  BOOST_TEST(r.status == 1);
  BOOST_TEST(r.fence == static_cast<std::uint64_t>(r.now) * 2048);
}

// Promise 9: the counter goes by itself, after days.
BOOST_AUTO_TEST_CASE(the_counter_has_an_expiry_of_days) {
  acquire("x");
  BOOST_TEST(redis.ttl(counter) == 2 * 24 * 3600 * 1000);
}

// A4: the clock is the floor of the counter only once it has reached it.
BOOST_AUTO_TEST_CASE(a_counter_that_is_ahead_outlives_the_time_until_the_clock_gets_there) {
  constexpr std::int64_t day = std::int64_t(24) * 3600 * 1000;
  redis.command("SET", counter, std::to_string(server_time() + 30 * day * 1000));
  const answer granted = acquire("x");
  BOOST_TEST(redis.ttl(counter) > 31 * day);
  BOOST_TEST(redis.ttl(counter) <= 32 * day + 1000);
  const auto g = server_time() + 60 * day * 1000;
  const std::string raised = std::to_string(static_cast<std::uint64_t>(g) * 2048);
  BOOST_TEST(answer(call({"raise", "x", raised, std::to_string(g)})).fence_text == raised);
  BOOST_TEST(redis.ttl(counter) > 61 * day);
  BOOST_TEST(redis.ttl(counter) <= 62 * day + 1000);
  release("x");
  BOOST_TEST(acquire("y").fence > std::stoull(raised));
  BOOST_TEST(redis.ttl(counter) > 61 * day);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace mutex_scripts
