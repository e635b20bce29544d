// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The scripts of the kinds with several holds in one record, on the store in memory, without the library around them.
// Random schedules: scripts.cpp.
#include "protocol/scripts.hpp"
#include "simulation/script_server.hpp"
#include "support/unit_test.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace kinds_scripts {

using namespace std::chrono_literals;
using leasehold::detail::script;
using leasehold::test::reply;
using leasehold::test::script_server;

namespace scripts = leasehold::detail::scripts;

namespace {

const std::string record = "record";
const std::string counter = "leasehold:{0}:fence";
const std::string queue = "leasehold:queue";
const std::string entries = "leasehold:entries";
const std::string never = "9007199254740991";

// The answer to acquire, renew and their like.
struct answer {
  explicit answer(const reply& r) : text(r.text) {
    BOOST_REQUIRE_MESSAGE(r.type == '$', r.text);
    std::istringstream in(r.text);
    in >> status >> fence >> left >> seconds >> microseconds;
    BOOST_REQUIRE_MESSAGE(in, r.text);
    in >> depth;
  }
  std::string text;
  int status = 0;
  std::uint64_t fence = 0;
  std::int64_t left = 0;
  std::int64_t seconds = 0;
  std::int64_t microseconds = 0;
  int depth = 0;
};

// A kind, an ask of it, another one that may be in at the same time, and one that may not. (Of a semaphore all ask the
// same; two are its limit.)
struct kind_of_lock {
  const script* text;
  std::string ask;
  std::string other;
  std::size_t together;  // So many of the first ask may be in.
};

const std::vector<kind_of_lock>& kinds() {
  static const std::vector<kind_of_lock> all = {{&scripts::recursive_mutex, "owner", "another", 1000},
                                                {&scripts::shared_mutex, "r", "w", 1000},
                                                {&scripts::counting_semaphore, "2", "2", 2}};
  return all;
}

struct with_scripts {
  script_server redis;
  script_server* current = &redis;

  static std::vector<std::string> words_of(const script& kind, const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {"EVAL", std::string(kind.text)};
    if (arguments.at(0) == "renew") {
      words.insert(words.end(), {"1", record});
    } else {
      words.insert(words.end(), {"4", record, counter, queue, entries});
    }
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
  }
  reply call(const script& kind, const std::vector<std::string>& arguments) {
    return current->command_of(words_of(kind, arguments));
  }
  // With the tokens c.0, c.1 and so on.
  std::vector<answer> call_with_each(int many, const script& kind, std::vector<std::string> arguments) {
    std::vector<answer> answers;
    for (int i = 0; i < many; ++i) {
      arguments.at(1) = "c." + std::to_string(i);
      answers.emplace_back(call(kind, arguments));
    }
    return answers;
  }
  reply try_to_wait(const script& kind, const std::string& token, const std::string& ask, std::int64_t lease = 30000) {
    return call(kind, {"acquire", token, std::to_string(lease), never, "1", ask});
  }
  answer acquire(const script& kind, const std::string& token, const std::string& ask, std::int64_t lease = 30000,
                 const std::string& repair = "") {
    return answer(call(kind, {"acquire", token, std::to_string(lease), never, "", ask, repair}));
  }
  answer wait(const script& kind, const std::string& token, const std::string& ask, std::int64_t lease = 30000) {
    return answer(try_to_wait(kind, token, ask, lease));
  }
  answer renew(const script& kind, const std::string& token, std::int64_t lease = 30000) {
    return answer(call(kind, {"renew", token, std::to_string(lease)}));
  }
  answer confirm(const script& kind, const std::string& token, std::int64_t lease = 30000) {
    return answer(call(kind, {"confirm", token, std::to_string(lease)}));
  }
  std::int64_t release(const script& kind, const std::string& token) {
    const reply r = call(kind, {"release", token});
    BOOST_REQUIRE_MESSAGE(r.type == ':', r.text);
    return r.integer;
  }
  reply inspect(const script& kind) { return call(kind, {"inspect"}); }
  std::int64_t holds(const script& kind) { return inspect(kind).items.at(0).integer; }
  bool has_member(const std::string& token) {
    return redis.command("HEXISTS", record, "leasehold:" + token).integer == 1;
  }
  std::map<std::string, std::string> fields() {
    std::map<std::string, std::string> all;
    const reply r = redis.command("HGETALL", record);
    for (std::size_t i = 0; i + 1 < r.items.size(); i += 2) all[r.items[i].text] = r.items[i + 1].text;
    return all;
  }
  void memory_is_short(bool is) { redis.command("CONFIG", "SET", "maxmemory", is ? "1" : "0"); }

  template <class Body>
  void for_each_kind(Body body) {
    for (const auto& k : kinds()) {
      BOOST_TEST_CONTEXT(std::string(k.text->name)) {
        redis.command("FLUSHALL");
        body(k, *k.text);
      }
    }
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(kinds_script, with_scripts)

BOOST_AUTO_TEST_CASE(the_digests_are_those_of_the_texts) {
  for (const auto& k : kinds()) BOOST_TEST(redis.command("SCRIPT", "LOAD", k.text->text).text == k.text->sha1);
}

// A2, A3: sent twice it changes nothing; it lengthens and never shortens.
BOOST_AUTO_TEST_CASE(a_repeat_changes_nothing_but_lengthens) {
  for_each_kind([&](const kind_of_lock& k, const script& s) {
    const answer first = acquire(s, "x", k.ask, 30000);
    BOOST_TEST(first.status == 1);
    BOOST_TEST(first.left == 30000);
    const auto before = fields();
    const answer shorter = acquire(s, "x", k.ask, 1000);
    BOOST_TEST(shorter.status == 1);
    BOOST_TEST(shorter.fence == first.fence);
    BOOST_TEST(shorter.left == 30000);
    BOOST_TEST((fields() == before));
    BOOST_TEST(redis.ttl(record) > 20000);
    BOOST_TEST(renew(s, "x", 100).left == 30000);
    BOOST_TEST(renew(s, "x", 0).left == 30000);
    BOOST_TEST((fields() == before));
    const answer longer = acquire(s, "x", k.ask, 60000);
    BOOST_TEST(longer.fence == first.fence);
    BOOST_TEST(longer.left == 60000);
    BOOST_TEST(redis.ttl(record) > 30000);
    BOOST_TEST(holds(s) == 1);
    BOOST_TEST(acquire(s, "x", k.ask, 1000, "1").status == 1);
    // B3: late bytes of the holder himself.
    BOOST_TEST(answer(call(s, {"acquire", "x", "1000", "1", "", k.ask})).status == 1);
    BOOST_TEST(answer(call(s, {"acquire", "y", "1000", "1", "", k.ask})).status == -1);
    BOOST_TEST(holds(s) == 1);
    acquire(s, "z", k.ask);
    BOOST_TEST(release(s, "x") == 1);
    BOOST_TEST(release(s, "x") == 0);
    BOOST_TEST(release(s, "z") == 1);
    BOOST_TEST(release(s, "z") == -1);
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(a_repeated_downgrade_changes_nothing) {
  const script& s = scripts::shared_mutex;
  const answer writer = acquire(s, "x", "wme");
  const answer reader(call(s, {"downgrade", "x", "0"}));
  BOOST_TEST(reader.status == 1);
  BOOST_TEST(reader.fence > writer.fence);
  const auto before = fields();
  BOOST_TEST(answer(call(s, {"downgrade", "x", "0"})).fence == reader.fence);
  BOOST_TEST((fields() == before));
  BOOST_TEST(acquire(s, "y", "r").fence == reader.fence);
  BOOST_TEST(answer(call(s, {"downgrade", "nobody", "0"})).status == 0);
}

// A refresh tells apart a hold that became a reader's and one that is gone, also if others read by then.
BOOST_AUTO_TEST_CASE(a_refresh_of_a_writer_that_is_gone_says_so) {
  const script& s = scripts::shared_mutex;
  const std::vector<std::string> refresh = {"refresh", "x", "30000", "w", never};
  acquire(s, "x", "w");
  BOOST_TEST(answer(call(s, refresh)).status == 1);
  redis.command("DEL", record);
  BOOST_TEST(answer(call(s, refresh)).status == 0);
  BOOST_TEST(redis.size() == 0U);
  acquire(s, "y", "r");
  const auto before = fields();
  BOOST_TEST(answer(call(s, refresh)).status == 0);
  BOOST_TEST((fields() == before));
  release(s, "y");
  acquire(s, "x", "w");
  call(s, {"downgrade", "x", "0"});
  const auto reader = fields();
  BOOST_TEST(answer(call(s, refresh)).status == 2);
  BOOST_TEST((fields() == reader));
}

BOOST_AUTO_TEST_CASE(a_repeated_resize_changes_nothing) {
  const script& s = scripts::counting_semaphore;
  BOOST_TEST(answer(call(s, {"resize", "3", never})).status == 1);
  BOOST_TEST(redis.size() == 0U);
  acquire(s, "x", "2");
  BOOST_TEST(acquire(s, "y", "3").status == -2);
  BOOST_TEST(answer(call(s, {"resize", "3", never})).status == 1);
  const auto before = fields();
  BOOST_TEST(answer(call(s, {"resize", "3", never})).status == 1);
  BOOST_TEST((fields() == before));
  BOOST_TEST(acquire(s, "y", "3").status == 1);
  BOOST_TEST(acquire(s, "z", "2").status == -2);
  BOOST_TEST(acquire(s, "x", "2").status == 1);  // Who is in stays in.
  // B3: bytes of a closed connection.
  const auto after = fields();
  BOOST_TEST(answer(call(s, {"resize", "9", "1"})).status == -1);
  BOOST_TEST((fields() == after));
}

// A token must match whole.
BOOST_AUTO_TEST_CASE(a_token_that_begins_like_a_holders_is_another_one) {
  for_each_kind([&](const kind_of_lock& k, const script& s) {
    acquire(s, "abc", k.ask);
    for (const char* token : {"ab", "abcd", "abc ", ""}) {
      BOOST_TEST(renew(s, token).status == 0);
      BOOST_TEST(release(s, token) == 0);
    }
    BOOST_TEST(acquire(s, "ab", k.ask).status == 1);
    BOOST_TEST(holds(s) == 2);
    BOOST_TEST(release(s, "abc") == 1);
    BOOST_TEST(renew(s, "ab").status == 1);
    BOOST_TEST(release(s, "ab") == 1);
  });
}

// A4: nothing is half-done, and whatever frees, hands on or lengthens works.
BOOST_AUTO_TEST_CASE(without_memory_nobody_enters_and_everybody_leaves) {
  for_each_kind([&](const kind_of_lock& k, const script& s) {
    memory_is_short(true);
    BOOST_TEST(call(s, {"acquire", "x", "30000", never, "1", k.ask}).text.starts_with("OOM"));
    BOOST_TEST(redis.size() == 0U);
    memory_is_short(false);
    acquire(s, "x", k.ask, 5000);
    if (k.together > 1) acquire(s, "y", k.ask, 60000);
    auto before = fields();
    memory_is_short(true);
    BOOST_TEST(try_to_wait(s, "z", k.other).text.starts_with("OOM"));
    BOOST_TEST((fields() == before));
    BOOST_TEST(redis.command("EXISTS", queue, entries).integer == 0);
    BOOST_TEST(renew(s, "x", 30000).left == 30000);
    BOOST_TEST(renew(s, "y", 30000).left == 60000);
    memory_is_short(false);
    BOOST_TEST(wait(s, "c.z", k.other).status == 2);
    memory_is_short(true);
    BOOST_TEST(release(s, "x") == 1);
    BOOST_TEST(release(s, "y") == 1);
    BOOST_TEST(has_member("c.z"));
    BOOST_TEST(confirm(s, "c.z").left == 30000);
    BOOST_TEST(release(s, "c.z") == 1);
    BOOST_TEST(redis.size() == 0U);
    memory_is_short(false);
  });
}

// The deadline that the record calls the soonest is no longer anybody's, and nobody has to be taken out.
BOOST_AUTO_TEST_CASE(without_memory_a_renewed_hold_is_renewed_again_and_left) {
  for_each_kind([&](const kind_of_lock& k, const script& s) {
    acquire(s, "x", k.ask, 500);
    BOOST_TEST(renew(s, "x", 60000).status == 1);
    wait(s, "c.z", k.other == k.ask ? "2" : k.other);
    acquire(s, "y", k.ask, 60000);
    redis.let_pass(510ms);
    memory_is_short(true);
    const reply r = call(s, {"renew", "x", "90000"});
    BOOST_TEST(r.text.starts_with("1 "));
    BOOST_TEST(call(s, {"inspect"}).type == '*');
    BOOST_TEST(call(s, {"release", "x"}).type == ':');
    memory_is_short(false);
  });
}

BOOST_AUTO_TEST_CASE(records_of_other_types_are_left_alone) {
  const std::vector<std::vector<std::string>> others = {{"SET", record, "value"},
                                                        {"HSET", record, "a", "b"},
                                                        {"HSET", record, "a", "1", "b", "2"},
                                                        {"RPUSH", record, "a", "b"},
                                                        {"ZADD", record, "1", "a"},
                                                        {"SADD", record, "a"},
                                                        {"HSET", record, "leasehold", "nonsense"},
                                                        {"HSET", record, "leasehold", "1"}};
  for_each_kind([&](const kind_of_lock& k, const script& s) {
    for (const auto& other : others) {
      BOOST_TEST_CONTEXT(other[0] << " " << other[2]) {
        redis.command("FLUSHALL");
        redis.command_of(other);
        const std::string before = redis.dump();
        for (const auto& arguments :
             std::vector<std::vector<std::string>>{{"acquire", "x", "1000", never, "", k.ask, "1"},
                                                   {"acquire", "x", "1000", never, "1", k.ask},
                                                   {"renew", "x", "1000"},
                                                   {"confirm", "x", "1000"},
                                                   {"release", "x"},
                                                   {"release", "x", "1000", k.ask},
                                                   {"inspect"}}) {
          const reply r = call(s, arguments);
          BOOST_TEST_CONTEXT(arguments[0]) BOOST_TEST(r.text.starts_with("WRONGTYPE"));
        }
        BOOST_TEST(redis.dump() == before);
        BOOST_TEST(redis.ttl(record) == -1);
        BOOST_TEST(redis.size() == 1U);
        BOOST_TEST(!redis.get(counter));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(every_kind_leaves_the_records_of_every_other_kind_alone) {
  std::vector<kind_of_lock> all = kinds();
  all.push_back({&scripts::mutex, "", "", 1});
  for (const auto& holder : all) {
    for (const auto& asker : all) {
      if (holder.text == asker.text) continue;
      BOOST_TEST_CONTEXT(std::string(holder.text->name) << " and " << std::string(asker.text->name)) {
        redis.command("FLUSHALL");
        BOOST_TEST(acquire(*holder.text, "x", holder.ask).status == 1);
        const std::string before = redis.dump();
        BOOST_TEST(try_to_wait(*asker.text, "y", asker.ask).text.starts_with("WRONGTYPE"));
        BOOST_TEST(call(*asker.text, {"renew", "x", "60000"}).text.starts_with("WRONGTYPE"));
        BOOST_TEST(call(*asker.text, {"release", "x"}).text.starts_with("WRONGTYPE"));
        BOOST_TEST(redis.dump() == before);
        BOOST_TEST(redis.size() == 1U);
      }
    }
  }
}

// B10: a waiter is granted by the script of the kind that it waits for, and by no other.
BOOST_AUTO_TEST_CASE(every_kind_leaves_the_queues_of_every_other_kind_alone) {
  std::vector<kind_of_lock> all = kinds();
  all[2].ask = all[2].other = "1";
  all[1].ask = "w";
  all.push_back({&scripts::mutex, "", "", 1});
  for (const auto& waiting : all) {
    for (const auto& asker : all) {
      if (waiting.text == asker.text) continue;
      BOOST_TEST_CONTEXT(std::string(waiting.text->name) << " and " << std::string(asker.text->name)) {
        redis.command("FLUSHALL");
        acquire(*waiting.text, "x", waiting.ask);
        BOOST_TEST(wait(*waiting.text, "c.y", waiting.other).status == 2);
        redis.command("DEL", record);
        BOOST_TEST(try_to_wait(*asker.text, "d.z", asker.ask).text.starts_with("WRONGTYPE"));
        BOOST_TEST(try_to_wait(*asker.text, "d.z", asker.other).text.starts_with("WRONGTYPE"));
        // Late ones.
        BOOST_TEST(release(*asker.text, "d.z") == -1);
        BOOST_TEST(confirm(*asker.text, "d.z").status == 0);
        BOOST_TEST(!redis.command("EXISTS", record).integer);
        BOOST_TEST(redis.command("ZCARD", queue).integer == 1);
        BOOST_TEST(wait(*waiting.text, "c.y", waiting.other).status == 1);
        BOOST_TEST(release(*waiting.text, "c.y") == 1);
        BOOST_TEST(redis.size() == 0U);
      }
    }
  }
  // An owner who is in by another program.
  const script& s = scripts::recursive_mutex;
  acquire(scripts::shared_mutex, "x", "w");
  wait(scripts::shared_mutex, "c.y", "w");
  redis.command("DEL", record);
  redis.command("HSET", record, "owner", "1");
  BOOST_TEST(try_to_wait(s, "d.z", "owner").text.starts_with("WRONGTYPE"));
  BOOST_TEST(release(s, "d.z") == 0);
  BOOST_TEST(redis.command("HLEN", record).integer == 1);
}

// A7: the hash has expired, and somebody has entered anew.
BOOST_AUTO_TEST_CASE(a_late_leave_takes_nothing_from_those_who_came_since) {
  for_each_kind([&](const kind_of_lock& k, const script& s) {
    acquire(s, "x", k.ask, 5);
    redis.let_pass(7ms);
    BOOST_TEST(redis.ttl(record) == -2);
    const answer y = acquire(s, "y", k.ask, 60000);
    BOOST_TEST(y.status == 1);
    const auto before = fields();
    BOOST_TEST(release(s, "x") == 0);
    BOOST_TEST(renew(s, "x").status == 0);
    BOOST_TEST(confirm(s, "x").status == 0);
    BOOST_TEST((fields() == before));
    BOOST_TEST(renew(s, "y").fence == y.fence);
    BOOST_TEST(release(s, "y") == 1);
    BOOST_TEST(redis.size() == 0U);
  });
}

// A8: the key lives as long as its longest member, not as the latest word.
BOOST_AUTO_TEST_CASE(the_key_lives_as_long_as_its_longest_member) {
  for_each_kind([&](const kind_of_lock& k, const script& s) {
    acquire(s, "x", k.ask, 60000);
    acquire(s, "y", k.ask, 10000);
    BOOST_TEST(redis.ttl(record) > 50000);
    BOOST_TEST(renew(s, "y", 10000).status == 1);
    BOOST_TEST(confirm(s, "y", 20000).left == 20000);
    BOOST_TEST(redis.ttl(record) > 50000);
    BOOST_TEST(release(s, "x") == 1);
    BOOST_TEST(redis.ttl(record) > 10000);
    BOOST_TEST(redis.ttl(record) <= 20001);
    acquire(s, "z", k.ask, 5000);
    BOOST_TEST(release(s, "z") == 1);
    BOOST_TEST(redis.ttl(record) > 10000);
  });
}

// Not every release of one that came last reads all members: only those after which the key could outlive them by more
// than 100 ms.
BOOST_AUTO_TEST_CASE(the_key_outlives_members_that_come_and_go_by_a_tenth_of_a_second_at_most) {
  for_each_kind([&](const kind_of_lock& k, const script& s) {
    acquire(s, "stays", k.ask, 10000);
    for (int passed = 30; passed < 1200; passed += 30) {
      redis.let_pass(30ms);
      BOOST_TEST(acquire(s, "comes", k.ask, 10000).status == 1);
      BOOST_TEST(release(s, "comes") == 1);
      const auto outlives = redis.ttl(record) - (10000 - passed);
      BOOST_TEST(outlives >= 0);
      BOOST_TEST(outlives <= 101);
      // Not read: the key has the expiry of the one that has gone.
      if (passed == 90) BOOST_TEST(outlives >= 89);
    }
  });
}

BOOST_AUTO_TEST_CASE(after_a_hand_off_the_key_lives_as_long_as_the_new_member) {
  for_each_kind([&](const kind_of_lock& k, const script& s) {
    acquire(s, "x", k.ask, 60000);
    if (k.together == 2) acquire(s, "y", k.ask, 60000);
    BOOST_TEST(wait(s, "c.z", k.other).status == 2);
    if (k.together == 2) release(s, "y");
    release(s, "x");
    BOOST_TEST(has_member("c.z"));
    BOOST_TEST(redis.ttl(record) <= 2000);
  });
}

// WAIT behind it counts what it has propagated.
BOOST_AUTO_TEST_CASE(a_confirmation_always_writes) {
  for_each_kind([&](const kind_of_lock& k, const script& s) {
    const auto writes = [&] { return redis.changes(); };
    acquire(s, "x", k.ask, 60000);
    const auto fields_before = fields();
    auto before = writes();
    BOOST_TEST(confirm(s, "x", 30000).left == 60000);
    BOOST_TEST(writes() > before);
    BOOST_TEST((fields() == fields_before));
    before = writes();
    BOOST_TEST(renew(s, "x", 30000).left == 60000);
    BOOST_TEST(writes() == before);
  });
}

// A slot moves with times to live, and the deadlines of its members with it.
BOOST_AUTO_TEST_CASE(a_slot_that_moves_to_a_node_whose_clock_is_ahead_ends_no_hold) {
  script_server target;
  target.let_pass(1h);
  for (kind_of_lock k : kinds()) {
    if (k.text == &scripts::recursive_mutex) continue;  // Other programs set the expiry of these.
    if (k.together == 2) k.ask = "5";
    const script& s = *k.text;
    BOOST_TEST_CONTEXT(std::string(s.name)) {
      current = &redis;
      acquire(s, "longest", k.ask, 60000);
      acquire(s, "short", k.ask, 30000);
      acquire(s, "dead", k.ask, 5);
      redis.let_pass(10ms);
      for (const auto& [field, value] : fields()) target.command("HSET", record, field, value);
      target.command("PEXPIRE", record, std::to_string(redis.ttl(record)));
      redis.command("FLUSHALL");
      current = &target;
      const reply shown = target.command("EVAL", scripts::admin.text, "4", record, counter, queue, entries, "show");
      BOOST_TEST(shown.items.at(5).integer == 2);
      BOOST_TEST(confirm(s, "dead").status == 0);
      const answer asked = renew(s, "short", 0);
      BOOST_TEST(asked.status == 1);
      BOOST_TEST(asked.left > 10000);
      BOOST_TEST(asked.left <= 30001);
      BOOST_TEST(renew(s, "longest").status == 1);
      BOOST_TEST(holds(s) == 2);
      BOOST_TEST(release(s, "short") == 1);
      BOOST_TEST(release(s, "longest") == 1);
      BOOST_TEST(target.size() == 0U);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_member_past_its_deadline_is_neither_renewed_nor_released) {
  for_each_kind([&](const kind_of_lock& k, const script& s) {
    acquire(s, "y", k.ask, 60000);
    acquire(s, "x", k.ask, 5);
    redis.let_pass(10ms);
    BOOST_TEST(has_member("x"));
    BOOST_TEST(renew(s, "x", 60000).status == 0);
    BOOST_TEST(!has_member("x"));
    acquire(s, "z", k.ask, 5);
    redis.let_pass(10ms);
    BOOST_TEST(confirm(s, "z", 60000).status == 0);
    BOOST_TEST(!has_member("z"));
    acquire(s, "w", k.ask, 5);
    redis.let_pass(10ms);
    BOOST_TEST(release(s, "w") == 0);
    BOOST_TEST(!has_member("w"));
    BOOST_TEST(renew(s, "y").status == 1);
    BOOST_TEST(holds(s) == 1);
    BOOST_TEST(release(s, "y") == 1);
    BOOST_TEST(redis.size() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(owners_may_be_any_bytes) {
  const std::vector<std::string> owners = {
      "two words",          " leading", "   ",       "line\nend", "\n",      std::string("a\0b", 3),
      std::string("\0", 1), "1 2 3",    "trailing ", "%d%s",      "\xff\xfe"};
  for (const auto& owner : owners) {
    for (const std::string letter : {"", "r", "w"}) {
      const script& s = letter.empty() ? scripts::recursive_mutex : scripts::shared_mutex;
      BOOST_TEST_CONTEXT(letter << "[" << owner << "]") {
        redis.command("FLUSHALL");
        const answer first = acquire(s, "x", letter + owner);
        const answer again = acquire(s, "y", letter + owner);
        BOOST_TEST(again.status == (letter == "w" ? 0 : 1));
        const std::string others = letter.empty() ? owner + "x" : "w" + owner;
        BOOST_TEST(acquire(s, "o", others).status == 0);
        BOOST_TEST(wait(s, "c.o", others).status == 2);
        // Past who waits; an anonymous reader could not.
        BOOST_TEST(acquire(s, "z", letter + owner).status == (letter == "w" ? 0 : 1));
        if (letter.empty()) BOOST_TEST(fields().at(owner) == "3");
        const reply i = inspect(s);
        BOOST_TEST(i.items.at(4).text == (letter.empty() ? owner : letter));
        BOOST_TEST(i.items.at(7).text == letter + owner);
        BOOST_TEST(renew(s, "x").fence == first.fence);
        for (const char* token : {"x", "y", "z"}) release(s, token);
        BOOST_TEST(has_member("c.o"));
        BOOST_TEST(inspect(s).items.at(7).text == others);
        BOOST_TEST(release(s, "c.o") == 1);
        BOOST_TEST(redis.size() == 0U);
      }
    }
  }
}

// Another program's reentrant lock: a hash owner -> count.
BOOST_AUTO_TEST_CASE(a_foreign_owner_is_respected_and_enters_again_by_us) {
  const script& s = scripts::recursive_mutex;
  redis.command("HSET", record, "owner", "2");
  redis.command("PEXPIRE", record, "30000");
  BOOST_TEST(acquire(s, "x", "another", 60000).status == 0);
  BOOST_TEST(redis.ttl(record) <= 30000);
  BOOST_TEST(release(s, "x") == 0);
  BOOST_TEST(holds(s) == 2);
  const answer in = acquire(s, "y", "owner", 60000);
  BOOST_TEST(in.status == 1);
  BOOST_TEST(in.depth == 3);
  BOOST_TEST(redis.ttl(record) > 50000);
  BOOST_TEST(fields().at("owner") == "3");
  // It leaves by its own script.
  redis.command("HINCRBY", record, "owner", "-2");
  BOOST_TEST(acquire(s, "x", "another").status == 0);
  BOOST_TEST(release(s, "y") == 1);
  BOOST_TEST(redis.size() == 0U);
  // The other way round: ours leaves first.
  acquire(s, "y", "owner", 60000);
  redis.command("HINCRBY", record, "owner", "1");
  BOOST_TEST(release(s, "y") == 1);
  BOOST_TEST(fields().at("owner") == "1");
  BOOST_TEST(acquire(s, "x", "another").status == 0);
  BOOST_TEST(acquire(s, "y", "owner").depth == 2);
}

BOOST_AUTO_TEST_CASE(a_foreign_owner_without_expiry_stays_without_unless_repaired) {
  const script& s = scripts::recursive_mutex;
  redis.command("HSET", record, "owner", "1");
  BOOST_TEST(acquire(s, "x", "another").left == -1);
  BOOST_TEST(inspect(s).items.at(2).integer == -1);
  BOOST_TEST(acquire(s, "y", "owner", 5).status == 1);
  BOOST_TEST(redis.ttl(record) == -1);
  redis.let_pass(10ms);
  BOOST_TEST(holds(s) == 1);
  BOOST_TEST(redis.ttl(record) == -1);
  BOOST_TEST(acquire(s, "x", "another", 40000, "1").left == 40000);
  BOOST_TEST(redis.ttl(record) > 30000);
}

// What another program has made without an expiry is given one lease; a hold of ours there may be longer.
BOOST_AUTO_TEST_CASE(a_repair_never_shortens_a_lease) {
  const script& s = scripts::recursive_mutex;
  redis.command("HSET", record, "owner", "1");
  BOOST_TEST(acquire(s, "y", "owner", 60000).status == 1);
  acquire(s, "x", "another", 1000, "1");
  BOOST_TEST((redis.ttl(record) == -1 || redis.ttl(record) > 50000));
}

BOOST_AUTO_TEST_CASE(when_the_owner_without_expiry_has_left_a_renewal_brings_one) {
  const script& s = scripts::recursive_mutex;
  redis.command("HSET", record, "owner", "1");
  acquire(s, "x", "owner", 60000);
  acquire(s, "y", "owner", 10000);
  redis.command("HINCRBY", record, "owner", "-1");
  BOOST_TEST(renew(s, "y", 10000).status == 1);
  BOOST_TEST(redis.ttl(record) > 50000);
}

BOOST_AUTO_TEST_CASE(a_count_of_nothing_is_a_free_lock) {
  const script& s = scripts::recursive_mutex;
  for (const std::string owner : {"owner", "another"}) {
    redis.command("FLUSHALL");
    redis.command("HSET", record, "another", "0");
    BOOST_TEST(acquire(s, "x", owner, 5000).depth == 1);
    BOOST_TEST(redis.ttl(record) > 0);
    BOOST_TEST(release(s, "x") == 1);
    BOOST_TEST(redis.size() == 0U);
  }
}

// Another program of the same owner has given the key a shorter expiry: no hold is told that it lasts longer.
BOOST_AUTO_TEST_CASE(what_is_left_is_never_more_than_the_key_has) {
  for_each_kind([&](const kind_of_lock& k, const script& s) {
    acquire(s, "x", k.ask, 60000);
    redis.command("PEXPIRE", record, "5000");
    BOOST_TEST(renew(s, "x", 0).left <= 5000);
    BOOST_TEST(confirm(s, "x", 1000).left <= 5000);
    BOOST_TEST(acquire(s, "x", k.ask, 30000).left == 30000);
    BOOST_TEST(redis.ttl(record) > 20000);
  });
}

// Nobody gave it an expiry, or somebody took it away by hand.
BOOST_AUTO_TEST_CASE(a_record_without_expiry_survives_downgrade_and_resize) {
  acquire(scripts::shared_mutex, "x", "w", 60000);
  redis.command("PERSIST", record);
  BOOST_TEST(answer(call(scripts::shared_mutex, {"downgrade", "x", "0"})).status == 1);
  redis.let_pass(10ms);
  BOOST_TEST(renew(scripts::shared_mutex, "x", 1000).status == 1);
  BOOST_TEST(redis.ttl(record) > 50000);
  redis.command("FLUSHALL");
  acquire(scripts::counting_semaphore, "x", "2", 60000);
  redis.command("PERSIST", record);
  call(scripts::counting_semaphore, {"resize", "3", never});
  redis.let_pass(10ms);
  BOOST_TEST(renew(scripts::counting_semaphore, "x", 1000).status == 1);
}

// An owner who enters again takes his entry out of the queue; the queue's two keys go together all the same.
BOOST_AUTO_TEST_CASE(an_entry_again_past_those_who_wait_does_not_keep_the_queue) {
  for (const bool recursive : {true, false}) {
    const script& s = recursive ? scripts::recursive_mutex : scripts::shared_mutex;
    redis.command("FLUSHALL");
    acquire(s, "x", "rme");
    wait(s, "c.y", "wme");
    redis.command("PEXPIRE", queue, "30000");
    redis.command("PEXPIRE", entries, "30000");
    BOOST_TEST(acquire(s, "z", "rme").status == 1);
    BOOST_TEST(redis.ttl(queue) <= 30000);
    BOOST_TEST(redis.ttl(entries) <= 30000);
  }
}

// What rests for at_least has no holder: its owner does not read any more.
BOOST_AUTO_TEST_CASE(an_owner_whose_hold_only_rests_passes_no_waiter) {
  for (const bool recursive : {true, false}) {
    const script& s = recursive ? scripts::recursive_mutex : scripts::shared_mutex;
    redis.command("FLUSHALL");
    acquire(s, "x", "rme");
    BOOST_TEST(wait(s, "c.w", "w").status == 2);
    BOOST_TEST(acquire(s, "y", "rme").status == 1);
    BOOST_TEST(release(s, "y") == 1);
    BOOST_TEST(call(s, {"rest", "x", "5000"}).integer == 1);
    BOOST_TEST(acquire(s, "z", "rme").status == 0);
    // Without a queue the owner is granted.
    BOOST_TEST(release(s, "c.w") == 0);
    BOOST_TEST(acquire(s, "z", "rme").status == 1);
    // And does not wait behind the entries that wait for it then.
    BOOST_TEST(wait(s, "c.w", "w").status == 2);
    BOOST_TEST(acquire(s, "a", "rme").status == 1);
  }
}

// More than one script grants at a time: every confirmation grants more.
// Another program has deleted the owner's count: the hold is renewed all the same.
BOOST_AUTO_TEST_CASE(a_member_without_a_count_is_renewed) {
  const script& r = scripts::recursive_mutex;
  const answer got = acquire(r, "a.1", "owner");
  redis.command("HDEL", record, "owner");
  const answer renewed = renew(r, "a.1", 60000);
  BOOST_TEST(renewed.status == 1);
  BOOST_TEST(renewed.fence == got.fence);
  BOOST_TEST(renewed.left > 59000);
  BOOST_TEST(renewed.depth == 0);
}

BOOST_AUTO_TEST_CASE(hundreds_who_may_be_in_together_all_get_in) {
  const script& s = scripts::shared_mutex;
  acquire(s, "x", "w");
  constexpr int many = 250;
  for (const answer& a : call_with_each(many, s, {"acquire", "", "30000", never, "1", "r"}))
    BOOST_REQUIRE(a.status >= 2);
  BOOST_TEST(wait(s, "d.w", "w").status >= 2);
  BOOST_TEST(wait(s, "e.r", "r").status >= 2);
  BOOST_TEST(release(s, "x") == 1);
  BOOST_TEST(holds(s) == 32);
  for (const answer& a : call_with_each(many, s, {"confirm", "", "30000"})) BOOST_REQUIRE(a.status == 1);
  BOOST_TEST(holds(s) == many);
  // Behind the writer, whose turn has not come.
  BOOST_TEST(wait(s, "e.r", "r").status == 2);
  BOOST_TEST(!has_member("d.w"));
}

// Who stands behind so many that one script does not see them all waits for his turn.
BOOST_AUTO_TEST_CASE(behind_hundreds_who_have_not_confirmed_nobody_overtakes) {
  const script& s = scripts::shared_mutex;
  acquire(s, "x", "w");
  constexpr int many = 260;
  call_with_each(many, s, {"acquire", "", "1900", never, "1", "r"});
  wait(s, "d.w", "w");
  wait(s, "e.r", "r");
  release(s, "x");
  for (int i = 0; i < 20; ++i) wait(s, "d.w", "w");
  BOOST_TEST(holds(s) == 256);
  BOOST_TEST(wait(s, "e.r", "r").status == 2);
  BOOST_TEST(!has_member("e.r"));
  call_with_each(many, s, {"confirm", "", "60000"});
  BOOST_TEST(holds(s) == many);
  for (int i = 0; i < many; ++i) BOOST_REQUIRE(release(s, "c." + std::to_string(i)) == 1);
  BOOST_TEST(has_member("d.w"));
  BOOST_TEST(release(s, "d.w") == 1);
  BOOST_TEST(has_member("e.r"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kinds_scripts
